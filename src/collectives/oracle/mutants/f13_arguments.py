"""F13: takes what must be refused, or refuses it too late or in the wrong way."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from collectives.comm import private
from collectives.op import SUM
from collectives.oracle.mutants.planting import Family, call_of, real_body
from collectives.registry import find

FAULTS = Family("F13")
BY = "refuses_bad_input"


@FAULTS.function("bcast/linear", "do not look at the arguments", decorated=False, by=BY,
                 hides_from="right_values survives_foreign_traffic")  # fmt: skip
def bcast_of_anything(comm: Any, buf: Any, root: int = 0) -> None:
    real_body("bcast/linear")(private(comm), buf, root)


# ---------------------------------------------------------------- arguments that are mended


def _array(name: str, mend: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """Return a way to mend the buffer `name`, where it is one."""

    def mended(given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: mend(given[name])} if isinstance(given[name], np.ndarray | list) else {}

    return mended


def _other_shares(given: Mapping[str, Any]) -> dict[str, Any]:
    sent, received = given["sendbuf"], given["recvbuf"]
    arrays = isinstance(sent, np.ndarray) and isinstance(received, np.ndarray)
    shared = arrays and sent is not received and np.shares_memory(sent, received)
    return {"sendbuf": sent.copy()} if shared else {}


def _as_the_other(given: Mapping[str, Any]) -> dict[str, Any]:
    sent, received = given["sendbuf"], given["recvbuf"]
    arrays = isinstance(sent, np.ndarray) and isinstance(received, np.ndarray)
    return {"sendbuf": sent.astype(received.dtype)} if arrays else {}


def _as_long_as_the_other(given: Mapping[str, Any]) -> dict[str, Any]:
    sent, received = given["sendbuf"], given["recvbuf"]
    arrays = isinstance(sent, np.ndarray) and isinstance(received, np.ndarray)
    return {"recvbuf": received[: sent.size]} if arrays else {}


MENDED: Final[list[tuple[str, str, Callable[[Any], dict[str, Any]]]]] = [
    ("bcast/binomial", "take the root modulo p", lambda x: {"root": x["root"] % x["comm"].size}),
    ("reduce/linear", "take any number as root", lambda x: {"root": int(x["root"])}),
    ("gather/linear", "take the root modulo p", lambda x: {"root": x["root"] % x["comm"].size}),
    ("scatter/binomial", "take the root modulo p", lambda x: {"root": x["root"] % x["comm"].size}),
    ("reduce_scatter/ring", "leave out counts beyond p",
     lambda x: {"counts": x["counts"] and list(x["counts"])[: x["comm"].size]}),
    ("allgather/ring", "convert numbers of another type", _as_the_other),
    ("allreduce/ring", "take the name of an operation for a sum",
     lambda x: {"op": SUM if isinstance(x["op"], str) else x["op"]}),
    ("allreduce/reduce_bcast", "leave out the end of a longer result buffer",
     _as_long_as_the_other),
    ("scan/linear", "sum where bits of floats are to be combined",
     lambda x: {"op": SUM if getattr(x["op"], "name", "") == "BAND"
                and getattr(x["sendbuf"], "dtype", np.dtype("u8")).kind == "f" else x["op"]}),
    ("scan/recursive_doubling", "gather what is not contiguous",
     _array("sendbuf", np.ascontiguousarray)),
    ("exscan/linear", "write to a copy of what is read-only",
     _array("recvbuf", lambda x: x if isinstance(x, list) or x.flags.writeable else x.copy())),
    ("reduce_scatter/pairwise", "copy where the buffers overlap", _other_shares),
    ("alltoall/pairwise", "make an array of a list", _array("sendbuf", np.asarray)),
    ("neighbor_allgather/linear", "make an array of a list", _array("sendbuf", np.asarray)),
    ("neighbor_alltoall/linear", "make an array of a list", _array("sendbuf", np.asarray)),
]  # fmt: skip
"""Where what must be refused is mended."""


def _mending(where: str, mend: Callable[[Any], dict[str, Any]]) -> Callable[..., None]:
    collective, name = where.split("/")

    def body(comm: Any, *args: Any, **options: Any) -> None:
        given = call_of(where, (comm, *args), options)
        find(collective, name).function(**given | mend(given))

    return body


for _where, _wrong, _mend in MENDED:
    FAULTS.function(_where, _wrong, decorated=False, by=BY)(_mending(_where, _mend))


# ---------------------------------------------------------------- too late, in the wrong way


@FAULTS.function("allreduce/recursive_doubling", "refuse with TypeError", decorated=False, by=BY)
def allreduce_other_error(comm: Any, *args: Any, **options: Any) -> None:
    try:
        find("allreduce", "recursive_doubling").function(comm, *args, **options)
    except ValueError as error:
        raise TypeError(str(error)) from error


@FAULTS.function("allgather/bruck", "refuse after the first messages", decorated=False, by=BY)
def allgather_late(comm: Any, *args: Any, **options: Any) -> None:
    token, p = np.empty(0), comm.size
    if comm.size > 1:
        right, left = (comm.rank + 1) % p, (comm.rank - 1) % p
        private(comm).Sendrecv(token, dest=right, recvbuf=token.copy(), source=left)
    find("allgather", "bruck").function(comm, *args, **options)


@FAULTS.function("gather/binomial", "clear the result, then look at the arguments",
                 decorated=False, by=BY)  # fmt: skip
def gather_clears_first(comm: Any, *args: Any, **options: Any) -> None:
    given = call_of("gather/binomial", (comm, *args), options)
    sent, result = given["sendbuf"], given["recvbuf"]
    arrays = isinstance(sent, np.ndarray) and isinstance(result, np.ndarray)
    if arrays and given["root"] == comm.rank and not np.shares_memory(sent, result):
        result.flags.writeable = True  # as C would
        result[:] = 0
    find("gather", "binomial").function(**given)
