"""Which cases a set of vectors has, and what each is there to reveal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from collectives.comm import in_mpi
from collectives.dtypes import number_type
from collectives.op import LAND, LOR, MAX, MIN, PREDEFINED, PROD, SUM, Op
from collectives.oracle.cases import Case
from collectives.oracle.grids import grid, one_per_size
from collectives.oracle.vectors.payload import SITUATIONS, has_codes, passes
from collectives.registry import COLLECTIVES, known_collective

IN_SETS: Final = tuple(name for name in COLLECTIVES if name != "barrier")
"""The collectives that have data."""

DTYPES: Final = (
    "int64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "bool",
)  # fmt: skip
"""The first one is that of all cases that are not about dtypes."""

_BY_SIZE: Final = ("bool", "uint8", "bfloat16", "float32", "float64", "complex128")


@dataclass(frozen=True)
class Planned:
    """A case of a set: what is asked, what ranks bring, and which promise it is about."""

    case: Case
    dtype: np.dtype[Any]
    payload: str
    promise: str
    reveals: str
    part: int = 0

    @property
    def compare(self) -> str:
        """How results are compared: ``exact``, ``bounded`` or ``class_and_sign``."""
        how = {"special": "class_and_sign", "rounding": "bounded"}
        return how.get(self.payload, "exact") if self.case.reduces else _moved(self.payload)

    @property
    def name(self) -> str:
        """Unique in a set, and the name of a folder."""
        case = self.case
        size = f"n{case.n}" if case.counts is None else "counts" + "_".join(map(str, case.counts))
        parts = [f"p{case.p}", size, *([f"root{case.root}"] if case.rooted else [])]
        parts += [case.op.name] if case.reduces else []
        parts += [self.dtype.name, self.payload, *([f"part{self.part}"] if self.part else [])]
        return f"{case.collective}/{'-'.join(parts + ['in_place'] * case.in_place)}"


def _moved(payload: str) -> str:
    return "class_and_sign" if payload == "special" else "exact"


def plan(
    collectives: Sequence[str],
    ranks: Sequence[int],
    dtypes: Sequence[str] = DTYPES,
    *,
    quick: bool = False,
) -> Iterator[Planned]:
    """Yield the cases of a set, each once.

    Parameters
    ----------
    collectives : sequence of str
        Such as ``["allreduce"]``; ``IN_SETS`` has all that have data.
    ranks : sequence of int
        Numbers of ranks. Operations, dtypes and floats are tried on the largest and one in the
        middle.
    dtypes : sequence of str
        The first is that of all cases that are not about dtypes.
    quick : bool
        Half of the sizes, and the largest number of ranks only for what is not about sizes.

    Examples
    --------
    >>> first = next(plan(["allreduce"], [2]))
    >>> first.name, first.reveals
    ('allreduce/p2-n0-SUM-int64-exact', 'nothing is sent and nothing is written')
    """
    seen: set[str] = set()
    ranks = sorted({*ranks})
    for collective in collectives:
        if known_collective(collective) not in IN_SETS:
            raise ValueError(f"{collective} has no data: there are no vectors for it")
        for planned in _cases(collective, ranks, [number_type(name) for name in dtypes], quick):
            if planned.name not in seen:
                seen.add(planned.name)
                yield planned


def _cases(
    collective: str, ranks: Sequence[int], dtypes: Sequence[np.dtype[Any]], quick: bool
) -> Iterator[Planned]:
    base = dtypes[0]
    few = sorted({ranks[len(ranks) // 2], ranks[-1]})[-1 if quick else 0 :]
    for case in _sizes(collective, ranks, quick):
        yield _values(case, base)
    for case in one_per_size(collective, ranks):
        yield from _in_place(case, base)
        yield from _counted(case, base)
    for case in one_per_size(collective, few):
        if case.reduces:
            yield from _ops(case, base)
        yield from _dtypes(case, dtypes, few)
        yield from _floats(case, [dtype for dtype in dtypes if _is_real_float(dtype)])


def _sizes(collective: str, ranks: Sequence[int], quick: bool) -> Iterator[Case]:
    """Yield the grid of sizes, with one root per size, each in turn."""
    sizes: dict[tuple[int, Any], list[Case]] = {}
    for case in grid(collective, ranks):
        sizes.setdefault((case.p, case.counts or case.n), []).append(case)
    for turn, ((p, size), cases) in enumerate(sizes.items()):
        if not quick or isinstance(size, tuple) or size in (0, 1, p + 1):
            yield cases[turn % len(cases)]


def _values(case: Case, dtype: np.dtype[Any]) -> Planned:
    case = replace(case, op=_sum_of(dtype)) if case.reduces else case
    payload = "exact" if case.reduces or not has_codes(case, dtype) else "codes"
    total = sum(case.input_size(rank) for rank in range(case.p))
    if total == 0:
        return Planned(case, dtype, payload, "zero_length_ok", _NOTHING)
    if case.counts is not None:
        about = "zero_length_ok" if 0 in case.counts else "right_values"
        return Planned(case, dtype, payload, about, "displacements by counts, and blocks of none")
    about = "one_rank_ok" if case.p == 1 else "right_values"
    return Planned(case, dtype, payload, about, _about_size(case))


_NOTHING: Final = "nothing is sent and nothing is written"


def _about_size(case: Case) -> str:
    if case.p == 1:
        return "one rank: the result is its own input"
    if case.n < case.p:
        return "fewer elements than ranks: some blocks of a vector are empty"
    if case.n == case.p:
        return "one element per rank"
    return "sizes that p does not divide: remainders, and the last block"


def _in_place(case: Case, dtype: np.dtype[Any]) -> Iterator[Planned]:
    if not case.form.one_buffer and not case.form.on_grid:
        planned = _values(replace(case, in_place=True), dtype)
        text = "input and result share a buffer: input that is overwritten before it is read"
        yield replace(planned, promise="works_in_place", reveals=text)


def _counted(case: Case, dtype: np.dtype[Any]) -> Iterator[Planned]:
    if not case.reduces or dtype.kind == "b":
        return
    for part in passes(case, dtype):
        text = "a rank that is missing, or counted twice, by element"
        case = replace(case, op=SUM)
        yield Planned(case, dtype, "counters", "every_rank_counted_once", text, part)


def _ops(case: Case, dtype: np.dtype[Any]) -> Iterator[Planned]:
    text = "an operation taken for another; padding that is not its identity"
    for op in PREDEFINED.values():
        if op is not SUM and _defined(op, dtype):
            yield Planned(replace(case, op=op), dtype, "exact", "right_values", text)


def _dtypes(case: Case, dtypes: Sequence[np.dtype[Any]], few: Sequence[int]) -> Iterator[Planned]:
    text = "elements of another size or meaning"
    for dtype in dtypes[1:]:
        if case.reduces or dtype.name in _BY_SIZE:
            planned = _values(case, dtype)
            payload = "codes" if planned.payload == "codes" and case.p == few[-1] else "exact"
            yield replace(planned, payload=payload, promise="right_values", reveals=text)


def _floats(case: Case, dtypes: Sequence[np.dtype[Any]]) -> Iterator[Planned]:
    enough = len(SITUATIONS) * (1 if case.by_blocks or not case.reduces else case.p)
    case = replace(case, n=enough)
    for dtype in dtypes:
        for op in (SUM, PROD, MIN, MAX) if case.reduces else (SUM,):
            asked = replace(case, op=op)
            text = "NaN, infinities, signs of zeros and denormals that get lost or change sides"
            if not case.reduces or dtype.name in ("float32", "float64") or len(dtypes) == 1:
                yield Planned(asked, dtype, "special", "special_values", text)
        if case.reduces:
            text = "sums less exact than their tree allows; bits that differ between ranks"
            yield Planned(case, dtype, "rounding", "float_error_bounded", text)


def _is_real_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or not in_mpi(dtype)


def _sum_of(dtype: np.dtype[Any]) -> Op:
    return LOR if dtype.kind == "b" else SUM


def _defined(op: Op, dtype: np.dtype[Any]) -> bool:
    """Tell whether MPI defines `op` for such elements."""
    if dtype.kind == "b":
        return op in (LAND, LOR)
    if _is_real_float(dtype):
        return op in (SUM, PROD, MIN, MAX)
    return dtype.kind in "iu" or op in (SUM, PROD)
