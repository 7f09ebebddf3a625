"""What ranks bring to a case on disk, such that a wrong result says what went wrong.

Sums of signed integers stay in range, since what happens beyond is for no language to promise.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.dtypes import finfo
from collectives.op import PROD, SUM
from collectives.oracle import payloads
from collectives.oracle.cases import Case

BASE: Final = 4
"""A rank may be counted up to three times before its digit runs over."""

PRIMES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)


def inputs(
    case: Case, dtype: np.dtype[Any], payload: str, seed: int = 0, part: int = 0
) -> list[Array]:
    """Return what the ranks bring under the name that the manifest has for it.

    Parameters
    ----------
    case : Case
        What is asked.
    dtype : dtype
        Of the elements.
    payload : str
        ``codes``, ``exact``, ``counters``, ``special`` or ``rounding``.
    seed : int
        The number of the case in its set, so that no two bring the same.
    part : int
        Which of `passes`, for counters.
    """
    if payload == "codes":
        return codes(case, dtype, seed)
    if payload == "counters":
        return counters(case, dtype, seed, part)
    if payload == "special":
        return special(case, dtype)
    if payload == "rounding":
        return rounding(case, dtype, seed)
    if case.op is PROD and dtype == np.int64 and case.p < len(PRIMES):
        return primes(case)
    values = payloads.exact(case, dtype, seed=seed)
    if case.reduces and case.op is SUM and dtype.kind == "i":
        return [vector // (2 * case.p) for vector in values]
    return values


def reach(dtype: np.dtype[Any]) -> int:
    """Return up to where `dtype` tells all integers apart."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return 1 if dtype.kind == "b" else 2 ** (int(finfo(dtype).nmant) + 1)


# ------------------------------------------------------------------ codes: who brought which


def has_codes(case: Case, dtype: np.dtype[Any]) -> bool:
    """Tell whether `dtype` has room for a code per element that is brought."""
    return _span(case) < reach(dtype)


def codes(case: Case, dtype: np.dtype[Any], seed: int = 0) -> list[Array]:
    """Return elements that say which rank brought them, and which of its elements they are.

    Examples
    --------
    >>> case, int32 = Case("allgather", p=2, n=3), np.dtype(np.int32)
    >>> [vector.tolist() for vector in codes(case, int32, seed=1)]
    [[7, 8, 9], [10, 11, 12]]
    >>> brought_by(case, int32, 11, seed=1)
    (1, 1)
    """
    first, step = _first(case, dtype, seed), _stride(case)
    return [
        (np.arange(case.input_size(rank)) + first + rank * step).astype(dtype)
        for rank in range(case.p)
    ]


def brought_by(
    case: Case, dtype: np.dtype[Any], code: Any, seed: int = 0
) -> tuple[int, int] | None:
    """Return the rank and the element that a code stands for; None where it is none."""
    value = complex(code)
    if value.imag or not value.real.is_integer():
        return None
    rank, element = divmod(int(value.real) - _first(case, dtype, seed), _stride(case))
    known = 0 <= rank < case.p and element < case.input_size(rank)
    return (rank, element) if known else None


