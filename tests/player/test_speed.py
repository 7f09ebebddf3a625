"""Long runs step smoothly, large ones open at once. What was measured is printed."""

import time

import numpy as np
import pytest

from collectives.recorder import record


def rounds(comm, sendbuf, recvbuf, op):
    """Send a block on and add one, 64 times."""
    recvbuf[:] = sendbuf
    blocks, incoming = np.array_split(recvbuf, comm.size), np.empty(recvbuf.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(64):
        given = blocks[(comm.rank - step) % comm.size]
        added = blocks[(comm.rank - step - 1) % comm.size]
        part = incoming[: added.size].astype(given.dtype)
        comm.Sendrecv(given, dest=right, recvbuf=part, source=left)
        op(part, added, out=added)


def test_64_steps_of_8_ranks_are_smooth(play):
    opened = play(record(rounds, 8, collective="allreduce"), width=1600)
    assert opened.ask("last") == 64
    session = opened.page.context.new_cdp_session(opened.page)
    session.send("Performance.enable")

    def seconds_of_processor():  # of the page's thread, however busy the machine is
        metrics = session.send("Performance.getMetrics")["metrics"]
        return {metric["name"]: metric["value"] for metric in metrics}["ThreadTime"]

    before = seconds_of_processor()
    opened.ask("""() => {
        for (let k = 1; k <= last; k += 1) {
            go(k);
            document.body.getBoundingClientRect(); // with layout
        }
    }""")
    milliseconds = 1000 * (seconds_of_processor() - before) / 64
    print(f"{milliseconds:.1f} ms a step")
    assert 0 < milliseconds < 16


@pytest.mark.slow
def test_64_ranks_open_at_once(play, recorded):
    run = recorded("allreduce", "ring", 64, elements=6400)
    start = time.perf_counter()
    opened = play(run, width=1600)
    made_and_opened = time.perf_counter() - start
    (loaded,) = opened.ask(
        "performance.getEntriesByType('navigation').map((entry) => entry.loadEventEnd)"
    )
    print(f"open after {loaded:.0f} ms; written and opened in {made_and_opened:.1f} s")
    assert loaded < 10_000
    opened.press("End")
    assert opened.position == "step 126 of 126: AG 63"
    assert opened.shapes("complete") == 64 * 64
    assert opened.complaints == []
