"""How a vector is cut into p blocks, one after the other: equal ones, or by counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import overload

from collectives.comm import Array


class EvenCounts(Sequence[int]):
    """The sizes of p blocks of n elements in all: the first ``n mod p`` are one longer.

    Takes no memory per block, so that a thousand simulated ranks can each hold one.

    Examples
    --------
    >>> list(EvenCounts(7, 3))
    [3, 2, 2]
    >>> EvenCounts(7, 3).start(2)
    5
    """

    __slots__ = ("largest", "longer", "n", "p", "shorter_size")

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = n, p
        self.shorter_size, self.longer = divmod(n, max(p, 1))
        self.largest = self.shorter_size + (self.longer > 0)

    def __len__(self) -> int:
        return self.p

    @overload
    def __getitem__(self, i: int) -> int: ...
    @overload
    def __getitem__(self, i: slice) -> list[int]: ...
    def __getitem__(self, i: int | slice) -> int | list[int]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(self.p))]
        if not -self.p <= i < self.p:
            raise IndexError(f"block {i} of {self.p}")
        return self.shorter_size + (i % self.p < self.longer)

    def start(self, i: int) -> int:
        """Return the offset of block i, 0 <= i <= p."""
        return i * self.shorter_size + (i if i < self.longer else self.longer)

    def where(self, i: int) -> slice:
        """Return the place of block i, 0 <= i < p."""
        start = self.start(i)
        return slice(start, start + self.shorter_size + (i < self.longer))

    def __repr__(self) -> str:
        return f"EvenCounts({self.n}, {self.p})"


class Counts(tuple[int, ...]):
    """The sizes of blocks, any integers >= 0, with the offsets worked out once."""

    starts: list[int]
    largest: int

    def __new__(cls, sizes: Iterable[int]) -> Counts:
        self = super().__new__(cls, sizes)
        self.starts = list(accumulate(self, initial=0))
        self.largest = max(self, default=0)
        return self

    def start(self, i: int) -> int:
        """Return the offset of block i, 0 <= i <= p."""
        return self.starts[i]

    def where(self, i: int) -> slice:
        """Return the place of block i, 0 <= i < p."""
        return slice(self.starts[i], self.starts[i + 1])


def even(n: int, p: int) -> EvenCounts:
    """Return the sizes of p blocks of n elements in all, as `numpy.array_split` cuts them."""
    return EvenCounts(n, p)


def segment_sizes(n: int, segment: int) -> EvenCounts:
    """Return the sizes of the fewest segments of at most `segment` elements, one at least.

    Examples
    --------
    >>> list(segment_sizes(7, 3)), list(segment_sizes(0, 3))
    ([3, 2, 2], [0])
    """
    return even(n, max(1, -(-n // segment)))


class Blocks:
    """The blocks of a flat array, cut when asked for: views, never copies.

    An index counts on from 0 after p - 1, as ranks do on a ring; a slice is the one view of all
    its blocks together.
    """

    __slots__ = ("array", "counts", "p")

    def __init__(self, array: Array, counts: EvenCounts | Counts) -> None:
        self.array, self.counts, self.p = array, counts, len(counts)

    @property
    def largest(self) -> int:
        """The size of the largest block."""
        return self.counts.largest

    def __len__(self) -> int:
        return self.p

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(self.p))

    def __getitem__(self, i: int | slice) -> Array:
        if isinstance(i, slice):
            first, stop, step = i.indices(self.p)
            if step != 1:
                raise ValueError(f"a slice of blocks with step {step} is not one view; wants 1")
            return self.array[self.counts.start(first) : self.counts.start(stop)]
        return self.array[self.counts.where(i % self.p)]


def split(array: Array, counts: Sequence[int] | None) -> Blocks:
    """Cut a flat `array` into ``len(counts)`` consecutive blocks of the given sizes.

    (Where users gave no `counts`, algorithm bodies are given those of equal blocks.)

    Examples
    --------
    >>> import numpy as np
    >>> blocks = split(np.arange(7), even(7, 3))
    >>> [block.tolist() for block in blocks]
    [[0, 1, 2], [3, 4], [5, 6]]
    >>> blocks[1:].tolist(), blocks[4].tolist()
    ([3, 4, 5, 6], [3, 4])
    """
    if not isinstance(counts, EvenCounts | Counts):
        counts = Counts(() if counts is None else counts)
    return Blocks(array, counts)


def rotate(blocks: Blocks, first: int, out: Array) -> None:
    """Copy all blocks to `out`: block `first`, those after it, then those from block 0 on.

    Examples
    --------
    >>> import numpy as np
    >>> turned = np.empty(7, int)
    >>> rotate(split(np.arange(7), even(7, 3)), 2, out=turned)
    >>> turned.tolist()
    [5, 6, 0, 1, 2, 3, 4]
    """
    end = blocks[first:].size
    out[:end] = blocks[first:]
    out[end:] = blocks[:first]


def run_of(counts: Sequence[int] | None, first: int, number: int) -> EvenCounts | Counts:
    """Return the sizes of `number` blocks from block `first` on, counted round the ring.

    Examples
    --------
    >>> run_of([10, 11, 12], 2, 2)
    (12, 10)
    """
    if isinstance(counts, EvenCounts) and not counts.longer:  # wherever the run begins
        return even(number * counts.shorter_size, number)
    sizes = counts if counts is not None else ()
    return Counts(sizes[i % len(sizes)] for i in range(first, first + number))


def pieces(blocks: Blocks, numbers: Iterable[int], packed: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the blocks with these `numbers`, each with its place in `packed`, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = split(np.arange(7), even(7, 3))
    >>> [piece.tolist() for _, piece in pieces(blocks, [2, 0], packed=np.arange(5))]
    [[0, 1], [2, 3, 4]]
    """
    end = 0
    for number in numbers:
        block = blocks[number]
        start, end = end, end + block.size
        yield block, packed[start:end]


def pack(blocks: Blocks, numbers: Iterable[int], out: Array) -> Array:
    """Copy the blocks with these `numbers` to `out`, one after the other; return the part filled.

    Examples
    --------
    >>> import numpy as np
    >>> pack(split(np.arange(7), even(7, 3)), [2, 0], out=np.empty(7, int)).tolist()
    [5, 6, 0, 1, 2]
    """
    size = 0
    for block, piece in pieces(blocks, numbers, out):
        piece[:] = block
        size += block.size
    return out[:size]
