"""Benchmarks of the ramp loss: a few lines over ``widemargin_papers``.

python benchmarks/ramp.py robustness           flipped labels (goes on where it stopped)
python benchmarks/ramp.py untuned              the same with C left as it is
python benchmarks/ramp.py shares               Figure 3 (likewise)
python benchmarks/ramp.py times                Figure 2 (likewise)
python benchmarks/ramp.py rank                 what the rank rule costs (likewise)
python benchmarks/ramp.py more                 both starts, 1e-8, covtype (likewise)
python benchmarks/ramp.py pairs                Figure 2 on a pair solver (likewise)
python benchmarks/ramp.py robustness --quick   a small version; also with times
python benchmarks/ramp.py --print              the tables of the stored results
python benchmarks/ramp.py --draw FOLDER        Figure 3 of them
"""

import argparse
from functools import partial
from pathlib import Path

from widemargin_papers.harness.results import ResultStore
from widemargin_papers.ramp import further_timing as ramp_more
from widemargin_papers.ramp import mislabelled
from widemargin_papers.ramp import pair_timing as ramp_pairs_timing
from widemargin_papers.ramp import rank_rule as ramp_rank
from widemargin_papers.ramp import timing as ramp_timing
from widemargin_papers.ramp.report import (
    draw,
    robustness_tables,
    share_tables,
    target_tables,
    timing_tables,
)

RESULTS = Path(__file__).parent / "results"


def times_and_targets(store: ResultStore) -> str:
    """Return all tables made of the times."""
    return f"{timing_tables(store)}\n{target_tables(store)}"


CAMPAIGNS = {
    "robustness": ("mislabelled", mislabelled.campaign, robustness_tables),
    "untuned": (
        "mislabelled_untuned",
        partial(mislabelled.campaign, run=mislabelled.run_untuned),
        robustness_tables,
    ),
    "shares": ("ramp_shares", ramp_timing.share_campaign, share_tables),
    "times": ("ramp_times", ramp_timing.campaign, times_and_targets),
    "rank": ("ramp_rank", ramp_rank.campaign, ramp_rank.table),
    "more": ("ramp_more", ramp_more.campaign, ramp_more.tables),
    "pairs": ("ramp_pairs", ramp_pairs_timing.campaign, ramp_pairs_timing.tables),
}


def main() -> None:
    """Run a campaign, or print what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", nargs="?", choices=CAMPAIGNS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--print", action="store_true", dest="show")
    parser.add_argument("--draw", type=Path, help="a folder; measures nothing")
    arguments = parser.parse_args()
    if arguments.draw:
        return draw(ResultStore(RESULTS / "ramp_shares.json"), arguments.draw)
    for name, (stem, campaign, tables) in CAMPAIGNS.items():
        stem += "_quick" if arguments.quick else ""
        store = ResultStore(RESULTS / f"{stem}.json")
        if arguments.campaign == name:
            campaign(store, quick=arguments.quick)
        if arguments.show and store.records:
            print(tables(store))


if __name__ == "__main__":
    main()
