"""What lessons do on every rank: make inputs, run a collective, count what it does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from collectives import provenance
from collectives.comm import Array, in_mpi
from collectives.dtypes import finfo
from collectives.gpu import device_of, to_host
from collectives.launch import World
from collectives.op import SUM, Op
from collectives.recorder import Part, assemble, record_rank, subject
from collectives.recording import Recording
from collectives.reference import fold
from collectives.registry import Algorithm, find
from collectives.teach.lesson import Check, Options, slow_links
from collectives.tracing import Trace


@dataclass(frozen=True)
class Load:
    """What one rank did in one call: messages, and bytes sent, received and combined."""

    messages: int
    sent: int
    received: int
    combined: int
    steps: int


def counted(comm: Any, call: Callable[[Any, Op], Any]) -> Load:
    """Run ``call(comm, op)`` and count what this rank does; op is a sum."""
    trace = Trace()
    call(trace.comm(comm), trace.op(SUM, comm))

    def nbytes(kind: str) -> int:
        return sum(event.nbytes for event in trace.of(comm.rank, kind))

    return Load(
        trace.messages(comm.rank), nbytes("send"), nbytes("receive"), nbytes("combine"), trace.steps
    )


def rest(comm: Any) -> None:
    """Wait for all ranks and leave the cores to those at work; nothing where ranks are simulated.

    Ranks that wait in an ordinary barrier keep asking, which disturbs what others measure.
    """
    if hasattr(comm, "Ibarrier"):
        request = comm.Ibarrier()
        while not request.Test():
            time.sleep(0.002)


def vector(rank: int, options: Options) -> Array:
    """Return the input of one rank: different for every rank and element, never 0."""
    mixed = np.arange(options.elements, dtype=np.uint32) * np.uint32(2654435761)
    mixed = (mixed >> np.uint32(16)) + np.uint32(7919 * rank)
    if options.dtype.itemsize == 1 and options.dtype.kind not in "iu":  # a float8 ends at 16 or so
        return ((mixed % np.uint32(16) + np.uint32(1)) / 64).astype(options.dtype)
    values = (mixed % np.uint32(1009) + np.uint32(1)).astype(options.dtype)
    return values if options.dtype.kind in "iu" else values / options.dtype.type(7)


# ------------------------------------------------------------------ recordings


def recorded(comm: Any, entry: Algorithm, **call: Any) -> Part:
    """Record this rank's part of a run on blocks of 12 elements, or as `subject` takes it."""
    return record_rank(subject(entry, comm.size, **call), comm)


def recording(world: World, entry: Algorithm, parts: Sequence[Part], **call: Any) -> Recording:
    """Return the recording of which `recorded` made the parts, with the same arguments."""
    return assemble(subject(entry, world.size, **call), parts, world.library)


def contributions(parts: Sequence[Part]) -> Check:
    """Check that every block of every result holds every rank exactly once."""
    p = len(parts)
    once = Counter(range(p))
    for rank, part in enumerate(parts):
        held = {hold.column: Counter(hold.pips) for hold in part.end}
        for block in range(p):
            ranks = held.get(block, Counter())
            if ranks != once:
                got, wanted = (provenance.named(x.elements()) for x in (ranks, once))
                return Check("counts", False, f"rank {rank} block {block}: {got}, wants {wanted}")
    return Check("counts", True, "every block holds every rank exactly once, on all ranks")


# ------------------------------------------------------------------ an all-reduce


@dataclass(frozen=True)
class Total:
    """What one rank of an all-reduce ended with; rank 0 brings the vectors themselves."""

    crc: int
    vector: Array | None
    builtin: Array | None


def allreduced(comm: Any, entry: Algorithm, options: Options, **chosen: Any) -> tuple[Load, Total]:
    """Run an all-reduce counted; where there is an MPI library, its own beside it."""
    mine, total = _vectors(comm, options)
    load = counted(comm, lambda comm, op: entry.function(comm, mine, total, op, **chosen))
    builtin = None
    if hasattr(comm, "Allreduce"):
        theirs = np.empty_like(total)
        find("allreduce", "builtin").function(comm, mine, theirs)
        builtin = to_host(theirs)
    total, first = to_host(total), comm.rank == 0
    shown = (total, builtin) if first else (None, None)
    return load, Total(crc32(total.tobytes()), *shown)


def medians(comm: Any, entries: Sequence[Algorithm], options: Options) -> dict[str, float]:
    """Return the measured median times of all-reduces, by name; none where ranks are simulated."""
    return timed(comm, entries, *_vectors(comm, options))


def timed(
    comm: Any,
    entries: Sequence[Algorithm],
    mine: Array,
    result: Array,
    *,
    repetitions: int = 7,
    warmups: int = 2,
) -> dict[str, float]:
    """Return the measured median times of algorithms; none where ranks are simulated.

    A call is over when the device of its arrays has done all that was launched.
    """
    if not hasattr(comm, "Allreduce"):
        return {}
    from collectives.bench import interleaved

    device = device_of(result)

    def call(entry: Algorithm) -> Callable[[], None]:
        def run() -> None:
            entry.function(comm, mine, result)
            device.synchronize(result)

        return run

    calls = {entry.name: call(entry) for entry in entries}
    return interleaved(comm, calls, repetitions=repetitions, warmups=warmups)


def _vectors(comm: Any, options: Options) -> tuple[Array, Array]:
    """Return the input of this rank, and room for the result."""
    mine = options.device.array(vector(comm.rank, options))
    return mine, np.empty_like(mine)


def simulated(entries: Sequence[Algorithm], p: int, options: Options) -> dict[str, float]:
    """Return the simulated times of all-reduces on `slow_links`, by name."""
    return {e.name: simulated_time(e, p, options.elements, options.dtype) for e in entries}


def simulated_time(
    entry: Algorithm, p: int, n: int, dtype: Any = np.float32, **chosen: Any
) -> float:
    """Return the simulated time of one all-reduce of n elements on `slow_links`, in seconds."""
    from collectives.sim import Phantom, simulate

    mine, total = Phantom(n, dtype), Phantom(n, dtype)
    return simulate(
        lambda comm: entry.function(comm, mine, total, **chosen), p, network=slow_links()
    ).time


def values(totals: Sequence[Total], options: Options) -> Check:
    """Check a total against the serial definition, the MPI library, and the other ranks."""
    p, first = len(totals), totals[0]
    vectors = [vector(rank, options) for rank in range(p)]
    if len({total.crc for total in totals}) > 1:
        return Check("value", False, "the ranks do not hold the same bits")
    references = {"the serial sum": fold(vectors)}
    if first.builtin is not None:
        references["MPI Allreduce"] = first.builtin
    scale = np.maximum(sum(abs(widened(x)) for x in vectors), np.finfo(np.float64).tiny)
    error, against = max(
        (float(np.max(abs(widened(first.vector) - widened(wanted)) / scale, initial=0)), name)
        for name, wanted in references.items()
    )
    # Each of the two sums rounds p - 1 times, by half a unit in the last place at most.
    limit = 0 if options.dtype.kind in "iu" else p * float(finfo(options.dtype).eps)
    if error == 0:
        return Check("value", True, f"the same bits as {' and '.join(references)}, on all ranks")
    why = f"relative error at most {error:.1e} against {against}: sums in another order"
    return Check("value", error <= limit, why)


def widened(x: Any) -> Array:
    """Return numbers of a type that NumPy lacks, such as bfloat16, as float64."""
    return x if in_mpi(x.dtype) else x.astype(np.float64)  # type: ignore[no-any-return]
