"""The order probe: it finds every tree exactly, and never a wrong one."""

import json
import os
import subprocess
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives.blocks import even, split
from collectives.dtypes import number_type
from collectives.oracle.buffers import Buffers
from collectives.oracle.cases import Case
from collectives.oracle.declared import registered
from collectives.oracle.fingerprint import REDUCING, broken_prediction, fingerprint
from collectives.oracle.order_probe import DTYPES, LEFT, MOST_RANKS, Probe
from collectives.oracle.payloads import symbolic
from collectives.oracle.trees import Tree, plus, rebuild
from collectives.oracle.worlds import SIMULATED
from collectives.registry import UnsupportedError, algorithms, find
from collectives.sim import simulate

ENTRIES = [entry for name in REDUCING for entry in algorithms(name) if entry.kind == "step by step"]

repeatable = settings(derandomize=True, deadline=None)

# ------------------------------------------------------------------ trees


@st.composite
def trees(draw, most=33):
    """Any binary tree over ranks 0 to p - 1, in any order."""
    forest = [Tree(rank) for rank in draw(st.permutations(range(draw(st.integers(1, most)))))]
    while len(forest) > 1:
        left = forest.pop(draw(st.integers(0, len(forest) - 1)))
        right = forest.pop(draw(st.integers(0, len(forest) - 1)))
        forest.append(plus(left, right))
    return forest[0]


def observed(tree, dtype, sides=False):
    """What the probe makes of one element, which a machine adds as `tree` says."""
    p = len(tree.ranks)
    probe = Probe(p, number_type(dtype))
    pairs = len(probe.pairs)  # as many elements of one call are as good as one in as many calls
    total = tree.evaluate([probe.summands(rank, pairs, 0) for rank in range(p)])
    counts = probe.together(total, range(p)).reshape(pairs, 1)
    kept = left_of(tree, [probe.sides(rank, pairs, 0) for rank in range(p)]).reshape(pairs, 1)
    (part,) = probe.parts(list(counts), list(kept) if sides else [], 0, range(p))
    return part


def left_of(tree, values):
    if not tree.operands:
        return values[tree.rank]
    left, right = (left_of(operand, values) for operand in tree.operands)
    return LEFT(left, right, out=np.empty_like(left))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_tree_is_rebuilt(dtype):
    @repeatable
    @given(trees())
    def check(tree):
        assert observed(tree, dtype).tree == tree.canonical

    check()


@repeatable
@given(trees(), st.sampled_from(DTYPES))
def test_operands_are_found_on_their_side(tree, dtype):
    part = observed(tree, dtype, sides=True)
    assert (part.tree, part.ordered) == (tree, True)


@repeatable
@given(trees(12), st.randoms(use_true_random=False))
def test_swapping_operands_changes_nothing(tree, random):
    def swapped(tree):
        if not tree.operands:
            return tree
        operands = [swapped(operand) for operand in tree.operands]
        random.shuffle(operands)
        return plus(*operands)

    assert swapped(tree).canonical == tree.canonical
    values = np.random.default_rng(1).standard_normal((12, 5)).astype(np.float32)
    assert (swapped(tree).evaluate(values) == tree.evaluate(values)).all()


@repeatable
@given(st.integers(2, 7), st.data())
def test_no_tree_is_found_that_does_not_say_what_was_seen(p, data):
    together = np.zeros((p, p), int)
    for a, b in combinations(range(p), 2):
        together[a, b] = together[b, a] = data.draw(st.integers(-1, p))
    tree = rebuild(together, range(p))
    assert sorted(tree.ranks) == list(range(p))
    for part in tree.parts:
        if part.kind == "rounded" and part.operands:
            for one, other in combinations(part.operands, 2):
                for a in one.ranks:
                    assert {together[a, b] for b in other.ranks} == {len(part.ranks)}
        elif part.kind == "wide":
            assert {together[pair] for pair in combinations(part.ranks, 2)} == {2}


def test_groups_told_apart_are_kept():
    """Two operands of 0 to 2 and 3 to 5 are certain, what happens among 0 to 2 is not."""
    together = np.full((6, 6), 6)
    together[3:, 3:] = 3
    together[3, 4] = together[4, 3] = 2
    together[:3, :3] = [[1, 2, 3], [2, 1, 2], [3, 2, 1]]
    tree = rebuild(together, range(6))
    assert (str(tree), tree.fits) == ("({0, 1, 2}+((3+4)+5))", False)


def test_several_operands_added_at_once():
    tree = plus(plus(0, 1, 2), 3)
    together = np.array([[1, 3, 3, 4], [3, 1, 3, 4], [3, 3, 1, 4], [4, 4, 4, 1]])
    assert rebuild(together, range(4)) == tree
    assert not tree.is_predictable
    with pytest.raises(ValueError, match="not every sum is of two"):
        tree.evaluate(np.ones(4))


