"""On which calls a promise is worth checking, and how a call is written on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from collectives.op import LOR, MAX, MIN, PREDEFINED, SUM, Op
from collectives.oracle.cases import FORMS, RANKS, Case, grid, one_per_size
from collectives.oracle.payloads import AFFINE

Cases: TypeAlias = Callable[[str, Sequence[int]], Iterator[Case]]

FEW: Final = (1, 2, 3, 5, 8)
"""Numbers of ranks for what does not depend on them much."""

OPS: Final = PREDEFINED | {AFFINE.name: AFFINE}

_LONG: Final = 257
"""A prime: elements of a vector that is much longer than there are ranks."""


def every(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid, every operation and every type of number, longer vectors, other roots."""
    yield from grid(collective, ranks)
    few = [p for p in ranks if p < 10]
    yield from longer(collective, few)
    yield from operations(collective, few)
    yield from dtypes(collective, [p for p in ranks if p in FEW])


def longer(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield sizes beyond the grid's, and every root once."""
    for case in one_per_size(collective, ranks):
        if case.form.brings != "nothing":
            yield replace(case, n=2 * case.p - 1)
            yield replace(case, n=_LONG)
        if case.rooted:
            known = {0, case.p // 2, case.p - 1}
            yield from (replace(case, root=root) for root in range(case.p) if root not in known)


def operations(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield every predefined operation, on integers that tell them apart."""
    for case in one_per_size(collective, ranks) if FORMS[collective].reduces else ():
        for op in PREDEFINED.values():
            if op is not SUM:
                yield replace(case, op=op, dtype="uint64")
            if op in (MIN, MAX):
                yield replace(case, op=op, dtype="int64")


def dtypes(collective: str, ranks: Sequence[int] = FEW) -> Iterator[Case]:
    """Yield every type of number; truth values with an operation that they have in MPI, too."""
    for case in one_per_size(collective, ranks):
        if case.form.brings != "nothing":
            yield from (replace(case, dtype=dtype) for dtype in number_types())
            if case.reduces:
                yield replace(case, op=LOR, dtype="bool")


def number_types() -> list[str]:
    """Return NumPy's types of numbers and, where there is `ml_dtypes`, some of its."""
    of_numpy = dict.fromkeys(np.dtype(code).name for code in "?bBhHiIlLefdgFDG")
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        return [*of_numpy]
    return [*of_numpy, "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def floats(collective: str, ranks: Sequence[int] = FEW) -> Iterator[Case]:
    """Yield the floating-point types that are computed with, narrow ones too."""
    types = ["float64", "float32", "float16", "bfloat16"]
    for case in one_per_size(collective, ranks) if FORMS[collective].brings != "nothing" else ():
        yield from (replace(case, n=3 * case.p + 2, dtype=x) for x in types if x in number_types())


def float_operations(collective: str, ranks: Sequence[int] = FEW) -> Iterator[Case]:
    """Yield sums, products and extremes of wide and narrow floats."""
    for case in floats(collective, ranks):
        if case.dtype in ("float64", "float32"):
            yield case
            if case.reduces:
                yield from (replace(case, op=PREDEFINED[name]) for name in ("PROD", "MIN", "MAX"))


def without_elements(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield calls on no elements at all, on every rank."""
    for case in one_per_size(collective, ranks):
        yield replace(case, n=0)
        if case.by_blocks:
            yield replace(case, counts=(0,) * case.p)


def alone(collective: str, ranks: Sequence[int] = (1,)) -> Iterator[Case]:
    """Yield everything that one rank can be asked."""
    yield from every(collective, [p for p in ranks if p == 1])


def reducing(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid of a collective that combines operands."""
    yield from grid(collective, ranks) if FORMS[collective].reduces else ()


def alike(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid of a collective that gives all ranks the same."""
    if Case(collective, 1).same_everywhere:
        yield from grid(collective, ranks)


def sums(collective: str, ranks: Sequence[int] = FEW) -> Iterator[Case]:
    """Yield the floating-point types for a collective that adds them up."""
    yield from floats(collective, ranks) if FORMS[collective].reduces else ()


def in_place(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid, in place, of a collective that knows it."""
    form = FORMS[collective]
    if not (form.one_buffer or form.on_grid or form.brings == "nothing"):
        yield from (replace(case, in_place=True) for case in grid(collective, ranks))


def rooted(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the calls in which some ranks have an argument that means nothing."""
    if FORMS[collective].from_root or FORMS[collective].to_root:
        for case in one_per_size(collective, ranks):
            yield from (replace(case, root=root) for root in sorted({0, case.root, case.p - 1}))
    elif collective == "exscan":
        yield from one_per_size(collective, ranks)


# ------------------------------------------------------------------ as text

_PART = re.compile(r"(\w+)=(\([^)]*\)|\S+)|(in[ _]place)")


def parse_case(collective: str, text: str) -> Case:
    """Read a call as `str` writes it: ``p=5 n=7 op=MAX root=2 dtype=int8 in_place``.

    Examples
    --------
    >>> case = parse_case("reduce", "p=5 n=7 op=MAX root=2 dtype=int8 segment=3")
    >>> case.op, str(case)
    (Op(MAX), 'p=5 n=7 op=MAX root=2 dtype=int8 segment=3')
    >>> parse_case("allgather", "p=2 counts=0,3 in_place").counts
    (0, 3)
    """
    rest = _PART.sub("", text).strip(" ,")
    if rest:
        raise ValueError(f"case has {rest!r}, wants such as 'p=5 n=7 op=MAX root=2 in_place'")
    given: dict[str, Any] = {}
    chosen: list[tuple[str, Any]] = []
    for name, value, in_place in _PART.findall(text):
        if in_place:
            given["in_place"] = True
        elif name in ("p", "n", "root"):
            given[name] = _number(name, value)
        elif name == "counts":
            given[name] = tuple(_number(name, x) for x in re.split(r"[,\s]+", value.strip("() ,")))
        elif name == "op":
            given[name] = _operation(value)
        elif name == "dtype":
            given[name] = value
        else:
            chosen.append((name, int(value) if re.fullmatch(r"-?\d+", value) else value))
    if given.get("p", 0) < 1:
        raise ValueError(f"case is {text!r}, wants the number of ranks, such as p=5")
    case = Case(collective, given.pop("p"), **given, chosen=tuple(chosen))
    if not 0 <= case.root < case.p or (case.counts and len(case.counts) != case.p):
        raise ValueError(f"case is {text!r}: root and counts do not fit p={case.p}")
    return case


def _number(name: str, text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{name} is {text!r}, wants a number")
    return int(text)


def _operation(name: str) -> Op:
    if name not in OPS:
        raise ValueError(f"op is {name}, wants one of {', '.join(OPS)}")
    return OPS[name]
