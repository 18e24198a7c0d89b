"""Draw the pictures of the gallery from the examples' own audits; writes docs/images/gallery_*.svg."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import fairstress as fs

ROOT = Path(__file__).parents[1]


def audit(example: str, people: str, own: int) -> fs.Audit:
    """The audit that an example makes: of the table at a position of what its function of people gives."""
    names = runpy.run_path(str(ROOT / "examples" / f"{example}.py"))
    found: fs.Audit = names["fitted"](names[people]()[own]).audit_
    return found


def save(ax: Axes, name: str) -> None:
    """Write a picture that is the same whenever it is drawn."""
    ax.figure.savefig(ROOT / "docs" / "images" / f"gallery_{name}.svg", metadata={"Date": None})
    plt.close(ax.figure)


def main() -> None:
    """Draw a curve for each textbook table."""
    mpl.rcParams["svg.hashsalt"] = "fairstress"
    save(audit("gpa2", "students", 0).curve(np.linspace(0, 0.3, 7)).plot(), "gpa2")
    save(audit("loanapp", "applications", 1).profile(("race", "cons"), np.linspace(-0.6, 0.6, 61)).plot(), "loanapp")


if __name__ == "__main__":
    main()
