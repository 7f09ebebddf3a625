"""What lets the ranks of an MPI job be tested as one.

``mpirun -n 4 python -m pytest --with-mpi tests/mpi`` runs every test on all ranks, and rank 0
reports. No rank may fail alone, because the others would wait for it: whatever goes wrong in a
test is told to all ranks first, and then the test fails everywhere with the same report. Where
that is impossible the job is ended, with a traceback.

Without ``--with-mpi`` nothing here is collected, and MPI stays unloaded.
"""

from __future__ import annotations

import faulthandler
import os
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATIENCE = 4.0
"""Seconds that a rank with an exception waits for the others, before it ends the job."""

LIMIT = 60
"""Seconds after which a test is taken to hang: every rank shows where it is, the job ends."""

LINES = 20
"""How much of what all ranks found is shown."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return None if config.getoption("--with-mpi") else True


@pytest.hookimpl(trylast=True)  # when there is a terminal reporter
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--with-mpi"):
        config.pluginmanager.register(AllRanks(config), "all-ranks")


class AllRanks:
    """Agrees on verdicts over a communicator of its own."""

    def __init__(self, config: pytest.Config) -> None:
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD.Dup()
        self.terminal = config.pluginmanager.getplugin("terminalreporter")
        with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            self.stderr = os.dup(2)
        if self.world.rank != 0 and self.terminal is not None:
            config.pluginmanager.unregister(self.terminal)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        names = self.world.allgather([item.nodeid for item in session.items])
        if any(theirs != names[0] for theirs in names):
            raise pytest.UsageError("the ranks have collected different tests")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=self.stderr)
        found, patience = [], None
        try:
            yield
        except Findings as findings:
            found = list(findings.args)
        except pytest.skip.Exception:
            raise  # on all ranks for the same reason
        except (Exception, pytest.fail.Exception) as error:
            found = [f"{item.name} raised\n{_traceback(error, item.path)}"]
            patience = PATIENCE
        every = self.gather(found, patience)
        faulthandler.cancel_dump_traceback_later()
        if any(every):
            pytest.fail(_report(every), pytrace=False)

    def gather(self, found: list[str], patience: float | None) -> list[list[str]]:
        """Return what all ranks have `found`; if they do not come in time, end the job."""
        failed = np.array([bool(found)])
        request = self.world.Iallreduce(self.mpi.IN_PLACE, failed, self.mpi.LOR)
        deadline = time.monotonic() + (patience or 0)
        while patience and not request.Test():
            if time.monotonic() > deadline:
                text = "\n".join(found)
                os.write(self.stderr, f"\n[{self.world.rank}] {text}\n".encode())
                time.sleep(0.2)  # for mpirun to pass it on
                self.mpi.COMM_WORLD.Abort(1)
            time.sleep(0.001)
        request.Wait()
        return self.world.allgather(found) if failed[0] else []


class Findings(Exception):
    """What is wrong on this rank, said where the test ends and the ranks meet."""


def _report(findings: list[list[str]]) -> str:
    """Return the findings of all ranks of the job, each with the ranks that have it."""
    found: dict[str, list[str]] = {}
    for rank, texts in enumerate(findings):
        for text in dict.fromkeys(texts):
            found.setdefault(text, []).append(str(rank))
    lines = [f"[{' '.join(ranks)}] {text}" for text, ranks in found.items()]
    return "\n".join(lines[:LINES] + [f"... and {len(lines) - LINES} more"] * (len(lines) > LINES))


def _traceback(error: BaseException, test: Path) -> str:
    """Return the traceback of `error` from the function in the file `test` on."""
    frames = traceback.extract_tb(error.__traceback__)
    start = next((i for i, frame in enumerate(frames) if frame.filename == str(test)), 0)
    lines = traceback.format_list(frames[start:]) + traceback.format_exception_only(error)
    return "".join(lines).rstrip()


@pytest.fixture
def agree() -> Callable[[Iterable[str]], None]:
    """``agree(findings)`` ends a test: it fails on all ranks, if any rank has any findings."""

    def agree(findings: Iterable[str]) -> None:
        if found := list(findings):
            raise Findings(*found)

    return agree


@pytest.fixture(scope="session")
def world() -> Any:
    """All ranks."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


@pytest.fixture(scope="session")
def parts(world: Any) -> Iterator[dict[str, Any]]:
    """Communicators besides `world`, by name: counted backwards, halves, halves of halves."""
    halves = world.Split(color=world.rank % 2)
    made = {
        "reversed": world.Split(key=-world.rank),
        "odd and even": halves,
        "quarters": halves.Split(color=halves.rank % 2, key=-halves.rank),
    }
    yield made
    for comm in made.values():
        comm.Free()
