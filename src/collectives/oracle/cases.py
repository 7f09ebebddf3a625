"""One call of a collective, described without its data: sizes, buffers, expectation.

A `Case` is the same on all ranks. `Buffers` are one rank's, with guards on both sides: they are
handed to a function, and what was written where is then looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives import reference
from collectives.blocks import Counts, EvenCounts, even
from collectives.comm import IN_PLACE, Array
from collectives.op import SUM, Op

GUARD = 5
"""Elements on each side of a buffer that nobody may write to."""


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
        Elements as in the collective's signature: of the vector for bcast, reduce and allreduce,
        of one rank's block for allgather and reduce_scatter.
    op, root : Op, int
        Where the collective has them.
    counts : tuple of int, optional
        Block sizes of allgather and reduce_scatter; `n` is not used then.
    in_place : bool
        Whether the input lies in the result buffer.
    """

    collective: str
    p: int
    n: int = 0
    op: Op = SUM
    root: int = 0
    counts: tuple[int, ...] | None = None
    in_place: bool = False

    @property
    def by_blocks(self) -> bool:
        """Whether ranks bring or get one block each."""
        return self.collective in ("allgather", "reduce_scatter")

    @property
    def reduces(self) -> bool:
        """Whether operands are combined."""
        return "reduce" in self.collective

    @property
    def rooted(self) -> bool:
        """Whether one rank has a part of its own."""
        return self.collective in ("bcast", "reduce")

    @property
    def blocks(self) -> EvenCounts | Counts:
        """The sizes of the blocks in which results are described."""
        if self.counts is not None:
            return Counts(self.counts)
        return even(self.n * self.p if self.by_blocks else self.n, self.p)

    def input_size(self, rank: int) -> int:
        """Return how many elements `rank` brings; on a bcast, every rank but the root in vain."""
        return self.blocks[rank] if self.collective == "allgather" else sum(self.blocks)

    def result_size(self, rank: int) -> int | None:
        """Return how many elements `rank` is left with; None where it has no result."""
        if self.collective == "reduce" and rank != self.root:
            return None
        return self.blocks[rank] if self.collective == "reduce_scatter" else sum(self.blocks)

    def block_of(self, rank: int, element: int) -> int:
        """Return the number of the block that holds `element` of the result of `rank`."""
        if self.collective == "reduce_scatter":
            return rank
        return next(i for i in range(self.p) if element < self.blocks.start(i + 1))

    def options(self) -> dict[str, Any]:
        """Return the arguments besides communicator and buffers."""
        options: dict[str, Any] = {"op": self.op} if self.reduces else {}
        if self.rooted:
            options["root"] = self.root
        if self.counts is not None:
            options["counts"] = list(self.counts)
        return options

    def expected(self, inputs: Sequence[Array]) -> list[Array | None]:
        """Return what every rank must hold, from the inputs of all."""
        options = self.options()
        if self.collective == "reduce_scatter":
            options["counts"] = self.blocks
        if self.collective == "allgather":
            options.pop("counts", None)
        return getattr(reference, self.collective)(inputs, **options)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        parts = [
            f"p={self.p}",
            f"n={self.n}" if self.counts is None else f"counts={self.counts}",
        ]
        if self.reduces and self.op is not SUM:
            parts.append(f"op={self.op.name}")
        if self.root:
            parts.append(f"root={self.root}")
        return " ".join(parts + ["in place"] * self.in_place)


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
        self.shared = case.collective == "bcast" or (case.in_place and self.result_size is not None)
        capacity = max(self.result_size or 0, values.size if self.shared else 0)
        self.sent = Guarded(values.size, values.dtype, pattern)
        self.received = Guarded(capacity, values.dtype, pattern)
        self.sent.put(0, values)
        if self.shared and not (case.collective == "bcast" and rank != case.root):
            start = case.blocks.start(rank) if case.collective == "allgather" else 0
            self.received.put(start, values)

    def run(self, function: Callable[..., None], comm: Any) -> Array | None:
        """Call `function` on these buffers and return this rank's result, if it has one."""
        options = self.case.options()
        if self.case.collective == "bcast":
            function(comm, self.received.inside, **options)
        else:
            sendbuf = IN_PLACE if self.shared else self.sent.inside
            function(comm, sendbuf, self.received.inside, **options)
        return self.result

    @property
    def result(self) -> Array | None:
        """What this rank holds now; None where it has no result."""
        return None if self.result_size is None else self.received.inside[: self.result_size]

    def violations(self) -> list[str]:
        """Return what was written that must not be."""
        found = ["the input was changed"] if self.sent.changed() else []
        changed = self.received.changed(allowed=self.result_size or 0)
        if changed:
            found.append(
                f"element {changed[0]} was written, outside of a result of {self.result_size or 0}"
            )
        return found


def differing(a: Array, b: Array) -> Array:
    """Return the numbers of the elements in which two arrays of one dtype differ, bit by bit."""
    return np.flatnonzero((_bits(a) != _bits(b)).any(axis=1))


def _bits(a: Array) -> Array:
    """Return the bytes of every element as a row, without the padding of long doubles."""
    rows = np.frombuffer(a.tobytes(), np.uint8).reshape(a.size, a.itemsize)
    if a.dtype.char in "gG" and np.finfo(a.dtype).nmant == 63:
        rows = rows.reshape(-1, 16)[:, :10].reshape(a.size, -1)
    return rows
