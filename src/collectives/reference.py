"""The meaning of every collective: what each rank must hold afterwards, in serial NumPy.

Every function takes the inputs of all ranks, in rank order, and returns the results of all ranks;
``None`` stands for a rank whose result buffer must stay as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import split
from collectives.comm import Array
from collectives.op import SUM, Op


def fold(inputs: Sequence[Array], op: Op = SUM) -> Array:
    """Return ``inputs[0] op inputs[1] op ...``, from left to right."""
    result = inputs[0].copy()
    for higher in inputs[1:]:
        op(result, higher, out=result)
    return result


def bcast(inputs: Sequence[Array], root: int = 0) -> list[Array]:
    """Everyone gets the root's vector."""
    return [inputs[root].copy() for _ in inputs]


def reduce(inputs: Sequence[Array], op: Op = SUM, root: int = 0) -> list[Array | None]:
    """The root gets the combination of all vectors."""
    return [fold(inputs, op) if rank == root else None for rank in range(len(inputs))]


def allreduce(inputs: Sequence[Array], op: Op = SUM) -> list[Array]:
    """Everyone gets the combination of all vectors."""
    return [fold(inputs, op) for _ in inputs]


def allgather(inputs: Sequence[Array]) -> list[Array]:
    """Everyone gets all blocks, in rank order. Blocks may differ in size."""
    return [np.concatenate(inputs) for _ in inputs]


def reduce_scatter(inputs: Sequence[Array], op: Op = SUM, *, counts: Sequence[int]) -> list[Array]:
    """Rank i gets block i, of ``counts[i]`` elements, of the combination of all vectors."""
    return [block.copy() for block in split(fold(inputs, op), counts)]
