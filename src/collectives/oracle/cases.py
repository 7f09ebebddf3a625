"""One call of a collective, described without its data: sizes, buffers, expectation.

A `Case` is the same on all ranks, and knows what is particular to each collective. `Buffers` are
one rank's, with guards on both sides: they are handed to a function, and what was written where
is then looked at.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from collectives import reference
from collectives.blocks import Counts, EvenCounts, even
from collectives.comm import IN_PLACE, Array
from collectives.cost import Cost
from collectives.op import BAND, SUM, Op
from collectives.topology import grid_neighbours, torus_shape

GUARD = 32
"""Elements on each side of a buffer that nobody may write to."""


@dataclass(frozen=True)
class Form:
    """What a collective does with a vector and its p blocks.

    Attributes
    ----------
    brings, gets : str
        What each rank has before and after: the ``vector``, its ``block`` of one, its ``row`` or
        its ``column`` of a matrix of blocks, or ``nothing``.
    reduces : bool
        Whether operands are combined.
    from_root, to_root : bool
        Whether only the root brings something, or gets something.
    alike : bool
        Whether all ranks that get something get the same, or the same share of it.
    one_buffer : bool
        Whether input and result share a buffer, on all ranks.
    on_grid : bool
        Whether ranks exchange blocks with their neighbours only. They stand on a torus then, and
        a ``halo`` is a block for, or from, each neighbour.
    """

    brings: str
    gets: str
    reduces: bool = False
    from_root: bool = False
    to_root: bool = False
    alike: bool = True
    one_buffer: bool = False
    on_grid: bool = False


FORMS = {
    "barrier": Form("nothing", "nothing"),
    "bcast": Form("vector", "vector", from_root=True, one_buffer=True),
    "reduce": Form("vector", "vector", reduces=True, to_root=True),
    "scatter": Form("vector", "block", from_root=True),
    "gather": Form("block", "vector", to_root=True),
    "allgather": Form("block", "vector"),
    "reduce_scatter": Form("vector", "block", reduces=True),
    "allreduce": Form("vector", "vector", reduces=True),
    "alltoall": Form("row", "column"),
    "scan": Form("vector", "vector", reduces=True, alike=False),
    "exscan": Form("vector", "vector", reduces=True, alike=False),
    "neighbor_allgather": Form("block", "halo", on_grid=True),
    "neighbor_alltoall": Form("halo", "halo", on_grid=True),
}


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

    def wrong_calls(self, rank: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what `rank` must refuse: what is wrong with it, and the arguments."""
        sendbuf = np.arange(1.0, self.input_size(rank) + 1)
        recvbuf = -np.arange(1.0, self.room(rank) + 1)  # not 0: that it is cleared must show
        good = self.buffers(rank, sendbuf, recvbuf) | self.options(rank)
        wrong = [*self._wrong_buffers(rank, good), *self._wrong_numbers(rank, good)]
        yield from ((what, good | arguments) for what, arguments in wrong)

    def _wrong_buffers(
        self, rank: int, good: dict[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        used = {name: array for name, array in good.items() if isinstance(array, np.ndarray)}
        if self.form.from_root and rank != self.root:
            used.pop("sendbuf", None)
        if self.form.to_root and rank != self.root:
            used.pop("recvbuf")
            yield "sendbuf=IN_PLACE without a result", {"sendbuf": IN_PLACE}
        for name, array in used.items():
            yield f"{name} a list", {name: array.tolist()}
            yield f"{name} not contiguous", {name: np.zeros((array.size, 2))[:, 0]}
            if len(used) > 1:
                yield f"{name} one element longer", {name: np.zeros(array.size + 1)}
                yield f"{name} of another dtype", {name: array.astype(np.float32)}
            if name == "recvbuf" or (name == "buf" and rank != self.root):
                frozen = array.copy()
                frozen.flags.writeable = False
                yield f"{name} read-only", {name: frozen}
        if len(used) > 1:
            last = used["sendbuf"].size - 1
            shared = np.zeros(last + used["recvbuf"].size)
            overlapping = {"sendbuf": shared[: last + 1], "recvbuf": shared[last:]}
            yield "sendbuf and recvbuf overlapping", overlapping

    def _wrong_numbers(
        self, rank: int, good: dict[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.rooted:
            yield from ((f"root={root}", {"root": root}) for root in (-1, self.p, 0.0))
        if self.reduces:
            yield "op='SUM'", {"op": "SUM"}
            yield "op=BAND on float64", {"op": BAND}
        for name, sizes in self.sizes(rank).items():
            if name == "sendcounts" and good["sendbuf"] is IN_PLACE:
                continue  # ignored then
            longer = [size + (i == rank) for i, size in enumerate(sizes)]
            yield f"{name} one element too many", {name: longer}
            yield f"{name} of one rank more", {name: [*sizes, 0]}
            negative = [-1, sum(sizes) + 1, *[0] * (self.p - 2)][: self.p]
            yield f"a negative count in {name}", {name: negative}

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


# ---------------------------------------------------------------------------- many cases

RANKS = (1, 2, 3, 4, 5, 7, 8, 16, 17)
"""The numbers of ranks that the grid has: powers of two, their neighbours, primes."""


def grid(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the calls at whose edges algorithms break: sizes around p, roots, uneven blocks.

    Examples
    --------
    >>> [str(case) for case in grid("allgather", [2])][-3:]
    ['p=2 counts=0,1', 'p=2 counts=0,3', 'p=2 counts=4,3']
    """
    for p in ranks:
        plain = Case(collective, p)
        for root in sorted({0, p // 2, p - 1}) if plain.rooted else [0]:
            sizes = {0, 1, p - 1, p, p + 1, 3 * p + 1} if plain.form.brings != "nothing" else {0}
            for n in sorted(sizes):
                yield replace(plain, n=n, root=root)
        if plain.by_blocks:
            for counts in _uneven(p):
                yield replace(plain, counts=counts)


def _uneven(p: int) -> Iterator[tuple[int, ...]]:
    yield tuple(rank % 3 for rank in range(p))  # nothing on some ranks
    yield tuple(p + 1 if rank == p // 2 else 0 for rank in range(p))  # all on one
    yield tuple(p + 2 - rank for rank in range(p))


def one_per_size(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield one call for every p, with blocks of different sizes and the root in the middle.

    Examples
    --------
    >>> [str(case) for case in one_per_size("reduce", [2, 5])]
    ['p=2 n=3 root=1', 'p=5 n=6 root=2']
    """
    for p in ranks:
        case = Case(collective, p, n=p + 1)
        yield replace(case, root=p // 2) if case.rooted else case


# ---------------------------------------------------------------------------- buffers


class Guarded:
    """A buffer between two zones that nobody may write to, full of a pattern at first."""

    def __init__(self, size: int, dtype: np.dtype[Any], pattern: int = 0xA5) -> None:
        self.size = size
        self.whole = np.empty(size + 2 * GUARD, dtype)
        if dtype.kind == "O":
            self.whole[:] = "untouched"
        else:
            self.whole.view(np.uint8)[:] = pattern if dtype != np.bool_ else pattern & 1
        self.inside = self.whole[GUARD : GUARD + size]
        self.before = self.whole.copy()

    def put(self, start: int, values: Array) -> None:
        """Place `values` as what the buffer holds before the call."""
        self.inside[start : start + values.size] = values
        self.before = self.whole.copy()

    def changed(self, allowed: int = 0) -> list[int]:
        """Return the elements that are not what they were, besides the first `allowed`."""
        elements = differing(self.whole, self.before) - GUARD
        return [i for i in elements.tolist() if not 0 <= i < allowed]


class Buffers:
    """One rank's buffers for one case: made, handed to a function, and looked at afterwards."""

    def __init__(self, case: Case, rank: int, values: Array, pattern: int = 0xA5) -> None:
        self.case, self.rank = case, rank
        self.result_size = case.result_size(rank)
        self.sent = Guarded(values.size, values.dtype, pattern)
        self.received = Guarded(case.room(rank), values.dtype, pattern)
        self.sent.put(0, values)
        if case.shares_buffer(rank) and not (case.form.from_root and rank != case.root):
            self.received.put(case.input_start(rank), values)

    def run(self, function: Callable[..., None], comm: Any) -> Array | None:
        """Call `function` on these buffers and return this rank's result, if it has one."""
        self.case.call(function, comm, self.sent.inside, self.received.inside)
        return self.result

    @property
    def result(self) -> Array | None:
        """What this rank holds now; None where it has no result."""
        return None if self.result_size is None else self.received.inside[: self.result_size]

    def changed_input(self) -> str | None:
        """Return how the input was written to, if it was."""
        changed = self.sent.changed()
        return f"element {changed[0]} of the input was changed" if changed else None

    def written_outside(self) -> str | None:
        """Return what was written outside of the result, if anything."""
        size = self.result_size or 0
        changed = self.received.changed(allowed=size)
        if not changed:
            return None
        return f"element {changed[0]} was written, outside of a result of {size}"

    def violations(self) -> list[str]:
        """Return what was written that must not be."""
        return [text for text in (self.changed_input(), self.written_outside()) if text]


# ---------------------------------------------------------------------------- comparing


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
