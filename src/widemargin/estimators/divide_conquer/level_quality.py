"""What is known of an early level before it is trained: two levels on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

# On generated clouds (48 chosen on, 24 checked on) nothing changes from .03 on; where
# C is too small for few rows, random rows are .04 worse and prove nothing.
FAR_WORSE = 0.1  # of random rows against a level, in balanced accuracy


class EarlyWarning(UserWarning):
    """An early model is expected to predict worse than an exact one."""


def area_under_curve(values: Vector, positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, by the ranks of the positive rows.

    It is the share of pairs of rows, one of each class, that are in order; ties count
    half (Mann and Whitney 1947).
    """
    above, others = np.sort(values[positive]), np.sort(values[~positive])
    below = np.searchsorted(others, above).sum()
    below_or_tied = np.searchsorted(others, above, side="right").sum()
    return float(below + below_or_tied) / (2 * len(above) * len(others))


@dataclass(frozen=True)
class Quality:
    """How well held-out rows were predicted.

    Attributes
    ----------
    right : ndarray of bool
        Which rows were.
    truth : ndarray
        Class of each row.
    auc : float or None
        Area under the ROC curve, for two classes.
    """

    right: NDArray[np.bool_]
    truth: Indices
    auc: float | None

    @classmethod
    def of(cls, values: Vector, truth: Indices) -> Quality:
        """Judge values of each class, one column per class."""
        auc = None
        if values.shape[1] == 2 and np.count_nonzero(np.bincount(truth)) == 2:
            auc = area_under_curve(values[:, 1], truth == 1)
        return cls(values.argmax(axis=1) == truth, truth, auc)

    @cached_property
    def balanced_accuracy(self) -> float:
        """Mean of the recalls of all classes that are there."""
        return float(self._means(self.right).mean())

    def loss_against(self, other: Quality) -> float:
        """Return by how much the other is better, in the worse of the figures."""
        loss = other.balanced_accuracy - self.balanced_accuracy
        if self.auc is None or other.auc is None:
            return loss
        return max(loss, other.auc - self.auc)

    def deviation_against(self, other: Quality) -> float:
        """Return the standard error of the difference of the balanced accuracies."""
        differences = other.right.astype(np.float64) - self.right
        variances = self._means(differences**2) - self._means(differences) ** 2
        return float(np.sqrt((variances / self._counts).sum())) / self._counts.size

    @cached_property
    def _counts(self) -> Indices:
        """Rows of each class that is there."""
        counts = np.bincount(self.truth)
        return counts[counts > 0]

    def _means(self, figures: NDArray[Any]) -> Vector:
        """Return the mean of each class that is there."""
        sums = np.bincount(self.truth, weights=figures)
        return sums[np.bincount(self.truth) > 0] / self._counts


