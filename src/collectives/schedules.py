"""Who sends which segment to whom, round by round: pipelines on more than one tree.

Pure index arithmetic, as in `collectives.topology`. A schedule is made for a broadcast; a reduce
runs it backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from collectives.topology import double_tree, halving_skips, rounds

Round: TypeAlias = tuple[tuple[int, int] | None, tuple[int, int] | None]
"""What a rank does in a round: to whom it sends which segment, and from whom it receives which."""


def double_tree_rounds(rank: int, root: int, p: int, number: int) -> list[Round]:
    """Return the rounds in which `rank` passes `number` segments down a double tree.

    The first tree carries the even segments, the second the odd ones. In a tree, a rank receives
    every other round; the rounds are such that in the others it receives in the other tree.

    Examples
    --------
    >>> double_tree_rounds(2, 0, 4, number=2)
    [(None, (0, 0)), ((3, 0), None), ((1, 0), None), (None, (3, 1))]
    """
    v = (rank - root) % p
    starts, trees = _double_tree_starts(p), double_tree(v, 0, p)
    sends, receives = {}, {}
    for segment in range(number):
        parent, children = trees[segment % 2]
        turn = segment - segment % 2
        for child in children:
            sends[starts[child][segment % 2] + turn] = (child + root) % p, segment
        if parent is not None:
            receives[starts[v][segment % 2] + turn] = (parent + root) % p, segment
    last = max(starts[u][s % 2] + s - s % 2 for u in range(p) for s in range(number)[-2:])
    return [(sends.get(i), receives.get(i)) for i in range(last + 1)]


@cache
def _double_tree_starts(p: int) -> list[list[int]]:
    """Return in which round each rank, counted from the root, gets its first segment in each tree.

    Even or odd is settled for all later segments, too: it must differ between siblings, who get
    what their parent sends, and between the two trees at one rank. That is always possible.
    """
    trees = [double_tree(v, 0, p) for v in range(p)]
    odd: dict[tuple[int, int], int] = {}
    pending = [(v, 0, 0) for v in range(1, p)]
    pending += [(top, tree, tree) for tree in (0, 1) for top in trees[0][tree][1]]
    while pending:
        v, tree, parity = pending.pop()
        if (v, tree) not in odd:
            odd[v, tree] = parity
            pending.append((v, 1 - tree, 1 - parity))
            parent = trees[v][tree][0] or 0
            siblings = (u for u in trees[parent][tree][1] if u != v)
            pending += [(sibling, tree, 1 - parity) for sibling in siblings]
    starts = [[-1, 0] for _ in range(p)]
    for tree in (0, 1):
        reached = [0]
        for v in reached:
            for child in trees[v][tree][1]:
                wait = odd[child, tree] == starts[v][tree] % 2
                starts[child][tree] = starts[v][tree] + 1 + wait
                reached.append(child)
    return starts


def circulant_rounds(rank: int, root: int, p: int, number: int) -> list[Round]:
    """Return the rounds in which `rank` takes part in the circulant broadcast of segments.

    In a round of skip s everyone sends to the rank s to the right; the skips of `halving_skips`
    take turns. There are number - 1 + ceil(log2 p) rounds, the least possible.

    Examples
    --------
    >>> circulant_rounds(1, 0, 4, number=2)
    [(None, None), (None, (0, 1)), ((3, 1), (3, 0))]
    """
    v, skips, turns = (rank - root) % p, halving_skips(p), rounds(p)
    first = -(number - 1) % max(turns, 1)  # so that the last round has the largest skip
    end = first + number - 1 + turns if p > 1 else first

    def arriving(u: int) -> Iterator[int | None]:
        known = set(range(number) if u == 0 else ())
        for i in range(first, end):
            segment = min(_circulant_blocks(u, p)[i % turns] + i - i % turns - first, number - 1)
            yield segment if segment >= 0 and segment not in known else None
            known.add(segment)

    onward = [list(arriving((v + skip) % p)) for skip in skips[:-1]]
    schedule: list[Round] = []
    for i, incoming in enumerate(arriving(v)):
        turn = (first + i) % turns
        outgoing = onward[turn][i]
        to, source = (rank + skips[turn]) % p, (rank - skips[turn]) % p
        send = None if outgoing is None else (to, outgoing)
        schedule.append((send, None if incoming is None else (source, incoming)))
    return schedule


@cache
def _circulant_blocks(v: int, p: int) -> list[int]:
    """Return which segment `v`, counted from the root, receives in the round of each skip.

    Segments are numbered within a turn of all skips; those below 0 are of the turn before. In
    every turn a rank gets one segment first among those around it, its own; from others it gets
    theirs, one turn later. In a round, those that could have passed something on to `v` are a run
    of ranks: it takes the latest of what is their own that it does not get otherwise.
    """
    skips, own = halving_skips(p), _circulant_own(p)
    taken = [own[v]]
    for near, far in pairwise(skips):
        within = [own[(v - distance) % p] for distance in range(near, far)]
        offered = [block for block in within if block not in taken] or [own[(v - far) % p]]
        taken.append(max(offered))
    fresh = rounds(p)  # what only the root has is new
    return [own[v] if block == fresh else block - fresh for block in taken[1:]]


@cache
def _circulant_own(p: int) -> list[int]:
    """Return the smallest skip, by its number, on the way from the root to each rank."""
    skips, own = halving_skips(p)[:-1], [rounds(p)]
    for v in range(1, p):
        largest = max(k for k, skip in enumerate(skips) if skip <= v)
        rest = v - skips[largest]
        own.append(own[rest] if rest else largest)
    return own
