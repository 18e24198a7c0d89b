"""Scores of a fit whose errors are seen in intervals, and their expected cross-products given the parents.

With ``l`` a person's log likelihood, the scores are ``dl/dw = ebar phi``, ebar the expected error, and those by cuts or
by the logarithm of the scale. A test of further terms takes off what they share with these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from fairstress.inputs.rows import Array, Rows
from fairstress.model.fit import Fit
from fairstress.model.latent import Part, error, free_weights, seen

TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of everyone, and what is expected of their products with the expected error."""

    values: Array  # (n, p) by weights, then by cuts or log scales
    cross: Array  # (n, p) E[score ebar | parents]
    information: Array  # (p, p) sum over people of E[score score' | parents]

    def net(self, e: Array, Z: Array, weight: Array) -> Array:
        """Scores ``ebar Z`` of further terms less what they share with those that the fit has set to 0."""
        shared = np.linalg.lstsq(self.information, (self.cross * weight[:, None]).T @ Z, rcond=None)[0]
        return np.asarray(e[:, None] * Z - self.values @ shared)


def scores_of(part: Part, fit: Fit, rows: Rows, phi: Array, weight: Array) -> Scores:
    """The scores of one equation."""
    of_rest, square, cross, products = (
        _ordered(part, fit, rows, phi) if part.equation.law.is_ordered else _censored(part, fit, rows, phi)
    )
    X = phi[:, free_weights(part)]
    e = error(part, fit, rows.a, seen(part, rows), phi).expected()
    mixed = (X * weight[:, None]).T @ cross
    information = np.block(
        [[(X * (weight * square)[:, None]).T @ X, mixed], [mixed.T, np.einsum("i,ijk->jk", weight, products)]]
    )
    return Scores(np.hstack([e[:, None] * X, of_rest]), np.hstack([square[:, None] * X, cross]), information)


def _ordered(part: Part, fit: Fit, rows: Rows, phi: Array) -> tuple[Array, Array, Array, Array]:
    """By cuts: ``f_k / Pr(k)`` at level k and ``-f_k / Pr(k + 1)`` above, f the density at the cut."""
    cuts = part.edges(fit) - (phi @ part.w(fit))[:, None]  # (n, L + 1)
    f = np.exp(-(np.where(np.isfinite(cuts), cuts, 50.0) ** 2) / 2) / np.sqrt(2 * np.pi)
    share = np.maximum(np.diff(special.ndtr(cuts), axis=1), TINY)  # (n, L)
    level, L = part.equation.law.level_of(seen(part, rows)), share.shape[1]
    ebar, inner = (f[:, :-1] - f[:, 1:]) / share, f[:, 1:-1]
    below, above = inner / share[:, :-1], inner / share[:, 1:]
    values = below * (level[:, None] == np.arange(L - 1)) - above * (level[:, None] - 1 == np.arange(L - 1))
    cross = inner * (ebar[:, :-1] - ebar[:, 1:])
    products = np.zeros((len(share), L - 1, L - 1))
    k = np.arange(L - 1)
    products[:, k, k] = inner * (below + above)
    products[:, k[:-1], k[1:]] = products[:, k[1:], k[:-1]] = -above[:, :-1] * inner[:, 1:]
    return values, (ebar**2 * share).sum(axis=1), cross, products


def _censored(part: Part, fit: Fit, rows: Rows, phi: Array) -> tuple[Array, Array, Array, Array]:
    """By log scales: ``e^2 - 1`` above an atom, ``-t f / Pr`` at it, t its threshold and f the density there."""
    law = part.equation.law
    assert law.atom is not None
    sigma = part.sigma(fit, rows.a)
    t = np.clip((law.atom - phi @ part.w(fit)) / sigma, -30.0, 30.0)
    f, Q = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi), special.ndtr(-t)
    at = f**2 / np.maximum(special.ndtr(t), TINY)
    own = (law.group_of(rows.a)[:, None] == np.arange(law.n_scales)).astype(float)
    known = error(part, fit, rows.a, seen(part, rows), phi)
    hazard = np.exp(-(t**2) / 2 - special.log_ndtr(t)) / np.sqrt(2 * np.pi)
    values = np.where(known.is_interval, -t * hazard, known.upper**2 - 1)[:, None] * own
    cross = (f * (t**2 + 1) + t * at)[:, None] * own
    products = (t**3 * f + t * f + 2 * Q + t**2 * at)[:, None, None] * own[:, :, None] * own[:, None, :]
    return values, t * f + Q + at, cross, products
