"""The syllabus names what there is."""

import re
from pathlib import Path

LESSONS = Path(__file__).parents[2] / "lessons"
SYLLABUS = (LESSONS / "README.md").read_text(encoding="utf-8")


def test_every_lesson_stands_in_the_table_once():
    listed = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.py\)", SYLLABUS, re.MULTILINE)
    assert all(name == file for name, file in listed)
    files = [file.stem for file in LESSONS.glob("[!_]*.py")]
    assert sorted(name for name, _ in listed) == sorted(files)


def test_every_lesson_has_its_place_in_the_picture():
    picture = SYLLABUS.partition("## Order")[2].split("```")[1]
    names = re.findall(r"[a-z_]{4,}", picture)
    assert sorted(names) == sorted(file.stem for file in LESSONS.glob("[!_]*.py"))


def test_every_exercise_belongs_to_a_lesson():
    listed = SYLLABUS.partition("## Exercises")[2].partition("## Plans")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", listed, re.MULTILINE))
    assert set(rows) <= {file.stem for file in LESSONS.glob("[!_]*.py")}
    named = re.findall(r"`(\w+)`", " ".join(rows.values()))
    assert len(named) == len(set(named))
    exercises = {file.stem for file in (LESSONS / "exercises").glob("[!_]*.py")}
    assert exercises <= set(named)


def test_commands_lead_to_lessons_and_exercises_that_are_in_the_syllabus():
    for lesson in LESSONS.glob("[!_]*.py"):
        text = lesson.read_text(encoding="utf-8")
        for name in re.findall(r"lessons/exercises/(\w+)\.py", text):
            assert f"`{name}`" in SYLLABUS, f"{lesson.name} names exercise {name}"
        for name in re.findall(r"^ {4}\(\"(\w+)\", ", text, re.MULTILINE):
            assert (LESSONS / f"{name}.py").exists() or f"[`{name}`]" in SYLLABUS