def _first(case: Case, dtype: np.dtype[Any], seed: int) -> int:
    span = _span(case)
    return 1 + seed % max(1, reach(dtype) // span) * span


def _span(case: Case) -> int:
    return case.p * _stride(case)


def _stride(case: Case) -> int:
    return max(1, *(case.input_size(rank) for rank in range(case.p)))


# ------------------------------------------------------------------ counters: how often whom


def passes(case: Case, dtype: np.dtype[Any]) -> range:
    """Return the numbers of the cases that it takes to count all ranks; none: it cannot be done."""
    lanes = _lanes(dtype)
    return range(-(-case.p // lanes) if lanes else 0)


def counters(case: Case, dtype: np.dtype[Any], seed: int = 0, part: int = 0) -> list[Array]:
    """Return powers of four, a rank's own by element: digits of a sum say who is in it how often.

    Examples
    --------
    >>> case = Case("allreduce", p=3, n=4)
    >>> mine = counters(case, np.dtype(np.int64))
    >>> [vector.tolist() for vector in mine]
    [[1, 4, 16, 1], [4, 16, 1, 4], [16, 1, 4, 16]]
    >>> total = mine[0] + mine[2] + mine[2]
    >>> sorted(counted(case, np.dtype(np.int64), 1, total[1]).elements())
    [0, 2, 2]
    """
    vectors = []
    for rank in range(case.p):
        elements = np.arange(case.input_size(rank))
        turns = range(_width(case, dtype))
        powers = [BASE ** _lane(case, dtype, rank, seed + i, part) for i in turns]
        here = part_of(dtype, rank) == part
        values = np.array(powers, object)[elements % len(powers)] if here else elements * 0
        vectors.append(values.astype(dtype))
    return vectors


def counted(
    case: Case, dtype: np.dtype[Any], element: int, total: Any, seed: int = 0, part: int = 0
) -> Counter[int] | None:
    """Return how often each rank of this pass is in `total`, the sum of input element `element`.

    None where `total` is no sum of counters.
    """
    value = total
    if dtype.kind not in "iu":
        number = complex(total)
        if number.imag or not number.real.is_integer():
            return None
        value = number.real
    digits, rest = Counter[int](), int(value)
    if rest < 0 or rest >= BASE ** _width(case, dtype):
        return None
    ranks = [r for r in range(case.p) if part_of(dtype, r) == part]
    for rank in ranks:
        times = rest // BASE ** _lane(case, dtype, rank, seed + element, part) % BASE
        if times:
            digits[rank] = times
    return digits


def part_of(dtype: np.dtype[Any], rank: int) -> int:
    """Return which of `passes` counts a rank."""
    return rank // _lanes(dtype)


def _lanes(dtype: np.dtype[Any]) -> int:
    return (reach(dtype).bit_length() - 1) // 2


def _width(case: Case, dtype: np.dtype[Any]) -> int:
    return min(case.p, _lanes(dtype))


def _lane(case: Case, dtype: np.dtype[Any], rank: int, turn: int, part: int) -> int:
    return (rank - part * _lanes(dtype) + turn) % _width(case, dtype)


def primes(case: Case) -> list[Array]:
    """Return primes whose products stay in range; one of p + 1 is missing, in turns by element."""
    return [
        np.array([PRIMES[(rank + i) % (case.p + 1)] for i in range(case.input_size(rank))], int)
        for rank in range(case.p)
    ]


# ------------------------------------------------------------------ floats


def rounding(case: Case, dtype: np.dtype[Any], seed: int = 0) -> list[Array]:
    """Return floats of different sizes, whose sums depend on the order of the operands."""
    draw = np.random.default_rng([2, case.p, seed])
    low, high = (-4, 6) if int(finfo(dtype).maxexp) < 100 else (-20, 20)
    return [
        (draw.standard_normal(size) * np.exp2(draw.integers(low, high, size))).astype(dtype)
        for size in map(case.input_size, range(case.p))
    ]


@dataclass(frozen=True)
class Situation:
    """Special values that meet in one element: what one rank brings, its successor, the others."""

    name: str
    one: float
    next: float
    others: float


SITUATIONS: Final = (
    Situation("NaN", np.nan, 2.0, 2.0),
    Situation("+Inf", np.inf, 2.0, 2.0),
    Situation("-Inf", -np.inf, 2.0, 2.0),
    Situation("+Inf and -Inf", np.inf, -np.inf, 2.0),
    Situation("-0 everywhere", -0.0, -0.0, -0.0),
    Situation("+0 among -0", 0.0, -0.0, -0.0),
    Situation("-0 among 1", -0.0, 1.0, 1.0),
    Situation("a denormal", 5e-324, 0.0, 0.0),  # stands for the smallest of the type
    Situation("a denormal among 1", 5e-324, 1.0, 1.0),
)


def situation(case: Case, element: int) -> tuple[Situation, int]:
    """Return what meets in an element of the vector, and which rank holds the special value."""
    turn, which = divmod(element, len(SITUATIONS))
    return SITUATIONS[which], turn % case.p


def special(case: Case, dtype: np.dtype[Any]) -> list[Array]:
    """Return vectors in which special values meet others, held by every rank in turn.

    Examples
    --------
    >>> one, other = special(Case("allreduce", p=2, n=10), np.dtype("f4"))
    >>> one[[0, 4, 9]].tolist(), other[[0, 4, 9]].tolist()
    ([nan, -0.0, 2.0], [2.0, -0.0, nan])
    """
    least = finfo(dtype).smallest_subnormal
    vectors = []
    for rank in range(case.p):
        values = np.empty(case.input_size(rank), dtype)
        for element in range(values.size):
            what, holder = situation(case, element)
            mine = {holder: what.one, (holder + 1) % case.p: what.next}
            mine[holder] = what.one
            value = mine.get(rank, what.others)
            values[element] = least if value == 5e-324 else value
        vectors.append(values)
    return vectors
