"""The trees along which a run reduced and broadcast, found in its messages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from collectives.recording import Message, Recording


@dataclass
class Tree:
    """The edges along which one part of the vector went, with the bytes that did.

    Attributes
    ----------
    parent : dict of int to int
        From child to parent.
    up, down : dict of int to float
        Bytes from the child to its parent, and to the child from it.
    columns : list of int
        The blocks of the vector of which this tree carries all, or a part.
    """

    parent: dict[int, int]
    up: dict[int, float] = field(default_factory=dict)
    down: dict[int, float] = field(default_factory=dict)
    columns: list[int] = field(default_factory=list)

    @property
    def inner(self) -> set[int]:
        return set(self.parent.values())

    @property
    def roots(self) -> set[int]:
        return self.inner - set(self.parent)

    def depth(self, rank: int) -> int:
        """Return how many edges are above a rank."""
        depth = 0
        while rank in self.parent:
            rank, depth = self.parent[rank], depth + 1
        return depth

    @property
    def height(self) -> int:
        return max((self.depth(rank) for rank in self.parent), default=0)


def find_trees(recording: Recording) -> list[Tree]:
    """Return the trees of a broadcast, a reduction or an all-reduce, from what its messages held.

    A message with contributions of all ranks (in a broadcast, any) goes down, others up. Parts of
    the vector that went along the same edges belong to the same tree. ValueError where a part has
    sent to two parents, goes down otherwise than up, or in a circle: then this is no tree.
    """
    if recording.collective not in ("bcast", "reduce", "allreduce"):
        raise ValueError(f"{recording} has no trees; bcast, reduce and allreduce may have")
    cuts: dict[int, set[float]] = defaultdict(set)
    for message in recording.messages():
        for hold in message.send.holds:
            cuts[hold.column] |= {round(hold.at, 9), round(hold.at + hold.share, 9)}
    edges: dict[tuple[int, float], dict[int, int]] = defaultdict(dict)
    for message in recording.messages():
        child, parent = _edge(recording, message)
        for atom, _ in _atoms(message, cuts):
            if edges[atom].setdefault(child, parent) != parent:
                raise ValueError(
                    f"{recording} on {recording.ranks} ranks is no tree: r{child} has the parents "
                    f"r{edges[atom][child]} and r{parent} for block c{atom[0]}"
                )
    for atom, parents in edges.items():
        _check_roots(recording, f"c{atom[0]}", parents)
    trees: dict[tuple[tuple[int, int], ...], Tree] = {}
    of_atom = {}
    for atom in sorted(edges):
        tree = trees.setdefault(tuple(sorted(edges[atom].items())), Tree(edges[atom]))
        of_atom[atom] = tree
        if atom[0] not in tree.columns:
            tree.columns.append(atom[0])
    for message in recording.messages():
        child, parent = _edge(recording, message)
        total = sum(share for _, share in _atoms(message, cuts)) or 1.0
        for atom, share in _atoms(message, cuts):
            tree = of_atom[atom]
            way = tree.down if message.send.peer == child else tree.up
            way[child] = way.get(child, 0.0) + message.send.nbytes * share / total
    return list(trees.values())


def _check_roots(recording: Recording, block: str, parents: dict[int, int]) -> None:
    """Refuse edges that do not all lead up to a rank without a parent."""
    for rank in parents:
        seen = [rank]
        while seen[-1] in parents:
            seen.append(parents[seen[-1]])
            if seen[-1] in seen[:-1]:
                circle = " -> ".join(f"r{r}" for r in seen[seen.index(seen[-1]) :])
                raise ValueError(
                    f"{recording} on {recording.ranks} ranks is no tree: {circle} is a circle for "
                    f"block {block}"
                )


def _edge(recording: Recording, message: Message) -> tuple[int, int]:
    """Return child and parent."""
    source, dest = message.send.rank, message.send.peer
    complete = all(len({*hold.pips}) == recording.ranks for hold in message.send.holds)
    down = recording.collective == "bcast" or (recording.collective == "allreduce" and complete)
    return (dest, source) if down else (source, dest)


def _atoms(
    message: Message, cuts: dict[int, set[float]]
) -> Iterator[tuple[tuple[int, float], float]]:
    """Yield the smallest parts of blocks in a message, (column, start), with their shares."""
    for hold in message.send.holds:
        inside = sorted(
            cut for cut in cuts[hold.column] if hold.at - 1e-8 < cut < hold.at + hold.share + 1e-8
        )
        for start, stop in pairwise(inside):
            yield (hold.column, start), stop - start


def loads(recording: Recording) -> tuple[list[int], list[int]]:
    """Return the bytes that each rank sent, and those it received, of messages that arrived."""
    sent, received = ([0] * recording.ranks for _ in range(2))
    for message in recording.messages():
        if math.isfinite(message.end):
            sent[message.send.rank] += message.send.nbytes
            received[message.send.peer] += message.send.nbytes
    return sent, received
