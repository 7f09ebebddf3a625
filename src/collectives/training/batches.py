"""Batches that depend on the step alone, and the part of one that a rank sees."""

from __future__ import annotations

from collectives.blocks import even
from collectives.comm import Array


def batch_of(
    data: tuple[Array, Array], step: int, rows: int, *, rank: int = 0, p: int = 1, micro: int = 1
) -> list[tuple[Array, Array]]:
    """Return this rank's part of the batch of `rows` rows of this step, as `micro` batches.

    The rows are consecutive ones, so that all are views, on whatever device the data are. All
    ranks together have every row of the batch once, however many ranks and micro-batches; where
    it does not come out even, the first ones have a row more.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.arange(10), np.arange(10)
    >>> [x.tolist() for rank in range(2) for x, _ in batch_of(data, 1, 5, rank=rank, p=2)]
    [[5, 6, 7], [8, 9]]
    """
    pixels, targets = data
    batches = len(pixels) // rows
    if batches == 0:
        raise ValueError(f"a batch of {rows} rows, of data with {len(pixels)}")
    first = step % batches * rows
    parts = []
    for number in range(micro):
        start, stop = (first + even(rows, micro).start(i) for i in (number, number + 1))
        mine = even(stop - start, p).where(rank)
        where = slice(start + mine.start, start + mine.stop)
        parts.append((pixels[where], targets[where]))
    return parts
