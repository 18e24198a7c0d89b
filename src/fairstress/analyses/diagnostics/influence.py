"""Whose leaving out moves CFU most, to first order (infinitesimal jackknife), the predictor as it is.

CFU at P is a mean of c_i(z) over people, z the parameters of Model B, which minimise ``F = sum_i w_i F_i(z)`` and the
penalty. With ``F_zz v = c_z`` its derivative by a person's weight is ``(c_i - CFU) / n - v' dF_i/dz``. The last term is
the slope of everyone's log likelihood along v. How many people would move CFU by a tenth is found by truly leaving them
out, in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from fairstress.analyses.tabular import Shown
from fairstress.claim.build import Fitted, on_table
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import model_b, predictions
from fairstress.functionals.cfu import CFU
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.fit import Fit, System
from fairstress.model.latent import Layout, errors, patterns
from fairstress.model.mixed import MixedSystem
from fairstress.model.newton import solve_definite
from fairstress.model.rectangle import rectangles
from fairstress.model.threshold import ThresholdSystem

STEP = 1e-5  # along v, of the largest parameter's size
TENTH = 0.1  # how much of CFU leaving people out is to move
SMALL = 1e-4  # a CFU of a smaller share of the outcome's variance is next to 0
TRIES = 6  # numbers of people that are truly left out
FEW = 0.005  # share of people who are few


@dataclass(frozen=True, slots=True, eq=False)
class Influence(Shown):
    """How far CFU at one correlation rests on single people. Made by `Audit.diagnostics`, given a correlation.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> influence = audit.diagnostics({("a", "x"): 0.3}).influence
    >>> round(influence.cfu, 3), influence.to_lower, influence.to_raise
    (0.628, 2, 2)
    """

    cfu: float  # at that correlation
    correlation: pd.DataFrame = field(repr=False)  # of the errors
    change: pd.Series[float] = field(repr=False)  # of CFU if a person is left out, by row label, the largest first
    people: int  # who have weight
    to_lower: int | None  # how many people, left out together, would lower CFU by a tenth; None if no number does
    to_raise: int | None  # and raise it
    is_checked: bool = True  # whether these numbers were found by truly leaving people out; otherwise to first order

    @property
    def share(self) -> float:
        """The smaller of the two numbers as a share of all people; NaN where neither exists."""
        known = [number for number in (self.to_lower, self.to_raise) if number is not None]
        return min(known) / self.people if known else float("nan")

    @property
    def sentence(self) -> str:
        """What it means for this audit, and what to do."""
        head = f"CFU at this correlation is {self.cfu:.2g}"
        if not np.isfinite(self.share):
            return f"{head}, and leaving out a few people does not move it by a tenth."
        ways = {"lower": self.to_lower, "raise": self.to_raise}
        counts = [f"{_people(number)} would {way}" for way, number in ways.items() if number is not None]
        few = "look at them, influence.change names them, before its digits are trusted"
        rest = few if self.share < FEW else "it does not rest on a few"
        order = "" if self.is_checked else ", to first order"
        share = f"{100 * self.share:.2g} % of people{order}"
        return f"{head}; leaving out {' or '.join(counts)} it by a tenth ({share}): {rest}."


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def influence(fitted: Fitted, P: Array, named: Callable[[Array], pd.DataFrame]) -> Influence | None:
    """What leaving each person out does to CFU at P; None where CFU is no mean over people, or next to 0.

    At 0 CFU is quadratic, and the first order says nothing.
    """
    claim, table = fitted.claim, fitted.table
    if claim.measure.of_all is not None:
        return None
    fit = model_b(claim, P)
    cfu = float(CFU().values(claim, [fit])[0])
    if cfu <= float(claim.measure.each(np.sqrt([SMALL * fitted.outcome_variance]))[0]):
        return None
    slope = 2 * _response(claim, fit, table.rows) + _own_part(fitted, fit, cfu)
    change = -slope[table.row_of] * table.weight
    counted = table.weight > 0
    order = np.argsort(-np.abs(change[counted]), kind="stable")
    labelled = pd.Series(change[counted][order], index=table.index[counted][order], name="change")
    checked = claim.rows.a.size == fitted.whole.rows.a.size
    truth = _Truth(fitted, P, cfu) if checked else None
    numbers = [_needed(way * change, TENTH * cfu, truth, way) for way in (-1, 1)]
    return Influence(cfu, named(P), labelled, int(counted.sum()), numbers[0], numbers[1], checked)


@dataclass(frozen=True, slots=True, eq=False)
class _Truth:
    """What truly leaving people out does to CFU: Model B is fitted to the others."""

    fitted: Fitted
    P: Array
    cfu: float

    def change(self, people: IntArray) -> float:
        keep = self.fitted.table.weight > 0
        keep[people] = False
        claim = on_table(self.fitted, self.fitted.table.keep(keep))
        return float(CFU().values(claim, [model_b(claim, self.P)])[0]) - self.cfu


def _needed(gains: Array, wanted: float, truth: _Truth | None, way: int) -> int | None:
    """How many people, those of the largest gains first, add up to what is wanted; more where the first order errs."""
    order = np.argsort(-gains, kind="stable")[: int((gains > 0).sum())]
    added = np.cumsum(gains[order])
    if not added.size or added[-1] < wanted:
        return None
    number = int(np.searchsorted(added, wanted)) + 1
    for _ in range(TRIES if truth else 0):
        assert truth is not None
        if way * truth.change(order[:number]) >= wanted:
            return number
        number = min(number + number // 5 + 1, order.size)
    return None if truth else number


def _own_part(fitted: Fitted, fit: Fit, cfu: float) -> Array:
    """(r,) ``(c_i - CFU) / n`` of each distinct row; 0 for who is not moved."""
    _, origin = fitted.table.protected.contrasts(fitted.table.rows)
    r = fitted.table.rows.a.size
    count = np.bincount(origin, minlength=r)
    c = np.bincount(origin, predictions(fitted.whole, fit)[2], minlength=r) / np.maximum(count, 1)
    n = float(fitted.table.rows.weight[count > 0].sum())
    return np.where(count > 0, (c - cfu) / n, 0.0)


# ---------------------------------------------------------------- mathematics


def _response(claim: Claim, fit: Fit, rows: Rows) -> Array:
    """(r,) the slope of each row's log likelihood along ``v = F_zz^-1 c_z``."""
    behind, ahead = _along(claim, fit)
    blocks = list(rows.blocks())
    high, low = (np.concatenate([log_likelihoods(claim, f, block) for block in blocks]) for f in (ahead, behind))
    size = ahead.objective  # the step's length, kept where nothing else is
    return np.asarray((high - low) / (2 * size)) if size > 0 else np.zeros(rows.a.size)


