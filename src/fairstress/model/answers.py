"""A predictor's answers to distinct rows, each asked for once: where features have levels, people's worlds repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fairstress.inputs.rows import Array, row_marks

KEPT = 2**22  # numbers of all rows that are kept, 32 megabytes
WORTH = 0.1  # share of rows that must be known already, or keeping them costs more than it spares
TRIALS = 200_000  # rows after which that is looked at


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Rows with their answers, in the order of a mark that tells rows apart."""

    mark: Array  # (k,) ascending
    rows: Array  # (k, p)
    answers: Array  # (k,)
    asked: int = 0  # distinct rows that were asked for so far
    found: int = 0  # of these, known already


@dataclass(slots=True, eq=False)
class Answers:
    """Asks a predictor about each distinct row once, and, where it keeps answers, not again later."""

    ask: Callable[[Array], Array]
    keeps: bool  # whether an answer is the same to the last digit in any company
    known: Known | None = field(default=None, init=False, repr=False)

    def __call__(self, Z: Array) -> Array:
        """Answers to rows (n, p)."""
        mark = row_marks(Z)
        _, first, place = np.unique(mark, return_index=True, return_inverse=True)
        rows = Z[first]
        if not np.array_equal(rows[place], Z):  # two rows that differ have one mark
            return self.ask(Z)
        return (self._kept(mark[first], rows) if self.keeps else self.ask(rows))[place]

    def _kept(self, mark: Array, rows: Array) -> Array:
        """Answers to distinct rows, those that are known from memory."""
        known = self.known or Known(np.zeros(0), np.zeros((0, rows.shape[1])), np.zeros(0))
        where = np.searchsorted(known.mark, mark).clip(max=max(known.mark.size - 1, 0))
        hit = np.zeros(mark.size, dtype=bool)
        if known.mark.size:
            hit = (known.mark[where] == mark) & (known.rows[where] == rows).all(axis=1)
        answers = np.empty(mark.size)
        answers[hit] = known.answers[where[hit]]
        if not hit.all():
            answers[~hit] = self.ask(rows[~hit])
        self._keep(known, mark[~hit], rows[~hit], answers[~hit], int(hit.sum()))
        return answers

    def _keep(self, known: Known, mark: Array, rows: Array, answers: Array, found: int) -> None:
        """Remember new answers, and forget the others when there are too many; at once, for other threads' sake."""
        asked, found = known.asked + mark.size + found, known.found + found
        if asked > TRIALS and found < WORTH * asked:
            self.keeps, self.known = False, None
            return
        if (known.mark.size + mark.size) * (rows.shape[1] + 2) > KEPT:
            self.known = Known(mark, rows, answers, asked, found)
            return
        order = np.argsort(every := np.concatenate([known.mark, mark]), kind="stable")
        every_row, every_answer = np.concatenate([known.rows, rows]), np.concatenate([known.answers, answers])
        self.known = Known(every[order], every_row[order], every_answer[order], asked, found)
