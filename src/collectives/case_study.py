"""The case study: a 1.2 GB all-reduce on 8 nodes x 8 GPUs took 18 ms, and 14.2 ms after tuning.

What does it take to get there? `comparison` puts formulas next to simulation, and `consistent`
lists with which algorithm, channels and network cards a time is to be had. Nothing is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from collectives.closed_forms import (
    HIERARCHICAL,
    PIPELINED,
    RING,
    TREE,
    Setup,
    closed_form,
    without_latency,
)  # fmt: skip
from collectives.sim import Cluster, preset

NBYTES = 1_200_000_000
BEFORE, AFTER = 18e-3, 14.2e-3
"""The times that the case study reports, in seconds, before and after tuning."""


def cluster() -> Cluster:
    """Return the cluster of the case study."""
    network = preset("a100-8x8")
    assert isinstance(network, Cluster)
    return network


# ------------------------------------------------------------------ formulas and simulation


COMPARED = {
    "ring, 8 channels": Setup(RING, 8, 8),
    "ring, 4 channels": Setup(RING, 4, 4),
    "ring, 2 channels": Setup(RING, 2, 2),
    "double binary trees, 8 channels, 50 segments": Setup(TREE, 8, 8, 50),
    "hierarchical, one phase after the other": Setup(HIERARCHICAL, 8, 8),
    "hierarchical, pipelined in 4 segments": Setup(PIPELINED, 8, 8, 4),
    "hierarchical, pipelined in 16 segments": Setup(PIPELINED, 8, 8, 16),
}
"""What is compared, in words."""


@dataclass(frozen=True)
class Compared:
    """The seconds of one way: by bandwidth alone, by `closed_form` with latency, and simulated."""

    name: str
    setup: Setup
    bandwidth_s: float
    formula_s: float
    simulated_s: float


def comparison(network: Cluster | None = None) -> Iterator[Compared]:
    """Yield the ways in `COMPARED`, on the cluster of the case study unless another is given."""
    network = network or cluster()
    for name, setup in COMPARED.items():
        yield Compared(
            name,
            setup,
            closed_form(setup, without_latency(network), NBYTES),
            closed_form(setup, network, NBYTES),
            setup.simulate(network, NBYTES).time_s,
        )


# ------------------------------------------------------------------ the search


@dataclass(frozen=True)
class Consistent:
    """A way that takes the time asked for, at an efficiency of the cards between the two."""

    setup: Setup
    lowest: float
    highest: float


def consistent(
    time_s: float,
    tolerance: float = 0.02,
    *,
    network: Cluster | None = None,
    nbytes: int = NBYTES,
    least_efficiency: float = 0.5,
) -> list[Consistent]:
    """Return the ways to run the all-reduce that take `time_s`, and at which efficiencies.

    Every algorithm, number of channels, of cards and of segments in `setups` is tried with
    `closed_form`. None is simulated, but for how long trees take to fill.

    Parameters
    ----------
    time_s : float
        Seconds; `BEFORE` and `AFTER` are those of the case study.
    tolerance : float
        How far a time may be off, as a part of `time_s`.
    network : Cluster, optional
        That of the case study unless given; its efficiency does not count.
    nbytes : int
        The size of the vector.
    least_efficiency : float
        Lower ones are not believed: what is public lies between 0.73 and 0.97 of the line rate.

    Examples
    --------
    >>> found = consistent(BEFORE)
    >>> min(way.setup.nics for way in found)
    6
    """
    network = network or cluster()
    found = []
    for setup in setups(network.ranks_per_node):
        ends = [
            _efficiency(setup, network, nbytes, time_s * (1 + sign * tolerance), least_efficiency)
            for sign in (1, -1)
        ]
        if ends[0] <= 1 and ends[1] >= least_efficiency:
            found.append(Consistent(setup, max(ends[0], least_efficiency), min(ends[1], 1.0)))
    return found


def setups(ranks_per_node: int) -> Iterator[Setup]:
    """Yield what the search tries. Cards beyond the number of channels would have nothing to do."""
    for channels in range(1, ranks_per_node + 1):
        for nics in range(1, channels + 1):
            yield Setup(RING, channels, nics)
            yield from (Setup(TREE, channels, nics, segments) for segments in (16, 64, 256))
    for nics in range(1, ranks_per_node + 1):
        yield Setup(HIERARCHICAL, ranks_per_node, nics)
        yield from (Setup(PIPELINED, ranks_per_node, nics, n) for n in (2, 4, 8, 16, 32, 64))


def _efficiency(setup: Setup, network: Cluster, nbytes: int, time_s: float, least: float) -> float:
    """Return the efficiency at which this takes `time_s`; just out of `least` .. 1 if none does."""

    def time_at(efficiency: float) -> float:
        return closed_form(setup, replace(network, efficiency=efficiency), nbytes)

    if time_at(1.0) > time_s:
        return math.inf
    if time_at(least) < time_s:
        return 0.0
    low, high = least, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if time_at(middle) > time_s else (low, middle)
    return high


def fewest(ways: Sequence[Consistent]) -> int:
    """Return how many network cards the way with the fewest uses."""
    return min(way.setup.nics for way in ways)


def at_line_rate(channels: int) -> float:
    """Return the seconds of rings on cards of their own, if cards gave all they can."""
    network = replace(cluster(), efficiency=1.0)
    return closed_form(Setup(RING, channels, channels), without_latency(network), NBYTES)
