"""Exact identities on random models: random graphs, degrees and bounded features."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fairstress as fs
from fairstress.claim.evaluate import evaluate
from fairstress.functionals.cfu import CFU, evaluate_cfu
from fairstress.inputs.data import read_table
from fairstress.model.design import Describer, build_design, structural_moments
from fairstress.model.embedding import Polynomial

quick = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
quick_and_few = settings(quick, max_examples=15)  # where an example is two audits, or an audit and several fits


@dataclass
class Case:
    """A random graph with data that no model generated, and settings for an audit."""

    graph: fs.CausalGraph
    frame: pd.DataFrame
    degrees: dict[str, int]
    P: np.ndarray
    penalty: float

    def audit(self, **changes) -> fs.Audit:
        options = {"degrees": self.degrees, "penalty": self.penalty, "predictor_degree": 2, "predictor_penalty": 1.0}
        frame = changes.pop("frame", self.frame)
        graph = changes.pop("graph", self.graph)
        return fs.Audit.fit(frame, graph, **{**options, **changes})


@st.composite
def cases(draw, *, saturated=False) -> Case:
    m = draw(st.integers(2, 4))
    names = [f"x{j}" for j in range(m)]
    order = ["a", *names]
    possible = list(itertools.combinations(order, 2))
    edges = possible if saturated else [edge for edge in possible if draw(st.booleans())] or [("a", "x0")]
    pairs = list(itertools.combinations(names, 2))
    present = {name for edge in edges for name in edge}
    if "a" not in present:
        edges = [*edges, ("a", names[-1])]
    graph = fs.CausalGraph(edges=tuple(edges), pairs=tuple(pairs), protected="a", outcome="y", nodes=tuple(order))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(150, 400))
    # nested degrees: no feature's degree is below that of a feature before it
    degrees = sorted(draw(st.lists(st.integers(1, 3 if m < 4 else 2), min_size=m, max_size=m)))
    if not saturated:
        rng.shuffle(degrees)
    penalty = draw(st.sampled_from([0.0, 0.1, 5.0, 100.0]))
    return Case(graph, _frame(rng, n, names), dict(zip(names, degrees, strict=True)), _correlation(rng, m), penalty)


def _frame(rng: np.random.Generator, n: int, names: list[str]) -> pd.DataFrame:
    """Bounded features that depend on each other and on A in no polynomial way."""
    a = np.where(rng.random(n) < 0.35, "f", "m")
    common = rng.uniform(-1, 1, n)
    features = {name: np.sin(2 * rng.uniform(-1, 1, n) + common * (1 + k) + (a == "f")) for k, name in enumerate(names)}
    y = sum(features.values()) + (a == "f") + rng.uniform(-1, 1, n)
    return pd.DataFrame({"a": a, **features, "y": y})


def _correlation(rng: np.random.Generator, m: int) -> np.ndarray:
    """A random correlation matrix, its smallest eigenvalue at least 0.02."""
    L = rng.normal(size=(m, m))
    S = L @ L.T
    R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    P = 0.98 * R + 0.02 * np.eye(m)
    np.fill_diagonal(P, 1.0)
    return (P + P.T) / 2


@quick
@given(cases())
def test_independent_errors_leave_the_claim_exactly_true(case):
    audit = case.audit()
    assert audit.cfu(np.eye(len(audit.variables))) < 1e-20 * audit.fitted.outcome_variance


@quick
@given(cases(saturated=True))
def test_a_saturated_unpenalised_model_is_unmoved_by_any_feature_correlation(case):
    audit = case.audit(penalty=0)
    assert audit.cfu(case.P) < 1e-20 * audit.fitted.outcome_variance


@quick
@given(cases(saturated=True))
def test_the_log_likelihood_of_an_absorbed_model_does_not_depend_on_the_correlation(case):
    audit = case.audit(penalty=0)
    model_a, model_b = audit.model_a, audit.model_b(case.P)
    # a likelihood of several hundred with rounding in its fifteenth digit, lost digits of the inverse of P on top
    np.testing.assert_allclose(model_b.log_likelihood, model_a.log_likelihood, rtol=1e-9)


@quick
@given(cases())
def test_independent_errors_give_separate_ridge_regressions(case):
    model = case.audit().model_a
    table = read_table(case.frame, case.graph)
    x, a = table.rows.x[table.row_of], table.rows.a[table.row_of]
    for equation in build_design(case.graph, case.degrees, Describer(table), Polynomial.of).equations:
        Phi, target = equation.values(a, x), x[:, equation.column]
        # one equation alone: its penalty counts against errors divided by sigma^2
        lam = np.diag(case.penalty / equation.embedding.repeats) * model.scales[equation.feature] ** 2
        lam[0, 0] = 0.0
        w = np.linalg.solve(Phi.T @ Phi + lam, Phi.T @ target)
        np.testing.assert_allclose(model.weights[equation.feature], w, rtol=1e-6, atol=1e-8)


@quick_and_few
@given(cases(), st.randoms(use_true_random=False))
def test_renaming_and_reordering_features_permutes_the_correlation(case, random):
    names = list(case.graph.features)
    shuffled = random.sample(names, len(names))
    new = {old: f"z{shuffled.index(old)}" for old in names}
    graph = fs.CausalGraph(
        edges=tuple((new.get(a, a), new.get(b, b)) for a, b in case.graph.edges),
        pairs=tuple((new[a], new[b]) for a, b in case.graph.pairs),
        protected="a",
        outcome="y",
        nodes=("a", *sorted(new.values())),
    )
    first = case.audit()
    second = case.audit(
        graph=graph, frame=case.frame.rename(columns=new), degrees={new[k]: d for k, d in case.degrees.items()}
    )
    P = pd.DataFrame(case.P, index=names, columns=names)
    renamed = P.rename(index=new, columns=new).loc[list(second.variables), list(second.variables)]
    np.testing.assert_allclose(second.cfu(renamed), first.cfu(P), rtol=1e-6, atol=1e-20)


@quick_and_few
@given(cases(), st.floats(-5, 5).filter(lambda c: abs(c) > 0.01))
def test_scaling_the_outcome_by_c_scales_cfu_by_c_squared(case, c):
    scaled = case.audit(frame=case.frame.assign(y=case.frame["y"] * c))
    np.testing.assert_allclose(scaled.cfu(case.P), c**2 * case.audit().cfu(case.P), rtol=1e-8, atol=1e-20)


@quick_and_few
@given(cases(), st.floats(-100, 100))
def test_adding_a_constant_to_the_outcome_changes_no_cfu(case, c):
    moved = case.audit(frame=case.frame.assign(y=case.frame["y"] + c))
    np.testing.assert_allclose(moved.cfu(case.P), case.audit().cfu(case.P), rtol=1e-6, atol=1e-20)


@quick_and_few
@given(cases(), st.data())
def test_rows_with_weight_two_are_rows_twice(case, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weight = rng.integers(1, 4, len(case.frame))
    repeated = case.frame.loc[case.frame.index.repeat(weight)].reset_index(drop=True)
    weighted, twice = case.audit(sample_weight=weight), case.audit(frame=repeated)
    np.testing.assert_allclose(weighted.cfu(case.P), twice.cfu(case.P), rtol=1e-8, atol=1e-20)
    np.testing.assert_allclose(weighted.model_a.log_likelihood, twice.model_a.log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(weighted.baselines["blind"].unfairness, twice.baselines["blind"].unfairness, rtol=1e-8)


@quick
@given(cases(), st.integers(2, 6))
def test_moments_of_chunks_add_up_to_the_moments_of_the_whole(case, k):
    table = read_table(case.frame, case.graph)
    equations = build_design(case.graph, case.degrees, Describer(table), Polynomial.of).equations
    whole = structural_moments(table.rows, equations)
    parts = [structural_moments(fold, equations) for fold in table.folds(k)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    for name in ("G", "C", "S", "total"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-10, atol=1e-9)
    assert total.n == whole.n == len(case.frame)


@quick_and_few
@given(cases())
def test_the_gradient_is_the_limit_of_differences_where_cfu_is_visible(case):
    # a penalty as large as the data moves CFU well above rounding in almost every model
    audit = case.audit(penalty=float(len(case.frame)))
    claim = audit.fitted.claim
    found = evaluate(claim, case.P, CFU(), gradient=True)
    assume(found.value >= 1e-3 * audit.fitted.outcome_variance)
    j, k = 0, len(audit.variables) - 1
    step = np.zeros_like(case.P)
    step[j, k] = step[k, j] = 1e-5
    numeric = (evaluate_cfu(claim, case.P + step).value - evaluate_cfu(claim, case.P - step).value) / 2e-5
    # central differences: relative error of the order of step^2 times curvature, and rounding / step
    scale = np.abs(found.gradient).max()
    np.testing.assert_allclose(found.gradient[j, k] + found.gradient[k, j], numeric, rtol=1e-5, atol=1e-6 * scale)
