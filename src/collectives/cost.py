"""What an algorithm costs in the alpha-beta-gamma model, and what none can beat.

A message of m bytes takes ``alpha + m * beta`` seconds, combining m bytes ``m * gamma``. A rank
sends one message and receives one message at a time, both at once (R. Hockney, Parallel Computing
20, 1994; R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19, 2005).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

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
    exact : bool
        Whether the last three are exact; if not, they are upper bounds.
    """

    messages: int = 0
    volume: int = 0
    alphas: int = 0
    betas: int = 0
    gammas: int = 0
    exact: bool = True

    def __add__(self, other: Cost) -> Cost:
        """One call after the other."""
        return Cost(
            self.messages + other.messages,
            self.volume + other.volume,
            self.alphas + other.alphas,
            self.betas + other.betas,
            self.gammas + other.gammas,
            self.exact and other.exact,
        )

    def times(self, itemsize: int) -> Cost:
        """Return the cost with volumes in bytes, for elements of `itemsize` bytes."""
        return replace(
            self,
            volume=self.volume * itemsize,
            betas=self.betas * itemsize,
            gammas=self.gammas * itemsize,
        )

    def time(self, alpha: float, beta: float, gamma: float) -> float:
        """Return the seconds: alpha in s, beta and gamma in s per unit of volume."""
        return self.alphas * alpha + self.betas * beta + self.gammas * gamma


Message: TypeAlias = tuple[int, int, int, int]
"""One message: source, dest, elements sent, elements that the receiver combines then."""


def in_rounds(p: int, schedule: Iterable[Sequence[Message]]) -> Cost:
    """Return the cost of an algorithm in rounds, in which a rank posts all its messages at once.

    A message goes when its sender and its receiver have both entered the round, after those
    listed before it that have one of the two in common. A rank enters the next round when its own
    messages are done; nobody waits for anybody else.

    Examples
    --------
    >>> in_rounds(3, [[(0, 1, 10, 0)], [(0, 2, 10, 0), (2, 0, 5, 5)], [(1, 2, 7, 0)]])
    Cost(messages=4, volume=32, alphas=3, betas=27, gammas=5, exact=True)
    """
    messages = volume = 0
    alphas, betas, gammas = ([0] * p for _ in range(3))  # when each rank enters the round
    for posted in schedule:
        messages += len(posted)
        volume += sum(sent for _, _, sent, _ in posted)
        alphas = _after(alphas, [(source, dest, 1) for source, dest, _, _ in posted])
        betas = _after(betas, [(source, dest, sent) for source, dest, sent, _ in posted])
        gammas = _after(gammas, [(source, dest, 0) for source, dest, _, _ in posted])
        for _, dest, _, combined in posted:
            gammas[dest] += combined
    return Cost(messages, volume, max(alphas), max(betas), max(gammas))


def _after(clocks: list[int], posted: list[tuple[int, int, int]]) -> list[int]:
    """Return when the ranks are done with messages (source, dest, length) posted at once."""
    sending, receiving = clocks.copy(), clocks.copy()
    for source, dest, length in posted:
        end = max(sending[source], receiving[dest]) + length
        sending[source] = receiving[dest] = end
    return list(map(max, sending, receiving))


def lower_bound(collective: str, p: int, n: int) -> Cost:
    """Return what no algorithm can beat: rounds, and volume sent and combined by some rank.

    `n` counts elements as in the collective's signature: of the vector for bcast, reduce and
    allreduce, of one rank's block for the others. ``messages`` and ``volume`` are not bounded.
    Source: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, CCPE 19, 2007, table 2.

    Examples
    --------
    >>> lower_bound("allreduce", p=4, n=1000)
    Cost(messages=0, volume=0, alphas=2, betas=1500, gammas=750, exact=True)
    """
    others = -(-n * (p - 1) // p)
    betas, gammas = {
        "barrier": (0, 0),
        "bcast": (n if p > 1 else 0, 0),
        "reduce": (n if p > 1 else 0, others),
        "allreduce": (-(-2 * n * (p - 1) // p), others),
        "scatter": (n * (p - 1), 0),
        "gather": (n * (p - 1), 0),
        "allgather": (n * (p - 1), 0),
        "alltoall": (n * (p - 1), 0),
        "reduce_scatter": (n * (p - 1), n * (p - 1)),
        "scan": (n if p > 1 else 0, n if p > 1 else 0),
        "exscan": (n if p > 1 else 0, n if p > 2 else 0),
        "neighbor_allgather": (0, 0),
        "neighbor_alltoall": (0, 0),
    }[collective]
    alphas = 0 if collective.startswith("neighbor") else rounds(p)
    return Cost(alphas=alphas, betas=betas, gammas=gammas)
