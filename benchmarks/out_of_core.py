"""Fits beyond the memory of a process or of a machine.

python benchmarks/out_of_core.py exact   exact fits from memory maps and on dask workers
python benchmarks/out_of_core.py         the tables of all stored results

The long ones by name, such as ``exact --only "memory map, 5000000"``.
"""

from suites.campaign import main
from suites.out_of_core.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure fits beyond memory.")
