"""PyTorch modules as audited predictors."""

import numpy as np
import pytest
import torch

import fairstress as fs
from fairstress.errors import SettingError, Status

pytestmark = pytest.mark.torch

GRAPH = fs.CausalGraph.parse(
    "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat; race <-> ugpa; race <-> lsat", protected="race", outcome="zfya"
)
SETTINGS = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 20.0, "reference": "White", "random_state": 0}
SETTINGS |= {"predictor_degree": 2, "predictor_penalty": 150.0}
P = {("race", "ugpa"): 0.25, ("race", "lsat"): -0.2, ("ugpa", "lsat"): 0.4}


class Quadratic(torch.nn.Module):
    """All monomials up to degree 2 of two inputs, and weights."""

    def __init__(self, weights, constant):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.tensor(weights))
        self.constant = constant

    def forward(self, z):
        g, s = z.unbind(dim=1)
        terms = torch.stack([torch.ones_like(g), g, s, g * g, g * s, s * s], dim=1)
        return (terms @ self.weights + self.constant)[:, None]


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.law_school()


@pytest.fixture(scope="module")
def built_in(frame):
    return fs.Audit.fit(frame, GRAPH, **SETTINGS)


def test_the_built_in_ridge_as_a_module_gives_the_same_cfu_gradient_and_worst_case(frame, built_in):
    predictor = built_in.fitted.claim.predictor
    terms = dict(zip(predictor.embedding.exponents, predictor.weights, strict=True))
    weights = [terms[powers] for powers in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]]
    audit = fs.Audit.fit(frame, GRAPH, predictor=Quadratic(weights, built_in.fitted.table.origin).eval(), **SETTINGS)
    assert audit.settings.predictor_gradient == "autograd"
    assert audit.cfu(P) == pytest.approx(built_in.cfu(P), rel=1e-9)
    np.testing.assert_allclose(audit.gradient(P), built_in.gradient(P), rtol=1e-9)
    found, expected = audit.worst_case(0.3), built_in.worst_case(0.3)
    assert found.value == pytest.approx(expected.value, rel=1e-6)
    assert found.status is Status.CONVERGED


def test_a_network_of_raw_columns_has_the_gradient_that_differences_find(frame):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double().eval()
    by = {
        kind: fs.Audit.fit(frame, GRAPH, predictor=fs.Predictor(network, input="features", gradient=kind), **SETTINGS)
        for kind in ("autograd", "differences")
    }
    # lsat is about 37: most of the tanh units are saturated, and the differences lose digits
    np.testing.assert_allclose(by["autograd"].gradient(P), by["differences"].gradient(P), rtol=1e-4)
    shown = torch.tensor(np.column_stack([np.where(frame["race"] == "White", 1.0, -1.0), frame["ugpa"], frame["lsat"]]))
    moved = by["autograd"].counterfactuals(P)
    shown_cf = torch.tensor(
        np.column_stack([np.where(moved["race"] == "White", 1.0, -1.0), moved["ugpa"], moved["lsat"]])
    )
    by_hand = ((network(shown_cf) - network(shown)) ** 2).mean().item()
    assert by["autograd"].cfu(P) == pytest.approx(by_hand, rel=1e-9)


def test_a_module_of_single_precision_is_exactly_fair_under_model_a(frame):
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).eval()
    audit = fs.Audit.fit(frame, GRAPH, predictor=network, **SETTINGS)
    assert audit.cfu({}) == 0
    assert audit.cfu(P) > 1e-4


def test_a_module_in_training_mode_and_a_gradient_it_cannot_have_are_refused(frame):
    network = torch.nn.Linear(2, 1)
    with pytest.raises(SettingError, match=r"in training mode.*call its eval\(\) first"):
        fs.Audit.fit(frame, GRAPH, predictor=network, **SETTINGS)
    by_hand = fs.Predictor(network.eval(), input=lambda shown: shown[["ugpa", "lsat"]].to_numpy(), gradient="autograd")
    with pytest.raises(SettingError, match="'autograd', which needs a PyTorch module that looks at residuals"):
        fs.Audit.fit(frame, GRAPH, predictor=by_hand, **SETTINGS)


def test_a_part_in_training_mode_is_refused_too(frame):
    network = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(2, 1)).eval()
    network[0].train()
    with pytest.raises(SettingError, match="in training mode"):
        fs.Audit.fit(frame, GRAPH, predictor=network, **SETTINGS)


class Step(torch.nn.Module):
    """Above 0 or not: constant in pieces."""

    def forward(self, z):
        return (z[:, 0] > 0).double()


def test_a_module_without_derivatives_is_refused_where_one_is_asked_for_and_searched_without(frame):
    with pytest.raises(SettingError, match="Step gives numbers that PyTorch cannot differentiate by its inputs"):
        fs.Audit.fit(frame, GRAPH, predictor=Step().eval(), **SETTINGS).worst_case(0.2)
    step = fs.Predictor(Step().eval(), gradient="none")
    audit = fs.Audit.fit(frame.iloc[:2000], GRAPH, predictor=step, **SETTINGS)
    assert audit.worst_case(0.2, search=fs.Search(starts=1)).status is Status.NO_DERIVATIVES


class Doubled(torch.nn.Module):
    """The sum of all inputs, doubled and bent, in place or not."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place

    def forward(self, z):
        return (z.mul_(2).tanh_() if self.in_place else torch.tanh(2 * z)).sum(dim=1)


def test_a_module_that_works_in_place_gives_the_same_numbers_as_one_that_does_not(frame):
    in_place, other = (
        fs.Audit.fit(frame.iloc[:2000], GRAPH, predictor=Doubled(which).eval(), **SETTINGS) for which in (True, False)
    )
    assert in_place.cfu(P) == other.cfu(P) > 1e-3
    np.testing.assert_array_equal(in_place.gradient(P), other.gradient(P))
