"""Tool 1: CFU along a grid of correlations of one pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.bands.estimate import estimate_at
from fairstress.analyses.bands.limits import Estimate
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.imputation import between_tables
from fairstress.analyses.tabular import Tabular
from fairstress.arguments import is_list
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim, Context
from fairstress.claim.evaluate import Evaluation, evaluate_many
from fairstress.errors import SettingError, Status, show
from fairstress.functionals.cfu import CFU
from fairstress.inputs.correlation import check_correlation, pair_matrix, read_pair
from fairstress.inputs.notation import Edge
from fairstress.inputs.rows import Array
from fairstress.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.analyses.benchmarks.result import Benchmarks
    from fairstress.report.text.markup import Sheet

COARSER = 25  # points of the default grid where people have several worlds
COARSEST = 13  # the same where CFU has no derivative either
STEP = 67  # correlations between two reports of progress; 201 are three times as many


@dataclass(frozen=True, slots=True, eq=False)
class Profile(Tabular):
    """CFU of the audited predictor for each correlation of one pair, all other pairs at 0.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> profile = audit.profile(("a", "x"), [-0.3, 0, 0.3])
    >>> print(profile.to_frame()[["correlation", "cfu", "log_likelihood"]].round(3).to_string(index=False))
     correlation   cfu  log_likelihood
            -0.3 0.628        -968.425
             0.0 0.000        -968.415
             0.3 0.628        -968.290
    >>> correlation, cfu = profile.worst
    >>> correlation
    -0.3
    >>> profile.shows_penalty_only
    False
    """

    pair: Edge  # whose correlation varies
    correlation: Array  # (g,)
    cfu: Array  # (g,) squared units of the outcome
    cfu_unpenalised: Array | None  # (g,) with structural penalty 0; None where that has no fit, or takes long
    log_likelihood: Array  # (g,) of Model B
    log_likelihood_unpenalised: Array | None  # (g,)
    status: tuple[Status, ...]  # how each fit ended
    context: Context  # what CFU is compared with
    reflects_threshold: bool = False  # whether the likelihood rests on the thresholds of an attribute with levels too
    protected_levels: int = 0  # of a protected attribute seen through thresholds
    imputation_deviation: Array | None = None  # (len,) of CFU between completed tables, where there are several
    estimates: tuple[Estimate, ...] | None = None  # CFU with its limits at each correlation, where replicates are drawn

    @property
    def worst(self) -> tuple[float, float]:
        """The correlation with the largest CFU, and that CFU."""
        i = int(self.cfu.argmax())
        return float(self.correlation[i]), float(self.cfu[i])

    @property
    def shows_penalty_only(self) -> bool:
        """Whether the curve moves at the chosen penalty, but not at penalty 0."""
        if self.cfu_unpenalised is None or self.context.penalty == 0:
            return False
        return self.is_rounding(self.cfu_unpenalised.max()) and not self.is_rounding(self.cfu.max())

    @property
    def is_absorbed(self) -> bool:
        """Whether neither CFU nor the likelihood moves at penalty 0: Model B's equations absorb the correlation."""
        if self.cfu_unpenalised is None or self.log_likelihood_unpenalised is None:
            return False
        flat = np.ptp(self.log_likelihood_unpenalised) <= 1e-6 * np.abs(self.log_likelihood_unpenalised).max()
        return bool(flat) and self.is_rounding(self.cfu_unpenalised.max())

    def is_rounding(self, cfu: float) -> bool:
        """Whether a CFU is what an exact zero looks like after rounding.

        Parameters
        ----------
        cfu
            A CFU of this audit.
        """
        return bool(cfu <= self.context.negligible)

    def to_frame(self) -> pd.DataFrame:
        """One row per correlation."""
        return pd.DataFrame(
            {
                "correlation": self.correlation,
                "cfu": self.cfu,
                "cfu_unpenalised": np.nan if self.cfu_unpenalised is None else self.cfu_unpenalised,
                "log_likelihood": self.log_likelihood,
                "status": [str(s) for s in self.status],
                **({} if (d := self.imputation_deviation) is None else {"imputation_deviation": d}),
                **({} if (e := self.estimates) is None else {"upper": [one.upper for one in e]}),
                **({} if e is None else {"standard_error": [one.standard_error for one in e]}),
            }
        )

    def summary(self) -> str:
        """Say in prose what the profile shows."""
        from fairstress.report.text.results import profile_summary

        return profile_summary(self)

    def plot(self, ax: Axes | None = None, *, baselines: bool = True, benchmarks: Benchmarks | None = None) -> Axes:
        """Draw CFU over the correlation; dashed, at penalty 0. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        baselines
            Whether to draw the baselines' unfairness, default True.
        benchmarks
            Observed variables to mark, from `Audit.benchmarks`; default none.
        """
        from fairstress.report.plots.curves import plot_profile

        return plot_profile(self, ax, baselines=baselines, benchmarks=benchmarks)

    def __repr__(self) -> str:
        correlation, cfu = self.worst
        pair, worst = " <-> ".join(self.pair), f"up to {cfu:.4g} at {correlation:g}"
        return f"<Profile of {pair} at {self.correlation.size} correlations: {worst}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import profile_table

        return profile_table(self)


