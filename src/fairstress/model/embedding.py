"""Embeddings: the fixed functions in which a structural equation is linear, with their slopes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from fairstress.errors import FairstressError, SettingError, describe_error, show
from fairstress.inputs.rows import Array
from fairstress.model.monomials import Exponents, Ladder, lower, ordered


@dataclass(frozen=True, slots=True)
class Input:
    """One variable that enters an embedding."""

    name: str  # of the variable
    is_sign: bool = False  # coded -1/+1, so that its square is 1
    n_values: int | None = None  # how many distinct values the data have; None is "many"
    level: float | None = None  # the code that this input indicates, one of several of a variable, by 0 and 1
    of: str = ""  # the variable whose level it indicates


class Embedding(Protocol):
    """The seam for other function classes: values, and slopes with respect to the inputs.

    The first column is the constant 1. ``repeats`` says over how many equal columns a weight is spread when it is
    penalised; it is 1 everywhere for an embedding whose columns all differ.
    """

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the d columns."""
        ...

    @property
    def repeats(self) -> Array:
        """How many equal columns each of the d columns stands for."""
        ...

    def values(self, Z: Array) -> Array:
        """Columns ``phi(z)`` of the inputs (..., p), as (..., d)."""
        ...

    def slopes(self, Z: Array, phi: Array, W: Array) -> Array:
        """Derivatives of ``phi(z)' w`` with respect to z, for each column w of ``W`` (d, k), as (r, p, k).

        ``phi`` (r, d) are the columns at Z, which are known by the time that slopes are wanted.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ByGroup:
    """Another embedding once for each level of the protected attribute, whose code is the first input.

    A person's columns are those of the own level; all others are 0.
    """

    of: Embedding  # of the other inputs
    codes: tuple[float, ...]  # of the levels
    names: tuple[str, ...]  # of the levels, for people

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns, with the level: ``[White] ugpa``."""
        return tuple(f"[{name}] {term}" for name in self.names for term in self.of.terms)

    @property
    def repeats(self) -> Array:
        """How many equal columns each column stands for."""
        return np.tile(self.of.repeats, len(self.codes))

    @property
    def constants(self) -> tuple[int, ...]:
        """Which columns are the constant of a level."""
        return tuple(len(self.of.terms) * g for g in range(len(self.codes)))

    def values(self, Z: Array) -> Array:
        """Columns of the inputs (..., p), as (..., d)."""
        phi = self.of.values(Z[..., 1:])
        return np.concatenate([phi * (Z[..., :1] == code) for code in self.codes], axis=-1)

    def slopes(self, Z: Array, phi: Array, W: Array) -> Array:
        """Derivatives with respect to the inputs; the first, a level, has none."""
        inner = self.of.values(Z[..., 1:])
        slopes = np.zeros((Z.shape[0], Z.shape[1], W.shape[1]))
        for own, code in zip(np.split(W, len(self.codes)), self.codes, strict=True):
            slopes[:, 1:] += self.of.slopes(Z[..., 1:], inner, own) * (Z[:, :1, None] == code)
        return slopes


def slopes_in_worlds(embedding: Embedding, Z: Array, phi: Array, W: Array) -> Array:
    """`Embedding.slopes` in g worlds: inputs (g, r, p), columns (g, r, d) and weights (g, d, k), as (g, r, p, k).

    Inputs and columns that all worlds share may come once.
    """
    if isinstance(embedding, Polynomial):
        return embedding.slopes(Z, phi, W)
    g = max(len(Z), len(W))
    parts = (np.broadcast_to(part, (g, *part.shape[1:])) for part in (Z, phi, W))
    return np.stack([embedding.slopes(*one) for one in zip(*parts, strict=True)])


def constant_columns(embedding: Embedding) -> tuple[int, ...]:
    """Which columns are constants: the first, or one for each level of the protected attribute."""
    return embedding.constants if isinstance(embedding, ByGroup) else (0,)


