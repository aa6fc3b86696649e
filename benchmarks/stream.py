"""Follow a stream: 10,000 chunks of 10 rows of ijcnn1, a window of 5,000 rows.

python benchmarks/stream.py                   measure what is missing, then print
python benchmarks/stream.py --only window     models with this in their names
python benchmarks/stream.py --again           measure what older commits have measured
python benchmarks/stream.py --print           print the stored results

Latency is the processor time of learning a chunk, one thread. Every model answers a
chunk before it learns it. Models of river take part where it is installed; a stopped
run goes on with the models that are missing. ``python tools/measured_tables.py`` then
writes the table and the picture to the page.
"""

from suites.campaign import main
from suites.streams.campaigns import CAMPAIGNS

if __name__ == "__main__":
    main(CAMPAIGNS, "Follow a stream of ijcnn1.")
