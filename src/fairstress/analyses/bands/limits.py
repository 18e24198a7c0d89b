"""Limits read off replicates: upper ones for what is never negative, two-sided intervals for what has a sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairstress.analyses.tabular import Shown
from fairstress.claim.evaluate import Functional
from fairstress.errors import FairstressError
from fairstress.functionals.cfu import CFU
from fairstress.functionals.decisions import Flips
from fairstress.inputs.rows import Array
from fairstress.resampling import Bootstrap

ROUNDING = 1e-12  # of its limit: a value below this is 0 up to rounding
UPPER, BOTH = "upper", "both"  # which limits are given


@dataclass(frozen=True, slots=True, eq=False)
class Replication(Shown):
    """How the replicates behind some limits were made, and how it went.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> audit.worst_case(0.2, bands=100).estimate.replication
    <Replication: 100 of 100 replicates, level 0.95, Model B fitted anew in each>
    """

    level: float  # confidence level
    n_boot: int  # replicates that were asked for
    n_done: int  # replicates that count
    failures: dict[str, int]  # replicates that do not count, by the reason
    refit: str  # what is fitted anew: "model b" or "all"
    simultaneous: bool  # whether limits hold at all points of a curve at once
    penalised: bool  # whether Model B bears its penalty in replicates, as it has no reliable fit without
    normal: bool = False  # whether they are normal draws, with the covariance that a survey's weights give
    n_checked: int = 0  # replicates in which the worst case was sought by a full search
    largest_miss: float = 0.0  # the most by which such a search found more, relative to the value

    def __repr__(self) -> str:
        what = "Model B" if self.refit == "model b" else "everything"
        count = f"{self.n_done} of {self.n_boot} replicates"
        return f"<Replication: {count}, level {self.level:g}, {what} fitted anew in each>"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Shown):
    """A number with its limits: what the audit gives, and how far sampling error may be from it.

    CFU and shares of turned decisions have an upper limit alone: the one that an audit needs, and the one that holds
    near 0 too. Effects and differences have both.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> audit.estimate({("a", "x"): 0.2}, bands=100)
    <Estimate 0.2701, at most 0.637 (95 %)>
    >>> audit.estimate({("a", "x"): 0.2}, audit.effect("z"), bands=100)
    <Estimate -0.6636, from -0.9548 to -0.3945 (95 %)>
    """

    value: float  # as the audit gives it
    lower: float | None  # None where there is an upper limit alone
    upper: float  # limit
    standard_error: float  # standard deviation of the replicates
    replication: Replication
    replicates: Array = field(repr=False)  # (n_done,) the number in each replicate

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        level = f"({100 * self.replication.level:g} %)"
        if self.lower is None:
            value = 0.0 if self.value < ROUNDING * self.upper else self.value
            return f"<Estimate {value:.4g}, at most {self.upper:.4g} {level}>"
        return f"<Estimate {self.value:.4g}, from {self.lower:.4g} to {self.upper:.4g} {level}>"


def sides(functional: Functional) -> str:
    """Which limits a functional has."""
    return UPPER if isinstance(functional, CFU | Flips) else BOTH


def estimates(
    values: Sequence[float], replicates: Array, replication: Replication, side: str = UPPER
) -> tuple[Estimate, ...]:
    """Limits of some numbers from their replicates (b, k): at each alone, or at all at once."""
    if replicates.shape[1] == 1:
        replication = replace(replication, simultaneous=False)
    alpha = 1 - replication.level
    tail = alpha if side == UPPER else alpha / 2
    if replication.simultaneous:
        tail = _joint_tail(replicates, alpha, side)
    upper = order_statistic(replicates, 1 - tail)
    lower = None if side == UPPER else -order_statistic(-replicates, 1 - tail)
    errors = replicates.std(axis=0, ddof=1)
    return tuple(
        Estimate(
            float(value),
            None if lower is None else float(lower[k]),
            float(upper[k]),
            float(errors[k]),
            replication,
            replicates[:, k],
        )
        for k, value in enumerate(values)
    )


def order_statistic(replicates: Array, level: float) -> Array:
    """(k,) the least of the b replicates that a further one exceeds with probability 1 - level at most."""
    b = len(replicates)
    place = min(math.ceil(round((b + 1) * level, 9)), b) - 1
    return np.asarray(np.sort(replicates, axis=0)[place])


def _joint_tail(replicates: Array, alpha: float, side: str) -> float:
    """The tail of each point's limits with which the share 1 - alpha of replicates lies within all of them.

    A replicate's place at its most extreme point decides; the tail is the least that enough replicates keep to.
    """
    b = len(replicates)
    rank = np.argsort(np.argsort(replicates, axis=0, kind="stable"), axis=0, kind="stable") + 1
    place = rank if side == UPPER else np.maximum(rank, b + 1 - rank)
    highest = np.sort(place.max(axis=1))[min(math.ceil(round((b + 1) * (1 - alpha), 9)), b) - 1]
    return float(1 - highest / (b + 1))


def check_enough(n_done: int, options: Bootstrap, failures: dict[str, int]) -> None:
    """Refuse limits from too few replicates that did not fail."""
    least = math.ceil(round(2 / (1 - options.level), 9)) - 1
    if n_done < least:
        why = "; ".join(f"{count} times: {reason}" for reason, count in failures.items()) or "the work was stopped"
        raise FairstressError(
            f"{n_done} of {options.n_replicates} replicates count, and limits of level {options.level:g} need {least} "
            f"({why}): raise n_boot, or mend what makes them fail"
        )


def limit_columns(estimate: Estimate | None) -> dict[str, float]:
    """Columns of a table beside a number: its limits, where there are any."""
    if estimate is None:
        return {}
    lower = {} if estimate.lower is None else {"lower": estimate.lower}
    return {**lower, "upper": estimate.upper, "standard_error": estimate.standard_error}
