"""The clerk of a rank: carries out on simulated ranks what a submission asks for, and writes it up.

The clerk, the network and the counters belong to the grader, wherever the submission runs: what a
rank says of itself (lines, places) is used in explanations, never in a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.sim.comm import SimComm, SimRequest

MOST_CALLS: Final = 10_000
"""Calls of one rank in one run."""

SPARE: Final = 1 << 20
"""Bytes that one rank may send, or ask room for, in one run, whatever the case."""


LONG: Final = 1000.0
"""Seconds for which a rank stands still; a message takes one."""


class TooMuchError(RuntimeError):
    """A submission asked for more than any right one needs."""


@dataclass
class Message:
    """One end of a message, as one rank asked for it.

    Attributes
    ----------
    kind : str
        ``send`` or ``receive``.
    call, line : str, int
        What was called, and where in the submission.
    step : int
        Which call of this rank it was, from 1.
    peer, tag : int or None
        The other end; None for any.
    dtype, size : dtype, int
        Of the buffer.
    place : str
        The argument of the submission in whose memory the buffer lies; ``own`` if in none.
    early : bool
        Whether it sends what has not arrived yet.
    payload : array or None
        What was sent, or has arrived.
    operation : Any
        The kernel's.
    """

    rank: int
    kind: str
    call: str
    line: int
    step: int
    peer: int | None
    tag: int | None
    dtype: np.dtype[Any]
    size: int
    place: str
    early: bool
    payload: Array | None = None
    operation: Any = field(default=None, repr=False)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


class Clerk:
    """Carries out the requests of one rank.

    Parameters
    ----------
    comm : SimComm
        The rank's own.
    most : int
        Bytes that the rank may send, or ask room for.
    pause : int
        The number of the call before which the rank stands still for long; 0 for none.
    """

    def __init__(self, comm: SimComm, *, most: int = SPARE, pause: int = 0) -> None:
        self.comms, self.most, self.pause = [comm], most, pause
        self.me, self.kernel, self.rank = comm.me, comm.kernel, comm.rank
        self.log: list[Message] = []
        self.open: dict[int, Message] = {}
        self.waiting: list[Message] = []
        self.call, self.line, self.calls, self.nbytes = "", 0, 0, 0
        self.early_line = 0

    def ask(
        self, request: dict[str, Any], arrays: list[Array]
    ) -> tuple[dict[str, Any], list[Array]]:
        """Carry out one request; raises what the simulator raises."""
        early = request.get("early")
        self.early_line = self.early_line or (early if isinstance(early, int) else 0)
        self.call, self.line = str(request["call"]), int(request["line"])
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise TooMuchError(f"rank {self.rank} made more than {MOST_CALLS} calls")
        if self.calls == self.pause:
            stand_still(self.comms[0], LONG)
        comm = self.comms[int(request["comm"])]
        if "split" in request:
            return self._split(comm, *request["split"]), []
        outgoing = iter(arrays)
        posted = [self._post(comm, part, outgoing) for part in request["post"]]
        if "wait" not in request:
            return {"posted": posted}, []
        if request["wait"] is None:
            return self._wait([self.log[number] for number in posted])
        message = self.open.pop(int(request["wait"]))
        if message.kind == "send":  # the buffer as it is now: was it left alone?
            message.operation.buffer[:] = next(outgoing)
        del self.me.unfinished[message.operation]
        return self._wait([message])

    def _post(self, comm: SimComm, part: dict[str, Any], outgoing: Any) -> int:
        dtype, size = np.dtype(str(part["dtype"])), int(part["size"])
        self.nbytes += dtype.itemsize * size
        if self.nbytes > self.most or size < 0 or dtype.hasobject:
            raise TooMuchError(f"rank {self.rank} sent or received more than {self.most} bytes")
        peer, tag = part["peer"], part["tag"]
        message = Message(
            comm.me.index, part["kind"], str(part["call"]), self.line, self.calls,
            _in_world(comm, peer), tag,
            dtype, size, str(part["place"]), bool(part["early"]),
        )  # fmt: skip
        self.log.append(message)
        self.waiting = [message]
        if message.kind == "send":
            payload = np.array(next(outgoing), dtype).reshape(size)
            message.payload = payload.copy()
            message.operation = comm._send(payload, int(peer), int(tag), message.call)
        else:
            room = np.empty(size, dtype)
            message.operation = comm._receive(room, peer, tag, message.call)
        number = len(self.log) - 1
        if message.call.startswith("I"):
            self.open[number] = message
            SimRequest(comm, message.operation)  # counts as unfinished until it is waited for
        return number

    def _wait(self, messages: list[Message]) -> tuple[dict[str, Any], list[Array]]:
        self.waiting = messages
        self.kernel.wait(self.me, *(message.operation for message in messages))
        self.waiting = []
        arrived, senders = [], []
        for message in messages:
            if message.kind == "receive":
                send = message.operation.send
                count = send.nbytes // message.dtype.itemsize
                message.payload = message.operation.buffer[:count].copy()
                arrived.append(message.payload)
                senders.append([send.sender.index, send.tag, send.nbytes])
        return {"from": senders}, arrived

    def _split(self, comm: SimComm, color: int, key: int) -> dict[str, Any]:
        part = comm.Split(int(color), int(key))
        if part is None:
            return {"number": None}
        self.comms.append(part)
        return {"number": len(self.comms) - 1, "rank": part.rank, "size": part.size}


def stand_still(comm: SimComm, seconds: float) -> None:
    """Let a rank go on only when the others have had so long, or can go no further."""
    comm.me.clock += seconds
    nothing, room = np.empty(0), np.empty(0)  # it waits for a message that is sent only then
    comm.private().Sendrecv(nothing, dest=comm.rank, recvbuf=room, source=comm.rank)


def _in_world(comm: SimComm, peer: int | None) -> int | None:
    """Return the number that a rank of `comm` has among all."""
    if peer is None or not 0 <= peer < comm.size:
        return peer
    return comm.group.members[peer].index
