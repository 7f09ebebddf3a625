"""The player in a real browser: it opens, steps by button, key and address, and fits its place."""

from dataclasses import replace

import pytest

from collectives.draw.player import page

# ------------------------------------------------------------------ opening


def test_opens_without_a_complaint_and_asks_for_nothing(play, any_run):
    opened = play(any_run)
    opened.press("End", "Home", "z", "ArrowRight", "d")
    opened.page.hover(".time svg")
    assert opened.page.inner_text(".title") == f"{any_run.collective} / {any_run.algorithm}"
    assert opened.complaints == []
    assert opened.requests == [opened.address]


def test_heading_says_what_ran_where(play, ring):
    simulated, measured = play(ring), play(replace(ring, simulated=False, where="MPICH 5.0.2"))
    about = simulated.page.inner_text(".about")
    for part in ("8 ranks", "1000 float32 (4 kB)", "112 messages", "Hockney(alpha=1e-06"):
        assert part in about
    assert simulated.page.inner_text(".caption") == "Rank r owns block r."
    assert simulated.page.inner_text(".badge") == "SIMULATED (virtual time)"
    assert measured.page.inner_text(".badge") == "MEASURED"
    assert "MPICH 5.0.2" in measured.page.inner_text(".about")


def test_without_javascript_the_messages_are_a_table(play, ring):
    opened = play(ring, java_script_enabled=False)
    assert opened.page.locator("tr").count() == 1 + 112
    assert opened.page.locator("tr").nth(1).inner_text().split() == [
        "RS", "1", "r0", "r1", "500", "reduce_scatter/ring.py:72",
    ]  # fmt: skip


def test_shows_one_run_or_two(ring):
    with pytest.raises(ValueError, match="one run or two; got 0"):
        page()
    with pytest.raises(ValueError, match="one run or two; got 3"):
        page(ring, ring, ring)


# ------------------------------------------------------------------ steps


def test_steps_by_button(play, ring):
    opened = play(ring)
    assert opened.position == "step 0 of 14: start"
    for name, position in [
        ("One step forward", "step 1 of 14: RS 1"),
        ("One step forward", "step 2 of 14: RS 2"),
        ("One step back", "step 1 of 14: RS 1"),
        ("Last step", "step 14 of 14: AG 7"),
        ("First step", "step 0 of 14: start"),
    ]:
        opened.page.get_by_role("button", name=name, exact=True).click()
        assert opened.position == position


def test_steps_by_key(play, ring):
    opened = play(ring)
    for key, position in [
        ("ArrowRight", "step 1 of 14: RS 1"),
        ("End", "step 14 of 14: AG 7"),
        ("ArrowRight", "step 14 of 14: AG 7"),
        ("ArrowLeft", "step 13 of 14: AG 6"),
        ("Home", "step 0 of 14: start"),
        ("ArrowLeft", "step 0 of 14: start"),
    ]:
        opened.press(key)
        assert opened.position == position


def test_slider_steps(play, ring):
    opened = play(ring)
    opened.page.focus("#slider")
    opened.press("ArrowRight", "ArrowRight")
    assert opened.position == "step 2 of 14: RS 2"
    opened.press("End")
    assert opened.position == "step 14 of 14: AG 7"
    assert opened.page.get_attribute("#slider", "aria-valuetext") == "14 of 14: AG 7"


def test_plays_to_the_end_and_can_pause(play, ring):
    opened = play(ring)
    opened.page.select_option("#speed", "16")
    opened.page.get_by_role("button", name="Play").click()
    opened.wait_until("step === last")
    opened.page.get_by_role("button", name="Play").wait_for()
    opened.ask("document.activeElement.blur()")
    opened.press("Home", " ")
    opened.page.get_by_role("button", name="Pause").wait_for()
    opened.press(" ")
    stopped = opened.position
    opened.page.wait_for_timeout(200)
    assert opened.position == stopped


def test_says_the_step_in_words(play, ring):
    opened = play(ring)
    opened.press("ArrowRight")
    assert opened.page.get_attribute("#live", "aria-live") == "polite"
    assert opened.page.text_content("#live") == (
        "Step 1 of 14. RS 1: 8 messages received, 8 blocks changed: "
        "c6 on r0, c7 on r1, c0 on r2, c1 on r3 and more."
    )
    label = opened.page.get_attribute(".grid svg", "aria-label")
    assert label == "Contribution grid after RS 1: 8 ranks by 8 blocks, 8 changed, 0 complete."


