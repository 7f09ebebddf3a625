"""Summation trees: in which grouping the operands of a floating-point sum were added.

A `Tree` prints as the expression that it is and, evaluated in a dtype, predicts the bits of the
sum. `rebuild` makes one of what the order probe sees. `Sums` writes down the trees of many
elements at once, in the order of their operands, while an algorithm runs in simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from collectives.comm import Array
from collectives.op import Op

Kind: TypeAlias = Literal["rounded", "wide", "unknown"]


@dataclass(frozen=True)
class Tree:
    """What one rank brings, or a sum of such trees.

    Attributes
    ----------
    rank : int
        Whose element it is; -1 for a sum.
    operands : tuple of Tree
        What is added up: two, or more where a machine adds several at a time.
    kind : str
        How a sum is made: ``rounded`` after the addition; ``wide``, every operand added exactly
        and the total rounded once; or ``unknown``, where no order explains what was seen.

    Examples
    --------
    >>> total = plus(plus(2, 0), 1)
    >>> print(total, total.canonical, total.depth)
    ((2+0)+1) ((0+2)+1) 2
    >>> float(total.evaluate([np.float32(1), np.float32(2**24), np.float32(1)]))
    16777218.0
    """

    rank: int = -1
    operands: tuple[Tree, ...] = ()
    kind: Kind = "rounded"

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks in it, from left to right."""
        if not self.operands:
            return (self.rank,)
        return tuple(rank for operand in self.operands for rank in operand.ranks)

    @cached_property
    def depth(self) -> int:
        """The most additions, one after the other, that an operand goes through."""
        return 1 + max(operand.depth for operand in self.operands) if self.operands else 0

    @cached_property
    def parts(self) -> tuple[Tree, ...]:
        """The tree itself and all trees in it."""
        return (self, *(part for operand in self.operands for part in operand.parts))

    @property
    def fits(self) -> bool:
        """Whether what was seen of it is explained."""
        return all(part.kind != "unknown" for part in self.parts)

    @property
    def is_wide(self) -> bool:
        """Whether some of it was added in a wider accumulator."""
        return any(part.kind == "wide" for part in self.parts)

    @property
    def is_predictable(self) -> bool:
        """Whether the bits of the sum follow: every addition is one of two, then rounded."""
        sums = [part for part in self.parts if part.operands]
        return all(part.kind == "rounded" and len(part.operands) == 2 for part in sums)

    @cached_property
    def canonical(self) -> Tree:
        """The one tree that stands for all that differ in the order of operands only."""
        if not self.operands:
            return self
        operands = sorted((each.canonical for each in self.operands), key=lambda x: min(x.ranks))
        return Tree(operands=tuple(operands), kind=self.kind)

    def renumbered(self, number: Callable[[int], int]) -> Tree:
        """Return the same tree of other ranks."""
        if not self.operands:
            return Tree(number(self.rank))
        return Tree(operands=tuple(x.renumbered(number) for x in self.operands), kind=self.kind)

    def evaluate(self, values: Sequence[Any]) -> Any:
        """Return the sum of `values`, one scalar or array per rank, rounded as their dtype is."""
        if not self.is_predictable:
            raise ValueError(f"the bits of {self} are not known: not every sum is of two")
        if not self.operands:
            return values[self.rank]
        left, right = (operand.evaluate(values) for operand in self.operands)
        return np.add(left, right)

    @cached_property
    def _text(self) -> str:
        if not self.operands:
            return str(self.rank)
        if self.kind == "unknown":
            return f"{{{', '.join(map(str, self.operands))}}}"
        return "wide" * (self.kind == "wide") + f"({'+'.join(map(str, self.operands))})"

    def __str__(self) -> str:
        return self._text


def plus(*operands: Tree | int) -> Tree:
    """Return the sum of trees or ranks."""
    return Tree(operands=tuple(x if isinstance(x, Tree) else Tree(x) for x in operands))


# ------------------------------------------------------------------ from what a probe sees


