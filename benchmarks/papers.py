"""Measure the papers' tables and figures, and print what the pages show of them.

python benchmarks/papers.py chance                  measure what is missing, and print
python benchmarks/papers.py dcsvm --only "Table 2"  only tasks with this in their name
python benchmarks/papers.py cost --minutes 9        begin no task after 9 minutes
python benchmarks/papers.py dpwss --only audit --again    measure these anew
python benchmarks/papers.py ramp --print            print the stored results

``python tools/measured_tables.py`` then writes tables and pictures to the pages.
"""

from suites.campaign import main, paper_campaign
from widemargin_papers import PAPERS

if __name__ == "__main__":
    main({paper: paper_campaign(paper) for paper in PAPERS}, "Measure the papers.")
