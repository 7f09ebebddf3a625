"""Fold: surplus ranks hand their block to a neighbour first and get everything last.

Not an algorithm: what those that need a power of k ranks do first and last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from collectives.blocks import Blocks, Counts, split
from collectives.comm import Array, Comm, Subgroup
from collectives.cost import Cost, Message, in_rounds
from collectives.topology import fold_runs


def folded_cost(
    sizes: Sequence[int], radix: int, among: Callable[[Sequence[int]], Iterable[Sequence[Message]]]
) -> Cost:
    """Return what `folded` costs; `among` gives the rounds of the last ranks of the runs."""
    p, runs = len(sizes), fold_runs(len(sizes), radix)
    surplus = [[(run[i], run[-1]) for run in runs if i < len(run) - 1] for i in range(radix - 1)]
    schedule = [[(rank, last, sizes[rank], 0) for rank, last in pairs] for pairs in surplus]
    for messages in among([sum(sizes[run.start : run.stop]) for run in runs]):
        schedule.append([(runs[a][-1], runs[b][-1], sent, 0) for a, b, sent, _ in messages])
    schedule += [[(last, rank, sum(sizes), 0) for rank, last in pairs] for pairs in surplus]
    return in_rounds(p, schedule)


def folded(
    comm: Comm,
    sendbuf: Array,
    recvbuf: Array,
    counts: Sequence[int] | None,
    radix: int,
    among: Callable[[Comm, Blocks], None],
) -> None:
    """Let the last rank of every run of `fold_runs` work for all of its run.

    They call ``among(group, blocks)``, where one block is all the blocks of a run.
    """
    rank, blocks, runs = comm.rank, split(recvbuf, counts), fold_runs(comm.size, radix)
    run = next(run for run in runs if rank in run)
    if sendbuf is not recvbuf:
        blocks[rank][:] = sendbuf
    if rank != run[-1]:
        comm.Send(blocks[rank], dest=run[-1])
        comm.Recv(recvbuf, source=run[-1])
        return
    for member in run[:-1]:
        comm.Recv(blocks[member], source=member)
    sizes = Counts(blocks[run.start : run.stop].size for run in runs)
    among(Subgroup(comm, [run[-1] for run in runs]), split(recvbuf, sizes))
    for member in run[:-1]:
        comm.Send(recvbuf, dest=member)
