"""Rules from times, the files that libraries read, NCCL's model, and the beliefs about it all."""

import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from collectives import find
from collectives.case_study import NBYTES
from collectives.comm import IN_PLACE
from collectives.teach.misconceptions import beliefs, times, traffic
from collectives.training import ZeRO1
from collectives.tuning import Choice, choices, chosen, nccl_csv, nccl_knobs, nccl_model, openmpi

# ------------------------------------------------------------------ rules


def test_choices_follow_the_fastest():
    times = {"a": [1.0, 2.0, 8.0, 9.0], "b": [2.0, 2.0, 4.0, 5.0], "c": [9.0, 9.0, 9.0, 1.0]}
    rules = choices([8, 16, 32, 64], times)
    assert rules == [Choice(0, "a"), Choice(32, "b"), Choice(64, "c")]
    assert [chosen(rules, size) for size in (0, 31, 32, 63, 64, 1 << 40)] == list("aabbcc")


def test_choices_ignore_what_is_noise():
    times = {"a": [1.0, 1.0, 1.0, 3.0], "b": [1.04, 0.96, 1.02, 2.0]}
    assert choices([1, 2, 3, 4], times) == [Choice(0, "a"), Choice(4, "b")]
    assert len(choices([1, 2, 3, 4], times, worth=1.0)) == 4


@pytest.mark.parametrize(
    ("sizes", "times", "message"),
    [
        ([], {"a": []}, "at least one, ascending"),
        ([2, 1], {"a": [1, 1]}, "ascending"),
        ([1, 2], {"a": [1]}, "a has 1 times, wants 2"),
    ],
)
def test_choices_refuse(sizes, times, message):
    with pytest.raises(ValueError, match=message):
        choices(sizes, times)


# ------------------------------------------------------------------ Open MPI

RULES = {
    "allreduce": {8: [Choice(0, "recursive_doubling"), Choice(10_000, "ring")]},
    "alltoall": {4: [Choice(0, "bruck")], 5: [Choice(0, "pairwise")], 16: [Choice(0, "linear")]},
}


def test_rules_file_reads_back():
    default = [(0, 0)]
    assert openmpi.read(openmpi.rules_file(RULES)) == {
        "allreduce": {0: default, 8: [(0, 3), (10_000, 4)], 9: default},
        "alltoall": {
            0: default, 4: [(0, 3)], 5: [(0, 2)], 6: default, 16: [(0, 1)], 17: default,
        },
    }  # fmt: skip


def test_rules_file_has_nothing_but_numbers_and_comments():
    for line in openmpi.rules_file(RULES).splitlines():
        assert all(word.isdecimal() for word in line.partition("#")[0].split()), line


@pytest.mark.parametrize(
    ("collective", "numbers"),
    [
        ("allreduce", {2, 3, 4, 5, 6}),  # 1 has no file here, 7 is of Open MPI 6
        ("alltoall", {1, 2, 3, 4}),
        ("bcast", {1, 2, 3, 4, 5, 6, 7, 8, 9}),
    ],
)
def test_numbers_of_open_mpi(collective, numbers):
    assert {openmpi.number(entry) for entry in openmpi.candidates(collective)} <= numbers
    assert len(openmpi.candidates(collective)) >= 4


def test_rules_file_refuses_what_open_mpi_has_not():
    with pytest.raises(ValueError, match="Open MPI 5 has no allreduce/swing"):
        openmpi.rules_file({"allreduce": {8: [Choice(0, "swing")]}})
    with pytest.raises(ValueError, match="reduce_scatter has no rules"):
        openmpi.rules_file({"reduce_scatter": {8: [Choice(0, "ring")]}})


PROBE = """
from mpi4py import MPI
from collectives import find
from collectives.oracle.fingerprint import fingerprint

builtin = find("allreduce", "builtin").function
for n in (16, 4000):
    found = fingerprint(builtin, MPI.COMM_WORLD, "allreduce", 4, n)
    if MPI.COMM_WORLD.rank == 0:
        print(n, found.rotates, found.depth)
"""


def open_mpi():
    """Return the folder of an Open MPI with its own Python; None where there is none."""
    beside = Path(__file__).parents[1] / ".venv-openmpi" / "bin"
    for launcher in (shutil.which("mpirun"), beside / "mpirun"):
        if launcher and Path(launcher).exists():
            version = subprocess.run([launcher, "--version"], capture_output=True, text=True)
            if "Open MPI" in version.stdout and (Path(launcher).parent / "python").exists():
                return Path(launcher).parent
    return None


