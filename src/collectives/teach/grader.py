"""Grade a submission: run every check, name the first fault, say the summary.

Everything here happens in the grader's own process. A submission runs elsewhere (`sandbox`), and
only the bytes that it hands back come here.
"""

from __future__ import annotations

import ast
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from collectives.registry import COLLECTIVES
from collectives.teach.attempt import Attempt, Here, Pause, Runner, SubmissionError, functions_of
from collectives.teach.checks import checks
from collectives.teach.diagnosis import Diagnosis, diagnose
from collectives.teach.evidence import Evidence
from collectives.teach.exercise import Exercise, Part, exercise, exercises
from collectives.teach.grading import Check, Trials, Wrong
from collectives.teach.orders import has_choice
from collectives.teach.scene import Ask
from collectives.teach.source_text import parsed

_MOST_TEXT: Final = 1 << 18
"""Bytes of a submission."""

Judge = Callable[[Ask], Iterator[Wrong]]
"""Asks a submission and yields what is wrong."""


@dataclass
class Grade:
    """What came of a submission.

    Attributes
    ----------
    exercise : Exercise
        What was asked.
    checks : list of Check
        In the order in which they were made, of all functions.
    evidence, diagnosis : Evidence, Diagnosis or None
        The first fault, and what it is.
    said, look : str, int
        What a learner reads of it first, and the line to look at; 0 if none.
    predicted : str
        What the learner predicted; empty if nothing.
    played : list of (Part, Attempt)
        The scenes of its judges.
    where : str
        Where it ran, where not on simulated ranks only.
    on_mpi : str
        What went wrong on the MPI library; empty if nothing.
    """

    exercise: Exercise
    source: str
    checks: list[Check] = field(default_factory=list)
    evidence: Evidence | None = None
    diagnosis: Diagnosis | None = None
    said: str = ""
    look: int = 0
    predicted: str = ""
    played: list[tuple[Part, Attempt]] = field(default_factory=list)
    where: str = ""
    on_mpi: str = ""

    def name(self, evidence: Evidence) -> None:
        """Name a fault and put it into words, as long as the submission can still be run."""
        self.evidence, self.diagnosis = evidence, diagnose(evidence)
        self.said, self.look = self.diagnosis.said(evidence), self.diagnosis.look(evidence)

    @property
    def verdict(self) -> str:
        """``CORRECT``, ``CORRECT, NOT OPTIMAL``, ``NOT YET``, or ``DEADLOCK``."""
        wrong = [check for check in self.checks if check.wrong is not None]
        if not wrong:
            return "CORRECT"
        if all(check.name.rpartition(": ")[2] in ("traffic", "steps") for check in wrong):
            return "CORRECT, NOT OPTIMAL"
        first = self.evidence
        return (
            "DEADLOCK" if first is not None and first.waits and first.attempt.cycle else "NOT YET"
        )

    @property
    def passed(self) -> bool:
        return self.verdict == "CORRECT"


def exercise_of(source: str, stem: str = "") -> Exercise:
    """Return the exercise that a submission is for: by its name, or by its functions."""
    if stem in exercises():
        return exercise(stem)
    defined = {n.name for n in ast.walk(parsed(source)) if isinstance(n, ast.FunctionDef)}
    for each in exercises().values():
        if defined.issuperset(each.functions):
            return each
    raise ValueError(
        f"{stem or 'the file'} is for no exercise that is known: name it after the exercise, "
        f"or define its function; there are {', '.join(exercises())}"
    )


def read(path: Path) -> str:
    """Return the text of a submission; ValueError where it is none."""
    if not path.is_file():  # a named pipe would be waited for
        raise ValueError(f"{path.name} is no ordinary file")
    with path.open("rb") as file:
        data = file.read(_MOST_TEXT + 1)
    if len(data) > _MOST_TEXT:
        raise ValueError(f"{path.name} is longer than {_MOST_TEXT} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no text: {error}") from None


def grade(
    source: str,
    asked: Exercise,
    runner: Runner,
    *,
    quick: bool = False,
    seed: int | None = None,
) -> Grade:
    """Grade a submission's text on simulated ranks.

    Parameters
    ----------
    source : str
        The text.
    asked : Exercise
        What it is for.
    runner : Runner
        Where it runs: a `Sandbox`, or `Here` for code that is trusted.
    quick : bool
        Fewer numbers of ranks.
    seed : int, optional
        Of the inputs; new ones every time where not given.
    """
    result = Grade(asked, source, predicted=_prediction(source))
    seed = secrets.randbits(32) if seed is None else seed
    for part in asked.parts:
        trials = Trials(runner, part, seed)
        made = _static(source, part, runner) or _made(trials, quick)
        if len(asked.parts) > 1:
            for check in made:
                check.name = f"{part.function}: {check.name}"
        result.checks += made
        result.played += [(part, found) for found in trials.played]
        first = next((check.wrong for check in made if check.wrong is not None), None)
        if first is not None and result.evidence is None:
            result.name(Evidence(asked, part, source, trials, first))
    return result