@repeatable
@given(trees(17))
def test_bits_are_those_of_additions_one_by_one(tree):
    values = np.random.default_rng(0).standard_normal(17).astype(np.float16)

    def total(tree):
        return (
            values[tree.rank]
            if not tree.operands
            else total(tree.operands[0]) + total(tree.operands[1])
        )

    assert tree.evaluate(values).tobytes() == total(tree).tobytes()
    assert tree.depth <= len(tree.ranks) - 1


# ------------------------------------------------------------------ of registered algorithms


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_algorithm_is_found_to_be_itself(entry, ranks):
    for p in [p for p in range(2, 10) if p in (*ranks, 6, 9)]:
        try:
            found = fingerprint(entry.function, None, entry.collective, p, p + 3)
        except UnsupportedError:
            continue
        assert entry.name in found.same_order, (p, found.matches, found.trees)
        assert found.agree
        assert found.fits
        assert not found.varies
        assert not found.is_wide
        assert broken_prediction(entry.function, None, found) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("collective", REDUCING)
def test_every_dtype_shows_the_same(collective, dtype):
    entry = next(algorithms(collective))
    found = fingerprint(entry.function, None, collective, 5, 3, dtype, root=0)
    assert entry.name in found.same_order
    assert broken_prediction(entry.function, None, found) is None


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_declared_trees_are_the_terms(entry):
    """A run on numbers of sums shows what a run on terms shows."""
    case = Case(entry.collective, 4, 6)
    inputs = symbolic(case)
    results = simulate(
        lambda comm: Buffers(case, comm.rank, inputs[comm.rank]).run(entry.function, comm), 4
    ).results
    terms = [[] if result is None else list(map(str, result)) for result in results]
    declared = registered(entry.collective, 4, 6)[entry.name]
    assert terms == [
        [str(part.tree) for part in parts for _ in range(part.start, part.stop)]
        for parts in declared
    ]


def test_a_root_and_a_world():
    function = find("reduce", "binomial").function
    found = fingerprint(function, SIMULATED, "reduce", 5, 4, root=3)
    assert [bool(parts) for parts in found.parts] == [rank == 3 for rank in range(5)]
    assert "binomial" in found.same_order
    assert broken_prediction(function, SIMULATED, found) is None
    with pytest.raises(UnsupportedError, match="power_of_two"):
        fingerprint(find("allreduce", "swing").function, SIMULATED, "allreduce", 3, 4)


def test_blocks_of_a_ring():
    found = fingerprint(find("allreduce", "ring").function, None, "allreduce", 4, 10)
    assert [(part.start, part.stop) for part in found.vector] == [(0, 3), (3, 6), (6, 8), (8, 10)]
    assert str(found.vector[0].tree) == "(((1+2)+3)+0)"
    assert found.rotates
    assert found.depth == 3
    one = fingerprint(find("allreduce", "reduce_bcast").function, None, "allreduce", 4, 10)
    assert not one.rotates
    assert len(one.vector) == 1


def test_the_same_trees_at_other_elements():
    """Blocks that end complete one rank further on are found, but not taken for the same."""

    def other_blocks(comm, sendbuf, recvbuf, op):
        turned = np.roll(sendbuf, 2)
        find("allreduce", "ring").function(comm, turned, recvbuf, op)
        recvbuf[:] = np.roll(recvbuf, -2)

    found = fingerprint(other_blocks, None, "allreduce", 4, 8)
    assert "ring" in found.elsewhere
    assert not found.matches


def test_neither_too_many_ranks_nor_other_types():
    for message, call in {
        "up to 128 ranks": ("allreduce", MOST_RANKS + 1, 1),
        "wants one of float64": ("allreduce", 2, 1, "int32"),
        "adds nothing up": ("bcast", 2, 1),
    }.items():
        with pytest.raises(ValueError, match=message):
            fingerprint(find("allreduce", "ring").function, None, *call)


# ------------------------------------------------------------------ of what is not right


def of_all(comm, sendbuf):
    """Return what every rank brings."""
    everything = np.empty((comm.size, sendbuf.size), sendbuf.dtype)
    find("allgather", "ring").function(comm, sendbuf, everything.reshape(-1))
    return everything


def own_first(comm, sendbuf, recvbuf, op):
    rows = np.roll(of_all(comm, sendbuf), -comm.rank, axis=0)
    recvbuf[:] = rows[0]
    for row in rows[1:]:
        op(recvbuf, row, out=recvbuf)


def in_double(comm, sendbuf, recvbuf, op):
    recvbuf[:] = of_all(comm, sendbuf).astype(np.float64).sum(axis=0)


def through_single(comm, sendbuf, recvbuf, op):
    """Keeps partial sums in fewer bits."""
    rows = of_all(comm, sendbuf)
    recvbuf[:] = rows[0]
    for row in rows[1:]:
        recvbuf[:] = (recvbuf + row).astype(np.float32)


