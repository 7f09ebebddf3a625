from collections import Counter

import numpy as np
import pytest

from collectives.provenance import (
    LANES,
    Term,
    contributions,
    counters,
    named,
    passes,
    terms,
)

SIZES = pytest.mark.parametrize("p", [1, 2, 5, 15, 16, 17, 32, 33, 40])


# --------------------------------------------------------------------------------- terms


def test_terms_know_rank_element_order_and_grouping():
    a, b, c = (terms(rank, 3) for rank in (0, 1, 2))
    total = (b + a) + c
    assert [repr(term) for term in total] == ["((1+0)+2)"] * 3
    assert [term.ranks() for term in total] == [[1, 0, 2]] * 3
    assert [term.element for term in total] == [0, 1, 2]
    assert [repr(term) for term in a] == ["0"] * 3  # operands are left as they were


def test_terms_of_different_elements_added_are_no_element():
    a = terms(0, 2)
    assert (a[:1] + a[1:])[0].element == -1
    assert ((a[:1] + a[1:]) + a[:1])[0].element == -1


def test_terms_are_added_to_terms_only():
    with pytest.raises(TypeError):
        Term(0, 0) + 1


@SIZES
def test_long_sums_are_read_from_left_to_right(p):
    total = terms(0, 1)
    for rank in range(1, p):
        total = terms(rank, 1) + total
    assert total[0].ranks() == list(range(p - 1, -1, -1))
    wanted = "0"
    for rank in range(1, p):
        wanted = f"({rank}+{wanted})"
    assert repr(total[0]) == wanted


def test_sums_deeper_than_the_recursion_limit_are_read():
    total = Term(0, 0)
    for _ in range(5000):
        total = total + Term(1, 0)
    assert len(total.ranks()) == 5001
    assert repr(total).endswith("+1)+1)")


def test_no_elements_no_terms():
    assert terms(3, 0).shape == (0,)
    assert terms(3, 0).dtype == object


# ------------------------------------------------------------------------------ counters


def totals(p, times):
    """Return, per run, the sum of the counters of rank r taken times[r] times."""
    return [
        sum((counters(rank, 2, part) * np.uint64(times[rank]) for rank in range(p)),
            start=np.zeros(2, np.uint64))
        for part in passes(p)
    ]  # fmt: skip


@SIZES
def test_counters_tell_how_often_each_rank_was_counted(p):
    assert len(passes(p)) == -(-p // LANES)
    for times in ([1] * p, [0] * p, [rank % 16 for rank in range(p)], [15] * p):
        wanted = Counter({rank: times[rank] for rank in range(p) if times[rank]})
        assert contributions(*totals(p, times)) == [wanted, wanted]


def test_counters_are_unsigned_and_of_one_run():
    assert counters(17, 3, part=1).tolist() == [16] * 3
    assert counters(17, 3).tolist() == counters(0, 3, part=1).tolist() == [0] * 3
    assert counters(15, 1).tolist() == [16**15]
    assert counters(0, 0).dtype == np.uint64


def test_elements_are_counted_apart():
    total = np.concatenate([counters(0, 1), counters(1, 1) + counters(2, 1), np.zeros(1, "u8")])
    assert contributions(total) == [{0: 1}, {1: 1, 2: 1}, {}]
    assert contributions(total[:0]) == []


def test_names_are_in_order_and_repeated():
    assert named([10, 2, 2, 0]) == "0+2+2+10"
    assert named(Counter({3: 1, 1: 2}).elements()) == "1+1+3"
