"""Buckets: layers whose parameters or gradients are sent together, and how ranks share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from collectives.blocks import EvenCounts, even


@dataclass(frozen=True)
class Bucket:
    """Some layers in a row, and the part of them that one rank owns.

    Attributes
    ----------
    layers : range
    whole : slice
        Where they lie in the vector of all parameters.
    counts : EvenCounts
        How many of its elements each rank owns: as equal as can be.
    own : slice
        Where the elements of this rank lie in the vector of all parameters.
    shard : slice
        Where they lie in this rank's shard, which has its own elements of all buckets.
    """

    layers: range
    whole: slice
    counts: EvenCounts
    own: slice
    shard: slice

    @property
    def size(self) -> int:
        """The number of elements, of all ranks together."""
        return self.counts.n

    @property
    def mine(self) -> int:
        """The number of elements that this rank owns."""
        return int(self.own.stop - self.own.start)


def cut(sizes: Sequence[int], at_least: float, rank: int, p: int) -> list[Bucket]:
    """Return the buckets of layers with these sizes, in the order in which gradients come.

    That is from the last layer to the first. A bucket is full when it has `at_least` so many
    elements; 0 makes a bucket of every layer.

    Examples
    --------
    >>> [list(bucket.layers) for bucket in cut([5, 3, 2, 4], 4, 0, 1)]
    [[3], [1, 2], [0]]
    >>> [(bucket.own, bucket.shard) for bucket in cut([5, 4], 0, 1, 3)]
    [(slice(7, 8, None), slice(0, 1, None)), (slice(2, 4, None), slice(1, 3, None))]
    """
    starts = list(accumulate(sizes, initial=0))
    found, end = [], 0
    for layers in _groups(sizes, at_least):
        start, stop = starts[layers.start], starts[layers.stop]
        counts = even(stop - start, p)
        mine = counts.where(rank)
        own = slice(start + mine.start, start + mine.stop)
        found.append(
            Bucket(layers, slice(start, stop), counts, own, slice(end, end + counts[rank]))
        )
        end += counts[rank]
    return found


def _groups(sizes: Sequence[int], at_least: float) -> Iterator[range]:
    stop = len(sizes)
    for layer in reversed(range(len(sizes))):
        if sum(sizes[layer:stop]) >= at_least or layer == 0:
            yield range(layer, stop)
            stop = layer
