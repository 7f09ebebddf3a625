"""Test vectors on disk: right results are held, planted faults are named, hostile files refused."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives.op import MAX, PREDEFINED
from collectives.oracle.cases import Case
from collectives.oracle.vectors import Vectors, write
from collectives.oracle.vectors import manifest as index
from collectives.oracle.vectors.files import WrongFileError, load, stored_as
from collectives.oracle.vectors.judging import judge, open_set
from collectives.oracle.vectors.payload import brought_by, codes, counted, counters, inputs, passes
from collectives.oracle.vectors.plan import DTYPES, IN_SETS, plan
from collectives.oracle.vectors.writing import OPS

INT64 = np.dtype(np.int64)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A set of all collectives on four and five ranks, with outputs that are right."""
    folder = tmp_path_factory.mktemp("vectors") / "set"
    write(folder, IN_SETS, [1, 4, 5], quick=True)
    fill(folder)
    return folder


@pytest.fixture
def small(tmp_path):
    """A set of a few cases of an all-reduce, with outputs that are right."""
    write(tmp_path / "set", ["allreduce"], [3], ["int64"], quick=True)
    fill(tmp_path / "set")
    return tmp_path / "set"


def cases(folder):
    return json.loads((folder / "manifest.json").read_text())["cases"]


def fill(folder, change=lambda case, rank, result: result):
    """Write what every rank must hold, or what `change` makes of it."""
    for case in cases(folder):
        expected = np.load(folder / case["expected"]["file"])
        starts = pairwise(case["expected"]["starts"])
        for rank, (place, (start, stop)) in enumerate(zip(case["outputs"], starts, strict=True)):
            if place is not None:
                (folder / place).parent.mkdir(exist_ok=True)
                np.save(folder / place, change(case, rank, expected[start:stop].copy()))


def faults(folder, **asked):
    report = Vectors(str(folder)).report(**asked)
    return {fault.property: fault for fault in report.faults}


# ------------------------------------------------------------------ what a set has


def test_right_results_hold(made):
    report = Vectors(str(made)).report()
    assert report.exit_code == 0
    assert {verdict.status for verdict in report.verdicts} == {"held"}
    assert {verdict.collective for verdict in report.verdicts} == {*IN_SETS}


def test_default_set_is_small():
    planned = list(plan(IN_SETS, range(1, 10)))
    assert 2 * len(planned) < 3000
    assert len({one.name for one in planned}) == len(planned)
    assert {one.dtype.name for one in planned} == {*DTYPES}
    assert {one.case.op.name for one in planned} == {*PREDEFINED} == {*OPS}
    elements = sum(one.case.p * one.case.room(0) * one.dtype.itemsize for one in planned)
    assert elements < 10e6


def test_cases_say_what_they_reveal(made):
    assert all(case["reveals"] for case in cases(made))


def test_schema_is_up_to_date():
    assert index.SCHEMA.read_bytes() == index.schema()


def test_index_satisfies_the_schema(made):
    document = json.loads((made / "manifest.json").read_text())
    jsonschema.Draft202012Validator(json.loads(index.SCHEMA.read_text())).validate(document)


def test_no_file_is_pickled(made):
    for case in cases(made):
        for arrays in (case["inputs"], case["expected"]):
            np.load(made / arrays["file"], allow_pickle=False)


def test_bfloat16_is_stored_as_bits(made):
    case = next(case for case in cases(made) if case["dtype"] == "bfloat16")
    stored = np.load(made / case["inputs"]["file"])
    assert stored.dtype == np.uint16
    assert load(made, case["inputs"]["file"], "bfloat16", stored.size).dtype.name == "bfloat16"


def test_asked_dtype_is_that_of_every_case(tmp_path):
    write(tmp_path / "set", ["allreduce", "bcast"], [3], ["float32"])
    assert {case["dtype"] for case in cases(tmp_path / "set")} == {"float32"}


def test_no_two_cases_bring_the_same(made):
    seen = Counter(
        case["inputs"]["sha256"]
        for case in cases(made)
        if case["payload"] in ("codes", "exact") and case["inputs"]["starts"][-1] > 8
        and case["op"] in (None, "SUM") and case["dtype"] == "int64"
    )  # fmt: skip
    assert max(seen.values()) == 1


