"""F4: reads or writes what it must not: inputs, neighbours in memory, arguments without meaning."""

from typing import Any

from collectives import arguments
from collectives.comm import private
from collectives.oracle.mutants.planting import (
    STUDENT,
    Family,
    at_last,
    at_root,
    call_of,
    not_root,
    rank,
    real_body,
)
from collectives.registry import find

FAULTS = Family("F4")
edit = FAULTS.edit

# ---------------------------------------------------------------- the input

edit(
    "reduce_scatter/ring", "combine in the input",
    ("op(received, own, out=received)", "op(received, own, out=own)"),
    ("partial, incoming, spare = received, spare, incoming",
     "partial, incoming, spare = own, spare, incoming"),
    by="input_unchanged", hides_from="right_values every_rank_counted_once messages_match_cost",
)  # fmt: skip
edit(
    "reduce/binomial",
    "combine in the input",
    ("partial = sendbuf.copy() if children else sendbuf", "partial = sendbuf"),
    by="input_unchanged",
)
edit(
    "reduce_scatter/pairwise", "combine in the input",
    ("partial = blocks[rank].copy()", "partial = blocks[rank]"), by="input_unchanged",
)  # fmt: skip
edit(
    "allreduce/recursive_doubling",
    "receive into the input",
    ("incoming = np.empty_like(recvbuf)", "incoming = sendbuf"),
)
edit(
    "scan/recursive_doubling",
    "combine in the input",
    ("total, incoming = sendbuf.copy()", "total, incoming = sendbuf"),
)
edit("exscan/linear", "combine in the input", ("partial = sendbuf.copy()", "partial = sendbuf"))
edit(
    "exscan/one_two_three",
    "combine in the input",
    ("outgoing, incoming = sendbuf.copy()", "outgoing, incoming = sendbuf"),
)
edit(
    "scatter/binomial", "the root turns its input",
    ("rotate(split(sendbuf, counts), root, out=held)",
     "rotate(split(sendbuf, counts), root, out=held)\n        sendbuf[:] = held"),
    by="input_unchanged", ranks=at_root,
)  # fmt: skip
edit(
    "alltoall/bruck", "turn the blocks where they are",
    ("rotate(split(sendbuf, sendcounts), rank, out=held)",
     "rotate(split(sendbuf, sendcounts), rank, out=held)\n    sendbuf[:] = held"),
    ("held, packed = np.empty_like(sendbuf)", "held, packed = sendbuf.copy()"),
)  # fmt: skip
edit(
    "neighbor_alltoall/linear",
    "clear the input at last",
    ("        request.Wait()", "        request.Wait()\n    sendbuf[:] = sendbuf[::-1].copy()"),
)
edit(
    "gather/linear", "ranks other than the root clear their input",
    ("        comm.Send(sendbuf, dest=root)\n",
     "        comm.Send(sendbuf, dest=root)\n        sendbuf[:] = sendbuf[::-1].copy()\n"),
    ranks=not_root,
)  # fmt: skip

# ---------------------------------------------------------------- what lies around the result

PAST = "np.lib.stride_tricks.as_strided({0}, ({0}.size + 1,))[-1] = 7  # as C would"

edit(
    "reduce_scatter/ring", "write one element past the end",
    ("recvbuf[: partial.size] = partial",
     "recvbuf[: partial.size] = partial\n    " + PAST.format("recvbuf")),
    by="writes_only_result", hides_from="input_unchanged",
)  # fmt: skip
edit(
    "scan/linear", "the last rank writes one element past the end",
    ("    if rank + 1 < p:",
     f"    if rank + 1 == p:\n        {PAST.format('recvbuf')}\n    if rank + 1 < p:"),
    ranks=at_last,
)  # fmt: skip
edit(
    "gather/linear", "the root writes one element past the end",
    ("blocks = split(recvbuf, counts)",
     f"blocks = split(recvbuf, counts)\n    {PAST.format('recvbuf')}"),
    ranks=at_root,
)  # fmt: skip
edit(
    "neighbor_allgather/linear", "write one element past the end",
    ("    requests: list[Request] = []",
     f"    requests: list[Request] = []\n    {PAST.format('recvbuf')}"),
)  # fmt: skip
edit(
    "bcast/linear", "write one element past the end",
    ("        comm.Recv(buf, source=root)",
     f"        comm.Recv(buf, source=root)\n        {PAST.format('buf')}"),
    ranks=not_root,
)  # fmt: skip
edit(
    "reduce_scatter/ring", "take the result buffer to be of the size of the result",
    ("recvbuf[: partial.size] = partial", "recvbuf[:] = partial"),
    by="works_in_place", hides_from="right_values writes_only_result",
)  # fmt: skip
edit(
    "exscan/linear", "give rank 0 a result",
    ("    if rank > 0:", "    if rank == 0:\n        recvbuf[:] = sendbuf\n    if rank > 0:"),
    ranks=rank(0),
)  # fmt: skip


