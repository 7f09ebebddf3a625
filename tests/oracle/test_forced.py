"""MPI libraries held to each of their algorithms: what is wrong is known, and only that is."""

import json
import os
import subprocess
import sys

import pytest

from collectives.oracle.cases import Case
from collectives.oracle.check_mpi import Row, choices, matrix
from collectives.oracle.declared import registered
from collectives.oracle.findings import Finding, Note
from collectives.oracle.forced import CALLS, CANNOT_RUN, MPICH, NOT_IN_ORDER, OPEN_MPI
from collectives.oracle.promises import NotObservable
from collectives.oracle.which_ran import TREES, ran
from collectives.oracle.worlds import SIMULATED
from collectives.registry import COLLECTIVES, find

PROMISES = "right_values,order_kept,same_on_all_ranks,works_in_place,ran_what_was_asked"
OPENMPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
REFUSED = {  # with an operation that is not commutative; measured, and as MPICH's source says
    ("allreduce", "recursive_multiplying"), ("allreduce", "reduce_scatter_allgather"),
    ("allreduce", "ring"), ("allreduce", "k_reduce_scatter_allgather"), ("reduce", "smp"),
    ("reduce", "reduce_scatter_gather"), ("reduce_scatter", "noncommutative"),  # p not 2^k
    ("reduce_scatter", "pairwise"),
    ("reduce_scatter", "recursive_halving"), ("reduce_scatter", "v:recursive_halving"),
    ("scan", "smp"),
}  # fmt: skip


def test_tables_name_collectives_and_their_calls():
    assert set(CALLS) <= set(COLLECTIVES)
    calls = {call for pair in CALLS.values() for call in pair if call}
    assert set(MPICH) <= calls
    assert set(OPEN_MPI) <= calls
    for collective, names in NOT_IN_ORDER.items():
        assert set(names) <= set(choices("openmpi", collective))
    for library, collective, choice in CANNOT_RUN:
        assert choice in choices(library, collective)


def test_a_row_is_as_expected_only_where_what_is_broken_is_known():
    def row(library, collective, choice, broken):
        verdicts = [{"property": broken, "status": "broken", "cases": 1, "detail": "",
                     "fault": None}]  # fmt: skip
        return Row(library, collective, choice, "command", {"verdicts": verdicts})

    assert row("openmpi", "allreduce", "ring", "order_kept").expected
    assert row("openmpi", "reduce_scatter", "v:ring", "order_kept").expected
    assert not row("openmpi", "allreduce", "rabenseifner", "order_kept").expected
    assert not row("openmpi", "allreduce", "ring", "right_values").expected
    assert not Row("mpich", "allreduce", "ring", "command", {}, "exit code 9").expected
    assert Row("mpich", "reduce_scatter", "v:pairwise", "command", {}, "exit code 9").expected
    lines = "\n".join(matrix([row("openmpi", "allreduce", "ring", "order_kept")], markdown=True))
    assert "✗" in lines
    assert "as known" in lines


# ------------------------------------------------------------------ what ran


def test_trees_are_known_of_algorithms_that_there_are():
    tables = {"MPICH": MPICH, "Open MPI": OPEN_MPI}
    for (library, call), known in TREES.items():
        assert set(known) <= set(tables[library][call])
        for models in known.values():
            for model in models:
                collective, _, name = model.partition("/")
                assert name in registered(collective, 5, 80)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("ring", None),
        ("rabenseifner", "as rabenseifner, "),
        ("recursive_doubling", "ring adds as allreduce/ring"),
    ],
)
def test_another_algorithm_than_the_one_asked_for_is_seen(name, finding):
    function, case = find("allreduce", name).function, Case("allreduce", 5)
    found = ran("MPICH", "allreduce", "ring", SIMULATED, function, case)
    if finding is None:
        assert isinstance(found, Note)
        assert found.text == "it adds as ring does"
    else:
        assert isinstance(found, Finding)
        assert finding in found.text


@pytest.mark.parametrize(
    ("call", "algorithm", "case", "text"),
    [
        ("allreduce", "tree", Case("allreduce", 5), "no registered algorithm adds in its order"),
        ("allgather", "ring", Case("allgather", 5), "do not show which algorithm ran"),
    ],
)
def test_what_does_not_show_is_not_held(call, algorithm, case, text):
    found = ran("MPICH", call, algorithm, SIMULATED, print, case)
    assert isinstance(found, NotObservable)
    assert text in found.text


UNFORCED = """
import collectives.oracle.forced as forced
from collectives.cli import main
forced.force = lambda call, algorithm: None  # as if the library took no notice
main()
"""
ASKED = ["check", "allreduce", "--target", "mpi:ring", "--only", "ran_what_was_asked"]


@pytest.mark.parametrize(("script", "code"), [([], 0), (["-c", UNFORCED], 1)])
def test_forcing_that_mpich_does_not_notice_is_caught(script, code):
    command = ["mpirun", "-n", "5", sys.executable, *(script or ["-m", "collectives"]), *ASKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == code, done.stdout + done.stderr
    said = "ring adds as allreduce/ring" if code else "PASS  it adds as ring does"
    assert said in done.stdout


@pytest.mark.skipif("OPENMPI_PYTHON" not in os.environ, reason="OPENMPI_PYTHON is not set")
@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("OMPI_MCA_coll_tuned_priority", "0", "ring adds as allreduce/ring"),  # another serves
        ("OMPI_MCA_coll", "^tuned", "has no coll_tuned_allreduce_algorithm"),
    ],
)
def test_forcing_that_open_mpi_does_not_notice_is_caught(variable, value, text):
    python = os.environ["OPENMPI_PYTHON"]
    path = os.pathsep.join([os.path.dirname(python), os.environ["PATH"]])
    done = subprocess.run(
        ["mpirun", "-n", "5", python, "-m", "collectives", *ASKED],
        env=os.environ | OPENMPI | {"PATH": path, variable: value},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert text in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("collective", CALLS)
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_every_algorithm_of_a_library_is_as_known(library, collective):
    python = sys.executable if library == "mpich" else os.environ.get("OPENMPI_PYTHON")
    if python is None:
        pytest.skip("OPENMPI_PYTHON is not set to the Python of an environment with Open MPI")
    path = os.pathsep.join([os.path.dirname(python), os.environ["PATH"]])
    command = [
        python, "-m", "collectives.oracle.check_mpi", "--library", library, "--force", "--quick",
        "--json", "-n", "4", "--only", PROMISES, "--collective", collective,
    ]  # fmt: skip
    environment = os.environ | {"PATH": path} | (OPENMPI if library == "openmpi" else {})
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [Row(**row) for row in json.loads(done.stdout)["rows"]]
    assert [row.choice for row in rows] == ["", *choices(library, collective)]
    out_of_order = {row.choice for row in rows if "order_kept" in row.broken}
    if library == "openmpi":
        assert out_of_order == set(NOT_IN_ORDER.get(collective, ()))
    else:
        assert out_of_order == set()
        order = {row.choice: row.statuses.get("order_kept") for row in rows}
        refused = {choice for choice, status in order.items() if status == "refused"}
        assert refused == {choice for where, choice in REFUSED if where == collective}
