"""How far a number differs between the completed tables of a multiple imputation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Functional, evaluate_many
from fairstress.inputs.rows import Array
from fairstress.inputs.stack import imputation_deviation


def between_tables(completed: Sequence[Claim], P: Array, functional: Functional) -> Array | None:
    """(g,) the standard deviation between tables, with the factor 1 + 1/M, at each P (g, m, m); None for one table.

    Model B is fitted to each table apart; Model A and the predictor are the audited ones.
    """
    if not completed:
        return None
    values = np.array([[e.value for e in evaluate_many(claim, P, functional)] for claim in completed])
    return np.array([imputation_deviation(column) for column in values.T])


def deviation_at(completed: Sequence[Claim], P: Array, functional: Functional) -> float | None:
    """The same at one P (m, m)."""
    found = between_tables(completed, P[None], functional)
    return None if found is None else float(found[0])
