"""How NCCL chooses: latency plus bytes over bandwidth, for each algorithm and protocol.

The model of NCCL 2.30.7 (src/graph/tuning.cc) for AllReduce with Ring and Tree, which need no
special hardware: its tables, its corrections, its choice. CollNet, NVLS and a tuner plugin are left
out, and so is the search that finds the channels: their number and bandwidth are given. It is what
NCCL assumes, not what a machine does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from collectives.tuning.choices import Choice

PROTOCOLS: Final = ("ll", "ll128", "simple")
"""LL sends 4 bytes of data and 4 of flag, LL128 120 and 8; Simple large pieces, with fences."""

GENERATIONS: Final = ("volta", "ampere", "hopper", "blackwell")

# ------------------------------------------------------------------ its tables
# Times in us, by protocol; bandwidths in GB/s, by generation and by 1, 2 or more nodes.

BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}
NVLINK = {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4)}
NETWORK = {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0)}

LL_MOST = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
"""On one node by generation; on more, the first row with Intel's CPUs, the second with AMD's."""

RING_LL128_MOST = ((20.0,) * 3, (20.0,) * 3, (36.7,) * 3, (40.0,) * 3)
TREE_LL128_MOST = ((20.0,) * 3, (20.0,) * 3, (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
TREE_MOST = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
"""Of one channel."""

TREE_FACTOR = (
    (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
    (.9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9, .9),
)  # fmt: skip
"""By protocol: of the tree's bandwidth, what is left for sizes of 64 B, 128 B, 256 B and so on."""


@dataclass(frozen=True)
class Machine:
    """What the model wants to know of a machine.

    Attributes
    ----------
    nodes, per_node : int
        How many nodes, and GPUs on each.
    channels : int
        As NCCL's search found them.
    intra, inter : float
        The bandwidth of one channel inside a node and between nodes, in bytes per second.
    generation : str
        One of `GENERATIONS`.
    amd : bool
        Whether the CPUs are AMD's.
    """

    nodes: int
    per_node: int
    channels: int
    intra: float
    inter: float
    generation: str = "ampere"
    amd: bool = True

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    @property
    def row(self) -> int:
        """The line of a table."""
        return GENERATIONS.index(self.generation)

    @property
    def column(self) -> int:
        """The column of a table: for 1 node, 2 nodes, more."""
        return min(self.nodes, 3) - 1


@dataclass(frozen=True)
class Predicted:
    """What the model says of one algorithm with one protocol: ``latency_s + nbytes / bandwidth``.

    Attributes
    ----------
    algorithm, protocol : str
        Such as ``ring`` and ``ll128``.
    latency_s : float
        In seconds.
    bandwidth : float
        In bytes of the vector per second.
    time_s : float
        In seconds.
    """

    algorithm: str
    protocol: str
    latency_s: float
    bandwidth: float
    time_s: float

    def __str__(self) -> str:
        return f"{self.algorithm} {self.protocol}"


def predictions(machine: Machine, nbytes: int) -> list[Predicted]:
    """Return what the model says of an AllReduce, the fastest first.

    Examples
    --------
    >>> dgx = Machine(nodes=8, per_node=8, channels=8, intra=22.5e9, inter=22.5e9)
    >>> [f"{best} {best.time_s * 1e6:.0f} us" for best in predictions(dgx, 8)][:2]
    ['tree ll 45 us', 'tree ll128 83 us']
    """
    found = []
    for algorithm in BASE if machine.ranks > 1 else []:
        for protocol in PROTOCOLS:
            wait = latency(machine, algorithm, protocol)
            rate = bandwidth(machine, algorithm, protocol)
            if algorithm == "tree":
                rate *= _tree_factor(protocol, nbytes)
            elif protocol == "simple" and _is_long(machine, nbytes):
                wait *= 1.9 if machine.generation == "volta" else 1.4
            found.append(Predicted(algorithm, protocol, wait, rate, wait + nbytes / rate))
    return sorted(found, key=lambda each: each.time_s)


def _is_long(machine: Machine, nbytes: int) -> bool:
    """Tell whether a ring's steps over the network are taken to be longer than their latency."""
    return machine.nodes > 1 and nbytes // (machine.channels * machine.ranks) >= 64


def _tree_factor(protocol: str, nbytes: int) -> float:
    factors = TREE_FACTOR[PROTOCOLS.index(protocol)]
    place = (nbytes // 64).bit_length() - 1
    return factors[place] if 0 <= place < len(factors) else 1.0


def pick(machine: Machine, nbytes: int) -> Predicted:
    """Return what NCCL would take for an AllReduce of `nbytes`, by its model."""
    if machine.ranks < 2:
        raise ValueError("a single rank has nothing to choose")
    return predictions(machine, nbytes)[0]


def picks(machine: Machine, sizes: Sequence[int]) -> list[Choice]:
    """Return from which of the sizes on NCCL would take what.

    Examples
    --------
    >>> node = Machine(nodes=1, per_node=8, channels=12, intra=20e9, inter=20e9)
    >>> for choice in picks(node, [1 << 10, 1 << 20, 1 << 23, 1 << 30]):
    ...     print(choice.nbytes, choice.algorithm)
    0 ring ll
    8388608 ring ll128
    1073741824 ring simple
    """
    found: list[Choice] = []
    for size in sizes:
        name = str(pick(machine, size))
        if not found or found[-1].algorithm != name:
            found.append(Choice(size if found else 0, name))
    return found


# ------------------------------------------------------------------ its two functions


def latency(machine: Machine, algorithm: str, protocol: str) -> float:
    """Return the latency in seconds: a base, and a time for every hop on the way.

    A ring takes 2(p-1) hops, of which 2(nodes-1) cross the network. A tree goes up and down: along
    the chain of GPUs inside a node, and log2(nodes) levels between nodes.
    """
    which = PROTOCOLS.index(protocol)
    inside = NVLINK[algorithm][which]
    across = NETWORK["tree" if machine.per_node == 1 else algorithm][which]
    if algorithm == "tree":
        levels = machine.nodes.bit_length() - 1
        hops = 2 * ((machine.per_node - 1) * inside + levels * across)
    else:
        if machine.nodes > 1:  # the CPU hands each piece to the network
            inside = max(inside, (2.0 if machine.amd else 1.0) * (3 if protocol == "simple" else 1))
        crossing = 2 * (machine.nodes - 1)
        hops = (2 * (machine.ranks - 1) - crossing) * inside + crossing * across
    return (BASE[algorithm][which] + hops) * 1e-6


def bandwidth(machine: Machine, algorithm: str, protocol: str) -> float:
    """Return how many bytes of the vector go per second, when latency does not count."""
    row, column, channels, p = machine.row, machine.column, machine.channels, machine.ranks
    link = (machine.intra if machine.nodes <= 2 else machine.inter) / 1e9
    ll_most = LL_MOST[row if machine.nodes == 1 else machine.amd][column]
    rate = channels * link
    if algorithm == "ring":
        if protocol == "ll":
            rate = min(ll_most, rate * 0.5)
        elif protocol == "ll128":
            rate = min(0.92 * rate, channels * RING_LL128_MOST[row][column])
        return rate * 1e9 * p / (2 * (p - 1))
    rate = min(0.92 * rate, channels * TREE_MOST[row][column])
    if protocol == "ll":
        rate = min(rate / 3.8, ll_most)
    elif protocol == "ll128":
        share = 7 / 9 if machine.nodes == 1 else 120 / 128
        rate = min(rate * share, channels * TREE_LL128_MOST[row][column])
    return rate * 1e9 * 0.5
