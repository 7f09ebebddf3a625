"""Every exercise is complete: the stub fails, the solution passes, the mistakes get their names."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import pytest

from collectives.teach.cases import Cases
from collectives.teach.checks import budget, checks, solution
from collectives.teach.diagnosis import diagnoses
from collectives.teach.exercise import Exercise, Mutant, exercise, exercises
from collectives.teach.feedback import lines
from collectives.teach.grader import exercise_of, grade_here

STUBS = Path(__file__).parents[2] / "lessons" / "exercises"
ALL = list(exercises().values())
MUTANTS = [(each, mutant) for each in ALL for mutant in each.mutants]
PARTS = [(each, part) for each in ALL for part in each.parts if part.collective]
FORMULA = {"log2": math.log2, "ceil": math.ceil, "floor": math.floor, "max": max}
SEED = 20

every_exercise = pytest.mark.parametrize("asked", ALL, ids=lambda each: each.name)


def named(pair: tuple[Exercise, Mutant]) -> str:
    return f"{pair[0].name}-{pair[1].title.replace(' ', '-')}"


@every_exercise
def test_the_stub_is_not_written_yet(asked: Exercise) -> None:
    source = (STUBS / f"{asked.name}.py").read_text()
    result = grade_here(source, asked, quick=True, seed=SEED)
    assert not result.passed
    assert result.diagnosis is not None
    assert result.diagnosis.id == "not-written"
    assert exercise_of(source) == asked


@every_exercise
def test_the_stub_says_what_is_asked(asked: Exercise) -> None:
    source = (STUBS / f"{asked.name}.py").read_text()
    about = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    assert about.startswith(f"{asked.id} ")
    for word in ("Story", "Spec", "Size", "Predict", "More"):
        assert f" {word} " in about
    assert asked.question in about
    assert f"collectives grade lessons/exercises/{asked.name}.py" in about
    assert "PREDICTION = None" in source
    assert not set(asked.functions) - set(re.findall(r"^def (\w+)", source, re.MULTILINE))


@every_exercise
def test_a_right_version_passes(asked: Exercise) -> None:
    result = grade_here(asked.right, asked, seed=SEED)
    assert result.verdict == "CORRECT", "\n".join(lines(result))


@pytest.mark.parametrize(("asked", "part"), PARTS, ids=lambda x: getattr(x, "function", None))
def test_the_librarys_own_function_passes(asked: Exercise, part) -> None:
    if part.budget_only:
        assert part.entry.cost is not None  # it counts, but does not do what is asked here
        return
    wrong = {check.name: check.wrong.text for check in checks(solution(part)) if check.wrong}
    assert not wrong


@every_exercise
def test_three_hints_and_an_answer(asked: Exercise) -> None:
    assert len(asked.hints) == 3
    assert len(set(asked.hints)) == 3
    assert asked.answer
    assert asked.teaches
    assert asked.mutants


@pytest.mark.parametrize(("asked", "mutant"), MUTANTS, ids=map(named, MUTANTS))
def test_a_mistake_gets_its_name(asked: Exercise, mutant: Mutant) -> None:
    result = grade_here(mutant.source(asked.right), asked, seed=SEED)
    assert not result.passed
    assert result.diagnosis is not None
    printed = list(lines(result))
    print(*printed, sep="\n")
    assert result.diagnosis.id == mutant.diagnosis
    labels = [line[2:12].strip() for line in printed[1:] if line[2:12].strip()]
    assert labels[:2] == ["what", "why"]
    assert labels[-1] == "summary"
    assert all(len(line) <= 100 for line in printed)


@pytest.mark.parametrize("seed", [1, 2])
def test_names_do_not_depend_on_the_inputs(seed: int) -> None:
    asked = exercise("ring_allreduce")
    for mutant in asked.mutants:
        result = grade_here(mutant.source(asked.right), asked, seed=seed, quick=True)
        assert result.diagnosis is not None
        assert result.diagnosis.id == mutant.diagnosis


def test_mutants_name_known_diagnoses() -> None:
    assert {mutant.diagnosis for _, mutant in MUTANTS} <= diagnoses().keys()


def test_an_edit_that_does_not_apply_is_an_error() -> None:
    with pytest.raises(ValueError, match="'no such line' stands 0 times"):
        Mutant("raised", edit=(("no such line", ""),)).source("x = 1")


@pytest.mark.parametrize(("asked", "part"), PARTS, ids=lambda x: getattr(x, "function", None))
def test_the_budget_in_the_stub_is_what_the_solution_costs(asked: Exercise, part) -> None:
    source = (STUBS / f"{asked.name}.py").read_text()
    about = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    said = re.search(rf"{part.function}: (messages .*?)(?= \w+: mess| Pred| and no| \(n el)", about)
    assert said, f"no budget of {part.function}"
    formulas = dict(
        re.findall(r"(messages|elements|steps) (.*?)(?=, (?:elements|steps) |$)", said[1])
    )
    assert formulas.keys() >= {"messages", "elements"}
    for p in (2, 3, 4, 5, 6, 8):
        for case in Cases(part).plain(p):
            cost = budget(part, case)
            n = case.counts[0] if case.counts else case.n
            names = {"p": p, "n": n, **FORMULA, **dict(case.chosen)}
            wanted = {"messages": cost.messages, "elements": cost.volume, "steps": cost.alphas}
            for name, formula in formulas.items():
                assert eval(formula, names) == wanted[name], (name, formula, str(case))


@pytest.mark.parametrize("spelled", ["[{}, MPI.UINT64_T]", "[{}, 8 * n, MPI.BYTE]"])
def test_a_message_may_name_its_type(spelled: str) -> None:
    """Counts are of elements of the type named, and bytes are counted as elements."""
    asked = exercise("ring_allgather")
    ends = spelled.format("outgoing"), spelled.format("incoming")
    source = asked.right.replace(
        "comm.Sendrecv(outgoing, dest=right, recvbuf=incoming, source=left)",
        f"n = sendbuf.size\n        "
        f"comm.Sendrecv({ends[0]}, dest=right, recvbuf={ends[1]}, source=left)",
    )
    result = grade_here(f"from mpi4py import MPI\n{source}", asked)
    assert result.verdict == "CORRECT", "\n".join(lines(result))


def test_inputs_are_new_in_every_grading() -> None:
    asked = exercise("ring_allgather")
    wrong = asked.right.replace("blocks[rank][:] = sendbuf", "blocks[rank][:] = sendbuf + 1")
    inputs = [
        grade_here(wrong, asked, quick=True).evidence.attempt.inputs[0].tolist()  # type: ignore[union-attr]
        for _ in range(2)
    ]
    assert inputs[0] != inputs[1]


def test_a_result_that_came_without_messages_is_noticed() -> None:
    """A submission that looks into other ranks' memory knows more than it was sent."""
    asked = exercise("ring_allgather")
    peeking = """
import sys

def ring_allgather(comm, sendbuf, recvbuf):
    frame = sys._getframe()
    while "job" not in frame.f_locals:
        frame = frame.f_back
    inputs = frame.f_locals["job"].inputs
    n = sendbuf.size
    for rank, values in enumerate(inputs):
        recvbuf[rank * n : (rank + 1) * n] = values
"""
    result = grade_here(peeking, asked, seed=SEED)
    assert not result.passed
    assert result.diagnosis is not None
    assert result.diagnosis.id == "knows-too-much"
