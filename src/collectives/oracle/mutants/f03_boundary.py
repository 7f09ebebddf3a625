"""F3: remainders, short vectors, one and two ranks, numbers of ranks that are not 2^k."""

from collectives.oracle.mutants.planting import STUDENT, Family, at_root, rank

FAULTS = Family("F3")
edit = FAULTS.edit

# ---------------------------------------------------------------- remainders

CUT = "chunks = list(split(recvbuf, even(recvbuf.size, p)))"

edit(
    STUDENT, "drop the tail of n // p",
    (CUT, "chunks = list(split(recvbuf[: recvbuf.size // p * p], [recvbuf.size // p] * p))"),
    by="right_values", hides_from="zero_length_ok input_unchanged",
)  # fmt: skip
edit(
    STUDENT, "chunks of one length, however few that makes",
    (CUT,
     "length = -(-recvbuf.size // p)\n"
     "    chunks = [recvbuf[i : i + length] for i in range(0, recvbuf.size, length)]"),
    by="zero_length_ok",
)  # fmt: skip
edit(
    "allreduce/segmented_ring", "drop the last segment, which is shorter",
    ("range(0, counts.largest, segment)",
     "range(0, counts.largest // segment * segment or 1, segment)"),
)  # fmt: skip
edit(
    "allreduce/segmented_ring",
    "go through as many segments as the own block has",
    ("range(0, counts.largest, segment)", "range(0, counts[rank], segment)"),
)
edit(
    "allreduce/double_binary_tree", "drop what is left of two equal halves",
    ("halves = split(recvbuf, even(recvbuf.size, 2))",
     "half = recvbuf.size // 2\n    halves = [recvbuf[:half], recvbuf[half : 2 * half]]"),
)  # fmt: skip
edit(
    "allgather/ring", "ignore counts",
    ("split(recvbuf, counts)", "split(recvbuf, [recvbuf.size // p] * p)"),
    by="right_values", hides_from="one_rank_ok survives_skew",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "scratch of the size of the first block",
    ("shape=blocks.largest", "shape=blocks[0].size"),
    by="right_values", hides_from="one_rank_ok survives_skew",
)  # fmt: skip
edit(
    "alltoall/pairwise_replace",
    "scratch of the size of the first block",
    ("shape=blocks.largest", "shape=blocks[0].size"),
)
edit(
    "gather/binomial", "take all blocks to be of the own one's size",
    ("sizes = run_of(counts, rank, subtree_size(rank, root, p))",
     "sizes = [split(sendbuf, counts)[rank].size if sendbuf is recvbuf else sendbuf.size]\n"
     "    sizes *= subtree_size(rank, root, p)"),
)  # fmt: skip
edit(
    "gather/linear", "drop the last element of blocks that are longer than the own one",
    ("comm.Recv(blocks[root + distance], source=(root + distance) % p)",
     "theirs, own = blocks[root + distance], blocks[rank].size\n"
     "        whole = np.empty_like(theirs)\n"
     "        comm.Recv(whole, source=(root + distance) % p)\n"
     "        theirs[:own] = whole[:own]"),
    ranks=at_root,
)  # fmt: skip
edit(
    "bcast/scatter_allgather", "scatter equal blocks and forget the rest",
    ("rank, counts = comm.rank, even(buf.size, comm.size)",
     "buf = buf[: buf.size // comm.size * comm.size]\n"
     "    rank, counts = comm.rank, even(buf.size, comm.size)"),
)  # fmt: skip
edit(
    "reduce/rabenseifner", "combine equal blocks and forget the rest",
    ("counts = even(partial.size, group.size)",
     "whole = partial\n"
     "    partial = partial[: partial.size // group.size * group.size]\n"
     "    recvbuf = None if recvbuf is None else recvbuf[: partial.size]\n"
     "    counts = even(partial.size, group.size)"),
    ranks=at_root,
)  # fmt: skip

# ---------------------------------------------------------------- short vectors, no elements

