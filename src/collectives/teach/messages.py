"""Time single messages between ranks 0 and 1: there and back, and to a receiver that comes late."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from collectives.gpu import HOST, Device, for_arrays_like

SIZES = [8, 64, 512, 4096, 32768, 262144, 1 << 20, 1 << 22]
"""Bytes of the messages."""

LATE = 0.005
"""Seconds that the late receiver comes late."""

BUSY = 1e-9
"""The gamma of a simulated network on which `late_receiver` works, in seconds per byte."""


def now(comm: Any) -> float:
    """Return the time in seconds: this process's, or the rank's virtual time."""
    return float(comm.time) if hasattr(comm, "time") else time.perf_counter()


def ping_pong(comm: Any, size: int, device: Device = HOST) -> float:
    """Return the time of one way, in seconds: half of the median there and back."""
    ball, times = device.array(np.zeros(size, np.uint8)), []
    comm = for_arrays_like(ball, comm)
    for _ in range(60 if size < 100_000 else 12):
        start = now(comm)
        if comm.rank == 0:
            comm.Send(ball, dest=1)
            comm.Recv(ball, source=1)
        else:
            comm.Recv(ball, source=0)
            comm.Send(ball, dest=0)
        times.append(now(comm) - start)
    return float(np.median(times)) / 2


def fit(times: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Return alpha and beta of the line with the least squares of relative errors.

    Examples
    --------
    >>> alpha, beta = fit([(8, 5.8e-6), (1000, 105e-6), (100_000, 10.005e-3)])
    >>> f"{alpha:.1e} {beta:.1e}"
    '5.0e-06 1.0e-07'
    """
    sizes, seconds = np.array(times).T
    rows = np.stack([1 / seconds, sizes / seconds], axis=1)
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return max(float(alpha), 1e-12), max(float(beta), 1e-15)


def late_receiver(comm: Any, device: Device = HOST) -> tuple[dict[int, float], tuple[int, int]]:
    """Return how long Send takes by size if the receiver comes late, and the edge between sizes.

    The edge is looked for by halving: the largest size that left at once, or 0, and the smallest
    one that waited, or 0. Rank 0 knows them.
    """
    waits = {size: late_send(comm, size, device) for size in SIZES}
    at_once = [size for size, wait in waits.items() if wait < LATE / 2]
    waited = [size for size in waits if size not in at_once]
    edge = np.array([max(at_once, default=0), min(waited, default=0)])
    while True:
        if comm.rank == 0:
            comm.Send(edge, dest=1)
        else:
            comm.Recv(edge, source=0)
        low, high = edge.tolist()
        if not 0 < low < high - 64:
            return waits, (low, high)
        middle = (low + high) // 2 // 32 * 32
        waits[middle] = late_send(comm, middle, device)
        edge[int(waits[middle] > LATE / 2)] = middle


def late_send(comm: Any, size: int, device: Device = HOST, *, asleep: bool = False) -> float:
    """Return how long Send takes on rank 0 when rank 1 comes `LATE` seconds late: a median.

    Until then rank 1 looks after messages without receiving this one; or sleeps, outside of MPI.
    """
    message, go, times = device.array(np.zeros(size, np.uint8)), np.empty(0), []
    comm = for_arrays_like(message, comm)
    for _ in range(5):
        if comm.rank == 0:
            comm.Recv(go, source=1)
            start = now(comm)
            comm.Send(message, dest=1)
            times.append(now(comm) - start)
        else:
            comm.Send(go, dest=0)
            _busy(comm, asleep)
            comm.Recv(message, source=0)
    return float(np.median(times)) if times else 0.0


def _busy(comm: Any, asleep: bool) -> None:
    """Let `LATE` seconds pass; where time is virtual, by adding numbers."""
    if not hasattr(comm, "time"):
        end = time.perf_counter() + LATE
        while time.perf_counter() < end:
            if not asleep:
                comm.Iprobe(source=comm.rank)  # nothing is there; but the library goes on
            time.sleep(LATE / 20)
        return
    from collectives.sim import Phantom

    numbers: Any = Phantom(round(LATE / BUSY), np.uint8)
    np.add(numbers, numbers, out=numbers)
