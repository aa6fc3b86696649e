"""Safe screening where the ramp paper does not use it.

python benchmarks/screening.py rank     what the rank rule costs
python benchmarks/screening.py plain    whether screening pays in a plain SVM
python benchmarks/screening.py pairs    the paper's Figure 2 on a pair solver
python benchmarks/screening.py          the tables of all stored results

``python tools/measured_tables.py`` then writes the tables to the page.
"""

from suites.campaign import main
from suites.screening.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure screening beyond the ramp paper.")
