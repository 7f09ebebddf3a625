"""F9: a message too many, too few, to the wrong rank, or taken for another one."""

from typing import Any

import numpy as np

from collectives import arguments
from collectives.oracle.mutants.planting import STUDENT, Family, at_last, real_body
from collectives.registry import find

FAULTS = Family("F9")
edit = FAULTS.edit

# ---------------------------------------------------------------- the wrong rank

edit(
    STUDENT, "receive from the right while sending to the right",
    ("left, right = (rank - 1) % p, (rank + 1) % p", "left = right = (rank + 1) % p"),
    by="finishes_without_buffering",
)  # fmt: skip
edit(
    "reduce/linear",
    "receive from the rank after the one meant",
    ("comm.Recv(incoming, source=source)", "comm.Recv(incoming, source=(source + 1) % comm.size)"),
)
edit(
    "scan/linear",
    "tags that differ",
    ("comm.Send(recvbuf, dest=rank + 1)", "comm.Send(recvbuf, dest=rank + 1, tag=1)"),
    ("comm.Recv(before, source=rank - 1)", "comm.Recv(before, source=rank - 1, tag=2)"),
)
edit(
    "exscan/linear",
    "the last rank sends, too: to the first",
    ("    if rank < p - 1:", "    if p > 1:"),
    ("comm.Send(partial, dest=rank + 1)", "comm.Send(partial, dest=(rank + 1) % p)"),
    by="leaves_no_message_behind",
)
edit(
    "allgather/recursive_doubling",
    "receive from the neighbour in every round",
    ("recvbuf=missing, source=peer", "recvbuf=missing, source=rank ^ 1"),
)

# ---------------------------------------------------------------- too few

edit(
    "barrier/linear",
    "forget to release the last rank",
    ("for dest in range(1, comm.size):", "for dest in range(1, comm.size - 1):"),
    ranks=at_last,
)
edit(
    "gather/linear",
    "the root does not receive from the last",
    ("for distance in range(1, p):", "for distance in range(1, p - 1):"),
    by="leaves_no_message_behind",
)
edit(
    "neighbor_allgather/linear",
    "send nothing to the last neighbour",
    ("for dest in destinations:", "for dest in destinations[:-1]:"),
)
edit(
    "neighbor_alltoall/dimension_ordered", "leave out one direction along the last axis",
    ("for step in sorted({offset[axis] for offset in offsets} - {0}):",
     "for step in sorted({offset[axis] for offset in offsets} - {0})[axis:]:"),
)  # fmt: skip
edit(
    "bcast/linear",
    "send nothing to the rank before the root",
    ("for distance in range(1, p):", "for distance in range(1, p - 1):"),
    ranks=lambda case: {(case.root - 1) % case.p},
)

# ---------------------------------------------------------------- too many

edit(
    STUDENT,
    "one step of reduce-scatter too many",
    ("range(p - 1):  # reduce-scatter", "range(p if p > 1 else 0):  # reduce-scatter"),
    by="messages_match_cost",
    hides_from="right_values every_rank_counted_once same_on_all_ranks works_in_place",
)
edit(
    STUDENT, "meet in a barrier first",
    ("    if sendbuf is not recvbuf:",
     "    comm.Sendrecv(recvbuf[:0], dest=right, recvbuf=recvbuf[:0].copy(), source=left)\n"
     "    if sendbuf is not recvbuf:"),
    by="messages_match_cost", hides_from="right_values works_in_place survives_skew",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "send the result on, to nobody",
    ("recvbuf[: partial.size] = partial",
     "recvbuf[: partial.size] = partial\n    comm.Isend(recvbuf, dest=right)"),
    by="leaves_no_message_behind",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "every message in two halves",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "for half in (slice(0, 1), slice(1, None)):\n"
     "            outgoing, incoming_half = partial[half], received[half]\n"
     "            comm.Sendrecv(outgoing, dest=right, recvbuf=incoming_half, source=left)"),
    by="ran_what_was_asked", hides_from="right_values every_rank_counted_once survives_skew",
)  # fmt: skip
edit(
    "bcast/binomial", "send everything twice",
    ("        comm.Send(buf, dest=child)",
     "        comm.Send(buf, dest=child)\n        comm.Send(buf, dest=child)"),
    by="leaves_no_message_behind",
)  # fmt: skip
edit(
    "allgather/ring", "every exchange twice",
    ("        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)",
     "        for _ in range(2):\n"
     "            comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)"),
    by="messages_match_cost", hides_from="right_values survives_skew",
)  # fmt: skip
edit(
    "allreduce/reduce_bcast", "broadcast twice",
    ("    bcast_binomial(comm, recvbuf, root=0)",
     "    bcast_binomial(comm, recvbuf, root=0)\n    bcast_binomial(comm, recvbuf, root=0)"),
    by="messages_match_cost",
)  # fmt: skip
edit(
    "barrier/dissemination",
    "one round more",
    ("for distance in bruck_skips(p, radix)[:-1]:", "for distance in bruck_skips(p, radix):"),
    by="messages_match_cost",
)
edit(
    "alltoall/linear", "exchange with oneself by messages",
    ("exchange(comm, outgoing, incoming, range(1, comm.size))",
     "exchange(comm, outgoing, incoming, range(comm.size))"),
    by="messages_match_cost",
)  # fmt: skip


@FAULTS.function(
    "allreduce/ring", "run recursive doubling where the ring is asked for", decorated=False,
    by="ran_what_was_asked",
)  # fmt: skip
def allreduce_of_another_kind(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    find("allreduce", "recursive_doubling").function(comm, sendbuf, recvbuf, op)


# ---------------------------------------------------------------- taken for another


@FAULTS.function(
    "reduce/linear", "receive from any rank: a fast one's message of the next call, too",
    by="survives_skew", hides_from="right_values input_unchanged",
)  # fmt: skip
def reduce_from_anyone(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int) -> None:
    if comm.rank != root:
        comm.Send(sendbuf, dest=root)
        return
    incoming = np.empty_like(sendbuf)
    recvbuf[:] = sendbuf
    for _ in range(comm.size - 1):
        comm.Recv(incoming)
        op(recvbuf, incoming, out=recvbuf)


edit(
    "gather/linear", "take blocks as they come",
    ("comm.Recv(blocks[root + distance], source=(root + distance) % p)",
     "comm.Recv(blocks[root + distance])"),
)  # fmt: skip


@FAULTS.function(
    "allgather/ring", "run on the caller's communicator", decorated=False,
    by="survives_foreign_traffic", hides_from="right_values survives_skew any_communicator",
)  # fmt: skip
def allgather_among_letters(comm: Any, sendbuf: Any, recvbuf: Any, *, counts: Any = None) -> None:
    prepared = arguments.allgather(comm, sendbuf, recvbuf, counts=counts)
    real_body("allgather/ring")(comm, **prepared)


@FAULTS.function(
    "bcast/binomial", "run on the caller's communicator", decorated=False,
    by="survives_foreign_traffic", hides_from="right_values",
)  # fmt: skip
def bcast_among_letters(comm: Any, buf: Any, root: int = 0) -> None:
    real_body("bcast/binomial")(comm, **arguments.bcast(comm, buf, root))


@FAULTS.function(
    "allreduce/recursive_doubling", "run on the caller's communicator", decorated=False,
    by="survives_foreign_traffic", hides_from="right_values",
)  # fmt: skip
def allreduce_among_letters(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    prepared = arguments.allreduce(comm, sendbuf, recvbuf, op)
    real_body("allreduce/recursive_doubling")(comm, **prepared)
