"""The frame of a lesson: flags, one run on all ranks, a report by rank 0, an exit code.

A lesson gives two functions. ``measure(comm, options)`` runs on every rank and returns what was
seen there; ``report(world, options)`` runs on rank 0 and yields what to print: lines, and checks,
which decide the exit code. The frame prints what is alike in all lessons: the heading, the
question, what the reader expected, and what to do next.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from collectives.draw.text import WIDTH, bold, many, nbytes
from collectives.dtypes import number_type
from collectives.gpu.devices import HOST, Device, take
from collectives.launch import (
    World,
    abort_on_error,
    agree,
    everywhere,
    launch_rank,
    launch_size,
    under_mpi,
)
from collectives.teach.prediction import ASK, Prediction, asked, value

if TYPE_CHECKING:
    from collectives.draw.figures import Picture
    from collectives.recording import Recording
    from collectives.sim.network import Network

SIMULATED_DEFAULT = 8
MANY = 16
"""Ranks beyond which a reader is sent to the simulation: processes on a laptop would crawl."""

ALPHA, BETA = 5e-6, 1 / 10e9
"""Of simulated messages, where a lesson does not say otherwise: 5 us each, 10 GB/s."""

Options: TypeAlias = argparse.Namespace


@dataclass(frozen=True)
class Check:
    """One line of the self-check of a lesson."""

    name: str
    passed: bool
    detail: str


def slow_links() -> Network:
    """Return the network of simulated messages, where a lesson does not say otherwise."""
    from collectives.sim import Hockney

    return Hockney(ALPHA, BETA)


def main(
    measure: Callable[[Any, Options], Any],
    report: Callable[[World, Options], Iterable[str | Check]],
    *,
    about: str,
    question: str,
    predict: Prediction,
    svg: Callable[[World, Options], Picture],
    html: Callable[[World, Options], Sequence[Recording]],
    next_steps: Sequence[tuple[str, str]],
    elements: int | None = None,
    device: bool = True,
    network: Callable[[], Network] = slow_links,
    flags: Callable[[argparse.ArgumentParser], None] | None = None,
) -> int:
    """Run a lesson and return its exit code: 0 if all checks passed, 1 if not.

    Parameters
    ----------
    measure, report : callable
        See above.
    about : str
        The docstring of the lesson; the name before the first colon is its title.
    question : str
        What the lesson answers.
    predict : Prediction
        What the reader is asked before the run.
    svg : callable
        ``svg(world, options)`` returns the figure for ``--svg``.
    html : callable
        ``html(world, options)`` returns the one or two recordings that ``--html`` plays.
    next_steps : sequence of (str, str)
        What to try next, and what is seen then: flags of this lesson, with ``-n`` first if it is
        there; the name of another lesson; or any other command, which has a space in it.
    elements : int, optional
        The default length of the vector, for lessons that have ``--elements`` and ``--dtype``.
    device : bool, optional
        Whether the lesson has ``--device``, as all have whose ranks send arrays. Then
        ``options.device.array(x)`` puts what is made on the host where the reader wants it.
    network : callable, optional
        Makes what simulated messages travel on.
    flags : callable, optional
        Adds further flags to the parser.
    """
    parser = _parser(about, elements, predict, device)
    if flags:
        flags(parser)
    options = _options(parser)
    with abort_on_error():
        guess = options.predict
        if guess is ASK:
            guess = asked(predict, launch_size(options.n), options) if not launch_rank() else None
        world = everywhere(lambda comm: measure(comm, options), ranks=options.n, network=network)

        def lines() -> Iterator[str | Check]:
            yield from _beginning(world, options, about, question, predict)
            yield from report(world, options)
            yield f"\npredict  {predict.compared(guess, world, options)}"
            yield from _files(world, options, svg, html)
            yield from _end(world, next_steps)

        return agree(_verdict(lines()) if world.results else 0)


def where(world: World) -> str:
    """Return on what a lesson ran."""
    return "simulated in one process" if world.is_simulated else world.library


def _beginning(
    world: World, options: Options, about: str, question: str, predict: Prediction
) -> Iterator[str]:
    title = about.strip().partition(":")[0]
    size = ""
    if hasattr(options, "elements"):
        whole = nbytes(options.elements * options.dtype.itemsize)
        size = f"{options.elements} {options.dtype} ({whole}), "
    if getattr(options, "device", HOST) is not HOST:
        size += f"on {options.device.name}, "
    title = title if title[:2].isupper() else title[0].lower() + title[1:]
    yield f"LESSON  {title}    {many(world.size, 'rank')}, {size}{where(world)}\n"
    yield from wrapped("question ", question)
    if options.predict is not ASK:  # else it was asked
        first, *more = predict.question(world.size, options)
        yield from wrapped("predict  ", first)
        for line in more:
            yield from wrapped("         ", line)
        if options.predict is None:
            yield "         (add --predict to answer before the run)"


def _files(
    world: World,
    options: Options,
    svg: Callable[[World, Options], Picture],
    html: Callable[[World, Options], Sequence[Recording]],
) -> Iterator[str]:
    """Write the files that were asked for, and say so."""
    if options.svg:
        svg(world, options).save(options.svg)
        yield f"wrote    {options.svg}, the figure"
    if options.html:
        from collectives.draw import player

        player.write(options.html, *html(world, options))
        yield f"wrote    {options.html}, to step through in a browser"


def _end(world: World, next_steps: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield what to do after this lesson."""
    commands = [command(what, world) for what, _ in next_steps]
    columns = max(map(len, commands)) + 2
    if max(columns + len(why) for _, why in next_steps) > WIDTH - 12:
        columns = WIDTH  # the reasons go below the commands
    for number, (text, (_, why)) in enumerate(zip(commands, next_steps, strict=True), 1):
        title = "\ntry next" if number == 1 else "        "
        row = f"{title} {number}) {text:{columns}}"
        yield f"{row}{why}" if columns < WIDTH else f"{row.rstrip()}\n               {why}"


