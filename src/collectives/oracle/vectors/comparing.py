"""Compare the results of one case with what they must be, and say what a wrong element is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.dtypes import finfo, number_type
from collectives.op import MAX, MIN
from collectives.oracle.cases import Case
from collectives.oracle.findings import Finding, first, wrong_value
from collectives.oracle.vectors import payload
from collectives.oracle.vectors.manifest import Entry
from collectives.provenance import named

FILL: Final = 0xA5
"""Every byte of a result buffer before the call, so that what nobody wrote is recognised."""


def compared(
    entry: Entry, case: Case, brought: list[Array], results: Sequence[Array | None]
) -> Finding | None:
    """Return the first element that is not as it must be, with what stands there instead."""
    with np.errstate(all="ignore"):
        if entry.compare == "bounded":
            return first(_unbounded(case, brought, rank, got) for rank, got in enumerate(results))
        wanted = case.expected(brought)
    if entry.compare == "class_and_sign":
        return _special(case, brought, results, wanted)
    for rank, (got, wants) in enumerate(zip(results, wanted, strict=True)):
        finding = wrong_value(case, rank, got, wants)
        if finding and got is not None and wants is not None:
            return _explained(entry, case, finding, got, wants)
    return None


def _explained(entry: Entry, case: Case, finding: Finding, got: Array, wants: Array) -> Finding:
    """Say what a wrong element is: never written, another's, or a sum of the wrong ranks."""
    rank, element = finding.rank or 0, finding.element or 0
    where = f"rank {rank} block {finding.block} element {element}"
    value = got[element]
    if value.tobytes() == bytes([FILL]) * got.itemsize:
        text = f"{where} was not written: it holds {FILL:#04x} in every byte"
        return replace(finding, text=text)
    dtype = got.dtype
    if entry.payload == "codes":
        has = payload.brought_by(case, dtype, value, entry.seed)
        wanted = payload.brought_by(case, dtype, wants[element], entry.seed)
        if has is None or wanted is None:
            return replace(finding, text=f"{where} has {value}, which no rank brought")
        names = [f"element {at} of rank {who}" for who, at in (has, wanted)]
        text = f"{where} has {names[0]}, wants {names[1]}"
        return replace(finding, text=text, kind="place", got=names[0], wanted=names[1])
    if entry.payload == "counters":
        at = _input_element(case, rank, element)
        digits = payload.counted(case, dtype, at, value, entry.seed, entry.part)
        if digits is None:
            return replace(
                finding, text=f"{where} has {value}, which is no sum of what ranks bring"
            )
        in_it, wanted_in_it = (*sorted(digits.elements()),), (*_counted_here(entry, case, rank),)
        text = f"{where} has {named(in_it)}, wants {named(wanted_in_it)}"
        return replace(
            finding, text=text, kind="count", counted=in_it, wanted_counted=wanted_in_it,
            got=named(in_it), wanted=named(wanted_in_it),
        )  # fmt: skip
    return finding


def _input_element(case: Case, rank: int, element: int) -> int:
    """Return which element of the vectors an element of a result is the combination of."""
    return element + (case.blocks.start(rank) if case.form.gets == "block" else 0)


def _operands(case: Case, rank: int) -> range:
    """Return the ranks whose vectors are combined in the result of `rank`."""
    return range({"scan": rank + 1, "exscan": rank}.get(case.collective, case.p))


def _counted_here(entry: Entry, case: Case, rank: int) -> list[int]:
    dtype = number_type(case.dtype)
    return [each for each in _operands(case, rank) if payload.part_of(dtype, each) == entry.part]


def _unbounded(case: Case, brought: list[Array], rank: int, got: Array | None) -> Finding | None:
    """Return where a sum is farther from the exact one than any order of additions allows."""
    if got is None:
        return None
    dtype, ranks = number_type(case.dtype), _operands(case, rank)
    roundoff = Fraction(float(finfo(dtype).eps)) / 2
    depth = max(len(ranks) - 1, 0)
    gamma = depth * roundoff / (1 - depth * roundoff)
    for element, value in enumerate(got.astype(np.float64).tolist()):
        at = _input_element(case, rank, element)
        terms = [Fraction(float(brought[each][at])) for each in ranks]
        exact, most = sum(terms), gamma * sum(map(abs, terms))
        if not np.isfinite(value) or abs(Fraction(value) - exact) > most:
            block = case.block_of(rank, element)
            text = (
                f"rank {rank} block {block} element {element} has {value:.9g}, the exact sum is "
                f"{float(exact):.9g}, and {depth} additions may be off by {float(most):.3g}"
            )
            wanted = f"{float(exact):.9g} +- {float(most):.3g}"
            return Finding(case, text, "bound", rank, element, block, got=str(value), wanted=wanted)
    return None


# ------------------------------------------------------------------ special values


def without_payload(values: Array) -> Array:
    """Return `values` with one NaN for all of them."""
    if values.dtype.kind in "biu":
        return values
    plain = values.copy()
    plain[np.isnan(plain.astype(complex))] = np.nan
    return plain


def _special(
    case: Case,
    brought: list[Array],
    results: Sequence[Array | None],
    wanted: Sequence[Array | None],
) -> Finding | None:
    """Return where a special value got lost, changed sign, or depends on who holds it."""
    policies: dict[str, str] = {}  # what became of a NaN, and where first
    for rank, (got, wants) in enumerate(zip(results, wanted, strict=True)):
        if got is None or wants is None:
            continue
        has, right = without_payload(got), without_payload(wants)
        for element in range(has.size):
            at = _input_element(case, rank, element)
            operands = [brought[each][at] for each in _operands(case, rank)] if case.reduces else []
            what, _ = payload.situation(case, at)
            value, where = has[element], f"rank {rank} element {element}"
            wrong = _unlike(case, operands, value, right[element])
            if not wrong and _undecided(case, operands) == "NaN":
                policy = "NaN wins" if np.isnan(value) else "NaN is ignored"
                policies.setdefault(policy, where)
                if len(policies) > 1:
                    wrong = ", and ".join(f"{name} at {place}" for name, place in policies.items())
            if wrong:
                block = case.block_of(rank, element)
                text = f"rank {rank} block {block} element {element} has {value}, {wrong}"
                return Finding(
                    case, f"{text} ({what.name})", "special", rank, element, block,
                    got=str(value), wanted=str(right[element]),
                )  # fmt: skip
    return None


def _unlike(case: Case, operands: Sequence[Any], value: Any, right: Any) -> str:
    """Return what is wanted instead of `value`; empty where it is that."""
    allowed = [right]
    choice = _undecided(case, operands)
    if choice == "NaN":
        numbers = [x for x in operands if not np.isnan(x)]
        allowed.append(min(numbers) if case.op is MIN else max(numbers))
    elif choice == "zero":
        allowed.append(-right)
    if any(np.isnan(x) if np.isnan(value) else x.tobytes() == value.tobytes() for x in allowed):
        return ""
    return f"wants {' or '.join(map(str, allowed))}"


def _undecided(case: Case, operands: Sequence[Any]) -> str:
    """Tell what is for the implementation to choose: whether a NaN wins, which zero wins."""
    if case.op not in (MIN, MAX) or not operands:
        return ""
    missing = [bool(np.isnan(x)) for x in operands]
    if any(missing):
        return "" if all(missing) else "NaN"
    least = min(operands) if case.op is MIN else max(operands)
    return (
        "zero" if least == 0 and len({bool(np.signbit(x)) for x in operands if x == 0}) > 1 else ""
    )
