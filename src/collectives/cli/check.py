"""``collectives check``: what collectives promise, checked on any target."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from collectives.cli import app
from collectives.cli.options import DeviceName, RequireGpuAware, rank_counts
from collectives.launch import abort_on_error, launch_rank, under_mpi


class _OptionalFile(TyperCommand):
    """Lets ``--json`` and ``--junit`` stand without a file: then they go to the terminal."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        filled: list[str] = []
        for word, following in zip(args, [*args, "--"][1:], strict=True):
            filled.append(word)
            if word in ("--json", "--junit") and following.startswith("-") and following != "-":
                filled.append("-")
        return super().parse_args(ctx, filled)


@app.command(cls=_OptionalFile)
def check(
    collective: Annotated[str, typer.Argument(help="such as allreduce; ALL for all")],
    name: Annotated[
        str | None,
        typer.Argument(
            help="an algorithm such as ring, or module:function, or file.py:function; ALL for all"
        ),
    ] = None,
    ranks: Annotated[
        str, typer.Option("-p", "--ranks", help="numbers of ranks: 5, 1-9, or 1,2,4")
    ] = "",
    target: Annotated[
        str,
        typer.Option(help="mpi, mpi:ring, torch:gloo, nccl:ring, clib:PATH:SYMBOL, vectors:DIR"),
    ] = "",
    mode: Annotated[
        str, typer.Option(help="of --target mpi: blocking, nonblocking or persistent")
    ] = "blocking",
    only: Annotated[str, typer.Option(help="promises, separated by commas")] = "",
    skip: Annotated[str, typer.Option(help="promises, separated by commas")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="fewer cases")] = False,
    big: Annotated[bool, typer.Option("--big", help="vectors of gigabytes, too")] = False,
    case: Annotated[str, typer.Option(help="this case only, as faults name it")] = "",
    device: DeviceName = "cpu",
    require: RequireGpuAware = False,
    patience: Annotated[
        float, typer.Option(min=0.1, help="seconds without progress until ranks are taken to hang")
    ] = 10.0,
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="[FILE]", help="the report as JSON")
    ] = None,
    as_junit: Annotated[
        str | None, typer.Option("--junit", metavar="[FILE]", help="the report as JUnit XML")
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="the report as Markdown")] = False,
) -> None:
    """Check what collectives promise: values, buffers, messages, progress, floating point."""
    from collectives.oracle.apart import run_apart
    from collectives.oracle.report import Fault, Report

    def deliver(report: Report) -> None:
        """Write the report where it is wanted."""
        for file, text in ((as_json, report.json), (as_junit, report.junit)):
            if file is not None and file != "-":
                Path(file).write_text(text() + "\n")
        if as_json == "-":
            print(report.json())
        elif as_junit == "-":
            print(report.junit())
        else:
            print(report.markdown() if as_markdown else report.text())

    def work(before: Callable[[Fault], None], on_hang: Callable[[Report], None]) -> Report:
        """Check, on this rank."""
        from collectives.oracle.checking import check as run_check

        chosen = _target(collective, name, target, mode)
        if hasattr(chosen, "subjects"):
            chosen.subjects(collective)  # or else ValueError, on all ranks alike
        with abort_on_error():
            if device != "cpu":
                chosen = _on_device(device, chosen, collective)
            with _progress() as progress:
                return run_check(
                    chosen, collective, ranks=rank_counts(ranks), only=_names(only),
                    skip=_names(skip), quick=quick, big=big, case=case, patience=patience,
                    progress=progress, on_hang=on_hang, before=before,
                )  # fmt: skip

    is_foreign = ":" in (name or "") or target.startswith("clib:")
    report = run_apart(work, deliver) if is_foreign else work(lambda fault: None, deliver)
    if report is not None and launch_rank() == 0:
        deliver(report)
    sys.exit(1 if report is None else report.exit_code)


def _target(collective: str, name: str | None, target: str, mode: Any) -> Any:
    from collectives.oracle.targets import MpiLibrary, target_named

    if not target:
        return name or "ALL"
    if name is not None:
        raise ValueError(f"{name} and --target {target}: one of the two, please")
    chosen = target_named(target)
    if mode not in ("blocking", "nonblocking", "persistent"):
        raise ValueError(f"mode is {mode!r}, wants blocking, nonblocking or persistent")
    if isinstance(chosen, MpiLibrary):
        return replace(chosen, mode=mode)
    if mode != "blocking":
        raise ValueError(f"--mode is for --target mpi, not for {target}")
    return chosen


def _on_device(device: str, chosen: Any, collective: str) -> Any:
    from collectives.gpu.placed import TargetOnDevice
    from collectives.oracle.targets import functions

    target = functions(collective, chosen) if isinstance(chosen, str) else chosen
    return TargetOnDevice(target, device)


def _names(text: str) -> list[str]:
    return [name for name in text.replace(",", " ").split() if name]


@contextmanager
def _progress() -> Iterator[Callable[[str, str, int, int], None] | None]:
    """Show how far the check is, where somebody looks."""
    if launch_rank() != 0 or (not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True, force_terminal=True if under_mpi() else None)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")

        def show(what: str, promise: str, done: int, total: int) -> None:
            bar.update(task, description=f"{what} {promise} ({done + 1}/{total})")

        yield show
