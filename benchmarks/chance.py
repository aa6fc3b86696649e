"""Measure and print the tables of the chance-constrained page.

python benchmarks/chance.py            measure what is missing, then print
python benchmarks/chance.py --print    print the stored results
python benchmarks/chance.py --write    write them to the documentation page
python benchmarks/chance.py --only grid --again    measure these anew
"""

from widemargin_papers.harness.campaign import paper_main

if __name__ == "__main__":
    paper_main("chance")