@dataclass(frozen=True)
class Evidence:
    """A level against the one above it, in some regions.

    Attributes
    ----------
    level : int
        The finer of the two.
    finer, coarser : Quality
        On the same held-out rows.
    compared : Rows
        Those rows.
    regions : int
        Clusters of the level above that were looked at.
    trained, support : int
        Rows that trained the coarser models, and how many became support vectors.
    seconds : float
        What the comparison took.
    sampled, sampled_rows : Quality or None, int
        Quality of one model of random rows, and their number; see
        :func:`widemargin.estimators.divide_conquer.level_evidence.against_sample`.
    """

    level: int
    finer: Quality
    coarser: Quality
    compared: Any
    regions: int
    trained: int
    support: int
    seconds: float
    sampled: Quality | None = None
    sampled_rows: int = 0

    @property
    def loss(self) -> float:
        """What the level is expected to lose against the whole problem.

        Each step above the one that was measured is taken to lose half as much. What
        random rows reach, the whole problem reaches too.
        """
        loss = self._steps * max(0.0, self.finer.loss_against(self.coarser))
        if self.sampled is None:
            return loss
        return max(loss, self.finer.loss_against(self.sampled))

    def exceeds(self, tolerance: float) -> bool:
        """Whether the level is held to lose more, in the light of the standard errors.

        Level 1 has no such margin: the whole problem itself is what it is compared to.
        """
        loss = self._steps * self.finer.loss_against(self.coarser)
        deviation = self.deviation if self.level > 1 else 0.0
        allowed = tolerance + deviation if self._local else _least(deviation, tolerance)
        if loss > allowed:
            return True
        if self.sampled is None:
            return False
        deviation = self.finer.deviation_against(self.sampled)
        return self.finer.loss_against(self.sampled) > _least(deviation, tolerance)

    def may_pass(self, tolerance: float) -> bool:
        """Whether what random rows reach can still speak for the level."""
        loss = self._steps * self.finer.loss_against(self.coarser)
        return self.level > 1 and loss <= tolerance + self.deviation

    @property
    def _local(self) -> bool:
        """Whether many rows near by count for more than the borders of clusters.

        As many random rows do far worse then. The parts of the regions that train have
        few rows, too, from which the finer level suffers more than with all.
        """
        if self.sampled is None or self.level == 1:
            return False
        return self.finer.loss_against(self.sampled) < -FAR_WORSE

    @property
    def deviation(self) -> float:
        """Standard error of the loss against the level above."""
        return self._steps * self.finer.deviation_against(self.coarser)

    def entries(self, rows: float) -> float:
        """Return the kernel entries that a model of `rows` rows would need."""
        return rows * rows * self.support / self.trained

    @property
    def _steps(self) -> float:
        return float(2.0 - 0.5 ** (self.level - 1))

    def record(self, size: int) -> dict[str, Any]:
        """Return it as a stage record of ``history_``."""
        figures = {
            "finer": self.finer, "coarser": self.coarser, "sampled": self.sampled
        }  # fmt: skip
        return {
            "stage": f"evidence on level {self.level}",
            "size": size,
            "seconds": self.seconds,
            "objective": None,
            "gap": None,
            "regions": self.regions,
            "held_out": len(self.finer.truth),
            "expected_loss": self.loss,
            "deviation": self.deviation,
            "sampled_rows": self.sampled_rows,
            **{
                f"{name}_{figure}": None if own is None else getattr(own, figure)
                for name, own in figures.items()
                for figure in ("balanced_accuracy", "auc")
            },
        }


def _least(deviation: float, tolerance: float) -> float:
    """Return the loss that counts: one above the tolerance.

    An error above the tolerance cannot tell it from no loss, and is allowed for; a
    smaller one can.
    """
    return tolerance + (deviation if deviation > tolerance else 0.0)


def disappointing(evidence: Evidence, machine: Any, size: int) -> str:
    """Return the words of the warning: both figures, and what to do.

    `size` is the number of all rows.
    """
    finer, coarser = evidence.finer, evidence.coarser
    clusters = machine.n_branches**evidence.level
    text = (
        f"Early prediction with {clusters} clusters is expected to lose "
        f"{100 * evidence.loss:.1f} points against the exact model (early_tolerance="
        f"{machine.early_tolerance}): on {len(finer.truth)} held-out rows of "
        f"{evidence.regions} regions its balanced accuracy was "
        f"{100 * finer.balanced_accuracy:.1f} %, that of clusters "
        f"{machine.n_branches} times as large {100 * coarser.balanced_accuracy:.1f} %"
    )
    if finer.auc is not None and coarser.auc is not None:
        text += f" (area under the ROC curve {finer.auc:.3f}, {coarser.auc:.3f})"
    text += ". Choose a smaller early_level, or prediction='exact'"
    sampled = evidence.sampled
    if sampled is not None and sampled.loss_against(finer) < 0:
        # at level 1 that is the coarser model, whose rows have the weight of all
        C = machine.C * (size / evidence.trained if evidence.level == 1 else 1.0)
        text += (
            f"; SVC(C={C:.3g}) on {evidence.sampled_rows} random rows, which costs a "
            f"tenth, reached {100 * sampled.balanced_accuracy:.1f} %"
        )
    return text + "."
