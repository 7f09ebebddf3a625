"""Under real MPI, every algorithm and every built-in is, bit for bit, the serial definition.

So they agree with each other too. Payloads are exact: no order of operands changes a bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest

from collectives import (
    BAND,
    BOR,
    BXOR,
    IN_PLACE,
    MAX,
    MIN,
    PROD,
    SUM,
    Op,
    UnsupportedError,
    arguments,
)
from collectives.comm import Array, in_mpi
from collectives.launch import library_name
from collectives.op import PREDEFINED
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case, parameters, taken_by
from collectives.oracle.differences import difference
from collectives.oracle.grids import grid, one_per_size
from collectives.oracle.payloads import AFFINE, UINT64, exact, rounding
from collectives.registry import Algorithm, algorithms

pytestmark = pytest.mark.mpi


def each(condition: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """Run a test on each algorithm, step by step and built-in, whose collective is like that."""
    chosen = [entry for entry in algorithms() if condition(Case(entry.collective, p=2))]
    return pytest.mark.parametrize("entry", chosen, ids=str)


FEW = 3
"""Ranks up to which everything is tried with everything. With more ranks, everything once."""

BEYOND_EAGER = 20_000
"""Elements of a vector whose blocks, 20 kB at 8 ranks, are not sent before the receiver is ready:
MPICH 5.0 sends less than 16 kB so, Open MPI 5.0 less than 1 kB."""

DTYPES = [np.dtype(char) for char in "?bhilqBHILQefdgFDG"]

IN_MPI = {
    "b": {"LAND", "LOR", "LXOR"},
    "i": set(PREDEFINED),
    "u": set(PREDEFINED),
    "f": {"SUM", "PROD", "MIN", "MAX"},
    "c": {"SUM", "PROD"},
}
"""What predefined operations work on, by kind of dtype (MPI 4.1, section 6.9.2). In NumPy floats
have a truth value, truth values a sum, and complex numbers an order."""

ALIKE = {np.dtype("M8[s]"): np.dtype("i8"), np.dtype("u4,u4"): UINT64}
ALIKE[np.dtype("f8").newbyteorder()] = np.dtype("i8")
"""Dtypes that MPI and the payloads lack, and those whose bits they are given."""

PAIRS = Op("PAIRS", lambda lower, higher: (lower.view("u8") + higher.view("u8")).view("u4,u4"))
"""Of two numbers each, in a structured array."""

GCD = Op("GCD", np.gcd)
"""Exact, commutative, and not among the predefined."""


@lru_cache(maxsize=512)
def known(
    case: Case, dtype: np.dtype[Any], seed: int = 0
) -> tuple[list[Array], list[Array | None]]:
    """Return what the ranks bring and what they must get."""
    inputs = [values.view(dtype) for values in exact(case, ALIKE.get(dtype, dtype), seed)]
    assert {values.dtype for values in inputs} == {dtype}
    wanted = case.expected(inputs)  # of which NumPy makes this machine's byte order
    return inputs, [None if values is None else values.astype(dtype) for values in wanted]


def faults(
    entry: Algorithm, comm: Any, case: Case, dtype: np.dtype[Any] = UINT64, **given: Any
) -> Iterator[str]:
    """Run `entry` and yield what is wrong: the result, a buffer, or that it does not refuse.

    `given` is what MPI has in place of some of the arguments of `case`.
    """
    if bug := known_bug(entry, case, dtype):
        warnings.warn(f"skipped: {bug}", stacklevel=2)
        return
    inputs, wanted = known(case, dtype)
    buffers = Buffers(case, comm.rank, inputs[comm.rank])
    run = partial(buffers.run, handing(entry.function, case, **given), comm)
    what = f"{entry} {case} {dtype}" + "".join(f", {name} of MPI" for name in given)
    error, found = refusal(entry, comm, buffers), None
    try:
        if error is None:
            found = difference(case, comm.rank, run(), wanted[comm.rank])
        elif not refuses(run, error):
            found = f"rank {comm.rank} is not refused, wants {error.__name__}"
    except Exception as unexpected:
        unexpected.add_note(what)
        raise
    found_too = [f"rank {comm.rank}: {text}" for text in written(entry, buffers)]
    yield from (f"{what}: {text}" for text in [found, *found_too] if text)


def known_bug(entry: Algorithm, case: Case, dtype: np.dtype[Any]) -> str | None:
    """Return the bug of the MPI library, with its address, that makes this case fail."""
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    if entry.kind != "built-in" or vendor != "Open MPI":
        return None
    issues, mode = "https://github.com/open-mpi/ompi/issues", dict(case.chosen).get("mode")
    if case.reduces and case.op is SUM and dtype.kind in "iu" and dtype.itemsize < 4:
        # On x86, in vectors that fill a SIMD register. Closed as "wontfix".
        return f"{library_name()} saturates sums of 8 and 16 bits, {issues}/8045"
    twice = case.form.on_grid and min(case.torus["dims"]) <= 2
    if twice and entry.collective == "neighbor_alltoall" and mode and version <= (5, 0, 11):
        return f"{library_name()} swaps the blocks of a neighbour on both sides, {issues}/14430"
    return None


def written(entry: Algorithm, buffers: Buffers) -> list[str]:
    """Return what was written that must not be."""
    case = buffers.case
    if not (str(entry) == "reduce_scatter/builtin" and case.in_place):
        return buffers.violations()
    # MPI 4.1, section 6.10, leaves open what becomes of the rest of recvbuf: MPICH 5.0 works in it.
    beyond = buffers.received.changed(allowed=buffers.received.size)
    return [f"element {beyond[0]} was written, outside of recvbuf"] if beyond else []


def handing(
    function: Callable[..., None], case: Case, in_place: Any = IN_PLACE, **given: Any
) -> Any:
    """Return `function` called with `given` options, and with another ``IN_PLACE``."""

    def call(comm: Any, *buffers: Any, **options: Any) -> None:
        handed = [in_place if buffer is IN_PLACE else buffer for buffer in buffers]
        function(comm, *handed, **options | given)

    return call


def refusal(entry: Algorithm, comm: Any, buffers: Buffers) -> type[ValueError] | None:
    """Return what `entry` must raise when called on these buffers, if anything."""
    case, dtype = buffers.case, buffers.sent.whole.dtype
    check = getattr(arguments, case.collective)
    handed = case.buffers(comm.rank, buffers.sent.inside, buffers.received.inside)
    own = {name: option.default for name, option in parameters(entry.function).items()}
    there = case.place(comm)
    call = own | {"comm": there} | dict(case.chosen)
    call |= check(there, **taken_by(check, handed | case.options(comm.rank)))
    holds = all(need.holds(call) for need in entry.requires)
    if there is not comm:
        there.Free()
    predefined = case.reduces and PREDEFINED.get(case.op.name) is case.op and in_mpi(dtype)
    if not holds:
        return UnsupportedError
    if entry.kind == "built-in" and predefined and case.op.name not in IN_MPI[dtype.kind]:
        return ValueError
    return None


def refuses(run: Callable[[], object], error: type[ValueError]) -> bool:
    try:
        run()
    except error:
        return True
    return False


def both_ways(case: Case) -> list[Case]:
    """Return `case` and, where there is such a thing, the same one in place."""
    once = case.form.one_buffer or case.form.on_grid
    return [case] if once else [case, replace(case, in_place=True)]


def one(entry: Algorithm, comm: Any, **changes: Any) -> Case:
    """Return the one case that stands for all of this size, with `changes`."""
    (case,) = one_per_size(entry.collective, [comm.size])
    return replace(case, **changes)


def variants(entry: Algorithm, case: Case) -> list[Case]:
    """Return `case` with the default options of `entry` and with others."""
    return [case, *(replace(case, chosen=tuple(chosen.items())) for chosen in entry.variants)]


# ----------------------------------------------------------------- sizes, roots, communicators


def sizes(collective: str, p: int) -> Iterator[Case]:
    """Yield the cases of the grid, but with one root only for each size."""
    roots = sorted({0, p // 2, p - 1})
    for case in grid(collective, [p]):
        if not case.rooted or case.root == roots[case.n % len(roots)]:
            yield case


@each()
def test_every_size(entry: Algorithm, world: Any, agree: Any) -> None:
    """Sizes around p, blocks of no elements on some ranks; in place and not."""
    agree(
        fault
        for plain in sizes(entry.collective, world.size)
        for case in both_ways(plain)
        for fault in faults(entry, world, case)
    )


@each()
def test_every_root_and_option(entry: Algorithm, world: Any, agree: Any) -> None:
    plain = one(entry, world)
    roots = range(world.size) if plain.rooted else [0]
    agree(
        fault
        for case in [*(replace(plain, root=root) for root in roots), *variants(entry, plain)]
        for fault in faults(entry, world, case)
    )


@each()
def test_every_communicator(entry: Algorithm, parts: dict[str, Any], agree: Any) -> None:
    """Two or four at a time, of different sizes, in another order than in the world."""
    agree(
        f"on {name}: {fault}"
        for name, comm in parts.items()
        for case in both_ways(one(entry, comm))
        for fault in faults(entry, comm, case)
    )


# ------------------------------------------------------------------- dtypes and operations


def dtypes_and_operations(case: Case) -> Iterator[tuple[np.dtype[Any], Op]]:
    """Yield all pairs that NumPy has where ranks are few.

    With more ranks, half of the dtypes, each with an operation, and one dtype with half of the
    operations: one half where p is even, the other where it is odd.
    """
    few = case.p <= FEW
    for i, dtype in enumerate(DTYPES):
        exist = [
            op
            for op in (PREDEFINED.values() if case.reduces else [case.op])
            if not (op in (BAND, BOR, BXOR) and dtype.kind in "fc")
        ]
        if few:
            yield from ((dtype, op) for op in exist)
        elif dtype == UINT64:
            yield from ((dtype, op) for op in exist[case.p % 2 :: 2])
        elif i % 2 == case.p % 2:
            yield dtype, exist[i // 2 % len(exist)]


@each()
def test_every_dtype_and_operation(entry: Algorithm, world: Any, agree: Any) -> None:
    """What NumPy has and MPI has not, built-ins refuse."""
    plain = one(entry, world)
    agree(
        fault
        for dtype, op in dtypes_and_operations(plain)
        for fault in faults(entry, world, replace(plain, op=op), dtype)
    )


@each()
def test_small_floats(entry: Algorithm, world: Any, agree: Any) -> None:
    """MPI does not know bfloat16 and float8: they travel as bytes, and built-ins are told how."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    names = [name for name in dir(ml_dtypes) if name.startswith(("bfloat16", "float8_"))]
    bfloat16, *float8 = map(np.dtype, names)
    plain = one(entry, world)
    *_, uneven = sizes(entry.collective, world.size)
    asked = [(case, bfloat16) for case in variants(entry, plain)]
    asked += [(case, float8[world.size % len(float8)]) for case in both_ways(uneven)]
    if entry.kind == "built-in":
        long = replace(plain, n=BEYOND_EAGER // (world.size if plain.by_blocks else 1))
        ops = [SUM, PROD, MIN, MAX]
        asked += [(replace(plain, op=ops[i % 4]), dtype) for i, dtype in enumerate(float8)]
        asked += [(long, bfloat16)]
    found = []
    for case, dtype in asked:
        rounds = case.op is SUM and dtype.name == "float8_e8m0fnu"  # it has powers of two only
        found += faults(entry, world, replace(case, op=MAX) if rounds else case, dtype)
    if plain.reduces:
        with made_by_mpi(SUM, bfloat16) as handle:
            found += faults(entry, world, plain, bfloat16, op=handle)
    agree(found)


@each()
def test_elements_that_are_no_numbers(entry: Algorithm, world: Any, agree: Any) -> None:
    """Points in time, records and foreign byte order are bytes too; references are refused."""
    plain = one(entry, world)
    found = []
    for dtype in ALIKE:
        found += faults(entry, world, replace(plain, op=PAIRS if dtype.names else MAX), dtype)
    if plain.form.brings != "nothing":
        own = Buffers(plain, world.rank, np.full(plain.input_size(world.rank), "text", object))
        run = partial(own.run, handing(entry.function, plain), world)
        found += [f"{entry} takes object arrays"] * (not refuses(run, ValueError))
    agree(found)


@each(lambda case: case.reduces)
def test_operations_and_in_place_of_mpi(entry: Algorithm, world: Any, agree: Any) -> None:
    """``MPI.SUM`` is taken for SUM, ``MPI.IN_PLACE`` for IN_PLACE."""
    from mpi4py import MPI

    cases = [one(entry, world, op=op) for op in PREDEFINED.values() if world.size <= FEW]
    agree(
        fault
        for case in [*cases, *both_ways(one(entry, world))]
        for fault in faults(
            entry, world, case, op=getattr(MPI, case.op.name), in_place=MPI.IN_PLACE
        )
    )


@each(lambda case: case.reduces)
def test_user_made_operations(entry: Algorithm, world: Any, agree: Any) -> None:
    """Made here and made by MPI. If not commutative, the order is kept, or it is refused."""
    found = []
    for op in (GCD, AFFINE):
        with made_by_mpi(op) as handle:
            for case in both_ways(one(entry, world, op=op)):
                found += [*faults(entry, world, case), *faults(entry, world, case, op=handle)]
    agree(found)


@contextmanager
def made_by_mpi(op: Op, dtype: np.dtype[Any] = UINT64) -> Iterator[Any]:
    """Lend `op` on elements of `dtype` as users of MPI make it."""
    from mpi4py import MPI

    def combine(lower: Any, higher: Any, _datatype: Any) -> None:
        result = np.frombuffer(higher, dtype)
        result[:] = op.ufunc(np.frombuffer(lower, dtype), result)

    handle = MPI.Op.Create(combine, commute=op.commutative)
    yield handle
    handle.Free()


# ------------------------------------------------------------------------- call after call


@each()
def test_call_after_call(entry: Algorithm, world: Any, agree: Any) -> None:
    """Every buffer is overwritten as soon as a call returns, and the next call follows at once.

    Vectors are short, with new data and roots each time, then beyond every eager limit.
    """
    plain = one(entry, world)
    long = replace(plain, n=BEYOND_EAGER // (world.size if plain.by_blocks else 1))
    short = [replace(plain, root=i % world.size if plain.rooted else 0) for i in range(8)]
    outcomes = []
    for seed, case in enumerate([*short, *both_ways(long)]):
        inputs, wanted = known(case, UINT64, seed)
        buffers = Buffers(case, world.rank, inputs[world.rank])
        if refusal(entry, world, buffers):
            continue
        got = buffers.run(handing(entry.function, case), world)
        outcomes.append((case, None if got is None else got.copy(), wanted[world.rank]))
        buffers.sent.inside[:] = 0
        buffers.received.inside[:] = 0
    wrong = [(case, difference(case, world.rank, got, want)) for case, got, want in outcomes]
    agree(f"{entry} {case}, call {i}: {text}" for i, (case, text) in enumerate(wrong) if text)


@each(lambda case: case.reduces and case.same_everywhere)
def test_the_same_bits_on_every_rank(entry: Algorithm, world: Any, agree: Any) -> None:
    """Also where the order of the operands shows in the last bits."""
    found = []
    for dtype in map(np.dtype, (np.float32, np.float64, np.longdouble)):
        case = one(entry, world, n=50)
        inputs = [values.astype(dtype) for values in rounding(case)]
        buffers = Buffers(case, world.rank, inputs[world.rank])
        if refusal(entry, world, buffers):
            continue
        got = buffers.run(entry.function, world)
        wrong = difference(case, world.rank, got, world.bcast(got), "rank 0")
        found += [f"{entry} {case} {dtype}: {wrong}"] * (wrong is not None)
    agree(found)
