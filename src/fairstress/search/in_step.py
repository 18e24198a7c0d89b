"""Ascents of others' making that ask for one value at a time, answered together.

An optimiser that is handed a function calls it and waits. Each ascent therefore has a thread of its own, in which it
waits until all others wait too or have ended; then all their questions are answered at once, by the thread that has
called, since many values cost little more than one. An answer does not depend on what is asked beside it, so that no
digit depends on how many ascents there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")


class _EndError(Exception):
    """Nobody answers any more."""


@dataclass(slots=True, eq=False)
class _Way(Generic[Q, A, T]):
    """One ascent: what it has asked, and what it has found."""

    ascend: Callable[[Callable[[Q], A]], T]
    heard: SimpleQueue[_Way[Q, A, T]]  # all ascents that wait or have ended, in the order in which they do
    answers: SimpleQueue[A | _EndError] = field(default_factory=SimpleQueue)
    question: list[Q] = field(default_factory=list)
    found: list[T] = field(default_factory=list)
    trouble: BaseException | None = None

    def run(self) -> None:
        try:
            self.found.append(self.ascend(self.ask))
        except BaseException as error:  # whoever has called raises it
            self.trouble = error
        self.heard.put(self)

    def ask(self, question: Q) -> A:
        self.question.append(question)
        self.heard.put(self)
        answer = self.answers.get()
        if isinstance(answer, _EndError):
            raise answer
        return answer


def in_step(ways: Sequence[Callable[[Callable[[Q], A]], T]], answer: Callable[[list[Q]], Sequence[A]]) -> list[T]:
    """What each of some ascents finds; each is handed a function to ask by, and ``answer`` answers many questions."""
    if len(ways) == 1:
        return [ways[0](lambda question: answer([question])[0])]
    heard: SimpleQueue[_Way[Q, A, T]] = SimpleQueue()
    all_ = [_Way(way, heard) for way in ways]
    threads = [Thread(target=copy_context().run, args=(way.run,), daemon=True) for way in all_]
    started: list[Thread] = []
    try:
        for thread in threads:
            thread.start()
            started.append(thread)
        _answer_all(all_, heard, answer)
    finally:  # those who still wait, after an error or an interruption, end too
        for way in all_:
            way.answers.put(_EndError())
        for thread in started:
            thread.join()
    return [way.found[0] for way in all_]


def _answer_all(
    all_: Sequence[_Way[Q, A, T]], heard: SimpleQueue[_Way[Q, A, T]], answer: Callable[[list[Q]], Sequence[A]]
) -> None:
    """Answer whenever all ascents that have not ended wait."""
    going = list(all_)
    while going:
        for _ in going:
            way = heard.get()
            if way.trouble is not None:
                raise way.trouble
        going = [way for way in going if way.question]
        answers = answer([way.question.pop() for way in going]) if going else ()
        for way, its in zip(going, answers, strict=True):
            way.answers.put(its)
