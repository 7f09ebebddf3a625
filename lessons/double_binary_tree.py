"""Double binary tree: two trees, and who is a leaf in one works in the other.

mpirun -n 8 python lessons/double_binary_tree.py        on 8 MPI ranks
python lessons/double_binary_tree.py                    on 8 simulated ranks, without MPI
"""

import sys
from collections import Counter

import numpy as np

from collectives import find
from collectives.blocks import even
from collectives.draw import text
from collectives.teach import runs, show
from collectives.teach.lesson import ALPHA, BETA, Check, main
from collectives.teach.prediction import Prediction
from collectives.topology import tree_of_nodes, tree_pair

DOUBLE, SINGLE, RING = (
    find("allreduce", name) for name in ("double_binary_tree", "binary_tree", "ring")
)
LONG = 1 << 24
"""Elements of the long vector, which is simulated only."""

QUESTION = """
In one binary tree half of the ranks are leaves with little to do. Do two trees, with half of the
vector each, give every rank the same work?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"How many of {text.many(p, 'rank')} send exactly 2 S? "
        f"(In a single tree, the busiest send {most_edges(p)} S.)"
    ),
    answer=lambda world, options: sum(
        load.sent == 2 * options.elements * options.dtype.itemsize for _, load, *_ in world.results
    ),
    unit="ranks",
)

NEXT = [
    ("-n 7", "an odd number of ranks: one of them is inner in both trees"),
    ("-n 64 --elements 1000", "many ranks, a short vector: compare the times with the ring's"),
    ("--trace full", "every message"),
    ("tree_allreduce", "the single tree again"),
    ("halving_doubling", "as few steps as a tree and as few bytes as a ring"),
    ("collectives grade lessons/exercises/double_tree.py", "write it yourself"),
]


def measure(comm, options):
    """Run the two trees and the single one counted; record and time the two."""
    part = runs.recorded(comm, DOUBLE)
    load, total = runs.allreduced(comm, DOUBLE, options)
    single, _ = runs.allreduced(comm, SINGLE, options)
    return part, load, single, total, runs.medians(comm, [DOUBLE, SINGLE, RING], options)


def report(world, options):
    """Yield what rank 0 prints."""
    parts, loads, singles, totals, times = zip(*world.results, strict=True)
    p, whole = world.size, options.elements * options.dtype.itemsize
    run = runs.recording(world, DOUBLE, parts)
    yield """
idea   cut the vector in two halves; each is reduced and broadcast along a tree of its own. The
       second tree is the first one mirrored (shifted by one for odd p), so that leaves and inner
       ranks change places.
"""
    yield from roles(p)
    yield ""
    yield from show.growth(run, options, block=0, what="the first half")
    yield from show.growth(run, options, block=p - 1, what="the second half")
    if options.trace == "full":
        yield from show.messages(run)
    yield runs.values(totals, options)
    yield runs.contributions(parts)
    yield load_check(loads, options)
    yield "\nload   sent by every rank, in vectors of S (received: the same)\n"
    columns = {"single tree": singles, "double tree": loads}
    sent = {name: [load.sent for load in each] for name, each in columns.items()}
    yield from show.bars(sent, whole or 1)
    mean = sum(load.sent for load in loads) / p / (whole or 1)
    yield f"""
bytes  counted {mean:.4g} S on average, formula 2(p-1)/p S = {2 * (p - 1) / p:.4g} S, as a ring.
       In a ring every rank sends that; two trees have up to 2 S: a little more. What they save
       is latency, log2 p instead of p: it pays for short vectors, and on many ranks.
"""
    yield from show.times(times[0], runs.simulated([DOUBLE, SINGLE, RING], p, options))
    yield "       Here halves travel whole, and wait for each other level by level: see the limit."
    yield from limits(p)
    yield """
