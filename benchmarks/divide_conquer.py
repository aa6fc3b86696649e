"""Divide and conquer beyond the paper: speed, memory, five million rows on dask.

python benchmarks/divide_conquer.py               everything that is missing (hours)
python benchmarks/divide_conquer.py --only scale  five million rows on dask workers
python benchmarks/divide_conquer.py --print       the tables of the stored results

``python tools/measured_tables.py`` then writes the tables to the page.
"""

from suites.campaign import main
from suites.divide_conquer.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure the speed of divide and conquer.")
