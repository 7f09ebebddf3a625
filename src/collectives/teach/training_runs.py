"""What the lesson on ZeRO counts, prints and checks: training by all schemes, on all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

import numpy as np

from collectives.comm import Array
from collectives.draw import text
from collectives.gpu import HOST, Device, to_host
from collectives.teach.lesson import Check
from collectives.training import MLP, SCHEMES, Trainer, batch_of, digits, one_process, tolerance
from collectives.training.counting import MOVES, counted

if TYPE_CHECKING:
    from collectives.draw.figures.zero import Bars

Load: TypeAlias = dict[str, tuple[int, int]]
"""Bytes and messages that a rank sent, by collective."""

WIDTHS = {"parameters": 4, "gradients": 4, "optimizer state": 8}
"""Bytes per parameter, in float32."""

TIMES: dict[str, Callable[[int], int]] = {
    "DDP": lambda k: 2,
    "ZeRO-1": lambda k: 2,
    "ZeRO-2": lambda k: k + 1,
    "ZeRO-3": lambda k: 3 * k,
}
"""How many times the model times (p - 1) / p a rank sends per step of k batches."""

KEPT = ("4 + 4 + 8", "4 + 4 + 8/p", "4 + (4 + 8)/p", "(4 + 4 + 8)/p")
"""The bytes per parameter that a rank keeps, by the schemes in `TIMES`."""


@dataclass(frozen=True)
class Setting:
    """What is trained, and how."""

    model: MLP
    rows: int
    rate: float
    steps: int
    device: Device = HOST
    accumulated: tuple[int, ...] = (1, 2, 4)

    @cached_property
    def start(self) -> Array:
        """The parameters that training starts from."""
        return self.device.array(self.model.initial())

    @cached_property
    def data(self) -> tuple[Array, Array]:
        """What is learned from."""
        pixels, targets = digits()
        return self.device.array(pixels), self.device.array(targets)

    @property
    def n(self) -> int:
        """The number of parameters."""
        return sum(self.model.sizes)

    @property
    def psi(self) -> int:
        """The bytes of all parameters."""
        return self.n * WIDTHS["parameters"]


@dataclass(frozen=True)
class Trained:
    """What one rank found about one scheme."""

    memory: dict[str, int]
    owned: int
    losses: list[float]
    bits: int
    parameters: Array | None
    loads: dict[int, Load]

    def sent(self, micro: int = 1) -> int:
        """Return the bytes that this rank sent in one step of `micro` batches."""
        return sum(nbytes for nbytes, _ in self.loads[micro].values())


def counted_step(
    comm: Any, scheme: type[Trainer], s: Setting, micro: int = 1, *, bucket_nbytes: int = 0
) -> tuple[Trainer, Load, float]:
    """Take one step; return the trainer, what this rank sent, and its part of the loss."""
    trainer = scheme(comm, s.model, s.start, rate=s.rate, bucket_nbytes=bucket_nbytes)
    traces = counted(trainer)
    mine = batch_of(s.data, 0, s.rows, rank=comm.rank, p=comm.size, micro=micro)
    loss = trainer.step(mine, s.rows)
    load = {name: (t.sent(comm.rank), t.messages(comm.rank)) for name, t in traces.items()}
    return trainer, load, loss


def trained(comm: Any, s: Setting) -> dict[str, Trained]:
    """Train by every scheme from the same start, layer by layer, and count."""
    found = {}
    for scheme in SCHEMES:
        loads = {k: counted_step(comm, scheme, s, k)[1] for k in s.accumulated if k > 1}
        trainer, loads[1], loss = counted_step(comm, scheme, s)
        losses = [loss]
        for step in range(1, s.steps):
            mine = batch_of(s.data, step, s.rows, rank=comm.rank, p=comm.size)
            losses.append(trainer.step(mine, s.rows))
        whole = to_host(trainer.everything())
        found[scheme.name] = Trained(
            trainer.memory(), trainer.mine, losses, crc32(whole.tobytes()),
            whole if comm.rank == 0 else None, loads,
        )  # fmt: skip
    return found


# ------------------------------------------------------------------ tables, on rank 0

Ranks: TypeAlias = Sequence[dict[str, Trained]]
"""What `trained` found on every rank."""


def per_rank(ranks: Ranks, name: str, micro: int = 1) -> float:
    """Return the bytes that a rank sent in one step, the average over ranks."""
    return sum(found[name].sent(micro) for found in ranks) / len(ranks)


def most_kept(ranks: Ranks, name: str) -> dict[str, int]:
    """Return the memory of the rank that keeps most."""
    return max((found[name].memory for found in ranks), key=lambda kept: sum(kept.values()))


def bars(ranks: Ranks) -> list[Bars]:
    """Return what was counted, scheme by scheme."""
    from collectives.draw.figures.zero import Bars

    rows = []
    for name in TIMES:
        sent = [
            (what, sum(found[name].loads[1][move][0] for found in ranks) / len(ranks))
            for move, what in MOVES.items()
        ]
        rows.append(Bars(name, most_kept(ranks, name), [pair for pair in sent if pair[1]]))
    return rows


def sent_table(ranks: Ranks, psi: int) -> Iterator[str]:
    """Yield a line per scheme: bytes by collective, their sum, the formula, the messages."""
    p = len(ranks)
    yield _row("", "all-reduce", "red.-scatter", "allgather", "sum", "formula", "messages")
    for row in bars(ranks):
        parts = dict(row.sent)
        cells = [text.nbytes(float(parts[w])) if w in parts else "." for w in MOVES.values()]
        formula = TIMES[row.name](1) * psi * (p - 1) / p
        messages = sum(count for _, count in ranks[0][row.name].loads[1].values())
        yield _row(
            row.name, *cells, text.nbytes(float(row.all_sent)),
            f"{TIMES[row.name](1)} Psi (p-1)/p = {text.nbytes(formula)}", str(messages),
        )  # fmt: skip


def kept_table(ranks: Ranks) -> Iterator[str]:
    """Yield a line per scheme: parameters, gradients, optimizer, their sum, the formula."""
    yield _row("", "parameters", "gradients", "optimizer", "sum", "formula, B/parameter")
    for name, formula in zip(TIMES, KEPT, strict=True):
        parts = most_kept(ranks, name).values()
        yield _row(name, *(text.nbytes(size) for size in (*parts, sum(parts))), formula)


def accumulation_table(ranks: Ranks, s: Setting) -> Iterator[str]:
    """Yield a line per scheme: what it sends for k batches per step, in Psi (p - 1) / p."""
    yield "       " + " " * 8 + "".join(f"{f'k = {micro}':>9}" for micro in s.accumulated)
    unit = s.psi * (len(ranks) - 1) / len(ranks)
    for name in TIMES:
        sent = [per_rank(ranks, name, micro) / unit if unit else 0 for micro in s.accumulated]
        yield f"       {name:8}" + "".join(f"{times:>9.3g}" for times in sent)


def _row(name: str, *cells: str) -> str:
    widths = (12, 14, 11, 10, 25, 10)
    return f"       {name:8}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=False))


# ------------------------------------------------------------------ checks, on rank 0


def same_training(ranks: Ranks, s: Setting) -> Iterator[str | Check]:
    """Yield the loss, and check that all schemes train as one process does."""
    wanted, wanted_losses = one_process(
        s.model, s.model.initial(), digits(), steps=s.steps, rows=s.rows, rate=s.rate
    )
    allowed, worst, off = tolerance(np.float32, steps=s.steps, rate=s.rate), 0.0, 0.0
    for name in TIMES:
        losses = np.sum([found[name].losses for found in ranks], axis=0)
        off = max(off, float(np.abs(losses - wanted_losses).max()))
        worst = max(worst, float(np.abs(ranks[0][name].parameters - wanted).max()))
    picked = sorted({0, s.steps // 4, s.steps // 2, s.steps - 1})
    yield "loss   " + ", ".join(f"{losses[i]:.4f} (step {i + 1})" for i in picked) + "\n"
    what = f"of one process, within {allowed:.0e}"
    yield Check("loss", off <= allowed, f"every step of every scheme: that {what} ({off:.0e})")
    yield Check("parameters", worst <= allowed, f"of every scheme: those {what} ({worst:.0e})")
    bits = {found[name].bits for found in ranks for name in TIMES}
    yield Check("bits", len(bits) == 1, "the same ones on all ranks and by all schemes")


def sent_as_formula(ranks: Ranks, s: Setting) -> Check:
    """Check the bytes of all ranks together, for every scheme and accumulation, to the byte."""
    for name, times in TIMES.items():
        for micro in s.accumulated:
            got = sum(found[name].sent(micro) for found in ranks)
            wants = times(micro) * (len(ranks) - 1) * s.psi
            if got != wants:
                return Check("sent", False, f"{name}, k = {micro}: {got} B, wants {wants} B")
    return Check("sent", True, "2, 2, k + 1, 3k times the model times (p-1)/p, to the byte")


def kept_as_formula(ranks: Ranks, s: Setting) -> Check:
    """Check the bytes that every rank keeps, to the byte."""
    from collectives.draw.figures.zero import SCHEMES as SHARING

    for rank, found in enumerate(ranks):
        for scheme in SHARING:
            got = found[scheme.name].memory
            share = found[scheme.name].owned
            wants = {
                part: (share if part in scheme.sharded else s.n) * width
                for part, width in WIDTHS.items()
            }
            if got != wants:
                return Check("kept", False, f"{scheme.name}, rank {rank}: {got}, wants {wants}")
    shares = [found["ZeRO-3"].owned for found in ranks]
    least, most = min(shares), max(shares)
    return Check(
        "kept", sum(shares) == s.n, f"shards of {least} to {most} parameters, {s.n} in all"
    )