@pytest.mark.parametrize(
    ("fragment", "step"),
    [("#step=5", 5), ("#run=1&step=3", 3), ("#step=999999999999999999999", 14), ("", 0),
     ("#step=-1", 0), ("#step=1e3", 0), ("#step=<b>", 0), ("#%E0%A4%A&step", 0)],
)  # fmt: skip
def test_address_names_the_step(play, ring, fragment, step):
    opened = play(ring, at=fragment)
    assert opened.position.startswith(f"step {step} of 14")
    assert opened.complaints == []


def test_address_follows_the_step_and_the_history_stays_short(play, ring):
    opened = play(ring, at="#step=5")
    before = opened.ask("history.length")
    opened.press("ArrowRight", "ArrowRight")
    opened.wait_until("location.hash === '#step=7'")
    assert opened.ask("history.length") == before
    opened.ask("location.hash = '#step=2'")
    opened.wait_until("step === 2")


# ------------------------------------------------------------------ two runs, widths, colours


def test_two_runs_step_together_at_the_same_size(play, ring, recorded):
    opened = play(ring, recorded("allreduce", "rabenseifner", 8, elements=1000), width=1600)
    boxes = [section.bounding_box() for section in opened.page.locator(".run").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["width"] == boxes[1]["width"]
    grids = [svg.bounding_box() for svg in opened.page.locator(".grid svg").all()]
    assert grids[0]["width"] == grids[1]["width"]
    opened.press(*["ArrowRight"] * 5)
    assert opened.position == "step 5 of 14: RS 5 | AG 2"
    opened.press("End")
    assert opened.position == "step 14 of 14: AG 7 | AG 3"
    assert opened.ask("runs.map((run) => run.step)") == [14, 6]
    assert opened.ask("runs[0].x(1e-6) - GUTTER === runs[1].x(1e-6) - GUTTER")  # one time scale


def test_two_runs_are_stacked_on_a_phone(play, ring, recorded):
    opened = play(ring, recorded("allreduce", "rabenseifner", 8), width=360)
    boxes = [section.bounding_box() for section in opened.page.locator(".run").all()]
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    assert not opened.overflows()


@pytest.mark.parametrize("width", [360, 800, 1600])
def test_fits_every_width(play, ring, deadlock, recorded, width):
    for run in (
        ring,
        deadlock,
        recorded("allreduce", "ring", 20),
        recorded("alltoall", "bruck", 8),
    ):
        opened = play(run, at="#step=99", width=width)
        assert not opened.overflows()
        opened.press("z")
        assert not opened.overflows()


def test_a_change_of_width_is_followed(play, ring):
    opened = play(ring, width=1600)
    opened.page.set_viewport_size({"width": 360, "height": 800})
    opened.wait_until("Number(runs[0].svg.grid.getAttribute('width')) < 360")
    assert not opened.overflows()
    assert opened.complaints == []


def brightness(opened):
    color = opened.ask("getComputedStyle(document.body).backgroundColor")
    return max(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))


def test_dark_and_light_by_preference_and_by_hand(play, ring):
    light, dark = play(ring, color_scheme="light"), play(ring, color_scheme="dark")
    assert brightness(light) > 200
    assert brightness(dark) < 60
    for opened in (light, dark):
        opened.page.get_by_role("button", name="Theme").click()
    assert brightness(light) < 60
    assert brightness(dark) > 200
    dark.page.emulate_media(media="print")
    assert brightness(dark) > 200
    assert not dark.page.is_visible("#controls")


def test_help_and_focus(play, ring):
    opened = play(ring)
    opened.press("Tab")
    assert opened.ask("document.activeElement.id") == "play"  # first and back are at their end
    assert opened.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.press("?")
    assert opened.page.is_visible("#keys")
    opened.press("ArrowRight")
    assert opened.position == "step 0 of 14: start"
    opened.press("Escape")
    assert not opened.page.is_visible("#keys")
