from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate, evaluate_many
from fairstress.inputs.rows import BLOCK
from fairstress.model.embedding import Input

SATURATED = "a -> x, z, v; x -> z, v; z -> v; x <-> z <-> v; x <-> v"
MISSING = "a -> x; x -> z; x, z -> v; x <-> z <-> v; x <-> v"
CHAIN = "a -> x -> z -> v; x <-> z <-> v; x <-> v"
P = np.array([[1, 0.4, -0.3], [0.4, 1, 0.25], [-0.3, 0.25, 1]])
OPTIONS = {"predictor_degree": 3, "predictor_penalty": 1.0}


def audit(text: str, degrees: tuple[int, int, int], penalty: float, **options) -> fs.Audit:
    graph = fs.CausalGraph.parse(text, protected="a", outcome="y")
    truth = fs.datasets.simulate(graph, 400, degrees={"x": 1, "z": 2, "v": 2}, random_state=5)
    names = dict(zip("xzv", degrees, strict=True))
    return fs.Audit.fit(truth.frame, graph, degrees=names, penalty=penalty, **{**OPTIONS, **options})


@pytest.mark.parametrize(
    ("text", "degrees", "penalty"),
    [
        pytest.param(MISSING, (2, 2, 3), 0.0, id="missing edge"),
        pytest.param(CHAIN, (1, 3, 2), 0.0, id="chain"),
        pytest.param(SATURATED, (1, 3, 1), 0.0, id="degrees that do not nest"),
        pytest.param(SATURATED, (2, 2, 2), 500.0, id="large penalty"),
    ],
)
@pytest.mark.parametrize("penalise_constant", [False, True])
def test_the_gradient_is_the_limit_of_differences(text, degrees, penalty, penalise_constant):
    claim = (case := audit(text, degrees, penalty, penalise_constant=penalise_constant)).claim
    found = evaluate(claim, P, gradient=True)
    assert found.value > 1e-3 * case.outcome_variance
    for j, k in ((0, 1), (0, 2), (1, 2)):
        step = np.zeros((3, 3))
        step[j, k] = step[k, j] = 1e-5
        numeric = (evaluate(claim, P + step).value - evaluate(claim, P - step).value) / 2e-5
        np.testing.assert_allclose(found.gradient[j, k] + found.gradient[k, j], numeric, rtol=1e-5)


def test_cfu_is_the_mean_of_the_rows_cfu_and_that_of_the_counterfactual_frame():
    case = audit(MISSING, (1, 2, 2), 1.0)
    by_row = case.cfu_by_row(P)
    np.testing.assert_allclose(by_row.mean(), case.cfu(P), rtol=1e-12)
    # the audited predictor on the counterfactual people's residuals under Model A, from the frame that users see
    scaling, claim, rows = case.table.scaling, case.claim, case.table.rows
    x_cf = scaling.apply(case.counterfactuals(P)[list(case.variables)].to_numpy())
    a, x = rows.a[case.table.row_of], rows.x[case.table.row_of]
    w = claim.model_a.weights
    before = claim.predictor.predict(x - claim.design.fitted(a, x, w))
    after = claim.predictor.predict(x_cf - claim.design.fitted(-a, x_cf, w))
    np.testing.assert_allclose(by_row, (after - before) ** 2, rtol=1e-8, atol=1e-12)


def test_sums_over_blocks_are_sums_over_all_rows():
    graph = fs.CausalGraph.parse(MISSING, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 2 * BLOCK + 100, random_state=5).frame  # three blocks
    case = fs.Audit.fit(frame, graph, degrees=dict.fromkeys("xzv", 2), penalty=1.0, **OPTIONS)
    rows, design = case.claim.rows, case.claim.design
    Phi = design.values(rows.a, rows.x)
    np.testing.assert_allclose(case.claim.system.moments.G, (Phi * rows.weight[:, None]).T @ Phi, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(case.cfu_by_row(P).mean(), case.cfu(P), rtol=1e-12)
    many = evaluate_many(case.claim, np.array([P, np.eye(3)]))
    np.testing.assert_allclose(many[0].value, case.cfu(P), rtol=1e-9)
    assert many[1].value < 1e-20 * case.outcome_variance


class Waves:
    """An embedding of another kind: constant, inputs, and sines of the features."""

    def __init__(self, inputs: list[Input], degree: int) -> None:
        self.names = [v.name for v in inputs]
        self.waving = [i for i, v in enumerate(inputs) if not v.is_sign]
        self.count = degree

    @property
    def terms(self) -> tuple[str, ...]:
        waves = [f"sin {k} {self.names[i]}" for k in range(1, self.count) for i in self.waving]
        return ("1", *self.names, *waves)

    @property
    def repeats(self) -> np.ndarray:
        return np.ones(len(self.terms))

    def values(self, Z: np.ndarray) -> np.ndarray:
        waves = [np.sin(k * Z[..., self.waving]) for k in range(1, self.count)]
        return np.concatenate([np.ones((*Z.shape[:-1], 1)), Z, *waves], axis=-1)

    def slopes(self, Z: np.ndarray, phi: np.ndarray, W: np.ndarray) -> np.ndarray:
        p, q = Z.shape[1], len(self.waving)
        slopes = np.repeat(W[None, 1 : p + 1], len(Z), axis=0)
        for k in range(1, self.count):
            start = 1 + p + (k - 1) * q
            slopes[:, self.waving] += k * np.cos(k * Z[:, self.waving])[:, :, None] * W[None, start : start + q]
        return slopes


def test_another_embedding_can_be_handed_in_and_has_an_exact_gradient():
    case = audit(CHAIN, (2, 3, 3), 0.0, embedding=Waves)
    assert ("v", "sin 2 z") in case.model_a.weights.index
    assert case.cfu({}) < 1e-20 * case.outcome_variance
    assert case.cfu(P) > 1e-3 * case.outcome_variance
    pair = ("x", "z")
    step = np.zeros((3, 3))
    step[0, 1] = step[1, 0] = 1e-5
    numeric = (case.cfu(P + step) - case.cfu(P - step)) / 2e-5
    np.testing.assert_allclose(case.gradient(P)[pair], numeric, rtol=1e-5)
