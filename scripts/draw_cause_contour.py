"""Draw what one hidden cause can do to the law-school predictor; writes docs/images/cause_contour.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

import fairstress as fs

ROOT = Path(__file__).parents[1]
PAIRS = "race <-> ugpa; race <-> lsat; ugpa <-> lsat"


def main() -> None:
    """Draw the contour for the settings of the paper, the same whenever it is drawn."""
    mpl.rcParams["svg.hashsalt"] = "fairstress"
    graph = fs.CausalGraph.parse(f"race -> ugpa, lsat; ugpa -> lsat; {PAIRS}", protected="race", outcome="zfya")
    paper = {"cv": "contiguous", "max_degree": 4, "penalise_constant": True}
    audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", random_state=0, **paper)
    ax = audit.cause_contour().plot()
    ax.figure.savefig(ROOT / "docs" / "images" / "cause_contour.svg", metadata={"Date": None})
    plt.close(ax.figure)


if __name__ == "__main__":
    main()
