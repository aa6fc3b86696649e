"""Benchmarks of the ramp loss, and of its screening elsewhere.

python benchmarks/ramp.py shares        Figure 3
python benchmarks/ramp.py times         Figure 2
python benchmarks/ramp.py targets       Figure 2, and what was asked of it
python benchmarks/ramp.py rank          what the rank rule costs
python benchmarks/ramp.py plain         whether screening pays in a plain SVM
python benchmarks/ramp.py pairs         Figure 2 on a pair solver
python benchmarks/ramp.py               the tables of all stored results
"""

from suites.screening.campaigns import CAMPAIGNS as SCREENING
from widemargin_papers.harness.campaign import main
from widemargin_papers.ramp.report import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS | SCREENING, "Measure and print the tables of the ramp page.")
