"""Ring all-reduce: everyone gets the sum, and nobody sends to anyone but the right neighbour.

mpirun -n 8 python lessons/ring_allreduce.py        on 8 MPI ranks
python lessons/ring_allreduce.py                    on 8 simulated ranks, without MPI
"""

import sys
from collections import Counter
from zlib import crc32

import numpy as np

from collectives import allreduce_ring, find, provenance
from collectives.blocks import even
from collectives.comm import in_mpi
from collectives.draw import text
from collectives.draw.steps import TABLE_RANKS, contribution_table
from collectives.dtypes import finfo
from collectives.recorder import assemble, record_rank, subject
from collectives.reference import fold
from collectives.teach.lesson import Check, main
from collectives.tracing import Trace

RING = find("allreduce", "ring")
REPETITIONS = 7
ALPHA, BETA = 5e-6, 1 / 10e9  # of simulated messages: 5 us each, 10 GB/s


def network():
    """Return what simulated messages travel on."""
    from collectives.sim import Hockney

    return Hockney(ALPHA, BETA)


def vector(rank, options):
    """Return the input of one rank: different for every rank and element, never 0."""
    mixed = np.arange(options.elements, dtype=np.uint32) * np.uint32(2654435761)
    mixed = (mixed >> np.uint32(16)) + np.uint32(7919 * rank)
    if options.dtype.itemsize == 1 and options.dtype.kind not in "iu":  # a float8 ends at 16 or so
        return ((mixed % np.uint32(16) + np.uint32(1)) / 64).astype(options.dtype)
    values = (mixed % np.uint32(1009) + np.uint32(1)).astype(options.dtype)
    return values if options.dtype.kind in "iu" else values / options.dtype.type(7)


def measure(comm, options):
    """Run the same function three times: to see who is in which block, to count, to time."""
    rank = comm.rank

    part = record_rank(subject(RING, comm.size), comm)

    mine, total = vector(rank, options), np.empty(options.elements, options.dtype)
    counted = Trace()
    start = getattr(comm, "time", 0.0)
    allreduce_ring(counted.comm(comm), mine, total)
    times = {"simulated": getattr(comm, "time", 0.0) - start}

    builtin = None
    if hasattr(comm, "Allreduce"):  # an MPI library is there: compare with it
        from collectives.bench import interleaved

        builtin, again = np.empty_like(total), np.empty_like(total)
        library = find("allreduce", "builtin").function
        calls = {
            "ring": lambda: allreduce_ring(comm, mine, again),
            "built-in": lambda: library(comm, mine, builtin),
        }
        times = interleaved(comm, calls, repetitions=REPETITIONS)
    return {
        "part": part,
        "messages": counted.messages(rank),
        "sent": counted.sent(rank),
        "steps": counted.steps,
        "crc": crc32(total.tobytes()),
        "total": total if rank == 0 else None,
        "built-in": builtin if rank == 0 else None,
        "times": times,
    }


def report(world, options):
    """Yield what rank 0 prints: the idea, the run step by step, the checks, the numbers."""
    p, n, itemsize = world.size, options.elements, options.dtype.itemsize
    size = text.nbytes(n * itemsize)
    where = "simulated in one process" if world.is_simulated else world.library
    ranks = "1 rank" if p == 1 else f"{p} ranks"
    yield f"LESSON  ring all-reduce    {ranks}, {n} {options.dtype} ({size}), {where}"
    yield f"""
idea   reduce-scatter ({p - 1} steps), then allgather ({p - 1} steps): in every step each rank sends
       one block, 1/{p} of the vector, to its right. Block b ends complete at rank b, its owner.
       (In the chapter's pseudocode rank r ends up owning block r + 1; here the owner of a block
       is its rank, so that the first phase is exactly reduce-scatter.)
"""
    yield from pictures(world, options)

    cost = RING.cost(p, n).times(itemsize)
    yield values(world, options)
    yield contributions(world)
    yield traffic(world, options)
    steps = {result["steps"] for result in world.results}
    yield Check("steps", steps == {cost.alphas}, f"{max(steps)} on the busiest rank = 2(p-1)")

    most = max(result["sent"] for result in world.results)
    formula = 2 * (p - 1) / p * n * itemsize
    yield ""
    yield f"bytes  counted {text.nbytes(most)} sent by the busiest rank, S = {size}"
    yield f"       formula {text.nbytes(formula)} = 2(p-1)/p S, the average over ranks"
    yield from timing(world, cost)
    yield from try_next(world)


