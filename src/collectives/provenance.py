"""Who contributed to a result: payloads that remember it.

*Terms* are Python objects in an object array. Added up, they keep who was added to what, in which
order and grouping; they travel in simulation.

*Counters* are ordinary unsigned integers: rank r brings a one in hexadecimal digit r, so that a
sum shows in its digits how often each rank was counted. They travel everywhere. An integer has
room for `LANES` ranks; with more ranks the run is repeated, once per set of ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from collectives.comm import Array

LANES = 16
"""Ranks that one counter can tell apart."""


class Term:
    """A sum that remembers its operands: one rank's element, or two terms added.

    Examples
    --------
    >>> a, b, c = (Term(rank, 0) for rank in range(3))
    >>> (a + b) + c, a + (b + c)
    (((0+1)+2), (0+(1+2)))
    >>> ((c + a) + a).ranks()
    [2, 0, 0]
    """

    __slots__ = ("element", "left", "rank", "right")

    def __init__(self, rank: int, element: int) -> None:
        self.rank, self.element = rank, element
        self.left: Term | None = None
        self.right: Term | None = None

    def __add__(self, higher: Term) -> Term:
        if not isinstance(higher, Term):
            return NotImplemented
        total = Term(-1, self.element if self.element == higher.element else -1)
        total.left, total.right = self, higher
        return total

    def ranks(self) -> list[int]:
        """Return the ranks that contributed, from left to right."""
        found, stack = [], [self]
        while stack:
            term = stack.pop()
            if term.left is None or term.right is None:
                found.append(term.rank)
            else:
                stack += (term.right, term.left)
        return found

    def __repr__(self) -> str:
        pieces: list[str] = []
        stack: list[Term | str] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                pieces.append(part)
            elif part.left is None or part.right is None:
                pieces.append(str(part.rank))
            else:
                stack += (")", part.right, "+", part.left, "(")
        return "".join(pieces)


def terms(rank: int, n: int) -> Array:
    """Return the n terms that `rank` contributes, each knowing its element's number."""
    payload = np.empty(n, object)
    payload[:] = [Term(rank, element) for element in range(n)]
    return payload


def passes(p: int) -> range:
    """Return the numbers of the runs that it takes to count p ranks."""
    return range(-(-p // LANES))


def counters(rank: int, n: int, part: int = 0) -> Array:
    """Return the n counters that `rank` contributes to run number `part`.

    Examples
    --------
    >>> total = counters(0, 1) + counters(2, 1) + counters(2, 1)
    >>> f"{total[0]:x}", contributions(total[:1])
    ('201', [Counter({2: 2, 0: 1})])
    """
    lane = rank - part * LANES
    return np.full(n, 16**lane if 0 <= lane < LANES else 0, np.uint64)


def contributions(*totals: Array) -> list[Counter[int]]:
    """Return, for every element, how often each rank was counted; one array per run."""
    counted: list[Counter[int]] = [Counter() for _ in totals[0]]
    for part, total in enumerate(totals):
        for element, value in enumerate(total.tolist()):
            for lane, digit in enumerate(reversed(f"{value:x}")):
                if digit != "0":
                    counted[element][part * LANES + lane] += int(digit, 16)
    return counted


def named(ranks: Iterable[int]) -> str:
    """Write contributors as a sum, those counted twice twice.

    Examples
    --------
    >>> named(Counter({2: 2, 0: 1}).elements())
    '0+2+2'
    >>> named([])
    'nobody'
    """
    return "+".join(map(str, sorted(ranks))) or "nobody"
