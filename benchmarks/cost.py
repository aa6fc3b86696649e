"""Measure the chunk-incremental paper's figures and write them to the pages.

python benchmarks/cost.py                   measure what is missing, then print
python benchmarks/cost.py --only n=5000     only tasks whose names contain this
python benchmarks/cost.py --minutes 9       begin no task after 9 minutes
python benchmarks/cost.py --print           print the stored results
python benchmarks/cost.py --write           write them to the documentation
"""

from widemargin_papers.harness.campaign import paper_main

if __name__ == "__main__":
    paper_main("cost")
