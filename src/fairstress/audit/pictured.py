"""A fitted claim with what its pictures need: who is affected, two pairs at once, the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstress.audit.fitted import Correlation, Fitted
from fairstress.inputs.correlation import read_pair
from fairstress.inputs.notation import Edge
from fairstress.sensitivity.contour import Contour, contour, read_axis
from fairstress.sensitivity.profile import Progress
from fairstress.sensitivity.spread import Spread, spread
from fairstress.threads import one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Pictured(Fitted):
    """What an audit can show before any budget is named. Pictures need the extra ``plot``."""

    def spread(self, correlation: Correlation) -> Spread:
        """Each person's CFU if the errors have this correlation, by group: a frame, its distribution, a picture."""
        by_row = np.asarray(self.cfu_by_row(correlation), dtype=float)
        return spread(self.table, by_row, self.cfu(correlation), is_squared=bool(np.isfinite(self._yardstick)))

    @one_thread
    def contour(
        self,
        first: tuple[str, str],
        second: tuple[str, str],
        grid: Iterable[float] | None = None,
        *,
        others: Correlation | None = None,
        min_eigenvalue: float = 0.05,
        progress: Progress | None = None,
    ) -> Contour:
        """CFU over a grid of the correlations of two pairs.

        Parameters
        ----------
        first, second
            Two pairs that the graph joins by ``<->``.
        grid
            Correlations of both, strictly between -1 and 1; 31 points from -0.9 to 0.9 without it.
        others
            Correlation of the other pairs; 0 without it.
        min_eigenvalue
            Where the smallest eigenvalue of P lies below this, nothing is fitted.
        progress
            Called with (steps done, steps in all).
        """
        positions = read_pair(first, self.graph, self.variables), read_pair(second, self.graph, self.variables)
        held = self._read({} if others is None else others)
        pairs = self._named(positions[0]), self._named(positions[1])
        return contour(self.claim, pairs, positions, held, read_axis(grid), min_eigenvalue, self._context, progress)

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw the causal graph: arrows, dashed where called fair; dotted arcs between errors that may be correlated.

        The frame behind it is ``graph.to_frame()``.
        """
        from fairstress.report.graphs import plot_graph

        return plot_graph(self.graph, ax)

    def plot_people(self, correlation: Correlation, ax: Axes | None = None) -> Axes:
        """Draw how CFU is spread over people, by group; the numbers are those of `spread`."""
        return self.spread(correlation).plot(ax)

    def plot_contour(
        self,
        first: tuple[str, str],
        second: tuple[str, str],
        grid: Iterable[float] | None = None,
        *,
        others: Correlation | None = None,
        min_eigenvalue: float = 0.05,
        baselines: bool = True,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw CFU over the correlations of two pairs; arguments and numbers are those of `contour`."""
        found = self.contour(first, second, grid, others=others, min_eigenvalue=min_eigenvalue)
        return found.plot(ax, baselines=baselines)

    def _named(self, position: tuple[int, int]) -> Edge:
        return self.variables[position[0]], self.variables[position[1]]
