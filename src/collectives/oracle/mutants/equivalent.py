"""Edits that look like faults and are none: no promise is broken."""

from collectives.oracle.mutants.planting import Family

FAULTS = Family("")
edit = FAULTS.edit

edit(
    "reduce_scatter/ring",
    "swap the operands",
    ("op(received, own, out=received)", "op(own, received, out=received)"),
    equivalent="the ring asks for a commutative operation, and a sum of two is the same either way",
)
edit(
    "allgather/ring", "copy the own block even where it lies in the result",
    ("    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf",
     "    blocks[rank][:] = blocks[rank].copy() if sendbuf is recvbuf else sendbuf"),
    equivalent="what is written is what was there",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "add float16 in single precision and round once more",
    ("op(received, own, out=received)",
     "wide = received.dtype == np.float16 and op.name == 'SUM'\n"
     "        if wide:\n"
     "            received[:] = received.astype('f4') + own.astype('f4')\n"
     "        else:\n"
     "            op(received, own, out=received)"),
    equivalent="a sum of two float16 is exact in float32: rounded afterwards it is the same",
)  # fmt: skip
edit(
    "alltoall/linear",
    "wait for the requests from the last to the first",
    ("for request in requests:", "for request in reversed(requests):"),
    equivalent="all are waited for, in whatever order",
)
edit(
    "neighbor_allgather/linear",
    "blocking sends after the receives are posted",
    ("requests.append(comm.Isend(sendbuf, dest=dest))", "comm.Send(sendbuf, dest=dest)"),
    equivalent="every receive is posted before any send, so none waits for another",
)
edit(
    "scan/recursive_doubling",
    "one round more, in which nobody has a peer",
    ("while distance < p:", "while distance < 2 * p:"),
    equivalent="no peer is below p any more",
)
edit(
    "gather/linear", "copy the root's own block last",
    ("    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf\n", ""),
    ("        comm.Recv(blocks[root + distance], source=(root + distance) % p)",
     "        comm.Recv(blocks[root + distance], source=(root + distance) % p)\n"
     "    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf"),
    equivalent="its place is nobody else's",
)  # fmt: skip
edit(
    "bcast/scatter_allgather",
    "let the root receive what it has",
    ("result = buf if rank != root else np.empty_like(buf)", "result = buf"),
    equivalent="it is sent the very elements that it has, to their own places",
)
