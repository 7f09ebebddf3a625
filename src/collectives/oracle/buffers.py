"""One rank's buffers for one case: made, handed to a function, and looked at afterwards.

They lie between guards: zones on both sides that nobody may write to.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np

from collectives.comm import Array
from collectives.oracle.cases import Case
from collectives.oracle.differences import differing

GUARD: Final = 32
"""Elements, at least, on each side of a buffer that nobody may write to."""

_MOST: Final = 4096
"""And at most, where a buffer is as long: who writes a block too far is seen."""


class Guarded:
    """A buffer between two zones that nobody may write to, full of a pattern at first."""

    def __init__(self, size: int, dtype: np.dtype[Any], pattern: int = 0xA5) -> None:
        self.size, self.guard = size, max(GUARD, min(size, _MOST))
        self.whole = np.empty(size + 2 * self.guard, dtype)
        if dtype.kind == "O":
            self.whole[:] = "untouched"
        else:
            self.whole.view(np.uint8)[:] = pattern if dtype != np.bool_ else pattern & 1
        self.inside = self.whole[self.guard : self.guard + size]
        self.before = self.whole.copy()

    def put(self, start: int, values: Array) -> None:
        """Place `values` as what the buffer holds before the call."""
        self.inside[start : start + values.size] = values
        self.before = self.whole.copy()

    def freeze(self) -> None:
        """Move to memory that cannot be written to: numbers only."""
        with TemporaryFile() as file:
            file.write(self.whole.tobytes())
            file.flush()
            memory = mmap.mmap(file.fileno(), self.whole.nbytes, access=mmap.ACCESS_READ)
        self.whole = np.frombuffer(memory, self.whole.dtype)
        self.inside = self.whole[self.guard : self.guard + self.size]

    def changed(self, allowed: int = 0) -> list[int]:
        """Return the elements that are not what they were, besides the first `allowed`."""
        elements = differing(self.whole, self.before) - self.guard
        outside: list[int] = elements[(elements < 0) | (elements >= allowed)].tolist()
        return outside


class Buffers:
    """One rank's buffers for one case: made, handed to a function, and looked at afterwards."""

    def __init__(
        self, case: Case, rank: int, values: Array, pattern: int = 0xA5, *, frozen: bool = False
    ) -> None:
        self.case, self.rank = case, rank
        self.result_size = case.result_size(rank)
        self.sent = Guarded(values.size, values.dtype, pattern)
        self.received = Guarded(case.room(rank), values.dtype, pattern)
        self.sent.put(0, values)
        if case.shares_buffer(rank) and not (case.form.from_root and rank != case.root):
            self.received.put(case.input_start(rank), values)
        if frozen:
            self.sent.freeze()

    def run(self, function: Callable[..., None], comm: Any) -> Array | None:
        """Call `function` on these buffers and return this rank's result, if it has one."""
        self.case.call(function, comm, self.sent.inside, self.received.inside)
        return self.result

    @property
    def result(self) -> Array | None:
        """What this rank holds now; None where it has no result."""
        return None if self.result_size is None else self.received.inside[: self.result_size]

    def changed_input(self) -> str | None:
        """Return how the input was written to, if it was."""
        changed = self.sent.changed()
        return f"element {changed[0]} of the input was changed" if changed else None

    def written_outside(self) -> str | None:
        """Return what was written outside of the result, if anything."""
        size = self.result_size or 0
        changed = self.received.changed(allowed=size)
        if not changed:
            return None
        return f"element {changed[0]} was written, outside of a result of {size}"

    def violations(self) -> list[str]:
        """Return what was written that must not be."""
        return [text for text in (self.changed_input(), self.written_outside()) if text]
