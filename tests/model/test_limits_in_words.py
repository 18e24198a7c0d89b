"""Limits at which something is refused, and the words for them."""

from __future__ import annotations

import numpy as np
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError
from fairstress.model.size import COPIES, _shown, check_sum

GRAPH = fs.CausalGraph.parse("a -> x -> z", protected="a", outcome="y")


def test_equations_are_refused_one_byte_below_what_their_cross_products_take():
    needed = 8 * COPIES * 300**2  # copies of a matrix of numbers of 8 bytes
    check_sum([100, 200], needed)
    with pytest.raises(SettingError, match=f"300 terms, which are fitted together and need some {_shown(needed)}"):
        check_sum([100, 200], needed - 1)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (999_999, "999999 bytes"),
        (10**6, "1 MB"),
        (5_250_000, "5.25 MB"),
        (2 * 10**9, "2 GB"),
        (3 * 10**12, "3 TB"),
        (4567 * 10**12, "4,567 TB"),
        (10**40, "1,000,000 TB"),
    ],
)
def test_bytes_are_shown_in_the_largest_unit_of_which_there_is_one(count, words):
    assert _shown(count) == words


@pytest.mark.parametrize(
    ("term", "words"), [("aa", r"; did you mean 'a'\?$"), ("income", "; its terms are 1, a$")], ids=["near", "far"]
)
def test_a_term_that_an_equation_does_not_have_is_named_with_those_it_has(term, words):
    with pytest.raises(SettingError, match=f"which its equation does not have{words}"):
        fs.datasets.simulate(GRAPH, 10, weights={"x": {term: 1.0}})


@pytest.mark.parametrize("value", [0.1, 200.0, 1000 / 7, 1000 / 19, 1e9 / 3])  # sums of squares of 0, above and below
def test_an_outcome_that_is_constant_within_a_fold_up_to_rounding_is_refused(value):
    frame = fs.datasets.simulate(GRAPH, 200, random_state=0).frame
    frame["y"] = np.where(np.arange(200) < 40, value, value * (1 + frame["x"]))
    with pytest.raises(DataError, match="constant within one of the folds"):
        fs.Audit.fit(frame, GRAPH, degrees={"x": 1, "z": 1}, penalty=1.0, cv="contiguous")
