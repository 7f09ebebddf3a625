"""What the judges of exercises share: a run that broke off, lists of numbers, and traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from collectives.comm import Array
from collectives.teach.attempt import Attempt
from collectives.teach.grading import Wrong


def broken_off(found: Attempt) -> Iterator[Wrong]:
    """Yield what ended a run early, if anything did."""
    if found.ending is not None:
        yield Wrong("ended", found.ending.text, found)


def array(value: Any) -> Array | None:
    """Return an answer as an array of numbers; None where it is none."""
    try:
        return np.array(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def near(value: Any, wanted: Any, part: float = 1e-9) -> bool:
    """Tell whether an answer has these numbers, within a part of the largest of them."""
    got, right = array(value), np.asarray(wanted, np.float64)
    if got is None or got.shape != right.shape:
        return False
    return bool(np.all(np.abs(got - right) <= part * np.abs(right).max(initial=0)))


def alike(got: Any, wanted: Any, part_off: float) -> bool:
    """Tell whether two answers are the same, numbers up to a part of the larger one.

    Examples
    --------
    >>> alike([1.0, ["a", 2]], [1.0 + 1e-12, ["a", 2]], 1e-9), alike([1.0], [1.1], 1e-9)
    (True, False)
    """
    if isinstance(wanted, list):
        same_form = isinstance(got, list) and len(got) == len(wanted)
        return same_form and all(alike(x, y, part_off) for x, y in zip(got, wanted, strict=True))
    if isinstance(wanted, float) and isinstance(got, int | float):
        return math.isclose(got, wanted, rel_tol=part_off, abs_tol=1e-12)
    return bool(got == wanted)


def brief(value: Any) -> str:
    """Return an answer in few words.

    Examples
    --------
    >>> brief([1, 0.123456789]), brief("x")
    ('[1, 0.1235]', "'x'")
    """
    text = _said(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def elements(found: Attempt) -> int:
    """Return how many elements all ranks sent together."""
    return sum(message.size for message in found.sent())


def more_than(found: Attempt, allowed: int, named: str = "") -> Iterator[Wrong]:
    """Yield a fault where more elements were sent than are needed."""
    sent = elements(found)
    if sent > allowed:
        text = f"{sent} elements sent, {allowed} are enough"
        yield Wrong("bytes", text, found, sent, allowed, named)


def differs(found: Attempt, wanted: Sequence[Any], part: float = 1e-9) -> Iterator[Wrong]:
    """Yield the first rank whose value is another than wanted."""
    for rank, (got, right) in enumerate(zip(found.values, wanted, strict=True)):
        if not (near(got, right, part) if isinstance(right, np.ndarray) else got == right):
            text = _element(array(got), right) if isinstance(right, np.ndarray) else ""
            text = text or f"gives {brief(got)}, wants {brief(_plain(right))}"
            yield Wrong("answer", f"rank {rank} {text}", found)


def _element(got: Array | None, right: Array) -> str:
    """Say which of many numbers is the first to be wrong; nothing where they are not as many."""
    if got is None or got.shape != right.shape or right.ndim != 1:
        return ""
    off = np.flatnonzero(~(np.abs(got - right) <= 1e-9 * np.abs(right).max(initial=0)))
    if not off.size:
        return ""
    first = int(off[0])
    wrong, wanted = (f"{float(x[first]):.6g}" for x in (got, right))
    if wrong == wanted:
        wrong, wanted = (repr(float(x[first])) for x in (got, right))
    return f"gives {wrong} as element {first}, wants {wanted} ({off.size} of {right.size} differ)"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _said(value: Any) -> str:
    """Return a value as Python writes it, with no more digits of a number than are read."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_said, value))}]"
    return repr(value)
