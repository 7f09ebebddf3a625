"""The frame of a lesson: flags, one run on all ranks, a report by rank 0, an exit code.

A lesson gives two functions. ``measure(comm, options)`` runs on every rank and returns what was
seen there; ``report(world, options)`` runs on rank 0 and yields what to print: lines, and checks,
which decide the exit code.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from collectives.draw.text import bold
from collectives.dtypes import number_type
from collectives.launch import (
    World,
    abort_on_error,
    agree,
    everywhere,
    launch_rank,
    under_mpi,
)

if TYPE_CHECKING:
    from collectives.sim.network import Network

SIMULATED_DEFAULT = 8


@dataclass(frozen=True)
class Check:
    """One line of the self-check at the end of a lesson."""

    name: str
    passed: bool
    detail: str


def main(
    measure: Callable[[Any, argparse.Namespace], Any],
    report: Callable[[World, argparse.Namespace], Iterable[str | Check]],
    *,
    about: str,
    elements: int,
    network: Callable[[], Network],
) -> int:
    """Run a lesson and return its exit code: 0 if all checks passed, 1 if not."""
    options = _options(about, elements)
    with abort_on_error():
        world = everywhere(lambda comm: measure(comm, options), ranks=options.n, network=network)
        return agree(_verdict(report(world, options)) if world.results else 0)


def _verdict(lines: Iterable[str | Check]) -> int:
    """Print a report; return 1 if a check in it failed."""
    failed, title = False, "check"
    for line in lines:
        if isinstance(line, Check):
            word = bold("PASS" if line.passed else "FAIL")
            print(f"{title:7}{line.name:11}{word}  {line.detail}")
            failed, title = failed or not line.passed, ""
        else:
            print(line)
    return int(failed)


def _options(about: str, elements: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=about.partition("\n")[0],
        epilog="Run under mpirun on as many ranks as it starts; without, on simulated ranks.",
    )
    parser.add_argument(
        "-n", type=_at_least(1), metavar="RANKS",
        help=f"simulated ranks (default {SIMULATED_DEFAULT}); under mpirun, give -n to mpirun",
    )  # fmt: skip
    parser.add_argument(
        "--elements",
        type=_at_least(0),
        default=elements,
        help="length of the vector (%(default)s)",
    )
    parser.add_argument(
        "--dtype",
        type=_number_type,
        default="float32",
        help="NumPy number type, bfloat16, or such as float8_e5m2 (%(default)s)",
    )
    parser.add_argument(
        "--trace", choices=("none", "steps", "full"), default="steps",
        help="what to show of the run: nothing, the table after every step, also every message",
    )  # fmt: skip
    shown = io.StringIO() if launch_rank() else None  # what is wrong with the flags is said once
    with redirect_stdout(shown or sys.stdout), redirect_stderr(shown or sys.stderr):
        options = parser.parse_args()
        if options.n and under_mpi():
            parser.error(f"mpirun decides how many ranks: mpirun -n {options.n} python ...")
    options.n = options.n or SIMULATED_DEFAULT
    return options


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value}, wants at least {least}")
        return value

    return number


def _number_type(text: str) -> np.dtype[Any]:
    try:
        dtype = number_type(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if dtype.kind == "b":
        raise argparse.ArgumentTypeError(f"{dtype}, wants an integer, float or complex type")
    return dtype
