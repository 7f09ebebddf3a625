"""One call of a collective, described without its data: sizes, buffers, expectation.

A `Case` is the same on all ranks, and knows what is particular to each collective.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from collectives import reference
from collectives.blocks import Counts, EvenCounts, even
from collectives.comm import IN_PLACE, Array
from collectives.cost import Cost
from collectives.op import SUM, Op
from collectives.oracle.forms import FORMS, Form
from collectives.topology import grid_neighbours, torus_shape


@dataclass(frozen=True)
class Case:
    """What is asked of a collective on p ranks.

    Attributes
    ----------
    collective : str
        Such as ``allreduce``.
    p : int
        The number of ranks.
    n : int
        Elements as in the collective's signature: of a block where ranks bring or get blocks, of
        the vector otherwise.
    op, root : Op, int
        Where the collective has them.
    counts : tuple of int, optional
        Block sizes where ranks bring or get blocks; `n` is not used then. For alltoall, the sizes
        that every row of the matrix has, in its own order.
    in_place : bool
        Whether the input lies in the result buffer.
    chosen : tuple of (str, value)
        Options that only some algorithms have.
    dtype : str
        Of the payload; empty where whoever makes the payload chooses it.
    """

    collective: str
    p: int
    n: int = 0
    op: Op = SUM
    root: int = 0
    counts: tuple[int, ...] | None = None
    in_place: bool = False
    chosen: tuple[tuple[str, Any], ...] = ()
    dtype: str = ""

    # ------------------------------------------------------------------ what kind it is

    @cached_property
    def form(self) -> Form:
        """What the collective does, whatever the sizes."""
        return FORMS[self.collective]

    @property
    def by_blocks(self) -> bool:
        """Whether ranks bring or get blocks, of sizes that can be given."""
        some = not {"block", "row"}.isdisjoint((self.form.brings, self.form.gets))
        return some and not self.form.on_grid

    @property
    def reduces(self) -> bool:
        """Whether operands are combined."""
        return self.form.reduces

    @property
    def rooted(self) -> bool:
        """Whether one rank has a part of its own."""
        return self.form.from_root or self.form.to_root

    @property
    def same_everywhere(self) -> bool:
        """Whether all ranks get the same result."""
        return self.form.gets == "vector" and self.form.alike and not self.form.to_root

    # ------------------------------------------------------------------ sizes

    @cached_property
    def blocks(self) -> EvenCounts | Counts:
        """The sizes of the p blocks of a vector."""
        if self.counts is not None:
            return Counts(self.counts)
        if self.form.on_grid:
            return even(self.n * len(self.neighbours(0)), len(self.neighbours(0)))
        return even(self.n * self.p if self.by_blocks else self.n, self.p)

    @cached_property
    def matrix(self) -> list[Counts]:
        """What each rank has for each: row i is sent by rank i. Symmetric when in place."""
        turn = 1 if self.in_place else 2
        return [
            Counts(self.blocks[(turn * source + dest) % self.p] for dest in range(self.p))
            for source in range(self.p)
        ]

    def input_size(self, rank: int) -> int:
        """Return how many elements `rank` brings, in vain where only the root's are asked for."""
        return self._size(self.form.brings, rank)

    def result_size(self, rank: int) -> int | None:
        """Return how many elements `rank` is left with; None where it has no result."""
        if self.form.gets == "nothing" or (self.form.to_root and rank != self.root):
            return None
        if self.collective == "exscan" and rank == 0:
            return None
        if self.collective == "scatter" and self.in_place and rank == self.root:
            return None  # its block stays where it is
        return self._size(self.form.gets, rank)

    def room(self, rank: int) -> int:
        """Return the size of the result buffer of `rank`, even where it is not to be used."""
        parts = {self.form.gets} | ({self.form.brings} if self.shares_buffer(rank) else set())
        return max(self._size(part, rank) for part in parts)

    def shares_buffer(self, rank: int) -> bool:
        """Tell whether the input of `rank` lies in its result buffer."""
        form, at_root = self.form, rank == self.root
        possible = not form.from_root and not form.on_grid and (at_root or not form.to_root)
        return form.one_buffer or (self.in_place and possible)

    def input_start(self, rank: int) -> int:
        """Return where in the result buffer the input of `rank` then lies."""
        return self.blocks.start(rank) if self.form.brings == "block" else 0

    def block_of(self, rank: int, element: int) -> int:
        """Return the number of the block that holds `element` of the result of `rank`."""
        if self.form.gets == "block":
            return rank
        blocks = self._column(rank) if self.form.gets == "column" else self.blocks
        return next(i for i in range(len(blocks)) if element < blocks.start(i + 1))

    def _column(self, rank: int) -> Counts:
        return Counts(row[rank] for row in self.matrix)

    def _size(self, part: str, rank: int) -> int:
        if part == "block":
            return self.n if self.form.on_grid else self.blocks[rank]
        if part == "halo":
            return sum(self.blocks)
        if part == "row":
            return sum(self.matrix[rank])
        if part == "column":
            return sum(self._column(rank))
        return self.blocks.start(self.p) if part == "vector" else 0

    # ------------------------------------------------------------------ the torus

    @property
    def torus(self) -> dict[str, list[Any]]:
        """The arguments of ``Create_cart``."""
        return {"dims": list(torus_shape(self.p)), "periods": [True, True]}

    def neighbours(self, rank: int) -> list[int]:
        """Return the neighbours of `rank`, slot by slot."""
        return grid_neighbours(rank, **self.torus)

    def place(self, comm: Any) -> Any:
        """Return the communicator to call on: `comm`, or a torus of its ranks."""
        return comm.Create_cart(**self.torus) if self.form.on_grid else comm

    # ------------------------------------------------------------------ the call

    def options(self, rank: int) -> dict[str, Any]:
        """Return the arguments of `rank` besides communicator and buffers."""
        options: dict[str, Any] = {"op": self.op} if self.reduces else {}
        if self.rooted:
            options["root"] = self.root
        if self.counts is not None:
            options |= self.sizes(rank)
        return options | dict(self.chosen)

    def sizes(self, rank: int) -> dict[str, list[int]]:
        """Return the block sizes as arguments, under the names that the collective has for them."""
        if self.form.brings == "row":
            return {"sendcounts": list(self.matrix[rank]), "recvcounts": list(self._column(rank))}
        return {"counts": list(self.blocks)} if self.by_blocks else {}

    def buffers(self, rank: int, sendbuf: Any, recvbuf: Any) -> dict[str, Any]:
        """Return what `rank` passes as buffers: both, ``IN_PLACE`` and one, one only, or none."""
        if self.form.brings == "nothing":
            return {}
        if self.form.one_buffer:
            return {"buf": recvbuf}
        if self.collective == "scatter" and self.in_place and rank == self.root:
            return {"sendbuf": sendbuf, "recvbuf": IN_PLACE}
        outgoing = IN_PLACE if self.shares_buffer(rank) else sendbuf
        return {"sendbuf": outgoing, "recvbuf": recvbuf}

    def call(self, function: Callable[..., None], comm: Any, sendbuf: Any, recvbuf: Any) -> None:
        """Call `function` on these buffers, whatever it calls them."""
        buffers = self.buffers(comm.rank, sendbuf, recvbuf)
        placed = self.place(comm)
        function(placed, *buffers.values(), **self.options(comm.rank))
        if placed is not comm:
            placed.Free()

    def expected(self, inputs: Sequence[Array]) -> list[Array | None]:
        """Return what every rank must hold, from the inputs of all."""
        if self.form.gets == "nothing":
            return [None] * self.p
        if self.form.on_grid:
            near = [self.neighbours(rank) for rank in range(self.p)]
            edges = reference.neighbor_edges(near, near, cartesian=True)
            sizes = {"n": self.n} if self.form.brings == "halo" else {}
            slots = getattr(reference, self.collective)(inputs, edges, **sizes)
            return [np.concatenate(blocks) for blocks in slots]
        definition = getattr(reference, self.collective)
        options = taken_by(definition, self.options(0))
        if "counts" in parameters(definition):
            options["counts"] = self.matrix if self.form.brings == "row" else self.blocks
        return definition(inputs, **options)  # type: ignore[no-any-return]

    def names(self) -> dict[str, Any]:
        """Return what costs and formulas may depend on, under the names that they use."""
        names: dict[str, Any] = {"p": self.p, "n": self.n, "root": self.root}
        if self.form.on_grid:
            names |= {"dims": self.torus["dims"], "degree": len(self.neighbours(0))}
        return names

    def cost(self, cost: Callable[..., Cost] | None) -> Cost | None:
        """Return what an algorithm's cost function predicts, which takes what it depends on.

        As ``counts`` it gets the block sizes, for alltoall the rows of the matrix of blocks; where
        it does not take them, it predicts nothing for blocks of different sizes.
        """
        if cost is None or (self.counts is not None and "counts" not in parameters(cost)):
            return None
        given = self.names()
        if self.counts is not None:
            given["counts"] = self.matrix if self.form.brings == "row" else self.counts
        return cost(**taken_by(cost, given | dict(self.chosen)))

    def __str__(self) -> str:
        counts = None if self.counts is None else ",".join(map(str, self.counts))
        parts = [f"p={self.p}", f"n={self.n}" if counts is None else f"counts={counts}"]
        if self.reduces and self.op is not SUM:
            parts.append(f"op={self.op.name}")
        if self.root:
            parts.append(f"root={self.root}")
        if self.dtype:
            parts.append(f"dtype={self.dtype}")
        parts += [f"{name}={value}" for name, value in self.chosen]
        return " ".join(parts + ["in_place"] * self.in_place)


@cache
def parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function by name."""
    return inspect.signature(function).parameters


def taken_by(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the arguments `given` that `function` takes."""
    return {name: value for name, value in given.items() if name in parameters(function)}