@FAULTS.function(
    "reduce/linear", "scratch in the result buffers of ranks that are not the root",
    decorated=False, by="writes_only_result", ranks=not_root,
    hides_from="right_values input_unchanged",
)  # fmt: skip
def reduce_scratch(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int = 0) -> None:
    real_body("reduce/linear")(private(comm), **arguments.reduce(comm, sendbuf, recvbuf, op, root))
    if comm.rank != root:
        recvbuf[:] = sendbuf


@FAULTS.function(
    "gather/binomial", "clear the result buffers of ranks that are not the root",
    decorated=False, by="writes_only_result", ranks=not_root,
)  # fmt: skip
def gather_clears(
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, counts: Any = None
) -> None:
    find("gather", "binomial").function(comm, sendbuf, recvbuf, root, counts=counts)
    if comm.rank != root and recvbuf is not None:
        recvbuf[:] = 0


# ---------------------------------------------------------------- what must not be read

edit(
    STUDENT, "read the result buffer before it is written",
    ("        recvbuf[:] = sendbuf", "        recvbuf[:] = recvbuf * 0 + sendbuf"),
    by="reads_only_input", hides_from="right_values works_in_place writes_only_result",
)  # fmt: skip


@FAULTS.function(
    "gather/linear", "ask for a result buffer where there is no result",
    decorated=False, by="ignored_arguments_ignored",
)  # fmt: skip
def gather_looks(
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, counts: Any = None
) -> None:
    assert recvbuf.dtype == sendbuf.dtype
    find("gather", "linear").function(comm, sendbuf, recvbuf, root, counts=counts)


@FAULTS.function(
    "scatter/linear", "ask all ranks for the blocks of the root", decorated=False,
    by="ignored_arguments_ignored",
)  # fmt: skip
def scatter_looks(
    comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, *, counts: Any = None
) -> None:
    assert sendbuf.size >= 0
    find("scatter", "linear").function(comm, sendbuf, recvbuf, root, counts=counts)


@FAULTS.function(
    "reduce/binomial", "write to the result buffer of every rank first", decorated=False,
    by="ignored_arguments_ignored", ranks=not_root,
)  # fmt: skip
def reduce_writes(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int = 0) -> None:
    given = call_of("reduce/binomial", (comm, sendbuf, recvbuf, op, root), {})
    recvbuf[:0] = 0
    find("reduce", "binomial").function(**given)


# ---------------------------------------------------------------- one buffer for two things

edit(
    "reduce_scatter/ring", "one buffer for both sides of Sendrecv",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "received = partial\n"
     "        comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)"),
    by="right_values",
)  # fmt: skip
edit(
    "allgather/ring", "take the first block as input when in place",
    ("    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf",
     "    blocks[rank][:] = sendbuf[: blocks[rank].size]"),
    by="works_in_place", hides_from="right_values writes_only_result",
)  # fmt: skip
edit(
    "allgather/bruck", "take the first block as input when in place",
    ("split(recvbuf, counts)[rank] if sendbuf is recvbuf else sendbuf",
     "sendbuf[: blocks[0].size]"),
    by="works_in_place",
)  # fmt: skip
edit(
    "alltoall/linear", "in place, send from where blocks arrive",
    ("sendbuf.copy() if sendbuf is recvbuf else sendbuf", "sendbuf"), by="works_in_place",
)  # fmt: skip
edit(
    "gather/linear", "in place, write the first block over the root's own",
    ("    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf",
     "    blocks[rank][:] = sendbuf[: blocks[rank].size]"),
    by="works_in_place", ranks=at_root,
)  # fmt: skip
edit(
    "exscan/shift_doubling",
    "in place, send what has arrived already",
    ("outgoing = sendbuf.copy() if sendbuf is recvbuf else sendbuf", "outgoing = sendbuf"),
    by="works_in_place",
)

# ---------------------------------------------------------------- what is hard to see

edit(
    STUDENT, "write to the input and put it back",
    ("        recvbuf[:] = sendbuf",
     "        recvbuf[:] = sendbuf\n"
     "        sendbuf[:] = sendbuf * 0\n"
     "        sendbuf[:] = recvbuf"),
    by="input_unchanged", hides_from="right_values writes_only_result survives_skew",
)  # fmt: skip
edit(
    STUDENT, "write the last element of a block behind the end",
    ("    chunks = list(",
     "    block = recvbuf.size // p\n"
     "    if block > 32:\n"
     "        np.lib.stride_tricks.as_strided(recvbuf, (recvbuf.size + block,))[-1] = 7\n"
     "    chunks = list("),
    by="writes_only_result", hides_from="input_unchanged zero_length_ok",
)  # fmt: skip