def _along(claim: Claim, fit: Fit) -> tuple[Fit, Fit]:
    """The fit a little way along -v and +v; ``objective`` has how far."""
    system = claim.system
    if isinstance(system, System):
        v_w, v_t = system.adjoint(fit, _slope_by_weights(claim, fit))
        v, z = np.concatenate([v_w, v_t]), np.concatenate([fit.weights, fit.log_scales])
        d = fit.weights.size
        return _both(v, z, lambda at: replace(fit, weights=at[:d], log_scales=at[d:]))
    if isinstance(system, ThresholdSystem):
        z, v = system.coordinates(fit), system.adjoint(fit, _slope_by_weights(claim, fit))
        return _both(v, z, lambda at: replace(system.fit_at(at, fit), cuts=np.zeros(1)))
    return _along_mixed(claim, system, fit)


def _both(v: Array, z: Array, fit_at: Callable[[Array], Fit]) -> tuple[Fit, Fit]:
    h = STEP * max(1.0, float(np.abs(z).max())) / max(float(np.abs(v).max()), 1e-300)
    low, high = (replace(fit_at(z + way * h * v), objective=h) for way in (-1, 1))
    return low, high


def _along_mixed(claim: Claim, system: MixedSystem, fit: Fit) -> tuple[Fit, Fit]:
    """The same where some errors are seen in intervals; ``c_z`` by differences, coordinate by coordinate."""
    at = system.data.coordinates
    z = at.from_fit(fit)

    def fit_at(z: Array) -> Fit:
        return at.to_fit(z, fit.correlation, 0.0, 0.0, fit.status, fit.error)

    c_z = np.array([_difference(claim, fit_at, z, i) for i in range(z.size)])
    _, _, H, _ = system._objective(z, system._place(fit.correlation), 2)
    return _both(solve_definite(H, c_z), z, fit_at)


def _difference(claim: Claim, fit_at: Callable[[Array], Fit], z: Array, i: int) -> float:
    h = STEP * max(1.0, abs(float(z[i])))
    ends = [z + way * h * (np.arange(z.size) == i) for way in (1, -1)]
    high, low = CFU().values(claim, [fit_at(ends[0])])[0], CFU().values(claim, [fit_at(ends[1])])[0]
    return float(high - low) / (2 * h)


def _slope_by_weights(claim: Claim, fit: Fit) -> Array:
    """The gradient of CFU in Model B's weights, by differences where the predictor has none."""
    both = CFU().values_and_slopes(replace(claim, tied=None), [fit])  # of all weights: who is left out moves them all
    if both is not None:
        return np.asarray(both[1][0])

    def fit_at(w: Array) -> Fit:
        return replace(fit, weights=w)

    return np.array([_difference(claim, fit_at, fit.weights, i) for i in range(fit.weights.size)])


def log_likelihoods(claim: Claim, fit: Fit, block: Rows) -> Array:
    """(r,) everyone's log likelihood, up to a constant, at a fit and its correlation."""
    layout = Layout.of(claim.design)
    known, P, total = list(errors(layout, fit, block)), fit.correlation, np.zeros(block.a.size)
    for rows, C, D in patterns([e.is_interval for e in known]):
        e = np.column_stack([np.zeros((rows.size, 0)), *(known[c].lower[rows, None] for c in C)])
        inverse = np.linalg.inv(P[np.ix_(C, C)]) if C else np.zeros((0, 0))
        total[rows] -= np.einsum("ij,jk,ik->i", e, inverse, e) / 2
        for c in C:
            total[rows] -= np.log(layout.parts[c].sigma(fit, block.a[rows]))
        if D:
            K = P[np.ix_(D, C)] @ inverse
            S = P[np.ix_(D, D)] - K @ P[np.ix_(C, D)]
            ends = [
                np.column_stack([getattr(known[v], side)[rows] for v in D]) - e @ K.T for side in ("lower", "upper")
            ]
            total[rows] += rectangles(ends[0], ends[1], (S + S.T) / 2).log_probability
    return total
