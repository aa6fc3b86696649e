"""The rule of the DPWSS paper, read in other ways, and WSS3, the rule behind it.

python benchmarks/dpwss.py readings    what the rule may have been at sigma = 0.7
python benchmarks/dpwss.py WSS3        pairs drawn among all that violate enough
python benchmarks/dpwss.py             the tables of all stored results

``python tools/measured_tables.py`` then writes the tables to the page.
"""

from suites.campaign import main
from suites.dpwss_rule.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure other readings of the rule of DPWSS.")
