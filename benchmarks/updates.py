"""How long updates take, and whether the way that is chosen is the shortest.

python benchmarks/updates.py choice    path, warm solve and refit, and which is taken
python benchmarks/updates.py settled   one row that changes nothing, among 200,000
python benchmarks/updates.py choice --only a5a --again     one data set once more

``choice`` measures what is missing and prints both halves of the data sets
(``suites.streams.update_choice``); ``python tools/measured_tables.py`` then
writes the table to the page. Processor time of one thread, the least of several.
"""

from suites.campaign import main
from suites.streams.campaigns import UPDATES

if __name__ == "__main__":
    main(UPDATES, "Measure updates beside fits.")
