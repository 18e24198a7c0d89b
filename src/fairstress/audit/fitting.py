"""From a table and a graph to an audit: every argument is read, Model A, the predictor and the baselines are fitted."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairstress.audit.fitted import read_seed
from fairstress.audit.sturdy import Sturdy
from fairstress.errors import FairstressWarning, SettingError, did_you_mean
from fairstress.inputs.data import Folds, read_table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.brought import RESIDUALS, read_brought
from fairstress.model.embedding import EmbeddingFactory, Polynomial
from fairstress.model.view import FAIR_PART, RESIDUAL
from fairstress.sensitivity.claim import PROBABILITY, Choice, ClaimBuilder, check_sizes, read_scale
from fairstress.sensitivity.measure import read_measure
from fairstress.threads import one_thread


@dataclass(frozen=True)
class Fitting(Sturdy):
    """An audit that is made from a table."""

    @classmethod
    @one_thread
    def fit(
        cls,
        frame: Any,
        graph: CausalGraph,
        *,
        reference: Any = None,
        shift: float | None = None,
        contrast: Any = None,
        degrees: Mapping[str, int] | None = None,
        penalty: float | None = None,
        predictor_degree: int | None = None,
        predictor_penalty: float | None = None,
        max_degree: int = 3,
        penalties: Sequence[float] | None = None,
        cv: Folds = 5,
        sample_weight: ArrayLike | None = None,
        penalise_constant: bool = False,
        embedding: EmbeddingFactory = Polynomial.of,
        mixed: str = "residual",
        outcome_type: str | None = None,
        predictor: Any = None,
        predictor_input: str | Callable[[pd.DataFrame], Any] = RESIDUALS,
        predictor_gradient: str | Callable[[Any], Any] | None = None,
        predictor_scale: str = PROBABILITY,
        measure: str | float | Callable[[Array, Array], float] = "squared",
        robust: Mapping[str, Any] | None = None,
        random_state: int | None = None,
    ) -> Self:
        """Fit Model A, the predictor on its residuals, and the baselines; what is not given is cross-validated.

        Parameters
        ----------
        frame
            A pandas, polars or pyarrow table with a column for every name of the graph.
        graph
            The causal graph.
        reference
            Level of the protected attribute that the others are compared with, of two levels the one coded +1; without
            it the last in sorted order.
        shift
            How far the counterfactual moves a numeric protected attribute; without it one standard deviation.
        contrast
            Levels, or values of a numeric attribute, that people are moved to; without it all other levels. A person's
            CFU is the mean over them.
        degrees
            Degree of the embedding by feature; features that are left out are chosen.
        penalty
            Ridge penalty shared by the structural equations.
        predictor_degree, predictor_penalty
            The same for the predictor and the baselines.
        max_degree, penalties, cv
            What cross-validation chooses from (penalties: ten from 1e-4 to 1e4), and its number of contiguous folds,
            or splits that test every row once, such as ``list(KFold(5, shuffle=True).split(frame))``.
        sample_weight
            One weight per row; weight 2 is the row twice.
        penalise_constant
            Whether constants bear the ridge penalty, as in the paper; CFU then depends on where zero lies.
        embedding
            Makes the embedding of an equation from its inputs and degree; all monomials without it.
        mixed
            How a feature that fair and unfair paths lead to enters the predictor: ``"residual"``, or ``"fair part"``,
            the value that Model A gives it with the reference level on unfair edges.
        outcome_type
            ``"number"`` or ``"classes"``; without it an outcome of two values is classes, any other a number.
        predictor
            A predictor of your own in place of the polynomial: a scikit-learn regressor or classifier, which is copied
            and fitted unless it is fitted already; a PyTorch module in evaluation mode; or a function. For a two-valued
            outcome it gives the probability of the last level.
        predictor_input
            What your predictor looks at. ``"residuals"``: an array with Model A's residuals of the standardised
            features, those of `predictor_inputs`. ``"features"``: a data frame of the protected attribute and the
            features with the table's names and units; a fitted estimator gets the columns that it was fitted to, a
            module an array in which levels are coded. A function of that data frame gives the predictor what it
            returns.
        predictor_gradient
            Where your predictor's derivatives come from: ``"none"``; ``"differences"``, for a smooth one;
            ``"autograd"``, what a module has by itself; or a function that gives them by the residuals, or by the
            features in the table's units. Without derivatives, searches only compare values: for few pairs.
        predictor_scale
            For a two-valued outcome: ``"probability"``, or ``"log-odds"`` to measure changes of these.
        measure
            What is made of everyone's change of prediction: ``"squared"``, its mean square, which is CFU;
            ``"absolute"``, its mean size; ``"max"``, its largest size; a number between 0 and 1, that quantile of its
            size; or a function of changes and weights.
        robust
            Arguments of `robust`, such as ``{"p_max": 0.3, "weight": 10}``: audit the sturdier predictor that they
            describe in place of the fair one.
        random_state
            Seed of every step that draws random numbers. Fitting draws none, but a brought estimator may.
        """
        seed = read_seed(random_state)
        table = read_table(
            frame,
            graph,
            reference=reference,
            shift=shift,
            contrast=contrast,
            sample_weight=sample_weight,
            centre_outcome=not read_flag(penalise_constant),  # a penalised constant depends on where zero lies
            outcome_type=outcome_type,
        )
        choice = Choice.of(graph, degrees, penalty, predictor_degree, predictor_penalty, max_degree, penalties)
        brought = read_brought(predictor, predictor_input, predictor_gradient, seed)
        way = (read_mixed(mixed), brought, read_scale(predictor_scale, table), read_measure(measure))
        builder = ClaimBuilder(table, table.folds(cv), choice, embedding, bool(penalise_constant), *way)
        asked = None if robust is None else read_robust(robust)
        fitted = cls._built(builder, max_degree, seed)
        return fitted if asked is None else fitted.robust(**asked)

    @classmethod
    def _built(cls, builder: ClaimBuilder, max_degree: int, random_state: int | None) -> Self:
        design, penalty = builder.structure()
        check_sizes(builder.table, design)
        claim = builder.claim(design, penalty)
        if claim.predictor.r2 is None:
            warnings.warn(
                f"predictor {claim.predictor.name} gives numbers outside 0 to 1, which are no probabilities, although "
                f"'{builder.table.graph.outcome}' has two values: they are audited as they are",
                FairstressWarning,
                stacklevel=4,
            )
        settings = builder.settings(claim, penalty, max_degree, len(builder.folds), random_state)
        baselines, graph = builder.baselines(claim), builder.table.graph
        return cls(graph, builder.table, settings, claim, baselines, builder.embedding, builder.brought)


def read_robust(robust: Any) -> dict[str, Any]:
    """Check that `Sturdy.robust` takes these arguments."""
    known = inspect.signature(Sturdy.robust).parameters
    if not isinstance(robust, Mapping):
        raise SettingError(f"robust is {robust!r}: give its arguments, such as {{'p_max': 0.3, 'weight': 10}}")
    for name in robust:
        if name not in known or name == "self":
            raise SettingError(f"robust has no argument '{name}'{did_you_mean(str(name), list(known)[1:])}")
    for name in ("p_max", "weight"):
        if name not in robust:
            raise SettingError(f"robust lacks '{name}': give both, such as {{'p_max': 0.3, 'weight': 10}}")
    return dict(robust)


def read_flag(penalise_constant: Any) -> bool:
    """Check whether constants are to be penalised."""
    if not isinstance(penalise_constant, bool | np.bool_):
        raise SettingError(f"penalise_constant is {penalise_constant!r}: give True or False")
    return bool(penalise_constant)


def read_mixed(mixed: Any) -> bool:
    """Whether a feature of fair and unfair paths enters the predictor by its fair part."""
    if mixed not in (RESIDUAL, FAIR_PART):
        raise SettingError(f"mixed is {mixed!r}: give '{RESIDUAL}' or '{FAIR_PART}'")
    return bool(mixed == FAIR_PART)
