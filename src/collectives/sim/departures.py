"""In which order messages go: first come, first served, at every port of the network."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

from collectives.sim.network import Ports

if TYPE_CHECKING:
    from collectives.sim.kernel import Send

Turn: TypeAlias = tuple[float, int]
"""Since when a message could go, and its number: who has the lesser one goes first."""

Entry: TypeAlias = tuple[float, float, int, "Send", int | None]
"""When a message can go, its turn, itself, and the line of which it is the head, if of any."""


class Departures:
    """The messages that can go, by the time from which they can.

    Most come in the order of time: those stand in ``queue``, the others in ``heap``. A message
    whose ports are busy then joins the line of the one that is busy longest. Only the head of a
    line stands in the heap, to go when that port is free: however many wait, one is looked at.
    """

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.queue: deque[Entry] = deque()
        self.heap: list[Entry] = []
        self.heads: dict[int, Turn] = {}
        self.lines: dict[int, list[tuple[float, int, Send]]] = {}

    def __bool__(self) -> bool:
        return bool(self.queue or self.heap)

    def add(self, send: Send, time: float) -> None:
        """Let a message go, at `time` or when its ports are free."""
        entry = (time, time, send.number, send, None)
        queue = self.queue
        if not queue or queue[-1] < entry:
            queue.append(entry)
        else:
            heappush(self.heap, entry)

    def depart(self) -> tuple[Send, float, float] | None:
        """Start the first message; return it, when it is sent and when it arrives.

        None if its ports are still busy: it has to wait longer.
        """
        queue, heap, ports = self.queue, self.heap, self.ports
        now, since, number, send, line = (
            queue.popleft() if not heap or (queue and queue[0] < heap[0]) else heappop(heap)
        )
        source, dest = send.sender.index, send.dest.index
        free = ports.free(source, dest)
        if free <= now:
            sent, arrived = ports.carry(source, dest, send.nbytes, now)
            if line is not None:
                self._move_up(line, now)
            return send, sent, arrived
        port = ports.bottleneck(source, dest)
        if port == line:  # still the head
            heappush(heap, (free, since, number, send, line))
            return None
        self._join(port, free, since, number, send)
        if line is not None:
            self._move_up(line, now)
        return None

    def _join(self, port: int, free: float, since: float, number: int, send: Send) -> None:
        """Let a message wait for a port that is free from `free` on."""
        head = self.heads.get(port)
        if head is not None and head < (since, number):
            heappush(self.lines.setdefault(port, []), (since, number, send))
        else:  # it goes before whoever was the head
            self.heads[port] = since, number
            heappush(self.heap, (free, since, number, send, port))

    def _move_up(self, port: int, now: float) -> None:
        """Make the first of a line its head, to be looked at in its turn."""
        line = self.lines.get(port)
        if not line:
            self.heads.pop(port, None)
            return
        since, number, send = heappop(line)
        self.heads[port] = since, number
        heappush(self.heap, (now, since, number, send, port))
