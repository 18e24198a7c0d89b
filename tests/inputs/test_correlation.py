from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairstress import CausalGraph
from fairstress.errors import SettingError
from fairstress.inputs.correlation import read_correlation

GRAPH = CausalGraph.parse("a -> x, z, v; x <-> z <-> v; a <-> x", protected="a", outcome="y")
VARIABLES = ("x", "z", "v")


def test_a_dict_a_frame_and_an_array_give_the_same_matrix():
    P = np.array([[1, 0.3, 0], [0.3, 1, -0.2], [0, -0.2, 1]])
    frame = pd.DataFrame(P, index=list("xzv"), columns=list("xzv")).loc[["v", "x", "z"], ["v", "x", "z"]]
    for value in ({("z", "x"): 0.3, ("z", "v"): -0.2}, frame, P, P.tolist()):
        np.testing.assert_array_equal(read_correlation(value, GRAPH, VARIABLES), P)
    np.testing.assert_array_equal(read_correlation({}, GRAPH, VARIABLES), np.eye(3))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({("x", "v"): 0.1}, "does not name the pair x <-> v .its pairs: a <-> x, x <-> z, z <-> v"),
        ({("x", "w"): 0.1}, "does not name the pair x <-> w"),
        ({"xz": 0.1}, "does not name the pair 'xz'"),
        ({("x", "z"): 0.1, ("z", "x"): 0.2}, "the pair z <-> x is given twice"),
        ({3: 0.1}, "does not name the pair 3"),
        ({("x", "z"): 1}, "the correlation of x <-> z is 1: give a number strictly between -1 and 1"),
        ({("x", "z"): "much"}, "is 'much'"),
        ({("x", "z"): "0.3"}, "is '0.3': give a number strictly between -1 and 1"),
        ({("x", "z"): True}, "is True: give a number"),
        ({("x", "z"): float("nan")}, "is nan"),
        ({("x", "z"): 0.9, ("z", "v"): 0.9}, "not form a positive definite matrix .smallest eigenvalue -0.27"),
        (np.eye(2), r"shape \(2, 2\): give \(3, 3\), in the order x, z, v"),
        (np.eye(3) * 2, "of x with itself is 2: put 1 on the diagonal"),
        (
            np.eye(3) + np.eye(3, k=1) / 9,
            "of x and z is 0.111111, but 0 the other way round: give finite numbers, the same",
        ),
        (np.eye(3) + (np.eye(3, k=2) + np.eye(3, k=-2)) / 9, "does not name the pair x <-> v"),
        (pd.DataFrame(np.eye(3)), "must have rows and columns x, z, v"),
        (np.where(np.eye(3), 1.0, np.nan), "of x and z is nan, but nan the other way round: give finite numbers"),
        (
            "high",
            "is 'high': give a dict of pairs, such as .*, or a frame or array of numbers with rows and columns x, z",
        ),
        (np.eye(3).astype(str), "a frame or array of numbers"),
        (0.3, "is 0.3: give a dict of pairs"),
    ],
)
def test_what_is_not_a_correlation_of_the_graph_is_refused_with_the_reason(value, message):
    with pytest.raises(SettingError, match=message):
        read_correlation(value, GRAPH, VARIABLES)
