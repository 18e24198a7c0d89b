"""The examples run, and print what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def numbers_after(text: str, printed: str, count: int = 1) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.?\d*", printed[printed.index(text) + len(text) :])[:count]]


def test_college_grades(printed_by):
    printed = " ".join(printed_by("gpa2").split())
    on_residuals, blind, full = (
        numbers_after(f" {name} ", printed)[0] for name in ("on residuals", "without race", "with race")
    )
    assert full < blind < on_residuals == 0.555
    assert "hsperc <-> sat cannot matter" in printed
    assert "race <-> sat moves CFU" in printed
    assert numbers_after("least eigenvalue 0.05 is", printed)[0] == pytest.approx(0.0014, abs=5e-5)
    assert numbers_after("Effect of race on SAT:", printed, 3) == [-142, -169, -114]


def test_loan_applications(printed_by):
    printed = " ".join(printed_by("loanapp").split())
    on_residuals, blind, full = (
        numbers_after(f" {name} ", printed)[0] for name in ("on residuals", "without race", "with race")
    )
    assert full < blind < on_residuals == 0.304
    assert numbers_after("race Black or Hispanic", printed, 2) == [0.708, 0.867]
    assert numbers_after("White", printed, 2) == [0.908, 0.876]
    assert "predictions are probabilities of 1" in printed
    assert "cons: ordered, 6 levels" in printed
    assert numbers_after("CFU under Model A is", printed)[0] == pytest.approx(0.00105, abs=5e-6)
    assert numbers_after("The worst case reaches 0.001641 at p_max =", printed)[0] == pytest.approx(0.0966, abs=1e-3)


def test_every_example_is_in_the_gallery_and_none_else():
    gallery = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"(?m)^python examples/(\w+)\.py$", gallery)
    assert sorted(shown) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
