"""What can go wrong in a simulated run, each with what was seen."""

from __future__ import annotations


class SimulationError(RuntimeError):
    """A program broke a rule of message passing."""


class DeadlockError(SimulationError):
    """Some ranks wait for each other, or for a message that nobody will send.

    Attributes
    ----------
    waiting : dict of int to str
        For every waiting rank, its call, its peer and its source line.
    cycle : list of int
        Ranks of which each waits for the next, and the last for the first; empty if none do.
    """

    def __init__(self, message: str, waiting: dict[int, str], cycle: list[int]) -> None:
        super().__init__(message)
        self.waiting, self.cycle = waiting, cycle


class TruncationError(SimulationError):
    """A message was longer than the buffer that was to receive it."""


class TypeMismatchError(SimulationError):
    """A message was received into a buffer of another dtype."""


class BufferChangedError(SimulationError):
    """A buffer was written to while its Isend was still under way."""


class UnfinishedError(SimulationError):
    """All ranks have returned, but a message was never received or a request never waited for."""
