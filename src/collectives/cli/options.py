"""Arguments that several commands take."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectives.cli import quantities
from collectives.launch import under_mpi

if TYPE_CHECKING:
    from collectives.recorder import Subject
    from collectives.sim.network import Network

CollectiveName = Annotated[str, typer.Argument(help="such as allreduce")]
Ranks = Annotated[
    int | None, typer.Option("-p", "--ranks", min=1, help="simulated ranks; under mpirun, its own")
]


def _device(name: str) -> str:
    """Refuse a device that is not there, before anything runs; take this rank's one."""
    if name != "cpu":
        from collectives.gpu.devices import take

        warnings.showwarning = lambda text, *_: print(f"collectives: {text}", file=sys.stderr)
        take(name)
    return name


def _require(required: bool) -> bool:
    if required:
        from collectives.gpu import detect

        os.environ[detect.VARIABLE] = "require"
        if under_mpi():
            detect.takes_device_memory()
    return required


DeviceName = Annotated[
    str, typer.Option("--device", callback=_device, help="of the buffers: cpu, or cuda with CuPy")
]
RequireGpuAware = Annotated[
    bool,
    typer.Option(
        "--require-gpu-aware", callback=_require, help="an error where MPI takes no GPU memory"
    ),
]


def picture(parameter: typer.CallbackParam, file: Path | None) -> Path | None:
    """Refuse a file that cannot be a picture, before anything runs."""
    if file is not None and file.suffix not in (".png", ".svg"):
        raise ValueError(f"--{parameter.name} {file}: wants a .png or .svg file")
    if file is not None and not file.parent.is_dir():
        raise ValueError(f"--{parameter.name} {file}: there is no folder {file.parent}")
    return file


def elements_in(size: str, what: Subject) -> int:
    """Return how many elements, as in the signature, make a whole vector of `size` bytes."""
    case = what.case
    blocks = case.p if case.by_blocks or case.form.on_grid else 1
    return quantities.size(size) // what.dtype.itemsize // blocks


def network_named(name: str) -> Network:
    """Return the preset of this name; hockney: 5 us per message and 10 GB/s."""
    from collectives.sim import Hockney
    from collectives.sim.presets import preset

    return Hockney(alpha=5e-6, beta=1 / 10e9) if name == "hockney" else preset(name)


def named_values(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the options and values of ``--name value`` or ``--name=value``.

    Examples
    --------
    >>> list(named_values(["--channels", "4", "--radix=2"]))
    [('--channels', '4'), ('--radix', '2')]
    """
    left = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    while left:
        name, *left = left
        if not name.startswith("--") or not left:
            raise ValueError(f"got {name!r}, wants an option of the algorithm and its value")
        value, *left = left
        yield name, value


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
    for word, value in named_values(given):
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


def rank_counts(text: str) -> list[int] | None:
    """Return numbers of ranks; None where none are given.

    Examples
    --------
    >>> rank_counts("1-3,8"), rank_counts("")
    ([1, 2, 3, 8], None)
    """
    counts: list[int] = []
    for part in text.split(",") if text else ():
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"ranks is {text!r}, wants such as 5, 1-9 or 1,2,4")
        counts += range(int(first), int(last or first) + 1)
    if (text and not counts) or 0 in counts:
        raise ValueError(f"ranks is {text!r}, wants numbers from 1 on")
    return counts or None
