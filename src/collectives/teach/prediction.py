"""What a reader expects of a run, asked before it and shown beside what was counted."""

from __future__ import annotations

import argparse
import os
import re
import select
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from collectives.draw.text import WIDTH, nbytes, seconds
from collectives.launch import World

PATIENCE = 60
"""Seconds to wait for an answer that is not typed on a terminal."""

ASK: Final = True
"""What ``--predict`` alone stands for."""

Answer = float | str
"""A number, in bytes or seconds where the unit is one of these; or the letter of a choice."""

_SCALES = {
    "B": {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30},
    "s": {"": 1, "S": 1, "MS": 1e-3, "US": 1e-6, "NS": 1e-9},
}


@dataclass(frozen=True)
class Prediction:
    """A question about a run that has not begun.

    Parameters
    ----------
    ask : callable
        ``ask(p, options)`` returns the question.
    answer : callable
        ``answer(world, options)`` returns what the run gave: a number, or the letter of a choice.
    unit : str
        Of the number: ``B`` for bytes and ``s`` for seconds, which are written with kB, ms and so
        on, or any word, such as ``messages``.
    choices : sequence of str
        What there is to choose from, as a, b, c, ...; empty where a number is wanted.
    """

    ask: Callable[[int, argparse.Namespace], str]
    answer: Callable[[World, argparse.Namespace], Answer]
    unit: str = ""
    choices: Sequence[str] = ()

    def question(self, p: int, options: argparse.Namespace) -> list[str]:
        """Return the lines of the question."""
        lines = self.ask(p, options).split("\n")
        return lines + [f"  {letter}) {choice}" for letter, choice in self._lettered()]

    def read(self, text: str) -> Answer:
        """Return the answer that a reader typed; ValueError says what is wrong with it.

        Examples
        --------
        >>> of_bytes = Prediction(lambda p, options: "?", lambda world, options: 0, unit="B")
        >>> of_bytes.read("1.5 MB"), of_bytes.read("7/4")
        (1500000.0, 1.75)
        """
        text = text.strip()
        if self.choices:
            letters = [letter for letter, _ in self._lettered()]
            if text.lower() not in letters:
                raise ValueError(f"{text!r}, wants one of {', '.join(letters)}")
            return text.lower()
        number, unit = re.fullmatch(r"([^a-zA-Z]*(?:e[-+]?\d+)?)(.*)", text).groups()  # type: ignore[union-attr]
        scale = _SCALES.get(self.unit, {"": 1, self.unit.upper(): 1})
        if unit.strip().upper() not in scale:
            raise ValueError(f"{text!r}, wants a number{self._wanted()}")
        try:
            return float(Fraction(number.replace(",", "").strip())) * scale[unit.strip().upper()]
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{text!r}, wants a number{self._wanted()}") from None

    def compared(self, guess: Answer | None, world: World, options: argparse.Namespace) -> str:
        """Return what was expected beside what the run gave."""
        truth = self.answer(world, options)
        shown = f"the run says {self.written(truth)}"
        if guess is None:
            return shown
        said = f"you said {self.written(guess)}, {shown}"
        if isinstance(truth, str) or isinstance(guess, str):
            return f"{said}: {'right' if guess == truth else 'not so'}"
        if abs(guess - truth) <= 0.01 * abs(truth):
            return f"{said}: right"
        if guess > 0 < truth:
            times = max(guess, truth) / min(guess, truth)
            return f"{said}: {times:.3g} times too {'much' if guess > truth else 'little'}"
        return f"{said}: not so"

    def written(self, answer: Answer) -> str:
        """Write an answer with its unit, or a choice with its letter."""
        if isinstance(answer, str):
            return f"{answer}) {dict(self._lettered())[answer]}"
        if self.unit in _SCALES:
            return (nbytes if self.unit == "B" else seconds)(answer)
        return f"{answer:.4g} {self.unit}".strip()

    def _wanted(self) -> str:
        examples = {"B": ", such as 1500 or 1.5 kB", "s": ", such as 0.002 or 2 ms"}
        return examples.get(self.unit, f" of {self.unit}" if self.unit else "")

    def _lettered(self) -> list[tuple[str, str]]:
        return list(zip("abcdefgh", self.choices, strict=False))


def asked(prediction: Prediction, p: int, options: argparse.Namespace) -> Answer | None:
    """Ask the reader, on rank 0; None where nobody answers."""
    print("before the run")
    for line in prediction.question(p, options):
        print(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  "))
    while (line := _line("your answer: ")).strip():
        try:
            return prediction.read(line)
        except ValueError as error:
            print(f"  that is {error}")
    print("(no answer; the run goes on)\n", flush=True)
    return None


def _line(prompt: str) -> str:
    """Return a line from the reader; nothing where nobody is there.

    Under mpirun the terminal reaches rank 0 through a pipe, which may also have nobody behind it.
    """
    if sys.stdin is None or sys.stdin.closed:
        return ""
    print(prompt, end="" if sys.stdin.isatty() else "\n", flush=True)
    if sys.stdin.isatty():
        return sys.stdin.readline()
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([sys.stdin], [], [], PATIENCE)[0]:
            return ""
        letter = os.read(sys.stdin.fileno(), 1)
        if not letter:
            break
        line += letter
    return line.decode(errors="replace")


def value(prediction: Prediction) -> Callable[[str], Any]:
    """Return what reads ``--predict=VALUE``."""

    def read(text: str) -> Answer:
        try:
            return prediction.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