use    NCCL's Tree algorithm is this one, between nodes only; inside a node its trees are chains
       (its maintainers: NVIDIA/nccl issues 545 and 673). The two-tree idea is from P. Sanders,
       J. Speck, J. L. Traff, Parallel Computing 35, 2009."""


def edges(rank, p):
    """Return parent and children of a rank in each tree."""
    return [tree_of_nodes(rank, nodes)[:2] for nodes in tree_pair(p, per_node=1)]


def most_edges(p):
    """Return how many edges the busiest rank of a single tree has: so often it sends S."""
    ends = (edges(rank, p)[0] for rank in range(p))
    return max((parent is not None) + len(children) for parent, children in ends)


def roles(p):
    """Yield what every rank is in both trees."""
    yield f"rank  {'first tree':38}second tree"
    for rank in range(min(p, 16)):
        cells = []
        for parent, children in edges(rank, p):
            role = "root" if parent is None else "inner" if children else "leaf"
            above = "" if parent is None else f", below r{parent}"
            below = f", above {' and '.join(f'r{child}' for child in children)}" * bool(children)
            cells.append(f"{role}{above}{below}")
        yield f"r{rank:<5}{cells[0]:38}{cells[1]}"
    if p > 16:
        yield f"(and {p - 16} more)"


def load_check(loads, options):
    """Check that every rank sends and receives a half on each of its edges, to the byte."""
    p = len(loads)
    halves = [size * options.dtype.itemsize for size in even(options.elements, 2)]
    for rank, load in enumerate(loads):
        wanted = sum(
            half * (len(children) + (parent is not None))
            for half, (parent, children) in zip(halves, edges(rank, p), strict=True)
        )
        if (load.sent, load.received) != (wanted, wanted):
            got = f"rank {rank} sent {load.sent} B and received {load.received} B"
            return Check("edges", False, f"{got}, wants {wanted} of each")
    return Check("edges", True, "every rank sends and receives half of S on each of its edges")


def limits(p):
    """Yield four limits of "all links are busy"."""
    yield "\nlimit  'all links are busy': nearly. The two roots have one child each: half the load"
    yield "       (with odd p one rank is inner in both trees). Ranks by what they send:"
    for ranks in dict.fromkeys((8, 13, 16, 64, p)):
        sent = Counter(sent_by_rank(ranks))
        shown = ", ".join(f"{count} x {load:g} S" for load, count in sorted(sent.items()))
        yield f"       p = {ranks:3}  {shown}"
    pairs = {frozenset((r, e)) for r in range(p) for e, _ in edges(r, p) if e is not None}
    yield f"       Of {p * (p - 1) // 2} pairs of ranks {len(pairs)} ever talk."
    size = text.nbytes(4 * LONG)
    yield f"       Filling and draining the trees costs time too ({size}, simulated, this p):"
    for pieces in (1, 8, 64, 512):
        time = runs.simulated_time(DOUBLE, p, LONG, segment=LONG // 2 // pieces)
        share = f"{time / (4 * LONG * BETA):5.3g} S beta"
        yield f"       {pieces:4} segments  {text.seconds(time):>8}  = {share}"
    ring = RING.cost(p, LONG).times(4).time(ALPHA, BETA, gamma=0)
    yield f"                 ring {text.seconds(ring):>9}  = {ring / (4 * LONG * BETA):5.3g} S beta"


def sent_by_rank(p):
    """Return what each of p simulated ranks sends, in vectors."""
    from collectives.sim import Phantom, simulate

    mine, total = Phantom(64, np.float32), Phantom(64, np.float32)
    run = simulate(lambda comm: DOUBLE.function(comm, mine, total), p)
    return [nbytes / mine.nbytes for nbytes in run.nbytes]


def svg(world, options):
    """Return the figure: both trees over the load of every rank."""
    from collectives.draw.figures import trees

    return trees(*html(world, options))


def html(world, options):
    """Return the run to step through."""
    return [runs.recording(world, DOUBLE, [part for part, *_ in world.results])]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=100_000,
        )
    )  # fmt: skip
