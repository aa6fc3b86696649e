"""Whether methods help by default, with nothing but ``fit``.

python benchmarks/helps.py candidates  which defaults the choosing half prefers
python benchmarks/helps.py labels      wrong labels: every method, both halves
python benchmarks/helps.py targets     what is asked of RampSVC, against SVC alone
python benchmarks/helps.py units       in which unit costs multiply C, choosing half
python benchmarks/helps.py costs       unequal costs: every method, both halves
python benchmarks/helps.py private     privacy: every mechanism, both halves
python benchmarks/helps.py early       early prediction against the exact model
python benchmarks/helps.py clouds      early prediction on generated clouds
python benchmarks/helps.py grids       widths of the default grid, both halves
python benchmarks/helps.py quantiles   intervals beside gradient boosting, ten sets
python benchmarks/helps.py prices      the default C of QuantileSVR, both halves
python benchmarks/helps.py             the tables of all stored results

Splits are measured in order, over all data sets: a stopped run has a balanced table.
Two processes, one with ``--only choose`` and one with ``--only check``, share the work.
"""

from suites.campaign import main
from suites.helps.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure whether methods help by default.")
