"""All-to-all: everyone has a block for everyone; and what happens when one expert is popular.

mpirun -n 8 python lessons/alltoall.py        on 8 MPI ranks
python lessons/alltoall.py                    on 8 simulated ranks, without MPI
"""

import sys

import numpy as np

from collectives import find
from collectives.blocks import even
from collectives.draw import text
from collectives.gpu import to_host
from collectives.sim import Cluster, Link, Phantom, simulate
from collectives.study import simulated
from collectives.teach import runs, show
from collectives.teach.lesson import ALPHA, BETA, Check, at_least, main, slow_links, wrapped
from collectives.teach.prediction import Prediction

PAIRWISE, BRUCK = find("alltoall", "pairwise"), find("alltoall", "bruck")
SHOWN = 8
"""Ranks up to which what rank 0 sends is listed."""
ALLGATHER = find("allgather", "ring")

QUESTION = """
Every rank has another block for every rank. Few messages or few bytes? And who is the bottleneck
when blocks are not alike, as when tokens go to experts?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"Each rank sends its tokens to {text.many(p, 'expert')}, one on each rank. Now half of "
        "all tokens want the expert on rank 0. How many times as much as with equal blocks does "
        "rank 0 receive?"
    ),
    answer=lambda world, options: hot_spot(world),
    unit="x",
)

NEXT = [
    ("-n 6", "no power of two: pairwise takes another schedule"),
    ("-n 32", "Bruck: 5 messages instead of 31, and 2.6 times the bytes"),
    ("--block 1", "blocks of one element: who is faster now?"),
    ("hierarchical", "another way to use the links of nodes"),
    ("collectives grade lessons/exercises/bruck_alltoall.py", "write it yourself"),
]


def popularity(p, options):
    """Return how many elements every rank sends to each expert: half of all to the first."""
    n = options.block * p
    return [n - n // 2, *even(n // 2, p - 1)] if p > 1 else [n]


def measure(comm, options):
    """Record pairwise and Bruck, run them on equal blocks, then pairwise on tokens for experts."""
    p = comm.size
    equal, experts = [options.block] * p, popularity(p, options)
    loads = {
        "pairwise": exchanged(comm, PAIRWISE, equal, options.device),
        "bruck": exchanged(comm, BRUCK, equal, options.device),
        "experts": exchanged(comm, PAIRWISE, experts, options.device, by_counts=True),
    }
    mine = options.device.array(np.zeros(sum(equal), np.float32))
    entries = PAIRWISE, BRUCK, find("alltoall", "builtin")
    shown = comm.size <= SHOWN or options.html  # p * p blocks take their time
    parts = [runs.recorded(comm, entry) for entry in (PAIRWISE, BRUCK)] if shown else []
    return parts, loads, runs.timed(comm, entries, mine, np.empty_like(mine))


def exchanged(comm, entry, counts, device, by_counts=False):
    """Exchange, each rank ``counts[b]`` elements for rank b; return load, and if all is right."""
    rank, p = comm.rank, comm.size
    # Every element says where it is from, and where it is to go.
    sent = np.repeat(np.arange(p) + 1000 * (rank + 1), counts).astype(np.float32)
    wanted = np.repeat(1000 * np.arange(1, p + 1) + rank, counts[rank]).astype(np.float32)
    sent, got = (device.array(array) for array in (sent, np.zeros_like(wanted)))
    given = {"sendcounts": counts, "recvcounts": [counts[rank]] * p} if by_counts else {}
    load = runs.counted(comm, lambda comm, op: entry.function(comm, sent, got, **given))
    return load, bool(np.array_equal(to_host(got), wanted))


def report(world, options):
    """Yield what rank 0 prints."""
    _, results, times = zip(*world.results, strict=True)
    p, n = world.size, options.block
    whole = 4 * n * p
    costs = {entry.name: entry.cost(p, n).times(4) for entry in (PAIRWISE, BRUCK)}
    yield ""
    yield from wrapped(
        "idea   ",
        f"""Row a, block b becomes row b, block a: a matrix is transposed. Pairwise: in each of
        {text.many(p - 1, "step")} send one block and receive one. Bruck: blocks travel in hops of
        1, 2, 4, ... ranks, together with all others that take the same hop:
        {text.many(costs["bruck"].alphas, "step")}, but a block with several hops travels as
        often.""",
    )
    yield ""
    yield from schedule(world, options)
    for name in results[0]:
        wrong = [rank for rank, result in enumerate(results) if not result[name][1]]
        detail = f"wrong on rank {wrong[0]}" if wrong else "every block is where it belongs"
        yield Check(name, not wrong, detail)
    yield traffic(results, costs)
    yield f"\nbytes  counted, of each rank; S = {text.nbytes(whole)}, what a rank holds"
    for name, formula in (
        ("pairwise", "(p-1)/p S in p-1 messages"),
        ("bruck", "about S/2 in each of ceil(log2 p) messages"),
    ):
        load = results[0][name][0]
        yield f"       {name:9}{text.nbytes(load.sent):>8} in {load.messages:2}   formula {formula}"
    yield "limit  short blocks: messages count, Bruck wins; long blocks: bytes count, pairwise wins"
    in_model = {e.name: simulated(e, p, whole, slow_links()).time_s for e in (PAIRWISE, BRUCK)}
    yield from show.times(times[0], in_model)
    if p > 1:
        yield "\nskew   half of all tokens want the expert on rank 0: what every rank receives\n"
        yield from show.bars({"received": [r["experts"][0].received for r in results]}, whole)
        yield ""
        yield from experts(world, options, in_model["pairwise"])
    if p >= 4 and p % 2 == 0:
        yield from shared_cards(p, whole)
    yield """
