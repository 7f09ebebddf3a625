"""``collectives vectors``, as typed."""

import json
import subprocess
import sys
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest


def run(*arguments):
    command = [sys.executable, "-m", "collectives", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A set of all-reduces on three and four ranks; the implementation forgets the last rank."""
    folder = tmp_path_factory.mktemp("cli") / "set"
    done = run("vectors", "write", folder, "allreduce", "-p", "3-4", "--dtype", "int64")
    assert done.returncode == 0, done.stderr
    assert "collectives vectors check" in done.stdout
    assert not done.stderr
    assert run("vectors", "check", folder).returncode == 2
    for case in json.loads((folder / "manifest.json").read_text())["cases"]:
        brought = np.load(folder / case["inputs"]["file"])
        vectors = [brought[start:stop] for start, stop in pairwise(case["inputs"]["starts"])]
        right = np.load(folder / case["expected"]["file"])
        for place in case["outputs"]:
            result = right[: case["n"]]
            if case["op"] == "SUM" and case["n"] > 0:
                result = sum(vectors[:-1])
            (folder / place).parent.mkdir(exist_ok=True)
            np.save(folder / place, result)
    return folder


def test_fault_is_told_and_repeated(folder):
    done = run("vectors", "check", folder)
    assert done.returncode == 1
    assert "has 0+1, wants 0+1+2" in done.stdout
    assert "rank 2: 0" in done.stdout
    assert "F1 contribution" in done.stdout
    again = next(line for line in done.stdout.splitlines() if "again:" in line)
    alone = run(*again.split("collectives ", 1)[1].split())
    assert alone.returncode == 1
    assert "has 0+1, wants 0+1+2" in alone.stdout


def test_other_forms(folder, tmp_path):
    done = run("vectors", "check", folder, "--json", "--junit", tmp_path / "junit.xml")
    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode == 1
    broken = [v["property"] for v in report["verdicts"] if v["status"] == "broken"]
    assert "every_rank_counted_once" in broken
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert int(suite.get("failures")) == len(broken)
    assert "| `right_values` | ✗ |" in run("vectors", "check", folder, "--markdown").stdout


def test_one_that_holds(folder):
    done = run("vectors", "check", folder, "--case", "allreduce/p4-n5-MAX-int64-exact")
    assert done.returncode == 0, done.stdout
    assert "PASS" in done.stdout


def test_as_target_of_check(folder):
    done = run("check", "allreduce", "--target", f"vectors:{folder}", "--only", "right_values")
    assert done.returncode == 1
    assert "right_values" in done.stdout
    assert "works_in_place" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["write", "{new}", "barrier"], "barrier has no data"),
        (["write", "{new}", "allredcue"], "no collective 'allredcue'"),
        (["write", "{new}", "-p", "0"], "wants numbers from 1 on"),
        (["write", "{new}", "-p", "x"], "wants such as 5, 1-9"),
        (["write", "{new}", "--dtype", "float128"], "dtype is float128, wants some of int64"),
        (["write", "{set}"], "is not empty"),
        (["check", "{new}"], "it is no set of vectors"),
        (["check", "{set}", "bcast"], "has no case of bcast"),
        (["check", "{set}", "--case", "x"], "has no case of x"),
    ],
)
def test_what_cannot_be_done_is_said(folder, tmp_path, arguments, text):
    names = {"new": tmp_path / "new", "set": folder}
    done = run("vectors", *(word.format(**names) for word in arguments))
    assert done.returncode == 2
    assert done.stderr.startswith("collectives: ")
    assert text in done.stderr
    assert "Traceback" not in done.stderr