def read_grid(grid: Iterable[float] | None, claim: Claim) -> list[float]:
    """Check a grid of correlations; without one, 201 points from -0.99 to 0.99, fewer where each takes long."""
    if grid is None and claim.takes_long:
        grid = (np.linspace(-0.9, 0.9, COARSEST if claim.is_slow else COARSER).round(10) + 0.0).tolist()
    if grid is None:
        return [round(p, 10) + 0.0 for p in np.linspace(-0.99, 0.99, 201).tolist()]
    if not is_list(grid):
        raise SettingError(f"grid is {show(grid)}: give a list of correlations")
    points = [check_correlation(p, "the grid") for p in grid]
    if not points:
        raise SettingError("grid is empty: give at least one correlation")
    return points


def profile(
    fitted: Fitted, pair: Any, grid: Any, progress: Progress | None = None, replicator: Replicator | None = None
) -> Profile:
    """Evaluate the claim, and the same claim without penalty, at each correlation of the grid."""
    claim, unpenalised = fitted.claim, fitted.beside
    position = read_pair(pair, fitted.graph, fitted.variables)
    points, m = read_grid(grid, claim), len(fitted.variables)
    every = np.array([pair_matrix(position, p, m) for p in points])
    at: list[Evaluation] = []
    without: list[Evaluation] = []
    for start in range(0, len(points), STEP):
        P = every[start : start + STEP]
        at += evaluate_many(claim, P, CFU(), carried=True)
        without += evaluate_many(unpenalised, P, CFU(), carried=True) if unpenalised else []
        if progress:
            progress(min(start + STEP, len(points)), len(points))
    return Profile(
        pair=(fitted.variables[position[0]], fitted.variables[position[1]]),
        correlation=np.array(points, dtype=float),
        cfu=np.array([e.value for e in at]),
        cfu_unpenalised=np.array([e.value for e in without]) if unpenalised else None,
        log_likelihood=np.array([e.fit.log_likelihood for e in at]),
        log_likelihood_unpenalised=np.array([e.fit.log_likelihood for e in without]) if unpenalised else None,
        status=tuple(_status(*beside) for beside in zip(*([at, without] if unpenalised else [at]), strict=True)),
        context=fitted.context,
        reflects_threshold=claim.has_threshold and 0 in position,
        protected_levels=claim.protected_levels,
        imputation_deviation=between_tables(fitted.completed, every, CFU()),
        estimates=None if replicator is None else estimate_at(replicator, every, CFU()),
    )


def _status(at: Evaluation, *without: Evaluation) -> Status:
    """How the fit at a correlation ended; where it is fine, the one without penalty."""
    statuses = [one.fit.status for one in (at, *without)]
    return next((status for status in statuses if status is not Status.CONVERGED), Status.CONVERGED)
