"""Many ranks: 33 for every algorithm, 129 where steps grow with the logarithm, 1,024 for a few."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2

import pytest

from collectives.oracle.cases import Case
from collectives.oracle.properties import messages_match_cost, right_values, time_matches_cost
from collectives.oracle.worlds import SIMULATED
from collectives.registry import (
    Algorithm,
    algorithms,
    even_size,
    find,
    in_place,
    power_of_two,
)

STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]
OF_MANY = [
    ("barrier", "dissemination"), ("bcast", "binomial"), ("reduce", "binomial"),
    ("allgather", "bruck"), ("allreduce", "recursive_doubling"), ("scan", "recursive_doubling"),
]  # fmt: skip


def is_logarithmic(entry: Algorithm) -> bool:
    cost = Case(entry.collective, 128, 1).cost(entry.cost)
    return cost is not None and cost.alphas <= 3 * ceil(log2(128))


def broken(entry: Algorithm, p: int, n: int = 3) -> object:
    """Return which promise does not hold on p ranks, or on one less where p will not do."""
    p -= not {power_of_two, even_size}.isdisjoint(entry.requires)
    case = Case(entry.collective, p, n, in_place=in_place in entry.requires)
    if n and case.form.brings == "nothing":
        case = replace(case, n=0)
    claims = (messages_match_cost, time_matches_cost)
    texts = (claim(SIMULATED, entry.function, case, entry) for claim in claims)
    return right_values(SIMULATED, entry.function, case) or next(
        (text for text in texts if text), None
    )


@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_33_ranks(entry: Algorithm) -> None:
    assert broken(entry, 33) is None


@pytest.mark.parametrize("entry", list(filter(is_logarithmic, STEP_BY_STEP)), ids=str)
def test_129_ranks(entry: Algorithm) -> None:
    assert broken(entry, 129) is None


@pytest.mark.slow
@pytest.mark.parametrize(("collective", "name"), OF_MANY)
def test_1024_ranks(collective: str, name: str) -> None:
    assert broken(find(collective, name), 1024, n=1) is None
