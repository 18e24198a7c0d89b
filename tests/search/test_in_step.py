from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from fairstress.search.in_step import in_step


def counting(steps):
    """An ascent that asks so many questions and gives what it heard."""
    return lambda ask: [ask((steps, i)) for i in range(steps)]


def test_all_that_wait_are_answered_at_once_and_each_hears_its_own():
    rounds = []

    def answer(questions):
        rounds.append(len(questions))
        return [10 * steps + i for steps, i in questions]

    assert in_step([counting(3), counting(1), counting(2)], answer) == [[30, 31, 32], [10], [20, 21]]
    assert rounds == [3, 2, 1]


def test_one_ascent_alone_needs_no_thread():
    asked = []

    def answer(questions):
        asked.append(threading.current_thread())
        return questions

    assert in_step([counting(2)], answer) == [[(2, 0), (2, 1)]]
    assert asked == [threading.current_thread()] * 2


def test_questions_are_answered_by_the_thread_that_called():
    asked = set()

    def answer(questions):
        asked.add(threading.current_thread())
        return questions

    in_step([counting(2), counting(2)], answer)
    assert asked == {threading.current_thread()}


def test_ascents_see_what_is_set_around_the_call():
    setting = ContextVar("setting", default=0)
    setting.set(7)
    assert in_step([lambda ask: setting.get()] * 2, list) == [7, 7]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_trouble_of_an_answer_is_raised_and_leaves_no_thread(error):
    before = threading.active_count()

    def answer(questions):
        raise error("no answer")

    with pytest.raises(error, match="no answer"):
        in_step([counting(2), counting(2)], answer)
    assert threading.active_count() == before


def test_trouble_of_an_ascent_is_raised_and_leaves_no_thread():
    before = threading.active_count()

    def fails(ask):
        ask((0, 0))
        raise ValueError("no ascent")

    with pytest.raises(ValueError, match="no ascent"):
        in_step([counting(5), fails], lambda questions: questions)
    assert threading.active_count() == before
