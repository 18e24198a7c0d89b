"""Predictors of the outcome: what any of them gives, and polynomial ridge, logistic where it has two values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import special

from fairstress.errors import SettingError
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Moments, column_penalties, outcome_moments
from fairstress.model.embedding import Input, Polynomial
from fairstress.model.linear import dependent_column, ridge
from fairstress.model.tried import Tried


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What a predictor may look at: named inputs, and how to gather them from a block of rows."""

    inputs: tuple[Input, ...]
    gather: Callable[[Rows], Array]  # (r, p)


ANALYTIC = "analytic"  # a gradient by formulas, beside those of `fairstress.options`


class AnyPredictor(Protocol):
    """What an audit asks of a predictor, be it built in or the user's."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def gradient(self) -> str:
        """Where its slopes come from: "analytic", "autograd", "differences" or "none"."""
        ...

    @property
    def degree(self) -> int | None:
        """Degree of a polynomial."""
        ...

    @property
    def penalty(self) -> float | None:
        """Its penalty."""
        ...

    @property
    def r2(self) -> float | None:
        """In-sample share of the variance explained, of the deviance for a two-valued outcome."""
        ...

    def predict(self, Z: Array) -> Array:
        """Predictions for inputs (..., p)."""
        ...

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array | None]:
        """Predictions for inputs (..., p), and their derivatives by these (..., p); None where it has none."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialPredictor:
    """A fitted ``f(z) = phi(z)' theta``, through the logistic function for a two-valued outcome."""

    embedding: Polynomial
    weights: Array  # (d,) theta
    degree: int
    penalty: float
    is_logistic: bool
    r2: float  # in-sample share of the variance explained (of the deviance, if logistic)
    tried: Tried | None = None  # by cross-validation, where it chose

    @property
    def name(self) -> str:
        """What it is, for people."""
        return "polynomial"

    @property
    def gradient(self) -> str:
        """Its slopes are formulas."""
        return ANALYTIC

    def predict(self, Z: Array) -> Array:
        """Predicted outcome, or probability of the outcome's last level, for inputs (..., p)."""
        return self._link(self.embedding.dot(Z, self.weights))

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array]:
        """Predictions for inputs (..., p), and their derivatives by these, as (..., p)."""
        low = self.embedding.lower(Z)
        predicted = self._link(self.embedding.dot(Z, self.weights, low))
        slopes = self.embedding.slopes(Z, low, self.weights[:, None])[..., 0]
        return predicted, slopes * (predicted * (1 - predicted))[..., None] if self.is_logistic else slopes

    def _link(self, linear: Array) -> Array:
        return np.asarray(special.expit(linear)) if self.is_logistic else linear

    def __repr__(self) -> str:
        return f"<PolynomialPredictor of degree {self.degree}: {self.weights.size} weights, R2 {self.r2:.4g}>"


@dataclass(frozen=True, slots=True, eq=False)
class LogOdds:
    """Another predictor's probabilities as ``log(p / (1 - p))``."""

    of: AnyPredictor

    @property
    def name(self) -> str:
        """What it is, for people."""
        return self.of.name

    @property
    def gradient(self) -> str:
        """Where its slopes come from."""
        return self.of.gradient

    @property
    def degree(self) -> int | None:
        """Degree of a polynomial."""
        return self.of.degree

    @property
    def penalty(self) -> float | None:
        """Its penalty."""
        return self.of.penalty

    @property
    def r2(self) -> float | None:
        """In-sample share of the deviance explained."""
        return self.of.r2

    def predict(self, Z: Array) -> Array:
        """Log-odds for inputs (..., p)."""
        return _log_odds(self.of.predict(Z))

    def predict_with_slopes(self, Z: Array) -> tuple[Array, Array | None]:
        """Log-odds for inputs (..., p), and their derivatives, ``dp / (p (1 - p))``."""
        p, slopes = self.of.predict_with_slopes(Z)
        return _log_odds(p), None if slopes is None else slopes / (p * (1 - p))[..., None]


def on_log_odds(predictor: AnyPredictor) -> AnyPredictor:
    """The same predictor on the scale of log-odds."""
    if isinstance(predictor, PolynomialPredictor):
        return replace(predictor, is_logistic=False)  # its linear part, which keeps all digits
    return LogOdds(predictor)


def _log_odds(p: Array) -> Array:
    if not ((p > 0) & (p < 1)).all():
        worst = p.flat[int(np.argmax(np.abs(p - 0.5)))]
        raise SettingError(
            f"the predictor's scale is 'log-odds', but it gives {worst:g} for someone, whose log-odds are not "
            "finite: give a predictor of probabilities strictly between 0 and 1, or scale='probability'"
        )
    return np.asarray(special.logit(p))


