"""Every number of fairstress against a second program, which is written from the formulas and shares no code with it.

`make evidence` compares many more problems. Tolerances: both programs solve for a slope of 0 to the last digits, so
that likelihoods and CFU agree to rounding, which a nearly singular fit enlarges; central differences of step 1e-4 leave
1e-6 of a slope; replicates all keep one fit's curvature and stop at a decrease of 1e-9 per person; atoms are cut into
eight pieces, whose spread is left out.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import slow
from random_problems import KINDS, differences, random_case

import fairstress as fs

LIKELIHOOD, VALUE, SLOPE, REPLICATE, PIECES = 1e-12, 1e-8, 1e-6, 1e-4, 0.02
PLAIN = [family for family, kinds in KINDS.items() if len(kinds) == 1]
QUICK = [(family, seed) for family in PLAIN for seed in range(103, 107)]
QUICK += [(family, seed) for family in KINDS if family not in PLAIN for seed in (1, 2)]


@pytest.mark.filterwarnings("ignore::fairstress.errors.FairstressWarning")
@pytest.mark.parametrize(("family", "seed"), QUICK)
def test_likelihood_and_cfu_of_random_problems(family, seed):
    case = random_case(family, seed)
    found = differences(case)
    assert found.likelihood < LIKELIHOOD
    assert found.value < (PIECES if any(v.kind == "atom" for v in case.problem.features) else VALUE)


@pytest.mark.filterwarnings("ignore::fairstress.errors.FairstressWarning")
@pytest.mark.parametrize("family", ["numbers", "attribute behind a threshold"])
def test_slopes_and_replicates_of_random_problems(family):
    found = differences(random_case(family, 1), gradient=True, replicate=True)
    assert found.cfu > 0
    assert found.gradient < SLOPE
    assert found.replicate < REPLICATE


@pytest.mark.filterwarnings("ignore::fairstress.errors.FairstressWarning")
def test_no_point_of_a_grid_climbed_from_its_best_beats_the_worst_case():
    case = random_case("paths called fair", 1)
    own = slow.worst_case(slow.make_claim(case.problem), case.pairs[:1], 0.5, 0.0, points=5)
    bounds = {case.graph.pairs[k]: (0, 0) for k in range(1, len(case.pairs))}
    found = case.audit().worst_case(0.5, budget=fs.Pairwise(bounds=bounds))
    assert own > 0
    assert found.value == pytest.approx(own, rel=1e-6)  # a simplex that stops where values differ by 1e-9


# ---------------------------------------------------------------- forty digits


def _forty_digits(case, model: slow.Fit) -> mpmath.mpf:
    """The log likelihood of plain numbers where the objective's slope is 0, by Newton in 40-digit arithmetic."""
    problem, m = case.problem, len(case.problem.variables)
    with mpmath.workdps(40):
        terms = [problem.terms[v.name].tolist() for v in problem.variables]
        inverse = mpmath.matrix(case.P.tolist()) ** -1
        x = [problem.data[v.name].tolist() for v in problem.variables]
        sizes = [len(one[0]) for one in terms]
        starts = [sum(size + 1 for size in sizes[:j]) for j in range(m)]

        def residuals(z, i):
            return [
                (mpmath.mpf(x[j][i]) - mpmath.fdot(terms[j][i], z[starts[j] + 1 : starts[j] + 1 + sizes[j]]))
                * mpmath.exp(-z[starts[j]])
                for j in range(m)
            ]

        def slope(*z):
            g = [mpmath.mpf(0)] * len(z)
            for i, weight in enumerate(problem.weight.tolist()):
                e = residuals(z, i)
                K = [mpmath.fdot(inverse[j, :], e) for j in range(m)]
                for j, first in enumerate(starts):
                    g[first] += 2 * weight * (1 - K[j] * e[j])
                    for d in range(sizes[j]):
                        g[first + 1 + d] -= 2 * weight * K[j] * terms[j][i][d] * mpmath.exp(-z[first])
            for j, first in enumerate(starts):
                for d in range(1, sizes[j]):
                    g[first + 1 + d] += 2 * problem.penalty * z[first + 1 + d]
            return g

        z = mpmath.findroot(slope, model.z.tolist(), tol=1e-60, maxsteps=8)
        total = -problem.weight.sum() * (mpmath.log(mpmath.det(mpmath.matrix(case.P.tolist()))) / 2)
        total -= problem.weight.sum() * m * mpmath.log(2 * mpmath.pi) / 2
        for i, weight in enumerate(problem.weight.tolist()):
            e = residuals(z, i)
            squares = mpmath.fsum(e[j] * inverse[j, k] * e[k] for j in range(m) for k in range(m))
            total -= weight * (squares / 2 + mpmath.fsum(z[first] for first in starts))
        return total


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_likelihoods_agree_with_forty_digits(seed):
    drawn = (random_case("numbers", 1000 * seed + k) for k in range(99))
    case = next(c for c in drawn if len(c.problem.variables) == 2 and c.pairs)
    exact = _forty_digits(case, slow.fit(case.problem, case.P))
    found = case.audit().model_b(case.P).log_likelihood
    # a sum of some hundred squares, each known to the last digit of a double
    assert abs(found - float(exact)) < 1e-12 * case.problem.weight.sum()
    assert np.isfinite(found)
