"""What a message costs: what the simulator asks of a network, and the simplest network.

`Hockney` is here, `LogGP` and `Cluster` have modules of their own; the page ``docs/model.md``
compares the three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Protocol


class Ports(Protocol):
    """The state of a network during one run: when may a message go, and when is it there?"""

    def free(self, source: int, dest: int) -> float:
        """Return the time from which a message from `source` to `dest` may start."""

    def bottleneck(self, source: int, dest: int) -> int:
        """Return the number of the port that is the last to be free for such a message."""

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> tuple[float, float]:
        """Take what the message needs from `start` on; return when it is sent and has arrived.

        Once it is sent, its sender may use the buffer again. Messages come in the order of their
        starts.
        """


class Network(Protocol):
    """The parameters of a network."""

    @property
    def gamma(self) -> float:
        """Seconds to combine one byte."""

    @property
    def overhead(self) -> float:
        """Seconds of a rank's own time for each message that it sends or receives."""

    @property
    def eager_limit(self) -> float:
        """Messages of fewer bytes leave without waiting for the receiver."""

    def ports(self, size: int) -> Ports:
        """Return the idle network between `size` ranks; ValueError if it has not so many."""


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
    eager_limit : float
        Messages of fewer bytes are buffered and leave at once; 0: every send waits for its
        receive (rendezvous).

    References
    ----------
    R. Hockney, The communication challenge for MPP, Parallel Computing 20(3), 1994,
    doi:10.1016/S0167-8191(06)80021-9
    """

    alpha: float = 1.0
    beta: float = 0.0
    gamma: float = 0.0
    eager_limit: float = 0

    overhead = 0.0

    def __post_init__(self) -> None:
        check_not_negative(self, "alpha", "beta", "gamma")
        check_eager_limit(self.eager_limit)

    def ports(self, size: int) -> Ports:
        return _OnePort(self, size)


class _OnePort:
    def __init__(self, network: Hockney, size: int) -> None:
        self.alpha, self.beta = network.alpha, network.beta
        self.send_free, self.receive_free = [0.0] * size, [0.0] * size

    def free(self, source: int, dest: int) -> float:
        sender, receiver = self.send_free[source], self.receive_free[dest]
        return sender if sender > receiver else receiver

    def bottleneck(self, source: int, dest: int) -> int:
        """Send ports are numbered as their ranks, receive ports from -1 downwards."""
        return source if self.send_free[source] >= self.receive_free[dest] else ~dest

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> tuple[float, float]:
        end = start + self.alpha + nbytes * self.beta
        self.send_free[source] = self.receive_free[dest] = end
        return end, end


# ------------------------------------------------------------------ checks of parameters


def check_not_negative(owner: object, *names: str) -> None:
    """Raise ValueError where a field of `owner` is no finite number of 0 or more."""
    for name in names:
        value = getattr(owner, name)
        if not (isinstance(value, Real) and 0 <= float(value) < math.inf):
            raise ValueError(f"{name} is {value!r}, wants a finite number >= 0")


def check_eager_limit(value: object) -> None:
    """Raise ValueError where `value` is no number of bytes; infinitely many are allowed."""
    if not (isinstance(value, Real) and float(value) >= 0):
        raise ValueError(f"eager_limit is {value!r}, wants a number >= 0")
