"""What a model keeps to be updated: its rows, and the solutions they lead to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel, make_kernel, numeric_gamma

from .known_parameters import Parameters, parameters_of, same_objects
from .live_rows import LiveRows, wanted_ids
from .row_index import RowIndex
from .task_state import TaskState

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class UpdateState:
    """Rows, solutions of all tasks, and what must not change meanwhile.

    Attributes
    ----------
    live : LiveRows
        The rows the model stands on.
    tasks : list of TaskState
        One per pair of classes or output; none before the first chunk and without rows.
    next_id : int
        Number of the next row that is given no id.
    named_ids : bool
        Whether rows are given ids.
    kernel : Kernel
        Kernel of the first fit; an estimated gamma is kept.
    gamma : float or str
        The parameter at the first fit.
    fit_intercept : bool
        The parameter at the first fit.
    gone : ndarray
        Places among ``live`` whose rows have left, in ascending order: erased, and
        closed up with the next update that moves anything.
    closed_classes : bool
        Whether the user listed the classes: then a chunk brings no others.
    parameters : dict or None
        Those of the estimator at the last move; None in a model from a file.
    index : RowIndex
        Where the rows of given ids are.
    """

    live: LiveRows
    tasks: list[TaskState]
    next_id: int
    named_ids: bool
    kernel: Kernel
    gamma: float | str
    fit_intercept: bool
    gone: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    closed_classes: bool = False
    parameters: Parameters | None = field(default=None, init=False)
    index: RowIndex = field(init=False)

    def __post_init__(self) -> None:
        """Begin an index; that of a former state is handed on where rows only came."""
        object.__setattr__(self, "index", RowIndex(self.named_ids))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index out of pickles and copies: it is made when asked."""
        return {name: value for name, value in vars(self).items() if name != "index"}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        """Begin with an index of its own."""
        self.__dict__.update(fields, index=RowIndex(fields["named_ids"]))

    @property
    def n(self) -> int:
        """Number of live rows."""
        return self.live.n - self.gone.size

    @property
    def support(self) -> int:
        """Number of support vectors, over all tasks."""
        return sum([task.support for task in self.tasks])

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the live rows."""
        return np.delete(self.live.ids, self.gone)

    def changed(self, **fields: Any) -> UpdateState:
        """Return a later state; rows only came since, so the index stays good."""
        later = object.__new__(UpdateState)
        later.__dict__.update(self.__dict__, **fields)
        return later

    def moved(self, live: LiveRows, tasks: list[TaskState]) -> UpdateState:
        """Return the state after a move: other places, so that an index begins anew."""
        return self.changed(live=live, tasks=tasks, index=RowIndex(self.named_ids))

    def under(self, estimator: Any) -> UpdateState:
        """Return the state with the parameters of an estimator noted."""
        if not same_objects(estimator, self.parameters):
            object.__setattr__(self, "parameters", parameters_of(estimator))
        return self

    def closed_up(self) -> UpdateState:
        """Return the state without the places of rows that have left."""
        if not self.gone.size:
            return self
        stays = np.ones(self.live.n, dtype=np.bool_)
        stays[self.gone] = False
        now = np.cumsum(stays) - 1
        tasks = [task.kept(stays, now) for task in self.tasks]
        live = self.live.kept(np.flatnonzero(stays))
        return self.moved(live, tasks).changed(gone=self.gone[:0])

    def places(self, wanted: NDArray[Any]) -> Indices:
        """Return where the rows of some ids are; -1 for ids that are not live."""
        return self.index.places(wanted, self.live.ids, self.gone)

    def find(self, ids: Any, name: str = "ids") -> Indices:
        """Return the places of the wanted ids; unknown or repeated ones are errors.

        `name` is the parameter's, for the errors.
        """
        wanted = wanted_ids(ids, name)
        found = self.places(wanted)
        unknown = wanted[found < 0].tolist()
        if unknown:
            one = len(unknown) == 1
            raise ValueError(
                f"{name} contains {unknown[:5]}, which {'is' if one else 'are'} "
                "not live; ids_ lists the ids of the rows this model stands on."
            )
        return np.sort(found)

    def refuse_known(self, ids: NDArray[Any]) -> None:
        """Raise if a new id belongs to a live row already."""
        both = ids[self.places(ids) >= 0].tolist()
        if both:
            raise ValueError(
                f"ids contains {sorted(both)[:5]}, already in use by live rows; forget "
                "them first or choose other ids."
            )
        if self.n and (ids.dtype.kind == "U") != (self.live.ids.dtype.kind == "U"):
            raise ValueError("ids must be all integers or all strings over all calls.")

    def has_kernel_of(self, estimator: Any) -> bool:
        """Whether kernel and intercept settings are still those of the first fit.

        An estimated gamma is kept while the setting stays: chunks do not change it.
        """
        if same_objects(estimator, self.parameters):
            return True
        estimated = isinstance(estimator.gamma, str)
        if estimated and estimator.gamma != self.gamma:
            return False
        gamma = numeric_gamma(self.kernel) if estimated else estimator.gamma
        kernel = make_kernel(
            estimator.kernel,
            gamma=gamma,
            degree=estimator.degree,
            coef0=estimator.coef0,
        )
        same = estimator.fit_intercept == self.fit_intercept
        return bool(kernel == self.kernel and same)


def no_rows(like: LiveRows) -> LiveRows:
    """Return the rows of a model that has none yet, in the form of those to come."""
    return like.kept(np.empty(0, dtype=np.intp))
