"""Ranks that do not go on: seen by all, told by one, and the job is ended.

A thread on every rank looks whether anything changes on the page that the ranks share. When
nothing has for long enough, while some rank is inside the target, the lowest rank that can says who
waits for whom.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from collectives.oracle.page import CALLING, DEAD, RAISED, TOLD, Doing, Page, death
from collectives.oracle.worlds import Ending
from collectives.sim.kernel import _cycle

_LOOK: Final = 0.05
"""Seconds between two looks."""

_AFTER_ERROR: Final = 1.0
"""Seconds without progress after which nobody waits for a rank that has raised."""


class Watchdog(threading.Thread):
    """Looks at the page until the program ends.

    Parameters
    ----------
    page : Page
        What the ranks are doing.
    patience : float
        Seconds without any change after which they are taken to hang.
    tell : callable
        Given the story, before the job is ended.
    """

    def __init__(self, page: Page, patience: float, tell: Callable[[Ending], None]) -> None:
        super().__init__(daemon=True)
        self.page, self.patience, self.tell = page, patience, tell

    def run(self) -> None:
        last, since = [-1] * self.page.size, time.monotonic()
        while True:
            time.sleep(_LOOK)
            doing = self.page.all()
            counts = [each.count for each in doing]
            if counts != last:
                last, since = counts, time.monotonic()
            states = {each.state for each in doing}
            if DEAD in states:
                rank = next(r for r, each in enumerate(doing) if each.state == DEAD)
                self._end(Ending("died", death(self.page, rank), rank))
            if CALLING not in states:
                continue
            quiet = time.monotonic() - since - 0.5 * self.page.rank  # the lower ranks come first
            if RAISED in states and quiet > min(_AFTER_ERROR, self.patience):
                self._end(_story_of_error(doing))
            elif quiet > self.patience:
                self._end(story(doing, self.patience))

    def _end(self, ending: Ending) -> None:
        """End the job, unless another rank is about to."""
        if not self.page.claim():
            time.sleep(5)
            os._exit(1)
        try:
            self.tell(ending)
        finally:
            self.page.put_state(self.page.size, TOLD)
            self._abort()

    def _abort(self) -> None:
        """End the job with exit code 1."""
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.3)  # mpirun passes on what it has read by the time the job ends, not more
        threading.Timer(2.0, os._exit, (1,)).start()  # where Abort does not strike
        mpi: Any = sys.modules["mpi4py.MPI"]
        mpi.COMM_WORLD.Abort(1)
        os._exit(1)


def story(doing: Sequence[Doing], patience: float) -> Ending:
    """Say who waits for whom, and whether in a circle."""
    inside = {rank: each for rank, each in enumerate(doing) if each.state == CALLING}
    edges = {rank: [each.peer] if each.peer >= 0 else [] for rank, each in inside.items()}
    lines = [f"{len(inside)} of {len(doing)} ranks have not gone on for {patience:g} s"]
    lines += [f"  rank {rank}: {each.text}" for rank, each in inside.items()]
    back = {peer for peers in edges.values() for peer in peers} - inside.keys()
    lines += [f"  rank {rank}: has returned" for rank in sorted(back)]
    cycle = _cycle(edges)
    if cycle:
        lines.append("  in a circle: " + " -> ".join(map(str, [*cycle, cycle[0]])))
    kind = "deadlock" if cycle else "starved" if back else "hung"
    return Ending(kind, "\n".join(lines), min(cycle or inside))


def _story_of_error(doing: Sequence[Doing]) -> Ending:
    rank, raised = next((r, each) for r, each in enumerate(doing) if each.state == RAISED)
    waiting = [f"  rank {r}: {each.text}" for r, each in enumerate(doing) if each.state == CALLING]
    text = "\n".join([f"rank {rank} raised {raised.text}; the others wait", *waiting])
    return Ending("raised", text, rank)
