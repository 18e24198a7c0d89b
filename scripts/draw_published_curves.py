"""Draw the paper's two published curves beside what fairstress finds; writes docs/images/published_*.svg.

The NHS survey is read from the folder that FAIRSTRESS_DATA names; it is not part of the project.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import fairstress as fs

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "tests" / "reference"
OURS, PUBLISHED, MAXIMUM = "#0b5c8f", "#1b1b1b", "#a8480f"


def law_school() -> None:
    """CFU along the correlation of ugpa and lsat."""
    published = pd.read_csv(REFERENCE / "published_law_school_curve.csv")
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    settings = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous"}
    audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", **settings)
    found = audit.profile(("ugpa", "lsat")).to_frame()
    fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(published.iloc[:, 0], published.iloc[:, 1], "o", ms=4, color=PUBLISHED, label="published")
    inside = found[found["cfu"] > 0]
    ax.plot(inside["correlation"], inside["cfu"], color=OURS, label=f"fairstress, penalty {audit.settings.penalty:.0f}")
    ax.axhline(1e-9, color=MAXIMUM, ls="--", label="fairstress, penalty 0: exactly 0")
    ax.set(yscale="log", ylim=(5e-10, 1e-2), xlabel="correlation of the errors of ugpa and lsat", ylabel="CFU")
    ax.legend(frameon=False)
    save(fig, "published_law_school.svg")


def nhs(folder: Path) -> None:
    """The published worst case, and the worst case."""
    published = pd.read_csv(REFERENCE / "published_nhs_curve.csv")
    graph = fs.CausalGraph.parse(
        "race -> org_sat, manager_sat, job_sat; org_sat -> manager_sat, job_sat; manager_sat -> job_sat; "
        "org_sat <-> manager_sat <-> job_sat; org_sat <-> job_sat",
        protected="race",
        outcome="health",
    )
    data = fs.datasets.nhs_staff_survey(folder / "nhs_staff_survey.npz")
    settings = {"penalise_constant": True, "penalties": np.logspace(-3, 3, 8), "cv": "contiguous"}
    audit = fs.Audit.fit(data, graph, random_state=0, **settings)
    grid = np.linspace(0.04, 0.92, 23)
    fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(published.iloc[:, 0], published.iloc[:, 1], "o", ms=4, color=PUBLISHED, label="published")
    equal = [audit.cfu(np.full((3, 3), p) + (1 - p) * np.eye(3)) for p in grid]
    ax.plot(grid, equal, color=OURS, label="fairstress, all correlations equal to p_max")
    worst = audit.curve(grid).to_frame()
    ax.plot(
        worst["p_max"], worst["cfu"], color=MAXIMUM, label="fairstress, the largest within p_max (eigenvalues >= 0.05)"
    )
    ax.set(yscale="log", ylim=(1e-9, 1e-3), xlabel="p_max", ylabel="CFU")
    ax.legend(frameon=False, fontsize=9)
    save(fig, "published_nhs.svg")
    print(worst[["p_max", "cfu"]].to_string())


def save(fig: plt.Figure, name: str) -> None:
    """Write a picture that is the same each time."""
    fig.savefig(ROOT / "docs" / "images" / name, metadata={"Date": None})
    plt.close(fig)


def main() -> None:
    """Draw both, or the first where the survey is missing."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "fairstress"
    law_school()
    folder = os.environ.get("FAIRSTRESS_DATA")
    if folder:
        nhs(Path(folder))


if __name__ == "__main__":
    main()
