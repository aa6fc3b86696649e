"""Training on data larger than memory, or that is still to come: blocks and steps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from widemargin.estimators.base.sklearn_compat import validated
from widemargin.estimators.chance_constrained.data.block_sources import (
    BlockSource,
    user_blocks,
)
from widemargin.estimators.chance_constrained.data.covariance_tables import (
    safety_factor,
)
from widemargin.estimators.chance_constrained.data.samples import check_samples
from widemargin.estimators.chance_constrained.solvers.block_descent import (
    Settings,
    fit_blocks,
)
from widemargin.estimators.chance_constrained.solvers.online_descent import (
    OnlineDescent,
)

from .uncertain_model import UncertainLinearModel, keeping_model


def _is_stochastic(estimator: Any) -> bool:
    if estimator.solver == "ssgd":
        return True
    raise AttributeError(
        "partial_fit and fit_blocks need solver='ssgd': the other solvers see all "
        f"samples at once (solver={estimator.solver!r})."
    )


class StreamedModel(UncertainLinearModel):
    """The part of the estimator that only ``solver="ssgd"`` has."""

    risk: float
    bound: str
    random_state: Any

    def _generator(self) -> np.random.Generator:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng(int(seed))

    @available_if(_is_stochastic)  # type: ignore[untyped-decorator]
    @validated
    def fit_blocks(self, blocks: Any) -> Self:
        """Fit to data that comes in blocks, each pass reading them anew.

        Parameters
        ----------
        blocks : callable or sequence
            A function that returns a new iterator over the blocks, or a list of them.
            A block is ``(X, y)`` or ``(X, y, extras)`` with a dict of `fit`'s other
            arguments for these rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_source(
            user_blocks(blocks), safety_factor(self.risk, self.bound)
        )

    def _fit_source(self, source: BlockSource, kappa: float) -> Self:
        with keeping_model(self):
            return self._fit_kept(source, kappa)

    def _fit_kept(self, source: BlockSource, kappa: float) -> Self:
        fitted = fit_blocks(source, Settings.of(self, kappa), self._generator())
        self.n_features_in_ = len(fitted.scaling.scale)
        self.covariances_ = fitted.covariances
        self.slack_, self.bounded_share_ = None, fitted.bounded_share
        self._store(fitted.classes, fitted.scaling, fitted.solutions, fitted.summaries)
        return self

    @available_if(_is_stochastic)  # type: ignore[untyped-decorator]
    @validated
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        covariance: Any = None,
        covariance_factor: Any = None,
        sample_weight: Any = None,
        n_samples_total: int | None = None,
    ) -> Self:
        """Take one stochastic step for each given row.

        After `fit` it goes on from the model and from what was seen of its rows (their
        number and size; the rows are not kept). No pass over all rows is made, so
        there is no certificate and no slack after it.

        Parameters
        ----------
        X, y, covariance, covariance_factor, sample_weight : as for `fit`
            The new rows.
        classes : array, optional
            All labels; needed in the first call.
        n_samples_total : int, optional
            The m of the step ``C m / t``; the rows seen so far by default, those of
            `fit` included. Give it where rows are passed several times.

        Returns
        -------
        self : object
            The estimator.
        """
        with keeping_model(self):
            X, y = check_samples(self, X, y, reset=not hasattr(self, "coef_"))
            online = OnlineDescent.of(self, classes, X.shape[1])
            more = covariance, covariance_factor, sample_weight, n_samples_total
            self.coef_, self.intercept_ = online.step(self, X, y, *more)
        self._online, self.classes_ = online.state(), online.classes
        self.covariances_, self.n_iter_ = online.covariances, online.visits
        self.scale_, self.fit_status_ = np.ones(X.shape[1]), 0
        for name in ("certificate_", "history_", "slack_", "bounded_share_"):
            self.__dict__.pop(name, None)  # they were of the model before this step
        return self
