"""How sharp the oracle is: which planted faults it notices, and whether it says what they are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

from collectives.oracle.case_text import parse_case
from collectives.oracle.checking import check
from collectives.oracle.mutants.planting import Mutant
from collectives.oracle.properties import PROPERTIES

RANKS: Final = (1, 2, 3, 4, 5, 8)
"""Of the numbers of ranks of a full check, as many as the faults need."""


@dataclass(frozen=True)
class Score:
    """What a check says of one planted fault.

    Attributes
    ----------
    mutant : Mutant
    by : tuple of str
        The promises that it finds broken.
    text, case : str
        The first fault and the call that shows it; empty where there is none.
    family, rank : str, int or None
        What is named.
    right_family, right_rank : bool or None
        Whether that is right; None where it is not defined.
    seconds : float
    """

    mutant: Mutant
    by: tuple[str, ...]
    text: str = ""
    case: str = ""
    family: str = ""
    rank: int | None = None
    right_family: bool | None = None
    right_rank: bool | None = None
    seconds: float = 0.0

    @property
    def killed(self) -> bool:
        """Whether it is noticed, by the promise that must."""
        return self.mutant.by in self.by if self.mutant.by else bool(self.by)


def score(mutant: Mutant, *, quick: bool = False) -> Score:
    """Check one planted fault, in simulation."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about what is computed with garbage
        ranks = None if quick else RANKS
        report = check(mutant.plant(), mutant.collective, quick=quick, ranks=ranks)
    seconds = time.perf_counter() - start
    by = tuple(verdict.property for verdict in report.verdicts if verdict.status == "broken")
    if not by:
        return Score(mutant, by, seconds=seconds)
    fault = report.faults[0]
    family = fault.family.partition(" ")[0]
    right_rank = None
    if mutant.ranks is not None and fault.rank is not None:
        right_rank = fault.rank in mutant.ranks(parse_case(mutant.collective, fault.case))
    return Score(
        mutant, by, fault.text, fault.case, family, fault.rank,
        family == mutant.family if mutant.family else None, right_rank, seconds,
    )  # fmt: skip


def noticed_by(mutant: Mutant, name: str, ranks: Sequence[int] = (1, 2, 3, 4, 5)) -> str | None:
    """Return what the promise `name` says first of a planted fault; None if it is kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PROPERTIES[name].counterexample(mutant.plant(), ranks)


def scores(mutants: Sequence[Mutant], *, quick: bool = False) -> list[Score]:
    """Check planted faults, on all processors."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(partial(score, quick=quick), mutants, chunksize=4))


def table(scores: Iterable[Score]) -> str:
    """Return a Markdown table: faults planted, noticed and rightly named, family by family."""
    groups: dict[str, list[Score]] = {}
    for each in scores:
        groups.setdefault(each.mutant.family or "claims", []).append(each)
    rows = [(name, *_row(group)) for name, group in groups.items()]
    rows.append(("all", *_row([x for group in groups.values() for x in group])))
    head = ("family", "planted", "noticed", "family named", "rank named", "seconds")
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _row(group: Sequence[Score]) -> tuple[str, ...]:
    found = [x for x in group if x.killed]
    families = [x.right_family for x in found if x.right_family is not None]
    ranks = [x.right_rank for x in found if x.right_rank is not None]
    seconds = sum(x.seconds for x in group) / len(group)
    return (
        str(len(group)), f"{len(found)} ({len(found) / len(group):.0%})", _share(families),
        _share(ranks), f"{seconds:.2f}",
    )  # fmt: skip


def _share(right: Sequence[bool]) -> str:
    return f"{sum(right)} of {len(right)} ({sum(right) / len(right):.0%})" if right else "-"