def wrapped(title: str, text: str) -> Iterator[str]:
    """Yield a paragraph in lines that fit, after a title."""
    width, room = WIDTH - len(title), " " * len(title)
    for number, line in enumerate(textwrap.wrap(" ".join(text.split()), width)):
        yield (room if number else title) + line


def command(what: str, world: World) -> str:
    """Return what a reader types: flags stand for this lesson, a word for another one."""
    if " " in what and not what.startswith("-"):
        return what
    if not what.startswith("-"):
        return _typed(f"lessons/{what}.py", world, world.size, "")
    script = f"lessons/{os.path.basename(sys.argv[0])}"
    words = what.split()
    ranks = int(words[1]) if words[0] == "-n" else world.size
    rest = words[2:] if words[0] == "-n" else words
    return _typed(script, world, ranks, " ".join(rest))


def _typed(script: str, world: World, ranks: int, rest: str) -> str:
    if world.is_simulated or ranks > max(MANY, world.size):
        flags = f"-n {ranks} " * (ranks != SIMULATED_DEFAULT) + rest
        return f"python {script} {flags}".strip()
    return f"mpirun -n {ranks} python {script} {rest}".strip()


def _verdict(lines: Iterable[str | Check]) -> int:
    """Print a report; return 1 if a check in it failed."""
    failed, title = False, "check"
    for line in lines:
        if isinstance(line, Check):
            word = bold("PASS" if line.passed else "FAIL")
            print(f"{title:7}{line.name:11}{word}  {line.detail}")
            failed, title = failed or not line.passed, ""
        else:
            print(line)
            title = "check"
    return int(failed)


def _parser(
    about: str, elements: int | None, predict: Prediction, device: bool
) -> argparse.ArgumentParser:
    """Return the flags that all lessons have."""
    parser = argparse.ArgumentParser(
        description=about.strip().partition("\n")[0],
        epilog="Run under mpirun on as many ranks as it starts; without, on simulated ranks.",
    )
    parser.add_argument(
        "-n", type=at_least(1), metavar="RANKS",
        help=f"simulated ranks (default {SIMULATED_DEFAULT}); under mpirun, give -n to mpirun",
    )  # fmt: skip
    if elements is not None:
        parser.add_argument(
            "--elements", type=at_least(0), default=elements,
            help="length of the vector (%(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--dtype", type=_number_type, default="float32",
            help="NumPy number type, bfloat16, or such as float8_e5m2 (%(default)s)",
        )  # fmt: skip
    if device:
        parser.add_argument(
            "--device", type=_device, default=HOST, metavar="{cpu,cuda}",
            help="where the arrays are: in the host's memory, or on a GPU, with CuPy",
        )  # fmt: skip
    parser.add_argument(
        "--trace", choices=("none", "steps", "full"), default="steps",
        help="what to show of the run: nothing, the table after every step, also every message",
    )  # fmt: skip
    parser.add_argument(
        "--predict", nargs="?", const=ASK, type=value(predict), metavar="VALUE",
        help="say what you expect before the run: asked, or given as --predict=VALUE",
    )  # fmt: skip
    parser.add_argument(
        "--html", type=new_file(".html"), help="write the run as a page to step through"
    )
    parser.add_argument(
        "--svg", type=new_file(".svg", ".png"), help="write the figure, .svg or .png"
    )
    return parser


def _options(parser: argparse.ArgumentParser) -> Options:
    """Return what was asked for on the command line; what is wrong with it is said once."""
    shown = io.StringIO() if launch_rank() else None
    with redirect_stdout(shown or sys.stdout), redirect_stderr(shown or sys.stderr):
        options = parser.parse_args()
        if options.n and under_mpi():
            parser.error(f"mpirun decides how many ranks: mpirun -n {options.n} python ...")
    options.n = options.n or SIMULATED_DEFAULT
    return options


def at_least(least: int) -> Callable[[str], int]:
    """Return the type of a flag that takes whole numbers from `least` on."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value}, wants at least {least}")
        return value

    return number


def new_file(*suffixes: str) -> Callable[[str], Path]:
    """Return the type of a flag that names a file to write."""

    def file(text: str) -> Path:
        path = Path(text)
        if suffixes and path.suffix not in suffixes:
            raise argparse.ArgumentTypeError(f"{text}, wants a name in {' or '.join(suffixes)}")
        if not path.absolute().parent.is_dir():
            raise argparse.ArgumentTypeError(f"{text}: there is no folder {path.parent}")
        return path

    return file


def _device(name: str) -> Device:
    """Return the device of this name, for this rank; all ranks call this."""
    try:
        return take(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number_type(text: str) -> np.dtype[Any]:
    try:
        dtype = number_type(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if dtype.kind == "b":
        raise argparse.ArgumentTypeError(f"{dtype}, wants an integer, float or complex type")
    return dtype
