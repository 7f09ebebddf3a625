"""Broadcast and reduce by a schedule: in every round, a rank sends and receives once at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectives.blocks import Blocks
from collectives.comm import Comm
from collectives.cost import Cost, Message, in_rounds
from collectives.op import Op
from collectives.schedules import Round


def broadcast_by(comm: Comm, segments: Blocks, schedule: Sequence[Round]) -> None:
    """Send and receive the segments as the rounds of `schedule` say."""
    for sends, receives in schedule:
        request = None
        if receives is not None:
            source, number = receives
            request = comm.Irecv(segments[number], source=source)
        if sends is not None:
            dest, number = sends
            comm.Send(segments[number], dest=dest)
        if request is not None:
            request.Wait()


def reduce_by(comm: Comm, partial: Blocks, op: Op, schedule: Sequence[Round]) -> None:
    """Run `schedule` backwards: receive, and combine into `partial`, what it sends.

    `partial` starts as this rank's vector and ends complete on the root of the schedule. A
    segment goes to whom it would come from when all that it would then be sent to are in it.
    """
    room = np.empty_like(partial.array, shape=partial.largest)
    for sends, receives in reversed(schedule):
        request = None
        if sends is not None:
            source, number = sends
            own = partial[number]
            incoming = room[: own.size]
            request = comm.Irecv(incoming, source=source)
        if receives is not None:
            dest, number = receives
            comm.Send(partial[number], dest=dest)
        if request is not None:
            request.Wait()
            lower, higher = (incoming, own) if source < comm.rank else (own, incoming)
            op(lower, higher, out=own)


def cost(sizes: Sequence[int], schedules: Sequence[Sequence[Round]], combining: bool) -> Cost:
    """Return what `broadcast_by`, or `reduce_by`, costs with the schedules of all ranks."""
    p = len(schedules)

    def messages(together: Sequence[Round]) -> Sequence[Message]:
        hops = [(rank, *receives) for rank, (_, receives) in enumerate(together) if receives]
        if combining:
            return [(rank, peer, sizes[s], sizes[s]) for rank, peer, s in hops]
        return [(peer, rank, sizes[s], 0) for rank, peer, s in hops]

    together = list(zip(*schedules, strict=True))
    return in_rounds(p, map(messages, reversed(together) if combining else together))
