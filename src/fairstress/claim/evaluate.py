"""The heart: CFU, or another functional of Model B, as a pure function of the errors' correlation.

A fit depends on the system, on P and on where it sets out, not on predictor or functional. Searches for one predictor
and another, for the largest and the smallest, ask for the same fits again: they are kept, as many as a bound allows.
"""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from fairstress.claim.claim import Claim
from fairstress.errors import FairstressWarning, Status
from fairstress.inputs.rows import Array, Rows, sample_with_places
from fairstress.model.fit import Fit
from fairstress.model.latent import components
from fairstress.model.mixed import DIFFERENCE, MixedSystem
from fairstress.model.system import Likelihood
from fairstress.model.threshold import ThresholdSystem
from fairstress.model.tree import Detail
from fairstress.model.user_predictor import showing
from fairstress.options import NO_GRADIENT
from fairstress.threads import one_thread

EXACT = 3  # coordinates of a rectangle up to which its probability is exact
SMALL = 0.01  # a penalty's share of the data below which a fit has one minimum
KEPT = 2**21  # numbers of all fits of one system that are kept, 16 megabytes


@runtime_checkable
class Functional(Protocol):
    """A number that Model B determines.

    What `Audit.cfu_of_group`, `Audit.flips`, `Audit.effect` and `Audit.coefficient` give, for `Audit.bounds`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> audit.effect("z").name
    'total effect of a on z'
    """

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    def values(self, claim: Claim, fits: Sequence[Fit]) -> Array:
        """(g,) the number for each version of Model B.

        Parameters
        ----------
        claim
            What is put to the test.
        fits
            The g versions of Model B.
        """
        ...

    def has_slope(self, claim: Claim) -> bool:
        """Whether it has a derivative for a claim.

        Parameters
        ----------
        claim
            What is put to the test.
        """
        ...

    def values_and_slopes(self, claim: Claim, fits: Sequence[Fit]) -> tuple[Array, Array] | None:
        """(g,) the number for each Gaussian Model B, and its derivatives (g, D) by the weights; None without any.

        Parameters
        ----------
        claim
            What is put to the test.
        fits
            The g versions of Model B.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A functional at one correlation."""

    value: float  # CFU: squared units of the outcome
    fit: Fit
    gradient: Array | None  # (m, m) derivative by P; a pair's derivative is the sum of its two entries


def evaluate(
    claim: Claim,
    P: Array,
    functional: Functional,
    *,
    gradient: bool = False,
    check_minima: bool = True,
    start: Fit | None = None,
    carried: bool = False,
) -> Evaluation:
    """Fit Model B at one P (m, m), make the counterfactuals, compare; see `evaluate_many`.

    The fit sets out from Model A, or from ``start``, which spares steps where its P is near.
    """
    with one_thread:
        claim.ask_first()
        fitted = fits(claim, P[None], check_minima=check_minima, start=start)
        _warn_of(claim, fitted, carried=carried or not check_minima)
        return (_with_gradients if gradient else _values)(claim, fitted, functional)[0]


def _values(claim: Claim, fitted: Sequence[Fit], functional: Functional) -> list[Evaluation]:
    values = functional.values(claim, fitted)
    return [Evaluation(float(value), fit, None) for value, fit in zip(values, fitted, strict=True)]


def _with_gradients(claim: Claim, fitted: Sequence[Fit], functional: Functional) -> list[Evaluation]:
    """The functional with its derivatives by P, where it has any."""
    system = claim.system
    if not functional.has_slope(claim):
        return _values(claim, fitted, functional)
    if isinstance(system, MixedSystem):
        values = zip(functional.values(claim, fitted).tolist(), fitted, strict=True)
        return [Evaluation(v, fit, _mixed_gradient(claim, system, functional, fit, v)) for v, fit in values]
    found = functional.values_and_slopes(claim, fitted)
    assert found is not None  # it has a slope
    gradients = system.correlation_gradients(fitted, found[1])
    return [Evaluation(*both) for both in zip(found[0].tolist(), fitted, gradients, strict=True)]


def _mixed_gradient(claim: Claim, system: MixedSystem, functional: Functional, fit: Fit, value: float) -> Array:
    """Derivative by P, pair by pair: differences of the functional along the exact derivative of the fit."""
    gradient = np.zeros_like(fit.correlation)
    for (j, k), ahead in system.nearby(fit):
        gradient[j, k] = (float(functional.values(claim, [ahead])[0]) - value) / DIFFERENCE
    return gradient


def evaluate_many(
    claim: Claim,
    P: Array,
    functional: Functional,
    *,
    gradient: bool = False,
    check_minima: bool = True,
    starts: Sequence[Fit] | None = None,
    carried: bool = False,
) -> list[Evaluation]:
    """Evaluate a functional at many P (g, m, m), side by side; fits set out from Model A, or each from its own start.

    ``check_minima`` looks for a second minimum of each penalised fit; a search leaves that to its last step. A fit that
    is not to be relied on is warned of, unless its status is ``carried`` by what the caller gives.
    """
    with one_thread:
        claim.ask_first()
        fitted = fits(claim, P, check_minima=check_minima, start=starts)
        _warn_of(claim, fitted, carried=carried or not check_minima)
        return (_with_gradients if gradient else _values)(claim, fitted, functional)


