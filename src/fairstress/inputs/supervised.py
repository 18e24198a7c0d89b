"""People X and their outcome y apart, as learners take them: which graph they belong to, and what arrays hold."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairstress.errors import DataError, GraphError, SettingError, did_you_mean, show
from fairstress.inputs.frames import check_complete, is_among, take_columns
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.kinds import NUMBER

OUTCOME = "outcome"  # what y is called where nobody has named it


def graph_of(
    graph: CausalGraph | str | None, names: Sequence[str], *, protected: Any, outcome: Any, y_name: Any
) -> CausalGraph:
    """Give the graph of an X with some columns and a y that is not among them.

    Parameters
    ----------
    graph
        A graph, its text, or None: the protected attribute may cause every other column, and each two of these may
        share hidden causes.
    names
        Columns of X.
    protected
        Name or position of the protected column, or a tuple of names; of a `CausalGraph` it is known.
    outcome, y_name
        What y is called: in the graph, and by itself.
    """
    if isinstance(graph, CausalGraph):
        _check_ends(graph, protected, outcome)
        known = graph
    else:
        own_name = y_name if isinstance(y_name, str) and y_name not in names else OUTCOME
        read = partial(_loosest, names) if graph is None else partial(CausalGraph.parse, graph)
        known = read(protected=_protected(protected, names), outcome=own_name if outcome is None else outcome)
    _check_columns(known, names)
    return known


def _loosest(names: Sequence[str], protected: str | tuple[str, ...], outcome: str) -> CausalGraph:
    """Give the graph in which the protected attribute may cause every other column, and hidden causes join these."""
    own = (protected,) if isinstance(protected, str) else protected
    others = [name for name in names if name not in own]
    if not others:
        raise DataError(f"X has {len(names)} feature(s), all of them protected: there is nothing to predict from")
    edges = tuple((cause, effect) for cause in own for effect in others)
    pairs = tuple(itertools.combinations(others, 2))
    ends: Any = {"protected": protected, "outcome": outcome}
    return CausalGraph(edges=edges, pairs=pairs, **ends)


def kinds_of_array(given: Mapping[str, Any] | None, graph: CausalGraph) -> Any:
    """Give the kinds of an array's columns: every feature is a number unless the kinds given say otherwise.

    An array has one type for all its columns, so that two values or few whole numbers tell nothing of levels.
    """
    if given is not None and not isinstance(given, Mapping):
        return given  # which the table refuses
    return {**dict.fromkeys(graph.features, NUMBER), **(given or {})}


# ---------------------------------------------------------------- checks


def check_people(frame: Any, graph: CausalGraph) -> None:
    """Refuse missing values among people of whom a predictor is learnt."""
    for name, column in take_columns(frame, (*graph.protected_columns, *graph.features)).items():
        check_complete(column, name)


def _protected(given: Any, names: Sequence[str]) -> Any:
    """Give the name of the protected column, or a tuple of names."""
    if given is None:
        raise SettingError(
            "protected is not given: name the protected column of X, such as protected='race', or give a CausalGraph"
        )
    if isinstance(given, str):
        return given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not -len(names) <= given < len(names):
            raise SettingError(f"protected is {given}, but X has {len(names)} columns: give a position among them")
        return names[int(given)]
    if not isinstance(given, list | tuple):
        raise SettingError(
            f"protected is {show(given)}: give the name or position of a column of X, or a tuple of names"
        )
    return tuple(given)


def _check_ends(graph: CausalGraph, protected: Any, outcome: Any) -> None:
    """Refuse a protected attribute or outcome other than the graph's own."""
    own = {"protected": (graph.protected, graph.protected_columns), "outcome": (graph.outcome,)}
    for role, given in (("protected", protected), ("outcome", outcome)):
        if given is not None and not is_among(given, own[role]):
            raise GraphError(
                f"{role} is {show(given)}, but the graph's is {show(own[role][0])}: leave it out, or give text"
            )


def _check_columns(graph: CausalGraph, names: Sequence[str]) -> None:
    """Refuse an outcome that is a column of X, and variables that are none."""
    if graph.outcome in names:
        raise DataError(f"X has a column '{graph.outcome}', the graph's outcome: give it as y and not in X")
    for name in (*graph.protected_columns, *graph.features):
        if name not in names:
            raise DataError(
                f"the graph names '{name}', which is not a column of X{did_you_mean(name, names)} (if it is what y "
                f"holds, give outcome='{name}')"
            )
