"""Where the rows come from: memory, a file, a function, dask; always blocks of rows.

Data in memory is one block. A source can be read any number of times; `prepared` makes
of each block what a solver works on, once for rows in memory and anew in every pass for
all others, so that one block at a time is held.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
Order = NDArray[np.int64]
Generator = np.random.Generator
Item = TypeVar("Item")
Other = TypeVar("Other")
Result = TypeVar("Result")
Draw = Callable[[Item, Generator], Order]

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


class Source(ABC, Generic[Item]):
    """Blocks, or what was made of them, that can be read any number of times.

    ``resident``: all rows are one checked block that stays in memory. ``parallel``:
    all blocks are worked on at the same time.
    """

    resident: bool
    parallel: bool

    @abstractmethod
    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Return the source of what ``prepare`` makes of each block."""

    @abstractmethod
    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block."""

    @abstractmethod
    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` to every block and the order drawn for its rows.

        Blocks that are not worked on at the same time come in random order if they
        can, and the next one is read when its result is asked for.
        """


@dataclass(frozen=True)
class LocalBlocks(Source[Item]):
    """Blocks in memory, or read one after the other, one in memory at a time.

    ``passes`` starts a pass, in random order if it can and is given a generator.
    """

    passes: Callable[[Generator | None], Iterator[Item]]
    resident: bool = False
    parallel: bool = False

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Prepare what is in memory once, and other blocks whenever they are read."""
        if self.resident:
            return in_memory(list(self.map(prepare)))
        passes = self.passes
        return LocalBlocks(lambda rng: map(prepare, passes(rng)))

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to one block after the other, or by a thread for each."""
        return self._applied(work, self.passes(None))

    def visits(
        self, rng: Generator, draw: Draw[Item], work: Callable[[Item, Order], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` as in `map`, to blocks in random order if possible."""
        drawn = ((item, draw(item, rng)) for item in self.passes(rng))
        return self._applied(lambda visit: work(*visit), drawn)

    def _applied(
        self, work: Callable[[Other], Result], items: Iterator[Other]
    ) -> Iterator[Result]:
        if not self.parallel:
            return map(work, items)
        parts = list(items)  # all orders are drawn before a thread starts
        with ThreadPoolExecutor(len(parts)) as threads:
            return iter(list(threads.map(work, parts)))


def in_memory(parts: list[Item]) -> Source[Item]:
    """Return data in memory as a source: one block, or the parts of one."""
    return LocalBlocks(lambda _: iter(parts), resident=True, parallel=len(parts) > 1)


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

    return LocalBlocks(passes)


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
        return Block(**parts, first=chosen.start)

    def passes(rng: Generator | None) -> Iterator[Block]:
        return map(load, range(count) if rng is None else rng.permutation(count))

    return LocalBlocks(passes)


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


@dataclass(frozen=True)
class DaskBlocks(Source[Item]):
    """Chunks of dask arrays, the arguments of a `Block` each; work runs at the chunks.

    Every chunk has its own random order, drawn by its place: it does not depend on
    which worker has the chunk.
    """

    chunks: list[dict[str, Any]]
    prepare: Callable[[Block], Item]
    resident: bool = False
    parallel: bool = True

    def prepared(self, prepare: Callable[[Item], Other]) -> Source[Other]:
        """Prepare every chunk on its worker."""
        before = self.prepare
        return DaskBlocks(self.chunks, lambda block: prepare(before(block)))

    def map(self, work: Callable[[Item], Result]) -> Iterator[Result]:
        """Apply ``work`` to every chunk, on dask's scheduler."""
        import dask

        prepare = self.prepare

        def apply(**parts: Any) -> Result:
            return work(prepare(Block(**parts)))

        lazy = dask.delayed(apply, pure=False)
        return iter(dask.compute(*(lazy(**parts) for parts in self.chunks)))

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
    parts = zip(*columns.values(), strict=True)
    return DaskBlocks(
        [dict(zip(columns, part, strict=True)) for part in parts], identity
    )
