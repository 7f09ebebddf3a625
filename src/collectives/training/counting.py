"""Count what a trainer sends, collective by collective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from collectives.tracing import Trace
from collectives.training.trainer import Trainer

MOVES = {
    "allreduce": "all-reduce of gradients",
    "reduce_scatter": "reduce-scatter of gradients",
    "allgather": "allgather of parameters",
}
"""The collectives that trainers call, and what each of them moves."""


def counted(trainer: Trainer) -> dict[str, Trace]:
    """Record each of a trainer's collectives from now on; return their traces by name."""
    traces = {name: Trace() for name in MOVES}

    def recorded(function: Callable[..., None], trace: Trace) -> Callable[..., None]:
        def call(comm: Any, *arguments: Any, **options: Any) -> None:
            function(trace.comm(comm), *arguments, **options)

        return call

    for name, trace in traces.items():
        setattr(trainer, name, recorded(getattr(trainer, name), trace))
    return traces
