"""What a search within a budget found, in the analyst's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstress.analyses.bands.limits import Estimate, limit_columns
from fairstress.analyses.benchmarks.strength import observed_correlation
from fairstress.analyses.imputation import deviation_at
from fairstress.analyses.tabular import Tabular
from fairstress.arguments import seed
from fairstress.budgets import Budget, SingleCause, read_budget
from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import Functional, fits
from fairstress.errors import SettingError, Status
from fairstress.functionals.cfu import CFU
from fairstress.functionals.frame import OfFrame
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.rows import Array
from fairstress.model.fit import Fit, System
from fairstress.options import ASCENT, Search, read_search
from fairstress.progress import Progress, Steps
from fairstress.search.algorithm1 import algorithm1
from fairstress.search.causes import acts_on, drawn_into, loadings, sets_within
from fairstress.search.interval import lattice
from fairstress.search.known import Known
from fairstress.search.members import Members, cliques, free_pairs
from fairstress.search.problem import Problem, Solution
from fairstress.search.search import follow, search
from fairstress.search.surface import explore
from fairstress.threads import one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairstress.report.text.markup import Sheet

SCAN = 128  # points of a search's scan, at most
OF_PAIR = 24  # of them for each pair
PRECISION = 1e-7  # gain of an ascent's step, relative to where it is, below which it ends
SLOW_PRECISION = 1e-4  # the same where values take long
Coordinates = tuple[object, ...]  # of the points of a set
DIGITS = 3  # of correlations: ends of ascents that agree in these are one
LEVELS = 2  # budgets, each half as large as the one before, that a curve is explored within where values take long


@dataclass(frozen=True, slots=True, eq=False)
class WorstCase(Tabular):
    """The most unfair correlation found within one budget, or the extreme of another functional.

    ``n_agreeing`` of ``n_starts`` ascents ended within 0.1 % of the value; ``scan_value`` is the best value on points
    spread over the whole set, which no ascent has touched.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> x; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1, random_state=0)
    >>> worst = audit.worst_case(0.2)
    >>> round(worst.value, 4)
    0.335
    >>> worst.correlation.round(2)
         a    x    z
    a  1.0 -0.2  0.0
    x -0.2  1.0 -0.2
    z  0.0 -0.2  1.0
    >>> print(worst.status)
    The computation converged.
    >>> lowest, highest = audit.bounds(audit.effect("z"), 0.2)  # records of the same kind
    >>> print(f"{lowest.value:.2f} to {highest.value:.2f}")
    -1.15 to -0.60
    """

    functional: str  # "CFU" or what was asked for
    direction: str  # "largest" or "smallest"
    value: float  # CFU: squared units of the outcome
    p_max: float  # size of the budget
    budget: Budget  # its kind, with its options
    floor: float  # least eigenvalue that the budget allows
    correlation: pd.DataFrame  # (m, m)
    pairs: tuple[tuple[str, str], ...]  # the free ones
    log_likelihood: float  # of Model B there; beside Model A's it tells whether the data object
    log_likelihood_drop: float  # Model A's less Model B's
    min_eigenvalue: float  # smallest eigenvalue of ``correlation``
    status: Status  # how the search ended
    n_starts: int  # ascents
    n_agreeing: int  # ascents that ended within 0.1 % of the value
    scan_value: float  # the best value on points spread over the whole set
    scan_correlation: pd.DataFrame  # where that is, (m, m)
    fit: Fit = field(repr=False)  # of Model B there
    reflects_threshold: bool = False  # whether the likelihood rests on the thresholds of an attribute with levels too
    at_points: bool = False  # whether one pair was searched at some points only, people having several worlds
    protected_levels: int = 0  # of a protected attribute seen through thresholds
    n_points: int = 0  # correlations through whose values a surface was drawn to find it; 0: none was
    n_sampled: int = 0  # rows in the sample on which the search looked around; 0: it looked at all
    sample_difference: float | None = None  # of the value on that sample from the value, relative to it
    imputation_deviation: float | None = None  # of the value between completed tables, where there are several
    estimate: Estimate | None = None  # the value with its limits, where replicates were drawn
    met: Array = field(
        default_factory=lambda: np.zeros((0, 0, 0)), repr=False
    )  # (k, m, m) ends of ascents, then others
    n_ends: int = field(default=0, repr=False)  # how many of these are ends of ascents
    loadings: pd.Series | None = None  # (m,) how strongly the one cause acts on each error; None for other budgets
    clique: tuple[str, ...] = ()  # the variables that this cause can act on; none for other budgets
    cliques: tuple[tuple[str, ...], ...] = ()  # all such groups: one cause can act on one of them only
    observed_factor: float | None = None  # of a two-valued attribute: observed correlation over that of latent errors

    @property
    def shares(self) -> pd.Series | None:
        """The share of each error's variance that the one cause explains; None for other budgets."""
        return None if self.loadings is None else self.loadings**2

    @property
    def can_touch_all(self) -> bool:
        """Whether one cause can act on all variables that stand in pairs."""
        return len({name for pair in self.pairs for name in pair}) == len(self.clique)

    def to_frame(self) -> pd.DataFrame:
        """One row, with a column per pair, and for one cause a column per variable with its share."""
        return pd.DataFrame(
            [
                {
                    "p_max": self.p_max,
                    "value": self.value,
                    "log_likelihood": self.log_likelihood,
                    "log_likelihood_drop": self.log_likelihood_drop,
                    "min_eigenvalue": self.min_eigenvalue,
                    "status": str(self.status),
                    **({} if (d := self.imputation_deviation) is None else {"imputation_deviation": d}),
                    **limit_columns(self.estimate),
                    **{f"{a} <-> {b}": self.correlation[a][b] for a, b in self.pairs},
                    **self._share_columns(),
                }
            ]
        )

    def _share_columns(self) -> dict[str, float]:
        if self.shares is None:
            return {}
        in_pairs = dict.fromkeys(name for pair in self.pairs for name in pair)
        return {f"share of {name}": float(self.shares[name]) for name in self.shares.index if name in in_pairs}

    def summary(self) -> str:
        """Say in prose what was found and how sure that is."""
        from fairstress.report.text.results import worst_case_summary

        return worst_case_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ``correlation`` as a heat map. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Where to draw, default new Axes.
        """
        from fairstress.report.plots.curves import plot_worst_case

        return plot_worst_case(self, ax)

    def __repr__(self) -> str:
        where = f"{self.budget} budget, p_max = {self.p_max:g}"
        return f"<WorstCase: {self.direction} {self.functional} {self.value:.4g}, {where}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.text.tables import worst_case_table

        return worst_case_table(self)


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """Finds the worst case of one functional for any p_max."""

    claim: Claim
    graph: CausalGraph
    variables: tuple[str, ...]
    budget: Budget
    search: Search
    seed: int | None
    negligible: float  # a CFU at or below this is rounding, and not worth climbing
    functional: Functional = field(default_factory=CFU)
    sign: float = 1.0  # -1 for the smallest value
    completed: tuple[Claim, ...] = field(default=(), repr=False)  # the claim on each of several completed tables
    along_line: dict[Coordinates, dict[int, float]] = field(default_factory=dict, repr=False)  # values known already
    known: dict[Coordinates, Known] = field(default_factory=dict, repr=False)  # the same where people have worlds

    def __post_init__(self) -> None:
        if self.search.method == ASCENT and isinstance(self.budget, SingleCause):
            raise SettingError(
                f"method is '{ASCENT}', the paper's Algorithm 1, which has no form for the {self.budget} budget: give "
                "search=Search(), or another budget"
            )

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        budget: Any,
        search: Any,
        random_state: Any,
        functional: Functional | None = None,
        sign: float = 1.0,
    ) -> Solver:
        """Read an analyst's options; the seed is the audit's where none is given."""
        settings, context = fitted.settings, fitted.context
        chosen = settings.random_state if random_state is None else seed(random_state)
        common = (fitted.table.graph, fitted.variables, read_budget(budget), read_search(search), chosen)
        tables = () if isinstance(functional, OfFrame) else fitted.completed
        if functional is None:
            measured = CFU(name=settings.measure.title)
            return cls(fitted.claim, *common, context.negligible, measured, completed=tables)
        return cls(fitted.claim, *common, -np.inf, functional, sign, tables)

    def __call__(self, p_max: float, smaller: Sequence[WorstCase] = (), progress: Progress | None = None) -> WorstCase:
        """Search within p_max, starting also from smaller budgets' solutions."""
        steps = Steps(self.search.starts, progress) if progress else None
        found = [self._within(problem, smaller) for problem in self._problems(p_max, steps)]
        if steps:
            steps.finish()
        best = max(found, key=lambda one: self.sign * one.value)
        if len(found) == 1:
            return best
        scanned = max(found, key=lambda one: self.sign * one.scan_value)
        return replace(
            best,
            scan_value=scanned.scan_value,
            scan_correlation=scanned.scan_correlation,
            met=np.concatenate([one.met[: one.n_ends] for one in found] + [one.met[one.n_ends :] for one in found]),
            n_ends=sum(one.n_ends for one in found),
        )

    def _within(self, problem: Problem, smaller: Sequence[WorstCase]) -> WorstCase:
        """Search one set."""
        members = problem.members
        inherited = [members.point(point.correlation.to_numpy()) for point in smaller]
        find = algorithm1 if self.search.method == ASCENT else search
        with one_thread:  # once for all evaluations of a search
            solution = find(problem, inherited, np.random.default_rng(self.seed))
            deviation = deviation_at(self.completed, members.matrix(solution.p), self.functional)
        return replace(self._named(solution, problem), imputation_deviation=deviation)

    @property
    def follows(self) -> bool:
        """Whether a worst case can be followed from budget to budget: by derivatives, and with several pairs."""
        plain = self.search.method != ASCENT and not self.claim.is_mixed
        return plain and self.functional.has_slope(self.claim) and len(free_pairs(self.graph, self.variables)) > 1

    def follow(self, p_max: float, neighbours: Sequence[WorstCase]) -> WorstCase:
        """The worst case within p_max as far as climbing from neighbouring budgets' solutions leads to it."""
        problems = [problem for problem in self._problems(p_max, None) if self._leads_into(problem.members, neighbours)]
        if all(problem.members.is_point for problem in problems):  # which leaves nothing to climb
            return self(p_max)
        starts = _between(p_max, [(one.correlation.to_numpy(), one.p_max) for one in neighbours])
        with one_thread:
            solutions = [follow(problem, [problem.members.point(P) for P in starts]) for problem in problems]
        found = [self._named(*both) for both in zip(solutions, problems, strict=True)]
        best = max(found, key=lambda one: self.sign * one.value)
        others = [P for one in neighbours if one.p_max > p_max for P in one.met[: one.n_ends]]
        if not others:
            return best
        inside = drawn_into([problem.members for problem in problems], np.array(others))  # hills that were not climbed
        hills = inside[np.sort(np.unique(inside.round(DIGITS), axis=0, return_index=True)[1])]
        return replace(best, met=np.concatenate([hills, best.met]), n_ends=len(hills) + best.n_ends)

    def _leads_into(self, members: Members, neighbours: Sequence[WorstCase]) -> bool:
        """Whether some neighbour's solution lies in a set: of one cause's, in that of the same variables."""
        own = self._names(acts_on(members))
        return any(one.clique == own for one in neighbours)

    def explore(self, p_max: float) -> None:
        """Find values for several budgets up to p_max at once, where each takes long; otherwise do nothing."""
        if self.search.method == ASCENT:
            return
        rng = np.random.default_rng(self.seed)
        with one_thread:
            for level in range(LEVELS):
                for problem in self._problems(p_max / 2**level, None):
                    if problem.takes_long and not (problem.members.is_point or problem.known.covers(problem.members)):
                        explore(problem, rng, all_over=level == 0)

    def look_ahead(self, sizes: Sequence[float]) -> None:
        """Fit Model B where searches of a single pair's intervals will ask, for several budgets side by side.

        They would ask for these fits, which are kept, a few at a time. What takes passes over rows is left to them.
        """
        if self.search.method == ASCENT or not isinstance(self.claim.system, System):
            return
        ends = [members.matrix(np.array([members.low, members.high])) for members in self._single_pairs(sizes)]
        along = [members.matrix(lattice(members)) for members in self._single_pairs([max(sizes)])]  # others lie within
        if ends:
            with one_thread:
                fits(self.claim, np.concatenate([*ends, *along]), check_minima=False)  # on the way
                fits(self.claim, np.concatenate(ends), check_minima=True)  # and where a search ends

    def _single_pairs(self, sizes: Sequence[float]) -> list[Members]:
        """Sets within several budgets that are one pair's interval."""
        every = (problem.members for size in sizes for problem in self._problems(size, None))
        return [members for members in every if members.low.size == 1]

    def in_one_process(self) -> Solver:
        """The same search where other processes are at work already."""
        return replace(self, search=replace(self.search, n_jobs=1))

    def apart(self) -> Solver:
        """The same search for a question of its own: others, in other threads too, do not hear what it finds."""
        return replace(self, known={coordinates: known.copy() for coordinates, known in self.known.items()})

    def without(self, pairs: Sequence[tuple[str, str]]) -> Solver:
        """The same search with the correlations of some of the graph's pairs fixed at 0.

        Where values take long the pairs stay in the graph, so that what is found serves the other searches, too.
        """
        fixed = {frozenset(pair) for pair in pairs}
        graph = replace(self.graph, pairs=tuple(p for p in self.graph.pairs if frozenset(p) not in fixed))
        if isinstance(self.budget, SingleCause):
            left = {name for pair in graph.pairs for name in pair}
            budget = SingleCause({name: cap for name, cap in self.budget.caps.items() if name in left})
            return replace(self, budget=budget, graph=graph)
        bounds = {pair: limits for pair, limits in self.budget.bounds.items() if frozenset(pair) not in fixed}
        if self.claim.takes_long:
            bounds |= dict.fromkeys(pairs, (0.0, 0.0))
            return replace(self, budget=replace(self.budget, bounds=bounds), along_line={})
        return replace(self, budget=replace(self.budget, bounds=bounds), graph=graph, along_line={}, known={})

    def problems(self, p_max: float) -> list[Problem]:
        """What is sought, one problem for each set that the budget is the union of."""
        return self._problems(p_max, None)

    def _problems(self, p_max: float, ascended: Steps | None) -> list[Problem]:
        """One problem for each set that the budget is the union of."""
        return [
            Problem(
                self.claim,
                members,
                self.functional,
                self.sign,
                self.search.starts,
                min(SCAN, OF_PAIR * members.low.size),
                self.negligible,
                SLOW_PRECISION if self.claim.takes_long else PRECISION,
                along_line=self.along_line.setdefault(members.coordinates, {}),
                known=self.known.setdefault(members.coordinates, Known()),
                ascended=ascended,
                n_jobs=self.search.n_jobs,
            )
            for members in sets_within(self.budget, p_max, self.graph, self.variables)
        ]

    def _named(self, solution: Solution, problem: Problem) -> WorstCase:
        """Put names to what a search found."""
        members, fit = problem.members, solution.evaluation.fit
        pairs = free_pairs(self.graph, self.variables)
        return WorstCase(
            functional=problem.functional.name,
            direction="largest" if problem.sign > 0 else "smallest",
            value=solution.evaluation.value,
            p_max=members.p_max,
            budget=members.budget,
            floor=members.budget.floor(members.p_max, len(pairs)),
            correlation=self._frame(members.matrix(solution.p)),
            pairs=tuple((self.variables[j], self.variables[k]) for j, k in pairs),
            log_likelihood=fit.log_likelihood,
            log_likelihood_drop=problem.claim.model_a.log_likelihood - fit.log_likelihood,
            min_eigenvalue=float(members.smallest_eigenvalue(solution.p)),
            status=solution.status,
            n_starts=solution.n_starts,
            n_agreeing=solution.n_agreeing,
            scan_value=solution.scan_value,
            scan_correlation=self._frame(members.matrix(solution.scan_p)),
            fit=fit,
            reflects_threshold=problem.claim.has_threshold and bool(fit.correlation[0, 1:].any()),
            at_points=problem.claim.is_mixed,
            n_points=solution.n_points,
            n_sampled=solution.n_sampled,
            sample_difference=solution.sample_difference,
            protected_levels=problem.claim.protected_levels,
            met=members.matrix(solution.met),
            n_ends=solution.n_ends,
            observed_factor=self._observed_factor(),
            **self._cause(members, members.matrix(solution.p)),
        )

    def _frame(self, P: Array) -> pd.DataFrame:
        names = _labels(self.variables)
        return pd.DataFrame(P, index=names, columns=names)

    def _cause(self, members: Members, P: Array) -> dict[str, Any]:
        """The one cause that gives P, and what such causes can act on; nothing for budgets on pairs."""
        clique = acts_on(members)
        if not (clique and isinstance(members.budget, SingleCause)):
            return {}
        caps = np.array([members.budget.cap(self.variables[j], members.p_max) for j in clique])
        strength = np.zeros(len(self.variables))
        strength[list(clique)] = loadings(P, clique, caps)
        groups = cliques(free_pairs(self.graph, self.variables))
        return {
            "loadings": pd.Series(strength, index=list(self.variables), name="loading"),
            "clique": self._names(clique),
            "cliques": tuple(map(self._names, groups)),
        }

    def _observed_factor(self) -> float | None:
        """What a correlation with the latent error of a two-valued attribute is on the attribute itself, per unit."""
        two_valued = self.claim.has_threshold and self.claim.protected_levels == 2
        if not two_valued or self.graph.parents(self.graph.protected):  # with parents the threshold varies by person
            return None
        people = self.claim.everyone
        positive = people.total(lambda block: float(block.weight[block.a > 0].sum()))
        return observed_correlation(1.0, positive / people.n)

    def _names(self, positions: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.variables[j] for j in positions)

    def __repr__(self) -> str:
        return (
            f"<Solver of the {'largest' if self.sign > 0 else 'smallest'} {self.functional.name}, {self.budget} budget>"
        )


@lru_cache(maxsize=64)
def _labels(variables: tuple[str, ...]) -> pd.Index[str]:
    """Names of rows and columns, which pandas takes longer to make than a search to find a point."""
    return pd.Index(list(variables))


def _between(p_max: float, known: Sequence[tuple[Array, float]]) -> list[Array]:
    """Where a worst case within p_max may lie: at known ones of other budgets, at these grown, and between them."""
    grown = [np.eye(len(P)) + (P - np.eye(len(P))) * (p_max / size) for P, size in known if size > 0]
    between = [P + (Q - P) * ((p_max - p) / (q - p)) for (P, p), (Q, q) in pairwise(known) if q > p]
    return [*(P for P, _ in known), *grown, *between]
