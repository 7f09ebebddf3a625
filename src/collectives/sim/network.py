"""What a message costs: the networks of the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Ports(Protocol):
    """The state of a network during one run: when may a message go, and when is it there?"""

    def free(self, source: int, dest: int) -> float:
        """Return the time from which a message from `source` to `dest` may start."""

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> float:
        """Take what the message needs from `start` on; return when it has arrived."""


class Network(Protocol):
    """The parameters of a network."""

    @property
    def gamma(self) -> float:
        """Seconds to combine one byte."""

    @property
    def eager_limit(self) -> int:
        """Messages of fewer bytes leave without waiting for the receiver."""

    def ports(self, size: int) -> Ports:
        """Return the idle network between `size` ranks."""


@dataclass(frozen=True)
class Hockney:
    """A message of m bytes takes ``alpha + m * beta`` seconds, whoever sends it to whom.

    A rank sends one message at a time and receives one at a time, both at once (one send port,
    one receive port, full duplex). Of messages that could start at the same time, the one that has
    waited longest starts first; of those, the one that was posted first.

    Parameters
    ----------
    alpha : float
        Seconds per message.
    beta : float
        Seconds per byte sent.
    gamma : float
        Seconds per byte combined (charged for `Phantom` arrays).
    eager_limit : int
        Messages of fewer bytes are buffered and leave at once; 0: every send waits for its
        receive (rendezvous).
    """

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    eager_limit: int = 0

    def ports(self, size: int) -> Ports:
        return _OnePort(self, size)


class _OnePort:
    def __init__(self, network: Hockney, size: int) -> None:
        self.alpha, self.beta = network.alpha, network.beta
        self.send_free, self.receive_free = [0.0] * size, [0.0] * size

    def free(self, source: int, dest: int) -> float:
        sender, receiver = self.send_free[source], self.receive_free[dest]
        return sender if sender > receiver else receiver

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> float:
        end = start + self.alpha + nbytes * self.beta
        self.send_free[source] = self.receive_free[dest] = end
        return end