def has_levels(inputs: Sequence[Input]) -> bool:
    """Whether some inputs are indicators of a feature's levels."""
    return any(variable.level is not None for variable in inputs)


EmbeddingFactory = Callable[[Sequence[Input], int], Embedding]


def read_embedding(embedding: Any) -> EmbeddingFactory:
    """Take what makes the embedding of an equation, all monomials without it."""
    if embedding is None:
        return Polynomial.of
    if not callable(embedding):
        raise SettingError(f"embedding is {show(embedding)}: give a function of inputs and a degree")
    made: EmbeddingFactory = embedding
    return made


def make_embedding(factory: EmbeddingFactory, inputs: Sequence[Input], degree: int) -> Embedding:
    """Make the embedding of an equation; a function of the analyst's own may fail in any way."""
    try:
        made = factory(inputs, degree)
    except FairstressError:
        raise
    except Exception as problem:
        raise SettingError(
            f"embedding failed on {len(inputs)} inputs and degree {degree} ({describe_error(problem)}): give a "
            "function of both that gives an embedding"
        ) from problem
    lacking = [name for name in ("terms", "repeats", "values", "slopes") if not hasattr(made, name)]
    if lacking:
        raise SettingError(
            f"embedding gives {show(made)}, which has no '{lacking[0]}': give a function whose result has terms, "
            "repeats, values and slopes"
        )
    return made


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """All monomials up to a degree.

    A -1/+1 input has ``A^2 = 1`` and ``A^3 = A``, so that some monomials are equal. The paper keeps them all and lets
    the ridge spread its penalty over them. Here equal monomials are one column and ``repeats`` counts them: a weight W
    spread evenly over c equal columns costs ``lam W^2 / c``, so the fitted functions are the same, and at penalty 0 the
    normal matrix stays regular. The power of any other input is at most its number of distinct values less 1.

    Examples
    --------
    >>> law = Polynomial.of([Input("race", is_sign=True), Input("ugpa")], 2)
    >>> law.terms
    ('1', 'race', 'ugpa', 'race*ugpa', 'ugpa^2')
    >>> law.repeats
    array([2., 1., 1., 1., 1.])
    """

    terms: tuple[str, ...]  # names of the monomials
    repeats: Array  # (d,)
    exponents: tuple[Exponents, ...]  # of each monomial
    _derivatives: tuple[Array, ...] = field(repr=False)  # per input k: d/dz_k maps weights to weights
    _all: Ladder = field(repr=False)  # how the monomials are made
    _lower: Ladder = field(repr=False)  # those of which others are multiples

    @classmethod
    def of(cls, inputs: Sequence[Input], degree: int) -> Polynomial:
        """Build the embedding of some inputs up to a degree."""
        counts = Counter(_reduced_monomials(inputs, degree))
        exponents = ordered(list(counts))
        position = {e: i for i, e in enumerate(exponents)}
        n_lower = 1 + max((position[lower(e, i)] for e in exponents for i in range(len(e)) if e[i]), default=0)
        ladder = Ladder.of(exponents)
        return cls(
            terms=tuple(_term(inputs, e) for e in exponents),
            repeats=np.array([float(counts[e]) for e in exponents]),
            exponents=exponents,
            _derivatives=tuple(_derivative(exponents, position, n_lower, k) for k in range(len(inputs))),
            _all=ladder,
            _lower=ladder.first(n_lower),
        )

    def values(self, Z: Array) -> Array:
        """Columns ``phi(z)`` of the inputs (..., p), as (..., d)."""
        return _last(self._all.columns(Z))

    def lower(self, Z: Array) -> Array:
        """The first columns of `values`, (..., n): all of which others are multiples."""
        return _last(self._lower.columns(Z))

    def by_input(self, W: Array) -> Array:
        """(..., k, p, n) weights of lower columns, for each column w of ``W`` (..., d, k) and each input z_i.

        ``phi(z)'w = w_0 + sum_i z_i low(z)'M_i``: every other column is a lower one times an input.
        """
        M = np.zeros((*W.shape[:-2], W.shape[-1], len(self._derivatives), self.n_lower))
        M[..., self._all.own, self._all.earlier] = np.swapaxes(W[..., 1:, :], -1, -2)
        return M

    def from_inputs(self, C: Array) -> Array:
        """(..., d) what belongs to columns, of what belongs to lower ones times inputs (..., n, p); the constant: 0."""
        own = C[..., self._all.earlier, self._all.own]
        return np.concatenate([np.zeros((*C.shape[:-2], 1)), own], axis=-1)

    def dot(self, Z: Array, w: Array, low: Array | None = None) -> Array:
        """``phi(z)'w`` for inputs (..., r, p) and, where they are known, their `lower`; not all columns are made."""
        if not self._all.own.size:
            return np.full(Z.shape[:-1], w[0])
        products = self.by_input(w[:, None])[0] @ np.swapaxes(self.lower(Z) if low is None else low, -1, -2)
        return np.asarray(np.einsum("...pr,...rp->...r", products, Z) + w[0])

    @property
    def n_lower(self) -> int:
        """How many columns there are of which others are multiples."""
        return len(self._derivatives[0]) if self._derivatives else 1

    def slopes(self, Z: Array, phi: Array, W: Array) -> Array:
        """Derivatives of ``phi(z)' w`` with respect to z, for each column w of ``W`` (..., d, k), as (..., r, p, k)."""
        p, k, n = len(self._derivatives), W.shape[-1], self.n_lower
        if not p:
            return np.zeros((*Z.shape[:-1], 0, k))
        M = np.swapaxes(np.array(self._derivatives) @ W[..., None, :, :], -1, -2)  # (..., p, k, n)
        made = M.reshape(*M.shape[:-3], p * k, n) @ np.swapaxes(phi[..., :n], -1, -2)
        made = made.reshape(*made.shape[:-2], p, k, made.shape[-1])
        return np.swapaxes(np.swapaxes(made, -1, -2), -2, -3)