def rebuild(together: Array, ranks: Sequence[int]) -> Tree:
    """Return the tree in which the smallest sum with ranks a and b has ``together[a, b]`` operands.

    It is canonical. Ranks for which there is no such tree stay together as ``unknown``; the groups
    that could be told apart before are kept.

    Examples
    --------
    >>> together = np.array([[1, 2, 3], [2, 1, 3], [3, 3, 1]])
    >>> print(rebuild(together, range(3)), rebuild(np.full((3, 3), 2), range(3)))
    ((0+1)+2) wide(0+1+2)
    >>> together[1, 2] = 2
    >>> print(rebuild(together, range(3)))
    {0, 1, 2}
    """
    if len(ranks) == 1:
        return Tree(ranks[0])
    size, leaves = len(ranks), tuple(map(Tree, ranks))
    groups: dict[int, list[int]] = {}
    for rank in ranks:
        first = next((first for first in groups if together[first, rank] < size), rank)
        groups.setdefault(first, []).append(rank)
    home = np.array([first for rank in ranks for first in groups if rank in groups[first]])
    same, others = home[:, None] == home, ~np.eye(size, dtype=bool)
    seen = together[np.ix_(ranks, ranks)]
    if size > 2 and (seen[others] == 2).all():
        return Tree(operands=leaves, kind="wide")
    if len(groups) == 1 or (seen[~same] != size).any() or (seen[same & others] >= size).any():
        return Tree(operands=leaves, kind="unknown")
    return plus(*(rebuild(together, group) for group in groups.values()))


def oriented(tree: Tree, is_left: Callable[[int, int], bool]) -> Tree | None:
    """Return the tree with its operands in the order that ``is_left(a, b)`` says of two ranks.

    None where there is no such order: where one operand has ranks on both sides of the other.

    Examples
    --------
    >>> print(oriented(plus(plus(0, 2), 1), lambda a, b: a < b))
    None
    >>> print(oriented(plus(plus(0, 1), 2), lambda a, b: (a, b) != (0, 1) and a < b))
    ((1+0)+2)
    """
    if not tree.operands:
        return tree
    if len(tree.operands) != 2:
        return None
    one, other = (oriented(operand, is_left) for operand in tree.operands)
    if one is None or other is None:
        return None
    votes = {is_left(a, b) for a in one.ranks for b in other.ranks}
    if len(votes) > 1:
        return None
    return plus(one, other) if votes.pop() else plus(other, one)


# ------------------------------------------------------------------ from a simulated run


class Sums:
    """Sums by number: 0 to p - 1 are what the ranks bring, and each other number is a sum of two.

    An algorithm run on arrays of these numbers with `op` computes, for every element, the number
    of its tree. Runs of equal elements cost as much as one.

    Examples
    --------
    >>> sums = Sums(3)
    >>> total = sums.add(sums.add(sums.brings(2, 4), sums.brings(0, 4)), sums.brings(1, 4))
    >>> total, str(sums.tree(total[0]))
    (array([4, 4, 4, 4], dtype=uint32), '((2+0)+1)')
    """

    def __init__(self, p: int) -> None:
        self._trees = [Tree(rank) for rank in range(p)]
        self._numbers: dict[tuple[int, int], int] = {}
        self.op = Op("SUM", self.add)

    def brings(self, rank: int, n: int) -> Array:
        """Return the n elements that `rank` brings."""
        return np.full(n, rank, np.uint32)

    def add(self, lower: Array, higher: Array) -> Array:
        """Return the numbers of the sums of two arrays."""
        starts = np.array([start for start, _ in runs(np.stack([lower, higher]))], int)
        totals = map(self._number, lower[starts].tolist(), higher[starts].tolist())
        return np.repeat(np.fromiter(totals, np.uint32), np.diff(starts, append=lower.size))

    def tree(self, number: int) -> Tree:
        """Return the tree of this number."""
        return self._trees[number]

    def _number(self, lower: int, higher: int) -> int:
        if (lower, higher) not in self._numbers:
            self._numbers[lower, higher] = len(self._trees)
            self._trees.append(plus(self._trees[lower], self._trees[higher]))
        return self._numbers[lower, higher]


def runs(columns: Array) -> Iterator[tuple[int, int]]:
    """Yield start and end of every run of equal columns of a matrix.

    Examples
    --------
    >>> list(runs(np.array([[1, 1, 1, 2], [5, 6, 6, 6]])))
    [(0, 1), (1, 3), (3, 4)]
    """
    n = columns.shape[1]
    changes = np.flatnonzero((columns[:, 1:] != columns[:, :-1]).any(axis=0)) + 1
    yield from pairwise([0, *changes.tolist(), n] if n else [])
