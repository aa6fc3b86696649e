"""Types of the compiled core; see core/bindings."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_F = NDArray[np.float64]
_I = NDArray[np.int32]
_L = NDArray[np.int64]
_Monitor = Callable[[int, float, int], bool] | None

class Gram:
    @property
    def size(self) -> int: ...
    @property
    def evaluated(self) -> int: ...
    @property
    def entries(self) -> dict[str, int]: ...
    @property
    def seconds(self) -> dict[str, float]: ...
    @property
    def single_precision_suffices(self) -> bool: ...
    def rows(self, indices: _I, columns: _I, out: NDArray[Any]) -> None: ...
    def diagonal(self, indices: _I, out: _F) -> None: ...
    def magnitudes(self, indices: _I, out: _F) -> None: ...
    def times(self, indices: _I, weights: _F, columns: _I, out: _F) -> None: ...
    def several_times32(
        self, indices: _I, weights: _F, columns: _I, out: _F
    ) -> None: ...
    def several_times64(
        self, indices: _I, weights: _F, columns: _I, out: _F
    ) -> None: ...
    def bounded_times32(
        self, indices: _I, weights: _F, columns: _I, out: _F, error: _F
    ) -> None: ...
    def bounded_times64(
        self, indices: _I, weights: _F, columns: _I, out: _F, error: _F
    ) -> None: ...
    def products(
        self, indices: _I, weights: _F, values: _F, error: _F, squares: _F
    ) -> None: ...
    def sums(self, indices: _I, weights: _F, values: _F, error: _F) -> None: ...
    def add_rows(self, indices: _I, weights: _F, out: _F) -> None: ...
    def release(self) -> None: ...
    def subset(self, indices: _I, cache_bytes: int, threads: int) -> Gram: ...
    def cross32(self, *samples_weights_out: Any) -> None: ...
    def cross64(self, *samples_weights_out: Any) -> None: ...
    def bounded_cross32(self, *samples_weights_out_error: Any) -> None: ...
    def bounded_cross64(self, *samples_weights_out_error: Any) -> None: ...
    def cross_rows(self, *samples_out: Any) -> None: ...

class KernelTable:
    @overload
    def __init__(self, gram: Gram) -> None: ...
    @overload
    def __init__(
        self, gram: Gram, starts: NDArray[np.int64], capacity: int
    ) -> None: ...
    @property
    def size(self) -> int: ...
    def solve(
        self,
        offsets: NDArray[np.int64],
        members: _I,
        linear: _F,
        lower: _F,
        upper: _F,
        totals: _F,
        equality: bool,
        beta: _F,
        values: _F,
        errors: _F,
        summed: NDArray[np.bool_],
        exact: NDArray[np.bool_],
        steps: NDArray[np.int64],
        figures: _F,
        repaired: NDArray[np.bool_],
        budgets: _F | None,
        multipliers: _F,
        kink: _F | None,
        *,
        tolerance: float,
        max_steps: int,
        max_seconds: float,
        polish: str,
        polish_limit: int,
        certify: bool,
        threads: int,
        monitor: _Monitor = None,
        second_sum: str = "none",
        from_vertex: bool = False,
    ) -> tuple[list[str], BaseException | None]: ...

def times(X: NDArray[Any], weights: _F, out: _F, threads: int) -> None: ...
def transposed_times(X: NDArray[Any], weights: _F, out: _F, threads: int) -> None: ...
def all_finite(X: NDArray[Any]) -> bool: ...
def entry_moments(
    X: NDArray[Any], weights: _F, mass: float
) -> tuple[float, float, float]: ...
def feature_ranges(X: NDArray[Any]) -> tuple[float, float]: ...
def label_range(labels: _L) -> tuple[int, int]: ...
def number_classes(labels: _L, numbers: _L) -> list[int] | None: ...
def pair_rows(
    labels: _L, pairs: _L, n_classes: int, rows: _L, signs: _F
) -> list[int]: ...
def pair_support(
    labels: _L, rows: _L, coefficients: _F, support: _L, n_support: _I
) -> int: ...
def pair_table(
    labels: _L,
    rows: _L,
    coefficients: _F,
    offsets: _L,
    places: _L,
    support: _L,
    table: _F,
) -> None: ...
def hold_origin(lower: _F, upper: _F) -> bool: ...
def add_squares(square: _F, X: _F, threads: int) -> None: ...
def add_sparse_squares(
    square: _F,
    values: NDArray[Any],
    columns: _I,
    starts: NDArray[np.int64],
    rows: _I,
    weights: _F,
) -> None: ...
def solve_definite(matrix: _F, right: _F, threads: int) -> bool: ...
def newton_step(
    block: _F,
    members: _I,
    gradient: _F,
    groups: _I,
    independence: float,
    step: _F,
    threads: int,
) -> None: ...
def dense_gram(*arguments: Any) -> Gram: ...
def entries_of_few(
    Z: _F,
    X: NDArray[Any],
    kind: str,
    gamma: float,
    coef0: float,
    degree: int,
    out: _F,
) -> None: ...
def sparse_gram(*arguments: Any) -> Gram: ...
def matrix_gram(K: NDArray[Any], cache_bytes: int, threads: int) -> Gram: ...
def slab(bytes: int) -> NDArray[np.uint8]: ...
def release_kept_slabs() -> None: ...
def kept_slab_bytes() -> int: ...
def callback_gram(function: Callable[..., None], n: int, cache_bytes: int) -> Gram: ...
def target() -> str: ...

class SolverOptions:
    """Values a solve is told; the defaults are those of the core."""

    def __init__(
        self,
        *,
        tolerance: float = ...,
        max_steps: int = ...,
        max_seconds: float = ...,
        shrinking: bool = ...,
        seed: int = ...,
        single_precision: bool = ...,
        every_gradient: bool = ...,
        entry_error: float = ...,
    ) -> None: ...
    @property
    def tolerance(self) -> float: ...
    @property
    def max_steps(self) -> int: ...
    @property
    def max_seconds(self) -> float: ...
    @property
    def shrinking(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def single_precision(self) -> bool: ...
    @property
    def every_gradient(self) -> bool: ...
    @property
    def entry_error(self) -> float: ...

class DrawOptions:
    """How DPWSS draws the second member of a pair."""

    def __init__(
        self,
        *,
        epsilon: float = ...,
        sigma: float = ...,
        once: bool = ...,
        robust_maximum: bool = ...,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def sigma(self) -> float: ...
    @property
    def once(self) -> bool: ...
    @property
    def robust_maximum(self) -> bool: ...

class SolverOutcome:
    """How a solve ended; `points` are the earlier points that anchors refer to."""

    @property
    def status(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def points(self) -> list[_F]: ...

# The second of a result is what a callback raised: the caller raises it.
_Result = tuple[SolverOutcome, BaseException | None]

def solve_blocks(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    kink: _F | None,
    equality: bool,
    beta: _F,
    gradient: _F,
    errors: _F,
    anchors: _I,
    options: SolverOptions,
    monitor: _Monitor = None,
    screen: Callable[[int, Any, Any], None] | None = None,
    multiplier: _F | None = None,
    has_margin: bool = False,
) -> _Result: ...
def solve_chain(
    matrix: NDArray[Any],
    members: _I,
    others: _I,
    linear: _F,
    lower: _F,
    upper: _F,
    kink: _F | None,
    equality: bool,
    betas: _F,
    values: _F,
    intercepts: _F,
    pair_steps: NDArray[np.int64],
    options: SolverOptions,
    monitor: _Monitor = None,
    started: bool = False,
    similar: _F | None = None,
    similar_values: _F | None = None,
) -> _Result: ...
def solve_pairs(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    beta: _F,
    gradient: _F,
    rule: str,
    options: SolverOptions,
    monitor: _Monitor = None,
) -> _Result: ...
def solve_drawn_pairs(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    beta: _F,
    gradient: _F,
    draw: DrawOptions,
    options: SolverOptions,
    monitor: _Monitor = None,
) -> _Result: ...
def follow_path(*arguments: Any) -> Any: ...

class Removals:
    def __init__(
        self,
        beta: Any,
        gradient: Any,
        lower: Any,
        upper: Any,
        has_equality: bool,
        linear_scale: float,
        matrix: Any,
        threads: int,
    ) -> None: ...
    @property
    def ready(self) -> bool: ...
    def remove(self, rows: Any, betas: Any, reached: Any) -> None: ...

def subgradient_pass(
    data: Any,
    indices: Any,
    offsets: Any,
    table: Any,
    kind: str,
    groups: Any,
    signs: Any,
    costs: Any,
    order: Any,
    w: Any,
    mean_w: Any,
    b: float,
    mean_b: float,
    steps: int,
    *,
    kappa: float,
    rows_total: float,
    fit_intercept: bool,
    refined: bool,
    radius: float,
    delay: float,
    unit_of_cost: float,
) -> tuple[float, float, int]: ...
def parse_svmlight(*arguments: Any) -> Any: ...
def parse_csv(*arguments: Any) -> Any: ...
