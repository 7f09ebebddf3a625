"""What is asked of a check: which promises, on how many ranks, on which cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from collectives.launch import under_mpi
from collectives.oracle.case_text import parse_case
from collectives.oracle.cases import Case
from collectives.oracle.promises import Property, Subject
from collectives.oracle.properties import PROPERTIES
from collectives.oracle.worlds import World

RANKS: Final = range(1, 10)
"""Numbers of ranks in simulation, where none are given."""

QUICK: Final = (1, 2, 3, 4, 5)
"""Numbers of ranks for a check between two edits."""


@dataclass(frozen=True)
class Asked:
    """What of a target is checked, and how.

    Attributes
    ----------
    ranks : sequence of int
        Numbers of ranks; those that the world has where empty.
    only, skip : collection of str
        Names of promises.
    quick, big : bool
        Fewer cases; sizes that need much memory, too.
    case : str
        The only case, such as ``p=5 n=7 op=MAX``.
    """

    ranks: Sequence[int] = ()
    only: Collection[str] = ()
    skip: Collection[str] = ()
    quick: bool = False
    big: bool = False
    case: str = ""

    def __post_init__(self) -> None:
        for name in (*self.only, *self.skip):
            if name not in PROPERTIES:
                raise ValueError(f"no promise {name!r}; there are {', '.join(PROPERTIES)}")

    def properties(self) -> list[Property]:
        """Return the promises to check."""
        return [
            promised
            for name, promised in PROPERTIES.items()
            if (not self.only or name in self.only) and name not in self.skip
        ]

    def words(self) -> list[str]:
        """Return what asks for the same cases on the command line."""
        if self.case:
            return ["--case", self.case]
        ranks = ["-p", ",".join(map(str, self.ranks))] if self.ranks else []
        return ranks + ["--quick"] * self.quick + ["--big"] * self.big

    def sizes(self, world: World) -> list[int]:
        """Return the numbers of ranks to check with."""
        ranks = self.ranks or (QUICK if self.quick else RANKS)
        if self.case:
            ranks = [parse_case("allreduce", self.case).p]
        sizes = [p for p in ranks if p in world.sizes]
        if not sizes:
            has = f"{min(world.sizes)} to {max(world.sizes)}"
            raise ValueError(f"{world.name} has {has} ranks, asked are {list(ranks)}")
        return sizes

    def cases(self, promised: Property, subject: Subject, world: World) -> Iterator[Case]:
        """Yield the cases to check: the one asked for, or those that the world has time for."""
        if self.case:
            yield parse_case(subject.collective, self.case)
            return
        sizes = self.sizes(world)
        most = max(sizes)
        for number, case in enumerate(promised.asked(subject, sizes)):
            if under_mpi() and case.p not in (2, 3, most) and number % 4:
                continue  # real ranks are slow: fewer cases where they are neither few nor all
            if self.quick and case.dtype and case.p not in (3, most):
                continue
            yield case
