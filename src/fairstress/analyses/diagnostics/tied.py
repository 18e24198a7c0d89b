"""What a hidden cause behind a protected attribute with levels may do to the errors that Model A sees in each group.

If the latent error of the attribute, cut into levels, has correlation rho with a feature's, the feature's error is,
within a level, ``rho T + sqrt(1 - rho^2) Z``, T a truncated and Z a whole normal error. Its variance is
``1 - rho^2 (1 - v)`` with v the variance of T, and its higher cumulants are those of T times powers of rho. An alarm is
raised only where no rho explains what is seen.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from fairstress.analyses.absorption import listed
from fairstress.analyses.diagnostics.implied import Tie
from fairstress.analyses.diagnostics.sample import Sample
from fairstress.claim.build import Fitted
from fairstress.inputs.rows import Array

RHO = np.linspace(-0.95, 0.95, 39)


def shapes(fitted: Fitted, sample: Sample) -> Array:
    """(rho, 2) skewness and excess kurtosis over all groups, each on its own scale, that each rho brings about."""
    share, variance, third, fourth = cumulants(fitted, sample)
    within = 1 - RHO[:, None] ** 2 * (1 - variance)
    skewness = (RHO[:, None] ** 3 * third / within**1.5) @ share
    return np.column_stack([skewness, (RHO[:, None] ** 4 * fourth / within**2) @ share])


def log_scales(fitted: Fitted, sample: Sample) -> Array:
    """(rho, levels) logarithms of the deviations in the groups that each rho brings about."""
    _, variance, _, _ = cumulants(fitted, sample)
    return np.asarray(np.log1p(-(RHO[:, None] ** 2) * (1 - variance)) / 2)


def cumulants(fitted: Fitted, sample: Sample) -> tuple[Array, Array, Array, Array]:
    """Shares of the levels, in the order of their codes, and the cumulants of a normal error cut at these shares."""
    codes = fitted.table.protected.order
    share = np.array([sample.weight[sample.rows.a == code].sum() for code in codes]) / sample.weight.sum()
    cuts = special.ndtri(np.clip(np.concatenate([[0.0], np.cumsum(share)]), 0.0, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    moments = []
    for low, high in zip(np.maximum(cuts[:-1], -8.0), np.minimum(cuts[1:], 8.0), strict=True):
        x = (high + low) / 2 + (high - low) / 2 * nodes
        p = weights * np.exp(-(x**2) / 2)
        p /= max(float(p.sum()), 1e-300)
        mean = p @ x
        second, third, fourth = (float(p @ (x - mean) ** k) for k in (2, 3, 4))
        moments.append((second, third, fourth - 3 * second**2))
    variance, third_, fourth_ = np.array(moments).T
    return share, variance, third_, fourth_


def words(tie: Tie) -> str:
    """Name the hidden causes that the graph allows."""
    return f"hidden causes that tie it to {listed(tie.others)}, which the graph allows, could have a part in that"
