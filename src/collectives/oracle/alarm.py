"""Simulated ranks that do not go on: a signal interrupts the one that holds up the others.

Simulated ranks wait for each other in one thread. One that waits for anything else, or computes
without end, never lets the kernel see that it does: so the clock looks.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class HungError(BaseException):
    """A rank neither returned nor sent anything for too long; no `Exception`, as some catch all."""


@contextmanager
def alarm(patience: float, progress: Callable[[], object]) -> Iterator[None]:
    """Raise HungError in the block once `progress()` has not changed for `patience` seconds.

    In the main thread only, which alone can be interrupted.

    Examples
    --------
    >>> with alarm(0.05, lambda: "nothing new"):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    collectives.oracle.alarm.HungError: has not gone on for 0.05 s
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return
    last, start = progress(), time.monotonic()

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = progress()
        if now == last:
            raise HungError(f"has not gone on for {patience:g} s")
        last = now

    before = signal.signal(signal.SIGALRM, look)
    left, every = signal.setitimer(signal.ITIMER_REAL, patience, patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:  # somebody else's alarm, such as that of a test runner
            rest = max(left - (time.monotonic() - start), 0.001)
            signal.setitimer(signal.ITIMER_REAL, rest, every)
