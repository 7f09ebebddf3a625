"""LogGP: overhead, latency and gaps apart, so that ranks compute while messages travel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from collectives.sim.network import Ports, check_eager_limit, check_not_negative


@dataclass(frozen=True)
class LogGP:
    """A message of k bytes takes ``o + (k - 1) * G + L + o`` seconds from call to return.

    One after the other:

    - The sender is busy for ``o``; then the first byte enters the network.
    - The bytes follow each other every ``G``; each is under way for ``L``.
    - When the last byte is there, the receiver is busy for ``o``.
    - Between the last byte of a message and the first of the next one, ``max(o, g)`` goes by, on
      each side: of the messages that a rank sends, and of those that it receives, whoever from.

    So a rank that sends k bytes again and again starts every ``max(o, g) + (k - 1) * G``, and a
    rank is sent no more than that. An eager message, by default every one, is buffered: its sender
    goes on when the first byte leaves. A longer one waits for its receive, and its sender until
    the last byte has left.

    ``o`` is a rank's own time: the clock goes on by it in ``Isend``, and between the arrival of a
    message and the return of ``Recv`` or ``Wait``. Only receives that are waited for later overlap
    with it, as if they were served by a second processor. The limit of L/g messages under way
    from or to a rank is left out: no more than one can enter or leave every g.

    Parameters
    ----------
    L : float
        Latency: seconds from network interface to network interface.
    o : float
        Overhead: seconds that a rank is busy to send or receive a message.
    g : float
        Gap: least seconds between two messages of a rank.
    G : float
        Gap per byte: seconds per byte of a long message.
    gamma : float
        Seconds per byte combined (charged for `Phantom` arrays).
    eager_limit : float
        Messages of fewer bytes are buffered and leave at once.

    References
    ----------
    D. Culler et al., LogP: towards a realistic model of parallel computation, PPoPP 1993,
    doi:10.1145/155332.155333.
    A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, LogGP: incorporating long messages into
    the LogP model, SPAA 1995, doi:10.1145/215399.215427.
    """

    L: float
    o: float
    g: float
    G: float
    gamma: float = 0.0
    eager_limit: float = math.inf

    def __post_init__(self) -> None:
        check_not_negative(self, "L", "o", "g", "G", "gamma")
        check_eager_limit(self.eager_limit)

    @property
    def overhead(self) -> float:
        return self.o

    def ports(self, size: int) -> Ports:
        return _Interfaces(self, size)


class _Interfaces:
    """The network interface of every rank: when the first byte of a message may enter or leave."""

    def __init__(self, network: LogGP, size: int) -> None:
        self.network, self.gap = network, max(network.o, network.g)
        self.send_free, self.receive_free = [0.0] * size, [0.0] * size

    def free(self, source: int, dest: int) -> float:
        return self.send_free[source]  # no message is held back for its receiver's sake

    def bottleneck(self, source: int, dest: int) -> int:
        return source

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> tuple[float, float]:
        # Invariant: first bytes arrive in the order of the starts, so messages are served in that.
        network = self.network
        rest = (nbytes - 1) * network.G if nbytes else 0.0
        left = start + rest
        arrived = max(start + network.L, self.receive_free[dest]) + rest
        self.send_free[source], self.receive_free[dest] = left + self.gap, arrived + self.gap
        return start if nbytes < network.eager_limit else left, arrived
