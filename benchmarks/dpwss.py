"""Measure and print the tables of the pages on DPWSS and on privacy.

python benchmarks/dpwss.py                   measure what is missing, then print
python benchmarks/dpwss.py --print           print the stored results
python benchmarks/dpwss.py --write           write them to the documentation pages
python benchmarks/dpwss.py --only audit --again --minutes 5      measure these anew
"""

from widemargin_papers.harness.campaign import paper_main

if __name__ == "__main__":
    paper_main("dpwss")
