"""Who is in a result: compares terms, counters or numbered elements with what belongs there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from collectives import provenance
from collectives.comm import Array
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding
from collectives.provenance import Term, named


def wrong_terms(
    case: Case, results: Sequence[Array | None], wanted: Sequence[Array | None], *, in_order: bool
) -> Iterator[Finding]:
    """Yield, for every rank, where other ranks are in its result than belong there.

    `in_order`: they must be in the order of the definition, too.
    """
    known: dict[int, tuple[int, ...]] = {}  # many elements hold the same term

    def ranks(term: Term) -> tuple[int, ...]:
        if id(term) not in known:
            known[id(term)] = tuple(term.ranks() if in_order else sorted(term.ranks()))
        return known[id(term)]

    for rank, (has, wants) in enumerate(zip(results, wanted, strict=True)):
        if has is None or wants is None:
            continue
        for element, (one, other) in enumerate(zip(has.tolist(), wants.tolist(), strict=True)):
            if one is other:
                continue
            counted = ranks(one) if isinstance(one, Term) else ()
            if counted != ranks(other):
                kind = "order" if sorted(counted) == sorted(ranks(other)) else "count"
                yield _miscounted(case, rank, element, counted, ranks(other), kind)
                break
            if one.element != other.element:
                which = "other elements" if one.element < 0 else f"element {one.element}"
                got = f"{which} of {named(counted)}"
                yield _misplaced(case, rank, element, got, f"element {other.element}", counted)
                break


def wrong_counts(
    case: Case, rank: int, totals: Sequence[Array], turned: Sequence[Array]
) -> Finding | None:
    """Return where the counters of one rank's result are not one for each rank that belongs there.

    `turned` are the results on counters in which ranks take the lanes in turns by element.
    """
    those = {"scan": range(rank + 1), "exscan": range(rank)}.get(case.collective, range(case.p))
    once = Counter(those)
    stories = np.unique(np.stack(totals), axis=1, return_index=True)[1]  # all equal ones are alike
    for element in sorted(stories.tolist()):
        (found,) = provenance.contributions(*(total[element : element + 1] for total in totals))
        if found != once:
            counted = tuple(sorted(x for x in found.elements() if x < case.p))
            return _miscounted(case, rank, element, counted, tuple(those), "count")
    if len(turned) != 1 or case.collective not in ("allreduce", "reduce", "reduce_scatter"):
        return None
    mixed = np.flatnonzero(turned[0] != totals[0])  # every lane once, whatever the turn
    if not mixed.size:
        return None
    got = f"other elements of {named(those)}"
    return _misplaced(case, rank, int(mixed[0]), got, f"element {int(mixed[0])}", tuple(those))


def wrong_numbers(
    case: Case, results: Sequence[Array | None], wanted: Sequence[Array | None]
) -> Iterator[Finding]:
    """Yield, for every rank, where another element, or another rank's, is in its result."""
    for rank, (has, wants) in enumerate(zip(results, wanted, strict=True)):
        if has is None or wants is None or not (has != wants).any():
            continue
        wrong = np.flatnonzero(has != wants)
        element = int(wrong[0])
        source, number = divmod(int(has[element]), 1 << 40)
        belongs, which = divmod(int(wants[element]), 1 << 40)
        if source >= case.p or not number:
            yield _miscounted(case, rank, element, (), (belongs,), "count")
        elif source != belongs:
            yield _misplaced(
                case, rank, element, f"element {number - 1} of {source}",
                f"element {which - 1} of {belongs}", (source,), (belongs,),
            )  # fmt: skip
        else:
            got, want = f"element {number - 1} of {source}", f"element {which - 1}"
            yield _misplaced(case, rank, element, got, want, (source,))


def _miscounted(
    case: Case, rank: int, element: int, counted: Any, wanted: Any, kind: str
) -> Finding:
    block = case.block_of(rank, element)
    got, want = ("+".join(map(str, x)) or "nobody" for x in (counted, wanted))
    got = got if counted else "nothing"
    text = f"rank {rank} block {block} element {element} has {got}, wants {want}"
    if kind == "count" and not case.reduces:
        kind = "place" if counted and len(counted) == 1 else kind
    return Finding(case, text, kind, rank, element, block, counted, wanted, got, want)


def _misplaced(
    case: Case, rank: int, element: int, got: str, want: str, counted: Any, wanted: Any = None
) -> Finding:
    block = case.block_of(rank, element)
    text = f"rank {rank} block {block} element {element} has {got}, wants {want}"
    return Finding(case, text, "place", rank, element, block, counted, wanted or counted, got, want)
