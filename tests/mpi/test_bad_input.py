"""Bad input is refused on every rank before anything is sent or written, and the message helps.

What is wrong everywhere, simulated too, comes from `wrong_calls`; what only MPI has is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectives import IN_PLACE, Op, UnsupportedError
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.differences import difference
from collectives.oracle.forms import FORMS
from collectives.oracle.grids import one_per_size
from collectives.oracle.payloads import AFFINE, UINT64, exact
from collectives.oracle.wrong_calls import wrong_calls
from collectives.registry import Algorithm, algorithms, commutative

pytestmark = pytest.mark.mpi

ENTRIES = [entry for entry in algorithms() if not FORMS[entry.collective].on_grid]

SAYS = {
    "a list": r"is list, wants an array",
    "not contiguous": r"float64\(\d+,\) with strides \(16,\), wants contiguous",
    "one element longer": r"is float64\(\d+,\)",
    "of another dtype": r"is float\d\d\(\d+,\), .*float\d\d\(\d+,\)",
    "read-only": r"is a read-only float64\(\d+,\), wants a writeable one",
    "overlapping": r"overlap; pass IN_PLACE",
    "IN_PLACE without": r"is IN_PLACE on rank \d+, allowed on root \d+ only",
    "root=": r"root is -?[\d.]+, wants 0\.\.\d+",
    "op='SUM'": r"op is 'SUM', wants a collectives\.Op or an MPI\.Op",
    "BAND on float64": r"op BAND does not work on float64",
    "one element too many": r"counts (add up to|say) \d+",
    "of one rank more": r"counts is \[.*\], wants \d+ sizes >= 0",
    "negative count": r"counts is \[-1.*\], wants \d+ sizes >= 0",
}
"""How messages about the calls of `wrong_calls` say what was got and what was wanted."""


def calls_of_mpi(case: Case, rank: int) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield what is wrong, the arguments, and the pattern of the message."""
    from mpi4py import MPI

    ours = Buffers(case, rank, np.ones(case.input_size(rank)))
    buffers = case.buffers(rank, ours.sent.inside, ours.received.inside)
    good = buffers | case.options(rank)
    if case.form.to_root and rank != case.root:
        buffers.pop("recvbuf")  # not looked at
        yield "MPI.IN_PLACE", good | {"sendbuf": MPI.IN_PLACE}, SAYS["IN_PLACE without"]
    if case.form.from_root and rank != case.root:
        buffers.pop("sendbuf", None)
    for name, array in buffers.items():
        triple = [array, array.size, MPI.DOUBLE]
        yield f"{name} as MPI's triple", good | {name: triple}, SAYS["a list"]
        yield f"{name} None", good | {name: None}, r"is NoneType, wants an array"
        yield f"{name} bytes", good | {name: bytearray(8)}, r"is bytearray, wants an array"
        if name != "sendbuf" and case.collective != "scatter":
            yield f"{name} IN_PLACE", good | {name: IN_PLACE}, r"is _InPlace, wants an array"
    if case.reduces:
        for name in ("MINLOC", "MAXLOC", "REPLACE", "NO_OP", "OP_NULL"):
            yield name, good | {"op": getattr(MPI, name)}, r"op is <mpi4py\.MPI\.Op .*>, "
        yield "MPI.BAND", good | {"op": MPI.BAND}, SAYS["BAND on float64"]
        yield "a ufunc", good | {"op": np.add}, r"op is <ufunc 'add'>, wants a collectives\.Op"
        hypot = Op("HYPOT", np.hypot)
        integers = {name: array.astype(np.int64) for name, array in buffers.items()}
        yield "HYPOT", good | integers | {"op": hypot}, r"op HYPOT does not work on int64"
    for name in case.sizes(rank):
        yield f"no {name}", good | {name: []}, r"counts is \[\], wants \d+ sizes >= 0"


class NoFurther:
    """A communicator that gives away its duplicate, and with it all it could send, to nobody."""

    is_private = False

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.comm, name)

    def private(self) -> Any:
        raise AssertionError("is not refused")


def answer(entry: Algorithm, comm: Any, arguments: dict[str, Any]) -> str:
    """Return what `entry` says to `arguments`, or that it does not refuse them."""
    arrays = [array for array in arguments.values() if isinstance(array, np.ndarray)]
    before = [array.tobytes() for array in arrays]
    try:
        entry.function(NoFurther(comm), **arguments)
        text = "nothing"
    except (ValueError, AssertionError) as error:
        text = f"{type(error).__name__}: {error}"
    written = before != [array.tobytes() for array in arrays]
    return "a buffer was written to" if written else text


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_bad_input_is_refused(entry: Algorithm, world: Any, agree: Any) -> None:
    (case,) = one_per_size(entry.collective, [world.size])
    wrong = [
        (what, arguments, next((says for words, says in SAYS.items() if words in what), "wants"))
        for what, arguments in wrong_calls(case, world.rank)
    ]
    found = []
    for what, arguments, pattern in [*wrong, *calls_of_mpi(case, world.rank)]:
        said = answer(entry, world, arguments)
        if not re.match(f"ValueError: .*{pattern}", said):
            found.append(f"{entry} {case}, {what}: {said!r}, wants a ValueError like {pattern!r}")
    agree(found + still_wrong(entry, world, case))


def still_wrong(entry: Algorithm, comm: Any, case: Case) -> list[str]:
    """Return what is wrong with a good call, where it is possible, after so many bad ones."""
    inputs = exact(case, UINT64)
    try:
        got = Buffers(case, comm.rank, inputs[comm.rank]).run(entry.function, comm)
    except UnsupportedError:
        return []
    wrong = difference(case, comm.rank, got, case.expected(inputs)[comm.rank])
    return [f"{entry} {case}, after bad calls: {wrong}"] if wrong else []


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if {*entry.requires} == {commutative}], ids=str
)
def test_operations_whose_order_matters_are_refused(entry: Algorithm, world: Any) -> None:
    """Where the order of the ranks is not kept; elsewhere they give the right result."""
    (case,) = one_per_size(entry.collective, [world.size])
    case = replace(case, op=AFFINE)
    buffers = Buffers(case, world.rank, exact(case, UINT64)[world.rank])
    with pytest.raises(UnsupportedError, match=rf"^{entry} needs commutative; got op=AFFINE$"):
        buffers.run(entry.function, NoFurther(world))
    assert not buffers.violations()
