"""Beliefs about time: decided by simulation and by formulas."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from collectives.case_study import NBYTES, cluster
from collectives.closed_forms import RING, Setup, closed_form
from collectives.draw.text import nbytes, seconds
from collectives.registry import find
from collectives.sim import Cluster, Hockney, Link, Network
from collectives.study import simulated
from collectives.teach.misconceptions.belief import Evidence, belief

SLOW = Hockney(alpha=5e-6, beta=1 / 10e9)
"""5 us per message, 10 GB/s."""


@cache
def time(name: str, p: int, size: int, network: Network = SLOW, **options: Any) -> float:
    """Return the simulated seconds of ``collective/algorithm`` on a vector of `size` bytes."""
    return simulated(find(*name.split("/")), p, size, network, **options).time_s


@belief(
    3,
    "as it hardly sends more, a ring takes no longer on more ranks",
    "Its 2(p-1) latencies do: short vectors get slower with every rank.",
    source="NCCL 2.30.7, src/graph/tuning.cc: steps times latency",
)
def ring_latency() -> Evidence:
    short = {p: time("allreduce/ring", p, 8 * p) for p in (4, 8, 16, 32)}
    text = ", ".join(map(seconds, short.values()))
    right = all(abs(took / (2 * (p - 1) * 5e-6) - 1) < 0.01 for p, took in short.items())
    return Evidence(right, "simulated", f"8 B per block on 4, 8, 16, 32 ranks: {text}")


def two_nodes() -> tuple[float, float]:
    """Return the times of a ring and of trees, 100 MB on 2 nodes x 8 with one card each."""
    network = Cluster(2, 8, intra=Link(0.6e-6, 300e9), inter=Link(1e-6, 25e9))
    ring = time("allreduce/multi_ring", 16, 100_000_000, network, channels=1)
    tree = time("allreduce/multi_tree", 16, 100_000_000, network, channels=1, segment=1 << 20)
    return ring, tree


@belief(
    4,
    "a ring is always best for long vectors",
    "On 2 nodes less leaves a node with trees; inside a node a switch that adds beats a ring.",
    source="NVIDIA/nccl issues 812, 946; S. Bekman, ml-engineering: 480 GB/s against 367",
)
def ring_on_two_nodes() -> Evidence:
    ring, tree = two_nodes()
    text = f"100 MB, 2 nodes x 8, a card each: ring {seconds(ring)}, trees {seconds(tree)}"
    return Evidence(tree < 0.8 * ring, "simulated", text)


@belief(
    5,
    "a tree is always best for short vectors",
    "Only against a ring: recursive doubling has log2 p steps, up and down a tree 2 log2 p.",
)
def tree_for_short() -> Evidence:
    names = "recursive_doubling", "reduce_bcast", "ring"
    found = [time(f"allreduce/{name}", 8, 8) for name in names]
    text = ", ".join(f"{n} {seconds(t)}" for n, t in zip(names, found, strict=True))
    return Evidence(found == sorted(found), "simulated", f"8 B, 8 ranks: {text}")


@belief(
    13,
    "busbw is the speed of the wire",
    "It is the vector over the time, times 2(p-1)/p: the wire's speed if a flat ring ran. Trees on "
    "2 nodes and switches that add show more than the wire has.",
    source="NVIDIA/nccl-tests issues 153, 196, 274; S. Bekman: 482 on a wire of 450 GB/s",
)
def bus_bandwidth() -> Evidence:
    shown = [2 * 15 / 16 * 100_000_000 / took / 1e9 for took in two_nodes()]
    text = f"2 nodes x 8, a card of 25 GB/s each: busbw of a ring {shown[0]:.1f}, of trees "
    right = shown[0] < 25 < shown[1]
    return Evidence(right, "simulated", f"{text}{shown[1]:.1f} GB/s")


@belief(
    21,
    "more channels are always faster",
    "Up to one for each card; beyond, they take more of the GPU and nothing comes back. Short "
    "vectors want few.",
    source="NVIDIA/nccl issues 524, 1216, 1424; uccl issue 205: too few cost much",
)
def more_channels() -> Evidence:
    took = [closed_form(Setup(RING, c, min(c, 8)), cluster(), NBYTES) for c in (4, 8, 16)]
    text = ", ".join(map(seconds, took))
    right = took[0] > 1.9 * took[1] and abs(took[2] / took[1] - 1) < 0.01
    return Evidence(right, "computed", f"1.2 GB on 8 nodes, 8 cards; 4, 8, 16 channels: {text}")


@belief(
    22,
    "NCCL uses 2 channels by default",
    "It searches the topology until the cards are full, doubles the number, and obeys limits last. "
    "2 is what one GPU with one card per node gives.",
    source="NCCL 2.30.7, search.cc and connect.cc; NVIDIA/nccl-tests issue 108",
)
def default_channels() -> Evidence:
    text = "others saw 16 (pytorch issue 105287) and 24 in an A100 node (NVIDIA/nccl issue 1055)"
    return Evidence(True, "quoted", text)


@belief(
    23,
    "between nodes, collectives are slower by the ratio of the links",
    "Not on rails: all cards work at once, and only reduced parts cross.",
    source="S. Bekman, ml-engineering: about 2 x where links differ by 18 x",
)
def ratio_of_links() -> Evidence:
    network, size = cluster(), 64_000_000
    far = time("allreduce/pipelined_multi_leader", 64, size, network, segment=size // 32)
    near = time("allreduce/ring", 8, size, replace(network, nodes=1))
    links = network.intra.bandwidth / network.inter.bandwidth / network.efficiency
    text = (
        f"{nbytes(size)}, 8 nodes x 8: {far / near:.1f} x one node, links differ by {links:.0f} x"
    )
    return Evidence(far / near < links / 4, "simulated", text)


@belief(
    28,
    "overlapped, ZeRO 3 costs no time",
    "Only if computing a layer takes as long as gathering it and reducing its gradient; and the "
    "first gathering and the last reduction have nothing to hide behind.",
    verdict="half true",
    source="S. Bekman, ml-engineering",
)
def overlap() -> Evidence:
    size = 100_000_000  # of a layer
    gather, reduce = (time(f"{name}/ring", 8, size) for name in ("allgather", "reduce_scatter"))
    slow, fast = (
        step(times * gather, gather, reduce) / (2 * LAYERS * times * gather) for times in (4, 0.5)
    )
    text = (
        f"{LAYERS} layers of 100 MB, {seconds(gather)} to gather: if computing one takes 4 times "
        f"as long, a step takes {slow:.2f} x its computing, if half as long, {fast:.2g} x"
    )
    return Evidence(1 < slow < 1.05 and fast > 2, "computed", text)


LAYERS = 24


def step(compute: float, gather: float, reduce: float) -> float:
    """Return the time of a step of ZeRO 3 that computes one layer while it sends for others.

    Forward and backward, a layer is asked for when the one before it begins; backward, a gradient
    goes when it is there. What is sent goes one after the other.
    """
    begun = ended = link = 0.0  # of the layer before; when the link is free
    for turn in range(2 * LAYERS):
        link = max(link, begun) + gather
        before, begun = ended, max(ended, link)
        ended = begun + compute
        if turn > LAYERS:
            link = max(link, before) + reduce
    return max(link, ended) + reduce


@belief(
    30,
    "many small all-reduces cost the same as one",
    "Each pays all latencies again. So gradients go in buckets.",
    source="S. Bekman, ml-engineering: 1000 x 4 MB took 3 x as long as 4 GB (H200)",
)
def buckets() -> Evidence:
    many, one = 1000 * time("allreduce/ring", 8, 4000), time("allreduce/ring", 8, 4_000_000)
    text = f"8 ranks: 1000 x 4 kB {seconds(many)}, 1 x 4 MB {seconds(one)}"
    return Evidence(many > 10 * one, "simulated", text)


@belief(
    31,
    "Bruck is the faster all-to-all",
    "For short blocks: log2 p steps, but each sends about half of the vector.",
    verdict="half true",
)
def bruck() -> Evidence:
    short, long = (
        [time(f"alltoall/{name}", 8, size) for name in ("bruck", "pairwise")]
        for size in (64, 8_000_000)
    )
    text = f"8 ranks, Bruck and pairwise: 8 B blocks {seconds(short[0])}, {seconds(short[1])}; "
    right = short[0] < short[1] and long[0] > long[1]
    text = f"{text}1 MB blocks {seconds(long[0])}, {seconds(long[1])}"
    return Evidence(right, "simulated", text)


@belief(
    32,
    "all-to-all costs what an allgather costs",
    "As many bytes per rank, but all different: no copy serves a whole node, so shared links fill.",
    source="NVIDIA/nccl-tests issue 235",
)
def shared_links() -> Evidence:
    network = Cluster(2, 4, intra=Link(0, 100e9), inter=Link(0, 10e9))
    swap, spread = (
        time(name, 8, 8_000_000, network) for name in ("alltoall/pairwise", "allgather/ring")
    )
    text = f"8 MB on 2 nodes x 4, a card each: {seconds(swap)}, allgather {seconds(spread)}"
    return Evidence(swap > 2 * spread, "simulated", text)


@belief(
    36,
    "0.9 of the line rate is a law",
    "Others measured 0.73 to 0.97. Give a band, not a number.",
    source="S. Bekman, ml-engineering; NVIDIA/nccl-tests issue 252; NVIDIA/nccl issue 495",
)
def efficiency() -> Evidence:
    took, ring, rails = 22.05, 20.8, 16.1  # ms: measured, and what two schemes need at line rate
    shares = ring / took, rails / took, 24 / 25
    text = (
        f"from quoted times: {took} ms (4 GiB, 4 nodes x 8 B200) are {shares[0]:.0%} of the line "
        f"rate if a ring ran, {shares[1]:.0%} if rails; 24 of 25 GB/s elsewhere {shares[2]:.0%}"
    )
    return Evidence(max(shares) > 0.93 and min(shares) < 0.75, "computed", text)
