"""Several classes: kernel entries and memory of a fit that shares rows.

``python benchmarks/pairs.py [SET ...]`` prints, for each set, the entries that all
pairs of classes evaluated together over the union of what their support vectors need,
the memory their rows may take over that of the whole matrix, and processor seconds.
The constants of the engine were chosen on mnist.t, letter and bike, not on the others.
"""

import sys
import time

from suites.speed.pairs import SETS, counted

if __name__ == "__main__":
    names = sys.argv[1:] or sorted(SETS)
    chosen = ("mnist.t", "letter", "bike, 8 parts")
    head = f"{'set':18}{'used to':8}{'rows':>7}{'pairs':>7}{'entries / union':>17}"
    print(head + f"{'MB':>8}{'of whole':>10}{'seconds':>9}")
    for name in names:
        start = time.process_time()
        row = counted(*SETS[name]())
        seconds = time.process_time() - start
        half = "choose" if name in chosen else "check"
        print(
            f"{name:18}{half:8}{row.rows:7}{row.pairs:7}{row.share_of_union:17.2f}"
            f"{row.megabytes:8.0f}{row.share_of_whole:9.1%} {seconds:8.2f}"
        )
