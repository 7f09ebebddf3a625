"""``collectives simulate`` and ``case-study``, as typed."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from collectives.cli import main
from collectives.cli.quantities import duration, each, per_byte, size, whole
from collectives.registry import algorithms
from collectives.sim import PRESETS


def run(*arguments):
    command = [sys.executable, "-m", "collectives", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def simulate(*arguments):
    done = run("simulate", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


CASE = [
    "allreduce", "multi_ring", "-p", "64", "--nbytes", "1.2GB", "--network", "a100-8x8",
    "--channels", "8",
]  # fmt: skip


def test_case_study_in_one_command():
    found = json.loads(simulate(*CASE, "--json"))
    assert found["time_s"] == pytest.approx(13.125e-3, rel=0.02)
    assert found["messages"] == 2 * 8 * 64 * 63
    assert found["nbytes"] == 1_200_000_000
    assert found["sent"] == 2 * 63 * 1_200_000_000
    assert found["algorithm"] == "multi_ring"
    assert found["network"] == "a100-8x8"
    assert found["simulated"] is True
    assert (found["collective"], found["p"]) == ("allreduce", 64)
    assert found["options"] == {"channels": 8, "per_node": 8}
    assert 0 < found["lower_bound_s"] < found["time_s"]
    assert found["parameters"]["efficiency"] == 0.9


def test_table_says_simulated():
    output = simulate("allreduce", "ring", "-p", 4, "--nbytes", "1MB")
    assert "allreduce, simulated on a100-8x8: ring, p 4, nbytes 1 MB, nics 8" in output
    assert re.search(r"^ring +\S+ us +\S+ us +\d\.\d\d +24 +6 MB$", output, re.MULTILINE)


def test_hockney_is_given_in_units():
    networks = ["--alpha", "5us", "--beta", "1/10GB", "--gamma", "50GB/s"]
    found = json.loads(
        simulate("allreduce", "ring", "-p", 4, "--network", "hockney", *networks, "--json")
    )
    assert found["time_s"] == pytest.approx(6 * (5e-6 + 250_000 / 10e9) + 3 * 250_000 / 50e9)
    assert found["network"] == "hockney"
    assert found["parameters"]["beta"] == 1e-10


def test_loggp_is_given_in_units():
    networks = ["--L", "5us", "--o", "1us", "--g", "2us", "--G", "1ns"]
    found = json.loads(
        simulate("bcast", "binomial", "-p", 2, "--network", "loggp", *networks, "--json")
    )
    assert found["time_s"] == pytest.approx(1e-6 + 999_999 * 1e-9 + 5e-6 + 1e-6)


def test_cards_and_efficiency_change_a_cluster():
    slower = json.loads(simulate(*CASE[:-1], "2", "--nics", 2, "--efficiency", "0.45", "--json"))
    assert slower["time_s"] == pytest.approx(105e-3, rel=0.02)


def test_sweep_is_the_product():
    rows = json.loads(
        simulate("allreduce", "ring,multi_ring", "-p", "4,8", "--nbytes", "1kB,...,16kB",
                 "--channels", "1,2", "--json")
    )  # fmt: skip
    assert [(x["algorithm"], x["p"], x["nbytes"], x["options"].get("channels")) for x in rows] == [
        ("ring", p, n, None) for p in (4, 8) for n in (1000, 4000, 16000)
    ] + [("multi_ring", p, n, c) for p in (4, 8) for n in (1000, 4000, 16000) for c in (1, 2)]
    assert all(row["time_s"] >= row["lower_bound_s"] for row in rows)


def test_what_is_given_twice_is_simulated_once():
    twice = ["-p", "4,4", "--nbytes", "1kB,1kB", "--channels", "2,2", "--nics", "8,8", "--json"]
    assert json.loads(simulate("allreduce", "multi_ring,multi_ring", *twice))["p"] == 4


def test_all_shows_refusals():
    done = run("simulate", "allreduce", "ALL", "-p", 6, "--nbytes", "1kB")
    assert done.returncode == 0
    assert "refused: allreduce/bine needs power_of_two; got p=6" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    for entry in algorithms("allreduce"):
        assert (f"\n{entry.name} " in done.stdout) == (entry.kind == "step by step")
    refused = run("simulate", "allreduce", "bine,swing", "-p", 6)
    assert refused.returncode == 2
    assert refused.stdout.count("refused: ") == 2


def test_sweep_is_drawn(tmp_path):
    for name, start in (("times.png", b"\x89PNG"), ("times.svg", b"<?xml")):
        sweep = ["--nbytes", "1kB,...,1MB", "--channels", "1,2", "--plot", tmp_path / name]
        simulate("allreduce", "multi_ring,bine", "-p", "6,8", *sweep)
        assert (tmp_path / name).read_bytes().startswith(start)
    picture = (tmp_path / "times.svg").read_text()
    for text in ("simulated", "a100-8x8", "multi_ring, p 8, channels 2", "bine, p 8"):
        assert text in picture, text
    assert "bine, p 6" not in picture


def test_progress_is_shown_on_a_terminal_only():
    command = [sys.executable, "-m", "collectives", "simulate", "allreduce", "ring", "-p", "2,4"]
    assert run(*command[3:]).stderr == ""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=60
    )
    os.close(theirs)
    assert done.returncode == 0
    assert b"simulating" not in done.stdout
    assert b"simulating" in os.read(ours, 1 << 16)
    os.close(ours)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ring", "--channels", 2], "allreduce/ring has no option 'channels'; there is none"),
        (["multi_ring", "--radix", 2], "no option 'radix'; there is channels, per_node"),
        (["multi_ring", "--channels", 0], "channels is 0, wants an integer >= 1"),
        (["multi_ring", "--channels", "x"], "--channels x: 'x' is no whole number"),
        (["multi_ring", "--channels"], "got '--channels', wants an option of the algorithm and"),
        (["multi_ring", "8"], "got '8', wants an option of the algorithm and its value"),
        (["rink"], "allreduce has no algorithm 'rink'; it has reduce_bcast, "),
        (["builtin"], "needs mpi; got SimComm"),
        (["bine", "-p", 6], "needs power_of_two; got p=6"),
        (["ring", "-p", 0], "size is 0, wants at least 1"),
        (["ring", "-p", 65], "65 ranks, wants at most 64: 8 nodes x 8 ranks"),
        (["ring", "--nbytes", "1.2XB"], "--nbytes 1.2XB: '1.2XB' is no size in bytes, such as"),
        (["ring", "--nbytes", "1001"], "nbytes is 1001, wants a multiple of 4"),
        (["ring", "--network", "b100"], "no network 'b100'; there are a100-8x8, "),
        (["ring", "--network", "hockney"], "--network hockney wants --alpha or --beta"),
        (["ring", "--network", "hockney", "--alpha", "5m"], "--alpha: '5m' is no time, such as"),
        (["ring", "--network", "hockney", "--alpha", "nan"], "--alpha: 'nan' is no time, such as"),
        (["ring", "--network", "hockney", "--beta", "GB"], "--beta: 'GB' is no time per byte, su"),
        (["ring", "--efficiency", "90%"], "--efficiency: '90%' is no number, such as 0.9"),
        (["ring", "--alpha", "5us"], "--alpha: network a100-8x8 has none; it has nodes, "),
        (["ring", "--efficiency", "2"], "efficiency is 2.0, wants 0 < efficiency <= 1"),
        (["ring", "--nics", "0"], "nics_per_node is 0, wants an integer >= 1"),
        (["ring", "--network", "laptop-8", "--nics", 2], "--nics: network laptop-8 has none"),
        (["ring", "--plot", "a.png"], "--plot draws a sweep"),
        (["ring", "-p", "2,4", "--plot", "a.txt"], "--plot a.txt: wants a .png or .svg"),
        (["ring", "-p", "2,4", "--plot", "no/a.png"], "--plot no/a.png: there is no folder no"),
    ],
)
def test_what_cannot_be_simulated_is_one_sentence(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["collectives", "simulate", "allreduce", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""


def test_help_says_what_a_kb_is():
    output = " ".join(run("simulate", "--help").stdout.replace("│", "").split())
    assert "kB, MB and GB are powers of 1000, KiB, MiB and GiB of 1024" in output
    assert "--channels 8" in output
    assert f"hockney, loggp, {', '.join(PRESETS)}" in output


def test_case_study_prints_what_is_consistent():
    done = run("case-study")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "simulated" in done.stdout
    text = " ".join(done.stdout.split())
    assert "ring, 8 channels 13.13 13.25 13.25" in text
    assert "multi_ring 6 6 0.86 to 0.90" in text
    assert "18 ms takes 6 network cards of a node at least. 14.2 ms takes 7" in text
    assert "47.2 ms on 2 and 23.6 ms on 4 channels" in text


def test_quantities():
    assert [size(x) for x in ("0", "1.2GB", "1GiB", "64kB", "2e3", "1K")] == [
        0, 1_200_000_000, 2**30, 64_000, 2000, 1000,
    ]  # fmt: skip
    assert [duration(x) for x in ("5us", "2ms", "3ns", "1s", "1e-6")] == [5e-6, 2e-3, 3e-9, 1, 1e-6]
    assert [per_byte(x) for x in ("1/10GB", "10GB", "200Gb/s", "1e-10", "0.1ns")] == [
        1e-10, 1e-10, 4e-11, 1e-10, 1e-10,
    ]  # fmt: skip
    assert each("p", "3,...,24", whole) == [3, 6, 12, 24]
    for read, text in (
        (size, "0.5"), (size, "-1"), (size, "GB"), (size, ""), (duration, "5kus"),
        (duration, "-1us"), (per_byte, "1/0GB"), (per_byte, "Gb/s"), (per_byte, "-1ns"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is no "):
            read(text)
    with pytest.raises(ValueError, match="--p \\.\\.\\.,2"):
        each("p", "...,2", whole)
