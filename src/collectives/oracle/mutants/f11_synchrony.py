"""F11: does not wait for others, or for its own requests, or remembers an earlier call."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from collectives.oracle.mutants.planting import Family, at_root, call_of
from collectives.registry import find
from collectives.sim import SimComm

FAULTS = Family("F11")
edit = FAULTS.edit

# ---------------------------------------------------------------- barriers that do not wait

edit(
    "barrier/dissemination", "leave a round early",
    ("bruck_skips(p, radix)[:-1]:", "bruck_skips(p, radix)[:-1][:-1]:"), by="survives_skew",
)  # fmt: skip
edit(
    "barrier/dissemination", "do nothing at all",
    ("for distance in bruck_skips(p, radix)[:-1]:", "for distance in ():"), by="survives_skew",
)  # fmt: skip
edit(
    "barrier/double_ring", "one lap only",
    ("for _lap in range(2):", "for _lap in range(1):"), by="survives_skew",
)  # fmt: skip
edit(
    "barrier/recursive_doubling",
    "leave out the last round",
    ("for step in range(rounds(power)):", "for step in range(rounds(power) - 1):"),
    by="survives_skew",
)
edit(
    "barrier/recursive_doubling", "leave out the ranks beyond a power of two",
    ("        comm.Send(token, dest=rank - power)\n"
     "        comm.Recv(token, source=rank - power)\n", ""),
    ("        comm.Recv(token, source=rank + power)", "        pass"),
    ("        comm.Send(token, dest=rank + power)", "        pass"),
    by="survives_skew",
)  # fmt: skip
edit(
    "barrier/tree", "tell the root, and leave",
    ("        comm.Recv(token, source=parent)\n", ""),
    ("    for child in children:\n        comm.Send(token, dest=child)", "    return"),
    by="survives_skew",
)  # fmt: skip
edit(
    "barrier/tree",
    "the root releases all without having heard of anyone",
    ("    for child in reversed(children):\n        comm.Recv(token, source=child)\n", ""),
    ("        comm.Send(token, dest=parent)\n", ""),
    by="survives_skew",
)
edit(
    "barrier/linear", "ranks leave when they have told rank 0",
    ("        comm.Recv(token, source=0)\n", ""),
    ("    for dest in range(1, comm.size):\n        comm.Send(token, dest=dest)", "    return"),
    by="survives_skew",
)  # fmt: skip

# ---------------------------------------------------------------- requests

edit(
    "reduce_scatter/ring", "receive into the buffer of a pending Isend",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "request = comm.Isend(partial, dest=right)\n"
     "        comm.Recv(received, source=left)\n"
     "        request.Wait()"),
    ("partial, incoming, spare = received, spare, incoming", "partial = received"),
    by="right_values",
)  # fmt: skip
edit(
    "reduce_scatter/ring", "combine before Wait",
    ("comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)",
     "request = comm.Irecv(received, source=left); comm.Send(partial, dest=right)"),
    ("op(received, own, out=received)", "op(received, own, out=received); request.Wait()"),
    by="every_rank_counted_once",
)  # fmt: skip
edit(
    "scatter/linear_nonblocking",
    "do not wait for the sends",
    ("        request.Wait()", "        pass"),
)
edit(
    "allgather/direct",
    "wait for the sends only",
    ("for request in receives + sends:", "for request in sends:"),
)
edit(
    "allgather/direct",
    "wait for the receives only",
    ("for request in receives + sends:", "for request in receives:"),
)
edit(
    "alltoall/linear",
    "wait for half of the requests",
    ("for request in requests:", "for request in requests[: len(requests) // 2]:"),
)
edit(
    "neighbor_allgather/linear",
    "do not wait for the last request",
    ("for request in requests:", "for request in requests[:-1]:"),
)
edit(
    "neighbor_alltoall/linear",
    "wait for the sends only",
    ("for request in requests:", "for request in requests[len(requests) // 2 :]:"),
)
edit(
    "bcast/linear", "start the sends and leave",
    ("comm.Send(buf, dest=(root + distance) % p)",
     "comm.Isend(buf, dest=(root + distance) % p)"),
)  # fmt: skip
edit(
    "scan/linear",
    "use the vector below before it has come",
    ("comm.Recv(before, source=rank - 1)", "request = comm.Irecv(before, source=rank - 1)"),
    ("op(before, sendbuf, out=recvbuf)", "op(before, sendbuf, out=recvbuf); request.Wait()"),
)

# ---------------------------------------------------------------- what an earlier call left

STALE = [
    ("allreduce/ring", "sendbuf"),
    ("alltoall/pairwise", "sendbuf"),
    ("exscan/linear", "sendbuf"),
    ("gather/linear", "sendbuf"),
    ("reduce/binomial", "sendbuf"),
    ("reduce_scatter/pairwise", "sendbuf"),
    ("scan/recursive_doubling", "sendbuf"),
]
"""Where ranks send again what they brought to the first call."""

_FIRST: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What rank 0 of a communicator brought to its first call."""


def _remembering(where: str, name: str) -> Callable[..., None]:
    collective, algorithm = where.split("/")

    def body(comm: Any, *args: Any, **options: Any) -> None:
        given = call_of(where, (comm, *args), options)
        own = given[name]
        if comm.rank == 0 and isinstance(own, np.ndarray) and isinstance(comm, SimComm):
            first = _FIRST.setdefault(comm.group, own.copy())
            given[name] = first if (first.shape, first.dtype) == (own.shape, own.dtype) else own
        find(collective, algorithm).function(**given)

    return body


for _where, _name in STALE:
    FAULTS.function(
        _where, "rank 0 brings again what it brought to the first call", decorated=False,
        by="survives_skew", ranks=at_root if _where.startswith(("reduce/", "gather")) else None,
    )(_remembering(_where, _name))  # fmt: skip
