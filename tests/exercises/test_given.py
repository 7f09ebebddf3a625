"""What exercises give and ask in their texts is what the library computes."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from collectives import case_study
from collectives.oracle.cases import Case
from collectives.oracle.worlds import RENDEZVOUS
from collectives.registry import find
from collectives.sim import DeadlockError, simulate
from collectives.teach import judges_models, judges_quiz
from collectives.teach.attempt import Here, functions_of
from collectives.teach.device import device, seen_by_mpi
from collectives.teach.exercise import exercise
from collectives.teach.feedback import same
from collectives.teach.grading import Trials
from collectives.teach.judging import near
from collectives.teach.scene import plain, tame
from collectives.teach.training_runs import TIMES
from collectives.training.buckets import cut

STUBS = Path(__file__).parents[2] / "lessons" / "exercises"


def text(name):
    """Return a stub, on one line and without repeated blanks."""
    return " ".join((STUBS / f"{name}.py").read_text().split())


def test_the_table_of_the_quiz_is_computed():
    for row in judges_quiz.table():
        assert " ".join(row.split()) in text("meaning"), row


def test_every_item_of_the_quiz_has_one_answer():
    answers = [judges_quiz.answer(item) for item in judges_quiz.ITEMS]
    assert len(set(answers)) == 9
    assert answers[9:] == ["allreduce", "allgather", "reduce_scatter"]
    for item, answer in zip(judges_quiz.ITEMS, answers, strict=True):
        held, result = judges_quiz.before(item[0]), judges_quiz.outcome(item)
        fitting = [
            kind
            for kind in judges_quiz.KINDS
            if (Case(kind, 3).form.brings == "block") == (held[0].size == 1)
            and plain(judges_quiz.after(kind, held)) == result
        ]
        assert fitting == [answer]


def test_the_programs_of_the_detective_are_mutants():
    right = exercise("ring_allreduce").right.splitlines()
    for name, source in judges_quiz.case_files():
        changed = [line.strip() for line in source.splitlines() if line not in right]
        for line in changed:
            assert " ".join(line.split()) in text("detective"), name
        assert name in (STUBS / "detective.py").read_text()


# ------------------------------------------------------------------ predictions


def standing_still():
    """Return how many programs of the detective hang on 3 ranks."""
    part = exercise("ring_allreduce").parts[0]
    kinds = [
        Trials(Here(functions_of(source)), part, 1)(Case("allreduce", 3, 6), RENDEZVOUS).ending
        for _, source in judges_quiz.case_files()
    ]
    return sum(kind is not None and kind.kind in ("deadlock", "starved") for kind in kinds)


def alike():
    """Return how many collectives leave the same on all ranks."""
    held = {kind: judges_quiz.before(kind) for kind in judges_quiz.KINDS}
    results = [plain(judges_quiz.after(kind, inputs)) for kind, inputs in held.items()]
    return sum(each[0] is not None and each[0] == each[1] == each[2] for each in results)


def best_on_8():
    """Return how many algorithms are the fastest for some size on 8 ranks."""
    sizes, model = [8 << k for k in range(25)], (5e-6, 1e-10)
    return len({
        min(judges_models.CHOICES, key=lambda name: judges_models._time(name, 8, size, *model))
        for size in sizes
    })  # fmt: skip


def sum_in_half():
    return float(np.add.accumulate(np.ones(4096, np.float16), dtype=np.float16)[-1])


def beyond_send():
    """Return how many of 5 ranks get beyond a Send that waits, if all begin with one."""

    def program(comm):
        ball = np.zeros(1)
        comm.Send(ball, dest=(comm.rank + 1) % comm.size)
        comm.Recv(ball, source=(comm.rank - 1) % comm.size)

    with pytest.raises(DeadlockError) as caught:
        simulate(program, 5)
    return sum("Send" not in call for call in caught.value.waiting.values())


def cost(collective, name, p):
    return find(collective, name).cost(p, 1)


PREDICTIONS = {
    "meaning": alike,
    "hello_ranks": lambda: cost("gather", "linear", 8).messages,
    "first_letter": lambda: np.empty(40).nbytes,
    "pass_the_parcel": beyond_send,
    "ping_pong": lambda: (1e6 - 8) / 100e-6 / 1e9,
    "detective": standing_still,
    "choose_wisely": best_on_8,
    "pairwise_alltoall": lambda: cost("alltoall", "pairwise", 8).alphas,
    "bruck_alltoall": lambda: cost("alltoall", "bruck", 8).betas,
    "moe_alltoallv": lambda: np.cumsum([0, 4, 0, 3, 1])[3],
    "split_world": lambda: len({rank % 4 for rank in range(8)}),
    "hierarchical_allreduce": lambda: 2 * (2 - 1) / 2,
    "rails_and_nics": lambda: case_study.at_line_rate(2) / case_study.at_line_rate(8),
    "case_8x8": lambda: len(judges_models.possible()),
    "ddp_average": lambda: sum(range(1, 5)) / np.mean(range(1, 5)),
    "buckets_overlap": lambda: len(cut([10] * 4, 25, 0, 1)),
    "zero1": lambda: 2 * 4 * 1_000_000 / 4,
    "zero2_accum": lambda: TIMES["ZeRO-2"](4) / TIMES["DDP"](4),
    "zero3": lambda: TIMES["ZeRO-3"](1) / TIMES["DDP"](1),
    "tensor_parallel_pair": lambda: (
        cost("allgather", "ring", 4).volume + cost("reduce_scatter", "ring", 4).volume
    ) / cost("allreduce", "ring", 4).times(4).volume,
    "compress_or_not": sum_in_half,
    "straggler": lambda: max(judges_models._ring_with_delays([5.0, *[0.0] * 7], 14)),
    "cupy_ring": lambda: cost("allreduce", "ring", 4).alphas,
}  # fmt: skip


@pytest.mark.parametrize("name", PREDICTIONS)
def test_the_answer_of_a_prediction_is_computed(name):
    assert same(str(PREDICTIONS[name]()), exercise(name).answer)


# ------------------------------------------------------------------ what judges are given


def test_judges_survive_odd_answers():
    assert tame([10**40, {"a": 2**63}, 1.5]) == [
        "10000000000000000000...", {"a": "9223372036854775808..."}, 1.5,
    ]  # fmt: skip
    for odd in (math.nan, [math.nan], "x", {}, [[1], [2, 3]], None, 10**400, [[1.0]]):
        assert not near(odd, [1.0])


def test_a_forgotten_wait_for_the_device_shows():
    for name, right in (("stand-in", False), ("stand-in at once", True)):
        place = device(name)
        x = place.array(np.arange(4.0))
        squares = x * x
        assert (seen_by_mpi(squares).tolist() == [0, 1, 4, 9]) is right
        place.synchronize(squares)
        assert seen_by_mpi(squares).tolist() == [0, 1, 4, 9]
    device("stand-in")


def test_the_device_at_hand_is_said(capsys):
    from collectives.teach.device import tried

    pytest.importorskip("mpi4py")
    tried(functions_of(exercise("cupy_ring").right)["cupy_ring"])
    assert re.fullmatch(r"\d+ ranks, .*: right\n", capsys.readouterr().out)
