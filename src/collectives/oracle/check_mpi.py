"""Check every algorithm of an MPI library in turn, each in a job of its own: a matrix.

``scripts/check_mpi`` runs this in the environment of the library.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from collectives.launch import library_name
from collectives.oracle.forced import BROKEN, CALLS, CANNOT_RUN, MPICH, NOT_IN_ORDER, OPEN_MPI
from collectives.oracle.report import Fault, Report, Verdict

LIMIT: Final = 600
"""Seconds after which a job is taken for lost, if its own watchdog has not ended it."""


@dataclass(frozen=True)
class Row:
    """One algorithm of a library, and what came out of its check."""

    library: str
    collective: str
    choice: str
    command: str
    report: dict[str, Any]
    note: str = ""

    @property
    def statuses(self) -> dict[str, str]:
        """The verdict on every promise: ``refused`` where not every case was taken."""
        return {
            verdict["property"]: "refused" if _refused(verdict) else verdict["status"]
            for verdict in self.report.get("verdicts", ())
        }

    @property
    def broken(self) -> list[str]:
        return [name for name, status in self.statuses.items() if status == "broken"]

    @property
    def expected(self) -> bool:
        """Whether nothing is broken but what is known to be."""
        unordered = self.choice in NOT_IN_ORDER.get(self.collective, ())
        known = {"order_kept", "refuses_what_it_cannot_do"} if unordered else set()
        known |= {*BROKEN.get((self.library, self.collective, self.choice), ())[:1]}
        return self.is_known_to_end or (
            not self.note and all(name in known for name in self.broken)
        )

    @property
    def is_known_to_end(self) -> bool:
        """Whether its job does not end well, as is known."""
        return bool(self.note) and (self.library, self.collective, self.choice) in CANNOT_RUN


def _refused(verdict: dict[str, Any]) -> bool:
    return verdict["status"] != "broken" and "cases refused" in verdict["detail"]


def choices(library: str, collective: str) -> Iterator[str]:
    """Yield what ``mpi:`` may be followed by for a collective, in the order of the library."""
    table = OPEN_MPI if library == "openmpi" else MPICH
    plain, given = CALLS[collective]
    yield from table.get(plain, ())
    yield from (f"v:{name}" for name in table.get(given, ()))


def check_one(
    library: str, collective: str, choice: str, ranks: int, only: str, quick: bool
) -> Row:
    """Check one algorithm in a job of its own; ``""`` is the library's own choice."""
    target = f"mpi:{choice}" if choice else "mpi"
    words = ["check", collective, "--target", target]
    words += ["--only", only] if only else []
    words += ["--quick"] if quick else []
    shown = " ".join(["mpirun", "-n", str(ranks), "collectives", *words])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        command = ["mpirun", "-n", str(ranks), sys.executable, "-m", "collectives", *words]
        job = subprocess.Popen(
            [*command, "--json", str(file)], start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        try:
            output, _ = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            _end(job)
            return Row(library, collective, choice, shown, {}, f"did not end in {LIMIT} s")
        if file.exists():
            return Row(library, collective, choice, shown, json.loads(file.read_text()))
    lines = [line for line in output.splitlines() if line.strip()]
    return Row(
        library, collective, choice, shown, {}, f"exit code {job.returncode}: {_telling(lines)}"
    )


def _telling(lines: Sequence[str]) -> str:
    """Return the line that says most about why a job ended."""
    for word in ("Assertion failed", "collectives:", "rror"):
        for line in lines:
            if word in line:
                return line.strip()[:160]
    return (lines or ["no output"])[0][:160]


def _end(job: subprocess.Popen[str]) -> None:
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


# ------------------------------------------------------------------ what is printed


def matrix(rows: Sequence[Row], *, markdown: bool) -> Iterator[str]:
    """Yield the lines of the matrix: a row for every algorithm, a column for every promise."""
    shown = {
        name for row in rows for name, status in row.statuses.items()
        if status in ("held", "broken", "refused")
    }  # fmt: skip
    names = [
        name for name in dict.fromkeys(n for row in rows for n in row.statuses) if name in shown
    ]
    label = max((len(_label(row)) for row in rows), default=0)
    if markdown:
        heads = [f"{i}" for i, _ in enumerate(names, start=1)]
        yield f"| algorithm | {' | '.join(heads)} | |"
        yield "| --- " * (len(names) + 2) + "|"
        for row in rows:
            marks = [_MARKS[row.statuses.get(name, "")] for name in names]
            yield f"| `{_label(row)}` | {' | '.join(marks)} | {_remark(row)} |"
        yield ""
        yield "; ".join(f"{i} `{name}`" for i, name in enumerate(names, start=1))
        yield ""
        yield f"✓ held, ✗ broken, {_ELSE}"
        return
    for i, name in enumerate(names):
        yield " " * label + "  " + "| " * i + f"{name}"
    for row in rows:
        cells = " ".join(_LETTERS[row.statuses.get(name, "")] for name in names)
        yield f"{_label(row):{label}}  {cells}  {_remark(row)}".rstrip()
    yield f"P held, F broken, {_ELSE}"


_ELSE: Final = "r held where it was not refused, - not observable there or not claimed"
_MARKS: Final = {
    "held": "✓", "broken": "✗", "refused": "r", "not observable": "-", "not claimed": "-",
    "could not run": "!", "": " ",
}  # fmt: skip
_LETTERS: Final = _MARKS | {"held": "P", "broken": "F"}


def _label(row: Row) -> str:
    return f"{row.collective} {row.choice or '(its own choice)'}"


def _remark(row: Row) -> str:
    if row.note:
        known = CANNOT_RUN.get((row.library, row.collective, row.choice), "")
        return f"as known: {known}" if known else row.note
    if not (row.broken and row.expected):
        return ""
    _, why = BROKEN.get((row.library, row.collective, row.choice), ("", "not in rank order"))
    return f"as known: {why}"


def _report(rows: Sequence[Row], library: str) -> Report:
    """Return all rows as one report, for JUnit."""
    verdicts = []
    for row in rows:
        for verdict in row.report.get("verdicts", ()):
            fault = verdict["fault"] and Fault(**verdict["fault"])
            verdicts.append(Verdict(**verdict | {"fault": fault, "name": row.choice or "auto"}))
        if row.note:
            verdicts.append(
                Verdict("runs", row.collective, row.choice, "could not run", detail=row.note)
            )
    return Report("mpi", library, tuple(verdicts))


def main() -> int:
    """Check the library and print the matrix; 0 if nothing is broken but what is known to be."""
    parser = argparse.ArgumentParser(prog="scripts/check_mpi", description=__doc__)
    parser.add_argument("--library", choices=("mpich", "openmpi"), default="mpich")
    parser.add_argument("--force", action="store_true", help="every algorithm, each in turn")
    parser.add_argument("--collective", choices=list(CALLS), action="append", default=[])
    parser.add_argument("-n", type=int, default=5, metavar="RANKS", help="(%(default)s)")
    parser.add_argument("--only", default="", help="promises, separated by commas")
    parser.add_argument("--quick", action="store_true", help="fewer cases")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--junit", metavar="FILE", help="also write JUnit XML")
    options = parser.parse_args()
    rows = []
    for collective in options.collective or CALLS:
        for choice in ["", *(choices(options.library, collective) if options.force else ())]:
            print(f"{collective} {choice}", file=sys.stderr, flush=True)
            rows.append(
                check_one(
                    options.library, collective, choice, options.n, options.only, options.quick
                )
            )
    library = library_name()
    if options.junit:
        Path(options.junit).write_text(_report(rows, library).junit() + "\n")
    if options.json:
        print(json.dumps({"library": library, "ranks": options.n, "rows": [vars(r) for r in rows]}))
        return int(not all(row.expected for row in rows))
    print(f"{library}, {options.n} ranks\n")
    for line in matrix(rows, markdown=options.markdown):
        print(line)
    for row in rows:
        if not row.expected:
            print(f"\n{_label(row)}: {row.note or ', '.join(row.broken)}\n    {row.command}")
            faults = [v["fault"] for v in row.report.get("verdicts", ()) if v["fault"]]
            for fault in faults[:1]:
                print(f"    {fault['case']}: {fault['text']}")
    return int(not all(row.expected for row in rows))


if __name__ == "__main__":
    sys.exit(main())
