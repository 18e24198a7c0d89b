"""How far fairstress is from R's programs on the questions that ``tests/reference/values.R`` asks them.

Usage: python studies/r_programs.py

Compares with the stored values, which ``make reference-r`` makes anew, and writes ``evidence/r_programs.json``, from
which ``docs/reliability.md`` is made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reference"))
sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from against_r import (
    MEDSENS,
    STORED,
    Differences,
    audit_of,
    effect_apart,
    equations_apart,
    full_curve,
    levels_apart,
    levels_audit,
    levels_likelihood_apart,
    mediation_audit,
    medsens_curve,
    partial_curve,
)
from reliability import store


def largest_of(found: Iterable[Differences]) -> float:
    """The largest of all differences."""
    return max(difference for one in found for difference in one.values())


def structural_equations() -> list[Differences]:
    """Model B beside lavaan, at every stored correlation."""
    cases = STORED["structural_equations"].values()
    return [equations_apart(audit, point) for case in cases for audit in [audit_of(case)] for point in case["points"]]


def mediation() -> tuple[float, float]:
    """Bounds of effects beside the curves: the formula's and lavaan's, and those of medsens."""
    audit = mediation_audit()
    exact = [effect_apart(audit, "indirect", partial_curve(program)) for program in ("closed_form", "lavaan")]
    exact.append(effect_apart(mediation_audit("full"), "indirect", full_curve()))
    medsens = [effect_apart(audit, kind, medsens_curve(kind)) for kind in ("indirect", "direct")]
    return max(exact), max(medsens)


def levels() -> list[Differences]:
    """Equations of features with levels beside glm and clm, and their likelihood."""
    audit = levels_audit()
    likelihood = {"log likelihood": levels_likelihood_apart(audit)}
    return [levels_apart(audit, feature) for feature in STORED["probits"]["features"]] + [likelihood]


if __name__ == "__main__":
    equations, (curve, medsens), probits = structural_equations(), mediation(), levels()
    outcome = (
        f"largest differences of numbers of size 1: structural equations {largest_of(equations):.0e}, probits "
        f"{largest_of(probits):.0e}, bounds of effects {curve:.0e}; from medsens, which stops earlier, {medsens:.0e}"
    )
    print(outcome)
    programs = {**STORED["programs"], **MEDSENS["programs"]}
    listed = [f"{name} {version}" for name, version in programs.items()]
    store(
        "r_programs",
        "make reference-r",
        title=f"Programs in {listed[0]}: {', '.join(listed[1:])}, glm",
        tried=f"{len(equations)} models with given error correlations; bounds of an indirect and a direct effect "
        f"against curves over {len(MEDSENS['rho'])} correlations; an ordered and a two-valued feature",
        outcome=outcome,
        programs=programs,
    )
