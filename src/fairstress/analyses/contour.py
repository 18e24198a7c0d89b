"""CFU over a grid of two pairs' correlations: a map of what two hidden causes do together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.tabular import Shown
from fairstress.arguments import is_list, is_positive
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Context
from fairstress.claim.evaluate import evaluate_many
from fairstress.errors import SettingError, show
from fairstress.functionals.cfu import CFU
from fairstress.inputs.correlation import check_correlation, read_pair
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array
from fairstress.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = 128  # correlations between two reports of progress


@dataclass(frozen=True, slots=True, eq=False)
class Contour(Shown):
    """CFU for each correlation of two pairs, the others held. Made by `Audit.contour`.

    Where the smallest eigenvalue of P lies below ``floor`` nothing is fitted and CFU is missing.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> found = audit.contour(("a", "x"), ("x", "z"), [-0.8, 0, 0.8])
    >>> print(found.to_frame()[["a <-> x", "x <-> z", "cfu"]].round(3).to_string(index=False))
     a <-> x  x <-> z   cfu
        -0.8     -0.8   NaN
         0.0     -0.8 0.000
         0.8     -0.8   NaN
        -0.8      0.0 7.258
         0.0      0.0 0.000
         0.8      0.0 7.088
        -0.8      0.8   NaN
         0.0      0.8 0.000
         0.8      0.8   NaN
    >>> found.is_feasible.astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    """

    first: Edge  # the pair along the columns
    second: Edge  # the pair along the rows
    grid_first: Array  # (g,)
    grid_second: Array  # (h,)
    cfu: Array  # (h, g) squared units of the outcome, NaN outside the budget
    log_likelihood: Array  # (h, g) of Model B
    smallest_eigenvalue: Array  # (h, g) of P
    status: tuple[str, ...]  # (h * g,) how each fit ended, row by row; empty where nothing is fitted
    floor: float  # least eigenvalue
    has_model_a: bool  # whether the other pairs are at 0, so that Model A stands where both correlations are 0
    context: Context  # what CFU is compared with

    @property
    def is_feasible(self) -> Array:
        """(h, g) whether the errors can have these correlations, within the floor."""
        return np.asarray(self.smallest_eigenvalue >= self.floor)

    def to_frame(self) -> pd.DataFrame:
        """One row per point of the grid, with a column per pair."""
        first, second = np.meshgrid(self.grid_first, self.grid_second)
        return pd.DataFrame(
            {
                " <-> ".join(self.first): first.ravel(),
                " <-> ".join(self.second): second.ravel(),
                "cfu": self.cfu.ravel(),
                "log_likelihood": self.log_likelihood.ravel(),
                "min_eigenvalue": self.smallest_eigenvalue.ravel(),
                "feasible": self.is_feasible.ravel(),
                "status": list(self.status),
            }
        )

    def plot(self, ax: Axes | None = None, *, baselines: bool = True) -> Axes:
        """Draw CFU as a map, the correlations that the errors cannot have hatched, and where baselines are reached.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        baselines
            Whether to draw where the baselines' unfairness is reached, default True.
        """
        from fairstress.report.plots.contours import plot_contour

        return plot_contour(self, ax, baselines=baselines)

    def __repr__(self) -> str:
        first, second = " <-> ".join(self.first), " <-> ".join(self.second)
        size = f"{self.grid_first.size} by {self.grid_second.size} correlations"
        return f"<Contour of {first} and {second}: {size}, CFU up to {np.nanmax(self.cfu):.4g}; to_frame() has them>"


def read_axis(grid: Iterable[float] | None) -> list[float]:
    """Check one side of the grid, in rising order; 31 points from -0.9 to 0.9 without one."""
    if grid is None:
        return [round(p, 10) + 0.0 for p in np.linspace(-0.9, 0.9, 31).tolist()]
    if not is_list(grid):
        raise SettingError(f"grid is {show(grid)}: give a list of correlations")
    points = sorted({check_correlation(p, "the grid") for p in grid})
    if len(points) < 2:
        raise SettingError(f"the grid has {len(points)} correlations: give at least two")
    return points


def contour(
    fitted: Fitted, first: Any, second: Any, grid: Any, held: Array, floor: float, progress: Progress | None = None
) -> Contour:
    """Evaluate the claim wherever two pairs' correlations leave P, otherwise as ``held`` (m, m), above the floor."""
    if not (is_positive(floor) and floor < 1):
        raise SettingError(f"min_eigenvalue is {show(floor)}: give a number between 0 and 1")
    graph, names = fitted.graph, fitted.variables
    positions = read_pair(first, graph, names), read_pair(second, graph, names)
    pairs = tuple((names[j], names[k]) for j, k in positions)
    if positions[0] == positions[1]:
        raise SettingError(f"both pairs are {' <-> '.join(pairs[0])}: give two different pairs")
    axis = np.array(read_axis(grid))
    P = _matrices(held, positions, axis)
    smallest: Array = np.asarray(np.linalg.eigvalsh(P)[..., 0], dtype=float)
    cfu, log_likelihood = np.full(smallest.shape, np.nan), np.full(smallest.shape, np.nan)
    status = np.full(smallest.shape, "", dtype=object)
    feasible = np.argwhere(smallest >= floor)
    for start in range(0, len(feasible), STEP):
        some = tuple(feasible[start : start + STEP].T)
        at = evaluate_many(fitted.claim, P[some], CFU(), carried=True)
        cfu[some] = [e.value for e in at]
        log_likelihood[some] = [e.fit.log_likelihood for e in at]
        status[some] = [str(e.fit.status) for e in at]
        if progress:
            progress(min(start + STEP, len(feasible)), len(feasible))
    return Contour(
        first=pairs[0],
        second=pairs[1],
        grid_first=axis,
        grid_second=axis,
        cfu=cfu,
        log_likelihood=log_likelihood,
        smallest_eigenvalue=smallest,
        status=tuple(status.ravel().tolist()),
        floor=floor,
        has_model_a=not np.any(_matrices(held, positions, np.zeros(1)) - np.eye(len(held))),
        context=fitted.context,
    )


def _matrices(held: Array, positions: tuple[tuple[int, int], tuple[int, int]], grid: Array) -> Array:
    """P (h, g, m, m) with the first pair's correlation along g and the second's along h."""
    P = np.broadcast_to(held, (grid.size, grid.size, *held.shape)).copy()
    for (j, k), values in zip(positions, (grid[None, :], grid[:, None]), strict=True):
        P[..., j, k] = P[..., k, j] = values
    return P
