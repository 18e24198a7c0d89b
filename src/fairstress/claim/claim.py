"""The claim under test: Model A and a predictor, with the people on whom counterfactual worlds are compared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from fairstress.claim.alike import Places, changing_alike, gathered, weight_of_each
from fairstress.claim.grid import Grid, lost
from fairstress.claim.grown import grown
from fairstress.claim.measure import SQUARED, Measure
from fairstress.claim.nodes import Nodes
from fairstress.claim.support import change_support
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.inputs.rows import Array, IntArray, Rows
from fairstress.model.counterfactual import FactualBlock, Leaves, Worlds, standing, worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit, System
from fairstress.model.mixed import MixedSystem
from fairstress.model.predictor import AnyPredictor, PolynomialPredictor
from fairstress.model.system import Likelihood
from fairstress.model.threshold import ThresholdSystem
from fairstress.model.tree import DETAIL, Detail, model_residuals
from fairstress.model.user_predictor import columns_of
from fairstress.model.view import Lens, RawColumns, View
from fairstress.options import NO_GRADIENT
from fairstress.summing import total

T = TypeVar("T")
Under = tuple[Array, Array | None]  # what replicates' weights make of a few people's, (b, k) and (b, k, k)
Seen = Callable[["Claim", Rows], FactualBlock]  # how a claim's people are seen in the factual world

BATCH = 90_000  # rows times features times versions of Model B that are worked on at once: they stay in a core's cache
ASKED = 65_536  # worlds of several versions from which on the predictor is asked
REMEMBERED = 4096  # numbers of versions of Model B that are remembered
KEPT = 2**20  # numbers that are kept of what follows from replicates' weights, 8 megabytes


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What is put to the test: how alike this predictor treats counterfactual people, under Model A or another."""

    rows: Rows  # people, once for each value that they are moved to
    everyone: Rows  # people as they are, to whom the models are fitted
    design: Design
    system: Likelihood
    model_a: Fit
    view: Lens
    predictor: AnyPredictor
    measure: Measure = SQUARED
    origin: IntArray | None = None  # (r,) the row of everyone that each of the rows stems from; None: the same
    detail: Detail = DETAIL  # how finely worlds are worked out, where people have several
    draws_worlds: bool = False  # whether some have so many that worlds are drawn: CFU then moves in small steps
    tied: frozenset[int] | None = None  # equations that pairs tie to others: the rest stay Model A's; None: unknown
    cross: Array | None = None  # (r, r) what products of two rows' changes count; None: squares, by their weights
    _kept: list[FactualBlock] = field(default_factory=list, init=False, repr=False)
    _values: dict[tuple[Hashable, bytes], float] = field(default_factory=dict, init=False, repr=False)
    _alike: list[Places | None] = field(default_factory=list, init=False, repr=False)
    _fewer: list[Claim] = field(default_factory=list, init=False, repr=False)
    swept: Claim | None = field(default=None, repr=False)  # the claim on people themselves, where digits may be lost
    like: Claim | None = field(default=None, repr=False)  # another about the same people, whose nodes may serve, too
    _nodes: list[Nodes | Grid | None] = field(default_factory=list, init=False, repr=False)
    _fewest: list[Claim] = field(default_factory=list, init=False, repr=False)
    _through: dict[Likelihood, Claim] = field(default_factory=dict, init=False, repr=False)
    _under: dict[int, tuple[Array, Under | None]] = field(default_factory=dict, init=False, repr=False)

    def blocks(self) -> Iterable[FactualBlock]:
        """People in the factual world, block by block; worked out once, unless they are too many to keep."""
        if not self._kept and self.rows.keeps(self.design.feature_of.size):
            blocks = map(self.factual, self.rows.blocks(self._width))
            # at once: threads see all of them or none
            self._kept[:] = [replace(block, x_cf=self._under_model_a(block)) for block in blocks]
        return self._kept or map(self.factual, self.rows.blocks(self._width))

    @property
    def _width(self) -> int | None:
        """How many numbers a person is made into; None where people may have several worlds, and blocks are short."""
        return None if self.is_mixed else self.design.feature_of.size + len(self.view.names)

    def total(self, of: Callable[[Claim, FactualBlock], T], *, seen: Seen | None = None) -> T:
        """Add up what a function of the claim and a block of people gives, over all blocks in their order.

        Parameters
        ----------
        of
            What a block adds: an array, a number or a tuple of these.
        seen
            How people who are not kept are seen in the factual world, if not by all that is known of them.
        """
        alone = self._takes_turns
        if self.blocks() is self._kept:
            return total(partial(of, self), self._kept, alone=alone)
        here, see = self.bare(), seen or Claim.factual
        return self.rows.total(lambda block: of(here, see(here, block)), alone=alone, width=self._width)

    def total_beside(
        self,
        other: Claim,
        of: Callable[[Sequence[Claim], Sequence[FactualBlock]], T],
        *,
        seen: Seen | None = None,
    ) -> T:
        """The same for two claims about the same people, each block of whom is handed on as both see it."""
        claims = (self, other)
        alone = any(claim._takes_turns for claim in claims)
        if self.blocks() is self._kept and other.blocks() is other._kept:
            return total(partial(of, claims), list(zip(self._kept, other._kept, strict=True)), alone=alone)
        here, see = [claim.bare() for claim in claims], seen or Claim.factual
        return self.rows.total(
            lambda block: of(here, [see(claim, block) for claim in here]), alone=alone, width=self._width
        )

    def bare(self) -> Claim:
        """The claim without what a system keeps of rows, where these lie elsewhere and it is sent there."""
        if self.rows.whole is None or not isinstance(self.system, ThresholdSystem):
            return self
        return replace(self, system=self.system.features)

    @property
    def _takes_turns(self) -> bool:
        """Whether one thread at a time may ask: a user's predictor may not bear more, and worlds that grew are kept."""
        return self.is_mixed or not isinstance(self.predictor, PolynomialPredictor)

    def ask_first(self) -> None:
        """Let a predictor of the user's say what it makes of people as they are, before it is asked about others."""
        if not isinstance(self.predictor, PolynomialPredictor):
            self.blocks()

    def for_changes(self) -> Claim:
        """The claim on one of all people whose predictions change alike, where that spares work; otherwise itself."""
        if not self._alike:
            looked = (
                None
                if self.is_mixed or self.cross is not None
                else changing_alike(self.rows, self.design, self.view, self.predictor)
            )
            self._alike[:] = [looked]  # at once, as in `blocks`
        places = self._alike[0]
        if places is None:
            return self
        if not self._fewer:
            self._fewer[:] = [replace(self, rows=gathered(self.rows, places, self.design), origin=None)]
        return self._fewer[0]

    def for_squares(self) -> Claim:
        """The claim on the few people from whose changes everyone's squared changes follow; else `for_changes`."""
        claim = self.for_changes()
        if self.is_mixed or self.cross is not None or not self.measure.is_squared:
            return claim
        if not self._nodes:
            self._nodes[:] = [self._nodes_among(claim.rows)]
        nodes = self._nodes[0]
        if nodes is None:
            return claim
        if not self._fewest:
            self._fewest[:] = [claim._on_nodes(nodes) if isinstance(nodes, Nodes) else claim._on_grid(nodes)]
        return self._fewest[0]

    def _nodes_among(self, rows: Rows) -> Nodes | Grid | None:
        """People from whom changes follow: those of a claim that is like this one, if that serves."""
        # all equations: in replicates, and where people are left out, those that P leaves alone differ, too
        asked = self.design, self.view, self.predictor, frozenset(range(len(self.design.equations)))
        if rows.whole is not None:
            return Grid.of(rows, *asked)
        if self.like is not None and self.like.for_changes().rows is rows:
            self.like.for_squares()
            known = self.like._nodes[0] if self.like._nodes else None
            if isinstance(known, Nodes) and known.spans(
                change_support(*asked, rows.x.shape[1], grouped=bool(known.keys))
            ):
                return known
        return Nodes.of(rows, *asked)

    def _on_nodes(self, nodes: Nodes | Grid) -> Claim:
        """The claim on nodes, if changes follow from theirs; otherwise itself."""
        found = nodes.weighing(self.rows)
        return self if found is None else replace(self, rows=found[0], origin=None, cross=found[1])

    def _on_grid(self, grid: Grid) -> Claim:
        """The claim on a grid; itself where a sample of people, or then everyone, tells that digits would be lost."""
        for rows in (replace(self.rows, whole=None), self.rows):
            few = replace(self, rows=rows)._on_nodes(grid)
            if few.cross is None or not few._keeps_digits():
                return self
        return replace(few, swept=self)

    def _keeps_digits(self) -> bool:
        """Whether no digits are lost, on a trial, where weights of Model B are a tenth larger than Model A's."""
        (factual,) = self.blocks()
        trial = replace(self.model_a, weights=1.1 * self.model_a.weights)
        worlds = self.worlds([trial], factual, features=self.looks_at_features)
        change = self.predict_worlds(worlds)[0] - factual.predicted
        assert self.cross is not None
        return not lost(change, self.cross)

    def factual(self, block: Rows) -> FactualBlock:
        """Work out what all versions of Model B start from, for a block of people."""
        if self.is_mixed:
            eps = self.residuals(block)
            return FactualBlock(block, {}, eps, self.predict(block, eps))
        terms, eps = standing(self.design, self.model_a.weights, block)
        return FactualBlock(block, terms, eps, self.predict(block, eps))

    def _under_model_a(self, factual: FactualBlock) -> Array | None:
        """(m, r) features with A changed, if Model A is right; None where people may have several worlds."""
        w_A = self.model_a.weights
        return None if self.is_mixed else worlds(self.design, w_A, w_A[None], factual).x_cf[0].T

    @property
    def is_mixed(self) -> bool:
        """Whether some errors are seen in intervals only, or by group: people may have several worlds."""
        return isinstance(self.system, MixedSystem)

    @property
    def is_slow(self) -> bool:
        """Whether people may have several worlds and CFU has no derivative: searches then compare values alone."""
        return self.is_mixed and (self.draws_worlds or self.predictor.gradient == NO_GRADIENT)

    @property
    def takes_long(self) -> bool:
        """Whether one value of CFU does: people may have several worlds, or a model without derivative is asked."""
        return self.is_mixed or self.predictor.gradient == NO_GRADIENT

    def residuals(self, block: Rows) -> Array:
        """(r, m) what Model A takes for the errors of people as they are."""
        return model_residuals(self.design, self.model_a, block)

    def worlds(
        self,
        fits: Sequence[Fit],
        factual: FactualBlock,
        *,
        features: bool = True,
        differing: Collection[int] | None = None,
    ) -> Worlds:
        """The worlds of a block of people under versions of Model B; where people have several, under the one given.

        Without ``features`` only residuals are meant. Equations that may differ from Model A's are, unless they are
        given, those that do.
        """
        if self.is_mixed:
            (fit,) = fits
            looks = not isinstance(self.view, RawColumns)
            assert isinstance(self.system, MixedSystem)
            models = self.model_a, fit
            return grown(self.system, self.design, models, factual, self.detail, residuals=looks)
        w_A, w_B = self.model_a.weights, np.array([fit.weights for fit in fits])
        own = self.differing(w_B) if differing is None else differing
        return worlds(self.design, w_A, w_B, factual, differing=own, features=features)

    def differing(self, w_B: Array) -> frozenset[int]:
        """Equations whose weights are not Model A's in some version (g, D) of Model B."""
        moved = (w_B != self.model_a.weights).any(axis=0)[: self.design.feature_of.size]
        return frozenset(self.design.feature_of[moved].tolist())

    @property
    def may_differ(self) -> frozenset[int]:
        """Equations whose weights P may move away from Model A's: derivatives by P hang on these."""
        return frozenset(range(len(self.design.equations))) if self.tied is None else self.tied

    @property
    def looks_at_features(self) -> bool:
        """Whether the predictor looks at features, and not at residuals alone."""
        return not isinstance(self.view, View)

    def side_by_side(
        self,
        fits: Sequence[Fit],
        factual: FactualBlock,
        *,
        features: bool = True,
        differing: Collection[int] | None = None,
    ) -> Iterator[tuple[slice, Worlds]]:
        """Walk through the `worlds` of many versions of Model B, as many at once as fit into a core's cache."""
        size = 1 if self.is_mixed else max(1, BATCH // max(1, factual.block.x.size))
        for start in range(0, len(fits), size):
            some = slice(start, start + size)
            yield some, self.worlds(fits[some], factual, features=features, differing=differing)

    def seen_through(self, system: Likelihood) -> Claim:
        """The same claim on the same people where Model B is fitted as another system says; made once for each."""
        if system not in self._through:
            other = replace(self, system=system)
            other._kept[:], other._alike[:], other._nodes[:] = self._kept, self._alike, self._nodes
            other._fewer[:] = [fewer.seen_through(system) for fewer in self._fewer]
            other._fewest[:] = [fewest.seen_through(system) for fewest in self._fewest if fewest is not self]
            self._through[system] = other
        return self._through[system]

    def on(self, rows: Rows, detail: Detail) -> Claim:
        """The same claim about other rows; what hangs on weights alone is all that is new where they have others."""
        other = replace(self, rows=rows, detail=detail)
        if rows.x is self.rows.x:
            self.for_squares()
            other._alike[:], other._nodes[:] = self._alike, self._nodes
        return other

    def reweighted(self, weight: Array, system: Likelihood) -> Claim:
        """The same claim where everyone has another weight, and Model B is fitted to them as the system says."""
        self.for_squares()  # what does not depend on weights is found once
        rows = replace(self.rows, weight=self._of_rows(weight))
        other = replace(self, rows=rows, everyone=replace(self.everyone, weight=weight), system=system)
        other._alike[:], other._nodes[:] = self._alike, self._nodes
        if self._kept:
            ends = np.cumsum([0, *(kept.block.a.size for kept in self._kept)])
            parts = zip(self._kept, itertools.pairwise(ends.tolist()), strict=True)
            other._kept[:] = [replace(kept, block=rows.where(slice(*place))) for kept, place in parts]
        return other

    def few_under(self, weights: Array) -> tuple[Claim, Array, Array | None] | None:
        """The claim of `for_squares`, with weights (b, k) of its rows, and Q (b, k, k), for weights (b, r) of everyone.

        Q is None where no products of changes count. None where everyone is looked at, or people are too many to keep
        what is known of them.
        """
        fewest = self.for_squares()
        given, found = self._under.get(id(weights), (None, None))
        if given is not weights:
            found = self._under_weights(weights, few=fewest.cross is not None)
            size = weights.size + sum(part.size for part in found or () if part is not None)
            if len(self._under) * size > KEPT:
                self._under.clear()
            is_shared = weights.base is None and not weights.flags.writeable  # it stays as it is, and may come again
            if is_shared and size <= KEPT:
                self._under[id(weights)] = weights, found
        return None if found is None else (fewest, *found)

    def _under_weights(self, weights: Array, *, few: bool) -> Under | None:
        """The same weights and Q, worked out."""
        own = np.array([self._of_rows(weight) for weight in weights])
        places, nodes = self._alike[0], self._nodes[0] if self._nodes else None
        if places is not None:
            own = np.array([weight_of_each(weight, places) for weight in own])
        if not few or nodes is None:
            return None if places is None else (own, None)
        if isinstance(nodes, Grid):  # of people who are not in memory
            return None
        return nodes.weighing_each(self.for_changes().rows, own)

    def _of_rows(self, weight: Array) -> Array:
        """(r,) weights of the rows where everyone has another weight."""
        before = self.everyone.weight
        factor = np.divide(weight, before, out=np.zeros_like(weight), where=before > 0)
        return np.asarray(self.rows.weight * (factor if self.origin is None else factor[self.origin]))

    def predicted_side_by_side(
        self, fits: Sequence[Fit], factual: FactualBlock
    ) -> Iterator[tuple[slice, Worlds, Array]]:
        """The same with what the predictor makes of the people, as (g, l).

        Where people have several worlds, it is asked about those of many versions at once, which often repeat.
        """
        waiting: list[tuple[slice, Worlds]] = []
        for some, counterfactual in self.side_by_side(fits, factual, features=self.looks_at_features):
            waiting.append((some, counterfactual))
            if not self.is_mixed or sum(one.x_cf.shape[1] for _, one in waiting) > ASKED:
                yield from self._predicted(waiting)
                waiting = []
        if waiting:
            yield from self._predicted(waiting)

    def _predicted(self, waiting: Sequence[tuple[slice, Worlds]]) -> Iterator[tuple[slice, Worlds, Array]]:
        inputs = [self.view.counterfactual(one) for _, one in waiting]
        ends = np.cumsum([Z.shape[1] for Z in inputs])
        predicted = self.predictor.predict(inputs[0] if len(inputs) == 1 else np.concatenate(inputs, axis=1))
        for one, own in zip(waiting, np.split(predicted, ends[:-1], axis=1), strict=True):
            yield *one, own

    def remembered(self, what: Hashable, fits: Sequence[Fit], find: Callable[[Claim, Sequence[Fit]], Array]) -> Array:
        """Numbers that each version of Model B determines; where they take long, none is found twice."""
        if not self.is_mixed:
            return find(self, fits)
        keys = [(what, b"".join(part.tobytes() for part in fit.numbers)) for fit in fits]
        # asked for once each: another thread may forget all of them at any time
        known = {key: value for key in keys if (value := self._values.get(key)) is not None}
        new = {key: fit for key, fit in zip(keys, fits, strict=True) if key not in known}
        if new:
            known |= zip(new, find(self, list(new.values())).tolist(), strict=True)
        if len(self._values) > REMEMBERED:
            self._values.clear()
        self._values.update(known)
        return np.array([known[key] for key in keys])

    def predict(self, block: Rows, eps: Array) -> Array:
        """What the predictor makes of people as they are, whose residuals are (r, m)."""
        return self.predictor.predict(self.view.factual(block, eps))

    def predict_worlds(self, counterfactual: Worlds) -> Array:
        """What it makes of the same people in other worlds, as (g, l)."""
        return self.predictor.predict(self.view.counterfactual(counterfactual))

    def predictor_inputs(self, block: Rows) -> Array:
        """(r, p) what the predictor is shown of people as they are."""
        return self.view.factual(block, self.residuals(block))

    def predicted(self, block: Rows) -> Array:
        """(r,) what the predictor makes of people as they are."""
        return self.predictor.predict(self.predictor_inputs(block))

    def counterfactual_rows(self, fit: Fit) -> Leaves:
        """Everyone's counterfactual features, coded, under one version of Model B."""
        parts, first = [], 0
        for factual in self.blocks():
            counterfactual, n = self.worlds([fit], factual), factual.block.a.size
            owner = np.arange(n) if counterfactual.owner is None else counterfactual.owner
            parts.append((owner + first, counterfactual.weights(np.ones(n)), counterfactual.x_cf[0]))
            first += n
        return Leaves(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @property
    def columns_shown(self) -> tuple[str, ...]:
        """What the predictor is handed: residuals by name, or columns of the table, also outside the graph."""
        return columns_of(self.predictor, self.view)[0]

    @property
    def columns_used(self) -> tuple[str, ...] | None:
        """Which of these it uses, as far as can be told; None where nothing tells, as of a function.

        A fitted estimator tells by what it was fitted to, by columns that its first step drops, and by weights, splits
        or importances of 0.
        """
        return columns_of(self.predictor, self.view)[1]

    @property
    def has_threshold(self) -> bool:
        """Whether a hidden cause may lie behind a protected attribute with levels, the first variable of P."""
        return self.design.protected is not None and self.design.protected.law.is_ordered

    @property
    def protected_levels(self) -> int:
        """How many levels the protected attribute has where it is seen through thresholds; otherwise 0."""
        return len(self.design.protected.law.codes) if self.design.protected else 0

    @property
    def gram(self) -> Array:
        """Cross-products of all features' columns, equation by equation."""
        system = self.system if isinstance(self.system, System) else self.system.features
        return system.moments.G

    def condition(self) -> float:
        """The worst condition number among the equations' Gram matrices, in unit-norm columns."""
        scale = np.sqrt(np.diag(self.gram))
        scale = np.where(scale > 0, scale, 1.0)  # a term that is 0 for everyone
        unit = self.gram / np.outer(scale, scale)
        numbers = zip(self.design.equations, self.design.slices, strict=True)
        conditions = [float(np.linalg.cond(unit[s, s])) for e, s in numbers if not e.law.is_ordered]
        return max(conditions, default=1.0)

    def __repr__(self) -> str:
        return f"<Claim: {self.predictor.name} on {self.rows.a.size:,} distinct rows>"


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A predictor that ignores the causal graph, for comparison.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> audit.baselines["blind"].name, audit.baselines["blind"].degree
    ('blind', 1)
    """

    name: str  # ``unconstrained`` or ``blind``
    unfairness: float  # mean squared difference between its predictions and the fair predictor's: the paper's measure
    r2: float  # in-sample share of the variance explained (of the deviance for a two-valued outcome)
    degree: int  # of its polynomial
    penalty: float  # of its ridge
    claim: Claim = field(repr=False)  # what gives its own CFU at any P


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a CFU is compared with.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> context = audit.curve([0, 0.1]).context
    >>> context.penalty, round(context.outcome_variance, 2)
    (0.0, 4.43)
    """

    outcome_variance: float  # NaN where CFU is not in its units
    negligible: float  # a CFU at or below this is what an exact zero looks like after rounding
    penalty: float  # of the structural equations
    log_likelihood: float  # of Model A
    baselines: dict[str, float]  # unfairness by name; none where it is no distance from a fair predictor
    floor: float = 0.0  # CFU with independent errors, of a predictor that sees expected errors, or of people held out
    held_out: int = 0  # people who were held out, of whom Model B and CFU then are; 0 where nobody was
    baseline_claims: dict[str, Claim] = field(default_factory=dict, repr=False)  # what gives the baselines' own CFU
    no_unpenalised: str = ""  # why profiles and curves are not shown without penalty

    def __repr__(self) -> str:
        levels = ", ".join(f"{name} {level:.4g}" for name, level in self.baselines.items()) or "none"
        return f"<Context: outcome variance {self.outcome_variance:.4g}; unfairness of baselines: {levels}>"


def read_baseline(name: Any, known: Mapping[str, Any]) -> Any:
    """Give what is known of a baseline by its name."""
    if not isinstance(name, str) or name not in known:
        choices = " or ".join(repr(one) for one in known)
        near = did_you_mean(name, known) if isinstance(name, str) else ""
        raise SettingError(f"there is no baseline {show(name)}{near or f': give {choices}'}")
    return known[name]
