"""A check of what is right finds nothing."""

import pytest

from collectives.oracle import check
from collectives.registry import Algorithm, algorithms

STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]


def faults(entry: Algorithm, *, quick: bool) -> list[str]:
    report = check(entry, entry.collective, quick=quick)
    assert report.exit_code == bool(report.faults)
    return [f"{fault.case}: {fault.text}" for fault in report.faults]


@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_quick_check_of_an_algorithm(entry: Algorithm) -> None:
    assert faults(entry, quick=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_check_of_an_algorithm(entry: Algorithm) -> None:
    assert faults(entry, quick=False) == []
