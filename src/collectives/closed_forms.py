"""How long an all-reduce takes on a cluster, by formula: rings, trees and rails over its cards.

Each formula is compared with the simulation of the algorithm (``tests/test_study.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from collectives.registry import find
from collectives.sim import Cluster, Link
from collectives.study import DTYPE, Simulated, simulated

RING, TREE = "multi_ring", "multi_tree"
HIERARCHICAL, PIPELINED = "multi_leader", "pipelined_multi_leader"


@dataclass(frozen=True)
class Setup:
    """A way to run the all-reduce.

    Attributes
    ----------
    algorithm : str
        `RING` and `TREE` have channels, `HIERARCHICAL` and `PIPELINED` a rail for each rank of a
        node.
    channels : int
        Channel i uses card i modulo the number of cards.
    nics : int
        Network cards of a node that are used.
    segments : int
        How many one after the other: of the vector, of each tree's part. 1 where nothing is cut.
    """

    algorithm: str
    channels: int
    nics: int
    segments: int = 1

    def place(self, network: Cluster) -> Cluster:
        """Return the cluster with as many cards as are used, and the ranks on their cards."""
        last = min(self.channels, network.ranks_per_node) - 1
        # The ring of channel i enters a node at rank i and leaves it at the rank before.
        cards = [min(rank, last) % self.nics for rank in range(network.ranks_per_node)]
        return replace(network, nics_per_node=self.nics, rank_to_nic=cards)

    def options(self, nbytes: int) -> dict[str, Any]:
        """Return the options of the algorithm."""
        if self.algorithm == HIERARCHICAL:
            return {}
        parts = {RING: 1, TREE: 2 * self.channels, PIPELINED: 1}[self.algorithm]
        segment = {"segment": -(-nbytes // DTYPE.itemsize // parts // self.segments)}
        channels = {"channels": self.channels}
        return {RING: channels, TREE: channels | segment, PIPELINED: segment}[self.algorithm]

    def simulate(self, network: Cluster, nbytes: int) -> Simulated:
        """Run it on all ranks of the cluster."""
        p = network.nodes * network.ranks_per_node
        entry = find("allreduce", self.algorithm)
        return simulated(entry, p, nbytes, self.place(network), **self.options(nbytes))


def closed_form(setup: Setup, network: Cluster, nbytes: int) -> float:
    """Return the time of an all-reduce on all ranks of a cluster, in seconds.

    The busiest card carries ``ceil(channels / nics)`` channels. Of a tree it is that between the
    nodes: the chains inside do not hold it up, nor does latency as long as a segment takes longer;
    how long the pipeline takes to fill is simulated, see `tree_volume`. The others are formulas.
    """
    nodes, per_node = network.nodes, network.ranks_per_node
    busiest = -(-setup.channels // setup.nics)
    card, port = network.inter.bandwidth * network.efficiency, network.intra.bandwidth
    inter, intra = network.inter.alpha, network.intra.alpha
    part = nbytes / setup.channels
    if setup.algorithm == RING:
        p = nodes * per_node
        step = max(busiest * part / card, nbytes / port) / p + inter
        return 2 * (p - 1) * step
    if setup.algorithm == TREE:
        return tree_volume(nodes, setup.segments) * busiest * part / card
    on_node = nbytes / setup.segments * (per_node - 1) / per_node / port
    on_rail = busiest * nbytes / setup.segments / per_node * (nodes - 1) / nodes / card
    if setup.algorithm == HIERARCHICAL:  # rings on the node, halving and doubling on the rail
        rounds = (nodes - 1).bit_length()
        return 2 * (on_node + (per_node - 1) * intra + on_rail + rounds * inter)
    return sum(
        max(on_node * phases.count("node") + intra, on_rail * phases.count("rail") + inter)
        for phases in _steps(setup.segments)
    )


def _steps(segments: int) -> Iterator[list[str]]:
    """Yield where the segments that are under way are, in every step of the pipeline."""
    phases = ["node", "rail", "rail", "node"]
    for step in range(segments + 3):
        yield phases[max(step - segments + 1, 0) : step + 1]


@cache
def tree_volume(nodes: int, segments: int) -> float:
    """Return for how many vectors a card is busy, or idle, in a double binary tree: 2 and a bit.

    Simulated with one rank per node and no latency, where time scales exactly.
    """
    nbytes = 2 * segments * DTYPE.itemsize
    link = Link(0, nbytes)  # a second per vector
    network = Cluster(nodes, 1, intra=link, inter=link)
    tree = find("allreduce", TREE)
    return simulated(tree, nodes, nbytes, network, channels=1, segment=1).time_s


def without_latency(network: Cluster) -> Cluster:
    """Return the cluster with bandwidth as its only limit."""
    return replace(
        network, intra=replace(network.intra, alpha=0.0), inter=replace(network.inter, alpha=0.0)
    )
