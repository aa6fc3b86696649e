"""What the hints, limits and promises of the ``widemargin`` command rest on.

python benchmarks/command.py early     from when on early prediction pays
python benchmarks/command.py memory    peak memory on files of 1 GB
python benchmarks/command.py demo      how long the demo takes, and rests
python benchmarks/command.py left      how often the time left of a bar was right
python benchmarks/command.py quick     how long reproduce --quick takes
python benchmarks/command.py playground   how soon a change is on the screen
python benchmarks/command.py           the tables of all stored results

Measured is what is missing; with --again, also what another commit has measured.
"""

from suites.campaign import main
from suites.command.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure the hints, limits and run times of the command.")