@pytest.mark.parametrize("dtype", ["int64", "float32", "int8", "complex64"])
@pytest.mark.parametrize("p", [1, 3, 9, 17])
def test_counters_count_every_rank_in_one_part(dtype, p):
    case, dtype = Case("allreduce", p, n=p + 1), np.dtype(dtype)
    for element in range(p + 1):
        found = Counter()
        for part in passes(case, dtype):
            total = sum(x[element] for x in counters(case, dtype, 5, part))
            found += counted(case, dtype, element, total, 5, part)
        assert found == Counter(range(p))


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 5000), st.sampled_from(["i8", "f4"]))
def test_codes_say_who_brought_them(p, n, seed, dtype):
    case, dtype = Case("alltoall", p, n=n), np.dtype(dtype)
    for rank, vector in enumerate(codes(case, dtype, seed)):
        for element, code in enumerate(vector):
            assert brought_by(case, dtype, code, seed) == (rank, element)


@pytest.mark.parametrize("dtype", ["int8", "int64", "int16"])
def test_sums_of_signed_integers_stay_in_range(dtype):
    case = Case("allreduce", p=9, n=50)
    brought = inputs(case, np.dtype(dtype), "exact", seed=3)
    assert (sum(x.astype(object) for x in brought) == case.expected(brought)[0]).all()


# ------------------------------------------------------------------ faults


def test_rank_left_out_is_counted(made):
    """A result without rank 2's contribution."""

    def forgets(case, rank, result):
        if case["collective"] == "allreduce" and case["payload"] == "counters" and case["p"] > 2:
            brought = np.load(made / case["inputs"]["file"])
            start = case["inputs"]["starts"][2]
            return result - brought[start : start + result.size]
        return result

    fill(made, forgets)
    try:
        fault = faults(made)["every_rank_counted_once"]
    finally:
        fill(made)
    assert fault.counted == {0: 1, 1: 1, 2: 0, 3: 1}
    assert fault.family.startswith("F1")
    assert fault.command.endswith(f"--case allreduce/{fault.case}")
    assert "has 0+1+3, wants 0+1+2+3" in fault.text


def test_swapped_blocks_are_placed(made):
    def swaps(case, rank, result):
        if case["collective"] == "allgather" and rank == 3:
            return np.roll(result, case["n"])
        return result

    fill(made, swaps)
    try:
        fault = faults(made)["right_values"]
    finally:
        fill(made)
    assert fault.family == "F2 placement"
    assert fault.rank == 3
    assert "element 0 of rank 3, wants element 0 of rank 0" in fault.text


def test_elements_that_nobody_wrote(made):
    def leaves(case, rank, result):
        if case["collective"] == "scatter" and case["n"] > 3 and rank == 1:
            result.view(np.uint8)[-result.itemsize :] = 0xA5
        return result

    fill(made, leaves)
    try:
        fault = faults(made)["right_values"]
    finally:
        fill(made)
    assert "was not written" in fault.text
    assert fault.rank == 1


@pytest.mark.parametrize(
    ("op", "other"), [("MIN", "MAX"), ("BOR", "BXOR"), ("LOR", "LXOR"), ("SUM", "BOR")]
)
def test_one_operation_for_another(tmp_path, op, other):
    folder = tmp_path / "set"
    write(folder, ["allreduce"], [3])

    def takes(case, rank, result):
        if case["op"] != op or case["compare"] != "exact" or case["dtype"] != "int64":
            return result
        brought = np.load(folder / case["inputs"]["file"]).reshape(case["p"], -1)
        return PREDEFINED[other].ufunc.reduce(brought, axis=0).astype(result.dtype)

    fill(folder, takes)
    assert {"right_values"} <= faults(folder).keys()


def test_faults_where_every_case_is_of_floats(tmp_path):
    folder = tmp_path / "set"
    write(folder, ["allreduce", "allgather"], [3, 4], ["float32"])
    fill(folder, lambda case, rank, result: result + (rank == 1) / np.float32(2))
    found = faults(folder)
    assert {"right_values", "every_rank_counted_once", "float_error_bounded"} <= found.keys()
    assert found["right_values"].rank == 1


