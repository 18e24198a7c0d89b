"""Degrees that would take too long or too much memory are not tried, and given ones are refused at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.model import embedding
from fairstress.model.embedding import Input, Polynomial
from fairstress.model.size import IN_ALL, MANY_TERMS, Offer, affordable


def table(m: int, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, n)
    frame = pd.DataFrame(rng.standard_normal((n, m)) + 0.3 * a[:, None], columns=[f"x{i}" for i in range(m)])
    return frame.assign(a=a, y=frame["x0"] + rng.standard_normal(n))


def graph_of(m: int, dense: bool = False) -> fs.CausalGraph:
    names = [f"x{i}" for i in range(m)]
    edges = [f"{', '.join(['a', *names[:i]])} -> {name}" for i, name in enumerate(names)] if dense else []
    return fs.CausalGraph.parse("; ".join(edges) or f"a -> {', '.join(names)}", protected="a", outcome="y")


@pytest.mark.parametrize(("inputs", "degree"), [(1, 3), (4, 2), (5, 3), (30, 2)])
def test_the_number_of_terms_is_known_before_they_are_built(inputs, degree):
    made = Polynomial.of([Input(f"x{i}") for i in range(inputs)], degree)
    assert Offer(inputs, (degree,)).terms(degree) == len(made.terms)
    derivatives = sum(D.nbytes for D in made._derivatives)
    assert derivatives <= Offer(inputs, (degree,)).memory(degree)
    assert derivatives == 8 * inputs * len(made.terms) * len(made._derivatives[0])


def test_small_equations_are_offered_every_degree_and_large_ones_the_lowest_at_least():
    offers = {"small": Offer(3, (1, 2, 3)), "large": Offer(40, (1, 2, 3)), "huge": Offer(2000, (1, 2, 3))}
    assert affordable(offers, 10**12, in_all=10**9) == {"small": (1, 2, 3), "large": (1,), "huge": (1,)}
    assert affordable({"one": Offer(30, (1, 2, 3))}, 10**9) == {"one": (1, 2)}
    assert affordable({"one": Offer(30, (1, 2, 3))}, 10**5) == {"one": (1,)}


def test_equations_share_what_can_be_fitted_together():
    offers = {f"x{i}": Offer(i + 1, (1, 2, 3)) for i in range(20)}
    kept = affordable(offers, 10**9)
    assert sum(offers[name].terms(degrees[-1]) for name, degrees in kept.items()) <= IN_ALL
    assert kept["x3"] == (1, 2, 3)
    assert kept["x19"] < (1, 2, 3)


def test_of_many_features_a_note_says_what_was_not_tried():
    audit = fs.Audit.fit(table(20), graph_of(20), random_state=0)
    (note,) = [one for one in audit.notes if one.startswith("Not all degrees up to 3 were tried")]
    assert "tried for the predictor, the baseline unconstrained, the baseline blind: they" in note
    assert audit.fitted.claim.predictor.tried.degrees == (1, 2)
    assert not [one for one in fs.Audit.fit(table(3), graph_of(3)).notes if "degrees" in one]


def test_less_memory_offers_fewer_degrees_to_equations_too():
    audit = fs.Audit.fit(table(6), graph_of(6, dense=True), max_memory="5 MB", random_state=0)
    assert audit.settings.max_memory == 5_000_000
    tried = {one.name: one.degrees for one in audit.fitted.tried}
    assert (tried["x0"], tried["x5"]) == ((1, 2, 3), (1, 2))
    assert "x5" in next(one for one in audit.notes if one.startswith("Not all degrees"))


def test_one_hot_columns_are_fitted_with_linear_equations():
    rng = np.random.default_rng(0)
    frame = table(1, 600)
    for i in range(9):
        level = rng.integers(0, 6, 600)
        frame = frame.assign(**{f"c{i}_{k}": (level == k).astype(float) for k in range(1, 6)})
    names = [name for name in frame if name.startswith("c")]
    graph = fs.CausalGraph.parse(f"a, {', '.join(names)} -> x0", protected="a", outcome="y")
    audit = fs.Audit.fit(frame, graph, random_state=0, kinds=dict.fromkeys(names, "number"))
    assert audit.settings.degrees["x0"] == 1
    assert audit.settings.predictor_degree == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"degrees": {"x1": 10**6}}, r"degrees\['x1'\] is 1000000: give at most 50"),
        ({"max_degree": 10**6}, "max_degree is 1000000: give at most 50"),
        ({"predictor_degree": 10**6}, "predictor_degree is 1000000: give at most 50"),
        ({"predictor_degree": 8}, "predictor_degree is 8, which has 4,292,145 terms of 21 variables and needs some"),
        ({"degrees": {"x19": 12}}, r"degrees\['x19'\] is 12, which has 225,792,840 terms of 20 variables"),
        ({"max_memory": "much"}, "max_memory is 'much': give a number of bytes, or text such as '1 GB'"),
        ({"max_memory": 0}, "max_memory is 0: give a number of bytes"),
        ({"max_memory": 1000, "max_degree": 1}, "terms, which are fitted together and need some"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_written_down(options, text, monkeypatch):
    written, write = [], embedding._reduced_monomials
    monkeypatch.setattr(embedding, "_reduced_monomials", lambda *given: written.append(given) or write(*given))
    with pytest.raises(SettingError, match=text):
        fs.Audit.fit(table(20, 100), graph_of(20, dense=True), **options)
    assert all(degree <= 3 for _, degree in written)


def test_what_is_given_is_taken_if_it_fits():
    degree = 4
    audit = fs.Audit.fit(table(8, 800), graph_of(8), predictor_degree=degree, predictor_penalty=1, max_degree=1)
    assert len(audit.fitted.claim.predictor.weights) == 495
    assert audit.settings.predictor_degree == degree
    assert Offer(9, (degree,)).terms(degree) > MANY_TERMS  # of the unconstrained baseline
