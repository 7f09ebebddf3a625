"""Floating point: the order of additions shows in the bits, and bits tell who added in which order.

mpirun -n 8 python lessons/floating_point.py        on 8 MPI ranks
python lessons/floating_point.py                    on 8 simulated ranks, without MPI
"""

import sys
from zlib import crc32

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.gpu import to_host
from collectives.oracle.fingerprint import fingerprint
from collectives.teach.lesson import Check, main, wrapped
from collectives.teach.prediction import Prediction

NAMES = ["reduce_bcast", "recursive_doubling", "ring", "rabenseifner"]
ELEMENTS = 4000
MOST = 16
"""Ranks up to which the order of additions is probed: each pair of ranks takes two calls."""

ONES = 4096

QUESTION = """
Do all ranks get the same bits? Do all algorithms? And can a sum be far off?
"""

PREDICT = Prediction(
    ask=lambda p, options: f"Add {ONES} ones in float16, one after the other. What is the sum?",
    answer=lambda world, options: one_by_one(np.ones(ONES, np.float16)),
)

NEXT = [
    ("-n 3", "few ranks: fewer ways to add"),
    ("-n 7", "no power of two: recursive doubling folds one rank in"),
    ("collectives fingerprint allreduce ring", "the order in which an algorithm adds"),
    ("mpirun -n 8 collectives fingerprint", "that of your MPI library, size by size"),
    ("misconceptions", "M14 and M15, and 34 more"),
]


def summand(rank, dtype):
    """Return the vector of one rank: random numbers of very different sizes."""
    draw = np.random.default_rng(rank)
    values = np.ldexp(draw.uniform(-1, 1, ELEMENTS), draw.integers(-4, 5, ELEMENTS))
    return values.astype(dtype)


def measure(comm, options):
    """Add with every algorithm, and find out in which order the MPI library adds."""
    on_mpi = hasattr(comm, "Allreduce")
    sums = {}
    for name in [*NAMES, *["builtin"] * on_mpi]:
        for dtype in ("float32", "float16"):
            mine = options.device.array(summand(comm.rank, dtype))
            total = np.empty_like(mine)
            find("allreduce", name).function(comm, mine, total)
            total = to_host(total)
            sums[name, dtype] = crc32(total.tobytes()), total if comm.rank == 0 else None
    library = find("allreduce", "builtin").function
    if not on_mpi or not 1 < comm.size <= MOST:
        return sums, None
    return sums, fingerprint(library, comm, "allreduce", comm.size, ELEMENTS)


def report(world, options):
    """Yield what rank 0 prints."""
    p = world.size
    sums = [sums for sums, _ in world.results]
    yield """
idea   Each addition rounds, so (a + b) + c is not a + (b + c). A ring adds one rank after the other
       along the ring, and starts elsewhere in each block; a tree adds pairs, then pairs of pairs.
"""
    yield f"bits   of the sum of {ELEMENTS} random numbers on {text.many(p, 'rank')}\n"
    yield f"       {'':20}{'float32':>9}{'error':>10}{'float16':>12}{'error':>10}"
    for name in dict.fromkeys(name for name, _ in sums[0]):
        cells = (
            f"{sums[0][name, dtype][0]:>{width}x}{error(sums[0][name, dtype][1], p):>10.1e}"
            for dtype, width in (("float32", 9), ("float16", 12))
        )
        yield f"       {name:20}{''.join(cells)}"
    yield "       (a checksum of all bits of rank 0; the largest error, relative to the summands)\n"
    yield same_on_all_ranks(sums)
    yield from between_algorithms(sums[0], p)
    yield from float16()
    yield ""
    yield from order(world)
    yield ""
    yield from wrapped(
        "limit  ",
        """One by one, p numbers round p-1 times in a row, in a tree only log2 p times: at worst the
        error grows with p in a ring, with log p in a tree. In both it is at most that many times
        half a unit in the last place of the largest sum on the way.""",
    )
    yield """
use    In NCCL the bits depend on algorithm, protocol, channels and topology (NVIDIA/nccl issues
       855, 1055, 1497). For equal bits fix all of these, and compare tests with a tolerance."""


def error(total, p):
    """Return the largest error of a sum, relative to the sum of the sizes of its summands."""
    summands = [summand(rank, total.dtype).astype(np.float64) for rank in range(p)]
    return float(np.max(abs(total - sum(summands)) / sum(map(abs, summands))))


def same_on_all_ranks(sums):
    """Check that within one call all ranks get the same bits."""
    for key in sums[0]:
        if len({each[key][0] for each in sums}) > 1:
            return Check("ranks", False, f"{' '.join(key)}: the ranks hold different bits")
    return Check("ranks", True, "within each call all ranks hold the same bits (M14)")


def between_algorithms(mine, p):
    """Check that bits differ between a ring and a tree, where there are ranks enough."""
    different = len({mine[name, "float32"][0] for name in NAMES})
    detail = f"{text.many(different, 'result')} from {len(NAMES)} algorithms"
    if p == 1:
        yield Check("algorithms", different == 1, f"{detail}: one rank adds nothing")
    elif p == 2:
        yield Check("algorithms", different == 1, f"{detail}: a + b is b + a")
    else:
        yield Check("algorithms", different > 1, f"{detail}, all within rounding")


def one_by_one(values):
    """Return the sum, added as a ring does: the next rank's number to the sum so far."""
    return float(np.add.accumulate(values, dtype=values.dtype)[-1])


def in_pairs(values):
    """Return the sum, added as a tree does: pairs, then pairs of pairs."""
    while len(values) > 1:
        values = values[::2] + values[1::2]
    return float(values[0])


def float16():
    """Check what 4096 ones add up to in float16."""
    ones = np.ones(ONES, np.float16)
    ring, tree = one_by_one(ones), in_pairs(ones)
    yield Check("tree", tree == ONES, f"{ONES} ones in float16, in pairs: {tree:.0f}")
    yield Check("ring", ring == 2048, f"one by one: {ring:.0f}, for 2048 + 1 rounds to 2048 (M15)")


def order(world):
    """Yield in which order the MPI library adds, or else a ring and a tree."""
    p = world.size
    if p == 1 or p > MOST:
        yield f"order  (probed on 2 to {MOST} ranks)"
        return
    if world.is_simulated:
        yield "order  in which element 0 is added up (simulated; under mpirun: of the MPI library)"
        for name in ("ring", "reduce_bcast"):
            found = fingerprint(find("allreduce", name).function, None, "allreduce", p, p)
            yield f"       {name:13}{found.vector[0].tree}"
        return
    found = world.results[0][1]
    alike = ", ".join((found.matches or found.elsewhere)[:3]) or "none of ours"
    yield f"order  in which {world.library} adds, found with numbers that swallow others (float64)"
    yield f"       element 0 is {found.vector[0].tree}: {found.depth} additions in a row;"
    yield f"       adds like {alike}"


def svg(world, options):
    """Return the figure: who is added when, in every block of a ring."""
    from collectives.draw.figures import contribution_grid

    return contribution_grid(html(world, options)[0])


def html(world, options):
    """Return two runs to step through: one by one, and in pairs."""
    from collectives.recorder import record

    return [record(find("allreduce", name), world.size) for name in ("ring", "recursive_doubling")]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT,
        )
    )  # fmt: skip