def model_b(claim: Claim, P: Array, *, carried: bool = False) -> Fit:
    """Fit Model B at one P (m, m); warn if it is not to be relied on, unless the caller carries its status."""
    fitted = fits(claim, P[None])
    _warn_of(claim, fitted, carried=carried)
    return fitted[0]


def _warn_of(claim: Claim, fitted: Sequence[Fit], *, carried: bool) -> None:
    """Warn of fits of Model B that did not end as they should, or else of Model A's."""
    if carried:
        return
    counts = Counter(fit.status for fit in fitted if fit.status is not Status.CONVERGED)
    many = f" at {counts.total()} of {len(fitted)} correlations" if len(fitted) > 1 else ""
    trouble = [f"Model B{many}: {status}" for status in counts]
    if not trouble and claim.model_a.status is not Status.CONVERGED:
        trouble = [f"Model A: {claim.model_a.status}"]
    if trouble:
        warnings.warn(" ".join(trouble), FairstressWarning, stacklevel=4)


def predictions(claim: Claim, fit: Fit) -> tuple[Array, Array, Array]:
    """(r,) predictions for each row of the claim, factual and under Model B, and the CFU of the row.

    CFU is what the claim's measure makes of one change. Of a row with several worlds all are means over these.
    """
    parts = []
    for block in claim.blocks():
        counterfactual = claim.worlds([fit], block)
        change = claim.predict_worlds(counterfactual)[0] - counterfactual.of_people(block.predicted)
        means = [counterfactual.mean(values) for values in (change, claim.measure.each(change))]
        parts.append((block.predicted, block.predicted + means[0], means[1]))
    factual, other, cfu = (np.concatenate(part) for part in zip(*parts, strict=True))
    return factual, other, cfu


def changes(claim: Claim, fit: Fit, weigh: Callable[[Rows], Array]) -> tuple[Array, Array]:
    """(l,) the change of prediction in everyone's worlds, one after the other, and the weight of each."""
    parts = []
    for block in claim.blocks():
        counterfactual = claim.worlds([fit], block)
        change = claim.predict_worlds(counterfactual)[0] - counterfactual.of_people(block.predicted)
        parts.append((change, counterfactual.weights(weigh(block.block))))
    change, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return change, weight


SOME = 500  # rows on which worlds are worked out more finely, to see what that changes
WORLDS = 200_000  # of all people together; where they have more, CFU is a mean over a sample of them
STEPS = 5_000  # the same for a predictor without derivatives, which loses nothing where worlds are drawn
HARD = 32  # times as long as others it takes to find the probability of a world with more than three tied intervals
DRAWN = 100_000  # worlds that are drawn for all people together
DRAWS = (16, 64)  # of one person, at least and at most


def sampled(claim: Claim, seed: int | None, most: int = WORLDS) -> Claim:
    """The claim with worlds as a tree or drawn, on as many people, drawn by their weights, as that leaves time for."""
    some = _some(claim)
    finer = replace(some, detail=Detail(claim.detail.pieces, 4 * claim.detail.most))
    count, more = (one.counterfactual_rows(claim.model_a).owner.size for one in (some, finer))
    share, n = count / some.rows.a.size, claim.rows.a.size
    effort = share * n * (HARD if _tied_intervals(claim) > EXACT else 1)
    if count != more or effort > (STEPS if claim.predictor.gradient == NO_GRADIENT else WORLDS):
        draws = int(np.clip(DRAWN / n, *DRAWS))
        drawing = replace(claim, detail=replace(claim.detail, draws=draws), draws_worlds=True)
        return _on_some(drawing, int(min(DRAWN, most) / draws), seed)
    return _on_some(claim, int(most / share), seed)


