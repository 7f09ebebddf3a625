"""The communicator that a submission is handed: mpi4py's point-to-point calls, each told on.

What a rank calls is put into words (a `Request` of plain numbers, and arrays) and given to whoever
carries it out: `clerk.Clerk` in this process, or the one at the other end of a pipe.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from collectives.comm import Array, flat
from collectives.op import Op
from collectives.sim.errors import SimulationError

SUBMISSION: Final = "<submission>"
"""The name under which a submission's text is compiled; its frames are known by it."""

ROOM_FOR_OBJECTS: Final = 1 << 16
"""Bytes that ``recv`` has for a pickled object."""

Ask: TypeAlias = Callable[[dict[str, Any], list[Array]], tuple[dict[str, Any], list[Array]]]
"""Carry out a request; the answer has the numbers of the operations, and what arrived."""


class Comm:
    """One rank's view of its group.

    Parameters
    ----------
    ask : callable
        Carries out requests.
    rank, size : int
        As in MPI.
    number : int
        Which communicator of this rank it is.
    """

    def __init__(self, ask: Ask, rank: int, size: int, number: int = 0) -> None:
        self._ask, self.rank, self.size, self._number = ask, rank, size, number
        self._buffers: dict[str, Array] = {}
        self._under_way: dict[int, Array] = {}
        self.is_private = False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"comm has no {name}: only point-to-point calls (Send, Recv, Sendrecv, Isend, Irecv, "
            "and Split); the collective is yours to write"
        )

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    # ------------------------------------------------------------------ blocking calls

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._do("Send", [self._sending("Send", buf, dest, tag)])

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        self._do("Ssend", [self._sending("Ssend", buf, dest, tag)])

    def Recv(self, buf: Any, source: Any = None, tag: Any = None, status: Any = None) -> None:
        self._do("Recv", [self._receiving("Recv", buf, source, tag)], status)

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: Any = None, recvtag: Any = None, status: Any = None,
    ) -> None:  # fmt: skip
        if np.may_share_memory(flat(sendbuf), flat(recvbuf)) and flat(sendbuf).size:
            raise SimulationError(
                f"rank {self.rank}: the send and receive buffers of Sendrecv overlap"
            )
        receive = self._receiving("Sendrecv", recvbuf, source, recvtag)
        self._do("Sendrecv", [receive, self._sending("Sendrecv", sendbuf, dest, sendtag)], status)

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: Any = None, recvtag: Any = None,
        status: Any = None,
    ) -> None:  # fmt: skip
        send = self._sending("Sendrecv_replace", buf, dest, sendtag)
        receive = self._receiving("Sendrecv_replace", buf, source, recvtag)
        self._do("Sendrecv_replace", [send, receive], status)

    # ------------------------------------------------------------------ nonblocking calls

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return self._start("Isend", self._sending("Isend", buf, dest, tag))

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        return self._start("Issend", self._sending("Issend", buf, dest, tag))

    def Irecv(self, buf: Any, source: Any = None, tag: Any = None) -> Request:
        return self._start("Irecv", self._receiving("Irecv", buf, source, tag))

    # ------------------------------------------------------------------ pickled objects

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        self._do("send", [self._sending("send", pickle.dumps(obj), dest, tag)])

    def recv(self, buf: Any = None, source: Any = None, tag: Any = None, status: Any = None) -> Any:
        room = np.empty(ROOM_FOR_OBJECTS, np.uint8)
        self._do("recv", [self._receiving("recv", room, source, tag)], status)
        return pickle.loads(room.tobytes())

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: Any = None, recvtag: Any = None, status: Any = None,
    ) -> Any:  # fmt: skip
        room = np.empty(ROOM_FOR_OBJECTS, np.uint8)
        receive = self._receiving("sendrecv", room, source, recvtag)
        send = self._sending("sendrecv", pickle.dumps(sendobj), dest, sendtag)
        self._do("sendrecv", [receive, send], status)
        return pickle.loads(room.tobytes())

    # ------------------------------------------------------------------ communicators

    def private(self) -> Comm:
        """Return the same as the duplicate on which this package's own algorithms run."""
        twin = Comm(self._ask, self.rank, self.size, self._number)
        twin._buffers, twin._under_way, twin.is_private = self._buffers, self._under_way, True
        return twin

    def Dup(self) -> Comm:
        return self.Split(0, self.rank)  # type: ignore[return-value]

    def Split(self, color: int = 0, key: int = 0) -> Comm | None:
        request = {"call": "Split", "comm": self._number, "line": line(), "split": [color, key]}
        answer, _ = self._ask(request, [])
        if answer["number"] is None:
            return None
        part = Comm(self._ask, answer["rank"], answer["size"], answer["number"])
        part._buffers, part._under_way = self._buffers, self._under_way
        return part

    def Free(self) -> None:
        """Give the communicator up; there is nothing to do."""

    # ------------------------------------------------------------------ how it is done

    def _sending(self, call: str, buf: Any, dest: Any, tag: int) -> dict[str, Any] | None:
        if _is(dest, "PROC_NULL"):
            return None
        array = _flat(buf)
        early = self._reads_early(array)
        return {"kind": "send", "call": call, "peer": int(dest), "tag": int(tag), "array": array,
                "dtype": array.dtype.str, "size": array.size, "place": self._place(array),
                "early": early}  # fmt: skip

    def _receiving(self, call: str, buf: Any, source: Any, tag: Any) -> dict[str, Any] | None:
        if _is(source, "PROC_NULL"):
            return None
        array = _flat(buf)
        if not array.flags.writeable:
            raise SimulationError(f"rank {self.rank}: {call} into a read-only buffer")
        peer = None if source is None or _is(source, "ANY_SOURCE") else int(source)
        tag = None if tag is None or int(tag) < 0 else int(tag)
        return {"kind": "receive", "call": call, "peer": peer, "tag": tag, "array": array,
                "dtype": array.dtype.str, "size": array.size, "place": self._place(array),
                "early": False}  # fmt: skip

    def _place(self, array: Array) -> str:
        """Return which argument of the submission the memory belongs to; ``own`` if none."""
        for name, buffer in self._buffers.items():
            if np.may_share_memory(array, buffer):
                return name
        return "own"

    def _reads_early(self, array: Array) -> bool:
        """Tell whether a receive into this memory has not been waited for."""
        return any(np.may_share_memory(array, x) for x in self._under_way.values())

    def _do(self, call: str, parts: Sequence[Any], status: Any = None) -> None:
        """Make a blocking call."""
        posted = [part for part in parts if part is not None]
        request, arrays = self._request(call, posted)
        received = [part["array"] for part in posted if part["kind"] == "receive"]
        answer, arrived = self._ask(request | {"wait": None}, arrays)
        for buffer, message in zip(received, arrived, strict=True):
            buffer[: message.size] = message
        self._report(status, answer)

    def _start(self, call: str, part: dict[str, Any] | None) -> Request:
        if part is None:
            return Request(self, -1, None, is_send=True)
        request, arrays = self._request(call, [part])
        answer, _ = self._ask(request, arrays)
        number = answer["posted"][0]
        is_send = part["kind"] == "send"
        if not is_send:
            self._under_way[number] = part["array"]
        return Request(self, number, part["array"], is_send)

    def _request(self, call: str, posted: list[Any]) -> tuple[dict[str, Any], list[Array]]:
        plain = [{k: v for k, v in part.items() if k != "array"} for part in posted]
        arrays = [part["array"] for part in posted if part["kind"] == "send"]
        return {"call": call, "comm": self._number, "line": line(), "post": plain}, arrays

    def _report(self, status: Any, answer: dict[str, Any]) -> None:
        """Say in an ``MPI.Status`` whose message was received."""
        if status is not None and answer["from"]:
            status.source, status.tag, nbytes = answer["from"][0]
            status.Set_elements(sys.modules["mpi4py.MPI"].BYTE, nbytes)


