"""A check as a library function: verdicts, families of faults, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from collectives import find
from collectives.oracle import check
from collectives.oracle.case_text import OPS, parse_case
from collectives.oracle.cases import Case
from collectives.oracle.properties import PROPERTIES
from collectives.oracle.properties.width import sparse, sparse_result
from collectives.oracle.report import Report, Verdict
from collectives.oracle.worlds import SIMULATED

EVERYWHERE = {
    "right_values", "every_rank_counted_once", "order_kept", "same_on_all_ranks",
    "same_when_repeated", "input_unchanged", "writes_only_result", "works_in_place",
    "ignored_arguments_ignored", "finishes_without_buffering", "leaves_no_message_behind",
    "messages_match_cost", "ran_what_was_asked", "zero_length_ok", "one_rank_ok", "survives_skew",
    "survives_foreign_traffic", "any_communicator", "special_values", "float_error_bounded",
    "big_counts",
}  # fmt: skip
"""What users are told that is checked."""


def gathers(comm, sendbuf, recvbuf, op, wrong):
    """Everybody sends everybody everything; `wrong(comm, step, incoming)` spoils it."""
    partial = sendbuf.copy()
    vectors = {comm.rank: sendbuf.copy()}
    for step in range(1, comm.size):
        dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        vectors[source] = np.empty_like(sendbuf)
        comm.Sendrecv(sendbuf, dest=dest, recvbuf=vectors[source], source=source)
        wrong(comm, source, vectors[source])
    partial[:] = vectors[0]
    for rank in range(1, comm.size):
        op(partial, vectors[rank], out=partial)
    recvbuf[:] = partial


def skips(comm, source, incoming):
    if source == 1:
        incoming[:] = incoming * 0


def rotates(comm, source, incoming):
    if incoming.size > 1:
        incoming[:] = np.concatenate([incoming[1:], incoming[:1]])


def drops(comm, source, incoming):
    tail = incoming.size // comm.size * comm.size
    incoming[tail:] = incoming[tail:] * 0


def narrows(comm, source, incoming):
    if incoming.dtype.kind == "f" and incoming.itemsize > 2:
        incoming[:] = incoming.astype(np.float16)


def forgets(comm, source, incoming):
    if incoming.dtype == np.int16:
        incoming[:] = 0


def made(wrong: Callable[..., None]) -> Callable[..., None]:
    def mine(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        gathers(comm, sendbuf, recvbuf, op, wrong)

    return mine


def ignores_op(comm, sendbuf, recvbuf, op=OPS["SUM"]):
    gathers(comm, sendbuf, recvbuf, OPS["SUM"], lambda *_: None)


def changes_input(comm, sendbuf, recvbuf, op=OPS["SUM"]):
    gathers(comm, sendbuf, recvbuf, op, lambda *_: None)
    if sendbuf.size:
        sendbuf[0] = recvbuf[0]


@pytest.mark.parametrize(
    ("target", "promise", "family"),
    [
        (made(skips), "every_rank_counted_once", "F1 contribution"),
        (made(rotates), "right_values", "F2 placement"),
        (made(drops), "right_values", "F3 boundary"),
        (changes_input, "input_unchanged", "F4 buffer contract"),
        (made(forgets), "right_values", "F5 datatype"),
        (ignores_op, "right_values", "F6 operation"),
        (made(narrows), "float_error_bounded", "F7 floating point"),
    ],
)  # fmt: skip
def test_family_of_a_fault(target: Callable[..., None], promise: str, family: str) -> None:
    report = check(target, "allreduce", ranks=[1, 2, 3, 4, 5])
    assert report.exit_code == 1
    assert promise in {fault.property for fault in report.faults}
    assert {fault.family for fault in report.faults} == {family}


def test_fault_names_everything() -> None:
    report = check(made(skips), "allreduce", ranks=[3], only=["every_rank_counted_once"])
    (fault,) = report.faults
    assert (fault.case, fault.rank, fault.element, fault.block) == ("p=3 n=1", 0, 0, 0)
    assert fault.counted == {0: 1, 1: 0, 2: 1}
    assert (fault.got, fault.wanted) == ("0+2", "0+1+2")
    assert fault.command == (
        'collectives check allreduce mine --case "p=3 n=1" --only every_rank_counted_once'
    )


def test_case_of_a_fault_is_the_only_one_that_is_repeated() -> None:
    report = check(made(drops), "allreduce", ranks=[4])
    again = check(
        made(drops), "allreduce", case=report.faults[0].case, only=[report.faults[0].property]
    )
    (verdict,) = again.verdicts
    assert verdict.cases == 1
    assert verdict.fault is not None
    assert verdict.fault.text == report.faults[0].text


def swaps(comm, sendbuf, recvbuf, op=OPS["SUM"]):
    """Keep no order, and refuse nothing."""
    partial = sendbuf.copy()
    for step in range(1, comm.size):
        dest, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        incoming = np.empty_like(sendbuf)
        comm.Sendrecv(sendbuf, dest=dest, recvbuf=incoming, source=source)
        op(partial, incoming, out=partial)
    recvbuf[:] = partial


def test_operands_out_of_order_are_a_fault_unless_they_are_refused() -> None:
    def refuses(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        if not op.commutative:
            raise NotImplementedError("operations that are not commutative")
        swaps(comm, sendbuf, recvbuf, op)

    found = check(swaps, "allreduce", ranks=[3], only=["right_values", "order_kept"])
    assert [(x.property, x.family) for x in found.faults] == [("order_kept", "F6 operation")]
    assert "not commutative" in found.faults[0].text
    assert (
        check(refuses, "allreduce", ranks=[3], only=["right_values", "order_kept"]).exit_code == 0
    )


def test_rank_that_never_comes_back_is_named_and_ends_the_check() -> None:
    def spins(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        gathers(comm, sendbuf, recvbuf, op, lambda *_: None)
        while comm.rank == 1:
            pass

    report = check(spins, "allreduce", ranks=[3], patience=0.2)
    (fault,) = report.faults
    assert (fault.property, fault.rank, fault.family) == ("right_values", 1, "F10 deadlock")
    assert "rank 1 at test_check.py:" in fault.text
    assert "has not gone on for 0.2 s" in fault.text
    assert len(report.verdicts) == 1


def test_fault_of_some_calls_says_so_and_is_repeated_with_all_of_them() -> None:
    calls: list[int] = []

    def every_now_and_then(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        gathers(comm, sendbuf, recvbuf, op, lambda *_: None)
        calls.append(1)
        if len(calls) % 31 == 0:
            recvbuf[:] = 0

    report = check(every_now_and_then, "allreduce", ranks=[3], only=["right_values"], quick=True)
    (fault,) = report.faults
    assert fault.text.endswith("; not when repeated at once")
    assert fault.command == (
        "collectives check allreduce every_now_and_then -p 3 --quick --only right_values"
    )


def test_only_case_is_called_more_than_once() -> None:
    """What is wrong from the second call on is seen in the one case that is asked for, too."""
    old: dict[int, object] = {}

    def keeps(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        gathers(comm, sendbuf, recvbuf, op, lambda *_: None)
        last = old.get(comm.rank, recvbuf.copy())
        old[comm.rank] = recvbuf.copy()
        recvbuf[:1] = last[:1]

    only = ["right_values"]
    assert check(keeps, "allreduce", case="p=3 n=4 op=PROD", only=only).exit_code == 1


def test_registered_algorithm_holds_and_says_what_it_does_not_claim() -> None:
    report = check(find("allreduce", "ring"), "allreduce", quick=True)
    found = {verdict.property: verdict.status for verdict in report.verdicts}
    assert set(found.values()) == {"held", "not claimed"}
    assert found["order_kept"] == "not claimed"
    assert report.exit_code == 0


def test_every_promise_that_users_are_told_is_there() -> None:
    assert set(PROPERTIES) >= EVERYWHERE


def test_function_that_refuses_cases_is_not_blamed_for_them() -> None:
    from collectives import UnsupportedError

    def pairs(comm, sendbuf, recvbuf, op=OPS["SUM"]):
        if comm.size > 2:
            raise UnsupportedError("two ranks at most")
        gathers(comm, sendbuf, recvbuf, op, lambda *_: None)

    report = check(pairs, "allreduce", ranks=[2, 3], only=["right_values", "same_on_all_ranks"])
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"only": ["nothing"]}, "no promise 'nothing'; there are right_values, "),
        ({"case": "p=0 n=1"}, "wants the number of ranks"),
        ({"case": "p=3 n=1 ,;"}, "case has"),
        ({"ranks": [10**6]}, "simulated has 1 to 4096 ranks"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(what: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check("ring", "allreduce", **what)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["p=3 n=4", "p=3 counts=0,2,1 op=MAX root=2 segment=4 in_place"])
def test_cases_are_read_as_they_are_written(text: str) -> None:
    assert str(parse_case("reduce", text)) == text


# ------------------------------------------------------------------ reports


@pytest.fixture(scope="module")
def report() -> Report:
    return check(
        made(drops), "allreduce", ranks=[2, 3], only=["right_values", "messages_match_cost"]
    )


def test_json(report: Report) -> None:
    document = json.loads(report.json())
    assert document["exit_code"] == 1
    broken, idle = document["verdicts"]
    assert (broken["status"], idle["status"]) == ("broken", "not claimed")
    assert broken["fault"]["rank"] == 0


def test_junit(report: Report) -> None:
    suites = ElementTree.fromstring(report.junit().partition("\n")[2])
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    assert suite[0][0].tag == "failure"
    assert "suspected: F3 boundary" in str(suite[0][0].text)


def test_markdown(report: Report) -> None:
    assert "| `right_values` | ✗ |" in report.markdown().splitlines()


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["held", "not observable"], 0),
        (["held", "broken", "could not run"], 1),
        (["held", "could not run"], 2),
        (["not claimed"], 2),
    ],
)
def test_exit_code(statuses: list[str], code: int) -> None:
    verdicts = tuple(Verdict("x", "allreduce", "y", status) for status in statuses)  # type: ignore[arg-type]
    assert Report("y", "simulated", verdicts).exit_code == code


# ------------------------------------------------------------------ vectors of gigabytes


@pytest.mark.parametrize(
    ("collective", "name"),
    [
        ("bcast", "binomial"), ("reduce", "binomial"), ("scatter", "linear"), ("gather", "linear"),
        ("allgather", "ring"), ("reduce_scatter", "ring"), ("allreduce", "ring"),
        ("scan", "linear"), ("exscan", "linear"), ("alltoall", "pairwise"),
    ],
)  # fmt: skip
def test_marked_elements_of_a_big_vector_arrive_where_they_belong(
    collective: str, name: str
) -> None:
    """The same as for gigabytes, on few elements."""
    case = Case(collective, 2, n=100, dtype="uint8")
    outcome = SIMULATED.run(partial(sparse, find(collective, name).function, case), 2)
    wanted = sparse_result(case)
    assert outcome.ending is None
    assert any(has for has in outcome.results)
    for has, wants in zip(outcome.results, wanted, strict=True):
        assert has is None or has == wants
