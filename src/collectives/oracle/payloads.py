"""What ranks bring to a case: values in which a mistake cannot hide.

Each function returns the inputs of all ranks, in rank order, and the same ones on every call.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from collectives import provenance
from collectives.comm import Array
from collectives.dtypes import finfo, number_type
from collectives.op import BAND, BOR, LAND, LOR, LXOR, MAX, MIN, PROD, Op
from collectives.oracle.cases import Case

UINT64: Final[np.dtype[Any]] = np.dtype(np.uint64)
_LOW = np.uint64(2**32 - 1)


def _compose(lower: Array, higher: Array) -> Array:
    a, b = lower >> np.uint64(32), lower & _LOW
    c, d = higher >> np.uint64(32), higher & _LOW
    composed: Array = (a * c & _LOW) << np.uint64(32) | (a * d + b & _LOW)
    return composed


AFFINE: Final = Op("AFFINE", _compose, commutative=False)
"""Exact, associative and not commutative: the two halves of a uint64 are the a and the b of a map
x -> a x + b modulo 2**32, and two maps are composed."""


def exact(case: Case, dtype: np.dtype[Any] = UINT64, seed: int = 0) -> list[Array]:
    """Return random values that differ by rank and element and combine without rounding.

    Integers have their whole range (sums wrap); floats that are only moved have all their digits,
    others are small integers, or powers of two where they are multiplied; of a float8, which has
    room for few, some ranks bring none. Where one operand alone can decide the result, as with
    MAX, ranks take turns by element.

    Examples
    --------
    >>> from collectives.op import MAX
    >>> case = Case("reduce", p=3, n=5, op=MAX)
    >>> np.argmax(exact(case, np.dtype(np.int64)), axis=0).tolist()
    [0, 1, 2, 0, 1]
    """
    draw = np.random.default_rng([seed, case.p])
    sizes = [case.input_size(rank) for rank in range(case.p)]
    values = _random(draw, sum(sizes), dtype, case)
    if case.reduces:
        values = _telling(values.reshape(case.p, -1), case.op).reshape(-1)
    return np.split(values, np.cumsum(sizes[:-1]))


def rounding(case: Case) -> list[Array]:
    """Return floats of very different sizes, whose sums depend on the order of the operands."""
    draw = np.random.default_rng([1, case.p])
    sizes = [case.input_size(rank) for rank in range(case.p)]
    values = draw.standard_normal(sum(sizes)) * 10.0 ** draw.integers(-8, 8, sum(sizes))
    return np.split(values, np.cumsum(sizes[:-1]))


def general(case: Case) -> list[Array]:
    """Return floats of either sign and ordinary size, of the type that the case asks for."""
    draw = np.random.default_rng([2, case.p])
    return [
        draw.standard_normal(case.input_size(rank)).astype(number_type(case.dtype or "float64"))
        for rank in range(case.p)
    ]


def special(case: Case) -> list[Array]:
    """Return floats in which single ranks have NaN, infinities, zeros below 0, or denormals.

    Elements take turns in what is special about them, then in who has it. In a sum or product
    nothing is rounded: the others have zeros or ones.
    """
    dtype = number_type(case.dtype or "float64")
    tiny = np.finfo(dtype).smallest_subnormal
    neutral = {PROD: 1.0, MIN: 4.0, MAX: -4.0}.get(case.op, 0.0) if case.reduces else 0.0
    kinds = [np.nan, np.inf, -np.inf, -0.0, tiny, -tiny]
    inputs = []
    for rank in range(case.p):
        i = np.arange(case.input_size(rank))
        kind, holder = i % len(kinds), (i // len(kinds) + i) % case.p
        have = np.array(kinds, dtype)[kind]
        own = np.where(holder == rank, have, dtype.type(neutral))
        own = np.where(kind == 3, have, own)  # zeros below 0 on all ranks: what else would be one?
        if case.reduces and case.op is PROD:
            own = np.where((kind == 3) & (holder != rank), dtype.type(1), own)
        inputs.append(own.astype(dtype))
    return inputs


def symbolic(case: Case) -> list[Array]:
    """Return terms, which remember who was added to whom."""
    return [provenance.terms(rank, case.input_size(rank)) for rank in range(case.p)]


def numbered(case: Case) -> list[Array]:
    """Return unsigned integers that say from which rank, and which of its elements, they are."""
    return [
        np.uint64(rank << 40) + np.arange(1, case.input_size(rank) + 1, dtype=UINT64)
        for rank in range(case.p)
    ]


def counting(case: Case, part: int = 0, *, turned: bool = False) -> list[Array]:
    """Return counters, for `provenance.LANES` ranks at a time.

    `turned`: ranks take the lanes in turns by element, so that a sum of different elements shows.
    """
    counters = [provenance.counters(rank, case.input_size(rank), part) for rank in range(case.p)]
    if turned:
        lanes, bits = min(case.p - part * provenance.LANES, provenance.LANES), np.uint64(4)
        for rank, own in enumerate(counters):
            lane = rank - part * provenance.LANES
            if 0 <= lane < lanes:
                turn = (lane + np.arange(own.size, dtype=UINT64)) % np.uint64(lanes)
                own[:] = np.uint64(1) << (bits * turn)
    return counters


def _random(draw: np.random.Generator, size: int, dtype: np.dtype[Any], case: Case) -> Array:
    op = case.op
    if dtype.kind == "b":
        return draw.integers(0, 2, size).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        integers: Array = draw.integers(limits.min, limits.max, size, dtype, endpoint=True)
        if op is PROD:
            return integers | 1  # odd: what one rank brings is not lost in a product of even ones
        return integers | limits.min if op is MAX else integers  # below 0: no zero may win
    if not case.reduces:
        return _moved(draw, size, dtype)
    if op in (MIN, MAX):
        values = draw.random(size) - (op is MAX)
    elif op is PROD:
        values = np.ldexp(draw.choice([-1.0, 1.0], size), draw.integers(-1, 2, size))
        if dtype.kind == "c":
            values = values * (2 + 1j)  # no power of it has a zero, whose sign shows the order
    else:
        most = min(7, _reach(dtype, op) // case.p) if case.reduces else 7
        low, high = int(most > 1), max(most, 1) + 1
        values = draw.integers(low, high, size) + 1j * draw.integers(low, high, size) * (
            dtype.kind == "c"
        )
    return _as(dtype, values)


def _moved(draw: np.random.Generator, size: int, dtype: np.dtype[Any]) -> Array:
    """Return floats with all their digits: through a shorter type they do not pass unchanged."""
    values, more = (draw.standard_normal(size) + 1j * draw.standard_normal(size) for _ in range(2))
    moved = _as(dtype, values)
    if dtype.itemsize > np.dtype(complex if dtype.kind == "c" else float).itemsize:
        moved = moved + _as(dtype, more) / dtype.type(2**56)
    return moved


def _as(dtype: np.dtype[Any], values: Array) -> Array:
    """Return complex numbers as what of them the type can hold."""
    if dtype.kind != "c":
        values = values.real
        if float(finfo(dtype).min) > 0:  # float8_e8m0fnu has neither signs nor a zero
            values = np.where(values == 0, 1.0, abs(values))
    return values.astype(dtype)


def _reach(dtype: np.dtype[Any], op: Op) -> int:
    """Return up to where floats are exact: for PROD the power of two, else the integer."""
    limits = finfo(dtype)
    if op is PROD:
        return int(min(limits.maxexp - 1, limits.nmant - limits.minexp))
    return int(min(2 ** (limits.nmant + 1), 2**limits.maxexp - 1))


def _telling(values: Array, op: Op) -> Array:
    """Return `values`, a row per rank, such that every rank decides the result of some elements."""
    p, n = values.shape
    ranks, elements = np.arange(p)[:, None], np.arange(n)
    if op in (MIN, MAX):  # sorted by rank, then turned: both ends pass through all ranks
        return np.take_along_axis(np.sort(values, axis=0), (ranks - elements - 1) % p, axis=0)
    zero = np.zeros_like(values)
    true = np.where(values == 0, np.ones_like(values), values)
    decides = (ranks + elements) % (p + 1) == p  # one rank, and on some elements nobody
    one_or_two = decides | (elements % (2 * p + 2) == 0) & (ranks < 2)  # two: OR is not XOR
    if op is LAND:
        return np.where(decides, zero, true)
    if op is LOR:
        return np.where(one_or_two, true, zero)
    if op is LXOR:
        return np.where(ranks <= elements % p, true, zero)  # one, two, ... of them
    if op is BAND:
        return np.where(one_or_two, values, ~zero)
    if op is BOR:
        return np.where(one_or_two, values, zero)
    if values.dtype.kind not in "biu":  # no more ranks than keep the result exact
        few = (ranks + elements) % p < _reach(values.dtype, op)
        return np.where(few, values, np.ones_like(values) if op is PROD else zero)
    return values
