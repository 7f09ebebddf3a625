"""Wrong algorithms, planted: each must be noticed by the property that claims it.

Most are one line of a real ring, or of the ring that students write, replaced by another; a few
are functions of their own. ``python tests/mistakes/test_mistakes.py`` prints who notices what.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from collectives import arguments, registry
from collectives.algorithms.allgather.ring import allgather_ring
from collectives.blocks import even, split
from collectives.comm import private
from collectives.oracle.properties import (
    PROPERTIES,
    Check,
    any_communicator,
    big_counts,
    every_rank_counted_once,
    finishes_without_buffering,
    float_error_bounded,
    formulas_match_cost,
    ignored_arguments_ignored,
    input_unchanged,
    leaves_no_message_behind,
    messages_match_cost,
    not_below_lower_bound,
    one_rank_ok,
    order_kept,
    ran_what_was_asked,
    reads_only_input,
    refuses_bad_input,
    refuses_what_it_cannot_do,
    right_values,
    same_on_all_ranks,
    same_when_repeated,
    special_values,
    survives_foreign_traffic,
    survives_skew,
    time_matches_cost,
    works_in_place,
    writes_only_result,
    zero_length_ok,
)
from collectives.registry import Algorithm, algorithm, find

RANKS = (1, 2, 3, 4, 5)
"""Enough for a mistake to show: one, two, an odd number, a power of two, and a prime beyond."""

# ---------------------------------------------------------------- how mistakes are planted


@dataclass(frozen=True)
class Mistake:
    """A wrong algorithm: how it is made, who claims to notice it, and from whom it hides."""

    name: str
    claimed_by: Check
    plant: Callable[[], Algorithm]
    hides_from: tuple[Check, ...] = ()

    def noticed_by(self) -> dict[str, str]:
        """Return what the properties that notice it say."""
        entry = self.plant()
        said = {name: PROPERTIES[name].counterexample(entry, RANKS) for name in PROPERTIES}
        return {name: text for name, text in said.items() if text}


MISTAKES: list[Mistake] = []


def edit(
    where: str,
    name: str,
    claimed_by: Check,
    *edits: tuple[str, str],
    hides_from: tuple[Check, ...] = (),
) -> None:
    """Enter a mistake that is made by replacing lines of the source of an algorithm."""
    MISTAKES.append(Mistake(name, claimed_by, lambda: edited(where, edits), hides_from))


def edited(where: str, edits: tuple[tuple[str, str], ...]) -> Algorithm:
    """Return the algorithm `where` with its source edited; AssertionError where that has changed.

    The source is compiled apart: the real algorithm stays in the registry as it is.
    """
    collective, name = where.split("/")
    if where == STUDENT:
        source, names = inspect.getsource(allreduce_student), dict(globals())
    else:
        module = importlib.import_module(f"collectives.algorithms.{collective}.{name}")
        source, names = inspect.getsource(module), {"__name__": module.__name__}
    for old, new in edits:
        times = source.count(old)
        assert times == 1, f"{old!r} stands {times} times in {where}: adapt the mistake to it"
        source = source.replace(old, new)
    with empty_registry() as entries:
        exec(compile(source, f"{name}.py", "exec"), names)
    if where == STUDENT:
        return as_algorithm(names["allreduce_student"])
    return entries[collective, name]


def written(
    claimed_by: Check,
    *,
    of: str = "allreduce/ring",
    decorated: bool = True,
    hides_from: tuple[Check, ...] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a mistake that is a function; it is held to the claims of the algorithm `of`."""

    def enter(body: Callable[..., None]) -> Callable[..., None]:
        name = body.__name__.replace("_", " ")
        MISTAKES.append(
            Mistake(name, claimed_by, lambda: as_algorithm(body, of, decorated), hides_from)
        )
        return body

    return enter


def as_algorithm(
    body: Callable[..., None], of: str = "allreduce/ring", decorated: bool = True
) -> Algorithm:
    """Return the entry `of` with `body` as its function, decorated as an algorithm is."""
    real = find(*of.split("/"))
    function = body
    if decorated:
        with empty_registry():
            function = algorithm(source=real.source, requires=real.requires)(body)
    function.__doc__ = real.function.__doc__
    return replace(real, function=function)


