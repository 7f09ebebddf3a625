"""Where two results differ, bit by bit."""

from __future__ import annotations

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Case


def difference(
    case: Case, rank: int, got: Array | None, wanted: Array | None, source: str = "wants"
) -> str | None:
    """Return where the result of `rank` is not, bit by bit, what `source` says; None if nowhere."""
    if got is None or wanted is None:
        return None
    wrong = differing(got, wanted)
    if not wrong.size:
        return None
    first = int(wrong[0])
    return (
        f"rank {rank} block {case.block_of(rank, first)} element {first} has {got[first]}, "
        f"{source} {wanted[first]} ({wrong.size} of {got.size} elements differ)"
    )


def differing(a: Array, b: Array) -> Array:
    """Return the numbers of the elements in which two arrays of one dtype differ, bit by bit."""
    return np.flatnonzero((_bits(a) != _bits(b)).any(axis=1))


def _bits(a: Array) -> Array:
    """Return the bytes of every element as a row, without the padding of long doubles."""
    rows = np.frombuffer(a.tobytes(), np.uint8).reshape(a.size, a.itemsize)
    if a.dtype.type in (np.longdouble, np.clongdouble) and np.finfo(a.dtype).nmant == 63:
        rows = rows.reshape(-1, 16)[:, :10].reshape(a.size, -1)
    return rows
