"""The player: one HTML file in which a person steps through one or two recorded runs.

The file holds all it needs and asks the network for nothing; what comes from a run, such as file
names and lines of code, is only ever shown as text.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collectives.recording import Recording

PAGE = Path(__file__).with_name("page")
SCRIPTS = ("state.js", "words.js", "pictures.js", "page.js")
LISTED = 500
"""Messages that the table for browsers without JavaScript has at most."""


def page(*recordings: Recording) -> str:
    """Return the HTML of a player for one run, or for two beside each other.

    Parameters
    ----------
    *recordings : Recording
        One or two runs.
    """
    if len(recordings) not in (1, 2):
        raise ValueError(f"the player shows one run or two; got {len(recordings)}")
    documents = [recording.as_json() for recording in recordings]
    style = _read("page.css")
    script = "\n".join(['"use strict";', *map(_read, SCRIPTS)])
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_read("page.html")).substitute(
        policy=policy,
        title=escape(" and ".join(f"{d['collective']} {d['algorithm']}" for d in documents)),
        style=style,
        messages="\n".join(_message_table(document) for document in documents),
        data=_embedded(documents),
        script=script,
    )


def write(path: str | Path, *recordings: Recording) -> None:
    """Write the player to a file: `page` says what of."""
    Path(path).write_text(page(*recordings), encoding="utf-8", errors="replace")


def _read(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return how a content security policy names the one script or style that may run."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(documents: list[dict[str, Any]]) -> str:
    r"""Return JSON that nothing in it can end the script element of.

    Examples
    --------
    >>> _embedded([{"code": "</script>&\u2028"}])
    '[{"code":"\\u003c/script\\u003e\\u0026\\u2028"}]'
    """
    text = json.dumps(documents, separators=(",", ":"), allow_nan=False)  # ASCII only
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _message_table(document: dict[str, Any]) -> str:
    titles = {index: frame["title"] for frame in document["frames"] for index in frame["events"]}
    lines = [
        f"<h2>{escape(document['collective'])} {escape(document['algorithm'])}</h2>",
        "<table>",
        "<tr><th>step</th><th>from</th><th>to</th><th>bytes</th><th>line</th></tr>",
    ]
    for message in document["messages"][:LISTED]:
        event = document["events"][message["send"]]
        cells = (
            titles.get(message["send"], ""),
            f"r{event['rank']}",
            f"r{event['peer']}",
            event["nbytes"],
            f"{event['file']}:{event['line']}",
        )
        lines.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    lines.append("</table>")
    more = len(document["messages"]) - LISTED
    if more > 0:
        lines.append(f"<p>{more} more messages are not listed.</p>")
    return "\n".join(lines)