@contextmanager
def empty_registry() -> Iterator[dict[tuple[str, str], Algorithm]]:
    """Let a copy be entered that the rest of the program never sees."""
    list(registry.algorithms())  # what is real is loaded before
    entries: dict[tuple[str, str], Algorithm] = {}
    with patch.object(registry, "_algorithms", entries):
        yield entries


# ---------------------------------------------------------------- the ring that students write


def allreduce_student(comm, sendbuf, recvbuf, op):
    """The ring in place, as textbooks number it: its first phase completes block rank + 1."""
    rank, p = comm.rank, comm.size
    left, right = (rank - 1) % p, (rank + 1) % p
    if sendbuf is not recvbuf:
        recvbuf[:] = sendbuf
    chunks = list(split(recvbuf, even(recvbuf.size, p)))
    for step in range(p - 1):  # reduce-scatter
        mine, theirs = (rank - step) % p, (rank - step - 1) % p
        incoming = np.empty_like(chunks[theirs])
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)
        op(incoming, chunks[theirs], out=chunks[theirs])
    for step in range(p - 1):  # allgather
        mine, theirs = (rank - step + 1) % p, (rank - step) % p
        comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs], source=left)


STUDENT = "allreduce/student"
START = "        recvbuf[:] = sendbuf"
CUT = "chunks = list(split(recvbuf, even(recvbuf.size, p)))"
SWAP = "comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)"
ADD = "op(incoming, chunks[theirs], out=chunks[theirs])"
PASS_ON = "comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs], source=left)"