def _last(columns: Array) -> Array:
    """(..., d) of columns (d, ...), which stay as they are in memory."""
    return columns.transpose(*range(1, columns.ndim), 0)


def _reduced_monomials(inputs: Sequence[Input], degree: int) -> list[Exponents]:
    """Exponents of every monomial up to the degree, those of -1/+1 inputs modulo 2, powers beyond the data left out."""
    monomials = []
    for total in range(degree + 1):
        for combination in itertools.combinations_with_replacement(range(len(inputs)), total):
            power = [combination.count(k) for k in range(len(inputs))]
            shown = [v.of for v, e in zip(inputs, power, strict=True) if e > 0 and v.level is not None]
            if len(set(shown)) < len(shown):
                continue  # nobody has two levels of one variable at once
            if all(v.is_sign or v.n_values is None or e < v.n_values for v, e in zip(inputs, power, strict=True)):
                monomials.append(tuple(e % 2 if v.is_sign else e for v, e in zip(inputs, power, strict=True)))
    return monomials


def _term(inputs: Sequence[Input], exponents: Exponents) -> str:
    """Name a monomial: ``race*ugpa^2``."""
    factors = [v.name if e == 1 else f"{v.name}^{e}" for v, e in zip(inputs, exponents, strict=True) if e]
    return "*".join(factors) or "1"


def _derivative(exponents: tuple[Exponents, ...], position: dict[Exponents, int], n_lower: int, k: int) -> Array:
    """Matrix that takes weights to the weights of the derivative by input k, on the columns below the top degree."""
    D = np.zeros((n_lower, len(exponents)))
    for column, e in enumerate(exponents):
        if e[k]:
            D[position[lower(e, k)], column] = e[k]
    return D
