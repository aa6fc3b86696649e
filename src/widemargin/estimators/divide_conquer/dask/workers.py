"""Early prediction on data that no single machine holds, with dask.

The rows stay with the workers. A survey reads every block once for its labels, moments
and a share of the clustering sample; the clusters are made here from that sample alone.
Then each block is assigned where it is, rows travel to their cluster by dask's own
shuffle, and each cluster is trained as one task where its rows are. Only support
vectors come back. Rows carry their number and are put in order before training, so
that the model does not depend on the order of arrival, nor on a worker lost on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from widemargin.engine.kernels import Kernel, Moments
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.labels import refuse_odd_labels
from widemargin.estimators.base.validation import check_weights, plain_labels
from widemargin.estimators.divide_conquer.cluster_pairs import pair_parts
from widemargin.estimators.divide_conquer.early import EarlyModel
from widemargin.multilevel.level import PartSolution, solve_cluster
from widemargin.multilevel.partition import Partition

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Blocks:
    """Rows in blocks on the workers: samples, labels and, if given, weights.

    Attributes
    ----------
    samples, labels, weights : list of dask.delayed
        One entry a block; weights may be None.
    lengths : list of int
        Rows of each block.
    n_features : int
    dtype : numpy.dtype
        Of the samples.
    """

    samples: list[Any]
    labels: list[Any]
    weights: list[Any] | None
    lengths: list[int]
    n_features: int
    dtype: np.dtype[Any]

    @property
    def offsets(self) -> list[int]:
        """Number of the first row of each block."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    def each(self, function: Callable[..., Any], shared: Any) -> list[Any]:
        """Return ``function(X, y, w, offset, shared)`` of every block, delayed."""
        import dask

        weights = self.weights or [None] * len(self.samples)
        given, delayed = dask.delayed(shared), dask.delayed(function)
        return [
            delayed(X, y, w, offset, given)
            for X, y, w, offset in zip(
                self.samples, self.labels, weights, self.offsets, strict=True
            )
        ]


@dataclass(frozen=True)
class Survey:
    """What one pass over the blocks tells.

    Attributes
    ----------
    n : int
    classes : array
        Distinct labels, ascending.
    mass : array
        Weight of each class (rows, when there are no sample weights).
    variance : float
        Of all entries of the samples, weighted: what ``gamma="scale"`` needs.
    sample : array of shape (m, n_features)
        Rows to cluster.
    """

    n: int
    classes: NDArray[Any]
    mass: Vector
    variance: float
    sample: NDArray[np.floating]


@dataclass(frozen=True)
class Trained:
    """What comes back from the workers.

    Attributes
    ----------
    model : EarlyModel
    codes, costs : arrays of shape (n_support,)
        Class number and C of each support vector.
    parts : list of lists of PartSolution
        For each class pair the local certificates.
    sizes : array of shape (n_clusters,)
        Rows in each cluster.
    """

    model: EarlyModel
    codes: NDArray[np.intp]
    costs: Vector
    parts: list[list[PartSolution]]
    sizes: NDArray[np.intp]


def is_dask(*collections: Any) -> bool:
    """Whether any of the arguments is a dask collection, without importing dask."""
    return any(
        type(item).__module__.partition(".")[0] in ("dask", "dask_expr")
        for item in collections
    )


def blocks_of(X: Any, y: Any, sample_weight: Any = None) -> Blocks:
    """Rows of dask arrays or dataframes as aligned blocks."""
    import dask.array as da

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
        np.dtype(np.float32 if X.dtype == np.float32 else np.float64),
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


