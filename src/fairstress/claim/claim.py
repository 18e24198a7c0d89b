"""The claim under test: Model A and a predictor, with the people on whom counterfactual worlds are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairstress.claim.measure import SQUARED, Measure
from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.rows import Array, Rows
from fairstress.model.counterfactual import FactualBlock, Worlds, factual_columns, residuals, worlds
from fairstress.model.design import Design
from fairstress.model.fit import Fit
from fairstress.model.predictor import AnyPredictor
from fairstress.model.threshold import Likelihood, ThresholdSystem
from fairstress.model.view import Lens

KEPT = 2**25  # numbers of all equations' columns that are kept in memory, a quarter of a gigabyte


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
    _kept: list[FactualBlock] = field(default_factory=list, init=False, repr=False)

    def blocks(self) -> Iterable[FactualBlock]:
        """People in the factual world, block by block; worked out once, unless they are too many to keep."""
        if self._kept:
            return self._kept
        blocks = (self._factual(block) for block in self.rows.blocks())
        if self.rows.a.size * self.design.feature_of.size > KEPT:
            return blocks
        self._kept[:] = list(blocks)  # at once, so that other threads see all of them or none
        return self._kept

    def _factual(self, block: Rows) -> FactualBlock:
        phi, eps = factual_columns(self.design, self.model_a.weights, block)
        return FactualBlock(block, phi, eps, self.predict(block, eps))

    def predict(self, block: Rows, eps: Array) -> Array:
        """What the predictor makes of people as they are, whose residuals are (r, m)."""
        return self.predictor.predict(self.view.factual(block, eps))

    def predict_worlds(self, counterfactual: Worlds) -> Array:
        """What it makes of the same people in other worlds, as (g, r)."""
        return self.predictor.predict(self.view.counterfactual(counterfactual))

    def predictor_inputs(self, block: Rows) -> Array:
        """(r, p) what the predictor is shown of people as they are."""
        return self.view.factual(block, residuals(self.design, self.model_a.weights, block))

    def predicted(self, block: Rows) -> Array:
        """(r,) what the predictor makes of people as they are."""
        return self.predictor.predict(self.predictor_inputs(block))

    def counterfactual_rows(self, w_B: Array) -> Array:
        """(r, m) counterfactual features, standardised, of each of the rows under Model B's weights (D,)."""
        w_A = self.model_a.weights
        return np.concatenate([worlds(self.design, w_A, w_B[None], block).x_cf[0] for block in self.blocks()])

    @property
    def has_threshold(self) -> bool:
        """Whether a hidden cause may lie behind a two-valued protected attribute, the first variable of P."""
        return isinstance(self.system, ThresholdSystem)

    @property
    def gram(self) -> Array:
        """Cross-products of all features' columns, equation by equation."""
        system = self.system.features if isinstance(self.system, ThresholdSystem) else self.system
        return system.moments.G

    def condition(self) -> float:
        """The worst condition number among the equations' Gram matrices, in unit-norm columns."""
        scale = np.sqrt(np.diag(self.gram))
        unit = self.gram / np.outer(scale, scale)
        return max(float(np.linalg.cond(unit[where, where])) for where in self.design.slices)

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
    baseline_claims: dict[str, Claim] = field(default_factory=dict, repr=False)  # what gives the baselines' own CFU

    def __repr__(self) -> str:
        levels = ", ".join(f"{name} {level:.4g}" for name, level in self.baselines.items()) or "none"
        return f"<Context: outcome variance {self.outcome_variance:.4g}; unfairness of baselines: {levels}>"


def read_baseline(name: Any, known: Mapping[str, Any]) -> Any:
    """Give what is known of a baseline by its name."""
    if not isinstance(name, str) or name not in known:
        choices = " or ".join(repr(one) for one in known)
        near = did_you_mean(name, known) if isinstance(name, str) else ""
        raise SettingError(f"there is no baseline {name!r}{near or f': give {choices}'}")
    return known[name]
