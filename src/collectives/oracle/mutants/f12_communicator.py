"""F12: takes the numbers of ranks in another communicator than the one given."""

from collectives.oracle.mutants.planting import STUDENT, Family

FAULTS = Family("F12")

HERE = "rank, p = comm.rank, comm.size"
ELSEWHERE = "rank, p = comm.me.index % comm.size, comm.size"

FAULTS.edit(
    STUDENT, "the rank in the world", (HERE, ELSEWHERE),
    by="any_communicator", hides_from="right_values survives_skew",
)  # fmt: skip

for _where in (
    "allgather/bruck", "allgather/direct", "alltoall/bruck", "barrier/recursive_doubling",
    "bcast/binomial", "exscan/linear", "gather/linear", "reduce/binomial",
    "reduce_scatter/pairwise", "scan/linear", "scatter/binomial",
):  # fmt: skip
    FAULTS.edit(_where, "the rank in the world", (HERE, ELSEWHERE), by="any_communicator")

FAULTS.edit(
    "allreduce/hierarchical", "the node of the rank in the world",
    ("node_of(comm.rank, comm.size, per_node)",
     "node_of(comm.me.index % comm.size, comm.size, per_node)"),
)  # fmt: skip
FAULTS.edit(
    "neighbor_alltoall/dimension_ordered",
    "the place of the rank in the world",
    ("    rank = comm.rank\n", "    rank = comm.me.index % comm.size\n"),
)
