"""Samples with error bars, beyond what the paper measures.

python benchmarks/error_bars.py growth     time by rows and features, a stream from disk
python benchmarks/error_bars.py curved     a curved boundary beside the linear one
python benchmarks/error_bars.py table4     scalings and C that Table 4 may have had
python benchmarks/error_bars.py workers    several workers, a file larger than memory
python benchmarks/error_bars.py            the tables of all stored results

Workers are timed by wall time: on a quiet machine. ``python tools/measured_tables.py``
then writes the tables to the page.
"""

from suites.campaign import main
from suites.error_bars.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Measure models of samples with error bars.")
