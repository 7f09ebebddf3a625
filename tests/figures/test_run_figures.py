"""Figures of one run: they draw what the recording says, in shapes, not in colours alone."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.collections import PatchCollection
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch
from matplotlib.text import Text

from collectives import find
from collectives.draw.figures._diary import diary, hops
from collectives.draw.figures._spacetime import spacetime
from collectives.draw.figures._waitfor import waitfor
from collectives.draw.figures.grid import contribution_grid
from collectives.draw.figures.spans import spans
from collectives.draw.figures.style import DARK, LIGHT, Picture, page
from collectives.op import SUM
from collectives.recorder import record
from collectives.recording import Recording
from collectives.sim import Hockney
from collectives.tracing import Event

SVG = "{http://www.w3.org/2000/svg}"


def ring_that_adds_twice(comm, sendbuf, recvbuf, op=SUM):
    """A ring all-reduce whose second half adds where it should copy."""
    p, rank = comm.size, comm.rank
    recvbuf[:] = sendbuf
    blocks = np.array_split(recvbuf, p)
    incoming = np.empty_like(blocks[0])
    for phase in range(2):
        for step in range(p - 1):
            outgoing = blocks[(rank - step + phase) % p].copy()
            target = blocks[(rank - step - 1 + phase) % p]
            comm.Sendrecv(outgoing, dest=(rank + 1) % p, recvbuf=incoming, source=(rank - 1) % p)
            op(target, incoming, out=target)


def send_first(comm, sendbuf, recvbuf, op=SUM):
    """Everybody sends, then receives: stuck where sends wait for their receivers."""
    comm.Send(sendbuf, dest=(comm.rank + 1) % comm.size)
    comm.Recv(recvbuf, source=(comm.rank - 1) % comm.size)


def wait_for_one_that_left(comm, sendbuf, recvbuf, op=SUM):
    """Rank 0 returns; rank 1 waits for it, and the others for the rank before them."""
    if comm.rank:
        comm.Recv(recvbuf, source=comm.rank - 1)


LAN = Hockney(alpha=5e-6, beta=1e-10, gamma=5e-11)
ALL = {
    "ring": record(find("allreduce", "ring"), 5),
    "tree": record(find("bcast", "binomial"), 6),
    "timed tree": record(find("reduce", "binomial"), 6, network=LAN, elements=40_000),
    "double tree": record(find("allreduce", "double_binary_tree"), 8),
    "segments": record(find("bcast", "chain"), 3, network=LAN, elements=40_000),
    "alltoall": record(find("alltoall", "bruck"), 6),
    "scan": record(find("scan", "recursive_doubling"), 5),
    "one rank": record(find("allreduce", "ring"), 1),
    "two ranks": record(find("allreduce", "ring"), 2),
    "no elements": record(find("allreduce", "ring"), 3, elements=0),
    "empty blocks": record(find("allreduce", "ring"), 5, elements=3),
    "many": record(find("allreduce", "recursive_doubling"), 17),
    "wrong": record(ring_that_adds_twice, 4, collective="allreduce", elements=12),
    "stuck": record(send_first, 4, collective="allreduce"),
}
DRAWN = {"grid": contribution_grid, "diary": diary, "space and time": spacetime}


@cache
def picture(kind: str, name: str, **options) -> Picture:
    return drawn_from(kind, ALL[name], **options)


def drawn_from(kind: str, recording: Recording, **options) -> Picture:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return DRAWN[kind](recording, **options)


def patches(drawn: Picture, gid: str) -> list:
    """Return the patches of all collections, and single ones, whose gid fits the pattern."""
    found = []
    for artist in drawn.figure.findobj(lambda a: re.fullmatch(gid, a.get_gid() or "")):
        found += artist.get_paths() if isinstance(artist, PatchCollection) else [artist]
    return found


def texts(drawn: Picture) -> str:
    return "\n".join(text.get_text() for text in drawn.figure.findobj(Text))


# ---------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", DRAWN)
def test_svg_is_well_formed_and_described(kind: str, name: str) -> None:
    drawn = picture(kind, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = drawn.svg()
    root = ElementTree.fromstring(svg)
    assert root.find(f"{SVG}title").text == drawn.title
    assert root.find(f"{SVG}desc").text == drawn.alt
    assert len(drawn.alt) > 60
    assert drawn.caption
    if name in ("tree", "stuck"):
        assert svg == drawn.svg(), "the same text every time"
    ids = Counter(element.get("id") for element in root.iter() if element.get("id"))
    assert max(ids.values()) == 1
    shown = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert drawn.caption.split()[0] in shown, "text is text, and the caption is drawn"


@pytest.mark.parametrize("kind", DRAWN)
def test_all_text_lies_on_the_page_in_both_themes(kind: str) -> None:
    for theme in (LIGHT, DARK):
        for name in ("alltoall", "one rank", "wrong"):
            figure = picture(kind, name, theme=theme).figure
            figure.draw_without_rendering()
            for text in figure.findobj(Text):
                if text.get_text() and text.get_visible() and text.axes is None:
                    assert figure.bbox.padded(2).contains(*text.get_window_extent().min)
                    assert figure.bbox.padded(2).contains(*text.get_window_extent().max)
                elif text.get_gid() is None and text.get_text() and text.get_visible():
                    box = text.get_window_extent()
                    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
                    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text


@pytest.mark.parametrize("kind", DRAWN)
def test_hostile_names_stay_text(kind: str) -> None:
    bad = "<script>alert(1)</script> $x^2$ & \x00\x1b \ud800 ]]>"
    run = replace(
        ALL["ring"], algorithm=bad, where=bad, caption=bad,
        columns=[f"{bad}{k}" for k in range(5)], pips=[f"{bad}{k}" for k in range(5)],
    )  # fmt: skip
    drawn = drawn_from(kind, run)
    svg = drawn.svg()
    root = ElementTree.fromstring(svg.encode("utf-8"))
    assert not list(root.iter(f"{SVG}script"))
    assert "<script" not in svg
    assert "$x^2$" in root.find(f"{SVG}title").text
    assert any("$x^2$" in (element.text or "") for element in root.iter(f"{SVG}text"))


def outlines(svg: str) -> list[tuple[str, ...]]:
    """Return all outlines that are drawn, each written out."""
    known, found = {}, []
    for element in ElementTree.fromstring(svg).iter():
        dx = dy = 0.0
        if element.tag == f"{SVG}use":
            dx, dy = float(element.get("x", 0)), float(element.get("y", 0))
            element = known[element.get("{http://www.w3.org/1999/xlink}href")[1:]]
        if element.tag == f"{SVG}path":
            known[element.get("id")] = element
            numbers = re.findall(r"-?[\d.]+", element.get("d"))
            look = element.get("style") or ""
            found.append(
                (look, *(f"{float(n) + (dx, dy)[k % 2]:.2f}" for k, n in enumerate(numbers)))
            )
    return sorted(found)


def test_what_is_drawn_often_is_written_once_and_stays_where_it_is(monkeypatch) -> None:
    drawn = picture("grid", "wrong")
    light = drawn.svg()
    monkeypatch.setattr("collectives.draw.figures.style.lighter", lambda svg: svg)
    full = drawn.svg()
    assert len(light) < len(full) / 4
    ours, theirs = outlines(light), outlines(full)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one[0] == other[0]
        assert [float(n) for n in one[1:]] == pytest.approx([float(n) for n in other[1:]], abs=0.02)


def test_picture_is_saved_as_its_ending_says(tmp_path) -> None:
    drawn = picture("grid", "two ranks")
    drawn.save(tmp_path / "grid.svg")
    drawn.save(tmp_path / "grid.png")
    assert (tmp_path / "grid.svg").read_text(encoding="utf-8") == drawn.svg()
    first = (tmp_path / "grid.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    drawn.save(tmp_path / "grid.png")
    assert (tmp_path / "grid.png").read_bytes() == first
    with pytest.raises(ValueError, match=r"grid\.pdf should end in \.svg or \.png"):
        drawn.save(tmp_path / "grid.pdf")


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_and_main_accents_can_be_read_on_the_paper(theme) -> None:
    assert contrast(theme.ink, theme.paper) > 7  # WCAG 2.2: 7 for text at level AAA
    assert contrast(theme.muted, theme.paper) > 4.5  # 4.5 at AA
    assert min(contrast(accent, theme.paper) for accent in theme.accents[:2]) > 3  # 3 for graphics


def test_labels_of_ticks_are_plain_text_too() -> None:
    with page(4, 2, title="A title", caption="A caption.") as sheet:
        axes = sheet.body.subplots()
    axes.set_xticks([0, 1], ["$n$", "$m$"])
    axes.text(0.5, 0.5, "$k$")
    svg = sheet.picture("alt").svg()
    for label in "nmk":
        assert f">${label}$<" in svg


def test_page_has_room_for_a_long_caption() -> None:
    with page(4, 2, title="A title", caption="word " * 300) as sheet:
        sheet.body.subplots()
    figure = sheet.picture("alt").figure
    figure.draw_without_rendering()
    (caption,) = (t for t in figure.findobj(Text) if t.get_gid() == "caption")
    (axes,) = figure.axes
    assert caption.get_window_extent().y1 < axes.bbox.y0
    assert caption.get_window_extent().x1 < figure.bbox.x1


# ---------------------------------------------------------------------- contribution grid


@pytest.mark.parametrize(
    "name", ["ring", "tree", "double tree", "alltoall", "scan", "wrong", "stuck", "empty blocks"]
)
def test_as_many_pips_are_drawn_as_contributions_are_there(name: str) -> None:
    run = ALL[name]
    drawn = drawn_from("grid", run)
    shown = {int(gid) for gid in re.findall(r'id="cell-step-(\d+)"', drawn.svg())}
    shown |= {int(gid) for gid in re.findall(r'id="changed-step-(\d+)"', drawn.svg())}
    for number, state in enumerate(run.states()):
        if number not in shown:
            continue
        once = twice = 0
        for cell in (cell for row in state for cell in row):
            most: Counter[int] = Counter()
            for hold in cell:
                for pip, times in Counter(hold.pips).items():
                    most[pip] = max(most[pip], times)
            once += sum(times == 1 for times in most.values())
            twice += sum(times > 1 for times in most.values())
        there = patches(drawn, rf"(full|half)-step-{number}")
        assert len(there) == once, f"step {number}"
        assert len(patches(drawn, rf"twice-step-{number}")) == twice
        assert len(patches(drawn, rf"ring-step-{number}")) == twice
        pips = run.ranks * len(run.filled) * len(run.pips)
        missing = patches(drawn, rf"missing-step-{number}")
        assert len(there) + twice + len(missing) == pips
    assert {0, len(run.states()) - 1} <= shown


def test_parts_of_blocks_are_half_pips() -> None:
    run = ALL["segments"]
    parts = [
        sum(0 < sum(h.share for h in cell if pip in h.pips) < 1 - 1e-9 for pip in range(3))
        for row in run.states()[1] for cell in row
    ]  # fmt: skip
    drawn = drawn_from("grid", run)
    assert len(patches(drawn, "half-step-1")) == sum(parts) == len(patches(drawn, "rim-step-1"))
    assert sum(parts) > 0


def test_complete_blocks_have_a_thick_frame() -> None:
    for name, complete in (("ring", 25), ("tree", 36), ("alltoall", 36), ("scan", 25)):
        last = len(ALL[name].states()) - 1
        drawn = picture("grid", name)
        assert len(patches(drawn, f"whole-step-{last}")) == complete, name
        assert not patches(drawn, f"wrong-step-{last}"), name
    assert len(patches(picture("grid", "empty blocks"), "whole-step-8")) == 15
    assert len(patches(picture("grid", "ring"), "whole-step-4")) == 5


def test_wrong_run_is_seen_without_colour() -> None:
    drawn = picture("grid", "wrong")
    last = len(ALL["wrong"].states()) - 1
    assert len(patches(drawn, f"whole-step-{last}")) == 4
    assert len(patches(drawn, f"wrong-step-{last}")) == 12
    (wrong,) = drawn.figure.findobj(lambda a: a.get_gid() == f"wrong-step-{last}")
    (whole,) = drawn.figure.findobj(lambda a: a.get_gid() == f"whole-step-{last}")
    assert wrong.get_linestyle() != whole.get_linestyle()
    assert "12 of 16 blocks are not as they must be" in drawn.caption
    assert "after step 4, block c0 on r0 has r0..r3, and r0 more than once" in drawn.caption


def test_what_is_missing_at_the_end_is_marked() -> None:
    drawn = picture("grid", "stuck")
    assert len(patches(drawn, "wrong-step-1")) == 16
    assert "c0 on r0 has r0 and lacks r1..r3" in drawn.caption


def test_caption_tells_how_contributions_grow() -> None:
    growth = "After step s, up to step 4, the fullest block has s + 1 ranks in it."
    assert growth in picture("grid", "ring").caption
    assert "2^s ranks" in picture("grid", "scan").caption
    tree = picture("grid", "tree").caption  # six blocks on each rank that has them
    assert tree == "Complete blocks from the start on, step by step: 6, 12, 24, 36."
    assert "the fullest" not in picture("grid", "double tree").caption
    assert "No elements: c3, c4." in picture("grid", "empty blocks").caption
    long = drawn_from("grid", record(find("allreduce", "ring"), 9))
    assert "Shown are 6 of 17 states" in long.caption
    assert drawn_from("grid", replace(ALL["ring"], caption="Mine.")).caption.startswith("Mine. ")


def test_panels_are_in_reading_order() -> None:
    drawn = picture("grid", "ring")
    titles = ["start", *(frame.title for frame in ALL["ring"].frames())]
    (axes,) = drawn.figure.axes
    places = {text.get_text(): text.get_position() for text in axes.texts}
    found = [places[title] for title in titles]
    assert found == sorted(found, key=lambda place: (-place[1], place[0]))
    assert found[0] == (min(x for x, _ in found), max(y for _, y in found))
    key = places["complete"]
    assert min(y for _, y in found) - key[1] < 3, "no empty row above the key"
    assert all(y > key[1] + 1 for _, y in found)


def test_many_ranks_have_bars_as_long_as_what_is_there() -> None:
    run = ALL["many"]
    drawn = drawn_from("grid", run)
    shown = 0
    for number, state in enumerate(run.states()):
        if not patches(drawn, f"(cell|changed)-step-{number}"):
            continue
        shown += 1
        lengths = [path.get_extents().width for path in patches(drawn, f"full-step-{number}")]
        there = [sum(len(h.pips) for h in cell) / 17 for row in state for cell in row]
        cell = max(box.get_extents().width for box in patches(drawn, "(cell|changed)-step-0"))
        assert lengths == pytest.approx([max(share * cell, 0.012) for share in there])
    assert shown == 6


def test_grid_says_what_it_cannot_show() -> None:
    with pytest.raises(ValueError, match="barrier/tree moves no data"):
        contribution_grid(record(find("barrier", "tree"), 4))
    with pytest.raises(ValueError, match="grid of 129 ranks cannot be read; at most 128"):
        contribution_grid(replace(ALL["ring"], ranks=129))


# ---------------------------------------------------------------------- diary


def test_block_of_a_ring_visits_everybody_twice_but_for_two() -> None:
    way = hops(ALL["ring"], 3)
    assert len(way) == 2 * (5 - 1)
    for hop, following in pairwise(way):
        assert following.message.send.rank == hop.message.send.peer
    assert [len(hop.parts[0].pips) for hop in way] == [1, 2, 3, 4, 5, 5, 5, 5]
    drawn = picture("diary", "ring", column=3)
    assert "8 hops in 8 of 8 steps. After 4 hops it is complete on r3" in drawn.caption
    assert len(patches(drawn, r"hop-\d+")) == 8


def test_hops_are_sorted_however_the_events_are() -> None:
    run = ALL["double tree"]
    other = replace(run, events=sorted(run.events, key=lambda e: (-e.rank, e.step, e.start)))
    ends = [(hop.step, hop.message.send.rank, hop.message.send.peer) for hop in hops(other, 1)]
    assert ends == sorted(ends)
    assert [number for number, *_ in hops(other, 1)] == list(range(1, len(ends) + 1))


def test_block_of_a_tree_draws_the_tree() -> None:
    way = hops(ALL["tree"], 2)
    assert sorted(hop.message.send.peer for hop in way) == [1, 2, 3, 4, 5]
    reached = {0}
    for hop in way:
        assert hop.message.send.rank in reached
        reached.add(hop.message.send.peer)


def test_arrows_of_a_diary_differ_without_colour() -> None:
    drawn = picture("diary", "wrong")
    way = hops(ALL["wrong"], 0)
    styles: dict[str, set] = {"whole": set(), "part": set(), "twice": set()}
    for hop in way:
        (arrow,) = patches(drawn, f"hop-{hop.number}")
        assert isinstance(arrow, FancyArrowPatch)
        counted = Counter(hop.parts[0].pips)
        kind = "twice" if max(counted.values()) > 1 else "whole" if len(counted) == 4 else "part"
        styles[kind].add(str(arrow.get_linestyle()))
    assert [len(found) for found in styles.values()] == [1, 1, 1]
    assert len(set.union(*styles.values())) == 3
    assert "The first mistake: what r0 sends to r1 in step 5, dotted, has r0..r3 (twice: r0)" in (
        drawn.caption
    )


def test_diary_lists_every_hop_or_says_how_many_are_left_out() -> None:
    drawn = picture("diary", "alltoall", column=1)
    assert "1: r1 → r2\nto r0, to r2, to r4" in texts(drawn)
    run = record(find("allreduce", "ring"), 4)
    long = texts(drawn_from("diary", replace(run, events=repeated(run, 12))))
    assert "7 more hops" in long
    assert len(re.findall(r"^(\d+): r", long, re.M)) == 72 - 7


def repeated(recording: Recording, times: int) -> list[Event]:
    """Return the events of a run that is done several times, one after the other."""
    step = max(event.step for event in recording.events)
    number = 1 + max(event.number for event in recording.events)
    return [
        replace(event, step=event.step + k * step, number=event.number + k * number,
                start=event.start + k * recording.time, end=event.end + k * recording.time)
        for k in range(times) for event in recording.events
    ]  # fmt: skip


def test_diary_of_a_block_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="allreduce/ring has 5 blocks; got 5"):
        diary(ALL["ring"], 5)
    with pytest.raises(ValueError, match="got -1"):
        diary(ALL["ring"], -1)
    assert "It has no elements." in picture("diary", "empty blocks", column=4).caption
    assert "It never leaves its rank." in picture("diary", "one rank").caption


# ---------------------------------------------------------------------- space and time


def test_waiting_is_what_the_recording_says() -> None:
    run = ALL["timed tree"]
    waited = sum(span.end - span.start for span in spans(run) if span.kind == "wait")
    assert waited == pytest.approx(sum(seconds for *_, seconds in run.waits()))
    assert waited == pytest.approx(29e-6)  # r4 waits while r0 receives from r2 and combines
    assert "29 us" in drawn_from("space and time", run).caption


def test_spans_of_a_rank_fill_its_calls_without_overlap() -> None:
    for run in ALL.values():
        for rank in range(run.ranks):
            mine = [span for span in spans(run) if span.rank == rank]
            for one, following in pairwise(mine):
                assert one.end <= following.start + 1e-12
            ends = [event.end for event in run.events if event.rank == rank]
            if mine and all(map(math.isfinite, ends)):
                assert mine[-1].end == pytest.approx(max(ends))


def test_every_message_is_an_arrow_from_when_it_starts_to_when_it_ends() -> None:
    run = ALL["timed tree"]
    drawn = drawn_from("space and time", run)
    arrows = patches(drawn, r"message-\d+")
    assert len(arrows) == len(run.messages())
    points = [arrow._posA_posB for arrow in arrows]
    scale = max(end[0] for _, end in points) - min(start[0] for start, _ in points)
    last = max(message.end for message in run.messages())
    for message, (start, end) in zip(run.messages(), points, strict=True):
        assert (end[0] - start[0]) / scale == pytest.approx((message.end - message.start) / last)
    heights = {m.send.rank: start[1] for m, (start, _) in zip(run.messages(), points, strict=True)}
    assert sorted(heights, key=heights.get, reverse=True) == sorted(heights)


def test_boxes_differ_without_colour() -> None:
    drawn = picture("space and time", "timed tree")
    hatches, heights = {}, {}
    for kind in ("wait", "move", "combine"):
        (boxes,) = drawn.figure.findobj(lambda a, kind=kind: a.get_gid() == kind)
        hatches[kind] = boxes.get_hatch()
        heights[kind] = max(path.get_extents().height for path in boxes.get_paths())
    assert hatches["wait"]
    assert not hatches["move"]
    assert heights["combine"] > 1.3 * heights["move"]


def test_messages_that_never_arrive_are_dashed() -> None:
    lost = patches(picture("space and time", "stuck"), r"message-\d+")
    fine = patches(picture("space and time", "ring"), r"message-\d+")
    assert {arrow.get_linestyle() for arrow in fine} == {"-"}
    assert "-" not in {arrow.get_linestyle() for arrow in lost}
    assert len(lost) == 4
    assert "4 of them never arrived" in picture("space and time", "stuck").caption


def test_title_says_simulated_or_measured() -> None:
    assert picture("space and time", "ring").title.endswith("simulated")
    measured = replace(ALL["ring"], simulated=False, where="MPICH")
    assert drawn_from("space and time", measured).title.endswith("measured")
    assert "(measured, MPICH)" in drawn_from("space and time", measured).caption


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="lines of 300 ranks cannot be told apart"):
        spacetime(replace(ALL["ring"], ranks=300))


# ---------------------------------------------------------------------- wait-for graph


def nodes(drawn: Picture) -> dict[int, Patch]:
    return {int(patch.get_gid().split("-")[1]): patch for patch in patches(drawn, r"rank-\d+")}


def test_circle_of_a_deadlock_is_bold_and_has_source_lines() -> None:
    drawn = waitfor(ALL["stuck"])
    svg = drawn.svg()
    assert ElementTree.fromstring(svg).find(f"{SVG}desc").text == drawn.alt
    for rank in range(4):
        peer = (rank + 1) % 4
        for part in ("circle", "inner", "head"):
            assert len(patches(drawn, f"{part}-{rank}-{peer}")) == 1
        (outer,), (inner,) = (patches(drawn, f"{p}-{rank}-{peer}") for p in ("circle", "inner"))
        assert outer.get_linewidth() > 2 * inner.get_linewidth()
        assert f"r{rank} Send to r{peer}" in texts(drawn)
    assert texts(drawn).count("test_run_figures.py:") == 4
    assert "4 of 4 ranks wait forever, 4 of them in a circle: r0 → r1 → r2 → r3 → r0" in (
        drawn.caption
    )
    assert svg == waitfor(ALL["stuck"]).svg()


def test_ranks_that_returned_are_dotted_and_edges_outside_a_circle_are_thin() -> None:
    drawn = waitfor(record(wait_for_one_that_left, 4, collective="allreduce"))
    assert not patches(drawn, r"circle-.*")
    thin = {artist.get_gid() for artist in patches(drawn, r"waits-.*")}
    assert thin == {"waits-1-0", "waits-2-1", "waits-3-2"}
    assert [nodes(drawn)[rank].get_linestyle() for rank in (0, 1)] == [":", "solid"]
    assert "not in a circle: r1 for r0, which is in no call" in drawn.caption


def test_nodes_do_not_overlap() -> None:
    for p in (1, 2, 6, 16, 21):
        drawn = waitfor(record(send_first, p, collective="allreduce"))
        boxes = [patch.get_window_extent() for patch in nodes(drawn).values()]
        assert len(boxes) == p
        assert isinstance(nodes(drawn)[0], FancyBboxPatch)
        for k, box in enumerate(boxes):
            assert box.count_overlaps(boxes[k + 1 :]) == 0, p
    assert "They are in Send at figures/test_run_figures.py" in drawn.caption


def test_run_that_ended_has_no_wait_for_graph() -> None:
    with pytest.raises(ValueError, match="allreduce/ring ended"):
        waitfor(ALL["ring"])
