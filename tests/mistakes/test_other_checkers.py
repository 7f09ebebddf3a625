"""Models of other checkers find nothing in what is right, and something in what is not."""

import pytest

from collectives.oracle.mutants import CATALOGUE, Mutant, edited
from collectives.oracle.other_checkers import CHECKERS, Checker, compared

RIGHT = ("allreduce/recursive_doubling", "gather/binomial", "alltoall/pairwise", "bcast/linear",
         "reduce/binomial", "scatter/linear", "allgather/ring", "reduce_scatter/ring")  # fmt: skip


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_model_finds_nothing_in_what_is_right(checker: Checker) -> None:
    for where in RIGHT:
        assert not checker.notices(Mutant(where, "nothing", "", lambda where=where: edited(where)))


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_model_notices_faults_of_contribution(checker: Checker) -> None:
    assert any(map(checker.notices, CATALOGUE[:8]))


def test_table_has_a_row_for_each_family_and_their_sum() -> None:
    rows = compared(CATALOGUE[32:34], [True, False]).splitlines()
    assert [row.split(" | ")[:2] for row in rows[2:]] == [
        ["| F1", "1"], ["| F2", "1"], ["| all", "2"],
    ]  # fmt: skip
    assert rows[2].endswith("| 1 |")
    assert rows[3].endswith("| 0 |")
