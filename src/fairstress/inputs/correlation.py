"""Correlations as an analyst gives them, turned into a checked matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairstress.arguments import LEAST_EIGENVALUE, as_float, is_list
from fairstress.errors import SettingError, show
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
    if smallest <= 0:
        raise SettingError(
            f"the correlations do not form a positive definite matrix (smallest eigenvalue {smallest:.3g}): "
            "no joint distribution of the errors has them; make them smaller"
        )
    if smallest < LEAST_EIGENVALUE * (1 - 1e-3):  # rounding moves the eigenvalue of a pair at 1 - 1e-12
        raise SettingError(
            f"the smallest eigenvalue of the correlations is {smallest:.3g}, so near to 0 that rounding may spoil "
            f"every fit: make them smaller, so that it is at least {LEAST_EIGENVALUE:g}"
        )
    return P


def read_pair(pair: Any, graph: CausalGraph, variables: Sequence[str]) -> tuple[int, int]:
    """Give the positions of a pair's ends in ``variables``; refuse pairs that the graph does not name."""
    ends = tuple(pair) if is_list(pair) else ()
    is_pair = len(ends) == 2 and all(isinstance(end, str) for end in ends)
    for known in graph.pairs:
        if is_pair and set(known) == set(ends):
            return variables.index(known[0]), variables.index(known[1])
    named = ", ".join(f"{a} <-> {b}" for a, b in graph.pairs) or "none"
    given = " <-> ".join(ends) if is_pair else show(pair)
    raise SettingError(
        f"the graph does not name the pair {given} (its pairs: {named}): add '<->' between the two to the graph, "
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


def check_correlation(p: Any, where: str) -> float:
    """Check that one correlation lies strictly between -1 and 1."""
    number = as_float(p)
    if not -1 < number < 1:
        raise SettingError(f"the correlation of {where} is {show(p)}: give a number strictly between -1 and 1")
    if abs(number) > 1 - LEAST_EIGENVALUE:
        raise SettingError(
            f"the correlation of {where} is {number!r}: give at most 1 - 1e-12 in size, nearer to 1 rounding may "
            "spoil every fit"
        )
    return number


def _from_matrix(value: Any, variables: Sequence[str]) -> Array:
    m = len(variables)
    if isinstance(value, pd.DataFrame):
        if set(value.index) != set(variables) or set(value.columns) != set(variables):
            raise SettingError(f"the correlation frame must have rows and columns {', '.join(variables)}")
        value = value.loc[list(variables), list(variables)]
    try:
        P = np.array(value, dtype=float)
        if np.asarray(value).dtype.kind in "SU":
            raise TypeError("text")
    except (TypeError, ValueError, OverflowError):
        raise _no_correlation(value, variables) from None
    if P.ndim < 2:
        raise _no_correlation(value, variables)
    if P.shape != (m, m):
        raise SettingError(f"the correlation has shape {P.shape}: give ({m}, {m}), in the order {', '.join(variables)}")
    for j in np.flatnonzero(~(np.abs(np.diag(P) - 1) <= 1e-12)).tolist():
        raise SettingError(f"the correlation of {variables[j]} with itself is {P[j, j]:g}: put 1 on the diagonal")
    for j, k in np.argwhere(~(np.abs(P - P.T) <= 1e-12)).tolist():
        raise SettingError(
            f"the correlation of {variables[j]} and {variables[k]} is {P[j, k]:g}, but {P[k, j]:g} the other way "
            "round: give finite numbers, the same ones both ways"
        )
    return P


def _no_correlation(value: Any, variables: Sequence[str]) -> SettingError:
    """The error of what is neither pairs nor a matrix of numbers."""
    return SettingError(
        f"the correlation is {show(value)}: give a dict of pairs, such as {{('ugpa', 'lsat'): 0.3}}, or a frame or "
        f"array of numbers with rows and columns {', '.join(variables)}"
    )


def _check_pattern(P: Array, graph: CausalGraph, variables: Sequence[str]) -> None:
    """Refuse a correlation where the graph names no pair."""
    allowed = {frozenset(pair) for pair in graph.pairs}
    for j, k in zip(*np.nonzero(np.triu(P, 1)), strict=True):
        if frozenset((variables[j], variables[k])) not in allowed:
            read_pair((variables[j], variables[k]), graph, variables)
