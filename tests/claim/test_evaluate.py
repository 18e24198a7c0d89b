from __future__ import annotations

import contextlib
import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import _memo_of, evaluate, evaluate_many, model_b
from fairstress.functionals.cfu import CFU, evaluate_cfu
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


def forgetful(claim):
    """The same claim, of whose system no fit is remembered."""
    return replace(claim, system=replace(claim.system))


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
    fitted = audit(text, degrees, penalty, penalise_constant=penalise_constant).fitted
    found = evaluate(fitted.claim, P, CFU(), gradient=True)
    assert found.value > 1e-3 * fitted.outcome_variance
    for j, k in ((0, 1), (0, 2), (1, 2)):
        step = np.zeros((3, 3))
        step[j, k] = step[k, j] = 1e-5
        up, down = (evaluate_cfu(fitted.claim, P + change).value for change in (step, -step))
        np.testing.assert_allclose(found.gradient[j, k] + found.gradient[k, j], (up - down) / 2e-5, rtol=1e-5)


def test_cfu_is_the_mean_of_the_rows_cfu_and_that_of_the_counterfactual_frame():
    case = audit(MISSING, (1, 2, 2), 1.0)
    by_row = case.cfu_by_row(P)
    np.testing.assert_allclose(by_row.mean(), case.cfu(P), rtol=1e-12)
    # the audited predictor on the counterfactual people's residuals under Model A, from the frame that users see
    claim, table = case.fitted.claim, case.fitted.table
    x_cf = table.scaling.apply(case.counterfactuals(P)[list(case.variables)].to_numpy())
    a, x = table.rows.a[table.row_of], table.rows.x[table.row_of]
    w = claim.model_a.weights
    before = claim.predictor.predict(x - claim.design.fitted(a, x, w))
    after = claim.predictor.predict(x_cf - claim.design.fitted(-a, x_cf, w))
    np.testing.assert_allclose(by_row, (after - before) ** 2, rtol=1e-8, atol=1e-12)


