import re

import numpy as np
import pytest

from collectives.op import BAND, LAND, PREDEFINED, PROD, SUM, Op, as_op
from collectives.provenance import terms

FIRST = Op("FIRST", lambda lower, higher: lower, commutative=False)
MINUS = Op("MINUS", np.subtract, commutative=False)

a, b = np.array([12, 0, 5]), np.array([10, 0, 0])
ON_INTEGERS = {
    "SUM": [22, 0, 5],
    "PROD": [120, 0, 0],
    "MIN": [10, 0, 0],
    "MAX": [12, 0, 5],
    "LAND": [1, 0, 0],
    "LOR": [1, 0, 1],
    "LXOR": [0, 0, 1],
    "BAND": [8, 0, 0],
    "BOR": [14, 0, 5],
    "BXOR": [6, 0, 5],
}


def test_all_predefined_operations_are_tested():
    assert ON_INTEGERS.keys() == PREDEFINED.keys()


def check_results(op, wanted):
    """Combine with the result in either operand, and elsewhere."""
    for lower, higher, out in (
        (a.copy(), b.copy(), np.empty(3, int)),
        (x := a.copy(), b.copy(), x),
        (a.copy(), x := b.copy(), x),
    ):
        assert op(lower, higher, out=out) is out
        assert out.tolist() == wanted
        assert lower is out or lower.tolist() == a.tolist()
        assert higher is out or higher.tolist() == b.tolist()


@pytest.mark.parametrize("name", PREDEFINED.keys())
def test_predefined_operation(name):
    check_results(PREDEFINED[name], ON_INTEGERS[name])


def test_operation_made_of_any_function():
    check_results(FIRST, [12, 0, 5])
    check_results(MINUS, [2, 0, 5])


@pytest.mark.parametrize("op", [op for op in PREDEFINED.values() if op.identity is not None])
def test_identity_changes_nothing(op):
    operand = np.array([True, False]) if op.name.startswith("L") else np.array([6, -1, 0])
    identity = np.full_like(operand, op.identity)
    assert op(identity, operand, out=np.empty_like(operand)).tolist() == operand.tolist()
    assert op(operand, identity, out=np.empty_like(operand)).tolist() == operand.tolist()


def test_operands_that_are_objects_keep_their_order():
    total = SUM(terms(0, 1), terms(1, 1), out=np.empty(1, object))
    assert repr(total[0]) == "(0+1)"


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (BAND, "float64"),
        (SUM, "M8[s]"),
        (MINUS, "bool"),
        (Op("DIVIDE", np.true_divide), "int32"),  # the result is no integer
    ],
)
def test_operation_that_does_not_exist_for_a_dtype_is_refused(op, dtype):
    dtype = np.dtype(dtype)
    with pytest.raises(ValueError, match=re.escape(f"op {op.name} does not work on {dtype}")):
        op.check(dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "complex64", "object"])
def test_operation_that_exists_passes(dtype):
    for op in (SUM, PROD, LAND, FIRST):
        op.check(np.dtype(dtype))


# ----------------------------------------------------------------------------- MPI's own


def both_ways(op, lower, higher):
    """Combine with `op` here, and with the MPI.Op it lends; return both results."""
    from mpi4py import MPI

    here = op(lower, higher, out=np.empty_like(lower))
    there = higher.copy()
    with op.mpi(lower.dtype) as lent:
        assert isinstance(lent, MPI.Op)
        assert lent.Is_commutative() == op.commutative
        lent.Reduce_local(lower, there)
    return here.tolist(), there.tolist()


@pytest.mark.parametrize("op", [*PREDEFINED.values(), FIRST, MINUS], ids=str)
def test_lent_operation_means_the_same(op):
    here, there = both_ways(op, a, b)
    assert here == there


def test_lent_operation_works_on_dtypes_unknown_to_mpi():
    pair = Op("PAIR", lambda lower, higher: np.where(lower["x"] > higher["x"], lower, higher))
    lower, higher = np.zeros((2, 2), [("x", "i4"), ("y", "f8")])
    lower["x"], higher["x"] = [1, 4], [3, 2]
    there = higher.copy()
    with pair.mpi(lower.dtype) as lent:
        from mpi4py import MPI

        element = MPI.BYTE.Create_contiguous(lower.dtype.itemsize).Commit()
        lent.Reduce_local([lower, 2, element], [there, 2, element])
        element.Free()
    assert there["x"].tolist() == [3, 4]


def test_predefined_operations_of_mpi_are_ours():
    from mpi4py import MPI

    for name, op in PREDEFINED.items():
        assert as_op(getattr(MPI, name)) is op
        with op.mpi(np.dtype(int)) as lent:
            assert lent == getattr(MPI, name)


def test_an_operation_of_ours_stays_what_it_is():
    named_sum = Op("SUM", np.maximum)
    assert as_op(FIRST) is FIRST
    assert as_op(named_sum) is named_sum
    assert both_ways(named_sum, a, b) == ([12, 0, 5], [12, 0, 5])  # the name decides nothing


@pytest.mark.parametrize("commute", [True, False])
def test_user_made_operation_of_mpi(commute):
    from mpi4py import MPI

    def subtract(inbuf, inoutbuf, datatype):
        lower, higher = np.frombuffer(inbuf, int), np.frombuffer(inoutbuf, int)
        higher[...] = lower - higher

    handle = MPI.Op.Create(subtract, commute=commute)
    try:
        op = as_op(handle)
        assert op.commutative is commute
        check_results(op, [2, 0, 5])
        with op.mpi(np.dtype(int)) as lent:
            assert lent is handle
    finally:
        handle.Free()


def test_what_is_no_operation_on_arrays_is_refused():
    from mpi4py import MPI

    for op in (MPI.MAXLOC, MPI.REPLACE, MPI.OP_NULL):
        with pytest.raises(ValueError, match="no meaning on plain arrays"):
            as_op(op)
    for op in (np.add, "SUM", sum, None, MPI.INT):
        with pytest.raises(ValueError, match=r"wants a collectives\.Op or an MPI\.Op"):
            as_op(op)
