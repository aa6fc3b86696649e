"""What mistakes cost: by true and predicted class, beside simpler answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widemargin.estimators.cost_sensitive import CostReport

from .canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CostDisplay:
    """The cost of each kind of mistake, and the total beside that of simpler answers.

    Parameters
    ----------
    report : CostReport
        What was found on held-out rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import CostSensitiveSVC
    >>> from widemargin.display import CostDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CostSensitiveSVC(cost_matrix=[[0, 1, 1], [1, 0, 9], [1, 2, 0]])
    >>> CostDisplay.from_estimator(model, X, y).ax_.get_xlabel()
    'predicted class'
    """

    ax_: Axes

    def __init__(self, report: CostReport) -> None:
        self.report = report

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cost_matrix: Any = None,
        cv: Any = 5,
        ax: Axes | None = None,
    ) -> CostDisplay:
        """Cross-validate a model and draw what its mistakes cost.

        Parameters
        ----------
        estimator : CostSensitiveSVC, or Pipeline that ends with one
            The model.
        X, y : samples and labels
        cost_matrix : array of shape (n_classes, n_classes), optional
            What mistakes cost; by default the estimator's own.
        cv : int or splitter, default=5
            Folds.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        """
        report = CostReport.from_estimator(
            estimator, X, y, cost_matrix=cost_matrix, cv=cv
        )
        return cls(report).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None, cmap: str = "Blues") -> CostDisplay:
        """Draw the table of costs, with the totals below; returns the display itself.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        cmap : str, default="Blues"
            Colour map.
        """
        ax = axes_or_new(ax)
        costs, counts = self.report.by_class, self.report.counts
        ax.imshow(costs, cmap=cmap)
        middle = costs.max() / 2
        for i, row in enumerate(costs):
            for j, cost in enumerate(row):
                ax.annotate(
                    f"{counts[i, j]} rows" + ("" if i == j else f"\n{cost:.3g}"),
                    (j, i),
                    ha="center",
                    va="center",
                    color="white" if cost > middle else "black",
                )
        labels = [str(label) for label in self.report.classes]
        ax.set_xticks(range(len(labels)), labels)
        ax.set_yticks(range(len(labels)), labels)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")
        totals = [f"{name} {cost:.3g}" for name, cost in self.report.costs.items()]
        ax.set_title("mean cost of a row: " + "\n".join(totals), fontsize=9)
        self.ax_ = ax
        return self
