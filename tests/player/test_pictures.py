"""What the player shows is what was recorded, in both pictures and in words."""

from collections import Counter

import numpy as np
import pytest

from collectives.recorder import record


def adds_twice(comm, sendbuf, recvbuf, op):
    """Pass everything round the ring once too often."""
    recvbuf[:] = sendbuf
    incoming = np.empty_like(recvbuf)
    for _ in range(comm.size):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        comm.Sendrecv(recvbuf, dest=right, recvbuf=incoming, source=left)
        op(incoming, recvbuf, out=recvbuf)


@pytest.fixture
def wrong():
    return record(adds_twice, 4, collective="allreduce")


CELLS = "runs[0].cells.map(({ parts }) => parts.map(({ pips, at, share }) => [pips, at, share]))"


def test_every_step_shows_what_was_recorded(play, any_run):
    check_states(play, any_run)


def test_every_step_of_a_wrong_run_shows_what_was_recorded(play, wrong):
    check_states(play, wrong)


def check_states(play, recording):
    opened, states = play(recording), recording.states()
    wanted = [
        [[[list(hold.pips), hold.at, hold.share] for hold in cell] for row in state for cell in row]
        for state in states
    ]
    there_and_back = [*range(len(states)), *reversed(range(len(states) - 1))]
    for before, now in zip([0, *there_and_back], there_and_back, strict=False):
        if now != before:
            opened.press("ArrowRight" if now > before else "ArrowLeft")
        assert opened.ask(CELLS) == wanted[now]
    for k in (len(states) - 1, 0):  # in one go
        opened.ask(f"go({k})")
        assert opened.ask(CELLS) == wanted[k]


def test_pips_are_drawn_as_they_are(play, ring, wrong):
    opened = play(ring)
    for state in ring.states():
        filled = sum(len(hold.pips) for row in state for cell in row for hold in cell)
        assert (opened.shapes("present"), opened.shapes("absent")) == (filled, 512 - filled)
        complete = sum(cell[0].pips == tuple(range(8)) for row in state for cell in row)
        assert opened.shapes("complete") == complete
        opened.press("ArrowRight")
    assert complete == 64

    opened = play(wrong)
    for state in wrong.states():
        counts = [Counter(hold.pips) for row in state for cell in row for hold in cell]
        twice = sum(count > 1 for cell in counts for count in cell.values())
        assert opened.shapes("twice") == 2 * twice  # two rings each
        assert opened.shapes("present") == sum(map(len, counts)) - twice
        assert opened.shapes("complete") == 0
        opened.press("ArrowRight")
    assert twice == 4 * 16
    opened.page.hover(".grid svg", position={"x": 60, "y": 40})
    assert "Counted more than once!" in opened.info


def test_part_of_a_block_is_half_a_pip(play, recorded):
    segmented = recorded("bcast", "chain", 3, elements=90, segment=10)
    opened, halves = play(segmented), []
    for state in segmented.states():
        cells = [cell for row in state for cell in row]
        part = sum(1 for cell in cells if cell and sum(hold.share for hold in cell) < 1)
        assert opened.shapes("half") == part
        halves.append(part)
        opened.press("ArrowRight")
    assert any(halves)


def test_pointing_at_a_message_or_a_block_marks_both_pictures(play, ring):
    opened = play(ring, at="#step=3")
    ends = opened.ask("endsOf(runs[0], runs[0].messages.find(({ frame }) => frame === 2))")
    middle = {"x": (ends[0] + ends[2]) / 2, "y": (ends[1] + ends[3]) / 2}
    opened.page.hover(".time svg", position=middle)
    assert "Message r0 → r1, 500 B, tag 0, 3.2 µs to 4.7 µs. c5 = r0 + r6 + r7" in opened.info
    assert "Sendrecv at reduce_scatter/ring.py:72: comm.Sendrecv(partial" in opened.info
    assert (opened.shapes("from"), opened.shapes("pick")) == (1, 1)

    opened.page.hover(".grid svg", position={"x": 40, "y": 30})
    assert opened.info.startswith("r0, c0 after RS 3: r0 (1 of 8).")
    assert opened.page.get_attribute(".time svg > path.diary", "d").count("z") == 14

    opened.page.click(".grid svg", position={"x": 40, "y": 30})
    opened.page.mouse.move(0, 0)
    opened.press("End")
    assert "r0, c0 after AG 7: r0 + r1 + r2 + r3 + r4 + r5 + r6 + r7 (8 of 8). Complete." in (
        opened.info
    )
    opened.press("Escape")
    assert opened.info.startswith("AG 7: 8 messages received")


