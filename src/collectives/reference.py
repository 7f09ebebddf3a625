"""The meaning of every collective: what each rank must hold afterwards, in serial NumPy.

Every function takes the inputs of all ranks, in rank order, and returns the results of all ranks;
``None`` stands for a rank whose result buffer must stay as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

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


def scatter(inputs: Sequence[Array], root: int = 0, *, counts: Sequence[int]) -> list[Array]:
    """Rank i gets block i of the root's vector."""
    return [block.copy() for block in split(inputs[root], counts)]


def gather(inputs: Sequence[Array], root: int = 0) -> list[Array | None]:
    """The root gets all blocks, in rank order. Blocks may differ in size."""
    return [np.concatenate(inputs) if rank == root else None for rank in range(len(inputs))]


def alltoall(inputs: Sequence[Array], *, counts: Sequence[Sequence[int]]) -> list[Array]:
    """Rank i gets, in rank order, what every rank j has for it: ``counts[j][i]`` elements."""
    parts = [split(vector, sizes) for vector, sizes in zip(inputs, counts, strict=True)]
    return [np.concatenate([part[i] for part in parts]) for i in range(len(inputs))]


def scan(inputs: Sequence[Array], op: Op = SUM) -> list[Array]:
    """Rank i gets the combination of the vectors of ranks 0 .. i."""
    return [fold(inputs[: rank + 1], op) for rank in range(len(inputs))]


def exscan(inputs: Sequence[Array], op: Op = SUM) -> list[Array | None]:
    """Rank i > 0 gets the combination of the vectors of ranks 0 .. i - 1; rank 0 nothing."""
    return [fold(inputs[:rank], op) if rank else None for rank in range(len(inputs))]


Edge: TypeAlias = tuple[int, int] | None
"""The rank whose block arrives, and which of its blocks, counted from 0; None: nothing arrives."""


def neighbor_allgather(
    inputs: Sequence[Array], edges: Sequence[Sequence[Edge]]
) -> list[list[Array | None]]:
    """Every rank gets, slot by slot, the vector of the neighbour there."""
    return [[inputs[edge[0]].copy() if edge else None for edge in slots] for slots in edges]


def neighbor_alltoall(
    inputs: Sequence[Array], edges: Sequence[Sequence[Edge]], *, n: int
) -> list[list[Array | None]]:
    """Every rank gets, slot by slot, what the neighbour there has for it: one block of n."""
    return [
        [inputs[edge[0]][edge[1] * n :][:n].copy() if edge else None for edge in slots]
        for slots in edges
    ]


def neighbor_edges(
    sources: Sequence[Sequence[int]],
    destinations: Sequence[Sequence[int]],
    *,
    cartesian: bool,
) -> list[list[Edge]]:
    """Return which block arrives in which slot, from what all ranks say about their neighbours.

    In a grid, what leaves forward arrives from behind: slot 2 k + 1 of one is 2 k of the other.
    In a graph, a neighbour's blocks arrive in the order in which both sides list each other.

    Examples
    --------
    >>> neighbor_edges([[1, 1], [0, 0]], [[1, 1], [0, 0]], cartesian=True)
    [[(1, 1), (1, 0)], [(0, 1), (0, 0)]]
    """
    edges: list[list[Edge]] = []
    for rank, slots in enumerate(sources):
        leaving = {
            source: iter([k for k, dest in enumerate(destinations[source]) if dest == rank])
            for source in slots
            if source >= 0
        }
        edges.append([
            None if source < 0 else (source, slot ^ 1 if cartesian else next(leaving[source]))
            for slot, source in enumerate(slots)
        ])  # fmt: skip
    return edges
