"""F8: sizes or positions that 32 bits do not hold."""

from collectives.oracle.mutants.planting import Edit, Family

FAULTS = Family("F8")

FAULTS.edit(
    "reduce_scatter/ring", "sizes in 32 bits",
    ("split(sendbuf, counts)", "split(sendbuf, [size & 0xFFFFFFFF for size in counts or ()])"),
    by="big_counts", hides_from="right_values time_matches_cost",
)  # fmt: skip

SENT: list[tuple[str, str]] = [
    ("allgather/ring", "comm.Sendrecv({blocks[rank - step]}, dest=right"),
    ("allgather/recursive_doubling", "comm.Sendrecv({known}, dest=peer"),
    ("allreduce/recursive_doubling", "survivors.Sendrecv({recvbuf}, dest=partner"),
    ("alltoall/pairwise", "comm.Sendrecv({outgoing[to]}, dest=ranks[to]"),
    ("bcast/linear", "comm.Send({buf}, dest=(root + distance) % p)"),
    ("exscan/linear", "comm.Send({partial}, dest=rank + 1)"),
    ("gather/linear", "comm.Send({sendbuf}, dest=root)"),
    ("neighbor_allgather/linear", "comm.Isend({sendbuf}, dest=dest)"),
    ("neighbor_alltoall/linear", "comm.Isend({block}, dest=dest)"),
    ("reduce/binomial", "comm.Send({partial}, dest=parent)"),
    ("scan/recursive_doubling", "comm.Sendrecv({total}, dest=peer"),
    ("scatter/linear", "comm.Send({blocks[root + distance]}, dest="),
]
"""Where a message is sent, and in braces what."""


def _narrow(line: str) -> Edit:
    before, sent, after = line.replace("{", "}").split("}")
    return f"{before}{sent}{after}", f"{before}{sent}[: {sent}.size % 2**32]{after}"


for _where, _line in SENT:
    FAULTS.edit(
        _where, "count the elements of a message in 32 bits", _narrow(_line), by="big_counts"
    )
