"""Checkpoints of an exact fit in rounds: which rows are held, with which coefficients.

The rows themselves are read again from their blocks: the file stays small, and a source
that is no longer the same is noticed by the digest of the survey.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.estimators.divide_conquer.checkpoint import (
    Origin,
    Path,
    probe_values,
    settings_digest,
)
from widemargin.runtime import model_file_format

from .block_source import samples_of_block
from .gathered import Gathered
from .rounds import Reached, Rounds
from .survey import Survey

KIND = "blockwise checkpoint"


@dataclass(frozen=True)
class Resume:
    """The checkpoint of one fit: where it is, and what it belongs to."""

    path: Path
    origin: Origin

    @classmethod
    def of(cls, estimator: Any, seen: Survey, kernel: Kernel) -> Resume:
        """Return the checkpoint of this fit on the rows surveyed."""
        settings = {
            "C": estimator.C,
            "class_weight": str(estimator.class_weight),
            "tol": estimator.tol,
            "intercept": estimator.fit_intercept,
            "seed": estimator._seed(),
        }
        origin = Origin(
            seen.digest,
            settings_digest(kernel, settings),
            probe_values(kernel, seen.sample),
        )
        return cls(estimator.checkpoint, origin)

    def write(self, reached: Reached, history: list[dict[str, Any]]) -> None:
        """Write what a solve reached; replaces an earlier checkpoint atomically."""
        used = reached.gathered
        header = {
            "data": self.origin.data,
            "settings": self.origin.settings,
            "step": reached.step,
            "history": history,
        }
        arrays = {
            "kernel values": self.origin.values,
            "rows": used.rows.astype(np.int64),
            "betas": used.betas,
        }
        model_file_format.write(self.path, KIND, header, arrays)

    def read(self, rounds: Rounds) -> tuple[Gathered, int] | None:
        """Return the rows and the step of a former fit; None if there is no file."""
        if not os.path.exists(self.path):
            return None
        stored = model_file_format.read(self.path, KIND)
        other = self.origin.differs(stored)
        named = f"checkpoint={os.fspath(self.path)!r}"
        if other:
            raise ValueError(
                f"{named} was written by a fit on other {other}: delete the file, or "
                "give another path, to start anew."
            )
        rows, betas = stored.arrays["rows"].astype(np.intp), stored.arrays["betas"]
        step = stored.header["step"]
        gathered = _fetched(rounds, rows)
        shape = (rounds.first_rows().betas.shape[0], len(rows))
        if betas.shape != shape or len(gathered.rows) != len(rows) or step < 0:
            raise model_file_format.StorageError(
                f"{named} is inconsistent: delete it to start anew."
            )
        rounds.history = [*stored.header["history"]]
        if rounds.history:
            rounds.history[-1]["resumed"] = True
        fresh = Gathered(
            gathered.rows, gathered.X, gathered.codes, gathered.costs, betas
        )
        return fresh, int(step)


def _fetched(rounds: Rounds, rows: NDArray[np.intp]) -> Gathered:
    """Read rows from their blocks, by number."""
    shared = rows, rounds.seen.classes, rounds.costs
    first, *others = rounds.blocks.each(_rows_of_block, shared)
    return Gathered.joined(first, others)


def _rows_of_block(X: Any, y: Any, w: Any, offset: int, shared: Any) -> Gathered:
    rows, classes, costs = shared
    X = samples_of_block(X)
    own = rows[(rows >= offset) & (rows < offset + X.shape[0])] - offset
    codes = np.searchsorted(classes, np.asarray(y)[own])
    weights = 1.0 if w is None else np.asarray(w, dtype=np.float64)[own]
    return Gathered.fresh(
        offset + own, X[own], codes, costs[codes] * weights, len(classes)
    )