def test_keys_go_through_a_focused_picture(play, ring):
    opened = play(ring, at="#step=1")
    opened.page.focus(".time svg")
    opened.press("ArrowDown")
    first = opened.info
    opened.press("ArrowDown")
    assert [first[:15], opened.info[:15]] == ["Message r0 → r1", "Message r1 → r2"]
    opened.page.focus(".grid svg")
    opened.press("ArrowDown")
    assert opened.info.startswith("r0, c6 after RS 1: r0 + r7 (2 of 8).")
    opened.press("Shift+ArrowDown", "Shift+ArrowLeft")
    assert opened.info.startswith("r1, c5 after RS 1: r1 (1 of 8).")
    opened.press("Shift+ArrowRight", "Enter", "ArrowRight")
    opened.ask("document.activeElement.blur()")
    assert opened.info.startswith("r1, c6 after RS 2: r0 + r1 + r7 (3 of 8).")


def test_calls_of_every_rank(play, recorded):
    opened = play(recorded("bcast", "binomial", 4), at="#step=1")
    rows = opened.page.locator(".calls li").all_inner_texts()
    text = [" ".join(row.split()) for row in rows]
    assert text[0].startswith("r0 Send: sends c0, c1, c2, c3 to r2 bcast/binomial.py:")
    assert text[1].startswith("r1 in Recv, waits for r0 bcast/binomial.py:")
    opened.press("End")
    text = opened.page.locator(".calls li").all_inner_texts()
    assert "waited" in text[1]
    assert all("comm." in row for row in text)


def test_what_was_never_received_does_not_count(play):
    def everyone_receives(comm, sendbuf, recvbuf, op):
        comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)
        comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)

    opened = play(record(everyone_receives, 3, collective="allreduce"), at="#step=1")
    assert opened.info == "step 1: 0 messages received, 0 blocks changed."
    assert "r0 waits for r2, r2 waits for r1" in opened.page.inner_text(".stuck")


def test_a_wrong_result_is_said_at_the_end(play, ring):
    def forgets(comm, sendbuf, recvbuf, op):
        comm.Sendrecv(sendbuf, dest=comm.rank, recvbuf=recvbuf.copy(), source=comm.rank)

    opened = play(record(forgets, 2, collective="allreduce"), at="#step=1")
    assert opened.info.endswith("WRONG: 4 blocks in the result.")
    opened.press("Home")
    assert "WRONG" not in opened.info
    assert "WRONG" not in play(ring, at="#step=14").info


def test_deadlock_is_explained(play, deadlock):
    opened = play(deadlock, at="#step=99")
    assert opened.page.inner_text(".stuck") == (
        "4 of 4 ranks wait forever, in a circle: "
        "r0 waits for r1, r1 waits for r2, r2 waits for r3, r3 waits for r0."
    )
    assert opened.info == "step 1: 0 messages received, 0 blocks changed."
    rows = opened.page.locator(".calls li").all_inner_texts()
    assert all("waits forever: Send to" in row and "conftest.py" in row for row in rows)
    paths = [path.get_attribute("d") for path in opened.page.locator("path.unfinished").all()]
    assert sum(path.count("M") for path in paths) == 4 + 1  # and the one of the key
    opened.press("Home")
    assert not opened.page.is_visible(".stuck")