def test_ranks_that_differ_in_the_last_bit(made):
    def nudges(case, rank, result):
        if case["payload"] == "rounding" and case["dtype"] == "float32" and rank == 1:
            return np.nextafter(result, np.float32(np.inf))
        return result

    fill(made, nudges)
    try:
        found = faults(made)
    finally:
        fill(made)
    assert found["same_on_all_ranks"].rank == 1
    assert found["same_on_all_ranks"].family == "F7 floating point"


def test_sum_farther_off_than_any_order(made):
    def coarse(case, rank, result):
        if case["payload"] == "rounding" and case["dtype"] == "float32":
            return result * np.float32(1.001)
        return result

    fill(made, coarse)
    try:
        found = faults(made)
    finally:
        fill(made)
    assert "additions may be off by" in found["float_error_bounded"].text


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        (lambda x: np.nan_to_num(x, nan=0, posinf=np.inf, neginf=-np.inf), "(NaN)"),
        (lambda x: np.where(x == 0, 0.0, x), "(-0 everywhere)"),
        (lambda x: np.where(abs(x) < 1e-30, 0.0, x), "(-0 everywhere)"),
        (lambda x: np.where(np.isinf(x), np.inf, x), "(-Inf)"),
    ],
)
def test_special_values_that_get_lost(tmp_path, lost, text):
    folder = tmp_path / "set"
    write(folder, ["allreduce"], [4])

    def loses(case, rank, result):
        if case["payload"] == "special" and case["op"] == "SUM":
            return lost(result).astype(result.dtype)
        return result

    fill(folder, loses)
    assert text in faults(folder)["special_values"].text


@pytest.mark.parametrize("wins", [True, False])
def test_nan_may_win_or_not_but_not_by_rank(tmp_path, wins):
    folder = tmp_path / "set"
    write(folder, ["allreduce"], [4], ["float64"])

    def by_rank(case, rank, result):
        if case["payload"] != "special" or case["op"] not in ("MIN", "MAX"):
            return result
        vectors = np.load(folder / case["inputs"]["file"]).reshape(case["p"], -1)
        function = np.fmin if case["op"] == "MIN" else np.fmax
        total = function.reduce(vectors)
        if not wins:
            total = np.where(np.isnan(vectors[0]), np.nan, total)  # where rank 0 has it
        return total

    fill(folder, by_rank)
    found = faults(folder)
    assert ("special_values" in found) is not wins
    if not wins:
        assert "NaN wins" in found["special_values"].text
        assert "NaN is ignored" in found["special_values"].text


# ------------------------------------------------------------------ outputs that are not there


def test_no_outputs_at_all(tmp_path):
    write(tmp_path / "set", ["bcast"], [3], ["int64"], quick=True)
    report = Vectors(str(tmp_path / "set")).report()
    assert report.exit_code == 2
    assert {verdict.status for verdict in report.verdicts} == {"could not run"}


def test_cases_that_were_not_run(small):
    for rank in range(3):
        (small / cases(small)[2]["outputs"][rank]).unlink()
    report = Vectors(str(small)).report()
    assert report.exit_code == 0
    assert "1 cases not run" in {verdict.detail for verdict in report.verdicts}


def test_rank_that_wrote_nothing(small):
    (small / cases(small)[2]["outputs"][1]).unlink()
    found = list(faults(small).values())
    assert [fault.rank for fault in found] == [1]
    assert "has written nothing" in found[0].text


# ------------------------------------------------------------------ hostile files


def npy(header, data=b"", version=1):
    text = header.encode()
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def saved(array, **how):
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


