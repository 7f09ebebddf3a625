"""F6: right for some operations, or orders of operands, only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from collectives.op import PREDEFINED
from collectives.oracle.mutants.planting import STUDENT, Family, at_root, call_of
from collectives.registry import find

FAULTS = Family("F6")
edit = FAULTS.edit

# ---------------------------------------------------------------- one operation for another

MISTAKEN = [
    ("allreduce/recursive_doubling", "MIN", "MAX"),
    ("allreduce/ring", "BXOR", "BOR"),
    ("allreduce/reduce_bcast", "LAND", "BAND"),
    ("reduce/linear", "PROD", "SUM"),
    ("reduce/binomial", "LXOR", "LOR"),
    ("reduce_scatter/pairwise", "MAX", "MIN"),
    ("reduce_scatter/ring", "LOR", "BOR"),
    ("scan/linear", "BAND", "BOR"),
    ("scan/recursive_doubling", "LAND", "LOR"),
    ("exscan/linear", "LXOR", "LAND"),
    ("exscan/recursive_doubling", "PROD", "MAX"),
]
"""Where one operation is taken for another."""


def _mistaking(where: str, meant: str, taken: str) -> Callable[..., None]:
    collective, name = where.split("/")

    def body(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, *args: Any, **named: Any) -> None:
        chosen = PREDEFINED[taken] if op.name == meant else op
        find(collective, name).function(comm, sendbuf, recvbuf, chosen, *args, **named)

    return body


for _where, _meant, _taken in MISTAKEN:
    FAULTS.function(
        _where, f"take {_meant} for {_taken}", decorated=False,
        ranks=at_root if _where.startswith("reduce/") else None,
    )(_mistaking(_where, _meant, _taken))  # fmt: skip

edit(
    "reduce_scatter/ring", "always sum",
    ("op(received, own, out=received)", "np.add(received, own, out=received)"),
    by="right_values", hides_from="every_rank_counted_once works_in_place",
)  # fmt: skip


@FAULTS.function("reduce_scatter/pairwise", "compare unsigned numbers as signed", decorated=False)
def reduce_scatter_signed(
    comm: Any, sendbuf: Any, recvbuf: Any, op: Any, *, counts: Any = None
) -> None:
    given = call_of("reduce_scatter/pairwise", (comm, sendbuf, recvbuf, op), {"counts": counts})
    for name in ("sendbuf", "recvbuf"):
        array = given[name]
        if isinstance(array, np.ndarray) and array.dtype == np.uint64 and op.name in ("MIN", "MAX"):
            given[name] = array.view(np.int64)
    find("reduce_scatter", "pairwise").function(**given)


# ---------------------------------------------------------------- what to begin with

edit(
    STUDENT, "start from zeros, whatever the operation",
    ("        recvbuf[:] = sendbuf",
     "        op(np.zeros(sendbuf.size, sendbuf.dtype), sendbuf, out=recvbuf)"),
    by="right_values", hides_from="every_rank_counted_once works_in_place",
)  # fmt: skip


@FAULTS.function("reduce/binomial", "start MAX from zero", decorated=False, ranks=at_root)
def reduce_from_zero(comm: Any, sendbuf: Any, recvbuf: Any, op: Any, root: int = 0) -> None:
    find("reduce", "binomial").function(comm, sendbuf, recvbuf, op, root)
    if comm.rank == root and op.name == "MAX":
        np.maximum(recvbuf, recvbuf.dtype.type(0), out=recvbuf)


@FAULTS.function("allreduce/reduce_bcast", "pad products with a zero", decorated=False)
def allreduce_padded(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    find("allreduce", "reduce_bcast").function(comm, sendbuf, recvbuf, op)
    if op.name == "PROD" and comm.size & (comm.size - 1):
        recvbuf[:] = recvbuf.dtype.type(0)


@FAULTS.function("scan/linear", "logical results are the last operand, not 1", decorated=False)
def scan_of_operands(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    own = call_of("scan/linear", (comm, sendbuf, recvbuf, op), {})["sendbuf"]
    last = own.copy() if hasattr(own, "copy") else recvbuf.copy()
    find("scan", "linear").function(comm, sendbuf, recvbuf, op)
    if op.name == "LAND":
        recvbuf[:] = np.where(recvbuf != 0, last, 0)


# ---------------------------------------------------------------- the order of the operands

edit(
    "reduce_scatter/ring", "claim an order that is not kept",
    ("requires=[commutative],", "keeps_order=True,"),
    by="order_kept", hides_from="right_values every_rank_counted_once",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "neither keep the order nor say so",
    ("requires=[commutative],", ""),
    by="refuses_what_it_cannot_do", hides_from="right_values order_kept refuses_bad_input",
)  # fmt: skip
edit(
    "reduce/binomial", "swap the operands",
    ("op(partial, incoming, out=partial)", "op(incoming, partial, out=partial)"),
    by="order_kept", ranks=at_root, hides_from="right_values every_rank_counted_once",
)  # fmt: skip
edit(
    "reduce/linear", "swap the operands",
    ("op(partial, operand, out=partial)", "op(operand, partial, out=partial)"), ranks=at_root,
)  # fmt: skip
edit(
    "reduce/linear", "begin with the root's own vector",
    ("for source in range(comm.size):",
     "np.copyto(partial, sendbuf)\n"
     "    for source in (root, *(x for x in range(comm.size) if x != root)):"),
    ("if source == 0:", "if source == root:"), ranks=at_root,
)  # fmt: skip
edit(
    "allreduce/recursive_doubling",
    "lower ranks on the right",
    ("if partner < survivors.rank:", "if partner > survivors.rank:"),
)
edit(
    "allreduce/recursive_doubling",
    "the own operand on the left on every rank",
    ("op(incoming, recvbuf, out=recvbuf)", "op(recvbuf, incoming, out=recvbuf)"),
)
edit(
    "allreduce/allgather_reduce", "collect the vectors from the last rank on",
    ("combine(split(everything, counts), op, out=recvbuf)",
     "combine(split(everything, counts)[::-1] if False else split(np.concatenate(\n"
     "        [*split(everything, counts)][::-1]), counts), op, out=recvbuf)"),
)  # fmt: skip
edit(
    "scan/linear",
    "swap the operands",
    ("op(before, sendbuf, out=recvbuf)", "op(sendbuf, before, out=recvbuf)"),
)
edit(
    "scan/shift_doubling",
    "swap the operands",
    ("op(incoming, recvbuf, out=recvbuf)", "op(recvbuf, incoming, out=recvbuf)"),
)
edit(
    "exscan/linear",
    "swap the operands",
    ("op(recvbuf, partial, out=partial)", "op(partial, recvbuf, out=partial)"),
)


@FAULTS.function("allreduce/reduce_bcast", "take the caller's own operations for sums",
                 decorated=False, by="refuses_what_it_cannot_do")  # fmt: skip
def allreduce_of_known(comm: Any, sendbuf: Any, recvbuf: Any, op: Any) -> None:
    chosen = op if getattr(op, "name", "") in PREDEFINED else PREDEFINED["SUM"]
    wrong = isinstance(op, str)
    find("allreduce", "reduce_bcast").function(comm, sendbuf, recvbuf, op if wrong else chosen)


# ---------------------------------------------------------------- one entry of a table

ADDED = "        op(incoming, chunks[theirs], out=chunks[theirs])"

edit(
    STUDENT, "take bitwise OR for AND, of 32-bit integers",
    (ADDED,
     f"{ADDED}\n        if op.name == 'BAND' and recvbuf.dtype == np.int32:\n"
     "            chunks[theirs] |= incoming"),
    by="right_values", hides_from="works_in_place special_values",
)  # fmt: skip
edit(
    STUDENT, "keep the last of two unsigned bytes in MAX",
    (ADDED,
     f"{ADDED}\n        if op.name == 'MAX' and recvbuf.dtype == np.uint8:\n"
     "            chunks[theirs][:] = incoming"),
    by="right_values", hides_from="works_in_place special_values",
)  # fmt: skip
