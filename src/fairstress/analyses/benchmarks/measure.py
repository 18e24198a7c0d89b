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
from fairstress.analyses.check import absorbed
from fairstress.arguments import as_float, is_list
from fairstress.claim.build import Fitted
from fairstress.errors import SettingError, did_you_mean, show
from fairstress.inputs.columns import Column, named_columns, other_columns, read_columns
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.data import Table
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array

ALL = "all"  # pairs, those too that cannot matter
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
    pairs: Iterable[Edge] | str | None = None,
    multiples: Sequence[float] = (1, 2, 3),
) -> Benchmarks:
    """Measure every candidate on every pair that it could confound; see `Audit.benchmarks`."""
    graph = fitted.graph
    asked = _read_pairs(pairs, graph)
    harmless = absorbed(fitted) if pairs is None else ()
    if len(harmless) == len(asked):
        raise SettingError(
            f"it is proved that no hidden cause of {_shown(asked)} can matter, as check() says, so that there is "
            "nothing to compare; pairs='all' measures benchmarks nonetheless"
        )
    factors = _read_multiples(multiples)
    further, skipped = _read_further(columns, fitted.table)
    candidates = _candidates(graph, further, _read_groups(groups), asked, skipped)
    found: list[Benchmark] = []
    for candidate in candidates:
        try:
            its = _measure(_extended(fitted, further, candidate), candidate, asked)
        except SettingError as problem:
            if columns is not None or candidate.in_model:
                raise
            skipped[candidate.name] = str(problem).partition(":")[0]
            continue
        if not its:
            raise SettingError(
                f"the group '{candidate.name}' holds no parent of both ends of a pair, or one of these ends: it "
                "cannot play their hidden cause; leave it out, or add the missing arrows to the graph"
            )
        found += its
    shown = tuple(one for one in found if one.pair not in harmless)
    hidden = tuple(one for one in found if one.pair in harmless)
    return Benchmarks(shown, factors, fitted.variables, tuple(asked), hidden, skipped, columns is not None)


def _extended(fitted: Fitted, columns: Sequence[Column], candidate: Candidate) -> ExtendedRows:
    """The audited rows with the columns that a candidate stands for: the fewer, the more rows are alike."""
    design = fitted.claim.design
    equations = (*design.equations, *([design.protected] if design.protected else []))
    degrees = {e.feature: e.degree for e in equations}
    own = [column for column in columns if column.name in candidate.members]
    return ExtendedRows.of(fitted.table, own, degrees, fitted.settings.embedding)


def _read_further(columns: Any, table: Table) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Code further columns: all that the table has besides, some by name, or those of another table."""
    if columns is None:
        return other_columns(table)
    if isinstance(columns, str):
        raise SettingError(f"columns is {show(columns)}: give a list of names, such as [{show(columns)}], or a table")
    if isinstance(columns, list | tuple):
        names = [str(name) for name in columns]
        return (named_columns(names, table) if names else ()), {}
    return read_columns(columns, table), {}


def _shown(pairs: Sequence[Edge]) -> str:
    return ", ".join(f"{a} <-> {b}" for a, b in pairs)


def _candidates(
    graph: CausalGraph,
    columns: Sequence[Column],
    groups: Mapping[str, Any],
    pairs: Sequence[Edge],
    skipped: Mapping[str, str],
) -> list[Candidate]:
    """Name what could play the hidden cause: common parents of a pair, further columns, and groups of either."""
    common = {name for pair in pairs for name in _common(graph, pair)}
    candidates = [Candidate(name, (name,), True) for name in graph.nodes if name in common]
    candidates += [Candidate(column.name, (column.name,), False) for column in columns]
    inside = [name for name in graph.nodes if name != graph.outcome]
    candidates += [
        _group(name, members, inside, [c.name for c in columns], candidates) for name, members in groups.items()
    ]
    if not candidates:
        why = "".join(f"; {reason}" for reason in skipped.values())
        raise SettingError(
            f"no observed variable is a parent of both ends of {_shown(pairs)}, so that none could play the hidden "
            f"cause{why}: give further columns of the table, such as columns=frame[['age']]"
        )
    return candidates


def _common(graph: CausalGraph, pair: Edge) -> set[str]:
    """Parents of both ends of a pair.

    Of a pair with the protected attribute: parents of the feature that the attribute does not cause; they play a cause
    of the attribute too, although the graph has no such edge.
    """
    own = graph.protected
    if own not in pair:
        return set(graph.parents(pair[0])) & set(graph.parents(pair[1]))
    feature = pair[0] if pair[1] == own else pair[1]
    return set(graph.parents(feature)) - {own, *graph.descendants(own)}


# ---------------------------------------------------------------- mathematics


def _measure(extended: ExtendedRows, candidate: Candidate, pairs: Sequence[Edge]) -> list[Benchmark]:
    """Split the errors of the variables that a candidate causes, and compare them pair by pair."""
    graph = extended.graph
    concerned = [pair for pair in pairs if _could_confound(graph, candidate, pair)]
    variables = sorted({name for pair in concerned for name in pair}, key=graph.nodes.index)
    effects = _effects(graph, candidate)
    effects |= {effect for name in variables for effect in (name, *graph.descendants(name))}
    splits = [split(extended, name, _members_of(graph, candidate, name), effects) for name in variables]
    if not splits:
        return []
    ends_of = {pair: (variables.index(pair[0]), variables.index(pair[1])) for pair in concerned}
    M = second_moments(extended.rows, splits, ends_of.values())
    latent = [name for name, one in zip(variables, splits, strict=True) if one.is_latent]
    found = [
        replace(_benchmark(candidate, pair, M, ends), inside=_inside(graph, candidate, pair))
        for pair, ends in ends_of.items()
    ]
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


def _inside(graph: CausalGraph, candidate: Candidate, pair: Edge) -> tuple[bool, bool]:
    """Whether the audit's equations of the two ends have a candidate."""
    first, second = (bool(set(candidate.members) & set(graph.parents(name))) for name in pair)
    return first, second


