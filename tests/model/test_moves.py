"""Changes of terms between two worlds, worked out from lower monomials."""

from __future__ import annotations

import numpy as np
import pytest

from fairstress.model import moves
from fairstress.model.embedding import ByGroup, Input, Polynomial
from fairstress.model.moves import Standing

INPUTS = [Input("a", is_sign=True), Input("x"), Input("z", n_values=3)]
R, G, K = 40, 3, 2


def worlds(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (r, p) of people, and in g other worlds (g, r, p)."""
    Z, Z_cf = rng.standard_normal((R, 3)), rng.standard_normal((G, R, 3))
    Z[:, 0], Z_cf[..., 0] = 1.0, -1.0
    return Z, Z_cf


@pytest.mark.parametrize("many", [0, 99], ids=["lower monomials", "all terms"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_lower_monomials_tell_how_all_terms_change(degree, many, monkeypatch):
    monkeypatch.setattr(moves, "MANY", many)
    rng, embedding = np.random.default_rng(degree), Polynomial.of(INPUTS, degree)
    Z, Z_cf = worlds(rng)
    change, d = embedding.values(Z_cf) - embedding.values(Z), len(embedding.terms)
    here = Standing.at(embedding, Z)
    move, W = here.to(Z_cf), rng.standard_normal((G, d, K))
    np.testing.assert_allclose(here.dot(W[0, :, 0]), embedding.values(Z) @ W[0, :, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(move.times(W), np.swapaxes(change @ W, 1, 2), rtol=1e-12, atol=1e-12)
    v = rng.standard_normal((G, R))
    expected = np.einsum("grd,gr->gd", change, v)
    np.testing.assert_allclose(move.weighed(v), expected, rtol=1e-12, atol=1e-12)
    for g in range(G):
        slopes = embedding.slopes(Z_cf[g], embedding.values(Z_cf[g]), W[g])
        np.testing.assert_array_equal(move.slopes(W)[g], slopes)


@pytest.mark.parametrize("many", [0, 99], ids=["lower monomials", "all terms"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_worlds_that_agree_on_inputs_need_these_only_once(degree, many, monkeypatch):
    monkeypatch.setattr(moves, "MANY", many)
    rng, embedding = np.random.default_rng(degree), Polynomial.of(INPUTS, degree)
    Z, Z_cf = worlds(rng)
    shared, v = Z_cf[:1], rng.standard_normal((G, R))
    W, standing = rng.standard_normal((G, len(embedding.terms), K)), Standing.at(embedding, Z)
    once, repeated = standing.to(shared), standing.to(np.repeat(shared, G, axis=0))
    np.testing.assert_allclose(once.weighed(v), repeated.weighed(v), rtol=1e-13)
    np.testing.assert_array_equal(once.slopes(W), repeated.slopes(W))


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_a_polynomial_is_its_columns_times_its_weights(degree):
    rng, embedding = np.random.default_rng(degree), Polynomial.of(INPUTS, degree)
    w = rng.standard_normal(len(embedding.terms))
    for Z in worlds(rng):
        np.testing.assert_allclose(embedding.dot(Z, w), embedding.values(Z) @ w, rtol=1e-12, atol=1e-12)


def test_any_other_embedding_changes_by_its_terms():
    rng = np.random.default_rng(0)
    embedding = ByGroup(Polynomial.of(INPUTS[1:], 2), (-1.0, 1.0), ("no", "yes"))
    Z, Z_cf = worlds(rng)
    change, move = embedding.values(Z_cf) - embedding.values(Z), Standing.at(embedding, Z).to(Z_cf)
    W, v = rng.standard_normal((G, len(embedding.terms), K)), rng.standard_normal((G, R))
    np.testing.assert_allclose(move.times(W), np.swapaxes(change @ W, 1, 2), rtol=1e-12)
    np.testing.assert_allclose(move.weighed(v), np.einsum("grd,gr->gd", change, v), rtol=1e-12)
    slopes = [embedding.slopes(Z_cf[g], embedding.values(Z_cf[g]), W[g]) for g in range(G)]
    np.testing.assert_array_equal(move.slopes(W), slopes)


@pytest.mark.parametrize("many", [0, 99], ids=["lower monomials", "all terms"])
def test_a_small_change_of_one_input_keeps_its_digits_beside_large_ones(many, monkeypatch):
    monkeypatch.setattr(moves, "MANY", many)
    embedding = Polynomial.of(INPUTS[:2], 1)
    Z = np.array([[-1.0, 1e15]])
    move = Standing.at(embedding, Z).to(np.array([[[1.0, 1e15]]]))
    assert move.times(np.array([[[0.5], [0.3], [0.7]]]))[0, 0, 0] == pytest.approx(0.6, rel=1e-15)
