"""``collectives grade``: grade an exercise, name the mistake, lead on."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collectives.cli import app
from collectives.cli.check import _OptionalFile

if TYPE_CHECKING:
    from collectives.teach.exercise import Exercise
    from collectives.teach.grader import Grade


@app.command(cls=_OptionalFile)
def grade(
    file: Annotated[Path | None, typer.Argument(help="such as ring_allreduce.py")] = None,
    everything: Annotated[
        Path | None, typer.Option("--all", metavar="DIR", help="a folder of submissions")
    ] = None,
    csv: Annotated[Path, typer.Option(help="of --all: the table to write")] = Path("grades.csv"),
    more: Annotated[
        bool, typer.Option("--more", help="every check, and what each rank did")
    ] = False,
    hint: Annotated[bool, typer.Option("--hint", help="the next of three hints")] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="show a solution; recorded")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="again whenever the file changes")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="fewer cases, no MPI")] = False,
    mpi: Annotated[bool, typer.Option("--mpi/--no-mpi", help="on the MPI library too")] = True,
    patience: Annotated[
        float, typer.Option(min=0.5, help="seconds without progress until a rank is given up")
    ] = 10.0,
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="[FILE]", help="the grade as JSON")
    ] = None,
    as_junit: Annotated[
        str | None, typer.Option("--junit", metavar="[FILE]", help="the grade as JUnit XML")
    ] = None,
) -> None:
    """Grade an exercise on simulated ranks and on the MPI library, and name the mistake."""
    from collectives.teach import batch, feedback
    from collectives.teach.grader import exercise_of, read
    from collectives.teach.source_text import printable

    if (file is None) == (everything is None):
        raise ValueError("wants a file to grade, or --all and a folder of submissions")

    def graded(source: str, stem: str) -> Grade:
        return _grade(source, exercise_of(source, stem), quick, mpi, patience)

    if everything is not None:
        found = []
        for each in batch.graded(everything, graded):
            found.append(each)
            said = printable(each.problem) if not each.grade else feedback.heading(each.grade)
            diagnosis = each.grade.diagnosis.id if each.grade and each.grade.diagnosis else ""
            print(f"{printable(each.student):20} {said}  {diagnosis}", flush=True)
        batch.write(csv, found)
        print(f"{len(found)} submissions, {csv}")
        grades = [each.grade for each in found if each.grade is not None]
        _deliver(grades, as_json, as_junit)
        sys.exit(0 if grades and all(g.passed for g in grades) and len(grades) == len(found) else 1)

    assert file is not None
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    source = read(file)
    asked = exercise_of(source, file.stem)
    if give_up:
        _show(asked, file)
        return
    while True:
        result = graded(source, file.stem)
        if not _deliver([result], as_json, as_junit):
            _print(result, file, more, hint)
        if not watch:
            sys.exit(0 if result.passed else 1)
        source = _changed(file, source)
        print("\n" + "-" * 40 + "\n")


def _grade(source: str, asked: Exercise, quick: bool, mpi: bool, patience: float) -> Grade:
    from collectives.teach.grader import grade_apart
    from collectives.teach.mpi_stage import on_mpi

    try:
        result = grade_apart(source, asked, quick=quick, patience=patience)
    except ImportError as error:  # an optional package that is missing says how to get it
        raise ValueError(str(error)) from None
    if mpi and not quick:
        on_mpi(result, patience)
    return result


def _print(result: Grade, file: Path, more: bool, hint: bool) -> None:
    from collectives.teach import feedback
    from collectives.teach.progress import Progress

    progress = Progress(file.parent)
    given = 1
    if result.diagnosis is not None:
        given = progress.hints(result.exercise.name, result.diagnosis.id, another=hint)
    for line in feedback.lines(result, given=given):
        print(line)
    if more:
        print(*feedback.more(result), sep="\n")
    if result.passed:
        progress.solved(result.exercise.name)
        known = [part for part in result.exercise.parts if part.collective]
        for part in known:
            print(f"  next      compare with `collectives show {part.collective} {part.solution}`")
    sys.stdout.flush()


def _deliver(grades: list[Grade], as_json: str | None, as_junit: str | None) -> bool:
    """Write grades where they are wanted; tell whether that was the terminal."""
    from collectives.teach import feedback

    for place, text in ((as_json, feedback.as_json), (as_junit, feedback.as_junit)):
        if place is not None and place != "-":
            Path(place).write_text(text(grades) + "\n")
        elif place == "-":
            print(text(grades))
    return "-" in (as_json, as_junit)


def _show(asked: Exercise, file: Path) -> None:
    """Show a solution, and record that it was asked for."""
    from collectives.teach.progress import Progress

    Progress(file.parent).gave_up(asked.name)
    print(f"a solution of {asked.name} (recorded in {file.parent / '.progress.json'})\n")
    print(asked.right.strip())
    for part in asked.parts:
        if part.collective:
            print(f"\nthe library's own: collectives show {part.collective} {part.solution}")


def _changed(file: Path, before: str) -> str:
    """Wait until the file holds another text, and return it."""
    from collectives.teach.grader import read

    print(f"watching {file}; Ctrl-C ends", flush=True)
    while True:
        time.sleep(0.3)
        try:
            now = read(file)
        except (OSError, ValueError):
            continue  # it is being saved
        if now != before:
            return now
