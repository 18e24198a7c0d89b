"""Whether answers are worth keeping is told from how many rows were asked about, and how many of them were known."""

from __future__ import annotations

import numpy as np

from fairstress.model import answers
from fairstress.model.answers import Answers


def test_rows_that_are_known_count_as_asked_about_and_as_found():
    ask, rows = Answers(lambda Z: Z[:, 0], keeps=True), np.arange(20.0).reshape(10, 2)
    for some in (rows, rows, rows[5:]):
        ask(some)
    assert ask.known is not None
    assert (ask.known.asked, ask.known.found) == (25, 15)


def test_answers_are_kept_while_enough_of_the_rows_come_again(monkeypatch):
    monkeypatch.setattr(answers, "TRIALS", 10)
    ask, rows = Answers(lambda Z: Z[:, 0], keeps=True), np.arange(20.0).reshape(10, 2)
    for _ in range(10):
        ask(rows)
    assert ask.keeps
