"""F10: hangs, or would if sends were not buffered."""

from collectives.oracle.mutants.planting import Family

FAULTS = Family("F10")
edit = FAULTS.edit

# ---------------------------------------------------------------- both send first

edit(
    "reduce_scatter/ring", "send, then receive",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "comm.Send(partial, dest=right); comm.Recv(received, source=left)"),
    by="finishes_without_buffering",
    hides_from="right_values leaves_no_message_behind survives_skew",
)  # fmt: skip

EXCHANGES = [
    ("allgather/ring", "comm", "blocks[rank - step]", "right", "missing", "left"),
    ("allgather/recursive_doubling", "comm", "known", "peer", "missing", "peer"),
    ("allreduce/recursive_doubling", "survivors", "recvbuf", "partner", "incoming", "partner"),
    ("alltoall/pairwise", "comm", "outgoing[to]", "ranks[to]", "incoming[of]", "ranks[of]"),
    ("reduce_scatter/pairwise", "comm", "blocks[dest]", "dest", "incoming", "source"),
    ("scan/recursive_doubling", "comm", "total", "peer", "incoming", "peer"),
    ("exscan/recursive_doubling", "comm", "total", "peer", "incoming", "peer"),
    ("barrier/recursive_doubling", "comm", "token", "peer", "answer", "peer"),
    ("barrier/dissemination", "comm", "token", "right", "answer", "left"),
    (
        "neighbor_allgather/dimension_ordered",
        "comm", "outgoing", "ahead", "incoming", "behind",
    ),
]  # fmt: skip
"""Where all ranks exchange: with what, to whom, into what, from whom."""

for _where, _comm, _sent, _dest, _received, _source in EXCHANGES:
    edit(
        _where, "send, then receive",
        (f"{_comm}.Sendrecv({_sent}, dest={_dest}, recvbuf={_received}, source={_source})",
         f"{_comm}.Send({_sent}, dest={_dest}); {_comm}.Recv({_received}, source={_source})"),
        by="finishes_without_buffering",
    )  # fmt: skip

edit(
    "alltoall/linear", "blocking sends before the receives are posted",
    ("    requests: list[Request] = []\n    for distance in distances:\n"
     "        requests.append(comm.Irecv(incoming[rank - distance], "
     "source=(rank - distance) % p))",
     "    requests: list[Request] = []"),
    ("        requests.append(comm.Isend(outgoing[rank + distance], "
     "dest=(rank + distance) % p))",
     "        comm.Send(outgoing[rank + distance], dest=(rank + distance) % p)\n"
     "    for distance in distances:\n"
     "        requests.append(comm.Irecv(incoming[rank - distance], "
     "source=(rank - distance) % p))"),
    by="finishes_without_buffering",
)  # fmt: skip

# ---------------------------------------------------------------- nobody sends first

edit(
    "reduce_scatter/ring", "receive, then send",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "comm.Recv(received, source=left); comm.Send(partial, dest=right)"),
    by="right_values",
)  # fmt: skip
edit(
    "neighbor_allgather/linear",
    "receive from all neighbours, then send",
    ("requests.append(comm.Irecv(block, source=source))", "comm.Recv(block, source=source)"),
)
edit(
    "neighbor_alltoall/linear", "receive from all neighbours, then send",
    ("requests.append(comm.Irecv(incoming[slot], source=sources[slot]))",
     "comm.Recv(incoming[slot], source=sources[slot])"),
)  # fmt: skip
edit(
    "barrier/double_ring", "rank 0 waits for the token, too, before it sends one",
    ("comm.Sendrecv(token, dest=right, recvbuf=returned, source=left)",
     "comm.Recv(returned, source=left); comm.Send(token, dest=right)"),
)  # fmt: skip
edit(
    "scan/linear", "ask the rank above before anything is sent to it",
    ("    if rank + 1 < p:",
     "    if rank + 1 < p:\n        comm.Recv(recvbuf[:0].copy(), source=rank + 1)\n"
     "    if rank > 0:\n        comm.Send(recvbuf[:0], dest=rank - 1)\n    if rank + 1 < p:"),
)  # fmt: skip
edit(
    "gather/linear", "ranks wait for a token that the root sends at last",
    ("        comm.Send(sendbuf, dest=root)",
     "        comm.Recv(sendbuf[:0].copy(), source=root)\n        comm.Send(sendbuf, dest=root)"),
    ("        comm.Recv(blocks[root + distance], source=(root + distance) % p)",
     "        comm.Recv(blocks[root + distance], source=(root + distance) % p)\n"
     "        comm.Send(sendbuf[:0], dest=(root + distance) % p)"),
)  # fmt: skip

# ---------------------------------------------------------------- one leaves early

edit(
    "barrier/tree", "the last rank leaves at once",
    ("    token = np.empty(0, np.uint8)",
     "    if 0 < comm.rank == comm.size - 1:\n        return\n    token = np.empty(0, np.uint8)"),
)  # fmt: skip
edit(
    "reduce/linear", "the last rank leaves at once",
    ("    if recvbuf is None:\n",
     "    if recvbuf is None and comm.rank == comm.size - 1:\n        return\n"
     "    if recvbuf is None:\n"),
)  # fmt: skip
edit(
    "bcast/binomial", "inner ranks leave when they have their vector",
    ("    # The child with the largest subtree goes first",
     "    if parent is not None:\n        return\n"
     "    # The child with the largest subtree goes first"),
)  # fmt: skip
