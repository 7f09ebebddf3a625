"""On what a function is tried: numbers of ranks, lengths, roots, operations and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from collectives.op import MAX
from collectives.oracle.cases import Case
from collectives.oracle.payloads import AFFINE
from collectives.teach.exercise import Part

RANKS: Final = (1, 2, 3, 4, 5, 6, 8)
QUICK: Final = (1, 3, 4, 6)
LONG: Final = 40_003
"""Elements of a long vector: more bytes than MPI libraries send without a receiver."""


@dataclass(frozen=True)
class Cases:
    """The cases of one function."""

    part: Part
    quick: bool = False

    @property
    def ranks(self) -> Sequence[int]:
        return QUICK if self.quick else RANKS

    @cached_property
    def by_blocks(self) -> bool:
        return Case(self.part.collective, 1).by_blocks

    def plain(self, p: int) -> list[Case]:
        """Return cases with blocks of three elements on every rank."""
        n = 3 if self.by_blocks else 3 * p
        if self.part.collective == "barrier":
            n = 0
        return self._with_options(Case(self.part.collective, p, n))

    def lengths(self) -> Iterator[Case]:
        """Yield lengths not divisible by p, less than p, 0, and long."""
        if self.part.collective == "barrier":
            return
        for p in (4, 5) if not self.quick else (5,):
            sizes = [4, 1, 0] if self.by_blocks else [2 * p + 1, 3 * p + 2, p - 1, 1, 0]
            for n in sizes:
                yield from self._with_options(Case(self.part.collective, p, n))
            if self.part.counts:
                for counts in ([r % 3 for r in range(p)], [p - r for r in range(p)],
                               [7 * (r == 1) for r in range(p)]):  # fmt: skip
                    yield from self._with_options(
                        Case(self.part.collective, p, counts=tuple(counts))
                    )
        long = LONG // 3 if self.by_blocks else LONG
        options = self.part.options[-1]
        if "segment" in options:
            options = options | {"segment": 4096}
        case = Case(self.part.collective, 3, long, chosen=tuple(options.items()))
        yield replace(case, counts=(long,) * 3) if self.part.counts else case

    def roots(self) -> Iterator[Case]:
        for p in self.ranks[1:]:
            for root in sorted({p // 2, p - 1}):
                for case in self.plain(p):
                    yield replace(case, root=root)

    def types(self) -> Iterator[Case]:
        """Yield other operations and types."""
        for p in (4, 5):
            for case in self.plain(p):
                yield replace(case, op=MAX, dtype="int64")
                yield replace(case, dtype="float32")
                if self.part.order:
                    yield replace(case, op=AFFINE)

    def orders(self) -> Iterator[Case]:
        """Yield cases for ranks that come in other orders."""
        for case in (*self.plain(4), *self.plain(5)):
            yield case
            if self.part.order:
                yield replace(case, op=AFFINE)

    def _with_options(self, case: Case) -> list[Case]:
        if self.part.counts and case.counts is None:
            case = replace(case, counts=(case.n,) * case.p)
        return [replace(case, chosen=tuple(each.items())) for each in self.part.options]