def skips_one(comm, sendbuf, recvbuf, op):
    recvbuf[:] = sum(of_all(comm, sendbuf)[1:])


def as_they_come(calls, comm, sendbuf, recvbuf, op):
    """Adds in an order that is another one in every call."""
    calls[comm.rank] += 1
    order = np.random.default_rng(calls[comm.rank]).permutation(comm.size)
    rows = of_all(comm, sendbuf)[order]
    recvbuf[:] = rows[0]
    for row in rows[1:]:
        recvbuf += row


def cuts_badly(comm, sendbuf, recvbuf, op):
    """Another order for each half of what is a block elsewhere."""
    rows = of_all(comm, sendbuf)
    for half, part in enumerate(split(recvbuf, even(recvbuf.size, 2))):
        here = rows[::-1] if half else rows
        where = slice(recvbuf.size - part.size, None) if half else slice(part.size)
        part[:] = here[0][where]
        for row in here[1:]:
            part += row[where]


def test_ranks_that_add_in_their_own_order():
    found = fingerprint(own_first, None, "allreduce", 4, 3)
    assert not found.agree
    assert [str(parts[0].tree.canonical) for parts in found.parts] == [
        "(((0+1)+2)+3)", "(0+((1+2)+3))", "((0+(2+3))+1)", "(((0+3)+1)+2)",
    ]  # fmt: skip
    assert not found.matches


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_wide_accumulator(dtype):
    found = fingerprint(in_double, None, "allreduce", 5, 3, dtype)
    assert found.is_wide
    assert [str(tree) for tree in found.trees] == ["wide(0+1+2+3+4)"]
    assert found.agree
    assert not found.matches
    assert not found.order_seen


def test_fewer_bits_on_the_way_break_the_prediction():
    found = fingerprint(through_single, None, "allreduce", 4, 3)
    assert [str(tree) for tree in found.trees] == ["(((0+1)+2)+3)"]
    assert "its tree predicts" in broken_prediction(through_single, None, found)


def test_a_rank_left_out_has_no_tree():
    found = fingerprint(skips_one, None, "allreduce", 4, 3)
    assert not found.fits
    assert not found.matches


@pytest.mark.parametrize("n", [2, 20])
def test_another_order_in_every_call(n):
    function = partial(as_they_come, [0] * 5)
    found = fingerprint(function, None, "allreduce", 5, n)
    assert not found.fits
    assert found.varies == (n >= 10)  # a single call shows a whole tree then


def test_elements_of_one_block_may_differ():
    found = fingerprint(cuts_badly, None, "allreduce", 3, 5)
    assert [(x.start, x.stop, str(x.tree)) for x in found.vector] == [
        (0, 3, "((0+1)+2)"),
        (3, 5, "(0+(1+2))"),
    ]


# ------------------------------------------------------------------ of Open MPI

ROOT = Path(__file__).parents[2]
OPEN_MPI = ROOT / ".venv-openmpi" / "bin"

RECURSIVE_DOUBLING = "(((0+1)+(2+3))+((4+5)+6))"
FORCED = {
    1: ("(0+(1+(2+(3+(4+(5+6))))))", False, None),
    2: ("((0+((1+3)+5))+((2+4)+6))", False, None),
    3: (RECURSIVE_DOUBLING, False, "recursive_doubling"),
    4: ("((((((0+1)+2)+3)+4)+5)+6)", True, "ring"),
    5: ("((((((0+1)+2)+3)+4)+5)+6)", True, "segmented_ring"),
    6: (RECURSIVE_DOUBLING, False, "recursive_doubling"),
}
"""What Open MPI's all-reduce algorithms do with 7 ranks: the tree, in the first block, whether it
rotates, and whose trees these are. Number 2 is a reduce, here with one element, and a bcast."""


@pytest.mark.slow
@pytest.mark.skipif(not OPEN_MPI.is_dir(), reason="no .venv-openmpi, which scripts/test makes")
@pytest.mark.parametrize("number", FORCED)
def test_forced_algorithms_of_open_mpi(number):
    tree, rotates, name = FORCED[number]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"} | {
        "PATH": f"{OPEN_MPI}{os.pathsep}{os.environ['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_allreduce_algorithm": str(number),
    }
    size = "8" if number == 2 else "4K"
    command = ["mpirun", "-n", "7", "python", "-m", "collectives", "fingerprint", "--json"]
    done = subprocess.run(
        [*command, "--sizes", size], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["sizes"]
    assert found["ranks_agree"]
    assert found["rotates"] == rotates
    assert found["predicted"]
    assert parsed(found["trees"][0][0][2]).canonical == parsed(tree).canonical
    assert name is None or name in found["matches"] + found["elsewhere"]


def parsed(text):
    """The tree that prints as `text`."""

    def tree(nested):
        return Tree(nested) if isinstance(nested, int) else plus(*map(tree, nested))

    return tree(json.loads(text.replace("(", "[").replace(")", "]").replace("+", ",")))