def grade_here(source: str, asked: Exercise, **how: Any) -> Grade:
    """Grade a text that is trusted, in this process."""
    try:
        runner = Here(functions_of(source))
    except SubmissionError as error:
        return _unloadable(source, asked, error)
    return grade(source, asked, runner, **how)


def grade_apart(source: str, asked: Exercise, **how: Any) -> Grade:
    """Grade a text that nobody trusts, in a sandbox."""
    from collectives.teach.sandbox import Sandbox

    patience = how.pop("patience", 10.0)
    with Sandbox(source, patience) as sandbox:
        try:
            sandbox.names()
        except SubmissionError as error:
            return _unloadable(source, asked, error)
        return grade(source, asked, sandbox, **how)


def _unloadable(source: str, asked: Exercise, error: SubmissionError) -> Grade:
    kind = "unloadable" if error.kind == "raised" else error.kind
    wrong = Wrong(kind, str(error), got=error.line)
    result = Grade(asked, source, [Check("loads", 1, wrong)], predicted=_prediction(source))
    trials = Trials(Here({}), asked.parts[0])
    result.name(Evidence(asked, asked.parts[0], source, trials, wrong))
    return result


def _made(trials: Trials, quick: bool) -> list[Check]:
    part = trials.part
    if part.judge:
        return _judged(trials)
    return checks(trials, quick=quick)


def _judged(trials: Trials) -> list[Check]:
    """Let the judge of a function of numbers ask it."""
    from importlib import import_module

    module, _, name = trials.part.judge.partition(":")
    judge, check = getattr(import_module(module), name), Check("answers")
    try:
        check.wrong = next(iter(judge(Ask(trials, check))), None)
        if check.wrong is None and has_choice(trials.made.values()):
            check.wrong = next(_races(judge, trials, check), None)
    except SubmissionError as error:
        kind = "missing" if error.name == "NotImplementedError" else error.kind
        check.wrong = Wrong(kind, str(error), got=error.line)
    found = check.wrong
    if found is not None and found.kind in ("bytes", "messages"):
        return [Check("answers", check.tried), Check("traffic", check.tried, found)]
    if found is not None and found.attempt is not None and found.attempt.cycle:
        stopped = Check("answers", check.tried, skipped="the run does not end")
        return [stopped, Check("safe", check.tried, found)]
    return [check]


def _races(judge: Judge, trials: Trials, check: Check) -> Iterator[Wrong]:
    """Let a judge look again while messages come in other orders."""
    for rank in range(4):
        for call in range(1, 5):
            pause = Pause(rank, call)
            for found in judge(Ask(trials, check, pause)):
                yield Wrong("race", f"{pause}: {found.text}", found.attempt)


# ------------------------------------------------------------------ the text


def _static(source: str, part: Part, runner: Runner) -> list[Check]:
    """Return what is wrong before anything has run."""
    tree = parsed(source)
    defined = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    if part.function not in defined:
        text = f"there is no function {part.function}"
        return [Check("value", 0, Wrong("missing", text))]
    for node in ast.walk(tree):
        used = _used(node)
        if used and part.collective:
            wrong = Wrong("library", f"line {node.lineno} uses {used}", got=node.lineno)  # type: ignore[attr-defined]
            return [Check("value", 0, wrong)]
    return []


def _used(node: ast.AST) -> str:
    """Return which ready-made collective a node names, if any."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("collectives"):
        names = [alias.name for alias in node.names]
        ready = [n for n in names if any(n.startswith(f"{c}_") for c in COLLECTIVES)]
        if ".algorithms" in node.module or ready:
            return f"{node.module}.{(ready or names)[0]}"
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith("collectives.algorithms"):
                return alias.name
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        mpi = {"Barrier", "Bcast", "Reduce", "Allreduce", "Scatter", "Gather", "Allgather",
               "Reduce_scatter", "Alltoall", "Scan", "Exscan"}  # fmt: skip
        name = node.attr.rstrip("vw")
        if node.value.id == "comm" and (name in mpi or name.capitalize() in mpi):
            return f"comm.{node.attr}"
    return ""


def _prediction(source: str) -> str:
    """Return what ``PREDICTION = ...`` says in a submission."""
    for node in parsed(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            if "PREDICTION" in names and node.value.value is not None:
                return str(node.value.value)[:60]
    return ""