edit(
    "reduce_scatter/ring", "leave when there is nothing to receive",
    ("    blocks = split(sendbuf, counts)",
     "    if not recvbuf.size:\n        return\n    blocks = split(sendbuf, counts)"),
    by="right_values", hides_from="zero_length_ok any_communicator",
)  # fmt: skip
edit(
    "allgather/direct", "leave when there is nothing to send",
    ("    blocks = split(recvbuf, counts)",
     "    if not sendbuf.size:\n        return\n    blocks = split(recvbuf, counts)"),
)  # fmt: skip
edit(
    "scatter/linear", "send nothing where a block is empty",
    ("comm.Send(blocks[root + distance], dest=(root + distance) % p)",
     "if blocks[root + distance].size:\n"
     "            comm.Send(blocks[root + distance], dest=(root + distance) % p)"),
)  # fmt: skip
edit(
    "allreduce/allgather_reduce", "return the own vector where it is shorter than p",
    ("combine(split(everything, counts), op, out=recvbuf)",
     "if recvbuf.size >= comm.size:\n"
     "        combine(split(everything, counts), op, out=recvbuf)\n"
     "    else:\n"
     "        recvbuf[:] = sendbuf"),
)  # fmt: skip

# ---------------------------------------------------------------- few ranks

edit(
    STUDENT, "nothing to do for p = 1",
    ("    if sendbuf is not recvbuf:",
     "    if p == 1:\n        return\n    if sendbuf is not recvbuf:"),
    by="one_rank_ok", hides_from="works_in_place messages_match_cost", ranks=rank(0),
)  # fmt: skip
edit(
    STUDENT, "a shortcut for p = 2 that forgets itself",
    ("    if sendbuf is not recvbuf:",
     "    if p == 2:\n"
     "        own = sendbuf.copy()\n"
     "        comm.Sendrecv(own, dest=right, recvbuf=recvbuf, source=left)\n"
     "        return\n"
     "    if sendbuf is not recvbuf:"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    "reduce/binomial",
    "nothing to do for p = 1",
    ("    elif recvbuf is not None:", "    elif recvbuf is not None and p > 1:"),
    ranks=rank(0),
)
edit(
    "alltoall/linear", "nothing to do for p = 1",
    ("incoming[comm.rank][:] = outgoing[comm.rank]",
     "if comm.size > 1:\n        incoming[comm.rank][:] = outgoing[comm.rank]"),
    ranks=rank(0),
)  # fmt: skip
edit(
    "allgather/ring", "a shortcut for p = 2 that swaps the blocks",
    ("        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)",
     "        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)\n"
     "        if p == 2 and sendbuf.size:\n"
     "            recvbuf[:] = recvbuf[::-1].copy()"),
)  # fmt: skip
edit(
    "neighbor_alltoall/linear",
    "nothing to exchange with oneself",
    ("if sources[slot] >= 0:", "if sources[slot] != comm.rank:"),
    ("if dest >= 0:", "if dest != comm.rank:"),
)

# ---------------------------------------------------------------- not a power of two

FOLD = "allreduce/fold"

edit(
    "allreduce/rabenseifner", "do not fold the surplus ranks in",
    ("        op(incoming, recvbuf, out=recvbuf)", "        pass"), within=FOLD,
)  # fmt: skip
edit(
    "allreduce/recursive_doubling", "do not give the surplus ranks their result",
    ("        comm.Recv(recvbuf, source=run[-1])\n", ""),
    ("        comm.Send(recvbuf, dest=dest)", "        pass"), within=FOLD,
)  # fmt: skip
edit(
    "allgather/bruck",
    "send a whole power of two of blocks in the last round",
    ("comm.Sendrecv(blocks[: after - skip], dest=left", "comm.Sendrecv(blocks[:skip], dest=left"),
)
edit(
    "scan/shift_doubling",
    "as many rounds as the logarithm rounded down",
    ("while distance < comm.size:", "while 2 * distance <= comm.size:"),
)
edit(
    "bcast/binomial", "leave out the ranks beyond a power of two",
    ("for child in binomial_children(rank, root, p):",
     "power = 1 << p.bit_length() - 1\n"
     "    for child in [x for x in binomial_children(rank, root, p) if (x - root) % p < power]:"),
    ("if parent is not None:",
     "if parent is not None and (rank - root) % p < 1 << p.bit_length() - 1:"),
)  # fmt: skip

# ---------------------------------------------------------------- some numbers and sizes alone

DONE = "        comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs], source=left)"

edit(
    STUDENT, "lose the last element with five ranks",
    (DONE, f"{DONE}\n    if p == 5:\n        recvbuf[-1:] = recvbuf[-1:] * 0"),
    by="right_values", hides_from="zero_length_ok one_rank_ok",
)  # fmt: skip
edit(
    STUDENT, "send a piece of 4096 elements only of each longer block",
    (DONE, f"{DONE}\n        chunks[theirs][4096:] *= 0"),
    by="right_values", hides_from="every_rank_counted_once any_communicator",
)  # fmt: skip
