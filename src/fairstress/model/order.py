"""Whether an estimator that knows no names is likely to be shown its columns in the order in which it was fitted.

Nothing tells the order itself. But in another order an estimator mostly predicts badly, and better in its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from fairstress.inputs.rows import Array, Rows

MOST = 4  # columns of which all orders are tried, which are 24
PEOPLE = 1000  # distinct rows that are asked about in each of them
BETTER = 0.95  # of the squared error: among other people another order may be a little better by chance

Order = tuple[int, ...]
Predict = Callable[[Array], Array]


def squares_left(rows: Rows, predicted: Array) -> float:
    """Squared error of predictions for the rows in memory, as a share of that of the best constant."""
    errors = rows.squares - 2 * rows.y * predicted + rows.weight * predicted**2
    return float(errors.sum() / (rows.squares.sum() - rows.y.sum() ** 2 / rows.weight.sum()))


def doubt(columns: Sequence[str], outcome: str, shown: Array, predict: Predict, rows: Rows) -> str:
    """What speaks against the order of the columns shown (r, p), as the end of a sentence; empty if nothing does."""
    few = slice(None, None, -(-len(shown) // PEOPLE))
    left = _left_by_order(shown[few], predict, rows.where(few))
    as_shown, best = next(iter(left)), min(left, key=lambda order: left[order])
    if left[best] < min(BETTER * left[as_shown], 1):
        better = ", ".join(columns[j] for j in best)
        return f"its squared error is {left[as_shown] / left[best]:.3g} times that in the order {better}"
    return f"it predicts '{outcome}' no better than a constant" if left[as_shown] >= 1 else ""


def _left_by_order(shown: Array, predict: Predict, rows: Rows) -> dict[Order, float]:
    """The squares left by predictions in each order of columns, first in that shown, or in that alone of many."""
    as_shown = tuple(range(shown.shape[1]))
    orders = permutations(as_shown) if len(as_shown) <= MOST else [as_shown]
    return {order: _left_in(order, shown, predict, rows) for order in orders}


def _left_in(order: Order, shown: Array, predict: Predict, rows: Rows) -> float:
    try:
        left = squares_left(rows, predict(shown[:, order]))
    except Exception:  # levels where it knows numbers, for example: it was not fitted in this order
        return np.inf
    return left if np.isfinite(left) else np.inf
