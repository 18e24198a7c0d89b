"""Cross-validation of degrees and penalties: of numbers from the moments of folds, of other kinds by likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairstress.errors import DataError
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array, Rows, join, seen_by
from fairstress.model.design import (
    Describer,
    Design,
    Equation,
    Moments,
    build_equation,
    column_penalties,
    outcome_moments,
    structural_moments,
)
from fairstress.model.embedding import Embedding, EmbeddingFactory, Polynomial
from fairstress.model.linear import ridge
from fairstress.model.mixed import MixedSystem
from fairstress.model.predictor import Source, deviance, logistic_weights, squared_errors, total_squares
from fairstress.model.tried import LIKELIHOOD, R2, Tried
from fairstress.summing import add_up


def choose_structure(
    graph: CausalGraph,
    folds: Sequence[Rows],
    degrees: Mapping[str, Sequence[int]],
    penalties: Sequence[float],
    *,
    describe: Describer,
    embedding: EmbeddingFactory,
    penalise_constant: bool,
    chosen: Callable[[], None] = lambda: None,
) -> tuple[dict[str, int], float, tuple[Tried, ...]]:
    """Choose a degree per feature and one shared penalty by the mean over folds of the R2 of all features stacked.

    The fit is plain ridge at unit scales. For a given penalty the score is a sum over features, so that no product of
    degrees needs fitting: each feature takes its best degree, and the penalties are compared on that. ``chosen`` is
    called when all degrees of a feature have been tried. What was tried is given too, with each feature's own R2.
    """
    if not degrees:
        return {}, penalties[0] if len(penalties) == 1 else 0.0, ()
    if len(penalties) == 1 and all(len(options) == 1 for options in degrees.values()):
        return {name: options[0] for name, options in degrees.items()}, penalties[0], ()
    errors: dict[str, Array] = {}  # per feature (degrees, penalties, folds)
    totals: list[list[Moments]] = []
    for name, options in degrees.items():
        tables = []
        for degree in options:
            equation = build_equation(graph, name, degree, describe, embedding)
            moments = [structural_moments(fold, [equation]) for fold in folds]
            tables.append(_held_out_errors(moments, equation.embedding, penalties, penalise_constant=penalise_constant))
        errors[name] = np.array(tables)
        totals.append(moments)
        chosen()
    totals_of_folds = np.array([total_squares(*parts) for parts in zip(*totals, strict=True)])
    losses = {name: (error / totals_of_folds).mean(axis=2) for name, error in errors.items()}  # (degrees, penalties)
    best = int(np.argmin(sum(loss.min(axis=0) for loss in losses.values())))
    chosen_degrees = {name: degrees[name][int(loss[:, best].argmin())] for name, loss in losses.items()}
    own_totals = [np.array([total_squares(part) for part in parts]) for parts in totals]
    tried = [
        Tried(name, tuple(degrees[name]), tuple(penalties), 1 - (error / own).mean(axis=2), R2)
        for (name, error), own in zip(errors.items(), own_totals, strict=True)
    ]
    return chosen_degrees, penalties[best], tuple(tried)


def choose_latent(
    graph: CausalGraph,
    name: str,
    folds: Sequence[Rows],
    degrees: Sequence[int],
    penalties: Sequence[float],
    *,
    describe: Describer,
    embedding: EmbeddingFactory,
    penalise_constant: bool,
) -> tuple[int, float, tuple[Tried, ...]]:
    """Choose degree and penalty of one feature whose error is seen in intervals, by held-out log likelihood."""
    if len(degrees) == len(penalties) == 1:
        return degrees[0], penalties[0], ()
    losses = np.empty((len(degrees), len(penalties)))
    for i, degree in enumerate(degrees):
        equation = build_equation(graph, name, degree, describe, embedding)
        losses[i] = _latent_losses(folds, equation, penalties, penalise_constant)
    row, column = np.unravel_index(int(losses.argmin()), losses.shape)
    tried = Tried(name, tuple(degrees), tuple(penalties), -losses / 2, LIKELIHOOD)
    return degrees[int(row)], penalties[int(column)], (tried,)


def choose_predictor(
    folds: Sequence[Rows],
    source: Source,
    degrees: Sequence[int],
    penalties: Sequence[float],
    *,
    is_logistic: bool,
    penalise_constant: bool,
) -> tuple[int, float, Tried | None]:
    """Choose degree and penalty by the mean over folds of R2 (of the mean log likelihood, if logistic)."""
    if len(degrees) == len(penalties) == 1:
        return degrees[0], penalties[0], None
    losses = np.empty((len(degrees), len(penalties)))
    score = _logistic_losses if is_logistic else _ridge_losses
    for i, degree in enumerate(degrees):
        losses[i] = score(folds, source, Polynomial.of(source.inputs, degree), penalties, penalise_constant)
    row, column = np.unravel_index(int(losses.argmin()), losses.shape)
    scores, measured = (-losses / 2, LIKELIHOOD) if is_logistic else (1 - losses, R2)
    tried = Tried("predictor", tuple(degrees), tuple(penalties), scores, measured)
    return degrees[int(row)], penalties[int(column)], tried


# ---------------------------------------------------------------- scores


def _latent_losses(
    folds: Sequence[Rows], equation: Equation, penalties: Sequence[float], penalise_constant: bool
) -> Array:
    """(penalties,) mean over folds of the held-out deviance per person."""
    equation = replace(equation, moves=False)
    columns = [equation.column, *equation.parents]
    parts = [seen_by(fold, columns, protected=equation.uses_protected) for fold in folds]
    design = Design.of([equation])
    losses = np.zeros((len(penalties), len(folds)))
    for f, held_out in enumerate(parts):
        rest = seen_by(join([part for g, part in enumerate(parts) if g != f]), columns, protected=True)
        start = None
        # from the largest penalty down, so that each fit starts close to its solution
        for i in sorted(range(len(penalties)), key=lambda i: -penalties[i]):
            lam = column_penalties(equation.embedding, penalties[i], penalise_constant=penalise_constant)
            start = MixedSystem.of(design, rest, lam, np.zeros(0), ()).independent(start, tolerance=1e-7)
            losses[i, f] = MixedSystem.of(design, held_out, lam, np.zeros(0), ()).deviance(start) / held_out.n
    return np.asarray(losses.mean(axis=1))


def _held_out_errors(
    moments: Sequence[Moments], embedding: Embedding, penalties: Sequence[float], *, penalise_constant: bool
) -> Array:
    """Sum of squared errors on each fold of the ridge fitted to the others, as (penalties, folds)."""
    whole = add_up(moments)
    errors = np.empty((len(penalties), len(moments)))
    own = [column_penalties(embedding, penalty, penalise_constant=penalise_constant) for penalty in penalties]
    for f, held_out in enumerate(moments):
        rest = whole - held_out
        try:
            theta = ridge(rest.G, rest.C[:, 0], np.array(own))
        except np.linalg.LinAlgError:  # which the least penalty is the first to bring about
            raise DataError(
                f"cross-validation cannot fit the terms {', '.join(embedding.terms)} with penalty {min(penalties):g}: "
                "they are collinear in a fold; give larger penalties or a lower max_degree"
            ) from None
        errors[:, f] = squared_errors(held_out, theta)
    return errors


def _ridge_losses(
    folds: Sequence[Rows], source: Source, embedding: Polynomial, penalties: Sequence[float], penalise_constant: bool
) -> Array:
    """(penalties,) mean over folds of 1 - R2."""
    moments = [outcome_moments(fold, lambda block: embedding.values(source.gather(block))) for fold in folds]
    squares = np.array([total_squares(part) for part in moments])
    if (squares <= 1e-12 * np.array([part.S[0, 0] for part in moments])).any():
        raise DataError(
            "the outcome is constant within one of the folds of cross-validation: put the rows in another order, "
            "or give predictor_degree and predictor_penalty"
        )
    errors = _held_out_errors(moments, embedding, penalties, penalise_constant=penalise_constant)
    return np.asarray((errors / squares).mean(axis=1))


def _logistic_losses(
    folds: Sequence[Rows], source: Source, embedding: Polynomial, penalties: Sequence[float], penalise_constant: bool
) -> Array:
    """(penalties,) mean over folds of the held-out deviance per person."""
    losses = np.zeros((len(penalties), len(folds)))
    for f, held_out in enumerate(folds):
        rest = join([fold for g, fold in enumerate(folds) if g != f])
        theta = None
        # from the largest penalty down, so that each fit starts close to its solution
        for i in sorted(range(len(penalties)), key=lambda i: -penalties[i]):
            columns = column_penalties(embedding, penalties[i], penalise_constant=penalise_constant)
            theta = logistic_weights(rest, embedding, source, columns, theta, tolerance=1e-6)
            losses[i, f] = deviance(held_out, embedding, source, theta) / held_out.n
    return np.asarray(losses.mean(axis=1))
