"""What a model's mistakes cost on held-out rows, and what simpler answers would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.pipeline import Pipeline

from .estimator import CostSensitiveSVC
from .prices import check_cost_matrix

Vector = NDArray[np.float64]
Labels = NDArray[np.intp]

PLAIN = "SVC without costs"
PROBABLE = "calibrated probabilities"
ONE_ANSWER = "always {}"


@dataclass(frozen=True, eq=False)
class CostReport:
    """What answers cost on rows the models have not seen, by cross-validation.

    A cost-sensitive model is worth having if it costs less than three simpler things,
    which stand beside it: the same SVM without costs; the answer of least expected cost
    by that SVM's calibrated probabilities; and always the same class, the one that is
    cheapest over all rows. Where the last one wins, the features do not tell the
    classes apart well enough for these costs; a smaller C may.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The classes, in the order of the tables.
    costs : dict of str to float
        Mean cost of a row, by method; the model itself comes first.
    by_class : array of shape (n_classes, n_classes)
        Share of the model's mean cost due to rows of class i predicted as j.
    counts : array of shape (n_classes, n_classes)
        Rows of class i predicted as j.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import CostReport, CostSensitiveSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CostSensitiveSVC(cost_matrix=[[0, 1, 5], [10, 0, 1], [2, 20, 0]])
    >>> report = CostReport.from_estimator(model, scale(X), y)
    >>> list(report.costs)[1:]
    ['SVC without costs', 'calibrated probabilities', 'always 2']
    >>> report.costs["CostSensitiveSVC"] < report.costs["always 2"]
    True
    """

    classes: NDArray[Any]
    costs: dict[str, float]
    by_class: Vector
    counts: Labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        cost_matrix: ArrayLike | None = None,
        cv: Any = 5,
    ) -> CostReport:
        """Cross-validate a model and the simpler answers on the same folds.

        Parameters
        ----------
        estimator : CostSensitiveSVC, or Pipeline that ends with one
            The model; it is cloned, not changed.
        X, y : samples and labels
        cost_matrix : array of shape (n_classes, n_classes), optional
            What mistakes cost, ``[i, j]`` for class i predicted as j; by default the
            estimator's own.
        cv : int or splitter, default=5
            Folds, as in scikit-learn.

        Returns
        -------
        CostReport
            The costs on the rows of all folds, each predicted by a model that has not
            seen it.
        """
        from sklearn.calibration import CalibratedClassifierCV  # brings much along

        final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not isinstance(final, CostSensitiveSVC):
            raise TypeError(
                f"CostReport compares a CostSensitiveSVC, not a {type(final).__name__}."
            )
        given = final.cost_matrix if cost_matrix is None else cost_matrix
        if given is None:
            raise ValueError(
                "CostReport needs to know what mistakes cost: give cost_matrix."
            )
        truth = np.asarray(y)
        classes, labels = np.unique(truth, return_inverse=True)
        costs = check_cost_matrix(given, classes.size)
        folds = list(check_cv(cv, truth, classifier=True).split(X, truth))
        plain = clone(estimator)
        without = plain[-1] if isinstance(plain, Pipeline) else plain
        without.set_params(
            cost_positive=1.0, cost_negative=1.0, cost_matrix=None, pos_label=None
        )
        calibrated = CalibratedClassifierCV(plain, ensemble=False, cv=3)
        probabilities = cross_val_predict(
            calibrated, X, truth, cv=folds, method="predict_proba"
        )
        own = np.searchsorted(classes, cross_val_predict(estimator, X, truth, cv=folds))
        other = np.searchsorted(classes, cross_val_predict(plain, X, truth, cv=folds))
        cheapest = int(np.argmin(np.bincount(labels) @ costs))
        answers = {
            type(final).__name__: own,
            PLAIN: other,
            PROBABLE: (probabilities @ costs).argmin(axis=1),
            ONE_ANSWER.format(classes[cheapest]): np.full(labels.size, cheapest),
        }
        counts = np.zeros((classes.size, classes.size), dtype=np.intp)
        np.add.at(counts, (labels, own), 1)
        means = {
            name: float(costs[labels, found].mean()) for name, found in answers.items()
        }
        return cls(classes, means, counts * costs / labels.size, counts)

    def __str__(self) -> str:
        """Return both tables as text."""
        width = max(map(len, self.costs))
        lines = [f"Mean cost of a row, {self.counts.sum()} held-out rows"]
        lines += [f"{name:{width}}  {cost:.4g}" for name, cost in self.costs.items()]
        lines += ["", f"{next(iter(self.costs))}: by true class, by predicted class"]
        labels = [str(label) for label in self.classes]
        wide = max(9, *map(len, labels))
        lines.append(" " * wide + "".join(f"  {label:>{wide}}" for label in labels))
        for label, row in zip(labels, self.by_class, strict=True):
            cells = "".join(f"  {cost:>{wide}.4g}" for cost in row)
            lines.append(f"{label:>{wide}}{cells}")
        return "\n".join(lines)
