"""Table 3 and the settings of Sun, Yang, Li and Zhang (2021).

The table is in ``table3.csv``, taken from a text copy of the paper; cells that the copy
scrambles (they contradict their own row or column) are left empty.
"""

from __future__ import annotations

from functools import cache

from widemargin_papers.harness.published import table_rows

#: name in the paper -> file; in the paper's order
FILES = {
    "a1a": "a1a",
    "a5a": "a5a",
    "australian": "australian_scale",
    "breast": "breast-cancer_scale",
    "diabetes": "diabetes_scale",
    "fourclass": "fourclass_scale",
    "german": "german.numer_scale",
    "gisette": "gisette_scale",
    "heart": "heart_scale",
    "ijcnn1": "ijcnn1",
    "ionosphere": "ionosphere_scale",
    "rcv1": "rcv1_train.binary",
    "sonar": "sonar_scale",
    "splice": "splice_scale",
    "w1a": "w1a",
    "w5a": "w5a",
}
FLIPPED = frozenset({"breast"})  # the paper's copy has the class of 444 as +1
SCORES = ("auc", "accuracy", "precision", "recall", "f1", "mcc")
#: the paper's settings: name -> (epsilon, sigma)
SETTINGS = {
    "1/0.1": (1.0, 0.1),
    "1/0.3": (1.0, 0.3),
    "1/0.5": (1.0, 0.5),
    "1/0.7": (1.0, 0.7),
    "0.5/0.7": (0.5, 0.7),
    "0.1/0.7": (0.1, 0.7),
}


@cache
def printed() -> dict[tuple[str, int, str, str], float]:
    """Return Table 3 by (data set, shrinking, metric, column), where legible."""
    return {
        (row["dataset"], int(row["shrinking"]), row["metric"], column): float(
            row[column]
        )
        for row in table_rows("widemargin_papers.dpwss", "table3.csv")
        for column in ("wss2", *SETTINGS)
        if row[column]
    }
