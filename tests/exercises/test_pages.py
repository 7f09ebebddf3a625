"""What the pages say of the grader is what it does."""

from __future__ import annotations

from pathlib import Path

from collectives.teach.diagnosis import diagnoses
from collectives.teach.exercise import exercise, exercises
from collectives.teach.feedback import lines
from collectives.teach.grader import grade_here
from collectives.teach.mistakes_page import table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "grader.md").read_text()


def test_the_table_of_mistakes_is_up_to_date() -> None:
    assert table() in PAGE, "run scripts/tables"


def test_the_example_is_what_is_printed() -> None:
    asked = exercise("ring_allreduce")
    mutant = next(each for each in asked.mutants if each.diagnosis == "tail-dropped")
    printed = "\n".join(lines(grade_here(mutant.source(asked.right), asked)))
    assert f"```\n{printed}\n```" in PAGE


def test_every_exercise_is_listed() -> None:
    listed = (ROOT / "lessons" / "exercises" / "README.md").read_text()
    for each in exercises().values():
        assert f"| {each.id} | [{each.name}]({each.name}.py) |" in listed


def test_words_are_whole_and_short() -> None:
    for known in diagnoses().values():
        assert known.hint, known.id
        assert len(known.why) <= 160, known.id
        assert known.mistake, known.id
