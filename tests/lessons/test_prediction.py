"""What a reader types before a run, and what is made of it."""

import pytest

from collectives.launch import World
from collectives.teach.prediction import Prediction

WORLD = World(4, "", [None] * 4)


def predict(truth, unit="", choices=()):
    return Prediction(lambda p, options: "?", lambda world, options: truth, unit, choices)


@pytest.mark.parametrize(
    ("unit", "text", "number"),
    [
        ("B", "700 kB", 700e3),
        ("B", "0.7MB", 700e3),
        ("B", " 2 KiB ", 2048),
        ("B", "700,000", 700e3),
        ("B", "7e5", 7e5),
        ("s", "20 us", 20e-6),
        ("s", "0.5", 0.5),
        ("S", "7/4", 1.75),
        ("S", "1.75 S", 1.75),
        ("messages", "14 messages", 14),
        ("", "14", 14),
    ],
)
def test_numbers(unit, text, number):
    assert predict(0, unit).read(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "much", "1/0", "3 s", "1 2", "--", "1e", "nan kB"])
def test_not_numbers(text):
    with pytest.raises(ValueError, match="wants a number, such as 1500"):
        predict(0, "B").read(text)


def test_letters():
    prediction = predict("b", choices=("grows", "stays"))
    assert prediction.read(" B ") == "b"
    assert prediction.question(4, None) == ["?", "  a) grows", "  b) stays"]
    with pytest.raises(ValueError, match="wants one of a, b"):
        prediction.read("c")


@pytest.mark.parametrize(
    ("truth", "unit", "guess", "said"),
    [
        (700e3, "B", None, "the run says 700 kB"),
        (700e3, "B", 701e3, "you said 701 kB, the run says 700 kB: right"),
        (700e3, "B", 1.4e6, "you said 1.4 MB, the run says 700 kB: 2 times too much"),
        (2e-3, "s", 1e-3, "you said 1 ms, the run says 2 ms: 2 times too little"),
        (0, "messages", 3, "you said 3 messages, the run says 0 messages: not so"),
        (0, "", 0, "you said 0, the run says 0: right"),
        (14, "S", -1, "you said -1 S, the run says 14 S: not so"),
    ],
)
def test_compared(truth, unit, guess, said):
    assert predict(truth, unit).compared(guess, WORLD, None) == said


def test_choices_compared():
    prediction = predict("b", choices=("grows", "stays"))
    assert (
        prediction.compared("b", WORLD, None) == "you said b) stays, the run says b) stays: right"
    )
    assert prediction.compared("a", WORLD, None).endswith("the run says b) stays: not so")
