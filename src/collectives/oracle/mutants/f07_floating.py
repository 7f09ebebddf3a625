"""F7: bits that differ, special values that are lost, roundings that need not be."""

from typing import Any

import numpy as np

from collectives.algorithms.allgather.ring import allgather_ring
from collectives.blocks import even, split
from collectives.oracle.mutants.planting import STUDENT, Family, at_root, rank

FAULTS = Family("F7")
edit = FAULTS.edit

# ---------------------------------------------------------------- the order of the sum


@FAULTS.function(
    "allreduce/ring", "every rank begins with its own vector",
    by="same_on_all_ranks", hides_from="right_values same_when_repeated",
)  # fmt: skip
def allreduce_each_rank_first(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    _combined(comm, sendbuf, recvbuf, op, [comm.rank + step for step in range(comm.size)])


@FAULTS.function(
    "allreduce/ring", "rank 1 combines from the last rank on",
    by="same_on_all_ranks", ranks=rank(1), hides_from="right_values same_when_repeated",
)  # fmt: skip
def allreduce_backwards_on_one(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    order = range(comm.size)
    _combined(comm, sendbuf, recvbuf, op, order[::-1] if comm.rank == 1 else order)


def _combined(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, order: Any) -> None:
    """Collect all vectors and combine them in an order of this rank's own."""
    p, n = comm.size, recvbuf.size
    everything = np.empty_like(recvbuf, shape=p * n)
    allgather_ring(comm, sendbuf.copy(), everything, counts=even(p * n, p))
    vectors = split(everything, even(p * n, p))
    recvbuf[:] = vectors[order[0]]
    for each in order[1:]:
        op(recvbuf, vectors[each], out=recvbuf)


@FAULTS.function(
    "allreduce/ring", "combine in the order in which messages come",
    by="same_when_repeated", hides_from="right_values every_rank_counted_once",
)  # fmt: skip
def allreduce_in_order_of_arrival(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    recvbuf[:] = sendbuf
    incoming = np.empty_like(sendbuf)
    if comm.rank == 0:
        for _ in range(comm.size - 1):
            comm.Recv(incoming, tag=1)
            op(recvbuf, incoming, out=recvbuf)
        for dest in range(1, comm.size):
            comm.Send(recvbuf, dest=dest, tag=2)
    else:
        comm.Send(recvbuf, dest=0, tag=1)
        comm.Recv(recvbuf, source=0, tag=2)


# ---------------------------------------------------------------- roundings

COMBINE = "op(received, own, out=received)"

edit(
    "reduce_scatter/ring", "sums in double precision",
    (COMBINE, "received[:] = op.ufunc(received.astype(float), own.astype(float))"),
    by="right_values",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "round partial sums to half of the digits",
    (COMBINE,
     f"{COMBINE}\n"
     "        if received.dtype == np.float64:\n"
     "            received[:] = received.astype(np.float32)"),
    by="float_error_bounded", hides_from="every_rank_counted_once",
)  # fmt: skip
edit(
    "reduce/linear", "round partial sums of float32 to half precision",
    ("op(partial, operand, out=partial)",
     "op(partial, operand, out=partial)\n"
     "            if partial.dtype == np.float32 and op.name == 'SUM':\n"
     "                partial[:] = np.round(partial * 1024) / 1024"),
    by="float_error_bounded", ranks=at_root,
)  # fmt: skip
edit(
    "scan/linear", "double precision travels as single",
    ("        comm.Send(recvbuf, dest=rank + 1)",
     "        short = recvbuf.astype('f4').astype('f8') if recvbuf.dtype == float else recvbuf\n"
     "        comm.Send(short, dest=rank + 1)"),
)  # fmt: skip
edit(
    "alltoall/pairwise", "double precision travels as single",
    ("comm.Sendrecv(outgoing[to], dest=ranks[to]",
     "block = outgoing[to]\n"
     "        short = block.astype('f4').astype('f8') if block.dtype == float else block\n"
     "        comm.Sendrecv(short, dest=ranks[to]"),
)  # fmt: skip

edit(
    "alltoall/linear", "pass long doubles on as doubles",
    ("    return split(whole, sendcounts)",
     "    if whole.dtype == np.longdouble:\n"
     "        whole = whole.astype(float).astype(whole.dtype)\n"
     "    return split(whole, sendcounts)"),
)  # fmt: skip
edit(
    "gather/linear", "half precision travels as bfloat16 does",
    ("        comm.Send(sendbuf, dest=root)",
     "        bits = sendbuf.view('u2') & 0xFFF0 if sendbuf.dtype == np.float16 else None\n"
     "        comm.Send(sendbuf if bits is None else bits.view('f2'), dest=root)"),
    ranks=at_root,
)  # fmt: skip

# ---------------------------------------------------------------- special values

edit(
    "reduce_scatter/ring", "lose the sign of zero",
    (COMBINE, f"{COMBINE}\n        if received.dtype.kind == 'f':\n            received += 0.0"),
    by="special_values", hides_from="right_values same_on_all_ranks float_error_bounded",
)  # fmt: skip
edit(
    "exscan/linear", "start from a zero that is not below zero",
    ("partial = sendbuf.copy()",
     "partial = sendbuf + 0.0 if sendbuf.dtype == float else sendbuf.copy()"),
    by="special_values",
)  # fmt: skip
edit(
    "allreduce/recursive_doubling", "flush denormals to zero",
    ("op(recvbuf, incoming, out=recvbuf)",
     "op(recvbuf, incoming, out=recvbuf)\n"
     "                if recvbuf.dtype in (np.float32, np.float64):\n"
     "                    recvbuf[abs(recvbuf) < np.finfo(recvbuf.dtype).tiny] = 0"),
    by="special_values",
)  # fmt: skip
edit(
    "scatter/linear", "flush denormals to zero",
    ("    recvbuf[:] = blocks[rank]",
     "    recvbuf[:] = blocks[rank]\n"
     "    if recvbuf is not sendbuf and recvbuf.dtype.kind == 'f' and recvbuf.itemsize > 2:\n"
     "        recvbuf[abs(recvbuf) < np.finfo(recvbuf.dtype).tiny] = 0"),
    by="special_values", ranks=at_root,
)  # fmt: skip
edit(
    "allgather/ring", "NaN becomes zero on the way",
    ("        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)",
     "        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)\n"
     "        if missing.dtype.kind == 'f':\n"
     "            missing[missing != missing] = 0"),
    by="special_values",
)  # fmt: skip
edit(
    "gather/linear", "infinities become the largest number",
    ("        comm.Send(sendbuf, dest=root)",
     "        known = sendbuf.dtype.type in (np.float32, np.float64)\n"
     "        finite = np.nan_to_num(sendbuf, nan=np.nan) if known else sendbuf\n"
     "        comm.Send(finite, dest=root)"),
    by="special_values", ranks=at_root,
)  # fmt: skip
edit(
    "bcast/linear", "zeros lose their sign on the way",
    ("        comm.Send(buf, dest=(root + distance) % p)",
     "        comm.Send(buf + 0.0 if buf.dtype == float else buf, dest=(root + distance) % p)"),
    by="special_values",
)  # fmt: skip
edit(
    "reduce/binomial", "MIN is what a comparison with < gives: NaN wins from one side only",
    ("op(partial, incoming, out=partial)",
     "if op.name == 'MIN' and partial.dtype.kind == 'f':\n"
     "            partial[:] = np.where(partial < incoming, partial, incoming)\n"
     "        else:\n"
     "            op(partial, incoming, out=partial)"),
    by="special_values", ranks=at_root,
)  # fmt: skip
edit(
    "neighbor_allgather/linear", "NaN becomes zero on the way",
    ("        request.Wait()",
     "        request.Wait()\n"
     "    if recvbuf.dtype.kind == 'f':\n"
     "        recvbuf[recvbuf != recvbuf] = 0"),
    by="special_values",
)  # fmt: skip

edit(
    STUDENT, "add vectors of more than 100 elements of float32 in half precision",
    ("        op(incoming, chunks[theirs], out=chunks[theirs])",
     "        op(incoming, chunks[theirs], out=chunks[theirs])\n"
     "        if recvbuf.dtype == np.float32 and recvbuf.size > 100:\n"
     "            chunks[theirs][:] = chunks[theirs].astype(np.float16)"),
    by="float_error_bounded", hides_from="right_values every_rank_counted_once",
)  # fmt: skip
