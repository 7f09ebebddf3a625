"""No text of a run, however hostile, is ever more than text."""

import linecache
from dataclasses import replace

from collectives.recorder import record

ATTACK = "</script ><img src=x onerror=attack()><!--<script>\u2028&amp;"


def test_text_is_only_text(play):
    file = f"/tmp/{ATTACK.replace('/', '')}.py"
    source = (
        f"def f(comm, *_, **__):\n    comm.Send(__import__('numpy').zeros(1), dest=0)  # {ATTACK}\n"
    )
    linecache.cache[file] = (len(source), None, [line + "\n" for line in source.split("\n")], file)
    names = {}
    exec(compile(source, file, "exec"), names)
    run = record(names["f"], 2, collective="allreduce")
    run = replace(
        run, algorithm=ATTACK, where=ATTACK, caption=ATTACK, dtype=ATTACK, columns=[ATTACK, "c1"],
        pips=[ATTACK, "r1"], options={ATTACK: ATTACK}, stuck=replace(run.stuck, text=ATTACK),
    )  # fmt: skip
    for javascript in (True, False):
        opened = play(run, at="#step=1", java_script_enabled=javascript)
        assert opened.page.locator("img").count() == 0
        assert opened.page.locator("script").count() == 2
        assert opened.complaints == []
        assert len(opened.requests) == 1
    opened = play(run, at="#step=1")
    assert opened.page.text_content(".title") == f"allreduce / {ATTACK}"
    assert opened.page.text_content(".caption") == ATTACK
    assert ATTACK in opened.page.text_content(".calls code")
    opened.page.focus(".time svg")
    opened.press("ArrowDown")
    assert "onerror" in opened.info
    assert opened.page.locator("img").count() == 0


def test_policy_lets_no_other_script_run(play, ring):
    opened = play(ring)
    opened.ask(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{ textContent: 'window.attacked = true' }))"
    )
    assert opened.ask("window.attacked === undefined")
    assert "Content Security Policy" in opened.complaints[0]
