"""A submission that gives right values in simulation, once more on the MPI library of mpirun.

One job of a few ranks makes all the calls that `mpi_plan` names. A watchdog in the job explains a
deadlock; the grader itself ends a job that stands still, and everything that it has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Final

import numpy as np

from collectives.oracle.worlds import Ending
from collectives.teach.evidence import Evidence
from collectives.teach.grader import Grade
from collectives.teach.grading import Check, Trials, Wrong
from collectives.teach.mpi_plan import SIZE, Planned, left_in, planned
from collectives.teach.sandbox import environment, python
from collectives.teach.source_text import printable

_START: Final = 60.0
"""Seconds that mpirun gets to start."""

_MOST_PATIENCE: Final = 20
"""How many times as long as one call may stand still the whole job may take, besides its start."""

_MOST_SAID: Final = 64 << 20
"""Bytes that a job may print."""

_FAMILIES: Final = ("OMPI_", "PRTE_", "PMIX_", "MPICH_", "HYDRA_", "UCX_", "FI_", "PMI_")


def on_mpi(grade: Grade, patience: float = 10.0) -> None:
    """Add what comes of a submission under mpirun to its grade, where it makes sense to look."""
    failed = {check.name.rpartition(": ")[2] for check in grade.checks if check.wrong is not None}
    if failed - {"safe", "traffic", "steps"}:
        return
    check = Check("MPI")
    grade.checks.append(check)
    plan = planned(grade.exercise.parts, grade.played)
    if not plan:
        check.skipped = "answers are asked for, nothing is sent"
        return
    if missing := _missing():
        check.skipped = missing
        return
    with TemporaryDirectory(prefix="collectives-grade-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _prepare(folder, grade.source, plan, min(patience, 5.0))
        said = _mpirun(folder, patience)
        library = _library(folder) or _known(patience)
        if not library:
            check.skipped = f"mpirun did not start: {_gist(said) or 'it says nothing'}"
            return
        grade.where = f"simulated ranks and {library}"
        for number, call in enumerate(plan):
            check.tried += 1
            check.wrong = _judged(folder, number, call, said)
            if check.wrong is not None:
                break
    if check.wrong is not None:
        grade.on_mpi = f"{library}, {plan[check.tried - 1].case}: {_plain(check.wrong.text)}"
        if grade.evidence is None:
            part = plan[check.tried - 1].part
            trials = Trials(_Nothing(), part)
            grade.name(Evidence(grade.exercise, part, grade.source, trials, check.wrong))


def _missing() -> str:
    """Return what MPI programs need and this machine lacks, with how to get it."""
    if shutil.which("mpirun") is None:
        return 'there is no mpirun: pip install "collectives[mpich]"'
    if find_spec("mpi4py") is None:
        return "there is no mpi4py: pip install mpi4py"
    return ""


def _gist(said: str) -> str:
    """Return the line of what a job has said that tells most: an exception, if there is one.

    Examples
    --------
    >>> _gist("Traceback ...\\nImportError: no such library\\n==== CLEANING UP ====")
    'ImportError: no such library'
    """
    errors = re.findall(r"^\w*(?:Error|Exception|Exit)\b.*", said, re.MULTILINE)
    return printable(errors[-1])[:200] if errors else ""


@cache
def _known(patience: float) -> str:
    """Return the MPI library that a job without a submission finds; nothing if it cannot start.

    A submission that ends the job before it has begun is not to be taken for a missing library.
    """
    with TemporaryDirectory(prefix="collectives-grade-", ignore_cleanup_errors=True) as name:
        _prepare(Path(name), "", [], patience)
        _mpirun(Path(name), patience)
        return _library(Path(name))


def _prepare(folder: Path, source: str, plan: list[Planned], patience: float) -> None:
    (folder / "submission").write_text(source)
    cases = [each.words() for each in plan]
    (folder / "plan.json").write_text(json.dumps({"cases": cases, "patience": patience}))
    for number, each in enumerate(plan):
        named: dict[str, Any] = {
            f"{rank}-{i}": array
            for rank, given in enumerate(each.inputs)
            for i, array in enumerate(given)
        }
        np.savez(folder / f"input-{number}.npz", **named)


def _mpirun(folder: Path, patience: float) -> str:
    """Run the job and return what it said; nothing of it is left afterwards."""
    token = secrets.token_hex(16)
    kept = {k: v for k, v in os.environ.items() if k.startswith(_FAMILIES)}
    env = environment(str(folder)) | kept | {"COLLECTIVES_GRADING": token}
    env["MPIR_CVAR_CH4_CMA_ENABLE"] = "0"  # MPICH: ranks that are locked in cannot read each other
    ranks = ["mpirun", "-n", str(SIZE), *python("collectives.teach.mpi_rank", str(folder))]
    command = python("collectives.teach.mpi_launch", str(folder), *ranks)
    with TemporaryFile() as out:
        job = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=env,
            start_new_session=True,
        )  # fmt: skip
        if hasattr(resource, "prlimit"):  # what ranks print goes through mpirun into that file
            resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (_MOST_SAID, _MOST_SAID))
        _wait(job, folder, patience)
        _end(job, token)
        out.seek(0)
        return out.read(20_000).decode(errors="replace")


def _wait(job: subprocess.Popen[bytes], folder: Path, patience: float) -> None:
    """Wait until a job has ended, or stands still, or takes too long in all."""
    last, since = "", time.monotonic()
    until = since + _START + _MOST_PATIENCE * patience
    while job.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
        now = _state(folder)
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > (patience + 20.0 if last else _START):
            return


def _state(folder: Path) -> str:
    """Return how far the job is; nothing while it starts."""
    if not (folder / "now.json").exists():
        return ""
    return " ".join(["started", *sorted(path.name for path in folder.glob("outcome-*"))])


def _end(job: subprocess.Popen[bytes], token: str) -> None:
    """End the job, and whatever carries its token in its environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    if not sys.platform.startswith("linux"):
        return
    for _ in range(3):
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                if f"COLLECTIVES_GRADING={token}".encode() in (place / "environ").read_bytes():
                    os.kill(int(place.name), signal.SIGKILL)


