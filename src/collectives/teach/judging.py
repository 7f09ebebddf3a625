"""What the judges of exercises share: a run that broke off, lists of numbers, and traffic."""

from __future__ import annotations

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


def brief(value: Any) -> str:
    """Return an answer in few words."""
    text = repr(value)
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
            text = f"rank {rank} gives {brief(got)}, wants {brief(_plain(right))}"
            yield Wrong("answer", text, found)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
