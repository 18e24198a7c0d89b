"""Correlations as an analyst gives them, turned into a checked matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairstress.errors import SettingError
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array


def read_correlation(value: Any, graph: CausalGraph, variables: Sequence[str]) -> Array:
    """Turn a dict of pairs, a frame or an array in ``variables`` order into a correlation matrix.

    Pairs that are not named are 0. Refused: pairs that the graph does not allow, values outside (-1, 1), and matrices
    that are not positive definite.
    """
    P = _from_pairs(value, graph, variables) if isinstance(value, Mapping) else _from_matrix(value, variables)
    _check_pattern(P, graph, variables)
    smallest = float(np.linalg.eigvalsh(P)[0])
    if smallest <= 1e-12:
        raise SettingError(
            f"the correlations do not form a positive definite matrix (smallest eigenvalue {smallest:.3g}): "
            "no joint distribution of the errors has them; make them smaller"
        )
    return P


def read_pair(pair: Iterable[str], graph: CausalGraph, variables: Sequence[str]) -> tuple[int, int]:
    """Give the positions of a pair's ends in ``variables``; refuse pairs that the graph does not name."""
    ends = (pair,) if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
    if len(ends) == 2:
        for known in graph.pairs:
            if set(known) == set(ends):
                return variables.index(known[0]), variables.index(known[1])
    named = ", ".join(f"{a} <-> {b}" for a, b in graph.pairs) or "none"
    shown = " <-> ".join(str(end) for end in ends) if len(ends) == 2 else repr(pair)
    raise SettingError(
        f"the graph does not name the pair {shown} (its pairs: {named}): add '<->' between the two to the graph, "
        "or give one of its pairs as a tuple of two names"
    )


def pair_matrix(position: tuple[int, int], p: float, m: int) -> Array:
    """Give the identity with one pair's correlation set to ``p``."""
    P = np.eye(m)
    P[position] = P[position[::-1]] = p
    return P


# ---------------------------------------------------------------- checks


def _from_pairs(value: Mapping[Edge, float], graph: CausalGraph, variables: Sequence[str]) -> Array:
    P = np.eye(len(variables))
    seen: set[tuple[int, int]] = set()
    for pair, p in value.items():
        position = read_pair(pair, graph, variables)
        if position in seen:
            raise SettingError(f"the pair {' <-> '.join(pair)} is given twice: give it once")
        seen.add(position)
        P[position] = P[position[::-1]] = check_correlation(p, " <-> ".join(pair))
    return P


def check_correlation(p: float, where: str) -> float:
    """Check that one correlation lies strictly between -1 and 1."""
    try:
        number = float(p)
    except (TypeError, ValueError):
        raise SettingError(f"the correlation of {where} is {p!r}: give a number between -1 and 1") from None
    if not -1 < number < 1:
        raise SettingError(f"the correlation of {where} is {number:g}: give a number strictly between -1 and 1")
    return number


def _from_matrix(value: Any, variables: Sequence[str]) -> Array:
    m = len(variables)
    if isinstance(value, pd.DataFrame):
        if set(value.index) != set(variables) or set(value.columns) != set(variables):
            raise SettingError(f"the correlation frame must have rows and columns {', '.join(variables)}")
        value = value.loc[list(variables), list(variables)]
    try:
        P = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise SettingError(
            f"a correlation is a dict of pairs, a frame or an array, not {type(value).__name__}"
        ) from None
    if P.shape != (m, m):
        raise SettingError(f"the correlation has shape {P.shape}: give ({m}, {m}), in the order {', '.join(variables)}")
    if not np.isfinite(P).all() or np.abs(P - P.T).max() > 1e-12 or np.abs(np.diag(P) - 1).max() > 1e-12:
        raise SettingError("the correlation matrix must be finite and symmetric with 1 on its diagonal")
    return P


def _check_pattern(P: Array, graph: CausalGraph, variables: Sequence[str]) -> None:
    """Refuse a correlation where the graph names no pair."""
    allowed = {frozenset(pair) for pair in graph.pairs}
    for j, k in zip(*np.nonzero(np.triu(P, 1)), strict=True):
        if frozenset((variables[j], variables[k])) not in allowed:
            read_pair((variables[j], variables[k]), graph, variables)
