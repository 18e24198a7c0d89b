from __future__ import annotations

import numpy as np
import pytest

from fairstress.model import answers
from fairstress.model.answers import Answers


class Asked:
    """A predictor that counts the rows that it is asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, Z):
        self.rows += len(Z)
        return Z[:, 0] - 2 * Z[:, 1]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.integers(0, 5, (1000, 3)).astype(float)


@pytest.mark.parametrize("keeps", [False, True])
def test_answers_are_the_predictors_own(rows, keeps):
    ask = Answers(Asked(), keeps)
    for some in (rows, rows[::3], rows + 1, rows):
        np.testing.assert_array_equal(ask(some), Asked()(some))


def test_each_distinct_row_is_asked_for_once(rows):
    asked = Asked()
    ask = Answers(asked, keeps=True)
    ask(rows)
    ask(rows[::-1])
    assert asked.rows == len(np.unique(rows, axis=0))


def test_nothing_is_kept_of_a_predictor_whose_answers_depend_on_company(rows):
    asked = Asked()
    ask = Answers(asked, keeps=False)
    ask(rows)
    ask(rows)
    assert asked.rows == 2 * len(np.unique(rows, axis=0))


def test_what_is_kept_stays_within_bounds(rows, monkeypatch):
    monkeypatch.setattr(answers, "KEPT", 500)
    ask = Answers(Asked(), keeps=True)
    for shift in range(5):
        ask(rows + 10 * shift)
        assert ask.known is not None
        assert ask.known.mark.size * 5 <= 1000
        np.testing.assert_array_equal(ask(rows + 10 * shift), Asked()(rows + 10 * shift))


def test_rows_that_never_repeat_are_not_kept(monkeypatch):
    monkeypatch.setattr(answers, "TRIALS", 1000)
    rng, ask = np.random.default_rng(0), Answers(Asked(), keeps=True)
    for _ in range(3):
        ask(rng.standard_normal((600, 2)))
    assert not ask.keeps
    assert ask.known is None
