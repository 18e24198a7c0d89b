"""How strong is that? The error correlation that leaving out an observed variable would induce, as a benchmark.

Omitted, Z puts ``c_j`` into the error of equation j, whose own error is ``e_j`` (see `omitted`); of levels, those of a
protected attribute among them, and of a number with an atom these are parts of the latent error. Then

    R2_j = var(c_j) / (var(c_j) + var(e_j)),   induced correlation = cor(c_j, c_k) sqrt(R2_j R2_k).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairstress.analyses.benchmarks.omitted import EXACT, ExtendedRows, determined, second_moments, split
from fairstress.analyses.benchmarks.result import Benchmark, Benchmarks
from fairstress.claim.build import Fitted
from fairstress.errors import SettingError, did_you_mean
from fairstress.inputs.columns import Column, read_columns
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array

NOTHING = 1e-24  # variance, features being standardised: rounding


@dataclass(frozen=True, slots=True)
class Candidate:
    """One variable, or several together, that could play the hidden cause."""

    name: str
    members: tuple[str, ...]
    in_model: bool  # whether the audit's equations have it


def benchmarks(
    fitted: Fitted,
    columns: Any = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    pairs: Iterable[Edge] | None = None,
    multiples: Sequence[float] = (1, 2, 3),
) -> Benchmarks:
    """Measure every candidate on every pair that it could confound; see `Audit.benchmarks`."""
    table, design, graph = fitted.table, fitted.claim.design, fitted.graph
    asked = _read_pairs(pairs, graph)
    factors = _read_multiples(multiples)
    further = () if columns is None else read_columns(columns, table)
    candidates = _candidates(graph, further, _read_groups(groups), asked)
    equations = (*design.equations, *([design.protected] if design.protected else []))
    extended = ExtendedRows.of(table, further, {e.feature: e.degree for e in equations}, fitted.settings.embedding)
    measured = [_measure(extended, candidate, asked) for candidate in candidates]
    for candidate, its in zip(candidates, measured, strict=True):
        if not its:
            raise SettingError(
                f"the group '{candidate.name}' holds no parent of both ends of a pair, or one of these ends: it "
                "cannot play their hidden cause; leave it out, or add the missing arrows to the graph"
            )
    return Benchmarks(tuple(one for its in measured for one in its), factors, fitted.variables, tuple(asked))


def _candidates(
    graph: CausalGraph, columns: Sequence[Column], groups: Mapping[str, Any], pairs: Sequence[Edge]
) -> list[Candidate]:
    """Name what could play the hidden cause: common parents of a pair, further columns, and groups of either."""
    common = {name for a, b in pairs for name in set(graph.parents(a)) & set(graph.parents(b))}
    candidates = [Candidate(name, (name,), True) for name in graph.nodes if name in common]
    candidates += [Candidate(column.name, (column.name,), False) for column in columns]
    inside = [name for name in graph.nodes if name != graph.outcome]
    candidates += [
        _group(name, members, inside, [c.name for c in columns], candidates) for name, members in groups.items()
    ]
    if not candidates:
        shown = ", ".join(f"{a} <-> {b}" for a, b in pairs)
        raise SettingError(
            f"no observed variable is a parent of both ends of {shown}, so that none could play the hidden cause: "
            "give further columns of the table, such as columns=frame[['age']]"
        )
    return candidates


# ---------------------------------------------------------------- mathematics


def _measure(extended: ExtendedRows, candidate: Candidate, pairs: Sequence[Edge]) -> list[Benchmark]:
    """Split the errors of the variables that a candidate causes, and compare them pair by pair."""
    graph = extended.graph
    concerned = [pair for pair in pairs if _could_confound(graph, candidate, pair)]
    variables = sorted({name for pair in concerned for name in pair}, key=graph.nodes.index)
    effects = _effects(graph, candidate)
    splits = [split(extended, name, _members_of(graph, candidate, name), effects) for name in variables]
    if not splits:
        return []
    ends_of = {pair: (variables.index(pair[0]), variables.index(pair[1])) for pair in concerned}
    M = second_moments(extended.rows, splits, ends_of.values())
    latent = [name for name, one in zip(variables, splits, strict=True) if one.is_latent]
    found = [_benchmark(candidate, pair, M, ends) for pair, ends in ends_of.items()]
    return [_with_latent(one, latent, graph.protected) for one in found]


def _with_latent(benchmark: Benchmark, latent: Sequence[str], protected: str) -> Benchmark:
    """Name the ends of the pair whose errors are latent."""
    ends = tuple(name for name in benchmark.pair if name in latent)
    return replace(benchmark, latent=protected if protected in ends else None, latent_ends=ends)


def _benchmark(candidate: Candidate, pair: Edge, M: Array, both: tuple[int, int]) -> Benchmark:
    """Read one pair off the second moments of all c and e."""
    q, ends = M.shape[0] // 2, list(both)
    c, e = M[np.ix_(ends, ends)], M[np.ix_([j + q for j in ends], [j + q for j in ends])]
    cross = M[np.ix_(ends, [j + q for j in ends])]
    var_c, var_e = np.diag(c), np.diag(e)
    for name, variance in zip(pair, var_e, strict=True):
        if variance < EXACT:
            raise determined(candidate.name, name)
    is_felt = bool((var_c > NOTHING).all())
    first, second = (var_c / (var_c + var_e)).tolist()
    return Benchmark(
        name=candidate.name,
        members=candidate.members,
        pair=pair,
        in_model=candidate.in_model,
        r2_first=first,
        r2_second=second,
        alignment=_correlation(c) if is_felt else 0.0,
        errors_with=_correlation(e),
        errors_without=_correlation(c + e + cross + cross.T),
    )


def _correlation(V: Array) -> float:
    return float(np.clip(V[0, 1] / np.sqrt(V[0, 0] * V[1, 1]), -1, 1))  # estimates and rounding may lie beyond


def _could_confound(graph: CausalGraph, candidate: Candidate, pair: Edge) -> bool:
    """Whether a candidate enters both equations of a pair and is not an end of it."""
    return not set(pair) & set(candidate.members) and all(_members_of(graph, candidate, name) for name in pair)


def _members_of(graph: CausalGraph, candidate: Candidate, variable: str) -> tuple[str, ...]:
    """Give the part of a candidate that enters a variable's equation: all of it where the graph does not know it."""
    if not candidate.in_model:
        return candidate.members
    return tuple(name for name in candidate.members if name in graph.parents(variable))


