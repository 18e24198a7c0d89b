from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import fairstress as fs
from fairstress.claim.evaluate import evaluate_many
from fairstress.functionals.cfu import CFU
from fairstress.search.causes import CauseSet, drawn_into, loadings, sets_within
from fairstress.search.members import cliques
from fairstress.search.problem import Problem
from fairstress.search.sets import CorrelationSet

EDGES = "race -> ugpa, lsat; ugpa -> lsat"
ALL = "race <-> ugpa; race <-> lsat; ugpa <-> lsat"
TWO = "race <-> ugpa; race <-> lsat"
SETTINGS = {
    "degrees": {"ugpa": 1, "lsat": 2},
    "penalty": 166.81005372,
    "predictor_degree": 2,
    "predictor_penalty": 166.81005372,
    "penalise_constant": True,
}


def law_audit_of(frame, pairs: str) -> fs.Audit:
    """Law school with what cross-validation picks by the paper's settings."""
    graph = fs.CausalGraph.parse(f"{EDGES}; {pairs}", protected="race", outcome="zfya")
    return fs.Audit.fit(frame, graph, reference="White", random_state=0, **SETTINGS)


@pytest.fixture(scope="module")
def law(law_frame):
    return law_audit_of(law_frame, ALL)


def set_of(audit: fs.Audit, size: float, **options) -> CauseSet:
    (members,) = sets_within(fs.SingleCause(**options), size, audit.graph, audit.variables)
    assert isinstance(members, CauseSet)
    return members


def best_on_grid(audit: fs.Audit, members: CauseSet) -> float:
    """The largest CFU on a grid of loadings that holds both ends of each; l and -l are one."""
    unit = np.linspace(-1, 1, 21)
    grid = np.array(list(itertools.product(unit[unit >= 0], unit, unit))) * members.high
    found = evaluate_many(audit.fitted.claim, members.matrix(grid), CFU(), check_minima=False)
    return max(one.value for one in found)


@pytest.mark.parametrize("options", [{}, {"caps": {"race": 0.9}}], ids=str)
def test_a_grid_of_loadings_holds_nothing_worse(law, options):
    worst = law.worst_case(0.3, budget=fs.SingleCause(**options))
    assert worst.status is fs.Status.CONVERGED
    # the grid holds the corners too: rounding alone may part the two
    assert worst.value >= best_on_grid(law, set_of(law, 0.3, **options)) * (1 - 1e-9)
    caps = [options.get("caps", {}).get(name, 0.3) for name in law.variables]
    assert (worst.shares <= np.array(caps) + 1e-12).all()
    P = np.outer(worst.loadings, worst.loadings)
    np.fill_diagonal(P, 1)
    np.testing.assert_allclose(worst.correlation, P, rtol=0, atol=1e-15)
    assert worst.min_eigenvalue >= worst.floor - 1e-12 > 0


def test_an_extreme_inside_the_caps_is_found_there(law):
    """The total effect of race on lsat is smallest for a moderate share of ugpa, seen on a line through the set."""
    members, effect = set_of(law, 0.5), law.effect("lsat")
    lowest = law.bounds(effect, 0.5, budget=fs.SingleCause())[0]
    line = np.array([[1, unit, -1] for unit in np.linspace(-1, 1, 201)]) * members.high
    on_line = [one.value for one in evaluate_many(law.fitted.claim, members.matrix(line), effect, check_minima=False)]
    i = int(np.argmin(on_line))
    assert 0 < i < 200
    assert lowest.value <= on_line[i]
    assert lowest.loadings["ugpa"] == pytest.approx(line[i, 1], abs=line[1, 1] - line[0, 1])


def test_the_derivative_by_loadings_is_the_limit_of_differences(law):
    members = set_of(law, 0.5)
    problem = Problem(law.fitted.claim, members, CFU(), 1.0, 1, 1)
    p, h = np.array([0.6, -0.5, 0.3]), 1e-5
    slope = problem.value_and_gradient(p)[1]
    steps = h * np.eye(3)
    rise = (problem.values(p + steps) - problem.values(p - steps)) / (2 * h)
    # differences are exact to h^2 times third derivatives, and to the fit's 1e-10 over h
    np.testing.assert_allclose(slope, rise, rtol=2e-6)


def test_one_pair_is_the_pairwise_budget_of_the_same_size(law_frame):
    audit = law_audit_of(law_frame, "race <-> lsat")
    for size in (0.1, 0.4):
        cause, pair = audit.worst_case(size, budget=fs.SingleCause()), audit.worst_case(size)
        assert cause.value == pair.value
        assert cause.correlation.equals(pair.correlation)
        np.testing.assert_allclose(cause.shares[["race", "lsat"]], size, rtol=1e-12)
        assert cause.shares["ugpa"] == 0


def test_with_a_cap_of_its_own_one_pair_has_the_root_of_the_product(law_frame):
    audit = law_audit_of(law_frame, "race <-> lsat")
    cause = audit.worst_case(0.1, budget=fs.SingleCause(caps={"race": 0.9}))
    assert cause.value == pytest.approx(audit.worst_case(0.3).value, rel=1e-12)
    assert cause.shares[["race", "lsat"]].tolist() == pytest.approx([0.9, 0.1])


def test_a_cause_acts_on_one_clique_so_that_two_pairs_give_the_larger_of_each_alone(law_frame):
    worst = law_audit_of(law_frame, TWO).worst_case(0.3, budget=fs.SingleCause())
    alone = {name: law_audit_of(law_frame, f"race <-> {name}").worst_case(0.3) for name in ("ugpa", "lsat")}
    name = max(alone, key=lambda name: alone[name].value)
    # Model A's fit, of which the penalty is a part, has race's threshold in all three
    assert worst.value == pytest.approx(alone[name].value, rel=1e-9)
    assert worst.clique == ("race", name)
    assert worst.cliques == (("race", "ugpa"), ("race", "lsat"))
    assert not worst.can_touch_all
    assert worst.correlation.loc["ugpa", "lsat"] == 0


