"""Right for some numbers of ranks, lengths, operations or types only."""

from __future__ import annotations

from collectives.teach.diagnosis import head, mistake, where_it_stopped
from collectives.teach.evidence import Evidence


@mistake(
    "one-rank", "nothing done for p = 1",
    what="{text} with one rank",
    why="alone, a rank still has to leave its result where it belongs",
    hint="what is the result of one rank?", look=head,
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.wrong.attempt is not None and e.p == 1 and e.case.n > 0 and e.works(p=3)


@mistake(
    "empty-vector", "no elements at all",
    what="{text} with a length of 0",
    why="0 elements are an ordinary length: messages may be empty",
    hint="which line cannot do with an empty array?",
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.wrong.attempt is None or e.case.n or e.case.counts or e.case.collective == "barrier":
        return False
    return e.works(n=1) and e.works(n=e.p)


@mistake(
    "tail-dropped", "n // p drops the last elements",
    what="{text}: the last n mod p elements are not taken along",
    why="p blocks of n // p elements do not cover a vector whose length p does not divide",
    hint="how could the first n mod p blocks be one element longer?",
    look=lambda e: e.line_with(r"(?<!/)//(?!/)"),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value":
        return False
    if e.divides:  # of a part of the vector, then
        return e.keeps_own and e.line_with(r"(?<!/)//(?!/)") and e.mostly_right
    tail = e.case.n // e.p * e.p
    return all(right is None or right[:tail].all() for right in e.right)


@mistake(
    "fewer-elements-than-ranks", "a vector shorter than the number of ranks",
    what="{text} with fewer elements than ranks",
    why="some blocks are empty then, and are blocks all the same",
    hint="what does the cut give when n < p?",
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.wrong.attempt is None or e.case.by_blocks or not 0 < e.case.n < e.p:
        return False
    return e.works(n=2 * e.p + 1)


@mistake(
    "equal-blocks-assumed", "right only where all blocks are of one size",
    what="{text}",
    why="blocks may differ in size; each rank must know the size and the start of every block",
    hint="where does block i start, and how long is it?",
    look=lambda e: e.line_with(r"(?<!/)//(?!/)", r"counts") or where_it_stopped(e),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.wrong.attempt is None:
        return False
    if e.case.counts is not None and len(set(e.case.counts)) > 1:
        return e.works(counts=(3,) * e.p)
    return not e.case.by_blocks and e.case.n % e.p and e.works(n=3 * e.p)


@mistake(
    "starts-from-zero", "an accumulator that starts at 0, whatever the operation",
    what="{text}",
    why="0 changes nothing in a sum, but wins a maximum of negative numbers",
    hint="which value could every operation start from?",
    look=lambda e: e.line_with(r"zeros", r"= 0\b", r"fill\(0"),
)  # fmt: skip
def _(e: Evidence) -> object:
    if e.kind != "value" or e.case.op.name != "MAX":
        return False
    wrong = [
        got[~right] for got, right in zip(e.results, e.right, strict=True)
        if got is not None and right is not None and not right.all()
    ]  # fmt: skip
    return all((values == 0).all() for values in wrong)


@mistake(
    "op-ignored", "always a sum, whatever op is asked for",
    what="{text}: a sum, where {p} ranks were to do something else",
    why="op may be a maximum or anything else",
    hint="how is op applied to two arrays?",
    look=lambda e: e.line_with(r"\+=", r"np\.add|sum\(", r"= .*\w \+ \w"),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and e.case.op.name == "MAX" and e.works_on(4)


@mistake(
    "operands-swapped", "operands combined in another order than that of the ranks",
    what="{text} with an op that does not commute",
    why="op(lower, higher): the operand of the lower ranks stands on the left",
    hint="whose operand is the lower one, mine or what came in?",
    look=lambda e: e.line_with(r"\bop\("),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.kind == "value" and not e.case.op.commutative


@mistake(
    "type-assumed", "right for one type of numbers only",
    what="{text} with {p} ranks and another type of numbers",
    why="scratch space must be of the type of the input",
    hint="which type does np.empty make when none is given?",
    look=lambda e: e.line_with(r"np\.(empty|zeros)\("),
)  # fmt: skip
def _(e: Evidence) -> object:
    return e.wrong.attempt is not None and e.case.dtype and e.kind in ("value", "raised")
