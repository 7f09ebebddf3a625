"""Claims of the registry that are wrong: costs and formulas. They are of no family."""

from collectives.oracle.mutants.planting import STUDENT, Family

FAULTS = Family("")
edit = FAULTS.edit

edit(
    STUDENT, "odd ranks send after they have received",
    ("comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)",
     "first, second = (comm.Send, comm.Recv) if rank % 2 == 0 else (comm.Recv, comm.Send)\n"
     "        buffers = {comm.Send: (chunks[mine], right), comm.Recv: (incoming, left)}\n"
     "        first(*buffers[first]), second(*buffers[second])"),
    by="time_matches_cost",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "promise a time that no algorithm can reach",
    ("betas=longest", "betas=0"), by="not_below_lower_bound",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "document another number of messages",
    ("messages : ``p * (p - 1)``", "messages : ``p - 1``"),
    by="formulas_match_cost", hides_from="messages_match_cost time_matches_cost",
)  # fmt: skip
edit(
    "scan/linear", "promise that ranks do not wait for each other",
    ("alphas=p - 1", "alphas=1"), by="time_matches_cost",
)  # fmt: skip
