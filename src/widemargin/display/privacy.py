"""What an audit saw: released models of two neighbouring data sets, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.estimators.private import AuditResult, privacy_audit

from .canvas import COLOURS, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PrivacyDisplay:
    """Histograms of the audit's test statistic on models of D and of D'.

    Two separate histograms mean that the record is revealed; two that
    coincide mean that this test did not find it, which is not a proof of privacy.

    Parameters
    ----------
    result : AuditResult
        What `privacy_audit` returned.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import DPWSSClassifier, privacy_audit
    >>> from widemargin.display import PrivacyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> method = DPWSSClassifier(selection_epsilon=0.1, n_jobs=1)
    >>> result = privacy_audit(method, X[:100], y[:100], runs=20, held_out=10)
    >>> PrivacyDisplay(result).plot().ax_.get_ylabel()
    'models'
    """

    ax_: Axes

    def __init__(self, result: AuditResult) -> None:
        self.result = result

    @classmethod
    def from_audit(
        cls, result: AuditResult, *, ax: Axes | None = None
    ) -> PrivacyDisplay:
        """Draw a finished audit.

        Parameters
        ----------
        result : AuditResult
            What `privacy_audit` returned.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        return cls(result).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None, **options: Any
    ) -> PrivacyDisplay:
        """Audit an estimator and draw what was found.

        Parameters
        ----------
        estimator : classifier
            The method under audit.
        X, y : training data
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **options
            Passed on to `privacy_audit`.
        """
        return cls(privacy_audit(estimator, X, y, **options)).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, bins: int = 30) -> PrivacyDisplay:
        """Draw the histograms; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        bins : int, default=30
            Number of bins.
        """
        ax = axes_or_new(ax)
        result = self.result
        both = np.concatenate([result.scores, result.neighbour_scores])
        margin = 1e-9 + 1e-9 * np.abs(both).max()
        edges = np.linspace(both.min() - margin, both.max() + margin, bins + 1)
        for scores, colour, label in (
            (result.scores, COLOURS[0], "without the canary"),
            (result.neighbour_scores, COLOURS[1], "with the canary"),
        ):
            ax.hist(scores, bins=edges.tolist(), color=colour, alpha=0.6, label=label)
        ax.axvline(result.threshold, color="#555555", linestyle="--", linewidth=1)
        nominal = "" if result.nominal is None else f"stated {result.nominal:g}, "
        # two lines, so that two of these fit side by side
        ax.set_title(
            f"epsilon: {nominal}measured >= {result.epsilon_lower:.2f}\n"
            f"({result.runs} runs can show at most {result.epsilon_limit:.2f})",
            fontsize=9,
        )
        ax.set_xlabel("test statistic of the released model")
        ax.set_ylabel("models")
        ax.legend(fontsize=8)
        self.ax_ = ax
        return self
