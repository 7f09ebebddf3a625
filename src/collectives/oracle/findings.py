"""What a property finds wrong: one sentence, and its parts for those who sort findings.

A `Finding` is the same on all ranks. `Note` is what a property has to say where nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Case
from collectives.oracle.differences import differing

FEW_ELEMENTS = 64
"""Wrong elements that are looked for in other places."""


@dataclass(frozen=True)
class Finding:
    """One promise broken in one case.

    Attributes
    ----------
    case : Case
        The call.
    text : str
        What is wrong, as a sentence that begins with the rank.
    kind : str
        What differs: ``value``, ``place``, ``count``, ``input``, ``outside``, ``leftover``,
        ``bits``, ``special``, ``bound``, ``order``, ``messages``, ``cost``, ``accepted``,
        ``early``, ``size``, or one of the endings that `worlds.Ending` lists.
    rank, element, block : int, optional
        Where it shows first.
    counted, wanted_counted : tuple of int, optional
        Which ranks are in that element, one that was counted twice twice, and which should be.
    got, wanted : str
        What is there, and what should be.
    """

    case: Case
    text: str
    kind: str = "value"
    rank: int | None = None
    element: int | None = None
    block: int | None = None
    counted: tuple[int, ...] | None = None
    wanted_counted: tuple[int, ...] | None = None
    got: str = ""
    wanted: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Note:
    """Something worth knowing about a promise that is kept."""

    text: str


def first(findings: Iterable[Finding | None]) -> Finding | None:
    """Return the first finding that is one."""
    return next((finding for finding in findings if finding is not None), None)


def on_rank(case: Case, rank: int, kind: str, text: str, element: int | None = None) -> Finding:
    """Return what one rank shows."""
    return Finding(case, f"rank {rank}: {text}", kind, rank, element)


def wrong_values(
    case: Case, results: Sequence[Array | None], wanted: Sequence[Array | None]
) -> Iterator[Finding]:
    """Yield, for every rank, where its result is not, bit by bit, what is wanted."""
    known: list[Array] | None = None
    for rank, (has, wants) in enumerate(zip(results, wanted, strict=True)):
        finding = wrong_value(case, rank, has, wants)
        if finding is None or has is None or wants is None:
            continue
        if known is None:
            known = [values for values in wanted if values is not None]
        yield _placed(finding, has, wants, known)


def wrong_value(
    case: Case, rank: int, has: Array | None, wants: Array | None, source: str = "wants",
    kind: str = "value",
) -> Finding | None:  # fmt: skip
    """Return where the result of a rank is not, bit by bit, what `source` says; None if nowhere."""
    if has is None or wants is None:
        return None
    wrong = differing(has, wants)
    if not wrong.size:
        return None
    element = int(wrong[0])
    got, wanted, block = str(has[element]), str(wants[element]), case.block_of(rank, element)
    text = (
        f"rank {rank} block {block} element {element} has {got}, {source} {wanted} "
        f"({wrong.size} of {has.size} elements differ)"
    )
    return Finding(case, text, kind, rank, element, block, got=got, wanted=wanted)


def _placed(finding: Finding, has: Array, wants: Array, known: Sequence[Array]) -> Finding:
    """Say so where what stands in the wrong elements belongs elsewhere."""
    if has.dtype.kind not in "iu" or has.itemsize < 8:
        return finding  # too few values to tell a wrong place from a coincidence
    wrong = differing(has, wants)[:FEW_ELEMENTS]
    elsewhere = np.isin(has[wrong], np.concatenate(known))
    if not elsewhere.any():
        return finding
    return Finding(**{**vars(finding), "kind": "place"})


def differing_from(case: Case, results: Sequence[Array | None], other: Any) -> Finding | None:
    """Return where some rank differs from the first result, which all are to have."""
    return first(
        wrong_value(case, rank, result, other, "rank 0 has", "bits")
        for rank, result in enumerate(results)
    )
