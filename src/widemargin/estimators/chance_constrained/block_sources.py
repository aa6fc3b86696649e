"""Where the rows come from: memory, a file, a function, dask; always blocks of rows.

Data in memory is one block. A source can be read any number of times; `prepared` makes
of each block what a solver works on, once for rows in memory and anew in every pass for
all others, which are also checked then, so that one block at a time is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_X_y

from widemargin.engine.sample_layout import refuse_damaged
from widemargin.estimators.base.validation import check_weights

Floats = NDArray[np.float64]
Generator = np.random.Generator
Item = TypeVar("Item")
Other = TypeVar("Other")
Result = TypeVar("Result")

LARGEST = 1e130  # its square leaves room for numbers of rows, costs and kappa^2


EXTRAS = ["covariance", "covariance_factor", "sample_weight"]


class Block(NamedTuple):
    """Some rows with what goes with them; ``first`` is the number of the first row."""

    X: Any
    y: Any
    covariance: Any = None
    covariance_factor: Any = None
    sample_weight: Any = None
    first: Any = 0

    @property
    def given(self) -> dict[str, Any]:
        """The arrays that were given, by name."""
        every = self._replace(first=None)._asdict()
        return {name: array for name, array in every.items() if array is not None}

    @property
    def own(self) -> bool:
        """Whether the rows come with covariances of their own."""
        return self.covariance is not None or self.covariance_factor is not None

    @property
    def weights(self) -> Floats:
        """How often each row counts: once by default, never negative."""
        weights = check_weights(self.sample_weight, self.X.shape[0])
        if weights is None:
            return np.ones(self.X.shape[0])
        if np.any(weights < 0.0):
            raise ValueError(
                "sample_weight has negative entries: weights count repetitions, so "
                "they must be zero or more."
            )
        return weights


def refuse_large(X: Any) -> None:
    """Refuse samples whose squares would overflow: no solver would end."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"The input data may contain large values and need to be preprocessed: X "
            f"reaches {largest:.3g}, and at most {LARGEST:g} can be squared and summed."
        )


def checked(block: Block) -> Block:
    """Return the block with samples that passed scikit-learn's checks."""
    if sparse.issparse(block.X):
        refuse_damaged(block.X)
    X, y = check_X_y(
        block.X, block.y,
        accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
    )  # fmt: skip
    refuse_large(X)
    return block._replace(X=X, y=y)


def identity(item: Item) -> Item:
    """Return what is given."""
    return item


@dataclass(frozen=True)
class Source(Generic[Item]):
    """Blocks, or what was made of them, that can be read any number of times.

    ``read`` starts a pass, in random order if it can and is given a generator;
    ``prepare`` makes of what it yields what is worked on, one block in memory at a
    time; ``run`` applies work to all of it. ``resident``: all rows are one checked
    block that stays in memory.
    """

    read: Callable[[Generator | None], Iterator[Any]]
    prepare: Callable[[Any], Item]
    run: Callable[[Callable[[Any], Any], Iterator[Any]], Iterator[Any]] = map
    resident: bool = False

    @property
    def parallel(self) -> bool:
        """Whether all blocks are worked on at the same time."""
        return self.run is not map

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Return the source of what ``prepare`` makes of each block."""
        if self.resident:
            return in_memory(list(self.map(prepare)))
        before = self.prepare
        return Source(self.read, lambda given: prepare(before(given)), self.run)

    def map(
        self, work: Callable[[Item], Result], rng: Generator | None = None
    ) -> Iterator[Result]:
        """Apply ``work`` to every block; the next is read when its result is wanted."""
        prepare = self.prepare
        return self.run(lambda given: work(prepare(given)), self.read(rng))


def in_memory(parts: list[Item]) -> Source[Item]:
    """Return data in memory as a source: one block, or the parts of one."""
    run = map if len(parts) == 1 else _on_threads
    return Source(lambda _: iter(parts), identity, run, resident=True)


def _on_threads(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    parts = list(items)
    with ThreadPoolExecutor(len(parts)) as threads:
        return iter(list(threads.map(work, parts)))


def _on_dask(work: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    """Work where the chunks are, on dask's scheduler."""
    import dask

    return iter(dask.compute(*map(dask.delayed(work, pure=False), items)))


