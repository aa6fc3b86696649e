"""Tables 2 to 4 and the settings of Wang, Fan and Pardalos (2016).

The paper states neither C nor a scaling: the features are as they are and C = 1 here; a
grid over C stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from widemargin_papers.harness.published import table_rows

RISK, COVARIANCE_SCALE = 0.1, 0.01
C = 1.0
EPOCHS = (2, 10, 50)
SEDUMI = "interior point, m cones"  # as the paper gave the problem to SeDuMi


@dataclass(frozen=True)
class Printed:
    """What the paper prints of one method: seconds and accuracy, with deviations."""

    seconds: float
    spread: float
    accuracy: float
    deviation: float


Tables = dict[str, tuple[str, dict[float, dict[str, Printed]]]]


def _tables() -> Tables:
    tables: Tables = {}
    for row in table_rows("widemargin_papers.chance", "tables.csv"):
        _, shares = tables.setdefault(row["table"], (row["data"], {}))
        names = ("seconds", "spread", "accuracy", "deviation")
        printed = Printed(*(float(row[name]) for name in names))
        shares.setdefault(float(row["share"]), {})[row["method"]] = printed
    return tables


#: table -> file, and the paper's figures by training share and method
PAPER = _tables()
DATA = tuple(name for name, _ in PAPER.values())
