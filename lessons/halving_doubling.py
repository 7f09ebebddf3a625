"""Halving and doubling: as few bytes as a ring, as few steps as a tree (Rabenseifner).

mpirun -n 8 python lessons/halving_doubling.py        on 8 MPI ranks
python lessons/halving_doubling.py                    on 8 simulated ranks, without MPI
"""

import sys

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.teach import runs, show
from collectives.teach.lesson import Check, main
from collectives.teach.prediction import Prediction
from collectives.topology import fold_runs, largest_power

HALVING, DOUBLING, RING = (
    find("allreduce", name) for name in ("rabenseifner", "recursive_doubling", "ring")
)

QUESTION = """
A ring sends the fewest bytes, in 2(p-1) steps. Is there a way with as few bytes in 2 log2 p steps?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"Recursive doubling exchanges whole vectors, in log2 p steps. Halving and doubling "
        f"exchanges a half, a quarter, ... How much does the busiest of {text.many(p, 'rank')} "
        "send, in S?"
    ),
    answer=lambda world, options: (
        max(load.sent for _, load, *_ in world.results)
        / (options.elements * options.dtype.itemsize or 1)
    ),
    unit="S",
)

NEXT = [
    ("-n 6", "no power of two: two ranks stay out"),
    ("--elements 2", "a short vector: only steps count"),
    ("choose_wisely", "which of them all is fastest, when?"),
    ("collectives grade lessons/exercises/halving_doubling.py", "write it yourself"),
]


def measure(comm, options):
    """Run the same function to see who is in which block, to count, and to time."""
    part = runs.recorded(comm, HALVING)
    load, total = runs.allreduced(comm, HALVING, options)
    return part, load, total, runs.medians(comm, [HALVING, DOUBLING, RING], options)


def report(world, options):
    """Yield what rank 0 prints."""
    parts, loads, totals, times = zip(*world.results, strict=True)
    p = world.size
    survivors = largest_power(2, p)
    steps = survivors.bit_length() - 1
    yield f"""
idea   halving: exchange half of the vector with a far rank, half of that half with a nearer one,
       ...: after {text.many(steps, "step")} each rank holds one complete block. Doubling: the same
       way back, with twice as much in every step. In each step partners differ in one bit of their
       number."""
    yield from fold(p)
    yield from show.steps(runs.recording(world, HALVING, parts), options)
    yield runs.values(totals, options)
    yield runs.contributions(parts)
    yield from checks(loads, options)
    size = options.elements * options.dtype.itemsize
    sent = [load.sent for load in loads]
    yield "\nload   sent by every rank, in vectors of S\n"
    yield from show.bars({"sent": sent}, size or 1)
    busiest = max(sent) / (size or 1)
    formula = 2 * (survivors - 1) / survivors + (p > survivors)
    extra = " + 1 S to the rank that stayed out" if p > survivors else ""
    yield f"""
bytes  counted {busiest:.4g} S sent by the busiest rank
       formula {formula:.4g} S = 2(P-1)/P S{extra}, P = {survivors}
"""
    yield from show.times(times[0], runs.simulated([HALVING, DOUBLING, RING], p, options))
    yield from limits(p)
    yield """
use    MPICH takes it for long vectors (reduce_scatter_allgather), Gloo has it as halving-doubling.
       On a real network far partners share links, which this model does not know: see the
       hierarchical lesson. (R. Rabenseifner, ICCS 2004; R. Thakur et al., IJHPCA 19(1), 2005.)"""


def fold(p):
    """Yield what ranks beyond a power of two do."""
    pairs = [run for run in fold_runs(p) if len(run) > 1]
    if not pairs:
        yield ""
        return
    who = ", ".join(f"r{out} -> r{stays}" for out, stays in pairs)
    yield f"""
fold   {p} is no power of two: first {who} hand over their whole vectors, and get
       the result at the end. That is two more steps with S each.
"""


def checks(loads, options):
    """Check steps and bytes of every rank."""
    p, itemsize = len(loads), options.dtype.itemsize
    cost = HALVING.cost(p, options.elements).times(itemsize)
    most = max(load.steps for load in loads)
    yield Check("steps", most == cost.alphas, f"{most} on the busiest rank = 2 ceil(log2 p)")
    total = sum(load.sent for load in loads)
    detail = f"{text.nbytes(total)} in all = 2(p-1) S, as on a ring, for any p"
    yield Check("total", total == cost.volume == 2 * (p - 1) * options.elements * itemsize, detail)


def limits(p):
    """Yield steps and bytes of the three, for several numbers of ranks."""
    from collectives.sim import Hockney, Phantom, simulate

    yield "\nlimit  powers of two and others: steps, and S sent by the busiest rank (simulated)\n"
    names = {"halving + doubling": HALVING, "recursive doubling": DOUBLING, "ring": RING}
    yield f"{'ranks':>12}" + "".join(f"{name:>24}" for name in names)
    mine, total = (Phantom(1 << 16, np.float32) for _ in range(2))
    for ranks in sorted({2, 6, 8, 16, 63, 64, p}):
        cells = []
        for entry in names.values():
            run = simulate(
                lambda comm, f=entry.function: f(comm, mine, total), ranks, network=Hockney(1.0)
            )
            cells.append(f"{run.time:10.0f} {max(run.nbytes) / mine.nbytes:11.4g} S")
        yield f"{ranks:12}" + "".join(f"{cell:>24}" for cell in cells)


def svg(world, options):
    """Return the figure: who exchanges with whom, step by step."""
    from collectives.draw.figures import butterfly, contribution_grid

    [run] = html(world, options)
    return butterfly(run) if world.size > 1 else contribution_grid(run)


def html(world, options):
    """Return the run to step through."""
    return [runs.recording(world, HALVING, [part for part, *_ in world.results])]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, elements=100_000,
        )
    )  # fmt: skip
