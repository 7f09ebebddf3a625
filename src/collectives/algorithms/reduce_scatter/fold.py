"""Fold: surplus ranks hand their vectors to a neighbour and get their block of the result.

Not an algorithm: what those that need a power of two ranks do first and last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from collectives.blocks import Blocks, Counts, run_of, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost, Message, in_rounds
from collectives.op import Op
from collectives.topology import fold_runs


def folded_cost(
    sizes: Sequence[int], among: Callable[[Sequence[int]], Iterable[Sequence[Message]]]
) -> Cost:
    """Return what `folded` costs; `among` gives the rounds of the last ranks of the runs."""
    runs, total = fold_runs(len(sizes)), sum(sizes)
    surplus = [(run[0], run[-1]) for run in runs if len(run) > 1]
    schedule = [[(rank, last, total, total) for rank, last in surplus]]
    for messages in among([sum(sizes[run.start : run.stop]) for run in runs]):
        schedule.append([(runs[a][-1], runs[b][-1], sent, more) for a, b, sent, more in messages])
    schedule.append([(last, rank, sizes[rank], 0) for rank, last in surplus])
    return in_rounds(len(sizes), schedule)


def folded(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    op: Op,
    counts: Sequence[int] | None,
    among: Callable[[Comm, Blocks, Op, Array], Array],
) -> None:
    """Let the last rank of every run of `fold_runs` work for all of its run.

    They call ``among(group, partial, op, room)``, with the operands of their run in `partial`, in
    which one block is all the blocks of a run, and with room for as much again. It returns the
    block of this rank's run, complete.
    """
    rank, blocks, runs = comm.rank, split(sendbuf, counts), fold_runs(comm.size)
    run = runs[bisect_left(runs, rank, key=lambda run: run[-1])]
    own = recvbuf[: blocks[rank].size]
    if rank != run[-1]:
        comm.Send(sendbuf, dest=run[-1])
        comm.Recv(own, source=run[-1])
        return
    partial, room = sendbuf.copy(), np.empty_like(sendbuf)
    for lower in run[:-1]:
        comm.Recv(room, source=lower)
        op(room, partial, out=partial)
    group, counted = comm, blocks.counts
    if len(runs) < comm.size:
        group = Subgroup(comm, [run[-1] for run in runs])
        counted = Counts(blocks[run.start : run.stop].size for run in runs)
    complete = among(group, split(partial, counted), op, room)
    for member, block in zip(run, split(complete, run_of(counts, run[0], len(run))), strict=True):
        if member != rank:
            comm.Send(block, dest=member)
        else:
            own[:] = block
