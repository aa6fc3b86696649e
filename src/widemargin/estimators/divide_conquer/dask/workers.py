"""Rows on dask workers; early prediction on data that no single machine holds.

The rows stay with the workers. The clusters are made here from a sample of them.
Then each block is assigned where it is, rows travel to their cluster by dask's own
shuffle, and each cluster is trained as one task where its rows are. Only support
vectors come back. Rows carry their number and are put in order before training, so
that the model does not depend on the order of arrival, nor on a worker lost on the way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.kernels import Kernel
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.divide_conquer.blockwise.block_source import (
    Part,
    RowBlocks,
    Work,
    sample_dtype,
)
from widemargin.estimators.divide_conquer.cluster_pairs import pair_parts
from widemargin.estimators.divide_conquer.early import EarlyModel
from widemargin.estimators.divide_conquer.evidence_rows import Rows
from widemargin.multilevel.level import PartSolution, solve_cluster
from widemargin.multilevel.partition import Partition
from widemargin.runtime.dask_collections import is_dask

from .single_class_on_workers import ClusterLoan, each_once, joined_rows, loans_of

Vector = NDArray[np.float64]


@dataclass
class Blocks(RowBlocks):
    """Rows in blocks on the workers: samples, labels and, if given, weights.

    Attributes
    ----------
    samples, labels, weights : list of dask.delayed
        One entry per block; weights may be None.
    lengths, n_features, dtype, names
        As in :class:`..blockwise.block_source.RowBlocks`.
    """

    samples: list[Any]
    labels: list[Any]
    weights: list[Any] | None
    lengths: list[int]
    n_features: int
    dtype: np.dtype[Any]
    names: Sequence[str] | None = None
    sparse: bool = False
    threads: int | None = 1  # a worker has its own

    def delayed(self, function: Callable[..., Any], shared: Any) -> list[Any]:
        """Return ``function(X, y, w, offset, shared)`` of every block, delayed."""
        import dask

        weights = self.weights or [None] * len(self.samples)
        given = dask.delayed(shared, pure=False, traverse=False)
        delayed = dask.delayed(function, pure=False)
        return [
            delayed(X, y, w, offset, given)
            for X, y, w, offset in zip(
                self.samples, self.labels, weights, self.offsets, strict=True
            )
        ]

    def parts(self, work: Work, shared: Any, limited: bool) -> Iterator[Part]:
        """Yield all blocks, on the workers; with a limit of time, some at a time."""
        tasks = self.delayed(work, shared)
        step = max(8, -(-len(tasks) // 8)) if limited else len(tasks)
        for first in range(0, len(tasks), step):
            part = tasks[first : first + step]
            yield len(part), partial(_computed, part)


def _computed(tasks: list[Any]) -> Sequence[Any]:
    """Return what the workers make of delayed calls."""
    import dask

    with warnings.catch_warnings():
        # the model is in the graph once, so that a lost worker costs nothing
        warnings.filterwarnings("ignore", message="Sending large graph")
        computed: Sequence[Any] = dask.compute(*tasks)
    return computed


@dataclass(frozen=True)
class Trained:
    """What comes back from the workers.

    Attributes
    ----------
    model : EarlyModel
        With what clusters have borrowed.
    rows : Rows
        Support vectors of the clusters' own problems, with their C as weights.
    coefficients : array of shape (n_support, n_pairs)
        Coefficients of these rows.
    parts : list of lists of PartSolution
        For each class pair the local certificates of these.
    sizes : array of shape (n_clusters,)
        Rows in each cluster.
    loans : list of (int, ClusterLoan)
        Clusters and what they have borrowed.
    """

    model: EarlyModel
    rows: Rows
    coefficients: Vector
    parts: list[list[PartSolution]]
    sizes: NDArray[np.intp]
    loans: list[tuple[int, ClusterLoan]]


def blocks_of(X: Any, y: Any, sample_weight: Any = None) -> Blocks:
    """Rows of dask arrays or dataframes as aligned blocks."""
    import dask.array as da

    columns = list(getattr(X, "columns", []))
    named = bool(columns) and all(isinstance(name, str) for name in columns)
    X = _as_array(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, it has {X.ndim}.")
    X = X.rechunk({1: -1})
    rows = X.chunks[0]

    def aligned(values: Any, name: str) -> list[Any]:
        values = _as_array(values, name) if is_dask(values) else da.asarray(values)
        values = values.ravel() if values.ndim > 1 else values
        if len(values) != X.shape[0]:
            raise ValueError(
                f"{name} has {len(values)} entries and X has {X.shape[0]} rows; they "
                "must be as many."
            )
        return list(values.rechunk((rows,)).to_delayed().ravel())

    return Blocks(
        list(X.to_delayed().ravel()),
        aligned(y, "y"),
        None if sample_weight is None else aligned(sample_weight, "sample_weight"),
        [int(length) for length in rows],
        int(X.shape[1]),
        sample_dtype(X.dtype),
        columns if named else None,
        sparse.issparse(X._meta),
    )


def _as_array(collection: Any, name: str) -> Any:
    """Dask array with known chunks."""
    import dask.array as da

    if hasattr(collection, "to_dask_array"):
        if getattr(collection, "dtype", None) is not None:  # one column: maybe text
            return _column(collection)
        return collection.to_dask_array(lengths=True)
    if not is_dask(collection):
        return da.asarray(collection)
    if any(np.isnan(size) for sizes in collection.chunks for size in sizes):
        raise ValueError(
            f"{name} is a dask array with unknown chunk sizes: call "
            f"{name}.compute_chunk_sizes() before fit."
        )
    return collection


def _column(series: Any) -> Any:
    """Column of a dask dataframe as an array; text and categories as objects."""
    kind = series.dtype if isinstance(series.dtype, np.dtype) else np.dtype(object)
    values = series.map_partitions(np.asarray, dtype=kind, meta=np.empty(0, kind))
    return values.compute_chunk_sizes()


def train(
    blocks: Blocks,
    partition: Partition,
    kernel: Kernel,
    classes: NDArray[Any],
    costs: Vector,
    *,
    fit_intercept: bool,
    options: SolveOptions,
    lending: Rows | None = None,
) -> Trained:
    """Assign, shuffle and train every cluster on the workers.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    partition : Partition
        Clusters, made on the survey's sample; its router assigns the blocks.
    kernel, classes : Kernel, array
        The kernel; the labels in order.
    costs : array of shape (n_classes,)
        C of each class, multiplied by a row's weight.
    fit_intercept, options : bool, SolveOptions
        Settings of every problem and its solve.
    lending : Rows, optional
        Rows of all classes, costs as weights, for clusters that lack a class.
    """
    import dask
    import dask.dataframe as dd

    n_clusters = partition.n_clusters
    routing = partition.router, partition.groups, classes
    frames = blocks.delayed(_tabulate, routing)
    empty = np.empty((0, blocks.n_features), dtype=blocks.dtype)
    none = np.empty(0, dtype=np.intp)
    weight = None if blocks.weights is None else np.empty(0)
    meta = _table(empty, none, weight, none, 0)
    frame = dd.from_delayed(frames, meta=meta, verify_meta=False)
    # one division per cluster: partition c of the shuffled frame is cluster c
    shuffled = frame.set_index("cluster", divisions=list(range(n_clusters + 1)))
    local = dask.delayed(_train_cluster)
    lent = dask.delayed(lending, pure=False, traverse=False)
    tasks = [
        local(part, kernel, costs, fit_intercept, options, lent)
        for part in shuffled.to_delayed()
    ]
    trained = dask.compute(*tasks)
    return _assembled(trained, partition, kernel)


def _tabulate(X: Any, y: Any, w: Any, offset: int, routing: Any) -> Any:
    """Block as a table of cluster, row number, class, weight and features."""
    router, groups, classes = routing
    X = np.asarray(X)
    codes = np.searchsorted(classes, np.asarray(y))
    weight = None if w is None else np.asarray(w, dtype=np.float64)
    table = _table(X, groups[router.assign(X)], weight, codes, offset)
    return table if weight is None else table[weight > 0]


def _table(
    X: NDArray[np.floating],
    clusters: NDArray[np.intp],
    weight: Vector | None,
    codes: NDArray[np.intp],
    offset: int,
) -> Any:
    import pandas as pd

    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], copy=False)
    table["cluster"] = clusters.astype(np.int64)
    table["row"] = np.arange(offset, offset + len(X), dtype=np.int64)
    table["class"] = codes.astype(np.int32)
    if weight is not None:
        table["weight"] = weight
    return table


def _train_cluster(
    table: Any,
    kernel: Kernel,
    costs: Vector,
    fit_intercept: bool,
    options: SolveOptions,
    lending: Rows | None = None,
) -> dict[str, Any]:
    """Train the local models of a cluster; keeps only its support vectors."""
    order = np.argsort(table["row"].to_numpy(), kind="stable")
    features = [name for name in table.columns if name.startswith("x")]
    X = np.ascontiguousarray(table[features].to_numpy()[order])
    codes = table["class"].to_numpy()[order]
    cost = costs[codes]
    if "weight" in table:
        cost = cost * table["weight"].to_numpy()[order]
    numbers, parts = pair_parts(codes, cost, len(costs), fit_intercept)
    solved = solve_cluster(X, kernel, parts, options)
    n_pairs = len(costs) * (len(costs) - 1) // 2
    coefficients = np.zeros((len(X), n_pairs))
    intercepts = np.zeros(n_pairs)
    for number, part, solution in zip(numbers, parts, solved, strict=True):
        coefficients[part.rows, number] = solution.beta
        intercepts[number] = solution.intercept
    own = Rows(table["row"].to_numpy()[order], X, codes.astype(np.intp), cost)
    loans = []
    if lending is not None and fit_intercept:
        loans = loans_of(own, lending, kernel, len(costs), options)
    used = np.flatnonzero(coefficients.any(axis=1))
    return {
        "size": len(X),
        "rows": own.take(used),
        "coefficients": coefficients[used],
        "intercepts": intercepts,
        "parts": [replace(solution, beta=np.empty(0)) for solution in solved],
        "pairs": numbers,
        "loans": loans,
    }


def _assembled(
    trained: Sequence[dict[str, Any]], partition: Partition, kernel: Kernel
) -> Trained:
    """Put the clusters together; what some have borrowed is part of the model only."""
    n_pairs = trained[0]["intercepts"].size
    own = joined_rows([item["rows"] for item in trained])
    parts: list[list[PartSolution]] = [[] for _ in range(n_pairs)]
    rows, coefficients, counts, intercepts = [], [], [], []
    for item in trained:
        for pair, part in zip(item["pairs"], item["parts"], strict=True):
            parts[pair].append(part)
        pieces, values = [item["rows"]], [item["coefficients"]]
        levels = item["intercepts"].copy()
        for loan in item["loans"]:
            levels[loan.pair] = loan.solution.intercept
            pieces.append(loan.rows)
            values.append(loan.columns(n_pairs))
        merged = each_once(joined_rows(pieces), np.concatenate(values))
        rows.append(merged[0])
        coefficients.append(merged[1])
        counts.append(len(merged[1]))
        intercepts.append(levels)
    all_rows = joined_rows(rows)
    model = EarlyModel(
        partition.router,
        partition.groups,
        kernel,
        all_rows.numbers,
        all_rows.samples,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        np.concatenate(coefficients),
        np.stack(intercepts),
    )
    return Trained(
        model,
        own,
        np.concatenate([item["coefficients"] for item in trained]),
        parts,
        np.array([item["size"] for item in trained]),
        [(c, loan) for c, item in enumerate(trained) for loan in item["loans"]],
    )


def lazily(
    function: Callable[..., Any], X: Any, dtype: Any, columns: int = 0, **given: Any
) -> Any:
    """Apply a row-wise function to the blocks of a dask collection, when computed.

    `columns` is the width of the answer, 0 for a vector; `given` goes to the function,
    anything delayed as one task that all blocks share.
    """
    X = _as_array(X, "X").rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1}
    if columns:
        shape = {"chunks": (X.chunks[0], (columns,))}
    # without meta dask would try the function on an empty block, model and all
    meta = np.empty((0,) * (2 if columns else 1), dtype=dtype)
    return X.map_blocks(function, dtype=dtype, meta=meta, **shape, **given)
