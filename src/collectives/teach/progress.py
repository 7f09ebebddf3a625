"""What a learner has asked for, kept in one small file beside the exercises: hints, giving up."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

NAME = ".progress.json"


class Progress:
    """The record of the exercises in one folder.

    Parameters
    ----------
    folder : Path
        Where the submissions are.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        try:
            known = json.loads(self.path.read_text())
        except (OSError, ValueError):
            known = {}
        self.known: dict[str, dict[str, Any]] = known if isinstance(known, dict) else {}

    def hints(self, exercise: str, diagnosis: str, *, another: bool = False) -> int:
        """Return how many hints are given by now; a new mistake begins with the first."""
        entry = self._entry(exercise)
        if entry.get("diagnosis") != diagnosis:
            entry.update(diagnosis=diagnosis, hints=1)
        elif another:
            entry["hints"] = min(3, int(entry.get("hints", 1)) + 1)
        self._save()
        return int(entry["hints"])

    def gave_up(self, exercise: str) -> None:
        """Note that the solution was shown before it was found."""
        self._entry(exercise)["gave_up"] = time.strftime("%Y-%m-%d %H:%M:%S")
        self._save()

    def solved(self, exercise: str) -> None:
        self._entry(exercise)["solved"] = time.strftime("%Y-%m-%d %H:%M:%S")
        self._save()

    def _entry(self, exercise: str) -> dict[str, Any]:
        entry = self.known.setdefault(exercise, {})
        if not isinstance(entry, dict):
            entry = self.known[exercise] = {}
        return entry

    def _save(self) -> None:
        with contextlib.suppress(OSError):  # a folder of others: hints are counted anew every time
            self.path.write_text(json.dumps(self.known, indent=2) + "\n")
