"""What an algorithm costs in the alpha-beta-gamma model, and what none can beat.

A message of m bytes takes ``alpha + m * beta`` seconds, combining m bytes ``m * gamma``. A rank
sends one message and receives one message at a time, both at once (R. Hockney, Parallel Computing
20, 1994; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19, 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

from collectives.topology import rounds


@dataclass(frozen=True)
class Cost:
    """What one call costs. Volumes are in elements until `times` makes them bytes.

    Attributes
    ----------
    messages : int
        Messages sent by all ranks together.
    volume : int
        What all ranks together send.
    alphas : int
        Messages one after the other on the longest path: the time when alpha alone is 1.
    betas : int
        What is sent one after the other on the longest path: the time when beta alone is 1.
    gammas : int
        What is combined one after the other on the longest path.
    """

    messages: int = 0
    volume: int = 0
    alphas: int = 0
    betas: int = 0
    gammas: int = 0

    def __add__(self, other: Cost) -> Cost:
        """One call after the other."""
        return Cost(*(a + b for a, b in zip(self._all(), other._all(), strict=True)))

    def times(self, itemsize: int) -> Cost:
        """Return the cost with volumes in bytes, for elements of `itemsize` bytes."""
        volumes = (x * itemsize for x in (self.volume, self.betas, self.gammas))
        volume, betas, gammas = volumes
        return Cost(self.messages, volume, self.alphas, betas, gammas)

    def time(self, alpha: float, beta: float, gamma: float) -> float:
        """Return the seconds: alpha in s, beta and gamma in s per unit of volume."""
        return self.alphas * alpha + self.betas * beta + self.gammas * gamma

    def _all(self) -> tuple[int, ...]:
        return self.messages, self.volume, self.alphas, self.betas, self.gammas


def lower_bound(collective: str, p: int, n: int) -> Cost:
    """Return what no algorithm can beat: rounds, and volume sent and combined by some rank.

    `n` counts elements as in the collective's signature: of the vector for bcast, reduce and
    allreduce, of one rank's block for the others. ``messages`` and ``volume`` are not bounded.
    Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, CCPE 19, 2007, table 2.

    Examples
    --------
    >>> lower_bound("allreduce", p=4, n=1000)
    Cost(messages=0, volume=0, alphas=2, betas=1500, gammas=750)
    """
    others = -(-n * (p - 1) // p)
    betas, gammas = {
        "bcast": (n if p > 1 else 0, 0),
        "reduce": (n if p > 1 else 0, others),
        "allreduce": (-(-2 * n * (p - 1) // p), others),
        "allgather": (n * (p - 1), 0),
        "reduce_scatter": (n * (p - 1), n * (p - 1)),
    }[collective]
    return Cost(alphas=rounds(p), betas=betas, gammas=gammas)
