"""One stochastic step for each new row: the state behind ``partial_fit``."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.chance_constrained.data.covariance_tables import (
    FullTable,
    Uncertainty,
    safety_factor,
)
from widemargin.estimators.chance_constrained.data.covariances import given_covariances
from widemargin.estimators.chance_constrained.data.samples import (
    Samples,
    binary_problems,
    own_covariances,
    row_weights,
    sample_costs,
    weighted_rows,
)

from .stochastic import CostSummary, Descent, draw_order, make_rule, summarise, visit

Floats = NDArray[np.float64]


@dataclass
class OnlineDescent:
    """Descents of all binary problems and the sums of the rows seen so far.

    ``visits`` counts the steps of the whole history, those of `fit` included.
    """

    classes: NDArray[Any]
    descents: list[Descent]
    summaries: list[CostSummary]
    covariances: Floats | None
    seed: int
    visits: int = 0

    @classmethod
    def of(cls, estimator: Any, classes: Any, n_features: int) -> OnlineDescent:
        """Return the estimator's descents: those under way, or new ones."""
        if not hasattr(estimator, "coef_") or estimator._online is None:
            return cls.begin(estimator, classes, n_features)
        return cls.resume(estimator._online)

    def state(self) -> dict[str, Any]:
        """Return everything as arrays and numbers, which any model file can hold."""
        return {
            "classes": self.classes,
            "w": np.stack([d.w for d in self.descents]),
            "mean_w": np.stack([d.mean_w for d in self.descents]),
            "b": np.array([(d.b, d.mean_b) for d in self.descents]),
            "steps": self.descents[0].steps,
            "summaries": summary_table(self.summaries),
            "covariances": self.covariances,
            "seed": self.seed,
            "visits": self.visits,
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
        return cls(
            state["classes"],
            descents,
            _summaries(state["summaries"]),
            state["covariances"],
            state["seed"],
            state["visits"],
        )

    @classmethod
    def begin(cls, estimator: Any, classes: Any, n_features: int) -> OnlineDescent:
        """Start from w = 0, or go on from a fitted model and the rows it has seen.

        The refined method goes on as if each of those rows had been visited once: a
        new row then weighs as much as one of them, however many epochs `fit` made.
        The published one has no other clock than its steps.
        """
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
        covariances = estimator.covariances_ if fitted else None
        if not isinstance(estimator.covariance, str):
            table = given_covariances(estimator.covariance, known, n_features)
            covariances = table.matrices
        seed = int(estimator._generator().integers(2**31))
        if not fitted:
            descents = [Descent.start(n_features) for _ in range(count)]
            nothing = [CostSummary() for _ in range(count)]
            return cls(known, descents, nothing, covariances, seed)
        summaries = _summaries(estimator._seen)
        visits = int(estimator.n_iter_)
        rows = int(summaries[0].rows)
        steps = rows if estimator.refine else max(rows, visits)
        descents = [
            Descent(w.copy(), w.copy(), float(b), float(b), steps)
            for w, b in zip(estimator.coef_, estimator.intercept_, strict=True)
        ]
        return cls(known, descents, summaries, covariances, seed, visits)

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
        weights = row_weights(sample_weight, X.shape[0])
        unknown = np.setdiff1d(y[weights > 0.0], self.classes)
        if len(unknown):
            raise ValueError(
                f"y has the labels {unknown.tolist()}, which are not in classes "
                f"{self.classes.tolist()}."
            )
        data = weighted_rows(X, y, weights, self.classes)
        if n_samples_total is not None and n_samples_total < 1:
            raise ValueError(
                f"n_samples_total must be at least 1, got {n_samples_total}: it is "
                "the number of rows there will be in all."
            )
        kappa = safety_factor(estimator.risk, estimator.bound)
        problems = binary_problems(
            data,
            sample_costs(estimator.C, estimator.class_weight, data),
            self._uncertainty(data, covariance, factor),
            kappa,
            estimator.fit_intercept,
        )
        rng = np.random.default_rng([self.seed, self.descents[0].steps])
        order = draw_order(len(data.rows), estimator.sampling, rng)
        for k, problem in enumerate(problems):
            self.summaries[k] = self.summaries[k] + summarise(problem)
            rule = make_rule(
                _scaled_up(self.summaries[k], n_samples_total),
                kappa,
                estimator.fit_intercept,
                estimator.refine,
            )
            visit(problem, order, rule, self.descents[k])
        self.visits += len(order)
        models = [descent.model(estimator.refine) for descent in self.descents]
        return np.stack([w for w, _ in models]), np.array([b for _, b in models])

    def _uncertainty(self, data: Samples, covariance: Any, factor: Any) -> Uncertainty:
        if covariance is not None or factor is not None:
            return own_covariances(data, covariance, factor)
        if self.covariances is None:
            raise ValueError(
                "covariance='class' cannot be estimated from a part of the data: give "
                "the matrices (covariance= a (d, d) array or a dict of them), give "
                "covariance= with the rows, or call fit on a first part."
            )
        return Uncertainty(FullTable(self.covariances), data.labels)


def summary_table(summaries: list[CostSummary]) -> Floats:
    """Return the sums as one array, which any model file can hold."""
    return np.array([astuple(summary) for summary in summaries])


def _summaries(table: Floats) -> list[CostSummary]:
    return [CostSummary(*map(float, row)) for row in table]


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
