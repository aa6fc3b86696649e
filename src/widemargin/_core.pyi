"""Types of the compiled core; see core/bindings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_F = NDArray[np.float64]
_I = NDArray[np.int32]
_Monitor = Callable[[int, float, int], bool] | None

class Gram:
    @property
    def size(self) -> int: ...
    @property
    def evaluated(self) -> int: ...
    @property
    def single_precision_suffices(self) -> bool: ...
    def rows(self, indices: _I, columns: _I, out: NDArray[Any]) -> None: ...
    def diagonal(self, indices: _I, out: _F) -> None: ...
    def magnitudes(self, indices: _I, out: _F) -> None: ...
    def times(self, indices: _I, weights: _F, columns: _I, out: _F) -> None: ...
    def bounded_times32(
        self, indices: _I, weights: _F, columns: _I, out: _F, error: _F
    ) -> None: ...
    def bounded_times64(
        self, indices: _I, weights: _F, columns: _I, out: _F, error: _F
    ) -> None: ...
    def products(
        self, indices: _I, weights: _F, values: _F, error: _F, squares: _F
    ) -> None: ...
    def add_rows(self, indices: _I, weights: _F, out: _F) -> None: ...
    def release(self) -> None: ...
    def subset(self, indices: _I, cache_bytes: int, threads: int) -> Gram: ...
    def cross32(self, *samples_weights_out: Any) -> None: ...
    def cross64(self, *samples_weights_out: Any) -> None: ...
    def bounded_cross(self, *samples_weights_out_error: Any) -> None: ...
    def cross_rows(self, *samples_out: Any) -> None: ...

def times(X: NDArray[Any], weights: _F, out: _F, threads: int) -> None: ...
def transposed_times(X: NDArray[Any], weights: _F, out: _F, threads: int) -> None: ...
def add_squares(square: _F, X: _F, threads: int) -> None: ...
def solve_definite(matrix: _F, right: _F, threads: int) -> bool: ...
def newton_step(
    block: _F,
    members: _I,
    gradient: _F,
    bordered: bool,
    independence: float,
    step: _F,
    threads: int,
) -> None: ...
def dense_gram(*arguments: Any) -> Gram: ...
def sparse_gram(*arguments: Any) -> Gram: ...
def matrix_gram(K: NDArray[Any], cache_bytes: int, threads: int) -> Gram: ...
def callback_gram(function: Callable[..., None], n: int, cache_bytes: int) -> Gram: ...
def target() -> str: ...
def solve_blocks(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    equality: bool,
    beta: _F,
    gradient: _F,
    errors: _F,
    anchors: _I,
    tolerance: float,
    max_steps: int,
    max_seconds: float,
    shrinking: bool,
    seed: int,
    single_precision: bool,
    monitor: _Monitor,
    decide: Callable[[int, Any, Any], None] | None = None,
    every_gradient: bool = False,
) -> tuple[str, int, float, BaseException | None, list[_F]]: ...
def solve_pairs(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    beta: _F,
    gradient: _F,
    rule: str,
    tolerance: float,
    max_steps: int,
    max_seconds: float,
    monitor: _Monitor,
) -> tuple[str, int, float, BaseException | None]: ...
def solve_drawn_pairs(
    gram: Gram,
    linear: _F,
    lower: _F,
    upper: _F,
    beta: _F,
    gradient: _F,
    epsilon: float,
    sigma: float,
    once: bool,
    robust_maximum: bool,
    shrinking: bool,
    seed: int,
    tolerance: float,
    max_steps: int,
    max_seconds: float,
    monitor: _Monitor,
) -> tuple[str, int, float, BaseException | None]: ...
def follow_path(*arguments: Any) -> Any: ...
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
