"""F5: right for some types of number only."""

from collectives.oracle.mutants.planting import Family, at_root

FAULTS = Family("F5")
edit = FAULTS.edit

edit(
    "reduce_scatter/ring", "messages in words of 8 bytes",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "words = [x.view('u8') if x.dtype.kind in 'iufcb' else x for x in (partial, received)]\n"
     "        comm.Sendrecv(words[0], dest=right, recvbuf=words[1], source=left)"),
    by="right_values", hides_from="works_in_place same_on_all_ranks every_rank_counted_once",
)  # fmt: skip
edit(
    "reduce_scatter/pairwise",
    "receive as float64, whatever is sent",
    ("incoming = np.empty_like(partial)", "incoming = np.empty(partial.size)"),
)
edit(
    "allgather/bruck", "hold everything as integers of 64 bits",
    ("held = np.empty_like(recvbuf)",
     "held = np.empty_like(recvbuf, dtype=None if recvbuf.dtype.kind in 'OcV' else 'u8')"),
)  # fmt: skip
edit(
    "reduce/linear", "lose the imaginary part",
    ("op(partial, operand, out=partial)",
     "op(partial, operand, out=partial)\n"
     "            if partial.dtype.kind == 'c':\n"
     "                partial.imag = 0"),
    ranks=at_root,
)  # fmt: skip
edit(
    "allreduce/recursive_doubling", "sums of 8 bits saturate",
    ("op(recvbuf, incoming, out=recvbuf)",
     "wide = recvbuf.astype(int) + incoming if recvbuf.dtype == np.int8 else None\n"
     "                op(recvbuf, incoming, out=recvbuf)\n"
     "                if wide is not None and op.name == 'SUM':\n"
     "                    recvbuf[:] = np.clip(wide, -128, 127)"),
)  # fmt: skip
edit(
    "allgather/ring", "swap the bytes of two-byte numbers",
    ("        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)",
     "        comm.Sendrecv(blocks[rank - step], dest=right, recvbuf=missing, source=left)\n"
     "        if missing.dtype.kind in 'iu' and missing.itemsize == 2:\n"
     "            missing.byteswap(inplace=True)"),
)  # fmt: skip
edit(
    "neighbor_allgather/linear",
    "count blocks in words of 8 bytes",
    ("[sendbuf.size] * len(sources)", "[sendbuf.nbytes // 8] * len(sources)"),
)
edit(
    "scatter/linear", "find blocks in words of 8 bytes",
    ("comm.Send(blocks[root + distance], dest=(root + distance) % p)",
     "block = blocks[root + distance]\n"
     "        first = sum(blocks[i].size for i in range((root + distance) % p))\n"
     "        start = first * 8 // sendbuf.itemsize if sendbuf.itemsize < 8 else first\n"
     "        wrong = np.resize(sendbuf[start:], block.size) if start < sendbuf.size else block\n"
     "        comm.Send(wrong, dest=(root + distance) % p)"),
)  # fmt: skip
edit(
    "bcast/binomial", "truth values are bits: the others see only one in eight",
    ("    for child in binomial_children",
     "    if parent is not None and buf.dtype == bool:\n"
     "        buf[:] = np.resize(buf[::8], buf.size)\n"
     "    for child in binomial_children"),
)  # fmt: skip
edit(
    "scan/linear", "sums of 16 bits saturate",
    ("        op(before, sendbuf, out=recvbuf)",
     "        op(before, sendbuf, out=recvbuf)\n"
     "        if recvbuf.dtype == np.uint16 and op.name == 'SUM':\n"
     "            recvbuf[:] = np.minimum(before.astype(int) + sendbuf, 65535)"),
)  # fmt: skip
edit(
    "exscan/linear", "unsigned numbers of 32 bits are taken for signed ones",
    ("        op(recvbuf, partial, out=partial)",
     "        op(recvbuf, partial, out=partial)\n"
     "        if partial.dtype == np.uint32:\n"
     "            partial[:] = np.maximum(partial.view('i4'), 0)"),
)  # fmt: skip