def _could_confound(graph: CausalGraph, candidate: Candidate, pair: Edge) -> bool:
    """Whether a candidate enters both equations of a pair and is not an end of it."""
    if candidate.in_model and len(candidate.members) == 1:
        return candidate.name in _common(graph, pair)
    return not set(pair) & set(candidate.members) and all(_members_of(graph, candidate, name) for name in pair)


def _members_of(graph: CausalGraph, candidate: Candidate, variable: str) -> tuple[str, ...]:
    """Give the part of a candidate that enters a variable's equation: all of it where the graph does not know it."""
    if not candidate.in_model or len(candidate.members) == 1:
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
    if pairs is None or (isinstance(pairs, str) and pairs == ALL):
        if not graph.pairs:
            raise SettingError("the graph names no pair: add '<->' between two variables to the graph")
        return list(graph.pairs)
    listed = list(pairs) if is_list(pairs) else []
    if not listed or not all(isinstance(pair, tuple | list) for pair in listed):
        raise SettingError(f"pairs is {show(pairs)}: give a list of pairs, such as [('ugpa', 'lsat')]")
    positions = [read_pair(pair, graph, graph.nodes) for pair in listed]
    return [(graph.nodes[j], graph.nodes[k]) for j, k in dict.fromkeys(positions)]


def _read_multiples(multiples: Any) -> tuple[float, ...]:
    factors = tuple(as_float(k) for k in multiples) if is_list(multiples) else ()
    if not factors or not all(np.isfinite(k) and k > 0 for k in factors):
        raise SettingError(f"multiples is {show(multiples)}: give a list of positive numbers, such as (1, 2, 3)")
    return factors


def _read_groups(groups: Any) -> Mapping[str, Any]:
    if groups is not None and not isinstance(groups, Mapping):
        raise SettingError(f"groups is {show(groups)}: give a dict of names and lists of variables")
    return groups or {}


def _group(
    name: str, members: Any, inside: Sequence[str], outside: Sequence[str], known: Sequence[Candidate]
) -> Candidate:
    """Check a group of variables: all in the graph, or all among the further columns."""
    listed = tuple(members) if is_list(members) else (members,)
    if name in {candidate.name for candidate in known} or not listed:
        raise SettingError(
            f"groups has {show(name)}: {show(members)}: give a name of its own and at least one variable"
        )
    for member in listed:
        if not isinstance(member, str) or member not in (*inside, *outside):
            near = did_you_mean(member, [*inside, *outside])
            raise SettingError(f"the group '{name}' names {show(member)}, neither in the graph nor in columns{near}")
    in_model = {member in inside for member in listed}
    if len(in_model) == 2:
        raise SettingError(
            f"the group '{name}' mixes variables of the graph with further columns, whose errors differ: make it two"
        )
    return Candidate(name, listed, in_model.pop())