HEADER = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }\n"
THREE = np.arange(3)
HOSTILE = {
    "wrong dtype": (saved(THREE.astype("i4")), "is int32, wants int64"),
    "unsigned": (saved(THREE.astype("u8")), "is uint64, wants int64"),
    "big-endian": (saved(THREE.astype(">i8")), "is big-endian"),
    "two dimensions": (saved(THREE.reshape(1, 3)), "has shape (1, 3), wants (3,)"),
    "too long": (saved(np.arange(4)), "has shape (4,), wants (3,)"),
    "no dimension": (saved(np.array(1)), "has shape (), wants (3,)"),
    "Fortran order": (npy(HEADER.replace("False", "True"), bytes(24)), "is in Fortran order"),
    "pickled": (saved(np.array([{}, [], 1], object), allow_pickle=True), "wants int64"),
    "record": (saved(np.zeros(3, [("a", "i8")])), "says nothing"),
    "cut off": (saved(THREE)[:-1], "is cut off"),
    "goes on": (saved(THREE) + b"x", "goes on after its elements"),
    "empty": (b"", "is no .npy file"),
    "text": (b"1 2 3\n", "is no .npy file"),
    "zip": (b"PK\x03\x04" + bytes(50), "is no .npy file"),
    "huge header": (npy(HEADER + " " * 60_000, bytes(24)), "wants at most"),
    "header longer than the file": (
        b"\x93NUMPY\x01\x00" + (60_000).to_bytes(2, "little") + HEADER.encode(),
        "has no header",
    ),
    "header that runs": (npy(HEADER.replace("(3,)", "print(3)"), bytes(24)), "says nothing"),
    "deep header": (npy("(" * 5000), "says nothing"),
    "shape of a list": (npy(HEADER.replace("(3,)", "[3]"), bytes(24)), "has shape"),
    "negative shape": (npy(HEADER.replace("(3,)", "(-3,)"), bytes(24)), "has shape (-3,)"),
    "other version": (b"\x93NUMPY\x07\x00" + bytes(50), "is no .npy file"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_output_of_the_wrong_form_is_a_fault(tmp_path, what):
    contents, text = HOSTILE[what]
    (tmp_path / "rank0.npy").write_bytes(contents)
    with pytest.raises(WrongFileError) as error:
        load(tmp_path, "rank0.npy", "int64", 3)
    assert text in str(error.value)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    (folder / "any.npy").write_bytes(saved(THREE)[:90] + data)
    with contextlib.suppress(WrongFileError):
        assert load(folder, "any.npy", "int64", 3).size == 3


def test_wrong_form_names_the_rank(small):
    case = next(case for case in cases(small) if case["n"] == 4 and case["payload"] == "exact")
    np.save(small / case["outputs"][1], np.zeros(4, np.float32))
    (fault,) = faults(small).values()
    assert fault.rank == 1
    assert fault.family == "F5 datatype"
    assert "is float32, wants int64" in fault.text


def test_links_and_pipes(tmp_path):
    folder, outside = tmp_path / "set", tmp_path / "secret.npy"
    folder.mkdir()
    np.save(outside, THREE)
    (folder / "link.npy").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "around.npy").symlink_to(folder / "around.npy")
    for place, text in {
        "link.npy": "leads out of",
        "up/secret.npy": "leads out of",
        "../secret.npy": "leads out of",
        str(outside): "leads out of",
        "pipe.npy": "is no plain file",
        "folder.npy": "is no plain file",
        "around.npy": "around.npy",
    }.items():
        with pytest.raises(WrongFileError, match=text.replace(".", r"\.")):
            load(folder, place, "int64", 3)


def test_inputs_that_were_changed(small):
    place = small / cases(small)[-1]["inputs"]["file"]
    np.save(place, np.load(place) + 1)
    with pytest.raises(ValueError, match=r"inputs\.npy was changed since it was written"):
        Vectors(str(small)).report()


def test_extra_files(small):
    extra = small / cases(small)[0]["name"] / "out" / "rank3.npy"
    np.save(extra, THREE)
    with pytest.raises(ValueError, match=r"does not name: allreduce/.*/out/rank3\.npy"):
        Vectors(str(small)).report()
    extra.unlink()
    (small / "notes.txt").write_text("what I did")  # beside the collectives, anything may stand
    assert Vectors(str(small)).report().exit_code == 0


def changed(small, change):
    """Change the index and return what is said about it."""
    file = small / "manifest.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"manifest\.json") as error:
        open_set(small)
    return str(error.value)


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("version",), 2, "has version 2, wants 1"),
        (("format",), "zip", "Invalid enum value 'zip'"),
        (("more",), 1, "unknown field `more`"),
        (("cases", 0, "more"), 1, "unknown field `more`"),
        (("cases", 0, "p"), 0, "Expected `int` >= 1"),
        (("cases", 0, "p"), "3", "Expected `int`, got `str`"),
        (("cases", 0, "n"), 10**30, "$.cases[0].n"),
        (("cases", 0, "n"), 10**12, "it is too large"),
        (("cases", 0, "n"), float("nan"), "NaN is no number"),
        (("cases", 0, "root"), 0, "root is 0, which allreduce does not have"),
        (("cases", 0, "op"), None, "op is None"),
        (("cases", 0, "op"), "AVG", "Invalid enum value 'AVG'"),
        (("cases", 0, "counts"), [1, 1, 1], "allreduce has no counts"),
        (("cases", 0, "dtype"), "object", "Invalid enum value 'object'"),
        (("cases", 0, "room"), [1], "room is [1], wants"),
        (("cases", 0, "inputs", "starts"), [0], "starts of inputs are [0], wants"),
        (("cases", 0, "inputs", "file"), "../secret.npy", "matching regex"),
        (("cases", 0, "inputs", "file"), "/etc/passwd", "matching regex"),
        (("cases", 0, "inputs", "file"), "a/../../b", "matching regex"),
        (("cases", 0, "inputs", "file"), "a\\b", "matching regex"),
        (("cases", 0, "inputs", "file"), "a\u0000b", "matching regex"),
        (("cases", 0, "inputs", "sha256"), "00", "matching regex"),
        (("cases", 0, "outputs"), [None] * 3, "outputs are not those"),
        (("cases", 0, "name"), "../x", "matching regex"),
    ],
)
def test_index_that_cannot_be(small, path, value, text):
    def change(document):
        *way, last = path
        for step in way:
            document = document[step]
        document[last] = value

    assert text in changed(small, change)