class Request:
    """A send or receive under way."""

    def __init__(self, comm: Comm, number: int, array: Array | None, is_send: bool) -> None:
        self.comm, self.number, self.array, self.is_send = comm, number, array, is_send

    def Wait(self, status: Any = None) -> bool:
        if self.array is None:
            return True
        array, self.array = self.array, None
        request = {"call": "Wait", "comm": self.comm._number, "line": line(), "post": [],
                   "wait": self.number}  # fmt: skip
        answer, arrived = self.comm._ask(request, [array] if self.is_send else [])
        self.comm._under_way.pop(self.number, None)
        for message in arrived:
            array[: message.size] = message
        self.comm._report(status, answer)
        return True

    wait = Wait

    @staticmethod
    def Waitall(requests: Iterable[Request]) -> bool:
        """Wait for each of `requests`."""
        return all(request.Wait() for request in list(requests))


def watched_op(op: Op, comm: Comm, say: Callable[[int], None]) -> Op:
    """Return `op`; what it combines before it has arrived is said, with the line."""

    def combine(lower: Array, higher: Array, out: Array) -> Array:
        if comm._under_way and any(comm._reads_early(x) for x in (lower, higher)):
            say(line())
        return op(lower, higher, out=out)

    return _WatchedOp(op.name, combine, op.commutative, op.identity)


class _WatchedOp(Op):
    def __call__(self, lower: Array, higher: Array, out: Array | None = None) -> Array:
        if out is None:
            raise TypeError("op(lower, higher, out=x) wants out: the array that gets the result")
        return self.ufunc(lower, higher, out)  # type: ignore[no-any-return]

    def check(self, dtype: np.dtype[Any]) -> None:
        """Whatever is asked of a submission, its op can do."""


def line() -> int:
    """Return the line of the submission from which this was called; 0 if from nowhere in it."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != SUBMISSION:
        frame = frame.f_back  # type: ignore[assignment]
    return 0 if frame is None else frame.f_lineno


def _flat(buf: Any) -> Array:
    array: Array = flat(buf)
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        raise TypeError(f"a message is an array of numbers, not {type(array).__name__}")
    return array


def _is(peer: Any, name: str) -> bool:
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and peer == getattr(mpi, name)
