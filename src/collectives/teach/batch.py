"""A folder of submissions: one file per student, or one folder per student; grades as a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collectives.teach.grader import Grade, exercise_of, read
from collectives.teach.source_text import printable

COLUMNS = ("student", "exercise", "verdict", "check", "passed", "diagnosis", "text")


@dataclass(frozen=True)
class Submission:
    """One file of one student; `problem` says why it cannot be graded."""

    student: str
    path: Path
    grade: Grade | None = None
    problem: str = ""


def submissions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield student and file, in the order of their names; links are not followed."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith((".", "_")):
            continue
        if path.is_dir():
            for file in sorted(path.glob("*.py")):
                if not file.is_symlink():
                    yield path.name, file
        elif path.suffix == ".py":
            yield path.stem, path


def graded(folder: Path, grade: Callable[[str, str], Grade]) -> Iterator[Submission]:
    """Grade every submission with ``grade(text, name of the file)``."""
    for student, path in submissions(folder):
        try:
            source = read(path)
            exercise_of(source, path.stem)
            yield Submission(student, path, grade(source, path.stem))
        except (ValueError, OSError) as error:
            yield Submission(student, path, problem=str(error))
        except Exception as error:  # one file that the grader cannot do with is not the whole class
            problem = f"the grader failed: {type(error).__name__}: {error}"
            yield Submission(student, path, problem=problem)


def rows(found: Submission) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one submission: one per check."""
    grade = found.grade
    if grade is None:
        yield (found.student, found.path.name, "NOT GRADED", "", "", "", safe(found.problem))
        return
    diagnosis = grade.diagnosis.id if grade.diagnosis else ""
    for check in grade.checks:
        said = check.wrong.text if check.wrong else check.skipped
        is_first = grade.evidence is not None and check.wrong is grade.evidence.wrong
        passed = "skipped" if check.skipped else "yes" if check.passed else "no"
        yield (found.student, grade.exercise.name, grade.verdict, check.name, passed,
               diagnosis if is_first else "", safe(said))  # fmt: skip


def write(path: Path, found: list[Submission]) -> None:
    """Write the table as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for submission in found:
            writer.writerows(tuple(map(safe, row)) for row in rows(submission))


def safe(text: str) -> str:
    """Return one line that no spreadsheet takes for a formula."""
    line = printable(" ".join(text.split()))
    return "'" + line if line[:1] in "=+-@" and line else line
