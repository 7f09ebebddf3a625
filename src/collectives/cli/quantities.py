"""Sizes, times and rates as people write them, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SECONDS: Mapping[str, int | Fraction] = {
    "": 1, "s": 1, "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9),
}  # fmt: skip

SIZES = "kB, MB and GB are powers of 1000, KiB, MiB and GiB of 1024"


def size(text: str) -> int:
    """Return a number of bytes.

    Examples
    --------
    >>> size("1.2GB"), size("4KiB"), size("1000")
    (1200000000, 4096, 1000)
    """
    number = _number(text.removesuffix("B"), _DECIMAL | _BINARY)
    if number is None or number.denominator != 1 or number < 0:
        raise ValueError(f"{text!r} is no size in bytes, such as 8, 64kB, 1.2GB or 16MiB")
    return int(number)


def duration(text: str) -> float:
    """Return seconds.

    Examples
    --------
    >>> duration("5us"), duration("0.25")
    (5e-06, 0.25)
    """
    number = _number(text, _SECONDS)
    if number is None or number < 0:
        raise ValueError(f"{text!r} is no time, such as 5us, 20ns, 1.5ms or 2e-6")
    return float(number)


def per_byte(text: str) -> float:
    """Return seconds per byte, from these or from bytes or bits per second.

    Examples
    --------
    >>> per_byte("1/10GB"), per_byte("10GB/s"), per_byte("80Gb/s"), per_byte("0.1ns")
    (1e-10, 1e-10, 1e-10, 1e-10)
    """
    rate = text.removeprefix("1/").removesuffix("/s")
    if rate.endswith("b"):
        bits = _number(rate.removesuffix("b"), _DECIMAL)
        rate = "" if bits is None else str(bits / 8)
    elif rate == text and not text.endswith("B"):
        return duration(text)
    number = _number(rate.removesuffix("B"), _DECIMAL | _BINARY)
    if number is None or number <= 0:
        raise ValueError(f"{text!r} is no time per byte, such as 1/10GB, 10GB/s, 80Gb/s or 0.1ns")
    return float(1 / number)


def whole(text: str) -> int:
    """Return an integer."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None


def share(text: str) -> float:
    """Return a part of 1."""
    number = _number(text, {"": 1})
    if number is None:
        raise ValueError(f"{text!r} is no number, such as 0.9")
    return float(number)


def each(name: str, text: str, read: Callable[[str], int], factor: int = 2) -> list[int]:
    """Return what a list says; ``...`` between two stands for steps by `factor`.

    Examples
    --------
    >>> each("p", "1,2,...,16", whole), each("nbytes", "1kB,...,20kB", size, factor=4)
    ([1, 2, 4, 8, 16], [1000, 4000, 16000, 20000])
    """
    values: list[int] = []
    between = False
    for part in text.split(","):
        if part == "..." and values and values[-1] > 0:
            between = True
            continue
        try:
            value = read(part)
        except ValueError as error:
            raise ValueError(f"--{name} {text}: {error}") from None
        while between and values[-1] * factor < value:
            values.append(values[-1] * factor)
        values.append(value)
        between = False
    return values


def _number(text: str, units: Mapping[str, int | Fraction]) -> Fraction | None:
    """Return a number with one of `units` behind it; None where it is none."""
    unit = max((unit for unit in units if text.endswith(unit)), key=len)
    try:
        return Fraction(text.removesuffix(unit)) * units[unit]
    except (ValueError, ZeroDivisionError):
        return None
