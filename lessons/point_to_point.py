"""Point to point: what one message costs, and why not everybody talks to everybody.

mpirun -n 8 python lessons/point_to_point.py        on 8 MPI ranks
python lessons/point_to_point.py                    on 8 simulated ranks, without MPI
"""

import sys

import numpy as np

from collectives import find
from collectives.draw import text
from collectives.gpu import for_arrays_like, to_host
from collectives.recorder import record
from collectives.teach import messages, runs
from collectives.teach.lesson import ALPHA, BETA, Check, main
from collectives.teach.prediction import Prediction

RING = find("allreduce", "ring")
ASLEEP = [8, 64, 512, 4096]
"""Bytes of messages to a receiver that is not in MPI at all."""
EAGER = 8192
"""Bytes from which on a simulated message waits for its receiver."""

QUESTION = """
What does one message cost, and does Send wait for the receiver? And if all ranks need something of
all others, why not let each send to each?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        "A message of 8 bytes takes some time. How many bytes take twice as long?"
    ),
    answer=lambda world, options: half_size(*messages.fit(found(world, options)["times"])),
    unit="B",
)

NEXT = [
    ("-n 2", "nobody else on the machine: steadier numbers"),
    ("deadlock", "what happens when everybody waits in Send"),
    ("primitives", "the patterns that replace p * p messages"),
    ("collectives grade lessons/exercises/ping_pong.py", "measure alpha and beta yourself"),
]


def network():
    """Return what simulated messages travel on; adding numbers is what keeps a rank busy."""
    from collectives.sim import Hockney

    return Hockney(ALPHA, BETA, gamma=messages.BUSY, eager_limit=EAGER)


def measure(comm, options):
    """Count an exchange of all with all and a ring; time messages between ranks 0 and 1."""
    device = options.device
    mine = device.array(np.full(12 * comm.size, comm.rank + 1.0))
    total = np.empty_like(mine)
    seen = {
        "direct": runs.counted(comm, lambda comm, op: direct(comm, mine, total, op)),
        "sum": to_host(total)[0],
        "ring": runs.counted(comm, lambda comm, op: RING.function(comm, mine, total, op)),
    }
    if comm.rank < 2 <= comm.size:
        seen["times"] = [(size, messages.ping_pong(comm, size, device)) for size in messages.SIZES]
        seen["waits"], seen["edge"] = messages.late_receiver(comm, device)
        seen["asleep"] = {
            size: messages.late_send(comm, size, device, asleep=True) for size in ASLEEP
        }
    runs.rest(comm)
    return seen


def direct(comm, mine, total, op):
    """All-reduce in which everybody sends the whole vector to everybody else."""
    comm = for_arrays_like(mine, comm)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    rooms = [np.empty_like(mine) for _ in others]
    requests = [comm.Irecv(room, source=rank) for rank, room in zip(others, rooms, strict=True)]
    requests += [comm.Isend(mine, dest=rank) for rank in others]
    total[:] = mine
    for request in requests:
        request.Wait()
    for room in rooms:
        op(total, room, out=total)


# ------------------------------------------------------------------ what was found


def found(world, options):
    """Return what rank 0 saw; of two simulated ranks where there is one rank only."""
    if world.size > 1:
        return world.results[0]
    from collectives.sim import simulate

    return simulate(lambda comm: measure(comm, options), 2, network=network()).results[0]


def half_size(alpha, beta):
    """Return the bytes whose time is half latency."""
    return alpha / beta


def report(world, options):
    """Yield what rank 0 prints."""
    seen, p = found(world, options), world.size
    how = "simulated" if world.is_simulated or p == 1 else "measured"
    alone = "\n       (this job has one rank: these are two simulated ones)" if p == 1 else ""
    alpha, beta = messages.fit(seen["times"])
    yield f"""
idea   time = alpha + bytes * beta: alpha for the message, beta for each byte. A ball of m bytes
       goes from rank 0 to rank 1 and back; half the time is one way ({how}).{alone}

           bytes   one way  alpha + m beta
"""
    for size, seconds in seen["times"]:
        line = alpha + size * beta
        yield f"  {size:14}{text.seconds(seconds):>10}{text.seconds(line):>16}"
    yield f"""