def _library(folder: Path) -> str:
    words = _words(folder / "now.json")
    return str(words.get("library", ""))[:60]


def _judged(folder: Path, number: int, call: Planned, said: str) -> Wrong | None:
    """Return what is wrong with one call, judged from the bytes that it left."""
    outcome = _words(folder / f"outcome-{number}.json")
    story = outcome.get("ending") or _words(folder / "hang.json")
    if outcome and not outcome.get("ending"):
        story = None
    elif not story:
        story = {"kind": "died", "text": _gist(said) or "the job has ended, or stood still"}
    if story is not None:
        kind, text = str(story.get("kind"))[:40], str(story.get("text"))[:2000]
        found = call.attempt()
        found.ending = Ending(kind, text)
        lines = re.findall(r"<submission>:(\d+)", text)
        found.line = int(lines[0]) if lines else 0
        return Wrong(f"mpi {kind}", _plain(text), found)
    return call.fault(folder, number)


def _words(path: Path) -> dict[str, Any]:
    try:
        words = json.loads(left_in(path)[: 1 << 16])
    except (ValueError, RecursionError):
        return {}
    return words if isinstance(words, dict) else {}


def _plain(text: str) -> str:
    """Write a story on one line, with the lines of the submission."""
    story = re.sub(r"<submission>:(\d+)", r"line \1", text)
    return "; ".join(line.strip() for line in story.splitlines() if line.strip())


class _Nothing:
    """Stands for a submission that is not run again."""

    def call(self, *_: Any) -> Any:
        raise AssertionError("not run again")

    play = value = call

    def reset(self) -> None:
        pass
