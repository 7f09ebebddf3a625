"""The pages build, show every algorithm, and ask nothing of the network."""

import doctest
import importlib
import re
from html import unescape
from pathlib import Path

import pytest

from collectives.draw.figures import DARK, LIGHT
from collectives.registry import algorithms

ROOT = Path(__file__).parents[2]
LESSONS = sorted(file.stem for file in ROOT.glob("lessons/[!_]*.py"))
STEP_BY_STEP = [entry for entry in algorithms() if entry.kind == "step by step"]
OUTSIDE = re.compile(
    r"""<(?!a\s)\w+[^>]*\s(?:src|href|srcset|data|poster)=["']?(?:\w+:)?//|url\(["']?(?:\w+:)?//"""
    r"""|@import\s+["'](?:\w+:)?//"""
)


def figures(html: str, theme: str) -> list[tuple[str, str, str]]:
    """Return address, description and caption of the pictures for pages of this theme."""
    found = []
    for figure in re.findall(rf"<figure [^>]*\bonly-{theme}\b.*?</figure>", html, re.DOTALL):
        image = re.search(r"<img[^>]*>", figure)[0]
        alt, address = (re.search(rf'{name}="([^"]*)"', image) for name in ("alt", "src"))
        caption = re.search(r'caption-text">(.*?)</span>', figure, re.DOTALL)
        found.append((address[1], unescape(alt[1]), caption[1].strip()))
    return found


def test_pages_build_without_a_warning(pages):
    assert not pages.complaints
    assert (pages.folder / "collectives" / "allreduce.html").exists()


@pytest.mark.parametrize("entry", STEP_BY_STEP, ids=str)
def test_every_algorithm_is_shown(pages, entry):
    page = pages.folder / "pictures" / "collectives" / f"{entry.collective}.html"
    anchor = re.escape(entry.name.replace("_", "-"))
    section = re.search(rf'<section id="{anchor}">.*?</section>', page.read_text(), re.DOTALL)[0]
    titles = ["space and time"]
    if entry.collective != "barrier":  # it has no blocks
        titles.insert(0, "who is in which block")
    for theme in (LIGHT, DARK):
        shown = figures(section, theme.name)
        assert len(shown) == len(titles)
        for (address, alt, caption), title in zip(shown, titles, strict=True):
            svg = (page.parent / address).read_text()
            assert f"<title>{entry}: {title}" in svg
            assert theme.paper in svg
            assert len(alt) > 40
            assert caption


def test_every_picture_has_its_description_and_caption(pages):
    for page in (pages.folder / "pictures").glob("*.html"):
        light, dark = (figures(page.read_text(), theme) for theme in ("light", "dark"))
        assert [shown[1:] for shown in light] == [shown[1:] for shown in dark]
        for address, alt, caption in light + dark:
            assert (page.parent / address).exists()
            assert len(alt) > 40, page
            assert caption, page


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_lesson_shows_its_figure_its_output_and_its_run(pages, lesson):
    page = pages.folder / "lessons" / f"{lesson}.html"
    html = page.read_text()
    words = []
    for theme in (LIGHT, DARK):
        ((address, *said),) = figures(html, theme.name)
        svg = (page.parent / address).read_text()
        assert "<title>" in svg
        assert theme.paper in svg
        words.append(said)
    assert words[0] == words[1]
    assert min(map(len, words[0])) > 30  # description and caption
    blocks = [
        unescape(re.sub("<[^>]*>", "", block))
        for block in re.findall("<pre>(.*?)</pre>", html, re.DOTALL)
    ]
    (output,) = (block for block in blocks if block.startswith(f"$ python lessons/{lesson}.py"))
    for said in (
        "LESSON  ",
        "simulated in one process",
        "PASS",
        "predict  the run says",
        "try next 1)",
    ):
        assert said in output
    assert "FAIL" not in output
    assert (ROOT / "lessons" / f"{lesson}.py").read_text().strip() in [
        block.strip() for block in blocks
    ]
    player = re.search(r'href="([^"]*)">Step through the run', html)[1]
    assert "default-src 'none'" in (page.parent / player).read_text()


def test_the_course_begins_with_the_syllabus(pages):
    html = (pages.folder / "lessons" / "index.html").read_text()
    listed = re.findall(r'<td><p><a [^>]*href="(\w+)\.html"><span[^>]*><code', html)
    assert sorted(listed) == LESSONS
    for lesson, after in zip(listed, [*listed[1:], "exercises"], strict=True):
        page = (pages.folder / "lessons" / f"{lesson}.html").read_text()
        assert re.search(rf'<a class="right-next"\s+href="{after}.html"', page)


@pytest.mark.parametrize("name", ["lesson_pages"])
def test_examples_of_what_writes_pages(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed


def test_nothing_failed_or_was_left_out(pages):
    scripts = {file.stem for file in (ROOT / "docs/gallery").glob("*.py")}
    built = {file.stem for file in (pages.folder / "pictures").glob("*.html")}
    assert built == scripts | {"index"}


def test_no_page_asks_the_network_for_anything(pages):
    files = [file for ending in ("html", "css") for file in pages.folder.rglob(f"*.{ending}")]
    assert [
        (file.name, found[0]) for file in files if (found := OUTSIDE.search(file.read_text()))
    ] == []


def test_the_player_steps_inside_its_page(pages, chromium):
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((pages.folder / "pictures" / "player.html").as_uri())
    player = next(frame for frame in page.frames if frame is not page.main_frame)
    assert "default-src 'none'" in player.content()
    assert player.inner_text("#position") == "step 0 of 14: start"
    assert player.locator(".run").count() == 2
    player.click("#forward")
    page.keyboard.press("ArrowRight")  # the click has moved the focus into the player
    for _ in range(500):
        if player.inner_text("#position").startswith("step 2 of 14"):
            break
        page.wait_for_timeout(20)
    else:
        raise AssertionError(player.inner_text("#position"))
    context.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert [text for text in complaints if "theme" not in text] == []  # the theme tells its colours
