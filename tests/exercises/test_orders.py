"""Receives from any rank are tried in other orders; those that take any message stay right."""

from __future__ import annotations

import pytest

from collectives.oracle.cases import Case
from collectives.teach.attempt import Here, Pause, functions_of
from collectives.teach.exercise import exercise
from collectives.teach.grader import grade_here
from collectives.teach.grading import Trials
from collectives.teach.orders import has_choice, pauses

RACES = [
    (each, mutant)
    for each in map(exercise, ("pairwise_alltoall", "scatter_gather"))
    for mutant in each.mutants
    if mutant.diagnosis == "any-source"
]


@pytest.mark.parametrize(("asked", "mutant"), RACES, ids=lambda each: getattr(each, "name", ""))
def test_what_depends_on_the_order_is_right_in_one(asked, mutant) -> None:
    """All other checks hold: only another order shows the mistake."""
    result = grade_here(mutant.source(asked.right), asked)
    wrong = [check.name.rpartition(": ")[2] for check in result.checks if check.wrong]
    assert wrong == ["any order"]
    assert "slow before its call" in result.said
    assert "source=" not in result.source.splitlines()[result.look - 1]


TAKES_ANY = """
import numpy as np
from mpi4py import MPI


def ring_allgather(comm, sendbuf, recvbuf):
    n, status = sendbuf.size, MPI.Status()
    requests = [comm.Isend(sendbuf, dest=rank) for rank in range(comm.size) if rank != comm.rank]
    recvbuf[comm.rank * n : (comm.rank + 1) * n] = sendbuf
    for _ in range(comm.size - 1):
        incoming = np.empty_like(sendbuf)
        comm.Recv(incoming, status=status)
        source = status.Get_source()
        recvbuf[source * n : (source + 1) * n] = incoming
    for request in requests:
        request.Wait()
"""


def test_who_looks_at_the_source_may_receive_from_any_rank() -> None:
    result = grade_here(TAKES_ANY, exercise("ring_allgather"))
    names = {check.name: check.passed for check in result.checks}
    assert names.pop("any order")
    assert names.pop("value")
    assert names.pop("safe")


def test_without_a_choice_no_other_order_is_tried() -> None:
    asked = exercise("ring_allgather")
    assert "any order" not in [check.name for check in grade_here(asked.right, asked).checks]


def test_a_pause_lets_the_others_go_first() -> None:
    source = """
def alltoall(comm, sendbuf, recvbuf):
    p = comm.size
    requests = [comm.Isend(sendbuf[r : r + 1], dest=r) for r in range(p)]
    for place in range(p):
        comm.Recv(recvbuf[place : place + 1])
    for request in requests:
        request.Wait()
"""
    part = exercise("pairwise_alltoall").parts[0]
    named = Here({part.function: functions_of(source)["alltoall"]})
    trials, case = Trials(named, part), Case("alltoall", 3, 1)
    plain = trials(case)
    assert has_choice([plain])
    assert list(pauses(plain))[:2] == [Pause(0, 1), Pause(0, 2)]
    late = trials(case, pause=Pause(0, 1))
    sent_by_0 = int(plain.inputs[0][1])
    assert plain.seen[1].result.tolist().index(sent_by_0) == 0
    assert late.seen[1].result.tolist().index(sent_by_0) == 2
