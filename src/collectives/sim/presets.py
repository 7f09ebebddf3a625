"""Networks by name, each with the source of every number."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectives.sim.cluster import Cluster, Link
from collectives.sim.network import Hockney, Network


@dataclass(frozen=True)
class Preset:
    """A network that has a name.

    Attributes
    ----------
    name : str
        What `preset` is asked for.
    summary : str
        One line about it.
    network : Network
        The network; `dataclasses.replace` changes a field.
    sources : dict of str to str
        Where each number comes from, by field; ``intra.alpha`` is the alpha of the field intra.
    """

    name: str
    summary: str
    network: Network
    sources: dict[str, str]


_NCCL = (
    "what NCCL 2.30.7 assumes for a ring step over NVLink, LL protocol (src/graph/tuning.cc); its "
    "Simple protocol, 3.4 us, holds synchronisation that is not modelled"
)
_INFINIBAND = (
    "0.6 us for two ConnectX-6 adapters and 0.13 us for each of three Quantum switches, as the "
    "vendor describes its products: 1.0 us; what software adds is not in it"
)
_EFFICIENCY = "assumed: the share that the case study's closed forms use"
_GAMMA = "chosen: a GPU combines while it receives, as in the closed forms"
_RENDEZVOUS = "chosen: every send waits for its receive, so that no run relies on buffering"
_NODE = "chosen: the size of the cluster in question"
_CARDS = "{} has a compute network card for each of its 8 GPUs (NVIDIA's user guide)"

_A100 = Preset(
    name="a100-8x8",
    summary="8 nodes x 8 A100: NVLink 300 GB/s, 8 x 200 Gb/s InfiniBand at 0.9 efficiency",
    network=Cluster(
        nodes=8, ranks_per_node=8, nics_per_node=8, efficiency=0.9,
        intra=Link(alpha=0.6e-6, bandwidth=300e9), inter=Link(alpha=1e-6, bandwidth=25e9),
    ),
    sources={
        "nodes": _NODE,
        "ranks_per_node": "DGX A100: 8 GPUs",
        "intra.alpha": _NCCL,
        "intra.bandwidth": "A100: 12 NVLinks, 600 GB/s in both directions together (NVIDIA)",
        "inter.alpha": _INFINIBAND,
        "inter.bandwidth": "HDR InfiniBand: 200 Gb/s in each direction",
        "nics_per_node": _CARDS.format("DGX A100"),
        "efficiency": _EFFICIENCY,
        "gamma": _GAMMA,
        "eager_limit": _RENDEZVOUS,
    },
)  # fmt: skip

_H100 = Cluster(
    nodes=8, ranks_per_node=8, nics_per_node=8, efficiency=0.9,
    intra=Link(alpha=0.6e-6, bandwidth=450e9), inter=Link(alpha=1e-6, bandwidth=50e9),
)  # fmt: skip
_H100_SOURCES = {
    "nodes": _NODE,
    "ranks_per_node": "DGX H100: 8 GPUs",
    "intra.alpha": _NCCL,
    "intra.bandwidth": "H100: 18 NVLinks, 900 GB/s in both directions together (NVIDIA)",
    "inter.alpha": f"as for the older cards, for want of a number: {_INFINIBAND}",
    "inter.bandwidth": "NDR InfiniBand: 400 Gb/s in each direction",
    "nics_per_node": _CARDS.format("DGX H100"),
    "efficiency": _EFFICIENCY,
    "gamma": _GAMMA,
    "eager_limit": _RENDEZVOUS,
}

_FITTED = "fitted on 2026-11-29 by ping-pong (MPICH 5.0.2), 8 ranks on a 2-core machine"
_LAPTOP = Preset(
    name="laptop-8",
    summary="8 MPI ranks on a small machine, fitted by ping-pong on 2 cores",
    network=Hockney(alpha=50.9e-6, beta=1 / 2.95e9, gamma=1 / 22.3e9),
    sources={
        "alpha": f"{_FITTED}: 50.9 us, in which waiting for a turn on a core is the most",
        "beta": f"{_FITTED}: 2.95 GB/s",
        "gamma": f"{_FITTED}, by adding float64: 22.3 GB/s",
        "eager_limit": _RENDEZVOUS,
    },
)

_ETHERNET = Preset(
    name="ethernet-10g",
    summary="one rank per machine on 10 Gb/s Ethernet with TCP",
    network=Hockney(alpha=20e-6, beta=1 / 1.25e9),
    sources={
        "alpha": "20 us end to end between applications: J. Hurwitz, W. Feng, Initial End-to-End "
        "Performance Evaluation of 10-Gigabit Ethernet, Hot Interconnects 11, 2003",
        "beta": "10 Gb/s = 1.25 GB/s in each direction, the line rate: protocols take some of it",
        "gamma": "chosen: not counted, a core adds much faster than this network sends",
        "eager_limit": _RENDEZVOUS,
    },
)

PRESETS: dict[str, Preset] = {
    entry.name: entry
    for entry in (
        _A100,
        Preset(
            "h100-8", "1 node of 8 H100: NVLink 450 GB/s", replace(_H100, nodes=1), _H100_SOURCES
        ),
        Preset(
            "h100-8x8",
            "8 nodes x 8 H100: NVLink 450 GB/s, 8 x 400 Gb/s InfiniBand at 0.9 efficiency",
            _H100,
            _H100_SOURCES,
        ),
        _LAPTOP,
        _ETHERNET,
    )
}
"""All of them, by name."""


def preset(name: str) -> Network:
    """Return the network of this name; ValueError lists the names there are.

    Examples
    --------
    >>> preset("ethernet-10g").ports(2).carry(0, 1, nbytes=1_250_000, start=0.0)
    (0.00102, 0.00102)
    """
    if name not in PRESETS:
        raise ValueError(f"no network {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name].network
