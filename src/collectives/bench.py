"""Time calls fairly: interleaved, warmed up, the slowest rank counts, medians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np


def interleaved(
    comm: Any,
    calls: Mapping[str, Callable[[], Any]],
    *,
    repetitions: int = 20,
    warmups: int = 3,
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
