"""Deadlock: everybody sends first and receives later, and it works, until messages are large.

mpirun -n 8 python lessons/deadlock.py        on 8 MPI ranks
python lessons/deadlock.py                    on 8 simulated ranks, without MPI
"""

import sys
from functools import partial

import numpy as np

from collectives.draw import text
from collectives.recorder import record
from collectives.teach import hangs
from collectives.teach.lesson import Check, main
from collectives.teach.prediction import Prediction
from collectives.topology import ring_neighbours

SMALL, LARGE = 64, 4 << 20

QUESTION = """
Every rank of a ring passes a parcel to its right. First send, then receive: what can go wrong?
"""

PREDICT = Prediction(
    ask=lambda p, options: (
        f"{text.many(p, 'rank')} call Send to the right, then Recv from the left. With 64 bytes "
        "it mostly works. And with 4 MB?"
    ),
    answer=lambda world, options: (
        "b" if outcomes(world, options)["send_first", LARGE].hung else "a"
    ),
    choices=("it works too, and takes longer", "it hangs"),
)

NEXT = [
    ("-n 3", "an odd ring: taking turns works there too"),
    ("point_to_point", "where between 64 bytes and 4 MB it begins to hang"),
    ("primitives", "patterns that somebody has made safe already"),
    ("collectives grade lessons/exercises/pass_the_parcel.py", "write a safe one"),
]


def send_first(comm, outgoing, incoming, send="Send"):
    """Send to the right, then receive from the left: wrong."""
    left, right = ring_neighbours(comm.rank, comm.size)
    getattr(comm, send)(outgoing, dest=right)
    comm.Recv(incoming, source=left)


def take_turns(comm, outgoing, incoming):
    """Cure 1: odd ranks receive first."""
    left, right = ring_neighbours(comm.rank, comm.size)
    if comm.rank % 2 == 1:
        comm.Recv(incoming, source=left)
        comm.Send(outgoing, dest=right)
    else:
        comm.Send(outgoing, dest=right)
        comm.Recv(incoming, source=left)


def one_call(comm, outgoing, incoming):
    """Cure 2: Sendrecv does both at the same time."""
    left, right = ring_neighbours(comm.rank, comm.size)
    comm.Sendrecv(outgoing, dest=right, recvbuf=incoming, source=left)


def nonblocking(comm, outgoing, incoming):
    """Cure 3: say first where the message may go, then send, then wait."""
    left, right = ring_neighbours(comm.rank, comm.size)
    request = comm.Irecv(incoming, source=left)
    comm.Send(outgoing, dest=right)
    request.Wait()


synchronous = partial(send_first, send="Ssend")
PROGRAMS = {
    "send_first": ("Send, then Recv", send_first),
    "synchronous": ("Ssend, then Recv", synchronous),
    "take_turns": ("cure 1: odd ranks receive first", take_turns),
    "one_call": ("cure 2: Sendrecv", one_call),
    "nonblocking": ("cure 3: Irecv, Send, Wait", nonblocking),
}
CURES = {"take_turns": "turns", "one_call": "Sendrecv", "nonblocking": "Irecv"}


def measure(comm, options):
    """Run every program with a small and a large message, and see whether it hangs.

    On MPI each runs in a thread of its own; where it hangs, the main thread says on which lines,
    and then posts what is missing, so that the lesson goes on.
    """
    if hasattr(comm, "time") or not hangs.can_watch():
        return None  # a simulated deadlock ends all ranks: see `outcomes`
    return {
        (name, size): hangs.run_watched(comm, program, size, options.device)
        for name, (_, program) in PROGRAMS.items()
        for size in (SMALL, LARGE)
        if not (name == "take_turns" and comm.size == 1)  # nobody to take turns with
    }


def outcomes(world, options):
    """Return what came of every program; simulated where it could not be watched."""
    if world.results[0] is None:
        world.results[0] = {
            (name, size): hangs.run_simulated(world.size, program, size, options.device)
            for name, (_, program) in PROGRAMS.items()
            for size in (SMALL, LARGE)
            if not (name == "take_turns" and world.size == 1)
        }
    return world.results[0]


def report(world, options):
    """Yield what rank 0 prints."""
    threads = world.is_simulated or world.results[0] is not None
    seen = outcomes(world, options)
    if not threads:
        yield "\n(threads of this MPI library may not send: what follows is simulated)"
    yield """
idea   MPI may copy a small message and let Send return, or keep Send until the receiver is there.
       In a ring in which all send first, the second means: each waits for the next, in a circle.
"""
    yield f"{'program':36}{'64 B':>12}{'4 MB':>12}"
    for name, (title, _) in PROGRAMS.items():
        words = [
            ("HANGS" if seen[name, size].hung else "finishes") if (name, size) in seen else "-"
            for size in (SMALL, LARGE)
        ]
        yield f"{title:36}{words[0]:>12}{words[1]:>12}"
    yield ""
    hung = next(name for name in ("send_first", "synchronous") if seen[name, LARGE].hung)
    yield f"who waits for whom, of '{PROGRAMS[hung][0]}' with 4 MB\n"
    yield from (f"  {line}" for line in seen[hung, LARGE].text.splitlines())
    yield """
why    a rank that hangs in Send has done nothing wrong there: nobody gets to Recv. The cause is
       on another rank, here on all of them. It hides as long as messages are small.
"""
    yield from checks(world, seen)
    yield """
limit  Ssend waits for the receiver at every size: put it in place of Send to find such mistakes.
use    no collective may rely on copies: MPI's and NCCL's calls finish at any size, if all ranks
       call them in the same order. All algorithms here are tested without any eager limit."""


def checks(world, seen):
    """Check what holds on every MPI: Ssend hangs, in a circle of all ranks; no cure does."""
    for size in (SMALL, LARGE):
        outcome = seen["synchronous", size]
        right = outcome.hung and len(outcome.cycle) == world.size
        detail = f"Ssend of {size} B: a circle of all ranks"
        yield Check("deadlock", right, detail if right else f"{detail} was expected")
    for name, short in CURES.items():
        sizes = [size for size in (SMALL, LARGE) if (name, size) in seen]
        right = all(not seen[name, size].hung and seen[name, size].right for size in sizes)
        detail = (
            "every rank has the parcel of its left neighbour" if sizes else "one rank: left out"
        )
        yield Check(short, right, detail)


def svg(world, options):
    """Return the figure: who waits for whom, simulated."""
    from collectives.draw.figures import waitfor

    return waitfor(stuck(world.size))


def html(world, options):
    """Return two runs to step through: the one that hangs, and one that does not; simulated."""
    cured = record(as_collective(one_call), world.size, collective="allgather")
    return [stuck(world.size), cured]


def stuck(p):
    """Return the recording of the deadlock."""
    return record(as_collective(send_first), p, collective="allgather")


def as_collective(program):
    """Return a program as the first step of an allgather, which is what can be recorded."""

    def first_step(comm, sendbuf, recvbuf):
        n = sendbuf.size
        recvbuf[comm.rank * n : (comm.rank + 1) * n] = sendbuf
        incoming = np.empty_like(sendbuf)
        program(comm, sendbuf, incoming)
        left, _ = ring_neighbours(comm.rank, comm.size)
        recvbuf[left * n : (left + 1) * n] = incoming

    first_step.__name__ = program.__name__
    return first_step


if __name__ == "__main__":
    sys.exit(
        main(
            measure, report, about=__doc__, question=QUESTION, predict=PREDICT,
            svg=svg, html=html, next_steps=NEXT,
        )
    )  # fmt: skip