def user_blocks(blocks: Any) -> Source[Block]:
    """Return the blocks that a user passes: a function, or a sequence."""
    if isinstance(blocks, Iterator):
        raise ValueError(
            "blocks is an iterator, which can be read only once: pass a function that "
            "returns a new one for each pass, or a list; for data seen once there is "
            "partial_fit."
        )
    if not callable(blocks) and not isinstance(blocks, Sequence):
        raise ValueError(
            f"blocks must be a function or a sequence of (X, y), got {type(blocks)}."
        )

    def passes(_: Generator | None) -> Iterator[Block]:
        first = 0
        for item in blocks() if callable(blocks) else blocks:
            X, y, *extras = item
            known = dict(extras[0]) if extras else {}
            unknown = sorted(known.keys() - EXTRAS)
            if unknown:
                raise ValueError(
                    f"a block's extras hold {unknown}: expected some of {EXTRAS}."
                )
            block = Block(X, np.asarray(y), **known, first=first)
            yield block
            first += len(block.y)

    return Source(passes, checked)


def file_blocks(rows: Block, memory_mb: float) -> Source[Block]:
    """Cut a memory-mapped array into blocks of a quarter of the memory budget."""
    _check_lengths(rows)
    bytes_per_row = rows.X[:1].nbytes + 64
    for extra in (rows.covariance, rows.covariance_factor):
        bytes_per_row += 0 if extra is None else np.asarray(extra[:1]).nbytes
    size = max(1, int(memory_mb * 2.5e5 / bytes_per_row))
    count = -(-rows.X.shape[0] // size)

    def load(k: int) -> Block:
        chosen = slice(k * size, (k + 1) * size)
        parts = {name: np.array(values[chosen]) for name, values in rows.given.items()}
        return checked(Block(**parts, first=chosen.start))

    def numbers(rng: Generator | None) -> Iterator[int]:
        return iter(range(count) if rng is None else rng.permutation(count))

    return Source(numbers, load)


def _check_lengths(rows: Block) -> None:
    """Check that there is one label, and one of each extra, for every row of X."""
    for name, array in rows.given.items():
        given, shape = rows.X.shape[:1], np.shape(array)
        unknown = np.isnan((*given, *shape[:1])).any()  # to dask, before it computes
        if not unknown and shape[:1] != given:
            raise ValueError(
                f"{name} has shape {shape}, but X has {given[0]} rows: give one entry "
                "for each row."
            )


def dask_blocks(rows: Block, solver: str) -> Source[Block]:
    """Return the row chunks of dask arrays that belong together."""
    if solver != "ssgd":
        raise ValueError(
            f"dask arrays need solver='ssgd', got {solver!r}: the other solvers see "
            "all samples at once (X.compute() brings them into memory)."
        )
    import dask
    import dask.array as array

    _check_lengths(rows)
    sizes = rows.X.chunks[0]

    def delayed_parts(values: Any) -> list[Any]:
        values = array.asarray(values)
        chunks = (sizes, *((length,) for length in values.shape[1:]))
        return list(values.rechunk(chunks).to_delayed().ravel())

    columns = {name: delayed_parts(values) for name, values in rows.given.items()}
    lengths = sizes
    if np.isnan(sizes).any():  # not known yet, as after a selection
        lengths = dask.compute(*map(dask.delayed(len), columns["X"]))
    columns["first"] = np.cumsum((0, *lengths[:-1])).tolist()
    by_chunk = zip(*columns.values(), strict=True)
    return dask_chunks([dict(zip(columns, parts, strict=True)) for parts in by_chunk])


def dask_chunks(chunks: list[dict[str, Any]]) -> Source[Block]:
    """Return chunks, the arguments of a `Block` each, as a source."""
    return Source(lambda _: iter(chunks), lambda c: checked(Block(**c)), _on_dask)
