"""F1: a rank is left out of a result, or counted twice."""

from collectives.oracle.mutants.planting import STUDENT, Family, at_last, at_root, rank

FAULTS = Family("F1")
edit = FAULTS.edit

# ---------------------------------------------------------------- the ring that students write

SWAP = "comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)"
ADD = "op(incoming, chunks[theirs], out=chunks[theirs])"
PASS_ON = "comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs], source=left)"

edit(
    STUDENT, "send a block that is off by one",
    ("mine, theirs = (rank - step) % p, (rank - step - 1) % p",
     "mine, theirs = (rank - step + 1) % p, (rank - step) % p"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "stop the reduce-scatter one step early",
    ("range(p - 1):  # reduce-scatter", "range(p - 2):  # reduce-scatter"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "start the allgather with a block that is not complete",
    ("mine, theirs = (rank - step + 1) % p, (rank - step) % p",
     "mine, theirs = (rank - step) % p, (rank - step - 1) % p"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "add in the allgather",
    (PASS_ON,
     "incoming = np.empty_like(chunks[theirs])\n"
     "        comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)\n"
     "        op(incoming, chunks[theirs], out=chunks[theirs])"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "assign in the reduce-scatter",
    (ADD, "chunks[theirs][:] = incoming"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "receive straight into the accumulator",
    (SWAP, "comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs] , source=left)"),
    ("incoming = np.empty_like(chunks[theirs])", "incoming = chunks[theirs]"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    STUDENT, "bind a name anew instead of writing into the view",
    (ADD, "chunks[theirs] = op.ufunc(incoming, chunks[theirs])"),
    by="every_rank_counted_once",
)  # fmt: skip

# ---------------------------------------------------------------- left out

edit(
    "allreduce/recursive_doubling",
    "leave out the neighbour in the first round",
    ("op(incoming, recvbuf, out=recvbuf)", "distance == 1 or op(incoming, recvbuf, out=recvbuf)"),
)
edit(
    "allreduce/recursive_doubling",
    "leave out the last round",
    ("while distance < survivors.size:", "while 2 * distance < survivors.size:"),
)
edit(
    "reduce/linear",
    "leave out rank 1",
    ("op(partial, operand, out=partial)", "source == 1 or op(partial, operand, out=partial)"),
    ranks=at_root,
)
edit(
    "reduce/binomial", "leave out the child with the largest subtree",
    ("op(partial, incoming, out=partial)",
     "len(children) > 1 and child == children[0] or op(partial, incoming, out=partial)"),
    ranks=at_root,
)  # fmt: skip
edit(
    "reduce_scatter/pairwise",
    "leave out the nearest rank",
    ("op(incoming, partial, out=partial)", "distance == 1 or op(incoming, partial, out=partial)"),
)
edit(
    "reduce_scatter/ring", "rank 1 passes on its own only",
    ("op(received, own, out=received)",
     "np.copyto(received, own) if rank == 1 else op(received, own, out=received)"),
)  # fmt: skip
edit(
    "scan/linear",
    "leave out the rank's own vector",
    ("op(before, sendbuf, out=recvbuf)", "np.copyto(recvbuf, before)"),
)
edit(
    "scan/linear",
    "pass on the own vector only",
    ("comm.Send(recvbuf, dest=rank + 1)", "comm.Send(sendbuf, dest=rank + 1)"),
)
edit(
    "scan/recursive_doubling",
    "do not add the upper half to the total",
    ("op(total, incoming, out=total)", "pass"),
)
edit(
    "scan/shift_doubling",
    "pass on the own vector in every round",
    ("shift(comm, recvbuf, incoming, distance)", "shift(comm, sendbuf, incoming, distance)"),
)
edit(
    "exscan/recursive_doubling",
    "overwrite the prefix with that of the lower half",
    ("if rank % distance == 0:", "if True:"),
)
edit(
    "exscan/one_two_three",
    "do not add the own vector before the second round",
    ("if 0 < rank < p - 2:", "if rank < 0:"),
)
edit(
    "allgather/ring",
    "forward the block of the step after",
    ("for step in range(p - 1):", "for step in range(1, p):"),
    by="right_values",
)
edit(
    "allgather/ring", "forget the own block",
    ("    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf",
     "    own = blocks[rank]\n    own = sendbuf  # a name, not the elements"),
    by="right_values", hides_from="works_in_place messages_match_cost",
)  # fmt: skip
edit(
    "allgather/direct",
    "rank 1 forgets its own block",
    ("if sendbuf is not recvbuf:", "if sendbuf is not recvbuf and rank != 1:"),
)
edit(
    "gather/linear",
    "the root forgets its own block",
    ("if sendbuf is not recvbuf:", "if recvbuf is None:"),
    ranks=at_root,
)
edit(
    "scatter/linear",
    "the root forgets its own block",
    ("if recvbuf is not sendbuf:", "if sendbuf is None:"),
    ranks=at_root,
)
edit(
    "alltoall/linear", "rank 2 forgets the block for itself",
    ("incoming[comm.rank][:] = outgoing[comm.rank]",
     "if comm.rank != 2:\n        incoming[comm.rank][:] = outgoing[comm.rank]"),
    ranks=rank(2),
)  # fmt: skip
edit(
    "bcast/binomial", "inner ranks pass on zeros",
    ("comm.Send(buf, dest=child)",
     "comm.Send(buf if rank == root else np.zeros_like(buf), dest=child)"),
)  # fmt: skip
edit(
    "neighbor_allgather/linear", "rank 0 sends nothing but zeros",
    ("comm.Isend(sendbuf, dest=dest)",
     "comm.Isend(sendbuf if comm.rank else sendbuf * 0, dest=dest)"),
)  # fmt: skip

# ---------------------------------------------------------------- counted twice

edit(
    "reduce_scatter/ring", "count rank 0 twice and rank 1 not at all",
    ("op(received, own, out=received)",
     "op(received, received if rank == step == 1 else own, out=received)"),
    by="every_rank_counted_once", ranks=at_last,
)  # fmt: skip
edit(
    "reduce/linear", "count the last rank twice",
    ("op(partial, operand, out=partial)",
     "[op(partial, operand, out=partial) for _ in range(1 + (source == comm.size - 1))]"),
    ranks=at_root,
)  # fmt: skip
edit(
    "reduce/linear",
    "count the rank before the root twice, the root not at all",
    ("operand = sendbuf if source == root else incoming", "operand = incoming"),
    ranks=at_root,
)
edit(
    "allreduce/recursive_doubling",
    "count the own group twice",
    ("op(recvbuf, incoming, out=recvbuf)", "op(recvbuf, recvbuf, out=recvbuf)"),
)
edit(
    "scan/recursive_doubling", "count the upper half in the prefix, too",
    ("op(total, incoming, out=total)",
     "op(total, incoming, out=total)\n                op(recvbuf, incoming, out=recvbuf)"),
)  # fmt: skip
edit(
    "exscan/linear", "count the rank's own vector, too",
    ("op(recvbuf, partial, out=partial)",
     "op(recvbuf, partial, out=partial)\n        np.copyto(recvbuf, partial)"),
    ranks=lambda case: range(1, case.p - 1),
)  # fmt: skip