def pictures(world, options):
    """Yield the table of contributions and the list of messages, as far as they are wanted."""
    parts = [result["part"] for result in world.results]
    recording = assemble(subject(RING, world.size), parts, world.library)
    if options.trace != "none" and world.size <= TABLE_RANKS:
        yield "who has contributed to each block (* = changed in this step)\n"
        yield from contribution_table(recording)
        yield ""
    elif options.trace != "none":
        yield f"(the table of contributions is left out: it fits up to {TABLE_RANKS} ranks)\n"
    if options.trace == "full":
        yield "every message (of a run on blocks of 12 elements)\n"
        yield from text.message_list(recording)
        yield ""


def values(world, options):
    """Check the result against the serial definition, the MPI library, and the other ranks."""
    vectors = [vector(rank, options) for rank in range(world.size)]
    first = world.results[0]
    if len({result["crc"] for result in world.results}) > 1:
        return Check("value", False, "the ranks do not hold the same bits")
    references = {"the serial sum": fold(vectors)}
    if first["built-in"] is not None:
        references["MPI Allreduce"] = first["built-in"]
    scale = np.maximum(sum(abs(widened(x)) for x in vectors), np.finfo(np.float64).tiny)
    error, against = max(
        (float(np.max(abs(widened(first["total"]) - widened(wanted)) / scale, initial=0)), name)
        for name, wanted in references.items()
    )
    exact = options.dtype.kind in "iu"
    # Each of the two sums rounds p - 1 times, by half a unit in the last place at most.
    limit = 0 if exact else world.size * float(finfo(options.dtype).eps)
    names = " and ".join(references)
    if error == 0:
        return Check("value", True, f"the same bits as {names}, on all ranks")
    why = f"relative error at most {error:.1e} against {against}: sums in another order"
    return Check("value", error <= limit, why)


def widened(x):
    """Return numbers of a type that NumPy lacks, such as bfloat16, as float64."""
    return x if in_mpi(x.dtype) else x.astype(np.float64)


def contributions(world):
    """Check that every block of the result holds every rank exactly once."""
    once = Counter(range(world.size))
    for rank, result in enumerate(world.results):
        held = {hold.column: Counter(hold.pips) for hold in result["part"].end}
        for block in range(world.size):
            ranks = held.get(block, Counter())
            if ranks != once:
                got, wanted = (provenance.named(x.elements()) for x in (ranks, once))
                return Check("counts", False, f"rank {rank} block {block}: {got}, wants {wanted}")
    return Check("counts", True, "every block holds every rank exactly once, on all ranks")


def traffic(world, options):
    """Check what every rank sent, to the byte."""
    p, n = world.size, options.elements
    sizes = even(n, p)
    for rank, result in enumerate(world.results):
        wanted = (2 * n - sizes[rank] - sizes[(rank + 1) % p]) * options.dtype.itemsize
        if (result["sent"], result["messages"]) != (wanted * (p > 1), 2 * (p - 1)):
            got = f"{result['sent']} B in {result['messages']} messages"
            wants = f"{wanted} B in {2 * (p - 1)}"
            return Check("traffic", False, f"rank {rank} sent {got}, wants {wants}")
    detail = "each rank sends all blocks but its own, then all but its right neighbour's"
    return Check("traffic", True, detail)


def timing(world, cost):
    """Yield the measured, or simulated, times."""
    times = [result["times"] for result in world.results]
    if world.is_simulated:
        simulated = max(t["simulated"] for t in times)
        model = cost.time(ALPHA, BETA, gamma=0)
        yield f"time   simulated {text.seconds(simulated)}, formula {text.seconds(model)}"
        yield "       (5 us per message, 10 GB/s per direction; adding is free)"
    else:
        ring, builtin = times[0]["ring"], times[0]["built-in"]
        yield (
            f"time   ring {text.seconds(ring)}, built-in {text.seconds(builtin)}, "
            f"ratio {ring / builtin:.2f}"
        )
        yield f"       (medians of {REPETITIONS} runs of the slowest rank, after warm-up)"


def try_next(world):
    """Yield what to do after this lesson."""
    script = "python lessons/ring_allreduce.py"
    five = f"{script} -n 5" if world.is_simulated else f"mpirun -n 5 {script}"
    yield f"\ntry next   1) {five}   (blocks of unequal length)"
    yield "           2) add --elements 3   (fewer elements than ranks)"
    yield "           3) add --trace full   (every message, with its source line)"


if __name__ == "__main__":
    sys.exit(main(measure, report, about=__doc__, elements=100_000, network=network))
