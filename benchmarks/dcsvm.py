"""Measure divide and conquer: a few lines over ``widemargin_papers``.

python benchmarks/dcsvm.py                     everything that is missing (hours)
python benchmarks/dcsvm.py --only "Table 2"    the tasks of one table
python benchmarks/dcsvm.py --print             the tables of the stored results
python benchmarks/dcsvm.py --write             write them, and the figures, to the page
"""

from widemargin_papers.harness.campaign import paper_main

if __name__ == "__main__":
    paper_main("dcsvm")
