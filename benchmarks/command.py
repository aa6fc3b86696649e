"""What the hints and limits of ``widemargin train`` rest on.

python benchmarks/command.py early             from how many rows early prediction pays
python benchmarks/command.py early --rows 20000 50000
python benchmarks/command.py memory            peak memory on files of 1 GB
python benchmarks/command.py --print           the tables of the stored results
"""

import argparse
from pathlib import Path

from widemargin.reproduction import early_pays, memory
from widemargin.reproduction.results import ResultStore

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run a campaign, or print what is stored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", nargs="?", choices=["early", "memory"])
    parser.add_argument("--rows", nargs="+", type=int, default=early_pays.SIZES)
    parser.add_argument("--megabytes", type=float, default=1000.0)
    parser.add_argument("--only", default="", help="files or methods with this text")
    parser.add_argument("--print", action="store_true", dest="show")
    arguments = parser.parse_args()
    early = ResultStore(RESULTS / "early_pays.json")
    needed = ResultStore(RESULTS / "memory.json")
    if arguments.campaign == "early":
        early_pays.campaign(early, arguments.rows)
    if arguments.campaign == "memory":
        memory.campaign(needed, arguments.megabytes, arguments.only)
    if arguments.show or arguments.campaign == "early":
        print(early_pays.as_rst(early))
    if arguments.show or arguments.campaign == "memory":
        print(memory.as_rst(needed))


if __name__ == "__main__":
    main()