@pytest.mark.parametrize("short_is_ring", [True, False])
def test_open_mpi_obeys_the_rules_file(tmp_path, short_is_ring):
    """The order in which it adds tells which algorithm ran, short and long."""
    folder = open_mpi()
    if folder is None:
        pytest.skip("no Open MPI: neither is mpirun one, nor is there .venv-openmpi")
    names = ["ring", "recursive_doubling"][:: 1 if short_is_ring else -1]
    rules = [Choice(0, names[0]), Choice(10_000, names[1])]
    (tmp_path / "rules").write_text(openmpi.rules_file({"allreduce": {4: rules}}))
    environment = os.environ | openmpi.environment(tmp_path / "rules") | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }  # fmt: skip
    done = subprocess.run(
        [folder / "mpirun", "-n", "4", folder / "python", "-c", PROBE],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ring, doubling = "True 3", "False 2"
    short, long = (ring, doubling) if short_is_ring else (doubling, ring)
    assert done.stdout.splitlines() == [f"16 {short}", f"4000 {long}"]


# ------------------------------------------------------------------ NCCL


def test_table_covers_every_size_once():
    rules = [Choice(0, "tree ll"), Choice(4096, "tree ll128"), Choice(1 << 20, "ring simple")]
    head, *lines = nccl_csv.table(rules, nodes=2, ranks=16).splitlines()
    assert head.startswith("#")
    rows = [line.split(",") for line in lines]
    assert all(len(row) == 8 for row in rows)
    bounds = [(int(row[1]), int(row[2])) for row in rows]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 2**64 - 1
    assert all(end + 1 == start for (_, end), (start, _) in pairwise(bounds))
    assert [row[3:5] for row in rows] == [["tree", "ll"], ["tree", "ll128"], ["ring", "simple"]]
    assert {tuple(row[5:]) for row in rows} == {("-1", "2", "16")}


INTEL = nccl_model.Machine(8, 8, channels=8, intra=22.5e9, inter=22.5e9, amd=False)
"""8 nodes x 8 GPUs; latencies below are worked out by hand from the tables."""


@pytest.mark.parametrize(
    ("algorithm", "protocol", "microseconds"),
    [
        ("ring", "simple", 8.4 + 112 * 3.4 + 14 * 14.0),
        ("ring", "ll", 6.6 + 112 * 1.0 + 14 * 2.7),  # the CPU's 1 us is more than NVLink's 0.6
        ("tree", "simple", 8.4 + 2 * (7 * 4.0 + 3 * 14.0)),
        ("tree", "ll128", 14.0 + 2 * (7 * 1.25 + 3 * 8.5)),
    ],
)
def test_latency(algorithm, protocol, microseconds):
    assert nccl_model.latency(INTEL, algorithm, protocol) == pytest.approx(microseconds * 1e-6)


@pytest.mark.parametrize(
    ("algorithm", "protocol", "gigabytes"),
    [
        ("ring", "simple", 180 * 64 / 126),
        ("ring", "ll", 20.4 * 64 / 126),
        ("ring", "ll128", 160 * 64 / 126),  # 8 channels of 20, less than 0.92 x 180
        ("tree", "simple", 8 * 17.8 / 2),
        ("tree", "ll", 20.4 / 2),  # less than 142.4 / 3.8
        ("tree", "ll128", 8 * 17.8 * 120 / 128 / 2),
    ],
)
def test_bandwidth(algorithm, protocol, gigabytes):
    assert nccl_model.bandwidth(INTEL, algorithm, protocol) == pytest.approx(gigabytes * 1e9)


def test_one_node_has_no_network():
    node = nccl_model.Machine(1, 8, channels=12, intra=20e9, inter=1.0)
    assert nccl_model.latency(node, "ring", "ll") == pytest.approx((6.6 + 14 * 0.6) * 1e-6)
    assert nccl_model.bandwidth(node, "tree", "ll128") == pytest.approx(220.8e9 * 7 / 9 / 2)
    assert nccl_model.bandwidth(node, "ring", "simple") == pytest.approx(240e9 * 8 / 14)


def test_corrections():
    """A tree of middle sizes loses bandwidth; a ring of long steps pays more latency."""
    short = {str(each): each for each in nccl_model.predictions(INTEL, 64 << 10)}
    assert short["tree simple"].bandwidth == pytest.approx(0.5 * 71.2e9)
    assert short["tree ll"].bandwidth == pytest.approx(0.6 * 10.2e9)
    long = {str(each): each for each in nccl_model.predictions(INTEL, NBYTES)}
    assert long["tree simple"].bandwidth == pytest.approx(71.2e9)
    plain = nccl_model.latency(INTEL, "ring", "simple")
    assert short["ring simple"].latency_s == pytest.approx(1.4 * plain)  # 128 B per step
    tiny = {str(each): each for each in nccl_model.predictions(INTEL, 8)}
    assert tiny["ring simple"].latency_s == pytest.approx(plain)


def test_the_case_study_by_its_model():
    best = nccl_model.pick(INTEL, NBYTES)
    assert str(best) == "ring simple"
    assert best.time_s == pytest.approx(NBYTES / (180e9 * 64 / 126) + 1.4 * 585.2e-6)


def test_picks_are_what_pick_says():
    sizes = [1 << k for k in range(3, 32)]
    rules = nccl_model.picks(INTEL, sizes)
    assert [chosen(rules, size) for size in sizes] == [
        str(nccl_model.pick(INTEL, size)) for size in sizes
    ]
    assert (rules[0].algorithm, rules[-1].algorithm) == ("tree ll", "ring simple")


def test_a_single_rank_has_no_choice():
    with pytest.raises(ValueError, match="nothing to choose"):
        nccl_model.pick(nccl_model.Machine(1, 1, 1, 1e9, 1e9), 8)


def test_every_knob_says_everything():
    names = [name for knob in nccl_knobs.KNOBS for name in knob.name.split(", ")]
    assert len(names) == len(set(names))
    wanted = "ALGO PROTO MIN_NCHANNELS MAX_NCHANNELS BUFFSIZE IB_HCA SOCKET_IFNAME CROSS_NIC"
    wanted += " IB_QPS_PER_CONNECTION NET_GDR_LEVEL NVLS_ENABLE DEBUG DEBUG_SUBSYS"
    assert set(wanted.split()) <= set(names)
    for knob in nccl_knobs.KNOBS:
        assert all((knob.meaning, knob.default, knob.accepted, knob.when)), knob.name


# ------------------------------------------------------------------ beliefs


def test_there_are_36_beliefs_each_with_its_words():
    assert [belief.number for belief in beliefs()] == list(range(1, 37))
    for belief in beliefs():
        assert belief.verdict in ("false", "half true")
        assert belief.says
        assert belief.truth.endswith(".")


@pytest.mark.parametrize("belief", beliefs(), ids=str)
def test_experiment(belief):
    evidence = belief.experiment()
    assert evidence.how in ("counted", "simulated", "computed", "quoted", "not run")
    assert evidence.holds, evidence.text
    assert (evidence.how in ("quoted", "not run")) == (belief.number in (12, 18, 22))


def test_an_experiment_notices_what_is_wrong(monkeypatch):
    """A ring that runs twice sends more than M2 says."""
    ring = find("allreduce", "ring")

    def twice(comm, sendbuf, recvbuf, op):
        ring.function(comm, sendbuf, recvbuf, op)
        ring.function(comm, sendbuf, recvbuf, op)

    wrong = type(ring)(**{**vars(ring), "function": twice})
    monkeypatch.setattr("collectives.teach.misconceptions.traffic.find", lambda *_: wrong)
    monkeypatch.setattr("collectives.teach.misconceptions.belief.find", lambda *_: wrong)
    assert not believed(2).experiment().holds


def test_what_is_said_of_zero_is_counted_in_training(monkeypatch):
    """ZeRO-1 with an all-reduce, as M26 has it, sends what M25 and M26 say that it does not."""

    def reduce(self, bucket):
        whole = self.gradients[bucket.whole]
        self.allreduce(self.comm, IN_PLACE, whole)
        whole[: bucket.mine] = self.gradients[bucket.own]

    traffic.step_of.cache_clear()
    monkeypatch.setattr(ZeRO1, "reduce", reduce)
    found = [believed(number).experiment() for number in (25, 26)]
    traffic.step_of.cache_clear()
    assert not any(evidence.holds for evidence in found)
    assert "ZeRO 1 2.625" in found[0].text


def test_a_step_of_zero_3_hides_what_it_can():
    """By hand, of 24 layers: all but the first gathering and the last reduction; or nearly none."""
    assert times.step(10.0, 1.0, 1.0) == 1 + 48 * 10 + 1
    assert times.step(0.0, 1.0, 2.0) == 48 * 1 + 24 * 2


def believed(number):
    return next(belief for belief in beliefs() if belief.number == number)
