"""On which calls a promise is worth checking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from collectives.comm import in_mpi
from collectives.op import IN_MPI, LOR, MAX, MIN, PREDEFINED, SUM
from collectives.oracle.cases import Case
from collectives.oracle.forms import FORMS

Cases: TypeAlias = Callable[[str, Sequence[int]], Iterator[Case]]

FEW: Final = (1, 2, 3, 5, 8)
"""Numbers of ranks for what does not depend on them much."""

LONG: Final = 257
"""A prime: elements of a vector that is much longer than there are ranks."""

LARGE: Final = 200_003
"""A prime: elements of a vector that no library sends in one piece, or buffers."""


RANKS = (1, 2, 3, 4, 5, 7, 8, 16, 17)
"""The numbers of ranks that the grid has: powers of two, their neighbours, primes."""


def grid(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the calls at whose edges algorithms break: sizes around p, roots, uneven blocks.

    Examples
    --------
    >>> [str(case) for case in grid("allgather", [2])][-3:]
    ['p=2 counts=0,1', 'p=2 counts=0,3', 'p=2 counts=4,3']
    """
    for p in ranks:
        plain = Case(collective, p)
        for root in sorted({0, p // 2, p - 1}) if plain.rooted else [0]:
            sizes = {0, 1, p - 1, p, p + 1, 3 * p + 1} if plain.form.brings != "nothing" else {0}
            for n in sorted(sizes):
                yield replace(plain, n=n, root=root)
        if plain.by_blocks:
            for counts in _uneven(p):
                yield replace(plain, counts=counts)


def _uneven(p: int) -> Iterator[tuple[int, ...]]:
    yield tuple(rank % 3 for rank in range(p))  # nothing on some ranks
    yield tuple(p + 1 if rank == p // 2 else 0 for rank in range(p))  # all on one
    yield tuple(p + 2 - rank for rank in range(p))


def one_per_size(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield one call for every p, with blocks of different sizes and the root in the middle.

    Examples
    --------
    >>> [str(case) for case in one_per_size("reduce", [2, 5])]
    ['p=2 n=3 root=1', 'p=5 n=6 root=2']
    """
    for p in ranks:
        case = Case(collective, p, n=p + 1)
        yield replace(case, root=p // 2) if case.rooted else case


def one_per_form(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield one call for every p and, where blocks have sizes, the form of it that takes them."""
    for case in one_per_size(collective, ranks):
        yield case
        if case.by_blocks:
            yield replace(case, counts=(case.n,) * case.p)


def every(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid, every operation and every type of number, longer vectors, other roots."""
    yield from lengths(collective, ranks)
    few = [p for p in ranks if p < 10]
    yield from large(collective, [p for p in few if p in (2, max(few)) and p != 3])
    yield from operations(collective, few)
    yield from dtypes(collective, [p for p in ranks if p in FEW])
    yield from typed_operations(collective, [p for p in few if p == min(3, max(few))])


def lengths(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the grid, longer vectors, other roots."""
    yield from grid(collective, ranks)
    few = [p for p in ranks if p < 10]
    yield from longer(collective, few)
    yield from large(collective, [3] if 3 in few else few[-1:])


def longer(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield sizes beyond the grid's, and every root once."""
    for case in one_per_size(collective, ranks):
        if case.form.brings != "nothing":
            yield replace(case, n=2 * case.p - 1)
            yield replace(case, n=LONG)
        if case.rooted:
            known = {0, case.p // 2, case.p - 1}
            yield from (replace(case, root=root) for root in range(case.p) if root not in known)


def large(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield a vector of megabytes."""
    for case in one_per_size(collective, ranks):
        if case.form.brings != "nothing" and case.p > 1:
            yield replace(case, n=LARGE // case.p if case.by_blocks else LARGE)


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


def typed_operations(collective: str, ranks: Sequence[int] = FEW) -> Iterator[Case]:
    """Yield every operation that MPI has of every type of number.

    Examples
    --------
    >>> [case.op.name for case in typed_operations("scan", [2]) if case.dtype == "complex128"]
    ['PROD']
    """
    for case in one_per_size(collective, ranks) if FORMS[collective].reduces else ():
        for dtype in filter(in_mpi, map(np.dtype, number_types())):
            names = IN_MPI.get(dtype.kind, PREDEFINED)
            yield from (replace(case, op=PREDEFINED[x], dtype=dtype.name) for x in PREDEFINED
                        if x in names and x != "SUM")  # fmt: skip


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
        if 1 < case.p <= 3:
            yield from (replace(case, n=LONG, dtype=x) for x in types[:2])


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
    """Yield every length, in place, of a collective that knows it."""
    form = FORMS[collective]
    if not (form.one_buffer or form.on_grid or form.brings == "nothing"):
        yield from (replace(case, in_place=True) for case in lengths(collective, ranks))


def rooted(collective: str, ranks: Sequence[int] = RANKS) -> Iterator[Case]:
    """Yield the calls in which some ranks have an argument that means nothing."""
    if FORMS[collective].from_root or FORMS[collective].to_root:
        for case in one_per_size(collective, ranks):
            yield from (replace(case, root=root) for root in sorted({0, case.root, case.p - 1}))
    elif collective == "exscan":
        yield from one_per_size(collective, ranks)
