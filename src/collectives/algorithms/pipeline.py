"""Pipelines: a vector travels down or up a tree in segments, many under way at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from collectives.blocks import Blocks
from collectives.comm import Array, Comm, Request
from collectives.op import Op

Place: TypeAlias = tuple[int | None, Sequence[int]]
"""The parent and the children of a rank; a rank outside of a tree has neither."""


def send_down(comm: Comm, segments: Blocks | Sequence[Array], *trees: Place) -> None:
    """Receive every segment from the parent in its tree and send it to the children there.

    Where there are several trees, segments take turns: segment s travels on tree s modulo their
    number. All receives are posted first: no parent has to wait for a child.
    """
    routes = [(segment, *trees[s % len(trees)]) for s, segment in enumerate(segments)]
    arriving = [
        None if parent is None else comm.Irecv(segment, source=parent)
        for segment, parent, _ in routes
    ]
    # Invariant: a rank that must forward a segment waits for no other one before.
    for request, (segment, _, children) in zip(arriving, routes, strict=True):
        if request is not None and children:
            request.Wait()
        for child in children:
            comm.Send(segment, dest=child)
    for request, (_, _, children) in zip(arriving, routes, strict=True):
        if request is not None and not children:
            request.Wait()


def combine_up(comm: Comm, segments: Blocks, result: Blocks | None, op: Op, place: Place) -> None:
    """Combine every segment with those of the children and send it to the parent.

    A rank without a parent puts it into `result`. The operand of a child with a lower number
    comes from the left: if subtrees are runs of ranks, and the children whose runs are nearest
    come first, then order is kept.
    """
    parent, children = place
    awaited = [(segment.size, child) for segment in segments for child in children]
    arriving = _arriving(comm, segments, awaited)
    for s, partial in enumerate(segments):
        for child in children:
            incoming = next(arriving)
            lower, higher = (incoming, partial) if child < comm.rank else (partial, incoming)
            partial = op(lower, higher, out=incoming)
        if parent is not None:
            comm.Send(partial, dest=parent)
        elif result is not None:
            result[s][:] = partial


def _arriving(comm: Comm, like: Blocks, awaited: Sequence[tuple[int, int]]) -> Iterator[Array]:
    """Yield the messages `awaited`, of a size and from a rank each, the next one posted already.

    There are three rooms: for the one under way, the one just yielded and the one before.
    """
    rooms = [np.empty_like(like.array, shape=like.largest) for _ in awaited[:3]]

    def post(k: int) -> tuple[Request, Array]:
        size, source = awaited[k]
        room = rooms[k % 3][:size]
        return comm.Irecv(room, source=source), room

    posted = [post(k) for k, _ in enumerate(awaited[:1])]
    for k in range(1, len(awaited) + 1):
        request, room = posted.pop()
        request.Wait()
        if k < len(awaited):
            posted.append(post(k))
        yield room