edit(
    STUDENT, "receive from the right while sending to the right", finishes_without_buffering,
    ("left, right = (rank - 1) % p, (rank + 1) % p", "left = right = (rank + 1) % p"),
)  # fmt: skip
edit(
    STUDENT, "send a block that is off by one", every_rank_counted_once,
    ("mine, theirs = (rank - step) % p, (rank - step - 1) % p",
     "mine, theirs = (rank - step + 1) % p, (rank - step) % p"),
)  # fmt: skip
edit(
    STUDENT, "stop the reduce-scatter one step early", every_rank_counted_once,
    ("range(p - 1):  # reduce-scatter", "range(p - 2):  # reduce-scatter"),
)  # fmt: skip
edit(
    STUDENT, "one step of reduce-scatter too many", messages_match_cost,
    ("range(p - 1):  # reduce-scatter", "range(p if p > 1 else 0):  # reduce-scatter"),
    hides_from=(right_values, every_rank_counted_once, same_on_all_ranks, works_in_place),
)  # fmt: skip
edit(
    STUDENT, "start the allgather with a block that is not complete", every_rank_counted_once,
    ("mine, theirs = (rank - step + 1) % p, (rank - step) % p",
     "mine, theirs = (rank - step) % p, (rank - step - 1) % p"),
)  # fmt: skip
edit(
    STUDENT, "add in the allgather", every_rank_counted_once,
    (PASS_ON,
     "incoming = np.empty_like(chunks[theirs])\n"
     "        comm.Sendrecv(chunks[mine], dest=right, recvbuf=incoming, source=left)\n"
     "        op(incoming, chunks[theirs], out=chunks[theirs])"),
)  # fmt: skip
edit(
    STUDENT, "assign in the reduce-scatter", every_rank_counted_once,
    (ADD, "chunks[theirs][:] = incoming"),
)  # fmt: skip
edit(
    STUDENT, "receive straight into the accumulator", every_rank_counted_once,
    (SWAP, "comm.Sendrecv(chunks[mine], dest=right, recvbuf=chunks[theirs] , source=left)"),
    ("incoming = np.empty_like(chunks[theirs])", "incoming = chunks[theirs]"),
)  # fmt: skip
edit(
    STUDENT, "drop the tail of n // p", right_values,
    (CUT, "chunks = list(split(recvbuf[: recvbuf.size // p * p], [recvbuf.size // p] * p))"),
    hides_from=(zero_length_ok, input_unchanged),
)  # fmt: skip
edit(
    STUDENT, "bind a name anew instead of writing into the view", every_rank_counted_once,
    (ADD, "chunks[theirs] = op.ufunc(incoming, chunks[theirs])"),
)  # fmt: skip
edit(
    STUDENT, "chunks of one length, however few that makes", zero_length_ok,
    (CUT,
     "length = -(-recvbuf.size // p)\n"
     "    chunks = [recvbuf[i : i + length] for i in range(0, recvbuf.size, length)]"),
)  # fmt: skip
edit(
    STUDENT, "read the result buffer before it is written", reads_only_input,
    (START, "        recvbuf[:] = recvbuf * 0 + sendbuf"),
    hides_from=(right_values, works_in_place, writes_only_result),
)  # fmt: skip
edit(
    STUDENT, "start from zeros, whatever the operation", right_values,
    (START, "        op(np.zeros(sendbuf.size, sendbuf.dtype), sendbuf, out=recvbuf)"),
    hides_from=(every_rank_counted_once, works_in_place),
)  # fmt: skip
edit(
    STUDENT, "nothing to do for p = 1", one_rank_ok,
    ("    if sendbuf is not recvbuf:",
     "    if p == 1:\n"
     "        return\n"
     "    if sendbuf is not recvbuf:"),
    hides_from=(works_in_place, messages_match_cost),
)  # fmt: skip
edit(
    STUDENT, "a shortcut for p = 2 that forgets itself", every_rank_counted_once,
    ("    if sendbuf is not recvbuf:",
     "    if p == 2:\n"
     "        own = sendbuf.copy()\n"
     "        comm.Sendrecv(own, dest=right, recvbuf=recvbuf, source=left)\n"
     "        return\n"
     "    if sendbuf is not recvbuf:"),
)  # fmt: skip
edit(
    STUDENT, "meet in a barrier first", messages_match_cost,
    ("    if sendbuf is not recvbuf:",
     "    comm.Sendrecv(recvbuf[:0], dest=right, recvbuf=recvbuf[:0].copy(), source=left)\n"
     "    if sendbuf is not recvbuf:"),
    hides_from=(right_values, works_in_place, survives_skew),
)  # fmt: skip
edit(
    STUDENT, "odd ranks send after they have received", time_matches_cost,
    (SWAP,
     "first, second = (comm.Send, comm.Recv) if rank % 2 == 0 else (comm.Recv, comm.Send)\n"
     "        buffers = {comm.Send: (chunks[mine], right), comm.Recv: (incoming, left)}\n"
     "        first(*buffers[first]), second(*buffers[second])"),
)  # fmt: skip
edit(
    STUDENT, "the rank in the world", any_communicator,
    ("rank, p = comm.rank, comm.size", "rank, p = comm.me.index % comm.size, comm.size"),
    hides_from=(right_values, survives_skew),
)  # fmt: skip

# ---------------------------------------------------------------- the real reduce-scatter

REDUCE_SCATTER = "reduce_scatter/ring"
EXCHANGE = "comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)"
COMBINE = "op(received, own, out=received)"
TURN = "partial, incoming, spare = received, spare, incoming"
END = "recvbuf[: partial.size] = partial"
NEEDS = "requires=[commutative],"