use    MPICH takes Bruck for short blocks and pairwise, or nonblocking messages, for others. In
       Open MPI 3 is Bruck and 2 pairwise. NCCL's all-to-all is a group of sends and receives."""


def schedule(world, options):
    """Yield what rank 0 sends in each step, or every message where that is wanted."""
    if options.trace == "none" or not 1 < world.size <= SHOWN:
        return
    for run in html(world, options):
        yield f"{run.algorithm}: what rank 0 sends; a>b is the block from rank a, for rank b\n"
        yield from (f"  {line}" for line in show.sends(run))
        yield ""
        if options.trace == "full":
            yield from show.messages(run)


def traffic(results, costs):
    """Check what every rank sent against the formulas, to the byte."""
    for rank, result in enumerate(results):
        for name, cost in costs.items():
            load = result[name][0]
            if (load.messages, load.sent) != (cost.alphas, cost.betas):
                got = f"{load.sent} B in {load.messages} messages"
                wants = f"{cost.betas} B in {cost.alphas}"
                return Check("traffic", False, f"{name}: rank {rank} sent {got}, wants {wants}")
    return Check("traffic", True, "messages and bytes of every rank are those of the formulas")


def hot_spot(world):
    """Return how many times as much rank 0 received when half of all tokens were for it."""
    _, result, _ = world.results[0]
    return result["experts"][0].received / (result["pairwise"][0].received or 1)


def experts(world, options, equal_time):
    """Yield what the hot spot costs, simulated."""
    p, counts = world.size, popularity(world.size, options)

    def program(comm):
        brought, got = (Phantom(n, np.float32) for n in (sum(counts), counts[comm.rank] * p))
        given = {"sendcounts": counts, "recvcounts": [counts[comm.rank]] * p}
        PAIRWISE.function(comm, brought, got, **given)

    took = simulate(program, p, network=slow_links()).time
    yield from wrapped(
        "       ",
        f"""All ranks send as many tokens as before, yet rank 0 receives {hot_spot(world):.3g} times
        as much, and everyone waits for it: {text.seconds(took)} instead of
        {text.seconds(equal_time)} (simulated, {text.seconds(ALPHA)} per message,
        {text.nbytes(1 / BETA)}/s). Hence a limit of tokens per expert, or copies of experts.""",
    )


def shared_cards(p, whole):
    """Yield how all-to-all and allgather, which bring a rank as many bytes, share cards."""
    network = Cluster(2, p // 2, intra=Link(0, 100e9), inter=Link(0, 10e9))
    swap, spread = (simulated(e, p, whole, network).time_s for e in (PAIRWISE, ALLGATHER))
    yield ""
    yield from wrapped(
        "       ",
        f"""An allgather brings a rank as many bytes, but all ranks the same, so that one copy per
        node crosses. On 2 nodes with one network card each: all-to-all {text.seconds(swap)}, ring
        allgather {text.seconds(spread)} (simulated, 100 GB/s inside, 10 GB/s between nodes).""",
    )


def svg(world, options):
    """Return the figure: what every rank holds before and after."""
    from collectives.draw.figures import transpose
    from collectives.recorder import record

    return transpose(record(PAIRWISE, min(world.size, 128)))


def html(world, options):
    """Return the two runs to step through."""
    parts = zip(*(parts for parts, *_ in world.results), strict=True)
    entries = PAIRWISE, BRUCK
    return [runs.recording(world, *each) for each in zip(entries, parts, strict=True)]


def flags(parser):
    """Add the size."""
    parser.add_argument(
        "--block", type=at_least(0), default=25_000,
        help="float32 elements for each rank, where blocks are equal (%(default)s)",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, flags=flags,
        )
    )  # fmt: skip