def _some(claim: Claim) -> Claim:
    return replace(claim, rows=claim.rows.where(slice(0, None, max(1, claim.rows.a.size // SOME))))


def _on_some(claim: Claim, people: int, seed: int | None) -> Claim:
    """The claim on a sample of people, unless they are hardly more."""
    if claim.rows.a.size <= 1.5 * people:
        return claim
    rows, places = sample_with_places(claim.rows, people, np.random.default_rng(seed or 0))
    return replace(claim, rows=rows, origin=places if claim.origin is None else claim.origin[places])


def _tied_intervals(claim: Claim) -> int:
    """How many errors that are seen in intervals hang together at most, by the pairs of the graph."""
    assert isinstance(claim.system, MixedSystem)
    parts = claim.system.layout.parts
    tied = np.eye(len(parts))
    for j, k in claim.system.pairs:
        tied[j, k] = tied[k, j] = 1.0
    seen = np.array([p.equation.law.is_ordered or p.equation.law.atom is not None for p in parts])
    return int(np.bincount(components(tied), seen).max())


def detail_error(claim: Claim) -> float:
    """How much CFU under Model A changes, relative to itself, where worlds are worked out more finely, on some rows."""
    some, values = _some(claim), []
    for detail in (claim.detail, claim.detail.finer()):
        change, weight = changes(replace(some, detail=detail), claim.model_a, lambda block: block.weight)
        values.append(float(change**2 @ weight))
    return abs(values[1] - values[0]) / max(values[1], 1e-300)


def turned(claim: Claim, fit: Fit, threshold: float) -> tuple[Array, Array]:
    """(r,) for each row the probability that a prediction rises to a threshold, and that it falls below it."""
    parts = []
    for block in claim.blocks():
        counterfactual = claim.worlds([fit], block)
        before = counterfactual.of_people(block.predicted) >= threshold
        after = claim.predict_worlds(counterfactual)[0] >= threshold
        parts.append([counterfactual.mean(turn.astype(float)) for turn in (~before & after, before & ~after)])
    gained, lost = (np.concatenate(part) for part in zip(*parts, strict=True))
    return gained, lost


@one_thread
def predict_people(claim: Claim, rows: Rows, others: pd.DataFrame | None = None) -> tuple[Array, Array]:
    """(n,) predictions for any people, as they are, and (n, p) what the predictor is shown of them.

    New people come with their values outside the graph, where the predictor is shown any.
    """
    claim, parts = replace(claim, predictor=showing(claim.predictor, others)), []
    for block in rows.blocks():
        inputs = claim.predictor_inputs(block)
        parts.append((claim.predictor.predict(inputs), inputs))
    predicted, inputs = (np.concatenate(part) for part in zip(*parts, strict=True))
    return predicted, inputs


# ---------------------------------------------------------------- fits, each made once


def fits(claim: Claim, P: Array, *, check_minima: bool = True, start: Fit | Sequence[Fit] | None = None) -> list[Fit]:
    """Fit Model B at each of the correlations (g, m, m); a fit that was made already is not made again.

    Fits set out from Model A, from one other fit, or each from its own.
    """
    start, memo = start or claim.model_a, _memo_of(claim.system)
    check_minima = check_minima and not (claim.is_slow and _has_one_minimum(claim))
    if check_minima and isinstance(claim.system, ThresholdSystem) and claim.system.has_one_minimum:
        start = fits(claim, P, check_minima=False, start=start)  # a search has often made these
    origins = [_origin(one) for one in start] if isinstance(start, Sequence) else [_origin(start)] * len(P)
    keys = [(check_minima, one.tobytes(), origin) for one, origin in zip(P, origins, strict=True)]
    known = [memo.get(key) for key in keys]
    new = [i for i, fit in enumerate(known) if fit is None]
    if new:
        own = [start[i] for i in new] if isinstance(start, Sequence) else start
        for i, fit in zip(new, _made(claim.system, P[new], own, check_minima=check_minima), strict=True):
            known[i] = memo.put(keys[i], fit)
    return [fit for fit in known if fit is not None]


def _made(system: Likelihood, P: Array, start: Fit | Sequence[Fit], *, check_minima: bool) -> list[Fit]:
    if not isinstance(system, MixedSystem):
        return system.fits(P, start, check_minima=check_minima)
    if not isinstance(start, Sequence):
        return system.fits(P, start, check_minima=check_minima)
    own = zip(P, start, strict=True)  # it makes its fits one by one anyway
    return [system.fits(one[None], other, check_minima=check_minima)[0] for one, other in own]


def _origin(start: Fit) -> bytes:
    """Where a fit sets out, for comparisons."""
    return start.log_scales.tobytes() + start.weights.tobytes() + start.cuts.tobytes()


def _has_one_minimum(claim: Claim) -> bool:
    """Whether a penalty is so small beside the data that it cannot make a second minimum of a mixed fit.

    All but ``lam |theta|^2 / u^2`` is convex in (u, theta). Along u it bends by about ``lam |w|^2 / u^2``, and
    ``-2 n log u`` alone by ``2 n / u^2`` the other way.
    """
    system = claim.system
    assert isinstance(system, MixedSystem)  # whoever asks has looked whether worlds take long
    theta, u = system.data.coordinates.scale_of()
    z = system.data.coordinates.from_fit(claim.model_a)
    return bool(system.penalties[theta] @ np.square(z[theta] / z[u]) <= SMALL * system.n)


Key = tuple[bool, bytes, bytes]  # whether minima were checked, P, and where the fit set out


class _Memo:
    """The latest fits of one system, the oldest forgotten first."""

    def __init__(self) -> None:
        self._fits: OrderedDict[Key, Fit] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Fit | None:
        with self._lock:
            if key in self._fits:
                self._fits.move_to_end(key)
            return self._fits.get(key)

    def put(self, key: Key, fit: Fit) -> Fit:
        for array in (fit.weights, fit.log_scales, fit.correlation, fit.cuts):
            array.setflags(write=False)  # it is shared from now on
        with self._lock:
            self._fits[key] = fit
            if len(self._fits) * (fit.weights.size + fit.correlation.size) > KEPT:
                self._fits.popitem(last=False)
        return fit


_memos: WeakKeyDictionary[Likelihood, _Memo] = WeakKeyDictionary()


def _memo_of(system: Likelihood) -> _Memo:
    return _memos.setdefault(system, _Memo())
