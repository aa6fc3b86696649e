"""One stochastic step for each new row: the state behind ``partial_fit``."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validation import class_weights
from .covariances import given_covariances, sample_covariances
from .objective import ChanceProblem
from .rows import row_weights
from .samples import one_vs_rest
from .stochastic import CostSummary, Descent, draw_order, make_rule, summarise, visit
from .uncertainty import FullTable, Uncertainty, safety_factor

Floats = NDArray[np.float64]


@dataclass
class OnlineDescent:
    """Descents of all binary problems and the sums of the rows seen so far."""

    classes: NDArray[Any]
    descents: list[Descent]
    summaries: list[CostSummary]
    covariances: Floats | None
    seed: int

    @classmethod
    def of(cls, estimator: Any, classes: Any, n_features: int) -> OnlineDescent:
        """Return the estimator's descents: those under way, or new ones."""
        state = getattr(estimator, "_online", None)
        if state is None:
            return cls.begin(estimator, classes, n_features)
        return cls.resume(state)

    def state(self) -> dict[str, Any]:
        """Return everything as arrays and numbers, which any model file can hold."""
        return {
            "classes": self.classes,
            "w": np.stack([d.w for d in self.descents]),
            "mean_w": np.stack([d.mean_w for d in self.descents]),
            "b": np.array([(d.b, d.mean_b) for d in self.descents]),
            "steps": self.descents[0].steps,
            "summaries": np.array([astuple(summary) for summary in self.summaries]),
            "covariances": self.covariances,
            "seed": self.seed,
        }

    @classmethod
    def resume(cls, state: dict[str, Any]) -> OnlineDescent:
        """Return the descents that `state` was taken from."""
        descents = [
            Descent(w.copy(), mean_w.copy(), float(b), float(mean_b), state["steps"])
            for w, mean_w, (b, mean_b) in zip(
                state["w"], state["mean_w"], state["b"], strict=True
            )
        ]
        summaries = [CostSummary(*map(float, row)) for row in state["summaries"]]
        return cls(
            state["classes"], descents, summaries, state["covariances"], state["seed"]
        )

    @classmethod
    def begin(cls, estimator: Any, classes: Any, n_features: int) -> OnlineDescent:
        """Start from a fitted model, or from w = 0."""
        if estimator.standardize or estimator.class_weight == "balanced":
            raise ValueError(
                "partial_fit cannot see all rows, so standardize=True and "
                "class_weight='balanced' are not available: scale X and the "
                "covariances beforehand and give the class weights as a dict."
            )
        fitted = hasattr(estimator, "coef_")
        if classes is None and not fitted:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        known = np.unique(estimator.classes_ if classes is None else classes)
        if len(known) < 2:
            raise ValueError(
                "classes must hold at least two labels; the number of classes has to "
                f"be greater than one; got {len(known)} class"
            )
        if fitted and not np.array_equal(known, estimator.classes_):
            raise ValueError(
                f"classes={known.tolist()} are not those of the fitted model, "
                f"{estimator.classes_.tolist()}."
            )
        count = 1 if len(known) == 2 else len(known)
        covariances = getattr(estimator, "covariances_", None)
        if not isinstance(estimator.covariance, str):
            table = given_covariances(estimator.covariance, known, n_features)
            covariances = table.matrices
        descents = [Descent.start(n_features) for _ in range(count)]
        if fitted:
            for k, descent in enumerate(descents):
                descent.w[:] = descent.mean_w[:] = estimator.coef_[k]
                descent.b = descent.mean_b = float(estimator.intercept_[k])
                descent.steps = int(estimator.n_iter_)
        return cls(
            known,
            descents,
            [CostSummary() for _ in range(count)],
            covariances,
            int(estimator._generator().integers(2**31)),
        )

    def step(
        self,
        estimator: Any,
        X: Any,
        y: NDArray[Any],
        covariance: Any,
        factor: Any,
        sample_weight: Any,
        n_samples_total: int | None,
    ) -> tuple[Floats, Floats]:
        """Visit the rows once and return coefficients and intercepts."""
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(
                f"y has the labels {unknown.tolist()}, which are not in classes "
                f"{self.classes.tolist()}."
            )
        labels = np.searchsorted(self.classes, y)
        weights = row_weights(sample_weight, X.shape[0])
        if n_samples_total is not None and n_samples_total < 1:
            raise ValueError(
                f"n_samples_total must be at least 1, got {n_samples_total}: it is "
                "the number of rows there will be in all."
            )
        factors = class_weights(estimator.class_weight, self.classes, labels, weights)
        costs = np.asarray(estimator.C * factors[labels] * weights)
        kappa = safety_factor(estimator.risk, estimator.bound)
        uncertainty = self._uncertainty(X, labels, covariance, factor)
        rng = np.random.default_rng([self.seed, self.descents[0].steps])
        order = draw_order(X.shape[0], estimator.sampling, rng)
        for k, signs in enumerate(one_vs_rest(labels, len(self.classes))):
            problem = ChanceProblem(
                X, signs, costs, uncertainty, kappa, estimator.fit_intercept
            )
            self.summaries[k] = self.summaries[k] + summarise(problem)
            rule = make_rule(
                _scaled_up(self.summaries[k], n_samples_total),
                kappa,
                estimator.fit_intercept,
                estimator.refine,
            )
            visit(problem, order, rule, self.descents[k])
        models = [descent.model(estimator.refine) for descent in self.descents]
        return np.stack([w for w, _ in models]), np.array([b for _, b in models])

    def _uncertainty(
        self, X: Any, labels: NDArray[np.intp], covariance: Any, factor: Any
    ) -> Uncertainty:
        if covariance is not None or factor is not None:
            return sample_covariances(covariance, factor, X.shape[0], X.shape[1])
        if self.covariances is None:
            raise ValueError(
                "covariance='class' cannot be estimated from a part of the data: give "
                "the matrices (covariance= a (d, d) array or a dict of them), give "
                "covariance= with the rows, or call fit on a first part."
            )
        return Uncertainty(FullTable(self.covariances), labels.astype(np.intp))


def _scaled_up(summary: CostSummary, n_samples_total: int | None) -> CostSummary:
    """Return the sums that all rows will have if they are like those seen."""
    if n_samples_total is None:
        return summary
    factor = n_samples_total / max(summary.rows, 1.0)
    return replace(
        summary,
        rows=float(n_samples_total),
        positive=summary.positive * factor,
        negative=summary.negative * factor,
        squared=summary.squared * factor,
    )
