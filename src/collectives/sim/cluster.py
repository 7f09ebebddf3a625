"""Clusters: nodes of several ranks, with links inside a node and network cards between nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from collectives.sim.network import Ports, check_eager_limit, check_not_negative


@dataclass(frozen=True)
class Link:
    """One full-duplex port: a message of m bytes holds it for ``m / bandwidth`` seconds.

    Parameters
    ----------
    alpha : float
        Seconds that each message takes besides; the port is free meanwhile.
    bandwidth : float
        Bytes per second, in each direction.
    """

    alpha: float
    bandwidth: float

    def __post_init__(self) -> None:
        check_not_negative(self, "alpha")
        if not (isinstance(self.bandwidth, Real) and self.bandwidth > 0):
            raise ValueError(f"bandwidth is {self.bandwidth!r}, wants bytes per second > 0")


@dataclass(frozen=True)
class Cluster:
    """Nodes whose ranks share network cards; inside a node each rank has a port of its own.

    Ranks ``node * ranks_per_node`` and up are on a node. A message inside a node takes the
    sender's port out and the receiver's port in; one between nodes the sender's card out and the
    receiver's card in. These four are different resources, so that a rank can use port and card,
    in and out, at the same time; the switches between them never block.

    Each resource is a queue of its own, first come, first served: a message of m bytes holds the
    one out for ``m / bandwidth`` seconds, from when that is free; and the one in for as long, from
    the same moment, or when that is free. It has arrived ``alpha`` seconds after it passed the
    latter. Two messages over one card thus share it, one after the other. Why so, and what is left
    out, says ``docs/model.md``.

    Parameters
    ----------
    nodes, ranks_per_node : int
        How many there are; a run may have fewer ranks.
    intra, inter : Link
        Each rank's port to the ranks on its node; each network card.
    nics_per_node : int
        Network cards of a node.
    rank_to_nic : sequence of int or callable, optional
        Which card, from 0, each rank of a node uses: a list, or a function of the rank's number on
        its node. Where not given, consecutive ranks share a card.
    efficiency : float
        The part of the bandwidth of `inter` that data get, at most 1.
    gamma : float
        Seconds per byte combined (charged for `Phantom` arrays).
    eager_limit : float
        Messages of fewer bytes are buffered and leave at once; 0: every send waits for its
        receive (rendezvous).

    Examples
    --------
    >>> from collectives.sim import Phantom, simulate
    >>> node = Cluster(2, 2, intra=Link(0, 100e9), inter=Link(0, 25e9), nics_per_node=1)
    >>> def program(comm):  # ranks 0 and 1 send to ranks 2 and 3, through one card
    ...     if comm.rank < 2:
    ...         comm.Send(Phantom(25_000_000_000, "u1"), dest=comm.rank + 2)
    ...     else:
    ...         comm.Recv(Phantom(25_000_000_000, "u1"), source=comm.rank - 2)
    >>> simulate(program, 4, network=node).clocks
    [1.0, 2.0, 1.0, 2.0]
    """

    nodes: int
    ranks_per_node: int
    intra: Link
    inter: Link
    nics_per_node: int = 1
    rank_to_nic: Sequence[int] | Callable[[int], int] | None = None
    efficiency: float = 1.0
    gamma: float = 0.0
    eager_limit: float = 0

    overhead = 0.0

    def __post_init__(self) -> None:
        for name in ("nodes", "ranks_per_node", "nics_per_node"):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= 1):
                raise ValueError(f"{name} is {value!r}, wants an integer >= 1")
            object.__setattr__(self, name, int(value))
        for name in ("intra", "inter"):
            value = getattr(self, name)
            if not isinstance(value, Link):
                raise ValueError(f"{name} is {value!r}, wants a Link")
        if not (isinstance(self.efficiency, Real) and 0 < self.efficiency <= 1):
            raise ValueError(f"efficiency is {self.efficiency!r}, wants 0 < efficiency <= 1")
        check_not_negative(self, "gamma")
        check_eager_limit(self.eager_limit)
        chosen, nics = self.rank_to_nic, self.nics
        if len(nics) != self.ranks_per_node or any(
            not (isinstance(nic, int | np.integer) and 0 <= nic < self.nics_per_node)
            for nic in nics
        ):
            wanted = f"{self.ranks_per_node} of 0..{self.nics_per_node - 1}"
            raise ValueError(f"rank_to_nic is {list(nics)}, wants {wanted}")
        if chosen is not None and not callable(chosen):
            object.__setattr__(self, "rank_to_nic", tuple(map(int, nics)))

    @property
    def nics(self) -> tuple[int, ...]:
        """The network card of each rank of a node."""
        ranks, cards, chosen = range(self.ranks_per_node), self.nics_per_node, self.rank_to_nic
        if chosen is None:
            return tuple(local * cards // self.ranks_per_node for local in ranks)
        if callable(chosen):
            return tuple(map(chosen, ranks))
        if not isinstance(chosen, Iterable):
            raise ValueError(f"rank_to_nic is {chosen!r}, wants a list or a function")
        return tuple(chosen)

    def ports(self, size: int) -> Ports:
        nodes, per_node = self.nodes, self.ranks_per_node
        if size > nodes * per_node:
            raise ValueError(
                f"{size} ranks, wants at most {nodes * per_node}: {nodes} nodes x {per_node} ranks"
            )
        return _SharedLinks(self, size)


class _SharedLinks:
    """When every port and card is free again, out and in.

    Ports are numbered as their ranks, cards from `size` on.
    """

    def __init__(self, cluster: Cluster, size: int) -> None:
        per_node, cards, nics = cluster.ranks_per_node, cluster.nics_per_node, cluster.nics
        self.node = [rank // per_node for rank in range(size)]
        self.card = [
            size + node * cards + nics[rank % per_node] for rank, node in enumerate(self.node)
        ]
        self.out_free, self.in_free = ([0.0] * (max(self.card) + 1) for _ in range(2))
        self.intra = cluster.intra.alpha, cluster.intra.bandwidth
        self.inter = cluster.inter.alpha, cluster.inter.bandwidth * cluster.efficiency

    def free(self, source: int, dest: int) -> float:
        return self.out_free[self.bottleneck(source, dest)]

    def bottleneck(self, source: int, dest: int) -> int:
        return source if self.node[source] == self.node[dest] else self.card[source]

    def carry(self, source: int, dest: int, nbytes: int, start: float) -> tuple[float, float]:
        alpha, bandwidth = self.intra
        if self.node[source] != self.node[dest]:
            source, dest = self.card[source], self.card[dest]
            alpha, bandwidth = self.inter
        took, busy = nbytes / bandwidth, self.in_free[dest]
        self.out_free[source] = sent = start + took
        self.in_free[dest] = received = (busy if busy > start else start) + took
        return sent, received + alpha
