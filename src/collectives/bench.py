"""Time calls fairly: interleaved, warmed up, the slowest rank counts, medians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from collectives.comm import Array, on_device, private
from collectives.gpu import HOST, Device, GpuComm
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.registry import UnsupportedError, algorithms


def interleaved(
    comm: Any,
    calls: Mapping[str, Callable[[], Any]],
    *,
    repetitions: int = 20,
    warmups: int = 2,
) -> dict[str, float]:
    """Return the median time of each call in seconds, on every rank of an MPI communicator.

    In every repetition each call runs once, after a barrier; its time is that of the slowest
    rank. Taking turns makes what disturbs the machine disturb all calls alike.
    """
    from mpi4py import MPI

    times = np.zeros((repetitions, len(calls)))
    for repetition in range(-warmups, repetitions):
        for column, call in enumerate(calls.values()):
            comm.Barrier()
            start = perf_counter()
            call()
            if repetition >= 0:
                times[repetition, column] = perf_counter() - start
    comm.Allreduce(MPI.IN_PLACE, times, op=MPI.MAX)
    return dict(zip(calls, np.median(times, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class Machine:
    """The parameters of the alpha-beta-gamma model, fitted to this machine.

    Attributes
    ----------
    alpha : float
        Seconds per message.
    beta : float
        Seconds per byte sent.
    gamma : float
        Seconds per byte combined.
    """

    alpha: float
    beta: float
    gamma: float


def fit(comm: Any, *, repetitions: int = 30, device: Device = HOST) -> Machine:
    """Fit the model by ping-pong between ranks 0 and 1, and by adding vectors, on all ranks.

    Alpha is the time of the smallest message, beta the slope up to the largest. With a single
    rank both are 0. The balls and vectors are on `device`.
    """
    handed = comm if device is HOST else GpuComm(comm)
    sizes = (8, 1 << 20)
    calls: dict[str, Callable[[], Any]] = {}
    for size in sizes:
        ball = device.array(np.zeros(size, np.uint8))
        calls[str(size)] = lambda ball=ball: _there_and_back(handed, ball)  # type: ignore[misc]
    total, vector = (device.array(np.ones(1 << 17)) for _ in range(2))
    calls["add"] = _finished(partial(np.add, total, vector, out=total), [total], device)
    small, large, added = interleaved(comm, calls, repetitions=repetitions).values()
    if comm.size == 1:
        return Machine(0.0, 0.0, added / total.nbytes)
    alpha, beta = small / 2, max(large - small, 0.0) / 2 / (sizes[1] - sizes[0])
    return Machine(alpha, beta, added / total.nbytes)


def _finished(
    call: Callable[[], Any], buffers: Iterable[Any], device: Device
) -> Callable[[], None]:
    """Return `call` that returns when what it launched on the device of `buffers` is done."""
    on_it = [array for array in buffers if on_device(array)]
    if not on_it:
        return call

    def finished() -> None:
        call()
        device.synchronize(on_it[-1])

    return finished


def _there_and_back(comm: Any, ball: Array) -> None:
    if comm.size > 1 and comm.rank < 2:
        peer = 1 - comm.rank
        if comm.rank == 0:
            comm.Send(ball, dest=peer)
        comm.Recv(ball, source=peer)
        if comm.rank == 1:
            comm.Send(ball, dest=peer)


class _Library:
    """Stands for a communicator, and keeps the call that a built-in makes instead of making it.

    What is timed is then that call alone, without this package's checks and copies around it.
    """

    is_private = False
    takes_devices = True

    def __init__(self, comm: Any, device: Device) -> None:
        inner = private(comm)
        self.comm = inner if device is HOST else GpuComm(inner)
        self.rank, self.size = comm.rank, comm.size
        self.call: partial[Any]

    def private(self) -> _Library:
        return self

    def __getattr__(self, name: str) -> Callable[..., None]:
        def keep(*args: Any, **kwargs: Any) -> None:
            self.call = partial(getattr(self.comm, name), *args, **kwargs)

        return keep


@dataclass(frozen=True)
class Row:
    """What was measured of one collective at one size, in seconds.

    Attributes
    ----------
    nbytes : int
        The size of the whole vector: of all blocks together where ranks bring or get blocks.
    times : dict of str to float
        The median of every algorithm, argument checks included; ``builtin`` is the MPI library's
        call alone.
    models : dict of str to float
        What the fitted model predicts for each step-by-step algorithm.
    """

    collective: str
    nbytes: int
    times: dict[str, float]
    models: dict[str, float]

    @property
    def best(self) -> str:
        """The fastest step-by-step algorithm."""
        return min(self.models, key=lambda name: self.times[name])

    def ratio(self, name: str) -> float:
        """Return the time of an algorithm divided by that of the built-in."""
        return self.times[name] / self.times["builtin"]


def measure(
    comm: Any, collective: str, nbytes: int, machine: Machine, *, repetitions: int = 20,
    device: Device = HOST,
) -> Row:  # fmt: skip
    """Time all algorithms of a collective that this number of ranks allows, in turns.

    Every rank of an MPI communicator calls this; `nbytes` is the size of the whole vector, of
    float64 elements on `device`.
    """
    p, itemsize = comm.size, 8
    case = Case(collective, p, nbytes // itemsize)
    if case.by_blocks:
        case = replace(case, n=max(1, nbytes // itemsize // p))
    values = np.arange(case.input_size(comm.rank), dtype=np.float64)
    calls, models = {}, {}
    for entry in algorithms(collective):
        own = Buffers(case, comm.rank, values)
        given = case.buffers(comm.rank, own.sent.inside, own.received.inside).values()
        buffers = [device.array(x) if isinstance(x, np.ndarray) else x for x in given]
        call = partial(entry.function, comm, *buffers, **case.options(comm.rank))
        if entry.kind == "built-in":
            library = _Library(comm, device)
            entry.function(library, *buffers, **case.options(comm.rank))
            call = library.call
        try:
            call()
        except UnsupportedError:  # on all ranks alike, before any message
            continue
        calls[entry.name] = _finished(call, buffers, device)
        cost = case.cost(entry.cost) if entry.cost else None
        if cost is not None:
            seconds = cost.times(itemsize).time(machine.alpha, machine.beta, machine.gamma)
            models[entry.name] = seconds
    times = interleaved(comm, calls, repetitions=repetitions)
    return Row(collective, nbytes, times, models)