def test_a_larger_size_or_cap_never_lowers_the_worst_case(law):
    points = law.curve([0, 0.05, 0.2, 0.4], budget=fs.SingleCause()).own
    assert (np.diff([point.value for point in points]) > 0).all()
    capped = [law.worst_case(0.05, budget=fs.SingleCause(caps={"race": cap})).value for cap in (0, 0.05, 0.5, 0.9)]
    assert (np.diff(capped) > 0).all()
    assert capped[1] == pytest.approx(points[1].value, rel=1e-6)  # ascents end within a gain of 1e-10


def test_where_one_error_alone_may_be_moved_nothing_is(law):
    worst = law.worst_case(0, budget=fs.SingleCause(caps={"race": 0.9}))
    assert worst.correlation.equals(law.worst_case(0).correlation)
    assert (worst.loadings == 0).all()


def test_one_cause_is_a_correlation_within_the_other_budgets(law):
    """Its pairs are at most the share in size, and its eigenvalues at least 1 less the share."""
    for size in (0.1, 0.4):
        cause = law.worst_case(size, budget="single cause").value
        assert cause <= min(law.worst_case(size, budget=kind).value for kind in ("pairwise", "spectral")) * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_loadings_are_found_again_from_the_correlations_they_make(law, seed):
    members, rng = set_of(law, 0.8), np.random.default_rng(seed)
    for p in members.scan(8, rng):
        np.testing.assert_allclose(members.point(members.matrix(p)), p, rtol=0, atol=1e-12)
        two = np.where(np.arange(3) == seed % 3, 0.0, p)  # on two alone the product of the loadings is all one knows
        found = loadings(members.matrix(two), members.clique, members.high**2)
        np.testing.assert_allclose(members.matrix(found), members.matrix(two), rtol=0, atol=1e-12)
        assert (np.abs(found) <= members.high + 1e-12).all()


def test_members_of_a_larger_budget_are_drawn_into_a_smaller_one(law):
    larger, smaller = set_of(law, 0.8), set_of(law, 0.2)
    P = drawn_into([smaller], larger.matrix(larger.scan(32, np.random.default_rng(0))))
    assert smaller.contains(smaller.point(P), tolerance=1e-9).all()
    assert (np.linalg.eigvalsh(P)[:, 0] >= 0.8 - 1e-9).all()


def test_cliques_of_two_are_intervals_and_larger_ones_sets_of_loadings():
    graph = fs.CausalGraph.parse("a -> x, z, v; a <-> x; a <-> z; x <-> z; z <-> v", protected="a", outcome="y")
    sets = sets_within(fs.SingleCause(caps={"v": 0.5}), 0.2, graph, ("a", "x", "z", "v"))
    assert [type(one) for one in sets] == [CauseSet, CorrelationSet]
    assert sets[0].clique == (0, 1, 2)
    assert sets[1].pairs == ((2, 3),)
    assert sets[1].high == pytest.approx(np.sqrt(0.2 * 0.5))


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ({"rcae": 0.9}, "caps names 'rcae', which is no variable with an error (in pairs: race, lsat)"),
        ({"ugpa": 0.9}, "caps names 'ugpa', which stands in no pair of the graph (in pairs: race, lsat)"),
    ],
)
def test_caps_of_what_no_cause_can_act_on_are_refused(law_frame, caps, message):
    audit = law_audit_of(law_frame, "race <-> lsat")
    with pytest.raises(fs.SettingError) as refused:
        audit.worst_case(0.1, budget=fs.SingleCause(caps=caps))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ({"race": 1}, "the cap of race is 1: give a share of variance from 0 up to, but not including, 1"),
        ({"race": -0.1}, "the cap of race is -0.1: give a share"),
        ({"race": "0.9"}, "the cap of race is '0.9': give a share"),
        ({3: 0.9}, "caps names 3: give the name of a variable"),
        (0.9, "caps is 0.9: give {'variable': share}"),
    ],
)
def test_caps_that_are_no_shares_are_refused(caps, message):
    with pytest.raises(fs.SettingError) as refused:
        fs.SingleCause(caps=caps)
    assert message in str(refused.value)


def test_algorithm_1_is_refused(law):
    with pytest.raises(fs.SettingError, match="no form for the single cause budget"):
        law.worst_case(0.1, budget="single cause", search=fs.Search(method="ascent"))


@pytest.mark.parametrize("q", range(1, 11))
def test_cliques_of_any_pairs_are_those_of_networkx(q):
    every = list(itertools.combinations(range(5), 2))
    for pairs in itertools.islice(itertools.combinations(every, q), 0, None, 7):
        graph = nx.Graph(pairs)
        graph.add_nodes_from(range(5))
        expected = sorted(tuple(sorted(clique)) for clique in nx.find_cliques(graph))
        assert cliques(pairs, range(5)) == expected
        assert cliques([pair[::-1] for pair in (*pairs, *pairs)], range(5)) == expected


def test_of_pairs_of_every_two_variables_there_is_one_clique():
    every = list(itertools.combinations((0, 2, 3, 6), 2))
    assert cliques(every) == [(0, 2, 3, 6)]
    assert cliques(every, range(8)) == [(0, 2, 3, 6), (1,), (4,), (5,), (7,)]
