"""What the hints, limits and promises of the ``widemargin`` command rest on.

python benchmarks/command.py early             from when on early prediction pays
python benchmarks/command.py early --rows 20000 50000
python benchmarks/command.py memory            peak memory on files of 1 GB
python benchmarks/command.py demo              how long the demo takes, and rests
python benchmarks/command.py quick             how long reproduce --quick takes
python benchmarks/command.py --print           the tables of the stored results
"""

import argparse
from pathlib import Path

from widemargin_papers.command_benchmarks import early_pays, memory
from widemargin_papers.command_benchmarks import runs as command_runs
from widemargin_papers.harness.results import ResultStore

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run a campaign, or print what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "campaign", nargs="?", choices=["early", "memory", "demo", "quick"]
    )
    parser.add_argument("--rows", nargs="+", type=int, default=early_pays.SIZES)
    parser.add_argument("--megabytes", type=float, default=1000.0)
    parser.add_argument("--only", default="", help="files, methods or papers like this")
    parser.add_argument("--print", action="store_true", dest="show")
    arguments = parser.parse_args()
    early = ResultStore(RESULTS / "early_pays.json")
    needed = ResultStore(RESULTS / "memory.json")
    played = ResultStore(RESULTS / "demo.json")
    quick = ResultStore(RESULTS / "quick.json")
    match arguments.campaign:
        case "early":
            early_pays.campaign(early, arguments.rows)
        case "memory":
            memory.campaign(needed, arguments.megabytes, arguments.only)
        case "demo":
            command_runs.play_demo(played)
        case "quick":
            command_runs.quick_papers(quick, arguments.only)
    for name, store, table in (
        ("early", early, early_pays.as_rst),
        ("memory", needed, memory.as_rst),
        ("demo", played, command_runs.demo_table),
        ("quick", quick, command_runs.quick_table),
    ):
        if store.records and (arguments.show or arguments.campaign == name):
            print(table(store))


if __name__ == "__main__":
    main()
