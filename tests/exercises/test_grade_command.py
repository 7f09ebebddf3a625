"""``collectives grade``, as typed."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from collectives import cli
from collectives.teach import grader
from collectives.teach.batch import graded, safe
from collectives.teach.exercise import exercise
from collectives.teach.grader import Grade

RIGHT = exercise("ring_allgather").right
SHORT = RIGHT.replace("range(p - 1)", "range(p - 2)")


def collectives(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "collectives", "grade", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ring_allgather.py"
    path.write_text(SHORT)
    return path


def test_message_first(file: Path) -> None:
    done = collectives(file, "--quick")
    first, *rest = done.stdout.splitlines()
    assert done.returncode == 1
    assert first == "ring_allgather   p=4 n=3   NOT YET"
    assert [line[:11].strip() for line in rest if line[2] != " "] == [
        "what", "why", "look", "hint 1/3", "summary",
    ]  # fmt: skip
    assert ": for step in range(p - 2):" in done.stdout
    assert "values not right yet" in done.stdout


def test_right_but_dear(file: Path) -> None:
    file.write_text(RIGHT.replace("range(p - 1)", "range(p if p > 1 else 0)"))
    done = collectives(file, "--quick")
    assert "CORRECT, NOT OPTIMAL" in done.stdout
    assert "values right" in done.stdout
    assert done.returncode == 1


def test_hints_one_after_the_other(file: Path) -> None:
    shown = [collectives(file, "--quick", *more).stdout for more in ([], *[["--hint"]] * 3)]
    assert [f"hint {n}/3" in text for n, text in zip((1, 2, 3, 3), shown, strict=True)] == [
        True
    ] * 4
    assert exercise("ring_allgather").hints[2].split()[0] in shown[2]


def test_giving_up_is_recorded(file: Path) -> None:
    done = collectives(file, "--give-up")
    assert "def ring_allgather" in done.stdout
    assert "collectives show allgather ring" in done.stdout
    known = json.loads((file.parent / ".progress.json").read_text())
    assert "gave_up" in known["ring_allgather"]


def test_more(file: Path) -> None:
    done = collectives(file, "--quick", "--more")
    assert "FAIL    value" in done.stdout
    assert "rank 0 sends 3 elements to rank 1" in done.stdout


def test_json_and_junit(file: Path) -> None:
    xml = file.parent / "report.xml"
    done = collectives(file, "--quick", "--json", "--junit", xml)
    report = json.loads(done.stdout)
    assert report["diagnosis"] == "one-step-short"
    assert not report["passed"]
    suite = ElementTree.parse(xml).getroot()[0]
    assert suite.get("name") == "ring_allgather"
    assert int(suite.get("failures", "0")) == sum(
        1 for case in suite if case.find("failure") is not None
    )


def test_a_prediction_is_compared(file: Path) -> None:
    file.write_text("PREDICTION = 5\n" + RIGHT)
    assert "you said 5: not what the run gives" in collectives(file, "--quick").stdout
    file.write_text("PREDICTION = 4\n" + RIGHT)
    assert "you said 4: right" in collectives(file, "--quick").stdout


def test_a_class(tmp_path: Path) -> None:
    folder, table = tmp_path / "class", tmp_path / "grades.csv"
    (folder / "bob").mkdir(parents=True)
    (folder / "bob" / "ring_allgather.py").write_text(SHORT)
    (folder / "alice.py").write_text(RIGHT)
    (folder / "eve.py").write_text("import os\nos._exit(0)\ndef ring_allgather(*x): pass\n")
    (folder / "mallory.py").write_text("nothing = '=1+1'\n")
    (folder / "link.py").symlink_to(folder / "alice.py")
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py" / "x").mkdir(parents=True)
    with (folder / "vast.py").open("wb") as vast:
        vast.truncate(1 << 30)
    (folder / os.fsdecode(b"\xff\x1b[2K.py")).write_text("x = 1")
    done = collectives("--all", folder, "--csv", table, "--quick")
    assert done.returncode == 1
    with table.open() as text:
        rows = list(csv.DictReader(text))
    verdicts = {row["student"]: row["verdict"] for row in rows}
    assert verdicts == {
        "alice": "CORRECT", "bob": "NOT YET", "eve": "NOT YET", "mallory": "NOT GRADED",
        "pipe": "NOT GRADED", "vast": "NOT GRADED", "??[2K": "NOT GRADED",
    }  # fmt: skip
    found = {row["student"]: row["diagnosis"] for row in rows if row["diagnosis"]}
    assert found == {"bob": "one-step-short", "eve": "process-ended"}
    assert all(row["check"] for row in rows if row["student"] == "alice")


def test_a_grader_that_fails_on_one_file_goes_on(tmp_path: Path) -> None:
    for name in ("ann", "bea"):
        (tmp_path / f"{name}.py").write_text(RIGHT)

    def grade(source: str, stem: str) -> Grade:
        raise AssertionError("not foreseen")

    found = list(graded(tmp_path, grade))
    assert [each.problem for each in found] == [
        "the grader failed: AssertionError: not foreseen"
    ] * 2


def test_a_missing_package_is_one_sentence(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks(*given: object, **how: object) -> Grade:
        raise ImportError('this exercise needs abc: pip install "abc"')

    monkeypatch.setattr(grader, "grade_apart", lacks)
    monkeypatch.setattr(sys, "argv", ["collectives", "grade", str(file)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == 'collectives: this exercise needs abc: pip install "abc"\n'


def test_no_formula_reaches_a_spreadsheet() -> None:
    assert safe("=1+1") == "'=1+1"
    assert safe("two\nlines") == "two lines"


def test_watching(file: Path) -> None:
    command = [sys.executable, "-m", "collectives", "grade", str(file), "--watch", "--quick"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while "Ctrl-C" not in text:
            text += process.stdout.readline()
        assert "NOT YET" in text
        file.write_text(RIGHT)
        while text.count("Ctrl-C") < 2:
            text += process.stdout.readline()
        assert "CORRECT" in text.partition("Ctrl-C")[2]
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "wants a file to grade"),
        (["no_such.py"], "there is no file no_such.py"),
        (["--all", "no_such_folder"], "there is no folder no_such_folder"),
    ],
)
def test_what_cannot_be_done(arguments: list[str], said: str) -> None:
    done = collectives(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_unknown_exercise(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("def f(): pass\n")
    done = collectives(tmp_path / "x.py")
    assert done.returncode == 2
    assert "x is for no exercise that is known" in done.stderr