def survey(blocks: Blocks, sample_size: int, seed: int) -> Survey:
    """One pass over all blocks, on the workers."""
    import dask

    total = sum(blocks.lengths)
    weights = blocks.weights or [None] * len(blocks.samples)
    look = dask.delayed(_survey_block)
    tasks = [
        look(X, y, w, -(-sample_size * length // total), seed + i)
        for i, (X, y, w, length) in enumerate(
            zip(blocks.samples, blocks.labels, weights, blocks.lengths, strict=True)
        )
    ]
    seen = dask.compute(*tasks)
    classes = np.unique(np.concatenate([item["classes"] for item in seen]))
    mass = np.zeros(len(classes))
    for item in seen:
        mass[np.searchsorted(classes, item["classes"])] += item["mass"]
    moments = reduce(Moments.join, [item["moments"] for item in seen])
    return Survey(
        total,
        classes,
        mass,
        moments.variance,
        np.concatenate([item["sample"] for item in seen]),
    )


def _survey_block(X: Any, y: Any, w: Any, quota: int, seed: int) -> dict[str, Any]:
    X, y = np.asarray(X), np.asarray(y)
    if not np.isfinite(X).all():
        raise ValueError(
            "X contains NaN or infinity: impute or drop those rows before fit."
        )
    if len(y) and not plain_labels(y):
        refuse_odd_labels(y)
        check_classification_targets(y)
    checked = check_weights(w, len(X))
    w = np.ones(len(X)) if checked is None else checked
    X, y, w = X[w > 0], y[w > 0], w[w > 0]  # rows without weight are as if absent
    classes, codes = np.unique(y, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):  # the variance says so
        moments = Moments.of(X, w)
    chosen = np.random.default_rng(seed).permutation(len(X))[:quota]
    return {
        "classes": classes,
        "mass": np.bincount(codes, weights=w),
        "moments": moments,
        "sample": X[np.sort(chosen)],
    }


def train(
    blocks: Blocks,
    partition: Partition,
    kernel: Kernel,
    classes: NDArray[Any],
    costs: Vector,
    *,
    fit_intercept: bool,
    options: SolveOptions,
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
        Of every problem and its solve.
    """
    import dask
    import dask.dataframe as dd

    n_clusters = partition.n_clusters
    routing = partition.router, partition.groups, classes
    frames = blocks.each(_tabulate, routing)
    empty = np.empty((0, blocks.n_features), dtype=blocks.dtype)
    none = np.empty(0, dtype=np.intp)
    weight = None if blocks.weights is None else np.empty(0)
    meta = _table(empty, none, weight, none, 0)
    frame = dd.from_delayed(frames, meta=meta, verify_meta=False)
    # one division a cluster: partition c of the shuffled frame is cluster c
    shuffled = frame.set_index("cluster", divisions=list(range(n_clusters + 1)))
    local = dask.delayed(_train_cluster)
    tasks = [
        local(part, kernel, costs, fit_intercept, options)
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
        rows = slice(None) if part.rows is None else part.rows
        coefficients[rows, number] = solution.beta
        intercepts[number] = solution.intercept
    used = np.flatnonzero(coefficients.any(axis=1))
    return {
        "size": len(X),
        "support": table["row"].to_numpy()[order][used],
        "samples": X[used],
        "codes": codes[used].astype(np.intp),
        "costs": cost[used],
        "coefficients": coefficients[used],
        "intercepts": intercepts,
        "parts": [replace(solution, beta=np.empty(0)) for solution in solved],
        "pairs": numbers,
    }


def _assembled(
    trained: Sequence[dict[str, Any]], partition: Partition, kernel: Kernel
) -> Trained:
    counts = [len(item["support"]) for item in trained]
    model = EarlyModel(
        partition.router,
        partition.groups,
        kernel,
        np.concatenate([item["support"] for item in trained]).astype(np.intp),
        np.concatenate([item["samples"] for item in trained]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        np.concatenate([item["coefficients"] for item in trained]),
        np.stack([item["intercepts"] for item in trained]),
    )
    parts: list[list[PartSolution]] = [[] for _ in range(model.n_pairs)]
    for item in trained:
        for pair, part in zip(item["pairs"], item["parts"], strict=True):
            parts[pair].append(part)
    return Trained(
        model,
        np.concatenate([item["codes"] for item in trained]),
        np.concatenate([item["costs"] for item in trained]),
        parts,
        np.array([item["size"] for item in trained]),
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
