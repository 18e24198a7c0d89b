"""Everyone's squared changes follow from moments of everyone, wherever people are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairstress as fs
from fairstress import compiling
from fairstress.claim import grid
from fairstress.claim.chebyshev import Products, Sums, chebyshev
from fairstress.claim.evaluate import evaluate, fits
from fairstress.claim.grid import Grid, ends_of, leja, lost
from fairstress.compiling import VARIABLE
from fairstress.functionals.cfu import CFU, group_cfu
from fairstress.inputs import look
from fairstress.inputs.rows import Ends, Rows
from fairstress.inputs.streamed import Batches

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z, v; z -> v; c -> v; a <-> x; x <-> z", protected="a", outcome="y")
P = {("a", "x"): 0.2, ("x", "z"): -0.3}
OTHERS = {"penalty": 1, "predictor_penalty": 1, "random_state": 0}


def drawn(n=6000):
    return fs.datasets.simulate(GRAPH, n, random_state=1).frame


def streamed(frame, folder, degree, predictor_degree, graph=GRAPH):
    """An audit of a file, of whose people a few hundred are held."""
    path = folder / "people.parquet"
    frame.to_parquet(path)
    degrees = dict.fromkeys(graph.features, degree)
    return fs.Audit.fit(path, graph, degrees=degrees, predictor_degree=predictor_degree, **OTHERS)


@pytest.fixture(autouse=True)
def few_are_held(monkeypatch):
    monkeypatch.setattr(look, "HELD", 500)


def both(claim, functional, at):
    """A value with its gradient by the grid and by a sweep over everyone."""
    swept = replace(claim)
    swept._alike[:], swept._nodes[:] = [None], [None]
    return [evaluate(one, at, functional, gradient=True) for one in (claim, swept)]


def correlation(audit):
    found = np.eye(len(audit.variables))
    for (a, b), value in P.items():
        j, k = audit.variables.index(a), audit.variables.index(b)
        found[j, k] = found[k, j] = value
    return found


@pytest.mark.parametrize(("degree", "predictor_degree"), [(2, 1), (2, 2), (3, 1), (1, 3)])
def test_cfu_and_its_gradient_are_those_of_a_sweep(tmp_path, degree, predictor_degree):
    audit = streamed(drawn(), tmp_path, degree, predictor_degree)
    claims = [audit.fitted.claim, *(baseline.claim for baseline in audit.fitted.baselines.values())]
    for claim in claims:
        assert claim.for_squares().cross is not None
        for functional in (CFU(), group_cfu(audit.fitted.table, audit.fitted.table.protected.levels[0])):
            few, everyone = both(claim, functional, correlation(audit))
            assert few.value == pytest.approx(everyone.value, rel=1e-10)
            pairs = correlation(audit) * (1 - np.eye(5)) != 0  # by others derivatives are not asked for
            np.testing.assert_allclose(few.gradient[pairs], everyone.gradient[pairs], rtol=1e-8, atol=1e-10)


def test_three_levels_and_a_number_as_the_attribute(tmp_path):
    rng = np.random.default_rng(0)
    graph = fs.CausalGraph.parse("a -> x; a, x -> z; x <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 6000, random_state=1).frame
    for a in (rng.choice(["u", "v", "w"], 6000), rng.standard_normal(6000)):
        audit = streamed(frame.assign(a=a), tmp_path, 2, 1, graph)
        claim, at = audit.fitted.claim, np.array([[1, 0.3], [0.3, 1]])
        assert claim.for_squares().cross is not None
        few, everyone = both(claim, CFU(), at)
        assert few.value == pytest.approx(everyone.value, rel=1e-10)


def test_a_search_after_the_first_value_passes_over_nobody(tmp_path, monkeypatch):
    graph = fs.CausalGraph.parse("a -> x, z, v; x -> z; z -> v; x <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 6000, random_state=1).frame
    audit = streamed(frame.assign(v=frame["v"] - 0.3 * frame["x"]), tmp_path, 2, 2, graph)
    assert audit.cfu({("x", "v"): 0.3}) > 1e-5
    passes = []
    monkeypatch.setattr(Batches, "total", lambda *_, **__: passes.append(1))
    assert audit.worst_case(0.5).value > audit.worst_case(0.2).value > 0
    assert not passes


def test_where_digits_would_be_lost_everyone_is_swept(tmp_path, monkeypatch):
    audit = streamed(drawn(), tmp_path, 2, 2)
    claim, at = audit.fitted.claim, correlation(audit)
    few = claim.for_squares()
    assert few.swept is not None
    expected = evaluate(claim, at, CFU(), gradient=True)
    claim._values.clear(), few._values.clear()
    monkeypatch.setattr(grid, "LARGEST", 0.5)  # which is always exceeded
    found = evaluate(claim, at, CFU(), gradient=True)
    swept = both(claim, CFU(), at)[1]
    assert found.value == swept.value
    assert np.array_equal(found.gradient, swept.gradient)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    claim._values.clear(), few._values.clear()
    assert evaluate(claim, at, CFU()).value == swept.value  # a value alone, too
    other = replace(claim)
    assert other.for_squares() is other.for_changes()  # a trial tells


def test_a_group_that_nobody_had_seen_is_noticed(tmp_path):
    claim = streamed(drawn(), tmp_path, 2, 1).fitted.claim
    here = replace(claim.rows, whole=None)
    laid = Grid.of(here, claim.design, claim.view, claim.predictor, claim.may_differ)
    assert laid.weighing(here) is not None
    assert laid.weighing(replace(here, a=2 * here.a)) is None


@pytest.mark.parametrize("limit", ["MOST_SUMS", "MOST_VARIABLES", "BLOCK"])
def test_grids_that_would_take_too_long_are_not_laid(tmp_path, monkeypatch, limit):
    claim = streamed(drawn(), tmp_path, 2, 2).fitted.claim
    monkeypatch.setattr(grid, limit, 1)
    assert Grid.of(claim.rows, claim.design, claim.view, claim.predictor, claim.may_differ) is None


def test_levels_beside_a_number_as_the_attribute_have_no_grid_and_the_cfu_of_a_table_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    graph = fs.CausalGraph.parse("a -> x, z, v; x -> z; z, c -> v; x <-> v", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 3000, random_state=1).frame
    a, c = rng.standard_normal(3000), rng.choice(["p", "q", "r"], 3000)
    frame = frame.assign(a=a, c=c, x=frame["x"] + a, v=frame["v"] - 0.3 * frame["x"])
    audit = streamed(frame, tmp_path, 2, 1, graph)
    claim = audit.fitted.claim
    assert grid.grouped(claim.rows, claim.design) is None  # each person would be a group
    assert claim.for_squares().cross is None
    in_memory = fs.Audit.fit(frame, graph, degrees=dict.fromkeys(graph.features, 2), predictor_degree=1, **OTHERS)
    P = {("x", "v"): 0.3}
    assert audit.cfu(P) == pytest.approx(in_memory.cfu(P), rel=1e-9)
    assert audit.cfu(P) > 1e-4


def test_two_predictors_of_people_who_are_not_in_memory_are_compared_in_one_sweep(tmp_path, monkeypatch):
    audit = streamed(drawn(), tmp_path, 2, 2)
    own, blind = audit.fitted.claim, audit.fitted.baselines["blind"].claim
    expected = [evaluate(claim, correlation(audit), CFU()).value for claim in (own, blind)]
    monkeypatch.setattr(grid, "MOST_SUMS", 1)  # no grid
    both_swept, passes, total = [replace(claim) for claim in (own, blind)], [], Batches.total
    monkeypatch.setattr(Batches, "total", lambda *given, **more: passes.append(1) or total(*given, **more))
    fitted = fits(own, correlation(audit)[None])
    passes.clear()
    found = CFU().of_both(*both_swept, fitted)
    assert len(passes) == 1
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-10)


# ---------------------------------------------------------------- its parts


def test_chebyshev_polynomials_are_cosines():
    angle = np.linspace(0, np.pi, 50)
    for k, values in enumerate(chebyshev(np.cos(angle), 12)):
        np.testing.assert_allclose(values, np.cos(k * angle), atol=1e-13)
    assert chebyshev(np.cos(angle), 0).shape == (1, 50)


def test_numbers_of_the_grid_are_apart_and_within_the_box():
    found = leja(20)
    assert np.abs(found).max() <= 1
    assert np.diff(np.sort(found)).min() > 0.005
    np.testing.assert_allclose(found[:3], [1, -1, 0], atol=1e-12)


EXPONENTS = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)]
MANY = [(i, j, k) for i in range(7) for j in range(4) for k in range(2) if i + 2 * j + 3 * k <= 6]


@pytest.mark.parametrize("exponents", [EXPONENTS, MANY, [(0, 0, 0)]])
@pytest.mark.parametrize("r", [0, 1, 512, 5000])
def test_sums_cover_all_products_of_two(exponents, r):
    exponents, rng = np.array(exponents), np.random.default_rng(0)
    sums, z = Sums.of(exponents), [rng.uniform(-1, 1, r) for _ in range(3)]
    for weight in (rng.uniform(size=r), np.ones(r)):
        total = sums.over(z, weight)
        for degrees in (exponents[:, None] + exponents).reshape(-1, 3):
            parts = [chebyshev(own, int(k))[-1] for own, k in zip(z, degrees, strict=True)]
            assert sums.at(degrees, total) == pytest.approx(weight @ np.prod(parts, axis=0), rel=1e-10, abs=1e-10)


def test_sums_that_nobody_wants_are_not_added_up():
    exponents = np.array([(i, j) for i in range(13) for j in range(13 - i)])
    sums = Sums.of(exponents)
    wanted = len({tuple(own) for own in (exponents[:, None] + exponents).reshape(-1, 2).tolist()})
    assert wanted <= sums.count < 0.75 * len(sums.of_left) * len(sums.of_right)


def test_products_are_made_of_each_other_whichever_are_wanted():
    degrees = np.array([(3, 0, 2), (0, 0, 0), (1, 4, 1), (0, 2, 0)])
    z = [np.random.default_rng(k).uniform(-1, 1, 30) for k in range(3)]
    for found, own in zip(Products.of(degrees).at(z, 30), degrees, strict=True):
        expected = np.prod([np.cos(k * np.arccos(values)) for k, values in zip(own, z, strict=True)], axis=0)
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_ends_of_parts_are_ends_of_the_whole(tmp_path):
    """Those of features are known after the passes of a fit; of the attribute's values, everyone is looked at."""
    rows = streamed(drawn(), tmp_path, 1, 1).fitted.claim.rows
    m = rows.x.shape[1]
    everyone, features = ends_of(rows, [m]), ends_of(rows, list(range(m)))
    assert features is rows.whole.ends
    for found, expected in ((features.low, everyone.low), (features.high, everyone.high)):
        np.testing.assert_allclose(found, expected[:m], rtol=1e-13)
    nobody = Ends.of([np.zeros(0)] * (m + 2))
    assert np.array_equal((everyone + nobody).low, everyone.low)
    assert np.array_equal((nobody + everyone).high, everyone.high)


