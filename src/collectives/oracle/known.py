"""Defects of released libraries that are known: reported as such, and not as faults.

A defect stands here with the versions that have it and the address at which it was reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collectives.op import MAX, MIN, SUM
from collectives.oracle.findings import Finding
from collectives.oracle.promises import Subject
from collectives.oracle.trials import dtype_of

_OMPI: Final = "https://github.com/open-mpi/ompi/issues"


@dataclass(frozen=True)
class Known:
    """One defect: in which library up to which version, what it does, whether it is this one."""

    library: str
    last: tuple[int, ...]
    text: str
    address: str
    is_it: Callable[[str, Subject, Finding], bool]


KNOWN: Final = (
    Known(
        "Open MPI", (6,), "sums of 8 and 16 bits saturate", f"{_OMPI}/8045",
        lambda name, subject, x: x.case.op is SUM and x.case.reduces
        and dtype_of(x.case).kind in "iu" and dtype_of(x.case).itemsize < 4,
    ),
    Known(
        "Open MPI", (5, 0, 11), "the blocks of a neighbour on both sides are swapped",
        f"{_OMPI}/14430",
        lambda name, subject, x: subject.collective == "neighbor_alltoall"
        and subject.name != "blocking" and min(x.case.torus["dims"]) <= 2,
    ),
    Known(
        "MPICH", (5, 0, 2), "in place, the rest of the input serves as scratch",
        "MPI 4.1, section 6.10, leaves that open",
        lambda name, subject, x: subject.collective == "reduce_scatter" and x.case.in_place
        and "outside of a result" in x.text,
    ),
    Known(
        "Open MPI", (5, 0, 11), "in place, the rest of the input serves as scratch",
        "MPI 4.1, section 6.10, leaves that open",
        lambda name, subject, x: subject.collective == "reduce_scatter" and x.case.in_place
        and "outside of a result" in x.text,
    ),
    Known(
        "torch", (2, 14, 1, 999), "a sum of truth values is the number of true ones, in a byte",
        "https://github.com/pytorch/pytorch/pull/105354",
        lambda name, subject, x: x.case.op is SUM and x.case.reduces
        and dtype_of(x.case).kind == "b",
    ),
    Known(
        "torch", (2, 14, 1, 999), "whether NaN wins in MIN and MAX depends on which rank has it",
        "https://docs.pytorch.org/docs/stable/distributed.html says nothing of it",
        lambda name, subject, x: name == "special_values" and x.case.op in (MIN, MAX)
        and "whether NaN wins" in x.text,
    ),
    Known(
        "", (), "MPI does not say what MIN and MAX make of NaN", "MPI 4.1, section 6.9.2",
        lambda name, subject, x: name == "special_values" and x.case.op in (MIN, MAX)
        and "whether NaN wins" in x.text,
    ),
)  # fmt: skip
"""Of every library where the name is empty."""


def known(world: str, name: str, subject: Subject, finding: Finding) -> str | None:
    """Return what is known of a finding of property `name`; None where it is news."""
    built_in = subject.entry is not None and subject.entry.kind == "built-in"
    if not (built_in or subject.of_library):
        return None
    version = tuple(map(int, re.findall(r"\d+", world)))
    for defect in KNOWN:
        if not world.startswith(defect.library) or (defect.last and version > defect.last):
            continue
        if defect.is_it(name, subject, finding):
            return f"{world}: {defect.text} ({defect.address})"
    return None
