"""What people believe of collectives, and for each belief the experiment that decides it.

A module for each kind of experiment: who sends what, how long it takes, which values come out, who
waits for whom. Each belief is a function that runs the experiment, decorated with what is believed
and what is true.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from collectives.teach.misconceptions.belief import KNOWN, Belief

__all__ = ["Belief", "beliefs"]


@cache
def beliefs() -> list[Belief]:
    """Return all of them, in order."""
    for name in ("traffic", "times", "values", "waiting"):
        import_module(f"{__name__}.{name}")
    return [KNOWN[number] for number in sorted(KNOWN)]