def _effects(graph: CausalGraph, candidate: Candidate) -> set[str]:
    """Give what a candidate causes: by the graph, or every variable of a pair and what it causes in turn."""
    if candidate.in_model:
        return {effect for name in candidate.members for effect in graph.descendants(name)}
    touched = {name for pair in graph.pairs for name in pair}
    return touched | {effect for name in touched for effect in graph.descendants(name)}


# ---------------------------------------------------------------- checks


def _read_pairs(pairs: Any, graph: CausalGraph) -> list[Edge]:
    """Check the pairs that are asked for: pairs that the graph names; all of these without any."""
    if pairs is None:
        if not graph.pairs:
            raise SettingError("the graph names no pair: add '<->' between two variables to the graph")
        return list(graph.pairs)
    listed = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, str) else []
    if not listed or not all(isinstance(pair, tuple | list) for pair in listed):
        raise SettingError(f"pairs is {pairs!r}: give a list of pairs, such as [('ugpa', 'lsat')]")
    positions = [read_pair(pair, graph, graph.nodes) for pair in listed]
    return [(graph.nodes[j], graph.nodes[k]) for j, k in dict.fromkeys(positions)]


def _read_multiples(multiples: Any) -> tuple[float, ...]:
    try:
        factors = tuple(float(k) for k in multiples)
    except (TypeError, ValueError):
        factors = ()
    if not factors or not all(np.isfinite(k) and k > 0 for k in factors):
        raise SettingError(f"multiples is {multiples!r}: give a list of positive numbers, such as (1, 2, 3)")
    return factors


def _read_groups(groups: Any) -> Mapping[str, Any]:
    if groups is not None and not isinstance(groups, Mapping):
        raise SettingError(f"groups is {groups!r}: give a dict of names and lists of variables")
    return groups or {}


def _group(
    name: str, members: Any, inside: Sequence[str], outside: Sequence[str], known: Sequence[Candidate]
) -> Candidate:
    """Check a group of variables: all in the graph, or all among the further columns."""
    listed = (members,) if isinstance(members, str) or not isinstance(members, Iterable) else tuple(members)
    if name in {candidate.name for candidate in known} or not listed:
        raise SettingError(f"groups has {name!r}: {members!r}: give a name of its own and at least one variable")
    for member in listed:
        if member not in (*inside, *outside):
            near = did_you_mean(str(member), [*inside, *outside])
            raise SettingError(f"the group '{name}' names '{member}', neither in the graph nor in columns{near}")
    in_model = {member in inside for member in listed}
    if len(in_model) == 2:
        raise SettingError(
            f"the group '{name}' mixes variables of the graph with further columns, whose errors differ: make it two"
        )
    return Candidate(name, listed, in_model.pop())