def test_index_that_names_a_file_twice(small):
    def change(document):
        one, other = document["cases"][:2]
        other["outputs"][0] = one["outputs"][0]

    assert "is another's too" in changed(small, change)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": "x", "format": "y"}', "the key 'format' stands there twice"),
        ("[" * 100_000, "recursion"),
        ("", "Expecting value"),
        ("[]", "Expected `object`, got `array`"),
        ("\udcff", "decode"),
    ],
)
def test_text_that_is_no_index(tmp_path, text, said):
    (tmp_path / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"manifest\.json is no index") as error:
        open_set(tmp_path)
    assert said in str(error.value)


def test_folder_without_an_index(tmp_path):
    with pytest.raises(ValueError, match="it is no set of vectors"):
        open_set(tmp_path)


def test_folder_that_is_not_empty(small):
    with pytest.raises(ValueError, match="is not empty"):
        write(small, ["bcast"], [2])


# ------------------------------------------------------------------ an implementation


@pytest.mark.slow
def test_mpi_library_on_vectors(tmp_path):
    """The example of docs/vectors.md, on real MPI."""
    page = (Path(__file__).parents[2] / "docs/vectors.md").read_text()
    program = tmp_path / "mine.py"
    program.write_text(page.split("```python\n")[1].split("```")[0])
    folder = tmp_path / "set"
    write(folder, ["allreduce", "allgather"], [3], ["int64", "float32"])
    command = ["mpirun", "-n", "3", sys.executable, str(program), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report = Vectors(str(folder)).report()
    held = {(v.collective, v.property) for v in report.verdicts if v.status == "held"}
    assert ("allreduce", "every_rank_counted_once") in held
    assert not [x for x in report.faults if x.property != "special_values"]


def test_judge_needs_no_expected_results(small):
    """They may be as large as they like: only their digest counts."""
    entry = next(x for x in open_set(small).cases if x.case.op is not MAX)
    assert [x.finding for x in judge(small, entry)] == [None, None]
    assert stored_as(INT64).str == "<i8"
