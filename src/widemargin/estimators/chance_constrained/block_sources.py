"""Where the rows come from: memory, a file, a function, dask; always blocks of rows.

Data in memory is one block. A source can be read any number of times; `prepared` makes
of each block what a solver works on, once for rows in memory and anew in every pass for
all others, so that one block at a time is held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_X_y

from widemargin.engine.sample_layout import refuse_damaged
from widemargin.estimators.base.validation import check_weights
from widemargin.runtime.lazy import lazy_property

Floats = NDArray[np.float64]
Order = NDArray[np.int64]
Generator = np.random.Generator
Item = TypeVar("Item")
Other = TypeVar("Other")
Result = TypeVar("Result")
Draw = Callable[[Item, Generator], Order]

LARGEST = 1e130  # its square leaves room for numbers of rows, costs and kappa^2


@dataclass(frozen=True)
class Block:
    """Some rows with what goes with them; ``first`` is the number of the first row."""

    X: Any
    y: Any
    covariance: Any = None
    covariance_factor: Any = None
    sample_weight: Any = None
    first: int = 0

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


EXTRAS = frozenset(field.name for field in fields(Block)) - {"X", "y", "first"}


def refuse_large(X: Any) -> None:
    """Refuse samples whose squares would leave floating point: no solver would end."""
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
    return replace(block, X=X, y=y)


def identity(item: Item) -> Item:
    """Return what is given."""
    return item


class Source(ABC, Generic[Item]):
    """Blocks, or what was made of them, that can be read any number of times.

    ``resident``: all rows are one checked block that stays in memory; ``parallel``:
    `visits` works on all blocks at the same time.
    """

    resident: ClassVar[bool] = False
    parallel: ClassVar[bool] = False

    @abstractmethod
    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Return the source of what ``prepare`` makes of each block."""

    @abstractmethod
    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block."""

    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` to every block and the order drawn for its rows.

        Where blocks are not worked on at the same time they come in random order if
        they can, and the next one is read when its result is asked for.
        """
        return self.map(lambda item: work(item, draw(item, rng)))


@dataclass(frozen=True)
class OneBlock(Source[Item]):
    """Data in memory."""

    item: Item
    resident: ClassVar[bool] = True

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Make it once."""
        return OneBlock(prepare(self.item))

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to the block."""
        return iter((work(self.item),))


@dataclass(frozen=True)
class ThreadedParts(Source[Item]):
    """Data in memory in several parts, one for each thread."""

    parts: list[Item]
    parallel: ClassVar[bool] = True

    @lazy_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(len(self.parts))

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Make it of each part once."""
        return ThreadedParts(list(self.map(prepare)))

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to all parts at the same time."""
        return self._pool.map(work, self.parts)

    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Draw all orders one after the other, then work at the same time."""
        orders = [draw(part, rng) for part in self.parts]
        return self._pool.map(work, self.parts, orders)


@dataclass(frozen=True)
class SerialBlocks(Source[Item]):
    """Blocks read one after the other; ``load(k)`` where they have numbers."""

    passes: Callable[[], Iterator[Item]]
    count: int = 0
    load: Callable[[int], Item] | None = None

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Make it of every block that is read."""
        passes, load = self.passes, self.load
        if load is None:
            return SerialBlocks(lambda: map(prepare, passes()))
        return SerialBlocks(
            lambda: map(prepare, passes()), self.count, lambda k: prepare(load(k))
        )

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block; one is in memory at a time."""
        return map(work, self.passes())

    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` to one block after the other, in random order if possible."""
        items = self.passes()
        if self.load is not None:
            items = map(self.load, rng.permutation(self.count))
        return (work(item, draw(item, rng)) for item in items)


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

    def passes() -> Iterator[Block]:
        first = 0
        for item in blocks() if callable(blocks) else blocks:
            X, y, *extras = item
            known = dict(extras[0]) if extras else {}
            unknown = known.keys() - EXTRAS
            if unknown:
                raise ValueError(
                    f"a block's extras hold {sorted(unknown)}: expected some of "
                    f"{sorted(EXTRAS)}."
                )
            block = Block(X, np.asarray(y), **known, first=first)
            yield block
            first += len(block.y)

    return SerialBlocks(passes)


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

        def part(values: Any) -> Any:
            return None if values is None else np.array(values[chosen])

        X, y, covariance, factor, weights = map(part, _of(rows))
        return Block(X, y, covariance, factor, weights, chosen.start)

    return SerialBlocks(lambda: map(load, range(count)), count, load)


def _of(rows: Block) -> tuple[Any, ...]:
    extras = rows.covariance, rows.covariance_factor, rows.sample_weight
    return rows.X, rows.y, *extras


def _check_lengths(rows: Block) -> None:
    """Check that there is one label, and one of each extra, for every row of X."""
    names = ("y", "covariance", "covariance_factor", "sample_weight")
    for name, array in zip(names, _of(rows)[1:], strict=True):
        given, shape = rows.X.shape[:1], np.shape(array)
        unknown = np.isnan((*given, *shape[:1])).any()  # to dask, before it computes
        if array is not None and not unknown and shape[:1] != given:
            raise ValueError(
                f"{name} has shape {shape}, but X has {given[0]} rows: give one entry "
                "for each row."
            )


@dataclass(frozen=True)
class DaskBlocks(Source[Item]):
    """Chunks of dask arrays, the arguments of a `Block` each; work runs at the chunks.

    Every chunk has its own random order, drawn by its place: it does not depend on
    which worker has the chunk.
    """

    chunks: list[tuple[Any, ...]]
    prepare: Callable[[Block], Item]
    parallel: ClassVar[bool] = True

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Make it of every chunk, where the chunk is."""
        before = self.prepare
        return DaskBlocks(self.chunks, lambda block: prepare(before(block)))

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to every chunk, on dask's scheduler."""
        import dask

        prepare = self.prepare

        def apply(*parts: Any) -> Result:
            return work(prepare(Block(*parts)))

        lazy = dask.delayed(apply, pure=False)
        return iter(dask.compute(*(lazy(*parts) for parts in self.chunks)))

    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` to all chunks at the same time."""
        prepare, seed = self.prepare, int(rng.integers(np.iinfo(np.int32).max))

        def visit(block: Block) -> Result:
            item = prepare(block)
            return work(item, draw(item, np.random.default_rng([seed, block.first])))

        return DaskBlocks(self.chunks, identity).map(visit)


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
    X = rows.X.rechunk({axis: -1 for axis in range(1, rows.X.ndim)})

    def delayed_parts(values: Any) -> list[Any]:
        if values is None:
            return [None] * len(X.chunks[0])
        values = array.asarray(values)
        chunks = (X.chunks[0], *((length,) for length in values.shape[1:]))
        return list(values.rechunk(chunks).to_delayed().ravel())

    columns = [delayed_parts(values) for values in (X, *_of(rows)[1:])]
    sizes = X.chunks[0]
    if np.isnan(sizes).any():  # not known yet, as after a selection
        sizes = dask.compute(*map(dask.delayed(len), columns[0]))
    firsts = np.cumsum((0, *sizes[:-1])).tolist()
    return DaskBlocks(list(zip(*columns, firsts, strict=True)), identity)
