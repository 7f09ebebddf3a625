"""Collective communication, written twice: step by step, and through the MPI library.

Every algorithm is a function ``<collective>_<name>(comm, ...)`` and can be imported from here::

    from collectives import allreduce_ring, allreduce_builtin
"""

from __future__ import annotations

from typing import Any

from collectives import registry
from collectives.comm import IN_PLACE
from collectives.op import BAND, BOR, BXOR, LAND, LOR, LXOR, MAX, MIN, PROD, SUM, Op
from collectives.registry import COLLECTIVES, UnsupportedError, find

__version__ = "0.1.0"

__all__ = [
    "BAND", "BOR", "BXOR", "COLLECTIVES", "IN_PLACE", "LAND", "LOR", "LXOR", "MAX", "MIN", "PROD",
    "SUM", "Op", "UnsupportedError", "find",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the algorithm `name` when it is first asked for, so that a run loads what it uses."""
    for collective in sorted(COLLECTIVES, key=len, reverse=True):
        if name.startswith(f"{collective}_"):
            try:
                return find(collective, name.removeprefix(f"{collective}_")).function
            except UnsupportedError:
                break
    raise AttributeError(f"module 'collectives' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *(entry.function.__name__ for entry in registry.algorithms())]
