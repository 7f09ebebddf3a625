"""Tree all-reduce: up a binomial tree to rank 0, and the result down again.

mpirun -n 8 python lessons/tree_allreduce.py        on 8 MPI ranks
python lessons/tree_allreduce.py                    on 8 simulated ranks, without MPI
"""

import sys

from collectives import find
from collectives.draw import text
from collectives.teach import runs, show
from collectives.teach.lesson import ALPHA, BETA, Check, main
from collectives.teach.prediction import Prediction
from collectives.topology import binomial_children, rounds

TREE, RING = find("allreduce", "reduce_bcast"), find("allreduce", "ring")
PIPELINED = find("allreduce", "binary_tree")

QUESTION = """
A ring takes 2(p-1) steps. A tree takes about 2 log2 p: does it pay with more bytes, and who pays?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"A ring of {text.many(p, 'rank')} sends {2 * (p - 1)} S in all, where S is one vector. "
        "How much does the tree send in all, in S?"
    ),
    answer=lambda world, options: sum(load.sent for _, load, *_ in world.results) / size(options),
    unit="S",
)

NEXT = [
    ("-n 6", "no power of two: nothing special happens"),
    ("--elements 2", "a short vector: compare the times"),
    ("double_binary_tree", "two trees, so that no rank works more than the others"),
    ("collectives show allreduce binary_tree", "the tree in segments, to read"),
]


def size(options):
    """Return S, the bytes of one vector; 1 for an empty one, which has no multiples."""
    return options.elements * options.dtype.itemsize or 1


def measure(comm, options):
    """Run the same function to see who is in which block, to count, and to time."""
    part = runs.recorded(comm, TREE)
    load, total = runs.allreduced(comm, TREE, options)
    return part, load, total, runs.medians(comm, [TREE, RING], options)


def report(world, options):
    """Yield what rank 0 prints."""
    parts, loads, totals, times = zip(*world.results, strict=True)
    p, levels = world.size, rounds(world.size)
    yield f"""
idea   reduce: in {levels} steps every rank but 0 sends the sum of its subtree to its parent;
       broadcast: in {levels} more steps the total goes down the same edges. Whole vectors travel.
"""
    run = runs.recording(world, TREE, parts)
    yield from show.growth(run, options)
    if options.trace == "full":
        yield from show.messages(run)
    yield runs.values(totals, options)
    yield runs.contributions(parts)
    yield from load_checks(loads, options)
    sent, received = ([getattr(load, which) for load in loads] for which in ("sent", "received"))
    yield "\nload   of every rank, in vectors of S\n"
    yield from show.bars({"sent": sent, "received": received}, size(options))
    total, most = sum(sent) / size(options), max(sent) / size(options)
    busiest = ", ".join(f"r{rank}" for rank, load in enumerate(sent) if load == max(sent))
    yield f"""
bytes  counted {total:.4g} S by all ranks together, formula 2(p-1) S = {2 * (p - 1)} S, as a ring.
       "A tree moves 2 log2(p) S" is true of the busiest ranks only, here {busiest}: each
       receives {most:.4g} S and sends {most:.4g} S. A leaf sends S and receives S, and about half
       of all ranks are leaves.
"""
    yield from timing(world, options, times[0])
    yield from limit(p)
    yield """
use    MPI libraries take trees for short vectors; NCCL joins nodes by trees, cut into chunks,
       and inside a node by a chain. `collectives list allreduce` names who ships what."""


def load_checks(loads, options):
    """Check the load of every rank against the tree's edges, to the byte."""
    p, whole = len(loads), options.elements * options.dtype.itemsize
    for rank, load in enumerate(loads):
        edges = len(binomial_children(rank, 0, p)) + (rank > 0)
        if (load.sent, load.received) != (edges * whole, edges * whole):
            got = f"rank {rank} sent {load.sent} B and received {load.received} B"
            yield Check("edges", False, f"{got}, wants {edges * whole} of each")
            return
    yield Check("edges", True, "every rank sends S and receives S on each of its edges")
    total, ring = sum(load.sent for load in loads), RING.cost(p, options.elements).volume
    same = total == ring * options.dtype.itemsize
    yield Check("total", same, f"{text.nbytes(total)} in all, the same as on a ring")


def timing(world, options, times):
    """Yield measured or simulated times, and the formula of the tree."""
    simulated = runs.simulated([TREE, RING], world.size, options)
    yield from show.times(times, simulated)
    cost = TREE.cost(world.size, options.elements).times(options.dtype.itemsize)
    model = text.seconds(cost.time(ALPHA, BETA, gamma=0))
    if world.is_simulated:
        yield f"       formula of the tree: 2 ceil(log2 p) (alpha + S beta) = {model}"


def limit(p):
    """Yield what pipelining does to a long vector: the log stays with alpha only."""
    n = 1 << 24
    whole = 4 * n * BETA
    size = text.nbytes(4 * n)
    yield f"\nlimit  a long vector ({size}) in segments, up and down at once, simulated"
    for pieces in (1, 4, 16, 64, 256):
        time = runs.simulated_time(PIPELINED, p, n, segment=n // pieces)
        yield f"       {pieces:4} segments  {text.seconds(time):>8}  = {time / whole:5.3g} S beta"
    yield "       log2 p stays with alpha; but who has a parent and two children still sends 3 S"


def svg(world, options):
    """Return the figure: the tree over the load of its ranks."""
    from collectives.draw.figures import trees

    return trees(*html(world, options))


def html(world, options):
    """Return the run to step through."""
    return [runs.recording(world, TREE, [part for part, *_ in world.results])]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=100_000,
        )
    )  # fmt: skip
