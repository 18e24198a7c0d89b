"""Which likelihood a design has: Gaussian, with a threshold for a two-valued attribute, or mixed; made from rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairstress.errors import DataError
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import Design, Equation, column_penalties, structural_moments
from fairstress.model.fit import System
from fairstress.model.mixed import MixedSystem
from fairstress.model.threshold import ThresholdSystem

Likelihood = System | ThresholdSystem | MixedSystem


def make_system(
    design: Design,
    rows: Rows,
    penalty: float,
    *,
    penalise_constant: bool,
    own: Mapping[str, float] | None = None,
    pairs: Sequence[tuple[int, int]] = (),
) -> Likelihood:
    """Gather what fits need to know from the rows; the protected attribute joins in where it has an equation.

    ``own`` has the penalties of features that do not share the others', ``pairs`` the positions in P that may differ
    from 0.
    """
    penalties = design.penalties(penalty, penalise_constant=penalise_constant, own=own)
    protected = design.protected
    if not design.is_plain:
        _check_held(design, rows)
        behind = np.zeros(0) if protected is None else _protected_penalties(protected, penalty, penalise_constant)
        return MixedSystem.of(design, rows, penalties, behind, pairs)
    if protected is None or protected.law.is_ordered:
        features = System(structural_moments(rows, design.equations), design.feature_of, penalties)
        return features if protected is None else ThresholdSystem(features, design, rows, tuple(pairs))
    behind = _protected_penalties(protected, penalty, penalise_constant)
    feature_of = np.concatenate([design.feature_of + 1, np.zeros(behind.size, dtype=np.intp)])
    moments = structural_moments(rows, design.equations, protected)
    return System(moments, feature_of, np.concatenate([penalties, behind]))


def _check_held(design: Design, rows: Rows) -> None:
    """Refuse errors that are seen in intervals, or by group, where rows are not in memory."""
    if rows.whole is not None:
        latent = next(e.feature for e in (*design.equations, design.protected) if e and not e.law.is_plain)
        raise DataError(
            f"the data are not in memory, and '{latent}' is no plain number: round the numbers beside it so that rows "
            "repeat and can be counted, give it the kind 'number', or audit a sample in memory"
        )


def _protected_penalties(protected: Equation, penalty: float, penalise_constant: bool) -> Array:
    """The penalties of the protected attribute's weights: none behind a threshold."""
    if protected.law.is_ordered:
        return np.zeros(len(protected.embedding.terms))
    return column_penalties(protected.embedding, penalty, penalise_constant=penalise_constant)


def without_penalty(system: Likelihood) -> Likelihood:
    """A system with the same moments and penalty 0."""
    if isinstance(system, MixedSystem):
        return system.without_penalty()
    if isinstance(system, ThresholdSystem):
        return replace(system, features=replace(system.features, penalties=np.zeros_like(system.features.penalties)))
    return replace(system, penalties=np.zeros_like(system.penalties))


def equations_alone(system: Likelihood, design: Design) -> Iterator[tuple[Equation, System]]:
    """Each equation, the protected attribute's too if it is fitted by least squares, with its own system."""
    if isinstance(system, System) and design.protected is not None:
        equations = (design.protected, *design.equations)
        yield from ((equation, system.equation(j)) for j, equation in enumerate(equations))
    else:
        features = system if isinstance(system, System) else system.features
        yield from ((equation, features.equation(j)) for j, equation in enumerate(design.equations))


def system_of_batch(system: Likelihood, design: Design, rows: Rows, share: float) -> Likelihood:
    """The system of some of the rows, the penalty scaled by their share."""
    if isinstance(system, MixedSystem):
        return system.of_rows(design, rows, share)
    if isinstance(system, ThresholdSystem):
        moments = structural_moments(rows, design.equations)
        features = System(moments, system.features.feature_of, share * system.features.penalties)
        return ThresholdSystem(features, design, rows, system.pairs)
    moments = structural_moments(rows, design.equations, design.protected)
    return System(moments, system.feature_of, share * system.penalties)