def test_terms_that_cancel_lose_digits():
    cross = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert not lost(np.array([1.0, 1.0]), cross)
    assert lost(np.array([1.0, -1.0 + 1e-7]), cross)
    assert not lost(np.zeros(2), cross)


# ---------------------------------------------------------------- compiled


def blocks_of(n, seed=0):
    """People of two groups with three numbers, one block of them counting differently."""
    rng = np.random.default_rng(seed)
    a, x, nothing = rng.choice([-1.0, 1.0], n), np.asfortranarray(rng.uniform(-2, 3, (n, 3))), np.zeros(n)
    for weight in (np.ones(n), rng.uniform(size=n)):
        yield Rows(a, -a, x, weight, nothing, nothing)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("exponents", [EXPONENTS, MANY, [(0, 2, 0)], [(0, 0, 0)]])
@pytest.mark.parametrize("n", [0, 1, 300])
@pytest.mark.parametrize("groups", [((1.0, -1.0), (-1.0, 1.0)), ((1.0, -1.0),), ((),)])
def test_compiled_sums_are_those_of_numpy(exponents, n, groups):
    sums, keys = Sums.of(np.array(exponents)), [3, 4][: len(groups[0])]
    box = grid._Box([0, 1, 2], np.full(3, 0.5), np.full(3, 2.5))
    for block in blocks_of(n):
        expected = grid._of_block(block, sums, None, box, keys, groups)
        found = grid._of_block(block, sums, sums.laid(), box, keys, groups)
        assert found[0] == expected[0] == (0 if len(groups) == 2 or not keys else np.count_nonzero(block.a < 0))
        for one, other in zip(found[1:], expected[1:], strict=True):
            degrees = np.array(exponents)[:, None] + exponents
            np.testing.assert_allclose(sums.at(degrees, one), sums.at(degrees, other), atol=1e-12 * max(1, n))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("threads", [1, 2])
def test_what_all_cfu_follow_from_is_compiled_to_the_same_numbers(tmp_path, monkeypatch, threads):
    claim, found = streamed(drawn(1500), tmp_path, 1, 2).fitted.claim, []
    fs.set_threads(threads)
    for wanted in "011":
        monkeypatch.setenv(VARIABLE, wanted)
        found.append(replace(claim).for_squares())
    fs.set_threads(None)
    size = np.abs(found[0].cross).max()
    np.testing.assert_allclose(found[1].cross, found[0].cross, atol=1e-12 * size)
    np.testing.assert_allclose(found[1].rows.weight, found[0].rows.weight, atol=1e-12 * size)
    np.testing.assert_array_equal(found[1].cross, found[2].cross)


def test_sums_are_compiled_for_many_people_and_for_those_who_are_not_in_memory(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert [compiling.is_wanted(rows) for rows in (compiling.MANY - 1, compiling.MANY, None)] == [False, True, True]
    monkeypatch.setenv(VARIABLE, "0")
    assert not compiling.is_wanted(None)
