"""Processes that run programs rank by rank: results, exceptions, deaths and hangs."""

import importlib
import os

import pytest

from collectives.op import MAX, Op
from collectives.oracle.cases import Case
from collectives.oracle.payloads import AFFINE
from collectives.oracle.workers import Workers, dumps, loads

RANK = """
import sys
from types import SimpleNamespace
from collectives.oracle.workers import refuse, serve

what, rank, size, folder, descriptor = sys.argv[1:]
if what == "missing" and rank == "1":
    refuse(int(descriptor), "what it needs is not there")
elif what == "dies":
    sys.exit("no such device")
else:
    serve(int(descriptor), f"{size} of {what}", lambda p: SimpleNamespace(rank=int(rank), size=p))
"""

PROGRAMS = """
import os, sys, time
from collectives.registry import UnsupportedError

def doubled(comm):
    return comm.rank * 2, comm.size

def refuses(comm):
    raise UnsupportedError("not of this type")

def refuses_on_one(comm):
    if comm.rank:
        raise UnsupportedError("not of this type")

def raises_on_one(comm):
    if comm.rank == 1:
        raise KeyError("lost")
    waits(comm)

def dies_on_one(comm):
    if comm.rank == 1:
        print("out of memory", flush=True)
        os._exit(7)
    raise ConnectionError("reset by peer")

def waits_on_one(comm):
    if comm.rank == 2:
        waits(comm)

def waits(comm):
    while True:
        time.sleep(0.01)

def large(comm):
    return bytes(5_000_000)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A module with programs, which the processes find, too."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "one_rank.py").write_text(RANK)
    (folder / "programs_for_ranks.py").write_text(PROGRAMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        path = os.environ.get("PYTHONPATH", "")
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{path}")
        yield importlib.import_module("programs_for_ranks")


@pytest.fixture(scope="module")
def workers(programs):
    made = Workers("one_rank", ["things"], patience=1.0)
    yield made
    made.stop()


def test_results_come_back_in_order(workers, programs):
    assert workers.run(programs.doubled, 3).results == [(0, 3), (2, 3), (4, 3)]
    assert workers.name == "5 of things"
    assert len(workers.run(programs.large, 2).results[1]) == 5_000_000


def test_more_ranks_than_have_been_started(workers, programs):
    assert workers.run(programs.doubled, 1).results == [(0, 1)]
    assert workers.run(programs.doubled, 6).results[-1] == (10, 6)
    assert len(workers.ranks) == 9


def test_what_all_refuse_is_refused(workers, programs):
    outcome = workers.run(programs.refuses, 3)
    assert outcome.ending.kind == "refused"
    assert "not of this type" in outcome.ending.text
    on_one = workers.run(programs.refuses_on_one, 2).ending
    assert (on_one.kind, on_one.rank) == ("raised", 1)


@pytest.mark.parametrize(
    ("name", "kind", "rank", "text"),
    [
        ("raises_on_one", "raised", 1, "rank 1: KeyError: 'lost' (programs_for_ranks.py:"),
        ("dies_on_one", "raised", 1, "rank 1 ended with exit code 7, last said 'out of memory'"),
        ("waits_on_one", "starved", 2, "rank 2 waits in waits (programs_for_ranks.py:"),
        ("waits", "deadlock", 0, "rank 1 waits in waits (programs_for_ranks.py:"),
    ],
)
def test_how_a_run_ends_early(workers, programs, name, kind, rank, text):
    outcome = workers.run(getattr(programs, name), 3)
    assert (outcome.ending.kind, outcome.ending.rank) == (kind, rank)
    assert text in outcome.ending.text
    assert workers.run(programs.doubled, 2).results == [(0, 2), (2, 2)]  # the next one is not hurt


def test_processes_end_with_their_world(programs):
    world = Workers("one_rank", ["things"])
    world.start(2)
    processes = [rank.process for rank in world.ranks]
    world.stop()
    assert [process.returncode for process in processes] == [0, 0]


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("missing", "what it needs is not there"),
        ("dies", "rank 0 ended with exit code 1, last said 'no such device'"),
    ],
)
def test_processes_that_cannot_start(programs, what, text):
    world = Workers("one_rank", [what])
    with pytest.raises(ValueError, match=text):
        world.start(2)
    assert world.ranks == []


def test_operations_arrive_as_what_they_are():
    case = loads(dumps(Case("allreduce", 3, op=MAX)))
    assert case.op is MAX
    assert loads(dumps(AFFINE)) is AFFINE
    assert loads(dumps(Op("MAX", max))) is not MAX
