"""Monomials are made of each other in few products, and equations that share some make them once."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.model.design import structural_moments
from fairstress.model.monomials import Ladder, Together, ordered


def every(p, degree):
    """Exponents of all monomials of p inputs up to a degree."""
    return ordered([e for e in itertools.product(range(degree + 1), repeat=p) if sum(e) <= degree])


def directly(Z, exponents):
    return np.array([np.prod(Z**e, axis=-1) for e in exponents])


@pytest.mark.parametrize(("p", "degree"), [(0, 2), (1, 0), (1, 4), (2, 3), (3, 3), (5, 2)])
def test_columns_are_the_monomials(p, degree):
    exponents, Z = every(p, degree), np.random.default_rng(0).standard_normal((2, 30, p))
    np.testing.assert_allclose(Ladder.of(exponents).columns(Z), directly(Z, exponents), rtol=1e-14)


def test_some_monomials_may_be_missing_if_no_multiple_of_them_is_there():
    exponents = ordered([(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 0, 2), (1, 0, 2)])
    Z = np.random.default_rng(0).standard_normal((30, 3))
    ladder = Ladder.of(exponents)
    assert ladder.inputs.tolist() == [0, 2]
    np.testing.assert_allclose(ladder.columns(Z), directly(Z, exponents), rtol=1e-14)


def test_the_first_columns_alone_have_the_same_digits():
    ladder, Z = Ladder.of(every(3, 4)), np.random.default_rng(0).standard_normal((30, 3))
    whole = ladder.columns(Z)
    for count in (1, 2, 4, 7, 10, 20):
        np.testing.assert_array_equal(ladder.first(count).columns(Z), whole[:count])


def test_products_are_few():
    """Of p inputs a degree takes p products at most, and of a sign and a number one."""
    assert len(Ladder.of(every(4, 3)).runs) <= 2 * 4
    signed = ordered([(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3)])
    assert len(Ladder.of(signed).runs) == 2


def test_monomials_of_several_polynomials_are_made_once():
    a, x = np.sign(np.random.default_rng(0).standard_normal(40)), np.random.default_rng(1).standard_normal((40, 3))
    x[:, 2] = np.round(x[:, 2])
    both = [(every(2, 2), ((-1, None), (0, None))), (every(2, 2), ((0, None), (2, 1.0))), (((1,),), ((1, None),))]
    together = Together.of(both)
    columns = together.columns(a, x)
    assert len(columns) == 1 + 5 + 3 + 1  # the constant, x0 and its square are in both
    inputs = (np.stack([a, x[:, 0]], axis=1), np.stack([x[:, 0], x[:, 2] == 1], axis=1), x[:, 1:2])
    for (exponents, _), Z, places in zip(both, inputs, together.places, strict=True):
        np.testing.assert_allclose(columns[places], directly(Z, exponents), rtol=1e-14)


def test_moments_of_equations_of_any_kind_are_those_of_their_columns():
    class Cubes:
        """No polynomial that is known as one."""

        terms, repeats = ("1", "cube"), np.ones(2)

        def values(self, Z):
            return np.stack([np.ones(Z.shape[:-1]), (Z**3).sum(axis=-1)], axis=-1)

        def slopes(self, Z, phi, W):
            return 3 * Z[:, :, None] ** 2 * W[1]

    graph = fs.CausalGraph.parse("a -> x, z, v; x -> z, v; z -> v; x <-> z; a <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    options = {"degrees": {"x": 1, "z": 2, "v": 3}, "penalty": 1, "predictor_degree": 1, "random_state": 0}
    audit = fs.Audit.fit(frame, graph, sample_weight=np.arange(1.0, 301.0), **options)
    claim = audit.fitted.claim
    equations = [replace(e, embedding=Cubes()) if e.feature == "z" else e for e in claim.design.equations]
    rows = claim.everyone
    Phi = np.hstack([e.values(rows.a, rows.x) for e in (*equations, claim.design.protected)])
    X, W = np.column_stack([rows.a, rows.x]), rows.weight[:, None]
    found = structural_moments(rows, equations, claim.design.protected)
    for one, expected in ((found.G, (W * Phi).T @ Phi), (found.C, (W * Phi).T @ X), (found.S, (W * X).T @ X)):
        np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.total, rows.weight @ X, rtol=1e-12, atol=1e-9)
    assert found.n == rows.weight.sum()
