"""A submission that gives right values in simulation, once more on the MPI library of mpirun.

A job of four ranks runs short vectors, a long one, and one whose sends all wait for their
receives. A watchdog in the job explains a deadlock; the grader itself ends a job that stands
still, and everything that the job has started.
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
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Buffers, Case
from collectives.oracle.trials import Seen
from collectives.oracle.worlds import EAGER, RENDEZVOUS, Ending
from collectives.teach.attempt import PATTERN, Attempt
from collectives.teach.diagnosis import diagnose
from collectives.teach.evidence import Evidence
from collectives.teach.exercise import Part
from collectives.teach.grader import Grade
from collectives.teach.grading import PAYLOADS, Check, Trials, Wrong, wrong
from collectives.teach.rank import words_of
from collectives.teach.sandbox import environment, python

SIZE: Final = 4
"""Ranks of the job."""

_START: Final = 60.0
"""Seconds that mpirun gets to start."""

_MOST_SAID: Final = 64 << 20
"""Bytes that a job may print."""

_FAMILIES: Final = ("OMPI_", "PRTE_", "PMIX_", "MPICH_", "HYDRA_", "UCX_", "FI_", "PMI_")


@dataclass(frozen=True)
class Planned:
    """One call under MPI."""

    part: Part
    case: Case
    synchronous: bool
    inputs: list[Array]


def on_mpi(grade: Grade, patience: float = 10.0) -> None:
    """Add what comes of a submission under mpirun to its grade, where it makes sense to look."""
    failed = {check.name.rpartition(": ")[2] for check in grade.checks if check.wrong is not None}
    parts = [part for part in grade.exercise.parts if part.collective]
    if failed - {"safe", "traffic", "steps"} or not parts:
        return
    check = Check("MPI")
    grade.checks.append(check)
    if shutil.which("mpirun") is None:
        check.skipped = "there is no mpirun"
        return
    plan = list(_plan(parts))
    with tempfile.TemporaryDirectory(prefix="collectives-grade-") as name:
        folder = Path(name)
        _prepare(folder, grade.source, plan, min(patience, 5.0))
        said = _mpirun(folder, patience)
        library = _library(folder)
        if not library:
            check.skipped = f"mpirun did not start: {said.strip()[-200:] or 'it says nothing'}"
            return
        grade.where = f"simulated ranks and {library}"
        for number, planned in enumerate(plan):
            check.tried += 1
            check.wrong = _judged(folder, number, planned, said)
            if check.wrong is not None:
                break
    if check.wrong is not None:
        grade.on_mpi = f"{library}, {plan[check.tried - 1].case}: {_plain(check.wrong.text)}"
        if grade.evidence is None:
            part = plan[check.tried - 1].part
            trials = Trials(_Nothing(), part)
            grade.evidence = Evidence(grade.exercise, part, grade.source, trials, check.wrong)
            grade.diagnosis = diagnose(grade.evidence)


def _plan(parts: list[Part]) -> Iterator[Planned]:
    seed = secrets.randbits(32)
    for part in parts:
        form = Case(part.collective, SIZE)
        options = tuple(part.options[-1].items())
        for p, n, synchronous in ((4, 7, False), (3, 7, False), (4, 100_003, False), (4, 7, True)):
            chosen = options if n < 100 else tuple((k, v * 4096) for k, v in options)
            if form.form.brings == "nothing":
                n = 0
            case = Case(part.collective, p, n // p if form.by_blocks else n, chosen=chosen)
            if form.rooted:
                case = replace(case, root=p - 2)
            if part.counts:
                case = replace(case, counts=(case.n,) * p)
            yield Planned(part, case, synchronous, PAYLOADS["random"](case, seed))


def _prepare(folder: Path, source: str, plan: list[Planned], patience: float) -> None:
    (folder / "submission").write_text(source)
    cases = [
        {
            "function": each.part.function,
            "case": words_of(each.case),
            "synchronous": each.synchronous,
        }
        for each in plan
    ]
    (folder / "plan.json").write_text(json.dumps({"cases": cases, "patience": patience}))
    for number, each in enumerate(plan):
        named: dict[str, Any] = {str(rank): array for rank, array in enumerate(each.inputs)}
        np.savez(folder / f"input-{number}.npz", **named)


def _mpirun(folder: Path, patience: float) -> str:
    """Run the job and return what it said; nothing of it is left afterwards."""
    token = secrets.token_hex(16)
    kept = {k: v for k, v in os.environ.items() if k.startswith(_FAMILIES)}
    env = environment(str(folder)) | kept | {"COLLECTIVES_GRADING": token}
    env["MPIR_CVAR_CH4_CMA_ENABLE"] = "0"  # MPICH: ranks that are locked in cannot read each other
    command = ["mpirun", "-n", str(SIZE), *python("collectives.teach.mpi_rank", str(folder))]
    with open(folder / "said", "wb") as out:
        job = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=env,
            start_new_session=True,
        )  # fmt: skip
    if hasattr(resource, "prlimit"):  # what ranks print goes through mpirun into that file
        resource.prlimit(job.pid, resource.RLIMIT_FSIZE, (_MOST_SAID, _MOST_SAID))
    last, since = "", time.monotonic()
    while job.poll() is None:
        time.sleep(0.05)
        now = _state(folder)
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() - since > (patience + 20.0 if last else _START):
            break
    _end(job, token)
    with open(folder / "said", errors="replace") as text:
        return text.read(20_000)


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


def _judged(folder: Path, number: int, planned: Planned, said: str) -> Wrong | None:
    """Return what is wrong with one call, judged from the bytes that it left."""
    case = planned.case
    network = RENDEZVOUS if planned.synchronous else EAGER
    found = Attempt(case, network, planned.inputs)
    outcome = _words(folder / f"outcome-{number}.json")
    story = outcome.get("ending") or _words(folder / "hang.json")
    if outcome and not outcome.get("ending"):
        story = None
    elif not story:
        story = {"kind": "died", "text": said.strip()[-400:] or "the job stood still and was ended"}
    if story is not None:
        kind, text = str(story.get("kind"))[:40], str(story.get("text"))[:2000]
        found.ending = Ending(kind, text)
        lines = re.findall(r"<submission>:(\d+)", text)
        found.line = int(lines[0]) if lines else 0
        return Wrong(f"mpi {kind}", _plain(text), found)
    for rank in range(case.p):
        buffers = Buffers(case, rank, planned.inputs[rank], PATTERN)
        wholes = (buffers.sent.whole, buffers.received.whole)
        size = sum(whole.nbytes for whole in wholes)
        try:
            with open(folder / f"result-{number}-{rank}", "rb") as file:
                data = file.read(size + 1)
        except OSError:
            data = b""
        if len(data) != size:
            return Wrong("mpi value", f"rank {rank} left no result", found)
        wholes[0][:] = np.frombuffer(data[: wholes[0].nbytes], wholes[0].dtype)
        wholes[1][:] = np.frombuffer(data[wholes[0].nbytes :], wholes[1].dtype)
        found.seen.append(Seen(buffers.result, buffers.changed_input(), buffers.written_outside()))
    fault = wrong(found, counted=False)
    return None if fault is None else replace(fault, kind=f"mpi {fault.kind}")


def _words(path: Path) -> dict[str, Any]:
    try:
        with open(path) as file:
            words = json.loads(file.read(1 << 16))
    except (OSError, ValueError):
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
