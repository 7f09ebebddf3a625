"""Judges of the two quizzes: what collectives mean, and which fault a symptom tells of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Case
from collectives.teach.exercise import exercise
from collectives.teach.grading import Wrong
from collectives.teach.judging import brief
from collectives.teach.scene import Ask

# ------------------------------------------------------------------ A0 meaning

ROOT: Final = 1
PRIMES: Final = np.array([[2, 3, 5], [7, 11, 13], [17, 19, 23]])
"""What three ranks have before, where each has a vector; where it has a block, the first column."""

KINDS: Final = (
    "bcast", "scatter", "gather", "allgather", "reduce", "allreduce", "reduce_scatter",
    "alltoall", "scan", "exscan",
)  # fmt: skip
"""What an answer may be."""

ITEMS: Final = (
    ("allgather",), ("reduce",), ("scatter",), ("allreduce",), ("alltoall",), ("bcast",),
    ("gather",), ("reduce_scatter",), ("scan",),
    ("reduce_scatter", "allgather"), ("gather", "bcast"), ("reduce", "scatter"),
)  # fmt: skip
"""What is done in each item of the quiz, one after the other."""


def before(first: str) -> list[Array]:
    """Return what three ranks have before this collective."""
    brings_block = Case(first, 3).form.brings == "block"
    return [row[:1] if brings_block else row for row in PRIMES]


def after(kind: str, inputs: Sequence[Array]) -> list[Array | None]:
    """Return what the ranks have after a collective."""
    brings = Case(kind, 3).form.brings
    n = inputs[0].size if brings in ("block", "vector") else inputs[0].size // 3
    if kind in ("scatter", "reduce_scatter"):
        n = inputs[0].size // 3
    return Case(kind, 3, n, root=ROOT).expected(inputs)


def outcome(item: Sequence[str]) -> list[list[int] | None]:
    """Return what the ranks have after all of an item; None where there is no result."""
    held: list[Array | None] = list(before(item[0]))
    for kind in item:
        size = max(each.size for each in held if each is not None)
        held = after(kind, [np.zeros(size, int) if x is None else x for x in held])
    return [None if x is None else x.tolist() for x in held]


def answer(item: Sequence[str]) -> str:
    """Return the one collective that does the same as an item."""
    inputs, wanted = before(item[0]), outcome(item)
    for kind in KINDS:
        needs = Case(kind, 3).form.brings
        if (needs == "block") == (inputs[0].size == 1):
            got = [None if x is None else x.tolist() for x in after(kind, inputs)]
            if got == wanted:
                return kind
    raise ValueError(f"no collective does {item}")


def table() -> Iterator[str]:
    """Yield the items as they stand in the stub."""
    for number, item in enumerate(ITEMS, 1):
        if len(item) > 1:
            yield f"{number:2}  {' and then '.join(item)}: the same as which one?"
            continue
        cells = [
            " ".join(map(str, x)) if x is not None else "-"
            for part in (before(item[0]), outcome(item))
            for x in part
        ]
        row = "  ".join(f"{cell:9}" for cell in cells)
        yield f"{number:2}  {row[:33]}-> {row[33:]}".rstrip()


def meaning(ask: Ask) -> Iterator[Wrong]:
    """Compare the answers with what the serial definitions give."""
    given = ask()
    if not isinstance(given, list) or len(given) != len(ITEMS):
        yield Wrong("answer", f"{brief(given)}, wants a list of {len(ITEMS)} names")
        return
    if all(each == "?" for each in given):
        yield Wrong("missing", "no item is answered")
        return
    for number, (said, item) in enumerate(zip(given, ITEMS, strict=True), 1):
        if said == answer(item):
            continue
        if said not in KINDS:
            text = f"item {number}: {brief(said)} is none of {', '.join(KINDS)}"
            yield Wrong("answer", text, diagnosis="no-such-name")
        yield Wrong("answer", f"item {number}: it is not {said}", diagnosis=_mixed_up(said, item))


def _mixed_up(said: str, item: Sequence[str]) -> str:
    pair = {said, answer(item)}
    if pair in ({"reduce", "allreduce"}, {"gather", "allgather"}):
        return "root-or-all"
    if pair in ({"reduce_scatter", "allreduce"}, {"scatter", "bcast"}, {"scan", "allreduce"}):
        return "part-or-whole"
    return "wrong-collective"


# ------------------------------------------------------------------ A5 detective

SUSPECTS: Final = (
    "send-before-receive", "wrong-neighbour", "one-step-short", "allgather-adds", "tail-dropped",
    "view-lost", "changed-before-wait", "one-step-too-many", "received-into-copy", "tags-differ",
)  # fmt: skip
"""The diagnoses of the ten programs, each a mutant of the ring all-reduce."""


def case_files() -> Iterator[tuple[str, str]]:
    """Yield the diagnosis and the text of every program."""
    asked = exercise("ring_allreduce")
    for name in SUSPECTS:
        mutant = next(each for each in asked.mutants if each.diagnosis == name)
        yield mutant.diagnosis, mutant.source(asked.right)


def detective(ask: Ask) -> Iterator[Wrong]:
    """Compare the names of ten faults with the diagnoses that the programs get."""
    from collectives.teach.diagnosis import diagnoses

    given = ask()
    if not isinstance(given, list) or len(given) != len(SUSPECTS):
        yield Wrong("answer", f"{brief(given)}, wants a list of {len(SUSPECTS)} names")
        return
    if all(each == "?" for each in given):
        yield Wrong("missing", "no case is solved")
        return
    right = [said == name for said, (name, _) in zip(given, case_files(), strict=True)]
    if not all(right):
        number = right.index(False)
        said = diagnoses().get(str(given[number]))
        if said is None:
            text = f"case {number + 1}: {brief(given[number])} is none of the names"
            yield Wrong("answer", text, diagnosis="no-such-name")
            return
        text = f"{sum(right)} of {len(right)} solved; case {number + 1} is another: "
        text += f"{said.mistake} would look otherwise"
        yield Wrong("answer", text, diagnosis="wrong-suspect")