def test_sums_over_blocks_are_sums_over_all_rows(monkeypatch):
    monkeypatch.setattr("fairstress.inputs.rows.LONGEST", BLOCK)
    graph = fs.CausalGraph.parse(MISSING, protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 2 * BLOCK + 100, random_state=5).frame  # three blocks
    case = fs.Audit.fit(frame, graph, degrees=dict.fromkeys("xzv", 2), penalty=1.0, **OPTIONS)
    claim, rows = case.fitted.claim, case.fitted.claim.rows
    Phi = claim.design.values(rows.a, rows.x)
    np.testing.assert_allclose(claim.system.moments.G, (Phi * rows.weight[:, None]).T @ Phi, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(case.cfu_by_row(P).mean(), case.cfu(P), rtol=1e-12)
    many = evaluate_many(forgetful(claim), np.array([P, np.eye(3)]), CFU())
    np.testing.assert_allclose(many[0].value, case.cfu(P), rtol=1e-9)
    assert many[1].value < 1e-20 * case.fitted.outcome_variance


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
    assert case.cfu({}) < 1e-20 * case.fitted.outcome_variance
    assert case.cfu(P) > 1e-3 * case.fitted.outcome_variance
    pair = ("x", "z")
    step = np.zeros((3, 3))
    step[0, 1] = step[1, 0] = 1e-5
    numeric = (case.cfu(P + step) - case.cfu(P - step)) / 2e-5
    np.testing.assert_allclose(case.gradient(P)[pair], numeric, rtol=1e-5)


# ---------------------------------------------------------------- fits, each made once

ASK = {
    "one by one": lambda claim, points: [evaluate(claim, one, CFU(), gradient=True) for one in points],
    "side by side": lambda claim, points: evaluate_many(claim, points, CFU()),
}


@pytest.fixture(scope="module", params=["Gaussian", "threshold"])
def claim(request):
    """Penalised, so that fits set out from several sides; a hidden cause of a makes the system one with a threshold."""
    more = "; a <-> x" if request.param == "threshold" else ""
    found = audit(MISSING + more, (1, 2, 2), 100.0).fitted.claim
    assert found.has_threshold == bool(more)
    return found


@pytest.fixture(scope="module")
def points(claim):
    """Random correlations."""
    rng, m = np.random.default_rng(0), claim.model_a.correlation.shape[0]
    p = np.triu(rng.uniform(-1, 1, (60, m, m)), 1) / m  # small enough for any to do
    return np.eye(m) + p + p.transpose(0, 2, 1)


def numbers(found):
    """Every number of an evaluation, to the last bit."""
    fit, slope = found.fit, b"" if found.gradient is None else found.gradient.tobytes()
    arrays = (fit.weights.tobytes(), fit.log_scales.tobytes(), fit.correlation.tobytes(), slope)
    return (found.value, fit.log_likelihood, fit.objective, fit.status, *arrays)


@pytest.mark.parametrize("now", list(ASK))
@pytest.mark.parametrize("before", list(ASK))
def test_what_was_asked_before_changes_no_bit_of_an_evaluation(claim, points, before, now):
    asked = forgetful(claim)
    ASK[before](asked, points[::2])
    found, expected = ASK[now](asked, points), ASK[now](forgetful(claim), points)
    assert [numbers(one) for one in found] == [numbers(one) for one in expected]


class Recording:
    """A system that keeps account of the correlations that it is fitted at."""

    def __init__(self, system):
        self.system, self.fitted = system, []

    def fits(self, P, start, *, check_minima):
        self.fitted += [one.tobytes() for one in P]
        return self.system.fits(P, start, check_minima=check_minima)

    def correlation_gradients(self, fits, c_w):
        return self.system.correlation_gradients(fits, c_w)


def recorded(claim):
    own = replace(claim, system=Recording(claim.system))
    return own, own.system.fitted


def test_a_fit_that_was_asked_for_before_is_not_made_again(claim, points):
    own, fitted = recorded(claim)
    evaluate_many(own, points[:4], CFU())
    evaluate(own, points[1], CFU(group=1.0), gradient=True)  # another functional
    evaluate(replace(own, predictor=replace(own.predictor, weights=-own.predictor.weights)), points[2], CFU())
    evaluate_many(own, points[2:6], CFU())
    model_b(own, points[5])
    assert fitted == [one.tobytes() for one in points[:6]]


def test_another_start_and_unchecked_minima_are_other_fits(claim, points):
    own, fitted = recorded(claim)
    there = evaluate(own, points[0], CFU()).fit
    for _ in range(2):
        evaluate(own, points[1], CFU())
        evaluate(own, points[1], CFU(), start=there)
        evaluate(own, points[1], CFU(), check_minima=False)
    assert fitted == [one.tobytes() for one in points[[0, 1, 1, 1]]]


def test_no_more_fits_are_kept_than_a_bound_allows_and_the_oldest_is_forgotten_first(claim, points, monkeypatch):
    monkeypatch.setattr("fairstress.claim.evaluate.KEPT", 3 * (claim.model_a.weights.size + points[0].size))
    own, fitted = recorded(claim)
    ask = [0, 1, 2, 0, 3]  # the second is now the one that was not asked for the longest
    for i in [*ask, 2, 0, 3, 1]:
        evaluate(own, points[i], CFU())
        assert len(_memo_of(own.system)._fits) <= 3
    assert fitted == [one.tobytes() for one in points[[0, 1, 2, 3, 1]]]


def test_where_nothing_can_be_kept_every_fit_is_made_anew(claim, points, monkeypatch):
    monkeypatch.setattr("fairstress.claim.evaluate.KEPT", 0)
    own, fitted = recorded(claim)
    first, second = (ASK["side by side"](own, points[:3]) for _ in range(2))
    assert [numbers(one) for one in first] == [numbers(one) for one in second]
    assert len(fitted) == 6


def test_a_system_that_nobody_holds_takes_its_fits_with_it(claim, points):
    own = forgetful(claim)
    evaluate_many(own, points[:2], CFU())
    system = weakref.ref(own.system)
    del own
    gc.collect()
    assert system() is None


def test_who_writes_into_a_result_changes_no_fit_that_is_remembered(claim, points):
    own = forgetful(claim)
    found = evaluate_cfu(own, points[0])
    for array in (found.fit.weights, found.fit.log_scales, found.fit.correlation):
        with contextlib.suppress(ValueError):  # it may be read-only
            array[...] = 0.5
    assert evaluate_cfu(own, points[0]).value == found.value
    assert model_b(own, points[0]).weights.tobytes() == model_b(forgetful(claim), points[0]).weights.tobytes()
