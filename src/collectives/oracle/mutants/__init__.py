"""Faults that are planted to see whether the oracle notices them: its mutant catalogue.

A module per family; `CATALOGUE` has them all, `EQUIVALENT` the edits that turn out to be no faults.
Those of family F14, in the checker itself, stand in `checker`.

Examples
--------
>>> fault = CATALOGUE[0]
>>> print(fault)
F1 allreduce/student: send a block that is off by one
>>> from collectives.oracle import check
>>> check(fault.plant(), fault.collective, ranks=[3], only=[fault.by]).faults[0].family
'F1 contribution'
"""

from collectives.oracle.mutants import (
    claims,
    equivalent,
    f01_contribution,
    f02_placement,
    f03_boundary,
    f04_buffers,
    f05_dtypes,
    f06_operation,
    f07_floating,
    f08_width,
    f09_matching,
    f10_deadlock,
    f11_synchrony,
    f12_communicator,
    f13_arguments,
)
from collectives.oracle.mutants.planting import STUDENT, Mutant, as_algorithm, edited

__all__ = ["CATALOGUE", "EQUIVALENT", "STUDENT", "Mutant", "as_algorithm", "edited"]

CATALOGUE: list[Mutant] = [
    mutant
    for module in (
        f01_contribution, f02_placement, f03_boundary, f04_buffers, f05_dtypes, f06_operation,
        f07_floating, f08_width, f09_matching, f10_deadlock, f11_synchrony, f12_communicator,
        f13_arguments, claims,
    )
    for mutant in module.FAULTS.mutants
]  # fmt: skip
"""Every planted fault, family by family."""

EQUIVALENT: list[Mutant] = equivalent.FAULTS.mutants
"""Edits that change nothing that is promised, each with the reason."""
