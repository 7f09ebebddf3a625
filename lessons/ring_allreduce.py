"""Ring all-reduce: everyone gets the sum, and nobody sends to anyone but the right neighbour.

mpirun -n 8 python lessons/ring_allreduce.py        on 8 MPI ranks
python lessons/ring_allreduce.py                    on 8 simulated ranks, without MPI
"""

import sys

from collectives import find
from collectives.blocks import even
from collectives.draw import text
from collectives.teach import runs, show
from collectives.teach.lesson import ALPHA, BETA, Check, main
from collectives.teach.prediction import Prediction

RING, BUILTIN = find("allreduce", "ring"), find("allreduce", "builtin")

QUESTION = """
How can everyone get the sum of all vectors, when no rank may send or receive more than another?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"How many bytes does each of {text.many(p, 'rank')} send, of a vector of "
        f"{text.nbytes(options.elements * options.dtype.itemsize)}?"
    ),
    answer=lambda world, options: most_sent(world),
    unit="B",
)

NEXT = [
    ("-n 5", "blocks of unequal length"),
    ("--elements 3", "fewer elements than ranks"),
    ("--trace full", "every message, with its source line"),
    ("tree_allreduce", "the same sum in about log p steps"),
    ("collectives grade lessons/exercises/ring_allreduce.py", "write it yourself"),
]


def measure(comm, options):
    """Run the same function three times: to see who is in which block, to count, to time."""
    part = runs.recorded(comm, RING)
    load, total = runs.allreduced(comm, RING, options)
    return part, load, total, runs.medians(comm, [RING, BUILTIN], options)


def report(world, options):
    """Yield what rank 0 prints: the idea, the run step by step, the checks, the numbers."""
    parts, loads, totals, times = zip(*world.results, strict=True)
    p, n, itemsize = world.size, options.elements, options.dtype.itemsize
    yield f"""
idea   reduce-scatter ({p - 1} steps), then allgather ({p - 1} steps): in every step each rank sends
       one block, 1/{p} of the vector, to its right. Block b ends complete at rank b, its owner.
       (In the chapter's pseudocode rank r ends up owning block r + 1; here the owner of a block
       is its rank, so that the first phase is exactly reduce-scatter.)
"""
    yield from show.steps(runs.recording(world, RING, parts), options)

    cost = RING.cost(p, n).times(itemsize)
    yield runs.values(totals, options)
    yield runs.contributions(parts)
    yield traffic(loads, options)
    steps = {load.steps for load in loads}
    yield Check("steps", steps == {cost.alphas}, f"{max(steps)} on the busiest rank = 2(p-1)")

    formula = 2 * (p - 1) / p * n * itemsize
    size = text.nbytes(n * itemsize)
    yield ""
    yield f"bytes  counted {text.nbytes(most_sent(world))} sent by the busiest rank, S = {size}"
    yield f"       formula {text.nbytes(formula)} = 2(p-1)/p S, the average over ranks"
    yield "limit  2 S for many ranks: more ranks add steps, not bytes; so latency grows with p"
    yield from timing(world, options, cost, times[0])
    yield """
use    NCCL's Ring algorithm is this one, cut into channels and smaller pieces; MPICH and Open MPI
       have it too, for long vectors. `collectives show allreduce ring` names them all."""


def traffic(loads, options):
    """Check what every rank sent, to the byte."""
    p, n = len(loads), options.elements
    sizes = even(n, p)
    for rank, load in enumerate(loads):
        wanted = (2 * n - sizes[rank] - sizes[(rank + 1) % p]) * options.dtype.itemsize
        if (load.sent, load.messages) != (wanted * (p > 1), 2 * (p - 1)):
            got = f"{load.sent} B in {load.messages} messages"
            wants = f"{wanted} B in {2 * (p - 1)}"
            return Check("traffic", False, f"rank {rank} sent {got}, wants {wants}")
    detail = "each rank sends all blocks but its own, then all but its right neighbour's"
    return Check("traffic", True, detail)


def most_sent(world):
    """Return the bytes that the busiest rank sent."""
    return max(load.sent for _, load, *_ in world.results)


def timing(world, options, cost, times):
    """Yield the measured, or simulated, times."""
    if world.is_simulated:
        simulated = runs.simulated([RING], world.size, options)["ring"]
        model = cost.time(ALPHA, BETA, gamma=0)
        yield f"time   simulated {text.seconds(simulated)}, formula {text.seconds(model)}"
        yield "       (5 us per message, 10 GB/s per direction; adding is free)"
    else:
        ring, builtin = times["ring"], times["builtin"]
        yield (
            f"time   ring {text.seconds(ring)}, built-in {text.seconds(builtin)}, "
            f"ratio {ring / builtin:.2f}"
        )
        yield "       (measured: medians of 7 runs of the slowest rank, after warm-up)"


def svg(world, options):
    """Return the figure: who is in which block, step by step."""
    from collectives.draw.figures import contribution_grid

    return contribution_grid(html(world, options)[0])


def html(world, options):
    """Return the run to step through."""
    return [runs.recording(world, RING, [part for part, *_ in world.results])]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=100_000,
        )
    )  # fmt: skip
