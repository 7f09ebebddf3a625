"""F2: the right data in the wrong place."""

from collectives.oracle.mutants.planting import Family, at_root

FAULTS = Family("F2")
edit = FAULTS.edit

# ---------------------------------------------------------------- left and right, to and from

edit(
    "reduce_scatter/ring", "send the other way round",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "comm.Sendrecv(partial, dest=left, recvbuf=received, source=right)"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    "allgather/ring",
    "number the blocks as if they came from the right",
    ("missing = blocks[rank - step - 1]", "missing = blocks[rank + step + 1]"),
)
edit(
    "alltoall/linear",
    "send every rank the block of its mirror image",
    ("comm.Isend(outgoing[rank + distance]", "comm.Isend(outgoing[rank - distance]"),
)
edit(
    "alltoall/pairwise",
    "put what comes where what goes was",
    ("recvbuf=incoming[of]", "recvbuf=incoming[to]"),
)
edit(
    "reduce_scatter/pairwise",
    "send the block of the rank that this one receives from",
    ("comm.Sendrecv(blocks[dest], dest=dest", "comm.Sendrecv(blocks[source], dest=dest"),
)
edit(
    "neighbor_alltoall/linear",
    "swap the halos of the left and the right neighbour",
    ("comm.Irecv(incoming[slot]", "comm.Irecv(incoming[place]"),
)
edit(
    "neighbor_allgather/linear",
    "number the neighbours from the last",
    ("zip(blocks, sources, strict=True)", "zip(list(blocks)[::-1], sources, strict=True)"),
)
edit(
    "neighbor_allgather/dimension_ordered",
    "swap the blocks of the left and the right neighbour",
    ("blocks[slot ^ is_cartesian(comm)]", "blocks[slot]"),
)

# ---------------------------------------------------------------- rotations

edit(
    "allgather/bruck",
    "leave out the last rotation",
    ("rotate(blocks, p - rank, out=recvbuf)", "recvbuf[:] = held"),
)
edit(
    "alltoall/bruck",
    "leave out the first rotation",
    ("rotate(split(sendbuf, sendcounts), rank, out=held)", "held[:] = sendbuf"),
)
edit(
    "alltoall/bruck", "turn the result the wrong way",
    ("arrived[rank - distance][:] = blocks[distance]",
     "arrived[rank + distance][:] = blocks[distance]"),
)  # fmt: skip
edit(
    "gather/binomial",
    "leave out the rotation for roots other than 0",
    ("rotate(blocks, p - root, out=recvbuf)", "recvbuf[:] = held"),
    ranks=at_root,
)
edit(
    "gather/binomial",
    "turn the result the wrong way for roots other than 0",
    ("rotate(blocks, p - root, out=recvbuf)", "rotate(blocks, root, out=recvbuf)"),
    ranks=at_root,
)
edit(
    "scatter/binomial",
    "leave out the rotation for roots other than 0",
    ("rotate(split(sendbuf, counts), root, out=held)", "held[:] = sendbuf"),
)

# ---------------------------------------------------------------- roots other than 0

edit(
    "bcast/binomial",
    "count ranks from 0, whatever the root",
    ("binomial_parent(rank, root, p)", "binomial_parent(rank, 0, p)"),
    ("binomial_children(rank, root, p)", "binomial_children(rank, 0, p)"),
    by="right_values",
    hides_from="finishes_without_buffering messages_match_cost time_matches_cost",
)
edit(
    "bcast/knomial",
    "count ranks from 0, whatever the root",
    ("knomial_parent(rank, root, p, radix)", "knomial_parent(rank, 0, p, radix)"),
    ("knomial_children(rank, root, p, radix):", "knomial_children(rank, 0, p, radix):"),
)
edit(
    "gather/linear",
    "number the blocks from the root",
    ("comm.Recv(blocks[root + distance]", "comm.Recv(blocks[distance]"),
    ranks=at_root,
)
edit(
    "scatter/linear",
    "number the blocks from the root",
    ("comm.Send(blocks[root + distance]", "comm.Send(blocks[distance]"),
)

# ---------------------------------------------------------------- other blocks and elements

edit(
    "scatter/linear_nonblocking",
    "number the blocks from the last",
    ("comm.Isend(blocks[other], dest=other)", "comm.Isend(blocks[-other], dest=other)"),
)
edit(
    "reduce_scatter/recursive_halving",
    "return the block of the neighbour",
    ("return partial[place]", "return partial[place ^ 1]"),
)
edit(
    "scan/linear",
    "pass on the vector from its end",
    ("comm.Send(recvbuf, dest=rank + 1)", "comm.Send(recvbuf[::-1].copy(), dest=rank + 1)"),
)
edit(
    "exscan/linear",
    "pass on the elements turned by one",
    ("comm.Send(partial, dest=rank + 1)", "comm.Send(np.roll(partial, 1), dest=rank + 1)"),
)
edit(
    "reduce/linear", "rank 1 sends its elements turned by one",
    ("comm.Send(sendbuf, dest=root)",
     "comm.Send(np.roll(sendbuf, 1) if comm.rank == 1 else sendbuf, dest=root)"),
    ranks=at_root,
)  # fmt: skip
edit(
    "bcast/linear", "the rank after the root gets its elements turned by one",
    ("comm.Send(buf, dest=(root + distance) % p)",
     "comm.Send(np.roll(buf, distance == 1), dest=(root + distance) % p)"),
    ranks=lambda case: {(case.root + 1) % case.p},
)  # fmt: skip
edit(
    "allreduce/rabenseifner", "swap the two ends of the vector at last",
    ("    fold_out(comm, recvbuf)",
     "    recvbuf[:1], recvbuf[-1:] = recvbuf[-1:].copy(), recvbuf[:1].copy()\n"
     "    fold_out(comm, recvbuf)"),
)  # fmt: skip
edit(
    "allreduce/ring", "swap the first two blocks at last",
    ("    allgather_ring(comm, recvbuf, recvbuf, counts=counts)",
     "    allgather_ring(comm, recvbuf, recvbuf, counts=counts)\n"
     "    size = min(counts[0], counts[1 % comm.size])\n"
     "    first = recvbuf[:size].copy()\n"
     "    recvbuf[:size] = recvbuf[counts[0] :][:size] if comm.size > 1 else first\n"
     "    recvbuf[counts[0] :][:size] = first if comm.size > 1 else recvbuf[counts[0] :][:size]"),
)  # fmt: skip
