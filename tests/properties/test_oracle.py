"""The properties can only be as sharp as what they look with: payloads, guards, comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.op import PREDEFINED, Op
from collectives.oracle.buffers import GUARD, Buffers
from collectives.oracle.cases import Case
from collectives.oracle.differences import difference
from collectives.oracle.forms import FORMS
from collectives.oracle.grids import RANKS, grid, lengths
from collectives.oracle.payloads import AFFINE, exact, rounding
from collectives.oracle.properties import PROPERTIES
from collectives.reference import fold
from collectives.registry import COLLECTIVES

OPERANDS = [
    (op, dtype)
    for op in PREDEFINED.values()
    for dtype in ("u8", "i8", "f8")
    if dtype != "f8" or not op.name.startswith("B")
]


@pytest.mark.parametrize(("op", "dtype"), [*OPERANDS, (AFFINE, "u8")])
def test_no_rank_can_be_left_out_unnoticed(op: Op, dtype: str) -> None:
    for p in RANKS[1:]:
        inputs = exact(Case("allreduce", p, n=p + 1, op=op), np.dtype(dtype))
        whole = fold(inputs, op)
        for rank in range(p):
            rest = inputs[:rank] + inputs[rank + 1 :]
            assert not np.array_equal(fold(rest, op), whole), f"p={p}: nobody misses rank {rank}"


def test_sums_of_the_rounding_payload_depend_on_the_order() -> None:
    inputs = rounding(Case("allreduce", p=3, n=40))
    assert not np.array_equal(fold(inputs), fold(inputs[1:] + inputs[:1]))


def test_the_made_operation_is_associative_and_not_commutative() -> None:
    a, b, c = exact(Case("allreduce", p=3, n=40, op=AFFINE))
    out = np.empty_like(a)
    left = AFFINE(AFFINE(a, b, out=out.copy()), c, out=out.copy())
    right = AFFINE(a, AFFINE(b, c, out=out.copy()), out=out.copy())
    assert np.array_equal(left, right)
    assert not np.array_equal(AFFINE(a, b, out=out.copy()), AFFINE(b, a, out=out.copy()))


@pytest.mark.parametrize("place", [-GUARD, -1, 4, 3 + GUARD])
def test_writing_around_a_result_is_seen(place: int) -> None:
    buffers = Buffers(Case("allreduce", p=2, n=4), 1, np.zeros(4))
    buffers.received.inside[:] = 7
    assert buffers.violations() == []
    buffers.received.whole[GUARD + place] = 0
    assert buffers.violations() == [f"element {place} was written, outside of a result of 4"]


def test_guards_are_as_long_as_what_they_guard() -> None:
    buffers = Buffers(Case("allreduce", p=2, n=100), 1, np.zeros(100))
    buffers.received.whole[-1] = 0
    assert buffers.violations() == ["element 199 was written, outside of a result of 100"]


def test_frozen_input_cannot_be_written_to() -> None:
    buffers = Buffers(Case("allreduce", p=2, n=4), 1, np.arange(4.0), frozen=True)
    assert buffers.sent.inside.tolist() == [0, 1, 2, 3]
    assert buffers.violations() == []
    with pytest.raises(ValueError, match="read-only"):
        buffers.sent.inside[0] = 1
    buffers.received.inside[0] = 1


@pytest.mark.parametrize("collective", ["allreduce", "alltoall"])
def test_some_vectors_are_larger_than_what_libraries_buffer(collective: str) -> None:
    sizes = {case.input_size(0) * 8 for case in lengths(collective, range(1, 10))}
    assert max(sizes) > 2**20


def test_writing_where_there_is_no_result_is_seen() -> None:
    buffers = Buffers(Case("reduce", p=2, n=4, root=0), 1, np.zeros(4))
    buffers.received.inside[2] = 0
    assert buffers.violations() == ["element 2 was written, outside of a result of 0"]


def test_one_wrong_bit_is_seen_and_nan_is_not_an_excuse() -> None:
    case = Case("allreduce", p=2, n=2)
    wanted = np.array([0.0, np.nan])
    assert difference(case, 0, wanted.copy(), wanted) is None
    assert difference(case, 0, np.array([-0.0, np.nan]), wanted) == (
        "rank 0 block 0 element 0 has -0.0, wants 0.0 (1 of 2 elements differ)"
    )


def test_every_collective_has_a_form_and_every_promise_has_cases() -> None:
    assert FORMS.keys() == set(COLLECTIVES)
    for collective in FORMS:
        assert len(list(grid(collective))) >= len(RANKS)
    for prop in PROPERTIES.values():
        assert any(list(prop.cases(collective, prop.ranks)) for collective in FORMS)
