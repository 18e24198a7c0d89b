"""The smallest and the largest value of any functional of Model B within a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairstress.analyses.bands.limits import BOTH
from fairstress.analyses.bands.maxima import with_limits
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.claim.build import Fitted
from fairstress.claim.evaluate import Functional
from fairstress.errors import SettingError, show
from fairstress.functionals.frame import OfFrame
from fairstress.model.named import counterfactual_frame
from fairstress.progress import Progress, Steps


def bounds(
    fitted: Fitted,
    functional: Any,
    p_max: float,
    budget: Any,
    search: Any,
    random_state: Any,
    progress: Progress | None = None,
    replicator: Replicator | None = None,
    *,
    check: bool = True,
) -> tuple[WorstCase, WorstCase]:
    """The smallest and the largest value of a functional within a budget, with limits where replicates are drawn.

    ``check`` lets full searches in some replicates check the limits.
    """
    known, steps = read_functional(fitted, functional), Steps(2, progress)
    lower, upper = (
        _end(Solver.of(fitted, budget, search, random_state, known, sign), p_max, replicator, check)
        for sign in steps.each((-1.0, 1.0))
    )
    return lower, upper


def _end(solve: Solver, p_max: float, replicator: Replicator | None, check: bool) -> WorstCase:
    end = solve(p_max)
    if replicator is None:
        return end
    return replace(end, estimate=with_limits(replicator, solve, [end], side=BOTH, check=check)[0])


def read_functional(fitted: Fitted, functional: Any) -> Functional:
    """Take a functional as it is, and any function of the frame of counterfactuals for one."""
    if isinstance(functional, Functional):
        return functional
    if not callable(functional):
        raise SettingError(
            f"functional is {show(functional)}: give effect(...), coefficient(...), cfu_of_group(...), flips(...) "
            "or a function of the frame of counterfactuals"
        )
    fitted.table.check_held("a function of everyone's frame", "give effect(...), coefficient(...) or flips(...)")
    claim = fitted.whole
    name = getattr(functional, "__name__", "functional")
    return OfFrame(functional, lambda fit: counterfactual_frame(fitted.table, claim.counterfactual_rows(fit)), name)
