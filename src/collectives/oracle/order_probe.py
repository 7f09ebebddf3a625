"""The order probe: inputs whose sum tells in which grouping a black box adds.

One rank brings a number so big that it swallows all the others bring, a second one the same number
with a minus, every other rank a one. The ones that are added outside of the smallest sum with both
big numbers survive; those inside are lost. So the result counts the operands of that sum, for
each pair of ranks, and these counts rebuild the tree. (The idea is that of P. Xie et al., FPRev,
arXiv:2411.00442.) An accumulator wider than the elements loses none: every pair then seems to be
added at once.

A vector has a pair per element. It takes as many calls as there are pairs until every element has
seen them all; no two elements need have the same tree.

The grouping does not show which operand was on the left. A second probe does, with an operation
that keeps the left one of two: it is made by the user, and handed over as commutative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.dtypes import finfo
from collectives.op import Op
from collectives.oracle.trees import Tree, oriented, rebuild, runs

MOST_RANKS = 128
"""More ranks have too many pairs: a call for each."""

DTYPES = ("float64", "float32", "float16", "bfloat16")
"""Types of which the probe is made."""

LEFT: Final = Op("LEFT", lambda lower, higher: np.where(lower != 0, lower, higher))
"""Keeps the left one of two numbers that are not 0. Not commutative, although it says so: a library
must treat it as it treats a sum."""

_UNSEEN = -1


@dataclass(frozen=True)
class Part:
    """Neighbouring elements with one tree.

    Attributes
    ----------
    start, stop : int
        The first element in a rank's result, and the first one after the last.
    tree : Tree
        How they were added.
    ordered : bool
        Whether it says which operand was on the left. If not, the lowest rank is.
    """

    start: int
    stop: int
    tree: Tree
    ordered: bool = True


class Probe:
    """The inputs of p ranks, and what the sums of them say.

    Examples
    --------
    >>> probe = Probe(3, np.dtype("float32"))
    >>> probe.pairs
    [(0, 1), (0, 2), (1, 2)]
    >>> x, y, z = (probe.summands(rank, 3, call=0) / probe.one for rank in range(3))
    >>> ((x + y) + z).tolist(), (x + (y + z)).tolist()  # ones outside of the sum with the pair
    ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    """

    def __init__(self, p: int, dtype: np.dtype[Any]) -> None:
        if p > MOST_RANKS:
            raise ValueError(f"p is {p}, the order probe looks at up to {MOST_RANKS} ranks")
        if dtype.name not in DTYPES:
            raise ValueError(f"dtype is {dtype}, the order probe wants one of {', '.join(DTYPES)}")
        self.p, self.dtype = p, dtype
        self.pairs = list(combinations(range(p), 2)) or [(0, 0)]
        # Below `big`, numbers are big / 2**precision apart. Up to p ones together are at most half
        # of that, so that a rounded sum with `big` is `big` again.
        precision = finfo(dtype).nmant + 1
        self.big = 2.0**15  # the largest power of two that all these types have
        self.one = self.big / 2.0 ** (precision + 1 + p.bit_length())

    def summands(self, rank: int, n: int, call: int) -> Array:
        """Return the n elements that `rank` brings to a sum."""
        return self._one_per_pair(rank, n, call, self.big, -self.big, self.one)

    def sides(self, rank: int, n: int, call: int) -> Array:
        """Return the n elements that `rank` brings where `LEFT` combines."""
        return self._one_per_pair(rank, n, call, 1, 2, 0)

    def _one_per_pair(
        self, rank: int, n: int, call: int, first: float, second: float, other: float
    ) -> Array:
        """Return what is brought by the first, the second and every other rank of each pair."""
        values = [first if rank == a else second if rank == b else other for a, b in self.pairs]
        return np.resize(np.roll(np.array(values, self.dtype), -call), n)

    def together(self, total: Array, ranks: Sequence[int]) -> Array:
        """Return how many operands the smallest sum with each element's pair has, of all `ranks`.

        -1 where `total` is not what a sum of each of them once can be.
        """
        count = len(ranks) - total.astype(np.float64) / self.one
        possible = (count == np.rint(count)) & (count >= 2) & (count <= len(ranks))
        return np.where(possible, count, _UNSEEN).astype(np.int16)

    def parts(
        self, counts: Sequence[Array], sides: Sequence[Array], start: int, ranks: Sequence[int]
    ) -> list[Part]:
        """Return the trees of all elements of one rank's result.

        Parameters
        ----------
        counts, sides : sequence of array
            What `together` says of each call, and the results of the calls with `LEFT`; of these
            there may be none.
        start : int
            The number of the first element in the vector.
        ranks : sequence of int
            Who is in the sums.
        """
        seen = np.concatenate([self._by_pair(rows, start) for rows in (counts, sides) if len(rows)])
        known: dict[bytes, tuple[Tree, bool]] = {}
        found = []
        for first, stop in runs(seen):
            column = seen[:, first]
            if column.tobytes() not in known:
                known[column.tobytes()] = self._tree(column, ranks)
            found.append(Part(first, stop, *known[column.tobytes()]))
        return found

    def varies(self, counts: Sequence[Array], start: int, ranks: Sequence[int]) -> bool:
        """Tell whether each call has a tree of its own, as where operands are added as they come.

        Seen in results of as many elements as there are pairs.
        """
        size = len(self.pairs)
        if len(counts[0]) < size:
            return False
        own = [np.roll(row[:size], start + call) for call, row in enumerate(counts)]
        trees = {self._tree(column, ranks)[0] for column in own}
        return len(trees) > 1 and all(tree.fits for tree in trees)

    def _by_pair(self, rows: Sequence[Array], start: int) -> Array:
        """Return a row for each pair: in call c, element i of the vector has pair i + c."""
        by_call = np.stack(rows).astype(np.int16)
        size, seen = len(self.pairs), np.empty_like(by_call)
        for first in range(min(size, by_call.shape[1])):
            seen[:, first::size] = np.roll(by_call[:, first::size], start + first, axis=0)
        return seen

    def _tree(self, column: Array, ranks: Sequence[int]) -> tuple[Tree, bool]:
        """Return the tree of an element, and whether the order of its operands was seen."""
        seen = dict(zip(self.pairs, column.tolist(), strict=False))
        sides = dict(zip(self.pairs, column[len(self.pairs) :].tolist(), strict=False))
        together = np.zeros((self.p, self.p), int)
        for (a, b), count in seen.items():
            together[a, b] = together[b, a] = count
        tree = rebuild(together, ranks)
        if any(sides.get(pair) not in (1, 2) for pair in combinations(ranks, 2)):
            return tree, False
        ordered = oriented(tree, lambda a, b: (sides[min(a, b), max(a, b)] == 1) == (a < b))
        return ordered or tree, ordered is not None
