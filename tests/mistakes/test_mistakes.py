"""The catalogue of planted faults: every one must be noticed, by the promise that claims it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from collectives import registry
from collectives.oracle.mutants import CATALOGUE, EQUIVALENT, STUDENT, Mutant, edited
from collectives.oracle.mutants.f14_checker import CHECKERS, WrongChecker, found_out
from collectives.oracle.mutants.scoring import Score, noticed_by, score, scores
from collectives.oracle.properties import PROPERTIES
from collectives.registry import COLLECTIVES

NAMES = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, about garbage


@pytest.mark.parametrize("mutant", CATALOGUE, ids=str)
def test_planted_fault_is_noticed(mutant: Mutant) -> None:
    by = [mutant.by] if mutant.by else list(PROPERTIES)
    assert next((said for name in by if (said := noticed_by(mutant, name))), None)


@pytest.mark.parametrize("mutant", [x for x in CATALOGUE if x.hides_from], ids=str)
def test_planted_fault_hides_from_what_it_does_not_break(mutant: Mutant) -> None:
    for name in mutant.hides_from:
        assert noticed_by(mutant, name, ranks=(1, 2, 3, 4)) is None


@pytest.mark.parametrize("mutant", EQUIVALENT, ids=str)
def test_what_is_called_no_fault_breaks_nothing(mutant: Mutant) -> None:
    assert mutant.equivalent
    assert score(mutant, quick=True).by == ()


@pytest.mark.parametrize("where", [STUDENT, "reduce_scatter/ring", "allgather/ring"])
def test_the_same_without_a_fault_passes(where: str) -> None:
    right = Mutant(where, "nothing", "", lambda: edited(where))
    other_numbering = ("ran_what_was_asked",) if where == STUDENT else ()  # of the blocks
    assert score(right, quick=True).by == other_numbering


@pytest.mark.parametrize("checker", CHECKERS, ids=str)
def test_a_wrong_checker_is_found_out(checker: WrongChecker) -> None:
    with checker.planted():
        assert found_out() is not None


def test_the_checker_is_right_in_what_it_is_tested_with() -> None:
    assert found_out() is None


# ---------------------------------------------------------------- the catalogue itself


def test_faults_of_all_families_are_planted_in_all_collectives() -> None:
    assert len(CATALOGUE) >= 150
    assert {mutant.family for mutant in CATALOGUE} == {*NAMES, ""}
    assert {mutant.collective for mutant in CATALOGUE} == set(COLLECTIVES)
    assert len({str(mutant) for mutant in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_is_the_first_to_claim_a_fault(name: str) -> None:
    assert name in {mutant.by for mutant in CATALOGUE}


def test_an_edit_that_no_longer_applies_is_an_error() -> None:
    with pytest.raises(AssertionError, match="'no such line' stands 0 times in allgather/ring"):
        edited("allgather/ring", (("no such line", ""),))


def test_planting_leaves_the_registry_as_it_was() -> None:
    before = list(registry.algorithms())
    for mutant in CATALOGUE:
        mutant.plant()
    assert list(registry.algorithms()) == before


# ---------------------------------------------------------------- how sharp the check is


@pytest.mark.slow
def test_the_quick_check_notices_nine_in_ten() -> None:
    found = [each.killed for each in scores(CATALOGUE, quick=True)]
    assert sum(found) >= 0.9 * len(found)


@pytest.mark.slow
def test_the_check_notices_all_and_says_what_and_where_in_nine_of_ten() -> None:
    found = scores(CATALOGUE)
    assert [str(each.mutant) for each in found if not each.killed] == []
    assert _share(each.right_family for each in found) >= 0.9, _misnamed(found)
    assert _share(each.right_rank for each in found) >= 0.9, _misnamed(found)


def _share(right: Iterable[bool | None]) -> float:
    defined = [each for each in right if each is not None]
    return sum(defined) / len(defined)


def _misnamed(found: list[Score]) -> str:
    wrong = [each for each in found if False in (each.right_family, each.right_rank)]
    return "\n".join(f"{x.mutant}: says {x.family}, rank {x.rank}; {x.text}" for x in wrong)
