"""Arguments that several commands take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collectives.recorder import Subject
    from collectives.sim.network import Network

CollectiveName = Annotated[str, typer.Argument(help="such as allreduce")]
Ranks = Annotated[
    int | None, typer.Option("-p", "--ranks", min=1, help="simulated ranks; under mpirun, its own")
]


def count_of_bytes(size: str) -> int:
    """Return a number of bytes: ``1.2GB`` is 1.2e9 of them, ``1GiB`` is 2**30.

    Examples
    --------
    >>> count_of_bytes("1.2GB"), count_of_bytes("64KiB"), count_of_bytes("8")
    (1200000000, 65536, 8)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(?:([kKMGT]?)(i?)B?)\s*", size)
    if not found:
        raise ValueError(f"{size!r} is no size, wants such as 8, 64KiB, 1MB or 1.2GB")
    number, unit, binary = found.groups()
    unit_size: int = (1024 if binary else 1000) ** " KMGT".index(unit.upper() or " ")
    return round(float(number) * unit_size)


def elements_in(size: str, what: Subject) -> int:
    """Return how many elements, as in the signature, make a whole vector of `size` bytes."""
    case = what.case
    blocks = case.p if case.by_blocks or case.form.on_grid else 1
    return count_of_bytes(size) // what.dtype.itemsize // blocks


def network_named(name: str) -> Network:
    """Return the preset of this name; hockney: 5 us per message and 10 GB/s."""
    from collectives.sim import Hockney
    from collectives.sim.presets import preset

    return Hockney(alpha=5e-6, beta=1 / 10e9) if name == "hockney" else preset(name)


def own_options(
    function: Callable[..., Any], given: Sequence[str], *, lenient: bool = False
) -> dict[str, Any]:
    """Return the options of one algorithm from what else stands on the command line.

    Only keyword parameters that its collective does not have are taken; with `lenient`, which is
    for several algorithms at a time, those of another one are left out.
    """
    known = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not None
    }
    chosen: dict[str, Any] = {}
    words = [part for word in given for part in word.split("=", 1)]
    if len(words) % 2 or any(not name.startswith("--") for name in words[::2]):
        raise ValueError(f"{' '.join(given)!r} is not understood, wants --name value")
    for word, value in zip(words[::2], words[1::2], strict=True):
        name = word[2:].replace("-", "_")
        if name in known:
            chosen[name] = _like(known[name], word, value)
        elif not lenient:
            takes = ", ".join(f"--{each.replace('_', '-')}" for each in known) or "no options"
            raise ValueError(f"there is no option {word}; {function.__name__} takes {takes}")
    return chosen


def _like(default: Any, name: str, value: str) -> Any:
    if isinstance(default, int) and not isinstance(default, bool):
        if not value.isdigit():
            raise ValueError(f"{name} is {value!r}, wants an integer")
        return int(value)
    return value