fit    alpha {text.seconds(alpha)}, beta {beta * 1e9:.3g} ns per byte: {text.nbytes(1 / beta)}/s
       {text.nbytes(half_size(alpha, beta))} take 2 alpha; far below that more bytes are almost free
"""
    yield from eager(seen, how)
    yield from all_to_all(world)
    yield from checks(world, seen)
    yield """
limit  1 byte or 1 GB: only alpha, or only beta, counts. Collectives are a trade between the two.
use    the limit is the library's choice, by network: MPICH and Open MPI have settings for it, and
       MPI allows it to be 0. A program that hangs without it is wrong."""


def eager(seen, how):
    """Yield how long Send takes if the receiver comes late."""
    low, high = seen["edge"]
    yield f"late   Send to a receiver that comes {text.seconds(messages.LATE)} late ({how}):\n"
    for size in sorted(seen["waits"]):
        if size in messages.SIZES or size in (low, high):
            wait = seen["waits"][size]
            word = "left at once" if wait < messages.LATE / 2 else "waited for the receiver"
            yield f"  {size:14}{text.seconds(wait):>10}   {word}"
    if 0 < low < high:
        yield f"\neager  {low} B are copied and leave; {high} B wait: the eager limit lies between."
    elif low:
        yield f"\neager  no limit found up to {messages.SIZES[-1]} B: all were copied and left."
    else:
        yield "\neager  every message waited: nothing is copied here."
    yield "       Standard Send may do either: never rely on it."
    slow = [size for size, wait in seen["asleep"].items() if wait > messages.LATE / 2]
    if slow and slow[0] <= low:
        yield f"       And {slow[0]} B waited if the receiver slept, outside of MPI: to take them,"
        yield "       its library has to go on, which it does inside MPI calls."
    yield ""


def all_to_all(world):
    """Yield what it costs when everybody sends to everybody, counted here, and by formula."""
    p, first = world.size, world.results[0]
    vector = 12 * p * 8
    yield "pairs  an all-reduce in which each sends to each, beside a ring\n"
    yield f"{'each to each':>40}{'ring':>29}"
    yield f"{'ranks':>12}" + f"{'connections':>17}{'sent per rank':>16}" * 2
    direct, ring = (first[name].sent / vector for name in ("direct", "ring"))
    for ranks in sorted({p, 8, 64, 1024}):
        mark = "counted" if ranks == p else "formula"
        sent = direct if ranks == p else ranks - 1
        around = ring if ranks == p else 2 * (ranks - 1) / ranks
        yield (
            f"{ranks:12}{ranks * (ranks - 1) // 2:17}{sent:14.4g} S"
            f"{ranks if ranks > 2 else ranks - 1:17}{around:14.4g} S   {mark}"
        )
    yield "       p(p-1)/2 connections cost memory, and their messages meet in the network.\n"


def checks(world, seen):
    """Check counts on all ranks, and in simulation the fit and the limit."""
    p, vector = world.size, 12 * world.size * 8
    loads = [result["direct"] for result in world.results]
    right = all((load.messages, load.sent) == (p - 1, (p - 1) * vector) for load in loads)
    yield Check("messages", right, f"each rank sent {p - 1} messages, {p * (p - 1)} in all")
    sums = {result["sum"] for result in world.results}
    yield Check("value", sums == {p * (p + 1) / 2}, "all ranks hold the sum")
    alpha, beta = messages.fit(seen["times"])
    if world.is_simulated:
        right = abs(alpha / ALPHA - 1) < 0.01 and abs(beta / BETA - 1) < 0.01
        yield Check("fit", right, f"the network's numbers: {text.seconds(ALPHA)}, 10 GB/s")
        low, high = seen["edge"]
        yield Check("eager", low < EAGER <= high, f"the network's eager limit: {EAGER} B")


def svg(world, options):
    """Return the figure: the ping-pong with its fit, and Send to a late receiver."""
    from collectives.teach.message_figure import message_figure

    seen, alone = found(world, options), world.size == 1
    how = "simulated" if world.is_simulated or alone else f"measured, {world.library}"
    return message_figure(seen["times"], seen["waits"], seen["edge"], how)


def html(world, options):
    """Return two runs to step through: everybody to everybody, and the ring; simulated."""
    return [record(direct, world.size, collective="allreduce"), record(RING, world.size)]


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT, network=network,
        )
    )  # fmt: skip
