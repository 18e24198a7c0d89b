"""A number at one correlation, or along a grid of them, with its limits."""

from __future__ import annotations

import numpy as np

from fairstress.analyses.bands.limits import Estimate, estimates, sides
from fairstress.analyses.bands.replicates import Replicator
from fairstress.claim.evaluate import Functional, evaluate_many
from fairstress.functionals.cfu import CFU
from fairstress.inputs.rows import Array
from fairstress.progress import Progress


def estimate_at(
    replicator: Replicator, P: Array, functional: Functional, progress: Progress | None = None
) -> tuple[Estimate, ...]:
    """A functional at each P (k, m, m), with limits."""
    values = [one.value for one in evaluate_many(replicator.fitted.claim, P, functional)]
    found = replicator.values(functional, P, progress)
    return estimates(values, found.values, replicator.replication(found), sides(functional))


def sampling_error(replicator: Replicator) -> Estimate:
    """CFU where nothing is hidden: 0 by construction, or the floor, and up to its limit by Model A's sampling error."""
    independent = np.eye(len(replicator.fitted.variables))
    return estimate_at(replicator, independent[None], CFU())[0]