edit(
    REDUCE_SCATTER, "send, then receive", finishes_without_buffering,
    (EXCHANGE, "comm.Send(partial, dest=right); comm.Recv(received, source=left)"),
    hides_from=(right_values, leaves_no_message_behind, survives_skew),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "receive, then send", right_values,
    (EXCHANGE, "comm.Recv(received, source=left); comm.Send(partial, dest=right)"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "send the other way round", every_rank_counted_once,
    (EXCHANGE, "comm.Sendrecv(partial, dest=left, recvbuf=received, source=right)"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "receive into the buffer of a pending Isend", right_values,
    (EXCHANGE,
     "request = comm.Isend(partial, dest=right)\n"
     "        comm.Recv(received, source=left)\n"
     "        request.Wait()"),
    (TURN, "partial = received"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "combine before Wait", every_rank_counted_once,
    (EXCHANGE, "request = comm.Irecv(received, source=left); comm.Send(partial, dest=right)"),
    (COMBINE, "op(received, own, out=received); request.Wait()"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "one buffer for both sides of Sendrecv", right_values,
    (EXCHANGE,
     "received = partial\n"
     "        comm.Sendrecv(partial, dest=right, recvbuf=received, source=left)"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "combine in the input", input_unchanged,
    (COMBINE, "op(received, own, out=own)"),
    (TURN, "partial, incoming, spare = own, spare, incoming"),
    hides_from=(right_values, every_rank_counted_once, messages_match_cost),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "write one element past the end", writes_only_result,
    (END,
     "room = np.lib.stride_tricks.as_strided(recvbuf, (partial.size + 1,))  # as C would\n"
     "    room[:-1] = partial\n"
     "    room[-1] = room[0]"),
    hides_from=(every_rank_counted_once, input_unchanged),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "take the result buffer to be of the size of the result", works_in_place,
    (END, "recvbuf[:] = partial"),
    hides_from=(right_values, writes_only_result),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "count rank 0 twice and rank 1 not at all", every_rank_counted_once,
    (COMBINE, "op(received, received if rank == step == 1 else own, out=received)"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "always sum", right_values,
    (COMBINE, "np.add(received, own, out=received)"),
    hides_from=(every_rank_counted_once, works_in_place),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "scratch of the size of the first block", right_values,
    ("shape=blocks.largest", "shape=blocks[0].size"),
    hides_from=(one_rank_ok, survives_skew),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "leave when there is nothing to receive", right_values,
    ("    blocks = split(sendbuf, counts)",
     "    if not recvbuf.size:\n        return\n    blocks = split(sendbuf, counts)"),
    hides_from=(zero_length_ok, any_communicator),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "send the result on, to nobody", leaves_no_message_behind,
    (END, END + "\n    comm.Isend(recvbuf, dest=right)"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "sizes in 32 bits", big_counts,
    ("split(sendbuf, counts)", "split(sendbuf, [size & 0xFFFFFFFF for size in counts or ()])"),
    hides_from=(right_values, time_matches_cost),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "sums in double precision", right_values,
    (COMBINE, "received[:] = op.ufunc(received.astype(float), own.astype(float))"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "messages in words of 8 bytes", right_values,
    (EXCHANGE,
     "words = [x.view('u8') if x.dtype.kind in 'iufcb' else x for x in (partial, received)]\n"
     "        comm.Sendrecv(words[0], dest=right, recvbuf=words[1], source=left)"),
    hides_from=(works_in_place, same_on_all_ranks, every_rank_counted_once),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "claim an order that is not kept", order_kept,
    (NEEDS, "keeps_order=True,"),
    hides_from=(right_values, every_rank_counted_once),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "neither keep the order nor say so", refuses_what_it_cannot_do,
    (NEEDS, ""),
    hides_from=(right_values, order_kept, refuses_bad_input),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "promise a time that no algorithm can reach", not_below_lower_bound,
    ("betas=longest", "betas=0"),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "document another number of messages", formulas_match_cost,
    ("messages : ``p * (p - 1)``", "messages : ``p - 1``"),
    hides_from=(messages_match_cost, time_matches_cost),
)  # fmt: skip

# ---------------------------------------------------------------- the real allgather

ALLGATHER = "allgather/ring"
OWN = "    if sendbuf is not recvbuf:\n        blocks[rank][:] = sendbuf"

edit(
    ALLGATHER, "forward the block of the step after", right_values,
    ("for step in range(p - 1):", "for step in range(1, p):"),
)  # fmt: skip
edit(
    ALLGATHER, "ignore counts", right_values,
    ("split(recvbuf, counts)", "split(recvbuf, [recvbuf.size // p] * p)"),
    hides_from=(one_rank_ok, survives_skew),
)  # fmt: skip
edit(
    ALLGATHER, "take the first block as input when in place", works_in_place,
    (OWN, "    blocks[rank][:] = sendbuf[: blocks[rank].size]"),
    hides_from=(right_values, writes_only_result),
)  # fmt: skip
edit(
    ALLGATHER, "forget the own block", right_values,
    (OWN, "    own = blocks[rank]\n    own = sendbuf  # a name, not the elements"),
    hides_from=(works_in_place, messages_match_cost),
)  # fmt: skip

# ---------------------------------------------------------------- other real algorithms

edit(
    "barrier/dissemination", "leave a round early", survives_skew,
    ("bruck_skips(p, radix)[:-1]:", "bruck_skips(p, radix)[:-1][:-1]:"),
)  # fmt: skip
edit(
    "bcast/binomial", "count ranks from 0, whatever the root", right_values,
    ("binomial_parent(rank, root, p)", "binomial_parent(rank, 0, p)"),
    ("binomial_children(rank, root, p)", "binomial_children(rank, 0, p)"),
    hides_from=(finishes_without_buffering, messages_match_cost, time_matches_cost),
)  # fmt: skip
edit(
    "reduce/binomial", "swap the operands", order_kept,
    ("op(partial, incoming, out=partial)", "op(incoming, partial, out=partial)"),
    hides_from=(right_values, every_rank_counted_once),
)  # fmt: skip

# ---------------------------------------------------------------- functions of their own


@written(same_on_all_ranks, hides_from=(right_values, same_when_repeated))
def allreduce_each_rank_first(comm, sendbuf, recvbuf, op):
    """Collect all vectors and combine them, each rank beginning with its own."""
    p, n = comm.size, recvbuf.size
    everything = np.empty_like(recvbuf, shape=p * n)
    allgather_ring(comm, sendbuf.copy(), everything, counts=even(p * n, p))
    vectors = split(everything, even(p * n, p))
    recvbuf[:] = vectors[comm.rank]
    for step in range(1, p):
        op(recvbuf, vectors[comm.rank + step], out=recvbuf)


@written(survives_skew, of="reduce/linear", hides_from=(right_values, input_unchanged))
def reduce_from_anyone(comm, sendbuf, recvbuf, op, root):
    """Receive from any rank: a fast one's message of the next call, too."""
    if comm.rank != root:
        comm.Send(sendbuf, dest=root)
        return
    incoming = np.empty_like(sendbuf)
    recvbuf[:] = sendbuf
    for _ in range(comm.size - 1):
        comm.Recv(incoming)
        op(recvbuf, incoming, out=recvbuf)


@written(
    survives_foreign_traffic, of="allgather/ring", decorated=False,
    hides_from=(right_values, survives_skew, any_communicator),
)  # fmt: skip
def allgather_among_the_callers_messages(comm, sendbuf, recvbuf, *, counts=None):
    """Run on the caller's communicator."""
    prepared = arguments.allgather(comm, sendbuf, recvbuf, counts=counts)
    body: Any = inspect.unwrap(allgather_ring)
    body(comm, **prepared)


@written(
    writes_only_result, of="reduce/linear", decorated=False,
    hides_from=(right_values, input_unchanged),
)  # fmt: skip
def reduce_with_scratch_in_ignored_buffers(comm, sendbuf, recvbuf, op, root=0):
    """Use the result buffers of ranks that are not the root."""
    prepared = arguments.reduce(comm, sendbuf, recvbuf, op, root)
    body: Any = inspect.unwrap(find("reduce", "linear").function)
    body(private(comm), **prepared)
    if comm.rank != root:
        recvbuf[:] = sendbuf


@written(
    refuses_bad_input, of="bcast/linear", decorated=False,
    hides_from=(right_values, survives_foreign_traffic),
)  # fmt: skip
def bcast_of_anything(comm, buf, root=0):
    """Do not look at the arguments."""
    body: Any = inspect.unwrap(find("bcast", "linear").function)
    body(private(comm), buf, root)


@written(same_when_repeated, hides_from=(right_values, every_rank_counted_once))
def allreduce_in_order_of_arrival(comm, sendbuf, recvbuf, op):
    """Rank 0 combines in the order in which messages come, which is not always the same."""
    recvbuf[:] = sendbuf
    incoming = np.empty_like(sendbuf)
    if comm.rank == 0:
        for _ in range(comm.size - 1):
            comm.Recv(incoming, tag=1)
            op(recvbuf, incoming, out=recvbuf)
        for rank in range(1, comm.size):
            comm.Send(recvbuf, dest=rank, tag=2)
    else:
        comm.Send(recvbuf, dest=0, tag=1)
        comm.Recv(recvbuf, source=0, tag=2)


@written(ignored_arguments_ignored, of="gather/linear", decorated=False)
def gather_looks_at_every_result_buffer(comm, sendbuf, recvbuf, root=0, *, counts=None):
    """Ask for a result buffer where there is no result."""
    assert recvbuf.dtype == sendbuf.dtype
    find("gather", "linear").function(comm, sendbuf, recvbuf, root, counts=counts)


edit(
    REDUCE_SCATTER, "lose the sign of zero", special_values,
    (COMBINE,
     "op(received, own, out=received)\n"
     "        if received.dtype.kind == 'f':\n"
     "            received += 0.0"),
    hides_from=(right_values, same_on_all_ranks, float_error_bounded),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "round partial sums to half of the digits", float_error_bounded,
    (COMBINE,
     "op(received, own, out=received)\n"
     "        if received.dtype == np.float64:\n"
     "            received[:] = received.astype(np.float32)"),
    hides_from=(right_values, every_rank_counted_once),
)  # fmt: skip
edit(
    REDUCE_SCATTER, "every message in two halves", ran_what_was_asked,
    (EXCHANGE,
     "for half in (slice(0, 1), slice(1, None)):\n"
     "            outgoing, incoming_half = partial[half], received[half]\n"
     "            comm.Sendrecv(outgoing, dest=right, recvbuf=incoming_half, source=left)"),
    hides_from=(right_values, every_rank_counted_once, survives_skew),
)  # fmt: skip


# ---------------------------------------------------------------- the tests


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake_is_noticed_by_the_property_that_claims_it(mistake: Mistake) -> None:
    noticed = mistake.noticed_by()
    claim = mistake.claimed_by.__name__
    print(f"{claim}: {noticed.get(claim)}\nnoticed by {', '.join(noticed)}")
    assert claim in noticed
    assert not {check.__name__ for check in mistake.hides_from} & noticed.keys()


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_notices_a_mistake(name: str) -> None:
    assert name in {mistake.claimed_by.__name__ for mistake in MISTAKES}


@pytest.mark.parametrize("where", [STUDENT, REDUCE_SCATTER, ALLGATHER])
def test_the_same_without_the_mistake_passes(where: str) -> None:
    right = Mistake("none", right_values, lambda: edited(where, ()))
    other_numbering = {"ran_what_was_asked"} if where == STUDENT else set()  # of the blocks
    assert right.noticed_by().keys() == other_numbering


def test_an_edit_that_no_longer_applies_is_an_error() -> None:
    with pytest.raises(AssertionError, match="'no such line' stands 0 times in allgather/ring"):
        edited(ALLGATHER, (("no such line", ""),))


def test_planting_leaves_the_registry_as_it_was() -> None:
    before = list(registry.algorithms())
    edited(REDUCE_SCATTER, ((NEEDS, ""),))
    as_algorithm(allreduce_student)
    assert list(registry.algorithms()) == before


if __name__ == "__main__":
    for mistake in MISTAKES:
        noticed = mistake.noticed_by()
        claim = mistake.claimed_by.__name__
        others = ", ".join(name for name in noticed if name != claim)
        print(f"{mistake.name}\n    {noticed.get(claim)}\n    {claim}; also {others or 'nobody'}\n")
