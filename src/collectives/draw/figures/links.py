"""The bytes that a run sent over every link of a machine with nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from collectives.draw.text import nbytes as in_bytes
from collectives.recording import Recording

if TYPE_CHECKING:
    from collectives.sim.cluster import Cluster

Ends: TypeAlias = tuple[int, int]
"""Two ranks on a node, or two network cards, counted through all nodes; the lower one first."""


@dataclass(frozen=True)
class Traffic:
    """What went over the links of a run: bytes to the higher end and to the lower one.

    Attributes
    ----------
    per_node, nics : int
        Ranks and network cards of a node.
    inside, between : dict
        By the two ranks, and by the two network cards.
    card : list of int
        The network card of each rank.
    """

    per_node: int
    nics: int
    inside: dict[Ends, tuple[int, int]]
    between: dict[Ends, tuple[int, int]]
    card: list[int]

    @property
    def busiest(self) -> int:
        """The most bytes that went over a link in one direction."""
        return max(
            (max(both) for both in (*self.inside.values(), *self.between.values())), default=0
        )

    def leaving(self, nic: int) -> int:
        """Return the bytes that left through one network card."""
        return sum(
            up * (nic == low) + down * (nic == high)
            for (low, high), (up, down) in self.between.items()
        )


def traffic(
    recording: Recording, per_node: int | None = None, network: Cluster | None = None
) -> Traffic:
    """Return the bytes on every link; ranks ``i * per_node`` and up are on node i.

    Messages that never arrived do not count. A node has one network card, or those of `network`.
    `per_node` is that of `network`, or the option of the algorithm, where it is not given.
    """
    if per_node is None:
        per_node = network.ranks_per_node if network else recording.options.get("per_node")
    if per_node is None:
        raise ValueError(
            f"nothing says how many ranks of {recording} are on a node: record it on a network "
            "with nodes, such as a100-8x8, or give per_node"
        )
    if per_node < 1:
        raise ValueError(f"per_node is {per_node}, wants at least 1")
    if network is not None and network.ranks_per_node != per_node:
        raise ValueError(f"per_node is {per_node}, the network has {network.ranks_per_node}")
    nics = network.nics_per_node if network is not None else 1
    of_rank = network.nics if network is not None else (0,) * per_node
    card = [r // per_node * nics + of_rank[r % per_node] for r in range(recording.ranks)]
    inside, between = dict[Ends, tuple[int, int]](), dict[Ends, tuple[int, int]]()
    for message in recording.messages():
        source, dest = message.send.rank, message.send.peer
        if source == dest or not math.isfinite(message.end):
            continue
        same = source // per_node == dest // per_node
        links = inside if same else between
        one, other = (source, dest) if same else (card[source], card[dest])
        up, down = links.get((min(one, other), max(one, other)), (0, 0))
        n = message.send.nbytes
        links[min(one, other), max(one, other)] = (up + n, down) if one < other else (up, down + n)
    return Traffic(per_node, nics, inside, between, card)


def cluster(recording: Recording) -> Cluster | None:
    """Return the preset network with nodes that a run was simulated on, if it was on one."""
    from collectives.sim.cluster import Cluster
    from collectives.sim.presets import PRESETS

    preset = PRESETS.get(recording.where) if recording.simulated else None
    return preset.network if preset and isinstance(preset.network, Cluster) else None


def together(recordings: Sequence[Recording]) -> str:
    """Name recordings in a title, ranks and bytes once where all have the same."""
    settings = {f"p = {r.ranks}, S = {in_bytes(r.nbytes)}" for r in recordings}
    if len(settings) == 1:
        return f"{settings.pop()}: {', '.join(map(str, recordings))}"
    return ", ".join(f"{r} (p = {r.ranks}, S = {in_bytes(r.nbytes)})" for r in recordings)
