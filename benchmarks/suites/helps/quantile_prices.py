"""Which factor in C="scale" of QuantileSVR: chosen on one half, checked on the other.

Candidates and rule were fixed before the first run: the factor of the least mean over
the choosing half of pinball loss over the least loss of the data set.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from widemargin.estimators.quantile_svr import FACTOR
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table

from . import quantiles
from .suite import HALVES

FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0)


def work() -> Iterator[Measurement]:
    """Yield every split of the data sets that are there."""
    return quantiles.splits(measured)


def measured(name: str, number: int) -> Record:
    """Return coverage and pinball loss by factor."""
    part = quantiles.split(name, number)
    default = quantiles.plain().fit(part.train, part.y_train).C_
    record: Record = {"name": name, "rows": len(part.y_train)}
    for factor in FACTORS:
        model = quantiles.plain(C=factor / FACTOR * default)
        table = model.fit(part.train, part.y_train).predict(part.test)
        record[f"{factor:g}"] = quantiles.figures(table, part)
    return record


def table(store: ResultStore) -> str:
    """Return the mean loss over the least, and the coverage, of each half."""
    names = [f"{factor:g}" for factor in FACTORS]
    rows, best = [], ""
    for half in HALVES:
        own = [record for key, record in store.records.items() if key.startswith(half)]
        if not own:
            continue
        losses = np.array(
            [[record[name]["pinball"] for name in names] for record in own]
        )
        ratios = (losses / losses.min(axis=1, keepdims=True)).mean(axis=0)
        coverage = np.mean(
            [[record[name]["coverage"] for name in names] for record in own], axis=0
        )
        best = best or names[int(ratios.argmin())]
        rows.append(
            [
                half,
                *(
                    f"{ratio:.3f}, {inside:.0f} %"
                    for ratio, inside in zip(ratios, coverage, strict=True)
                ),
            ]
        )
    if not rows:
        return "Nothing measured yet."
    header = ["half", *(f"{name} (chosen)" if name == best else name for name in names)]
    return rst_table(header, rows)