def fit_predictor(
    rows: Rows, source: Source, degree: int, penalty: float, *, is_logistic: bool, penalise_constant: bool
) -> PolynomialPredictor:
    """Fit a polynomial of some degree under some penalty."""
    embedding = Polynomial.of(source.inputs, degree)
    penalties = column_penalties(embedding, penalty, penalise_constant=penalise_constant)
    moments = outcome_moments(rows, lambda block: embedding.values(source.gather(block)))
    check_independent(moments.G + np.diag(penalties), embedding.terms, "the predictor", penalty)
    if is_logistic:
        weights, r2 = _logistic(rows, embedding, source, penalties)
    else:
        weights, r2 = _least_squares(moments, penalties)
    return PolynomialPredictor(embedding, weights, degree, penalty, is_logistic, r2)


def check_independent(N: Array, terms: Sequence[str], where: str, penalty: float) -> None:
    """Refuse columns that determine each other under a penalty that is too small to tell them apart."""
    column = dependent_column(N)
    if column is not None:
        raise SettingError(
            f"the term '{terms[column]}' of {where} is determined by its other terms, so that penalty {penalty:g} has "
            "no unique fit: give a larger penalty or a lower degree, or remove a redundant column"
        )


# ---------------------------------------------------------------- ridge


def squared_errors(moments: Moments, theta: Array) -> Any:
    """Sum of squared errors of ``phi' theta`` on the rows behind some moments, for weights (..., d)."""
    return moments.S[0, 0] - 2 * theta @ moments.C[:, 0] + ((theta @ moments.G) * theta).sum(axis=-1)


def total_squares(*moments: Moments) -> float:
    """Sum of squares of all targets, stacked, about their common mean."""
    squares = sum(float(np.trace(part.S)) for part in moments)
    count = sum(part.n * part.total.size for part in moments)
    return squares - sum(float(part.total.sum()) for part in moments) ** 2 / count


def _least_squares(moments: Moments, penalties: Array) -> tuple[Array, float]:
    """Ridge weights, and R2."""
    theta = ridge(moments.G, moments.C[:, 0], penalties)
    return theta, 1 - float(squared_errors(moments, theta)) / total_squares(moments)


# ---------------------------------------------------------------- logistic


def deviance(rows: Rows, embedding: Polynomial, source: Source, theta: Array) -> float:
    """``-2 log likelihood`` of a logistic model."""

    def of(block: Rows) -> float:
        return _deviance(block, embedding.values(source.gather(block)) @ theta)

    return rows.total(of)


def _deviance(block: Rows, linear: Array) -> float:
    return 2 * float(block.weight @ np.logaddexp(0, linear) - block.y @ linear)


def null_deviance(rows: Rows) -> float:
    """``-2 log likelihood`` of a model that gives everyone the mean outcome."""
    mean = rows.total(lambda block: float(block.y.sum())) / rows.n
    return -2 * rows.n * float(special.xlogy(mean, mean) + special.xlog1py(1 - mean, -mean))


def logistic_weights(
    rows: Rows,
    embedding: Polynomial,
    source: Source,
    penalties: Array,
    start: Array | None = None,
    *,
    tolerance: float = 1e-11,
) -> Array:
    """Minimise deviance plus penalty by Newton with step halving; ``tolerance`` is a decrease per person."""
    theta = np.zeros(penalties.size) if start is None else start
    value, g, H = penalised_deviance(rows, embedding, source, penalties, theta)
    for _ in range(100):
        try:
            step = -ridge(H, g, np.zeros(g.size))
        except np.linalg.LinAlgError:
            break
        converged = float(-g @ step) <= 2 * tolerance * rows.n
        if converged and value < 1e-6 * rows.n:  # nobody is predicted that well: the weights run away
            break
        if converged:
            return np.asarray(theta + step)
        trial = penalised_deviance(rows, embedding, source, penalties, theta + step)
        while trial[0] > value and np.abs(step).max() > 1e-12:
            step = step / 2
            trial = penalised_deviance(rows, embedding, source, penalties, theta + step)
        theta, (value, g, H) = theta + step, trial
    raise SettingError(_SEPARATED)


_SEPARATED = (
    "the logistic predictor does not converge: the inputs separate the two outcomes, or nearly so; "
    "give a larger predictor_penalty or a lower predictor_degree"
)


def penalised_deviance(
    rows: Rows, embedding: Polynomial, source: Source, penalties: Array, theta: Array
) -> tuple[float, Array, Array]:
    """Deviance plus penalty, with gradient and Hessian, in one pass over the rows."""

    def of(block: Rows) -> tuple[float, Array, Array]:
        Phi = embedding.values(source.gather(block))
        linear = Phi @ theta
        p = special.expit(linear)
        H = 2 * (Phi * (block.weight * p * (1 - p))[:, None]).T @ Phi
        return _deviance(block, linear), 2 * Phi.T @ (block.weight * p - block.y), H

    value, g, H = rows.total(of)
    return value + float(penalties @ theta**2), g + 2 * penalties * theta, H + 2 * np.diag(penalties)


def _logistic(rows: Rows, embedding: Polynomial, source: Source, penalties: Array) -> tuple[Array, float]:
    """Logistic weights, and the share of the deviance explained."""
    theta = logistic_weights(rows, embedding, source, penalties)
    return theta, 1 - deviance(rows, embedding, source, theta) / null_deviance(rows)
