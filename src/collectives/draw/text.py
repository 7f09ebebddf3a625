"""Text for the terminal: at most `WIDTH` columns, plain ASCII, colour only as a second signal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from collectives.tracing import Trace

WIDTH = 100


def bold(text: str) -> str:
    """Return `text` in bold where the terminal shows it and NO_COLOR is not set."""
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    return text if plain else f"\033[1m{text}\033[0m"


def nbytes(count: float) -> str:
    """Write a number of bytes with its unit, powers of ten.

    Examples
    --------
    >>> nbytes(7), nbytes(1750), nbytes(1.2e9)
    ('7 B', '1.75 kB', '1.2 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def seconds(time: float) -> str:
    """Write a time with its unit.

    Examples
    --------
    >>> seconds(0.00234), seconds(5e-6), seconds(2.0)
    ('2.34 ms', '5 us', '2 s')
    """
    if time < 1e-3:
        return f"{time * 1e6:.3g} us"
    return f"{time * 1e3:.3g} ms" if time < 1 else f"{time:.3g} s"


def message_list(trace: Trace) -> Iterator[str]:
    """Yield a line for every message: step, sender, receiver, bytes, source line."""
    sends = [event for event in trace.events if event.kind == "send"]
    for event in sorted(sends, key=lambda e: (e.step, e.rank)):
        where = "/".join(event.file.split(os.sep)[-2:])
        yield (
            f"step {event.step:3}  r{event.rank} -> r{event.peer}  {event.call:9} "
            f"{nbytes(event.nbytes):>8}  {where}:{event.line}"
        )
