"""Width: sizes that more than 32 bits count."""

from __future__ import annotations

import contextlib
import resource
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, Note
from collectives.oracle.grids import FEW, one_per_size
from collectives.oracle.promises import NotObservable, own_options, promise
from collectives.oracle.trials import Target, ended
from collectives.oracle.worlds import World
from collectives.registry import Algorithm
from collectives.sim import Phantom


@promise(one_per_size, FEW)
def big_counts(
    world: World, function: Target, case: Case, entry: Algorithm | None = None
) -> Finding | Note | None:
    """Sizes beyond 2**32 elements do not wrap: as many bytes are sent as they make."""
    if case.form.brings == "nothing":
        return None
    if "phantoms" not in world.shows:
        return _in_memory(world, function, case)
    huge = replace(case, n=2**33 + case.n)
    if entry is not None and "segment" in own_options(entry, case):  # as few as there can be
        huge = replace(huge, chosen=tuple((dict(case.chosen) | {"segment": 2**32}).items()))
    cost = huge.cost(entry.cost) if entry is not None else None
    if cost is None:
        return _in_proportion(world, function, case)
    outcome = world.run(partial(without_data, function, huge), huge.p)
    if outcome.ending:
        return ended(huge, outcome)
    sent, volume = sum(outcome.nbytes), cost.times(8).volume
    if sent == volume:
        return None
    return Finding(huge, f"{sent} bytes are sent, cost() says {volume}", "size")


def _in_proportion(world: World, function: Target, case: Case) -> Finding | Note | None:
    """Compare with what the same call sends for fewer elements: bytes must grow like these."""
    few, times = case.p * 2**10, 2**24
    runs = []
    for n in (few, few * times):
        asked = replace(case, n=n)
        runs.append(world.run(partial(without_data, function, asked), case.p))
        if runs[-1].ending:
            break
    if runs[0].ending:
        return Note("not seen: the target does not take arrays without data")
    huge = replace(case, n=few * times)
    if runs[1].ending:
        return replace(ended(huge, runs[1]), kind="size")  # type: ignore[type-var]
    small, large = (sum(run.nbytes) for run in runs)
    if large == small * times:
        return None
    text = f"{large} bytes are sent, {times} times fewer elements take {small}"
    return Finding(huge, text, "size")


# ------------------------------------------------------------------ with real memory

BIG: Final = 2**31 + 6
"""Bytes of a vector that a 32-bit integer does not count."""

PAIR: Final = 2
"""Ranks that exchange it: each more would take gigabytes more."""


def _in_memory(world: World, function: Target, case: Case) -> Finding | Note | None:
    """Exchange a vector of more than 2**31 bytes, in which few elements are not 0."""
    if case.p != PAIR or case.form.on_grid:
        return None
    if not world.big:
        return NotObservable("arrays without data do not travel; --big takes real ones")
    huge = replace(case, n=BIG // PAIR if case.by_blocks else BIG, dtype="uint8", root=0)
    room = max(huge.input_size(rank) + 2 * huge.room(rank) for rank in range(PAIR))
    free, most = available()
    if PAIR * room > free or room > most:
        there = f"there are {free / 1e9:.0f} GB, and {most / 1e9:.0f} for a process"
        return NotObservable(f"needs {PAIR * room / 1e9:.0f} GB of memory, {there}")
    outcome = world.run(partial(sparse, function, huge), PAIR)
    if outcome.ending:
        return ended(huge, outcome)
    wanted = sparse_result(huge)
    for rank, has in enumerate(outcome.results):
        if has is not None and has != wanted[rank]:
            wrong = min(set(has.items()) ^ set(wanted[rank].items()))[0]
            got, want = has.get(wrong, 0), wanted[rank].get(wrong, 0)
            text = f"rank {rank} element {wrong} has {got}, wants {want}"
            return Finding(huge, text, "size", rank, wrong, got=str(got), wanted=str(want))
    return None


def available() -> tuple[int, int]:
    """Return how many bytes are free on this machine, and how many this process may have."""
    free = 0
    with contextlib.suppress(OSError), open("/proc/meminfo") as file:
        found = [line.split()[1] for line in file if line.startswith("MemAvailable")]
        free = int(found[0]) * 1024
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return free, free if most == resource.RLIM_INFINITY else most


def marked(case: Case, rank: int) -> dict[int, int]:
    """Return which elements of the input of a rank are not 0: ends, middle, around 2**31."""
    size = case.input_size(rank)
    places = {0, size // 2, size - 1, 2**31 - 1, 2**31}
    return {x: 10 * rank + i + 1 for i, x in enumerate(sorted(places)) if 0 <= x < size}


def sparse(function: Target, case: Case, comm: Any) -> dict[int, int] | None:
    """Make the call of one rank; return the elements of its result that are not 0."""
    values = np.zeros(case.input_size(comm.rank), np.uint8)  # memory is taken when it is written
    for place, value in marked(case, comm.rank).items():
        values[place] = value
    result = np.zeros(case.room(comm.rank), np.uint8)
    if case.shares_buffer(comm.rank):
        result[: values.size] = values
    case.call(function, comm, values, result)
    size = case.result_size(comm.rank)
    if size is None:
        return None
    places = np.flatnonzero(result[:size])[:64].tolist()
    return {place: int(result[place]) for place in places}


def sparse_result(case: Case) -> list[dict[int, int]]:
    """Return which elements of every rank's result are not 0."""
    wanted: list[dict[int, int]] = [{} for _ in range(case.p)]
    for source in range(case.p):
        if case.form.from_root and source != case.root:
            continue
        for place, value in marked(case, source).items():
            for dest in range(case.p):
                where = _arrives(case, source, place, dest)
                if where is not None:
                    wanted[dest][where] = (wanted[dest].get(where, 0) + value) % 256
    return wanted


def _arrives(case: Case, source: int, place: int, dest: int) -> int | None:
    """Return where in the result of `dest` an element of `source` is; None if it is not there."""
    form, n = case.form, case.n
    if form.gets == "column":
        return place - dest * n + source * n if place // n == dest else None
    if form.gets == "block":
        return place - dest * n if place // n == dest else None
    if case.collective in ("scan", "exscan"):
        last = dest if case.collective == "scan" else dest - 1
        return place if source <= last else None
    return place + source * n if form.brings == "block" else place


# ------------------------------------------------------------------ without data


def without_data(function: Target, case: Case, comm: Any) -> None:
    """Make the call on phantom arrays, without the buffers that only the root needs."""
    rank, other = comm.rank, comm.rank != case.root
    sent = None if case.form.from_root and other else Phantom(case.input_size(rank))
    received = None if case.form.to_root and other else Phantom(case.room(rank))
    case.call(function, comm, sent, received)
