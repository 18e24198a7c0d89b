"""What a user holds: a claim of counterfactual fairness on some data, and every question that can be put to it.

The class holds what a fit has made and hands each question to the room that answers it; it does no mathematics of its
own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairstress import arguments
from fairstress.analyses.bands.estimate import estimate_at
from fairstress.analyses.bands.limits import Estimate
from fairstress.analyses.bands.maxima import with_limits
from fairstress.analyses.bands.replicates import Replicator
from fairstress.analyses.benchmarks.measure import benchmarks
from fairstress.analyses.benchmarks.result import Benchmarks
from fairstress.analyses.bounds import bounds, read_functional
from fairstress.analyses.cause_contour import CauseContour, cause_contour
from fairstress.analyses.certificate import CELLS, Certificate, certificate
from fairstress.analyses.check import Check, check
from fairstress.analyses.conclusion import quick_conclusion
from fairstress.analyses.contour import Contour, contour
from fairstress.analyses.curve import SAME_P, BreakingPoint, Curve, breaking_point, curve
from fairstress.analyses.diagnostics.collect import diagnostics
from fairstress.analyses.diagnostics.result import Diagnostics
from fairstress.analyses.effects import effects
from fairstress.analyses.imputation import deviation_at
from fairstress.analyses.leakage import Leakage, leakage
from fairstress.analyses.notes import notes
from fairstress.analyses.people import People, people
from fairstress.analyses.plausibility import Plausibility, plausibility
from fairstress.analyses.profile import Profile, profile
from fairstress.analyses.robust.cuts import RobustPredictor, robust_predictor
from fairstress.analyses.robust.frontier import WEIGHTS, Frontier, frontier
from fairstress.analyses.worst_case import Solver, WorstCase
from fairstress.analyses.written import Where, check_written, some_people, worst_people, write_people
from fairstress.budgets import Budget
from fairstress.claim.build import Fitted, build
from fairstress.claim.claim import Baseline, read_baseline
from fairstress.claim.evaluate import Functional, evaluate, model_b, predict_people, predictions
from fairstress.claim.holdout import judged_on
from fairstress.claim.measure import Measure, read_measure
from fairstress.claim.refit import refit
from fairstress.claim.spec import (
    MAX_MEMORY,
    Settings,
    check_scale,
    read_degrees,
    read_mixed,
    read_ordered_residuals,
    read_penalties,
)
from fairstress.errors import SettingError, show
from fairstress.functionals.cfu import CFU, evaluate_cfu, group_cfu
from fairstress.functionals.decisions import EITHER, flips
from fairstress.functionals.effects import TOTAL, coefficient, effect
from fairstress.functionals.relative import RelativeCFU
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.data import Table, read_table
from fairstress.inputs.folds import Folds
from fairstress.inputs.frames import as_array, column_names, in_order
from fairstress.inputs.graph import CausalGraph, read_graph
from fairstress.inputs.partitions import is_dask, open_workers
from fairstress.inputs.rows import Array
from fairstress.inputs.streamed import InBatches, read_apart
from fairstress.inputs.streams import is_stream, open_stream
from fairstress.model.embedding import EmbeddingFactory, read_embedding
from fairstress.model.handed_in import ESTIMATOR, UserPredictor, read_user_predictor
from fairstress.model.named import StructuralModel, counterfactual_frame, name_model
from fairstress.model.scikit import is_fitted
from fairstress.model.shown import DIGITS, raw_frame
from fairstress.model.view import RawColumns
from fairstress.options import Predictor, Robust, Search, read_predictor, read_robust
from fairstress.progress import Progress, Watch, as_callback, watching
from fairstress.resampling import N_BOOT, Bootstrap
from fairstress.saving import check_target, check_unread
from fairstress.threads import one_thread
from fairstress.wording import SMALLEST_GROUP, Sharing, read_wording

if TYPE_CHECKING:
    from fairstress.report.data import ReportData

Correlation = Mapping[tuple[str, str], float] | pd.DataFrame | ArrayLike

T = TypeVar("T")
WRITTEN = "counterfactuals(..., to='people.parquet') writes everyone to a file, and worst=100 gives some"


def _in_one_thread(audit: type[T]) -> type[T]:
    """Let the linear algebra of every method run in one thread, and long work show a bar; none can be forgotten."""
    for name, member in vars(audit).copy().items():
        if isinstance(member, classmethod):
            setattr(audit, name, classmethod(_limited(member.__func__)))
        elif callable(member) and not name.startswith("__"):
            setattr(audit, name, _limited(member))
    return audit


def _limited(function: Any) -> Any:
    known = inspect.signature(function).parameters
    is_long = "progress" in known and known["progress"].kind is inspect.Parameter.KEYWORD_ONLY

    @wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        with one_thread:
            if not is_long:
                return function(*args, **kwargs)
            with watching(kwargs.pop("progress", None), function.__name__.replace("_", " ")) as progress:
                return function(*args, progress=progress, **kwargs)

    return limited


@_in_one_thread
@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """A counterfactual fairness claim on some data, ready to be stressed. Made by `Audit.fit`.

    What was fitted
        `graph`, `settings`, `kinds`, `variables`, `model_a`, `baselines`, `robust_predictor`, `predictor_inputs`,
        `refit`; `fitted` holds the parts, for those who extend fairstress
    Before any curve
        `notes`, `plausibility`, `leakage`, `diagnostics`, `check`
    At one correlation
        `cfu`, `estimate`, `cfu_by_row`, `gradient`, `model_b`, `counterfactuals`, `imputation_deviation`
    Along one pair, or two
        `profile`, `contour`
    Within a budget
        `worst_case`, `certificate`, `curve`, `breaking_point`, `cause_contour`, `bounds`, `effects`, `frontier`,
        `robust`
    What can be bounded
        `cfu_of_group`, `relative_cfu`, `flips`, `effect`, `coefficient`
    Who
        `people`
    How strong
        `benchmarks`
    Show
        `summary`, `details`, `report`, `to_markdown`, `to_latex`

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse(
    ...     "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White")
    >>> f"{audit.cfu({('ugpa', 'lsat'): 0.9}):.1e}"
    '5.2e-07'
    """

    fitted: Fitted  # the table, the claim and its baselines: what every analysis takes
    robust_predictor: RobustPredictor | None = None  # how the audited predictor was made robust, where it was

    @classmethod
    def fit(
        cls,
        frame: Any,
        graph: CausalGraph,
        *,
        reference: Any = None,
        shift: float | None = None,
        contrast: Any = None,
        kinds: Mapping[str, Any] | None = None,
        degrees: Mapping[str, int] | None = None,
        penalty: float | None = None,
        predictor_degree: int | None = None,
        predictor_penalty: float | None = None,
        max_degree: int = 3,
        max_memory: float | str = MAX_MEMORY,
        penalties: Sequence[float] | None = None,
        cv: Folds = 5,
        sample_weight: ArrayLike | None = None,
        missing: str = "refuse",
        cluster: Any = None,
        holdout: float | ArrayLike | None = None,
        penalise_constant: bool = False,
        embedding: EmbeddingFactory | None = None,
        mixed: str = "residual",
        ordered_residuals: str = "expected",
        outcome_type: str | None = None,
        predictor: Predictor | Any = None,
        measure: str | float | Callable[[Array, Array], float] = "squared",
        robust: Robust | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        people: str = "people",
        higher_is: str | None = None,
        client: Any = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Audit:
        """Fit Model A, the predictor on its residuals, and the baselines; what is not given is cross-validated.

        Parameters
        ----------
        frame
            A pandas, polars or pyarrow table with a column for every name of the graph; or a list of such tables, the
            completed ones of a multiple imputation, with the same people in the same order; or data that are read in
            batches and need not fit into memory: a Parquet file, a folder of them, a pattern such as
            ``"people/*.parquet"``, a pyarrow dataset, a polars LazyFrame or a DuckDB relation; or a data frame of
            Dask's, whose partitions stay on the workers of a cluster.
        graph
            The causal graph.
        reference
            Level of the protected attribute that the others are compared with, of two levels the one coded +1; default
            the last in sorted order. With more levels a penalty draws the others towards it, so that the choice counts.
        shift
            How far the counterfactual moves a numeric protected attribute; default one standard deviation.
        contrast
            Levels, or values of a numeric attribute, that people are moved to; default all other levels. A person's
            CFU is the mean over them.
        kinds
            What a column is to be taken for: ``"number"``, ``"log"``, ``"log1p"``, ``"sqrt"``, ``"rank"`` or
            ``"share"`` for a number on that scale, with ``" by group"`` behind for a scale and weights of each group's
            own, with ``"zero or "`` before for one that is exactly 0 for many; ``"ordered"``, ``"ordered as levels"``
            or ``"category"``; or a list of levels, lowest first. Default: told from the column, see `kinds`.
        degrees
            Degree of the embedding by feature; default chosen by cross-validation, feature by feature.
        penalty
            Ridge penalty shared by the structural equations; default chosen by cross-validation.
        predictor_degree, predictor_penalty
            Degree and penalty of the built-in predictor and of the baselines; default chosen by cross-validation.
        max_degree
            The highest degree that cross-validation tries, default 3; `notes` says where the terms of lower ones are
            too many already.
        max_memory
            What the terms of equations, predictor and baselines may need: a number of bytes, or text such as
            ``"1 GB"``, the default. Degrees that need more are not tried; a given one is refused. Batches of data
            that are not in memory are made as small as that needs, of 4,096 rows at the least.
        penalties
            What it chooses a penalty from; default ten from 1e-4 to 1e4.
        cv
            Its number of folds, default 5, to which people are dealt by their values, so that the order of rows does
            not matter and groups are balanced; ``"contiguous"`` or ``("contiguous", 10)`` for folds of neighbouring
            rows, as in the paper; or splits that test every row once, such as
            ``list(KFold(5, shuffle=True).split(frame))``.
        sample_weight
            One weight per row, default 1; weight 2 is the row twice.
        missing
            ``"refuse"`` (default) missing values, or ``"drop"`` the people who have any; the summary says how many of
            each group were left out.
        cluster
            Name of a column, or labels, of people who belong together, such as schools: everyone of a cluster is in
            one fold, and has one random weight in a replicate. Default: everyone alone.
        holdout
            A share of people, or one truth value per row, to hold out: Model A, predictor and baselines are fitted to
            the others, Model B and CFU to these. Default: everyone serves for both.
        penalise_constant
            Whether constants bear the ridge penalty, as in the paper, default False; CFU then depends on where zero
            lies.
        embedding
            Makes the embedding of an equation from its inputs and degree; default all monomials.
        mixed
            How a feature that fair and unfair paths lead to enters the predictor: ``"residual"`` (default), or
            ``"fair part"``, the value that Model A gives it with the reference level on unfair edges.
        ordered_residuals
            What the built-in predictor sees of ordered features that descend from the protected attribute: their
            ``"expected"`` error given the level (default), whose CFU under Model A is small but not 0, or nothing,
            ``"leave out"``.
        outcome_type
            ``"number"`` or ``"classes"``; default classes for an outcome of two values, a number for any other.
        predictor
            A predictor of your own in place of the polynomial of residuals: a `Predictor`, which says what it looks at,
            or a bare scikit-learn estimator, PyTorch module or function of residuals. Default: the built-in polynomial.
        measure
            What is made of everyone's change of prediction: ``"squared"`` (default), its mean square, which is CFU;
            ``"absolute"``, its mean size; ``"max"``, its largest size; a number between 0 and 1, that quantile of its
            size; or a function of changes and weights.
        robust
            A `Robust` value, such as ``Robust(p_max=0.3, weight=10)``: audit the robust predictor that it describes in
            place of the fair one. Default: the fair one.
        labels
            Names under which results show columns, such as ``{"lsat": "LSAT score"}``; default the columns' own.
        units
            Units of columns, such as ``{"zfya": "grade points"}``; default none.
        people
            What rows are, in the plural, such as ``"students"`` or ``"towns"``; default ``"people"``.
        higher_is
            Whether a higher outcome is ``"better"`` or ``"worse"`` for people; default None, not said.
        client
            Of the cluster on which a data frame of Dask's is; default the one that is at work.
        random_state
            Seed of every step that draws random numbers and of the folds, default None, which is 0 for the folds.
            Fitting draws none, but your own estimator may.
        progress
            Called with (steps done, steps in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Returns
        -------
        Audit
            The fitted claim.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", max_degree=2)
        >>> audit.settings.degrees
        {'ugpa': 1, 'lsat': 2}
        """
        graph = read_graph(graph)
        option, seed = read_predictor(predictor), arguments.seed(random_state)
        own = read_user_predictor(option, graph, seed)
        constant = arguments.flag(penalise_constant, "penalise_constant")
        memory = arguments.read_bytes(max_memory, "max_memory")
        read, data = _reader(frame, client, memory)
        table = read(
            data,
            graph,
            reference=reference,
            shift=shift,
            contrast=contrast,
            kinds=kinds,
            missing=missing,
            sample_weight=sample_weight,
            cluster=cluster,
            centre_outcome=not constant,  # a penalised constant depends on where zero lies
            outcome_type=outcome_type,
            others=() if own is None else own.columns_outside(graph),
        )
        _check_whole(table, own, read_measure(measure))
        held_out = None if holdout is None else table.held_out(holdout, seed or 0)
        fitted_to = table if held_out is None else table.keep(~held_out)
        settings = Settings(
            degrees=read_degrees(degrees, graph),
            given_degrees=frozenset(degrees or {}),
            penalty=None if penalty is None else arguments.penalty(penalty, "penalty"),
            predictor_degree=_optional(arguments.degree, predictor_degree, "predictor_degree"),
            predictor_penalty=_optional(arguments.penalty, predictor_penalty, "predictor_penalty"),
            penalise_constant=constant,
            max_degree=arguments.degree(max_degree, "max_degree"),
            given_predictor_degree=predictor_degree is not None,
            max_memory=memory,
            penalties=read_penalties(penalties),
            mixed=read_mixed(mixed),
            ordered_residuals=read_ordered_residuals(ordered_residuals),
            random_state=seed,
            predictor_scale=check_scale(option.scale, table),
            measure=read_measure(measure),
            embedding=read_embedding(embedding),
            user_predictor=own,
            wording=read_wording(labels, units, people, higher_is, [*_columns_of(frame), *graph.nodes]),
        )
        wanted = None if robust is None else read_robust(robust)
        folds = fitted_to.folds(cv, seed or 0, needed=settings.leaves_open(graph.features))
        settings = replace(settings, cv=len(folds) or fitted_to.n_folds(cv))
        audit = cls(build(fitted_to, settings, folds, progress=as_callback(progress)))
        audit = audit if wanted is None else audit._made_robust(wanted, None, as_callback(progress))
        return audit if held_out is None else replace(audit, fitted=judged_on(audit.fitted, table.keep(held_out)))

    # ------------------------------------------------------------ what was fitted

    @property
    def graph(self) -> CausalGraph:
        """The causal graph."""
        return self.fitted.graph

    @property
    def settings(self) -> Settings:
        """How the audit was fitted: what was given, and what cross-validation chose."""
        return self.fitted.settings

    @property
    def kinds(self) -> pd.DataFrame:
        """What each feature was taken for, and why: a row for each, with ``kind``, ``levels`` and ``reason``.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, kinds={"lsat": "number by group"}, max_degree=1)
        >>> audit.kinds["kind"].to_dict()
        {'ugpa': 'number', 'lsat': 'number by group'}
        """
        kinds = self.fitted.table.kinds
        rows = [(str(kind), ", ".join(map(str, kind.levels)), kind.reason) for kind in kinds.values()]
        return pd.DataFrame(rows, index=list(kinds), columns=["kind", "levels", "reason"])

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before trusting the audit: columns that may be of another kind, and who was left out.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> print(audit.notes[0][:60])
        The residuals of 'lsat' are 1.30 times as wide among non-Whi
        """
        return notes(self.fitted)

    def leakage(self, random_state: int | None = None) -> Leakage | None:
        """How well the protected attribute can be told from what Model A takes for errors: not at all, if it is right.

        A boosted classifier is cross-validated on Model A's residuals of features that descend from the attribute;
        errors that are known within an interval only, or rounded, are drawn within it. None for a numeric attribute.

        Parameters
        ----------
        random_state
            Seed of the draws, default the audit's.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> round(audit.leakage().auc, 1)
        0.6
        """
        seed = self.settings.random_state if random_state is None else arguments.seed(random_state)
        return leakage(self.fitted, seed)

    def plausibility(self, correlation: Correlation | None = None, *, leakage: Leakage | None = None) -> Plausibility:
        """Whether counterfactual people can exist: who has a value outside the observed range, or between levels.

        Parameters
        ----------
        correlation
            Of the errors, as `cfu` takes it; default None, which is Model A.
        leakage
            What `leakage` has given, to be shown beside it; default none.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.plausibility().mostly_impossible
        False
        """
        fit = None if correlation is None else model_b(self.fitted.claim, self._read(correlation))
        return plausibility(self.fitted, fit, leakage)

    def diagnostics(self, correlation: Correlation | None = None, *, random_state: int | None = None) -> Diagnostics:
        """Say whether the data contradict what the audit assumes, and what to do then.

        The shape of errors, their scale by group with the CFU that it alone makes, what equations lack, independences
        that the graph implies, how alike the groups are, how well the attribute is told from errors, what equations
        explain, and what cross-validation tried. If all that is assumed is right, any alarm is raised with a
        probability of at most 5 %, however the errors of the graph's pairs are correlated.

        Parameters
        ----------
        correlation
            Of the errors, as `cfu` takes it, such as ``audit.worst_case(0.3).correlation``: say whose leaving out moves
            CFU there most, the predictor as it is. Default None, which leaves that out.
        random_state
            Seed of draws within intervals, default the audit's.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
        >>> print(next(one for one in audit.diagnostics().alarms if one.check == "scale by group").sentence[:63])
        The errors of 'lsat' are 1.30 times as wide where 'race' is non
        """
        if correlation is not None:
            self.fitted.table.check_held(
                "a look at whose leaving out matters", "call diagnostics() without correlation"
            )
        seed = self.settings.random_state if random_state is None else arguments.seed(random_state)
        return diagnostics(self.fitted, None if correlation is None else self._read(correlation), seed)

    @property
    def variables(self) -> tuple[str, ...]:
        """The order of rows and columns in correlation matrices: all that have an error."""
        return self.fitted.variables

    @property
    def baselines(self) -> dict[str, Baseline]:
        """Predictors that ignore the graph, for comparison: ``"unconstrained"`` and ``"blind"``."""
        return self.fitted.baselines

    @property
    def model_a(self) -> StructuralModel:
        """The guessed model: independent errors."""
        return name_model(self.fitted.claim.model_a, self.fitted.claim.design, self.fitted.table)

    def predictor_inputs(self) -> pd.DataFrame:
        """What the audited predictor looks at: a row per person, residuals of the standardised features, or columns.

        Residuals are rounded to ten digits, so that people who are alike are so for a tree as well.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.predictor_inputs().columns.tolist()
        ['residual of ugpa', 'residual of lsat']
        """
        claim, table = self.fitted.claim, self.fitted.table
        table.check_held("a frame of what the predictor sees", WRITTEN)
        if isinstance(claim.view, RawColumns):
            frame = raw_frame(table, claim.view.factual(table.rows, table.rows.x))[list(claim.view.names)]
            return frame.iloc[table.row_of].set_axis(table.index, axis=0)
        Z = predict_people(claim, table.rows)[1]
        return pd.DataFrame(Z[table.row_of].round(DIGITS), columns=list(claim.view.names), index=table.index)

    def refit(
        self, *, degrees: Mapping[str, int] | None = None, penalty: float | None = None, keep: ArrayLike | None = None
    ) -> Audit:
        """Fit the same audit with some settings changed, or to some of the rows; nothing is cross-validated anew.

        Parameters
        ----------
        degrees
            Degrees of the structural equations, by feature; default as they are.
        penalty
            Penalty of the structural equations; default as it is.
        keep
            Which rows to keep, one truth value per row; default all.

        Returns
        -------
        Audit
            The new audit, or this one where nothing changes. A robust predictor is taken as it is, not made anew.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.refit(penalty=0).settings.penalty
        0.0
        """
        given = None if degrees is None else read_degrees(degrees, self.graph)
        changed = None if penalty is None else arguments.penalty(penalty, "penalty")
        rows = None if keep is None else _read_keep(in_order(keep, self.fitted.table.index, "keep"))
        fitted = refit(self.fitted, degrees=given, penalty=changed, keep=rows)
        return self if fitted is self.fitted else replace(self, fitted=fitted)

    # ------------------------------------------------------------ before any curve

    def check(self) -> Check:
        """Say what the free pairs can do to CFU at structural penalty 0, together and each alone, before any curve.

        They cannot matter, which is proved; or they move CFU, which is shown at a random correlation; or CFU is 0 at
        random correlations and no rule is known. Where they cannot matter, a curve shows the penalty and nothing else.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, degrees={"ugpa": 1, "lsat": 1}, penalty=1)
        >>> together = audit.check().together
        >>> print(together.verdict, f"{together.cfu:.1g}", together.reason, sep="; ")
        moves CFU; 0.02; lsat's equation (ugpa, degree 1) lacks race, which absorbing ugpa would take.
        """
        return check(self.fitted)

    # ------------------------------------------------------------ at one correlation

    def cfu(self, correlation: Correlation, *, baseline: str | None = None) -> float:
        """Counterfactual unfairness of the predictor if the errors have this correlation.

        Everyone's features are recomputed with the protected attribute changed, under Model B at this correlation; CFU
        is the mean squared change of the prediction, in squared units of the outcome, or what the audit's measure makes
        of the changes.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.
        baseline
            Name of a baseline whose own CFU to give; default the audited predictor's.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> round(audit.cfu({("race", "lsat"): 0.2}), 4)
        0.0039
        >>> round(audit.cfu({("race", "lsat"): 0.2}, baseline="blind"), 4)
        0.1182
        """
        claim = self.fitted.claim if baseline is None else read_baseline(baseline, self.baselines).claim
        return evaluate_cfu(claim, self._read(correlation)).value

    def estimate(
        self,
        correlation: Correlation,
        functional: Functional | Callable[[pd.DataFrame], Any] | None = None,
        *,
        bands: Bootstrap | int = N_BOOT,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Estimate:
        """CFU, or another functional of Model B, if the errors have this correlation, with its limits.

        The limits are those of the deployed predictor: Model A, predictor, tuning and scaling stay as they are, and
        what is uncertain is Model B. At ``{}``, where CFU is 0 by construction, they say what the sampling error of
        Model A alone can make.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.
        functional
            What `cfu_of_group`, `relative_cfu`, `flips`, `effect` or `coefficient` gives, or any function from the
            frame of `counterfactuals` to a number; default CFU.
        bands
            How many replicates to draw, default 200, or a `Bootstrap` value.
        random_state
            Seed of replicates; default that of the audit.
        progress
            Called with (steps done, steps in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse(
        ...     "race -> ugpa, lsat; ugpa -> lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", max_degree=1, random_state=0)
        >>> audit.estimate({("race", "lsat"): 0.2}, bands=100)
        <Estimate 0.003768, at most 0.004693 (95 %)>
        >>> audit.estimate({}, bands=100)
        <Estimate 0, at most 5.648e-05 (95 %)>
        """
        replicator = Replicator.of(self.fitted, bands, random_state)
        if replicator is None:
            raise SettingError(f"bands is {show(bands)}: give a number of replicates, or a Bootstrap value")
        known = (
            CFU(name=self.settings.measure.title) if functional is None else read_functional(self.fitted, functional)
        )
        return estimate_at(replicator, self._read(correlation)[None], known, as_callback(progress))[0]

    def imputation_deviation(self, correlation: Correlation, *, baseline: str | None = None) -> float:
        """How far `cfu` differs between the completed tables of a multiple imputation.

        The standard deviation of CFU over the M tables times the root of ``1 + 1/M``, Model B fitted to each table
        apart, Model A and the predictor as audited. Only for an audit of several tables.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.
        baseline
            Name of a baseline whose CFU is meant; default the audited predictor's.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> frame = fs.datasets.law_school()
        >>> tables = [frame, frame.assign(lsat=frame["lsat"] + 0.5 * (frame.index % 7 == 0))]
        >>> audit = fs.Audit.fit(tables, graph, max_degree=1)
        >>> 0 < audit.imputation_deviation({("race", "lsat"): 0.2}) < 0.001
        True
        """
        claim = self.fitted.claim if baseline is None else read_baseline(baseline, self.baselines).claim
        tables = [replace(claim, rows=c.rows, everyone=c.everyone, system=c.system) for c in self.fitted.completed]
        if not tables:
            raise SettingError("the audit is of one table: give several completed ones to Audit.fit as a list")
        found = deviation_at(tables, self._read(correlation), CFU())
        assert found is not None
        return found

    def cfu_by_row(self, correlation: Correlation) -> pd.Series[float]:
        """Counterfactual unfairness of each row of the table if the errors have this correlation.

        A row's CFU is the squared change of its prediction from the factual to the counterfactual world under Model B,
        or what the audit's measure makes of it, the mean over the levels that it is moved to. It is missing for rows
        that are moved nowhere. `people` has predictions and features beside it.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.

        Returns
        -------
        Series
            In squared units of the outcome unless the measure is another, labelled and ordered as the table.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=2)
        >>> audit.cfu_by_row({("race", "lsat"): 0.2}).round(4).head(3).tolist()
        [0.0038, 0.0059, 0.0099]
        """
        self.fitted.table.check_held("a number for each row", WRITTEN)
        fit = model_b(self.fitted.claim, self._read(correlation))
        values = self.fitted.table.mean_by_row(predictions(self.fitted.whole, fit)[2])
        return pd.Series(values, index=self.fitted.table.index, name="cfu")

    def gradient(self, correlation: Correlation) -> pd.Series[float]:
        """Derivative of CFU by the correlation of each pair of the graph, exact if the predictor's own is.

        Parameters
        ----------
        correlation
            Where to take it: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.gradient({("race", "lsat"): 0.2}).round(3)
        race  lsat    0.04
        dtype: float64
        """
        slope = evaluate(self.fitted.claim, self._read(correlation), CFU(), gradient=True).gradient
        if slope is None:
            raise SettingError(self._no_gradient())
        pairs, position = list(self.graph.pairs), self.variables.index
        values = [slope[position(a), position(b)] + slope[position(b), position(a)] for a, b in pairs]
        return pd.Series(values, index=pd.MultiIndex.from_tuples(pairs) if pairs else None, dtype=float)

    def model_b(self, correlation: Correlation) -> StructuralModel:
        """The hypothetical truth: the same equations, refitted with errors that have this correlation.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.model_b({("race", "lsat"): 0.2}).scales.round(3).to_dict()
        {'ugpa': 0.983, 'lsat': 0.957}
        """
        claim = self.fitted.claim
        return name_model(model_b(claim, self._read(correlation), carried=True), claim.design, self.fitted.table)

    def counterfactuals(
        self,
        correlation: Correlation,
        *,
        to: str | Path | None = None,
        worst: int | None = None,
        where: Where = None,
    ) -> pd.DataFrame | None:
        """Everyone's features had their protected attribute been another, under Model B, in the table's units.

        Edges that are called fair carry factual values. Where people are moved to several levels, the frame has a row
        for each person and level.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.

        to
            A Parquet file, whose name ends in ``.parquet`` or ``.pq``, to write everyone to, batch by batch, with
            predictions and CFU beside the features; nothing is returned then. It is none of the files that are read, as
            far as they are known: those of a lazy query or a cluster are not. Default None, which gives a frame.
        worst
            Give only so many rows, those whose prediction changes most, worst first, with predictions, CFU and the
            place in the data (``row``) beside the features; of everyone, also where the data are not in memory.
        where
            Give, or write, only the rows that this function picks: of a frame with the same columns, ``factual`` and
            ``counterfactual`` predictions and ``cfu`` among them, to one truth value a row. Large data are shown to it
            batch by batch. Default everyone.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.counterfactuals({("race", "lsat"): 0.2}).round(1).head(1).to_dict("records")
        [{'race': 'non-White', 'ugpa': 2.9, 'lsat': 32.4}]
        >>> low = audit.counterfactuals({("race", "lsat"): 0.2}, where=lambda people: people["counterfactual"] < -0.7)
        >>> len(low)
        5
        """
        claim, table = self.fitted.claim, self.fitted.table
        if to is not None:
            check_written(self.fitted, to)
            if worst is not None:
                raise SettingError("both to and worst are given: give to for a file of everyone, or worst for a frame")
            write_people(self.fitted, model_b(claim, self._read(correlation)), to, where)
            return None
        if worst is not None:
            count = arguments.whole_number(worst, "worst")
            return worst_people(self.fitted, model_b(claim, self._read(correlation)), count, where)
        if where is not None:
            return some_people(self.fitted, model_b(claim, self._read(correlation)), where)
        table.check_held("a frame of everyone", WRITTEN)
        fit = model_b(claim, self._read(correlation))
        return counterfactual_frame(table, self.fitted.whole.counterfactual_rows(fit))

    # ------------------------------------------------------------ along one pair, or two

    def profile(
        self,
        pair: tuple[str, str],
        grid: Iterable[float] | None = None,
        *,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Profile:
        """CFU along a grid of correlations of one pair, all others 0: the paper's first tool.

        Parameters
        ----------
        pair
            Two names that the graph joins by ``<->``.
        grid
            Correlations strictly between -1 and 1; default 201 points from -0.99 to 0.99, or, where people have several
            counterfactual worlds, 25 from -0.9 to 0.9, and 13 where CFU has no derivatives either.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of replicates; default that of the audit.
        progress
            Called with (steps done, steps in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.profile(("race", "lsat"), [-0.2, 0, 0.2]).cfu.round(4).tolist()
        [0.0039, 0.0, 0.0039]
        """
        return profile(self.fitted, pair, grid, as_callback(progress), Replicator.of(self.fitted, bands, random_state))

    def contour(
        self,
        first: tuple[str, str],
        second: tuple[str, str],
        grid: Iterable[float] | None = None,
        *,
        others: Correlation | None = None,
        min_eigenvalue: float = 0.05,
        progress: Watch = None,
    ) -> Contour:
        """CFU over a grid of the correlations of two pairs.

        Parameters
        ----------
        first, second
            Two pairs that the graph joins by ``<->``.
        grid
            Correlations of both, strictly between -1 and 1; default 31 points from -0.9 to 0.9.
        others
            Correlation of the other pairs; default 0.
        min_eigenvalue
            Where the smallest eigenvalue of P lies below this, nothing is fitted; default 0.05.
        progress
            Called with (steps done, steps in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> text = "race -> ugpa, lsat; race <-> lsat; race <-> ugpa"
        >>> graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.contour(("race", "lsat"), ("race", "ugpa"), [0, 0.2]).cfu.round(4).tolist()
        [[0.0, 0.0039], [0.0011, 0.0094]]
        """
        held = self._read({} if others is None else others)
        return contour(self.fitted, first, second, grid, held, min_eigenvalue, as_callback(progress))

    # ------------------------------------------------------------ within a budget

    def worst_case(
        self,
        p_max: float,
        *,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> WorstCase:
        """Find the largest CFU within a budget: the paper's second tool.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        budget
            ``"pairwise"`` (default), which is `Pairwise`: no pair's correlation exceeds p_max in size; ``"spectral"``,
            which is `Spectral`: all pairs together; ``"single cause"``, which is `SingleCause`: one hidden cause that
            explains at most the share p_max of any error; or such a value with options of its own.
        search
            A `Search`, default ``Search()``: 8 starts, global.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of the scan, of random starts and of replicates; default that of the audit.
        progress
            Called with (ascents done, ascents planned); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> text = "race -> ugpa, lsat; race <-> lsat; race <-> ugpa"
        >>> graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
        >>> round(audit.worst_case(0.2).value, 4), round(audit.worst_case(0.2, budget="spectral").value, 4)
        (0.0094, 0.005)
        >>> opposite = fs.Pairwise(bounds={("race", "lsat"): (0, 1), ("race", "ugpa"): (-1, 0)})
        >>> round(audit.worst_case(0.2, budget=opposite).value, 4)
        0.0039
        """
        solve = Solver.of(self.fitted, budget, search, random_state)
        worst, replicator = (
            solve(p_max, progress=as_callback(progress)),
            Replicator.of(self.fitted, bands, random_state),
        )
        return worst if replicator is None else replace(worst, estimate=with_limits(replicator, solve, [worst])[0])

    def certificate(
        self,
        p_max: float,
        *,
        budget: Budget | str = "pairwise",
        gap: float = 0.01,
        cells: int = CELLS,
        search: Search | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Certificate:
        """Bound the largest CFU within a budget from above, for at most three pairs that are free.

        The correlations that the budget allows are divided into cells, and cells into smaller ones where it matters.
        Where equations and predictor are polynomials and all features numbers, Model B is enclosed all over each cell
        and the bound is proved. Otherwise it is estimated from how fast derivatives change, and the result says so.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        budget
            ``"pairwise"`` (default), ``"spectral"``, or a `Pairwise` or `Spectral` with options of its own.
        gap
            How close, relative to the largest CFU found, the bound is to come, default 0.01.
        cells
            How many cells to look at before giving up, default 20,000.
        search
            A `Search` for the worst case, default ``Search()``.
        random_state
            Seed of that search; default that of the audit.
        progress
            Called with (cells done, cells at most); True shows a bar, False none. Default: a bar on a terminal or in
            a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
        >>> audit.certificate(0.2)
        <Certificate: CFU 0.003933 found, at most 0.003966; summary() says more>
        """
        solve = Solver.of(self.fitted, budget, search, random_state)
        return certificate(self.fitted, solve, p_max, gap, cells, as_callback(progress))

    def curve(
        self,
        p_max: Sequence[float],
        *,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Curve:
        """Find the worst case for each p_max, each search starting also from the solution of the one before.

        Parameters
        ----------
        p_max
            The sizes of the budget, each from 0 up to, but not including, 1.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of the scan, of random starts and of replicates; default that of the audit.
        progress
            Called with (budgets done, budgets in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.curve([0, 0.1, 0.2]).to_frame()["cfu"].round(4).tolist()
        [0.0, 0.001, 0.0039]
        """
        solve = Solver.of(self.fitted, budget, search, random_state)
        return curve(self.fitted, p_max, solve, as_callback(progress), Replicator.of(self.fitted, bands, random_state))

    def breaking_point(
        self,
        level: float | str = "blind",
        *,
        definition: str = SAME_P,
        highest: float = 0.99,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> BreakingPoint:
        """Find the smallest p_max whose worst case reaches a level: a number, or the name of a baseline.

        Parameters
        ----------
        level
            A CFU, or the name of a baseline, default ``"blind"``.
        definition
            What the name of a baseline means. ``"same P"`` (default): its own CFU at the same correlation; ``"paper"``:
            its `unfairness`, a distance from the fair predictor, whatever the correlation.
        highest
            The largest p_max to try, default 0.99.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of the scan, of random starts and of replicates; default that of the audit.
        progress
            Called with (searches done, searches planned); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> print(audit.breaking_point(0.01))
        The worst case reaches 0.01 at p_max = 0.3142 (pairwise budget).
        """
        solve = Solver.of(self.fitted, budget, search, random_state)
        replicator = Replicator.of(self.fitted, bands, random_state)
        return breaking_point(self.fitted, level, definition, highest, solve, as_callback(progress), replicator)

    def cause_contour(
        self,
        attribute_shares: Iterable[float] | None = None,
        feature_shares: Iterable[float] | None = None,
        baseline: str | None = None,
        *,
        search: Search | None = None,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> CauseContour:
        """The worst that one hidden cause can do, by the shares of errors that it explains.

        Parameters
        ----------
        attribute_shares
            Largest shares of the variance of the protected attribute's error; default eight from 0 to 0.9.
        feature_shares
            Largest shares of the variance of any other error; default seven from 0 to 0.4.
        baseline
            The one to compare with at the same correlation; default ``"blind"``.
        search
            A `Search`, default ``Search(starts=2)``: each search sets out from what its neighbours have found.
        random_state
            Seed of the scans; default that of the audit.
        progress
            Called with (searches done, searches planned); default nobody.

        Examples
        --------
        >>> import fairstress as fs
        >>> text = "race -> ugpa, lsat; race <-> lsat; race <-> ugpa; ugpa <-> lsat"
        >>> graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
        >>> audit.cause_contour([0.2, 0.9], [0.05, 0.2]).as_unfair.astype(int)
        array([[0, 0],
               [0, 1]])
        """
        return cause_contour(self.fitted, attribute_shares, feature_shares, baseline, search, random_state, progress)

    def bounds(
        self,
        functional: Functional | Callable[[pd.DataFrame], Any],
        p_max: float,
        *,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> tuple[WorstCase, WorstCase]:
        """Find the smallest and the largest value of a functional of Model B within a budget.

        Parameters
        ----------
        functional
            What `cfu_of_group`, `flips`, `effect` or `coefficient` gives, or any function from the frame of
            `counterfactuals` to a number. The latter, and `flips`, are searched without derivatives: for few pairs.
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of the scan, of random starts and of replicates; default that of the audit.
        progress
            Called with (searches done, 2); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Returns
        -------
        tuple of WorstCase
            Lower and upper.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, reference="White")
        >>> lower, upper = audit.bounds(audit.effect("lsat"), 0.2)
        >>> print(f"{lower.value:.1f} to {upper.value:.1f}")
        -6.6 to -2.8
        """
        replicator = Replicator.of(self.fitted, bands, random_state)
        return bounds(self.fitted, functional, p_max, budget, search, random_state, as_callback(progress), replicator)

    def effects(
        self,
        p_max: float,
        *,
        level: Any = None,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        bands: Bootstrap | int | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> pd.DataFrame:
        """Direct, indirect and total effects of the protected attribute on each feature, with bounds within a budget.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        level
            Where the effect leads, from the reference; default the other level, where there are two.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        bands
            Limits from replicates of the data: how many to draw, or a `Bootstrap` value; default none.
        random_state
            Seed of the scan, of random starts and of replicates; default that of the audit.
        progress
            Called with (searches done, searches in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Returns
        -------
        DataFrame
            One row per feature and kind: ``feature``, ``effect``, ``model_a``, the effect under Model A, and ``low``
            and ``high``, the smallest and the largest within the budget, in the feature's units.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, reference="White")
        >>> print(audit.effects(0.2).query("effect == 'total'").round(2).to_string(index=False))
        feature effect  model_a   low  high
           ugpa  total    -0.21 -0.21 -0.21
           lsat  total    -4.70 -6.59 -2.82
        """
        replicator = Replicator.of(self.fitted, bands, random_state)
        return effects(self.fitted, p_max, level, budget, search, random_state, as_callback(progress), replicator)

    def frontier(
        self,
        p_max: float,
        weights: Sequence[float] = WEIGHTS,
        *,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Frontier:
        """Trade accuracy against the worst-case CFU within a budget.

        For each weight, among the predictors with the audited one's inputs, degree and penalty, the one with the
        smallest mean squared error, plus penalty per person, plus weight times worst-case CFU. Weight 0 is the audited
        predictor. For a two-valued outcome it is the mean deviance, and the audit must be on the scale of log-odds.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        weights
            What a unit of worst-case CFU costs in units of mean squared error (or mean deviance), default 0, 1, 3, 10,
            30 and 100; 0 is always among them.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        random_state
            Seed of the scan and of random starts; default that of the audit.
        progress
            Called with (weights done, weights in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
        >>> frame = fs.datasets.simulate(graph, 500, random_state=0).frame
        >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1)
        >>> points = audit.frontier(0.3, [1, 10]).to_frame()
        >>> print(points[["predictor", "weight", "r2", "unfairness"]].head(3).round(3).to_string(index=False))
        predictor  weight    r2  unfairness
             fair     0.0 0.595       0.206
           robust     1.0 0.584       0.133
           robust    10.0 0.455       0.017
        """
        solver = Solver.of(self.fitted, budget, search, random_state)
        return frontier(self.fitted, p_max, weights, solver, as_callback(progress))

    def robust(
        self,
        p_max: float,
        weight: float,
        *,
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        random_state: int | None = None,
        progress: Watch = None,
    ) -> Audit:
        """Give the same audit with the robust predictor of one weight in place of the fair one.

        Model A, its residuals and the baselines stay; the baselines' unfairness is still their distance from the fair
        predictor, so that levels are those of the first audit. `robust_predictor` says how the predictor was found.

        Parameters
        ----------
        p_max
            The size of the budget, from 0 up to, but not including, 1.
        weight
            What a unit of worst-case CFU costs in units of mean squared error (or mean deviance), best read off a
            `frontier`. 0 is the fair predictor: the same audit.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        random_state
            Seed of the scan and of random starts; default that of the audit.
        progress
            Called with (searches done, searches planned); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("a -> x, z; a <-> x", protected="a", outcome="y")
        >>> frame = fs.datasets.simulate(graph, 500, random_state=0).frame
        >>> audit = fs.Audit.fit(frame, graph, degrees={"x": 1, "z": 1}, penalty=0, predictor_degree=1)
        >>> round(audit.worst_case(0.3).value, 3), round(audit.robust(0.3, 10).worst_case(0.3).value, 3)
        (0.206, 0.017)
        """
        return self._made_robust(Robust(p_max, weight, budget, search), random_state, as_callback(progress))

    # ------------------------------------------------------------ what can be bounded

    def cfu_of_group(self, level: Any, to: Any = None) -> Functional:
        """CFU of one group, or of those in it who are moved to another level; for `bounds`.

        Parameters
        ----------
        level
            Level of the protected attribute that people have.
        to
            Level that they are moved to; default all that they are moved to.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> lower, upper = audit.bounds(audit.cfu_of_group("White"), 0.2)
        >>> round(upper.value, 4)
        0.0039
        """
        return group_cfu(self.fitted.table, level, to)

    def relative_cfu(self, baseline: str = "blind") -> Functional:
        """CFU less that of a baseline at the same correlation; for `bounds` and `estimate`.

        Parameters
        ----------
        baseline
            Name of a baseline, default ``"blind"``.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse(
        ...     "race -> ugpa, lsat; ugpa -> lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", max_degree=1, random_state=0)
        >>> low, high = audit.bounds(audit.relative_cfu("blind"), 0.2)
        >>> f"{low.value:.3f} to {high.value:.3f}"
        '-0.113 to -0.029'
        """
        return RelativeCFU(read_baseline(baseline, self.baselines).claim, f"CFU less that of the baseline {baseline}")

    def flips(self, threshold: float, *, direction: str = EITHER, group: Any = None) -> Functional:
        """Share of people whose decision, prediction at or above a threshold, the counterfactual turns; for `bounds`.

        Parameters
        ----------
        threshold
            In the outcome's units; a probability where the outcome has two values.
        direction
            ``"gained"`` where no turns to yes in the counterfactual, ``"lost"`` where yes turns to no, or ``"either"``
            (default).
        group
            Level of the protected attribute: the share among those who have it; default everyone.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> lower, upper = audit.bounds(audit.flips(0.1), 0.2)
        >>> round(lower.value, 3), round(upper.value, 3)
        (0.0, 0.122)
        """
        return flips(self.fitted.table, threshold, direction, group, self.settings.predictor_scale)

    def effect(self, feature: str, kind: str = TOTAL, *, level: Any = None, of: Any = None) -> Functional:
        """Mean effect on a feature, in its units, of moving everyone from the reference level to another; for `bounds`.

        For a numeric protected attribute: of moving everyone by its shift. For an ordered feature: the effect on its
        mean score, which is the level where levels are numbers, otherwise its position from 0 on.

        Parameters
        ----------
        feature
            Name of a feature.
        kind
            ``"total"`` (default): along all paths; ``"direct"``: along the edge from the protected attribute alone,
            other parents as observed; ``"indirect"``: total less direct.
        level
            Where the effect leads; default the other level, where there are two.
        of
            A level of an ordered feature: give the effect on the share of people who have it; default the mean score.

        Examples
        --------
        >>> import fairstress as fs
        >>> text = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
        >>> graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, reference="White")
        >>> lower, upper = audit.bounds(audit.effect("lsat", "direct"), 0.3)
        >>> print(f"{lower.value:.1f} to {upper.value:.1f}")
        -5.0 to -3.4
        """
        return effect(self.fitted.table, self.fitted.claim, feature, kind, level, of)

    def coefficient(self, feature: str, term: str) -> Functional:
        """A weight of a feature's equation, in the table's units per unit of the term; for `bounds`.

        Parameters
        ----------
        feature
            Name of a feature.
        term
            Name of a term of its equation, such as ``"ugpa"`` or ``"race*ugpa"``. Features enter an equation less their
            mean; the protected attribute as -1/+1 or as it is.

        Examples
        --------
        >>> import fairstress as fs
        >>> text = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
        >>> graph = fs.CausalGraph.parse(text, protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> lower, upper = audit.bounds(audit.coefficient("lsat", "ugpa"), 0.3)
        >>> print(f"{lower.value:.1f} to {upper.value:.1f}")
        -1.3 to 6.5
        """
        return coefficient(self.fitted.table, self.fitted.claim, feature, term)

    # ------------------------------------------------------------ who

    def people(self, correlation: Correlation, *, threshold: float | None = None) -> People:
        """Everyone's factual and counterfactual features and predictions, in the table's units, worst first.

        Parameters
        ----------
        correlation
            Of the errors: ``{pair: number}``, a frame, or an array in the order of `variables`. Pairs that are not
            named are 0; ``{}`` is Model A.
        threshold
            Say also whose decision, prediction at or above this, the counterfactual turns; default no decisions.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> groups = audit.people({("race", "lsat"): 0.2}, threshold=0.1).by_group()
        >>> print(groups[["people", "change", "flips"]].round(3).reset_index().to_string(index=False))
             race  people  change  flips
            White 18285.0  -0.063  0.106
        non-White  3506.0   0.063  0.089
        """
        return people(self.fitted, model_b(self.fitted.claim, self._read(correlation)), threshold)

    # ------------------------------------------------------------ how strong

    def benchmarks(
        self,
        *,
        columns: Any = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        pairs: Iterable[tuple[str, str]] | str | None = None,
        multiples: Sequence[float] = (1, 2, 3),
    ) -> Benchmarks:
        """Measure the error correlation that omitting observed variables would induce: benchmarks for hidden ones.

        Equations are fitted by least squares, that of a two-valued protected attribute by probit, with the audit's
        degrees and without penalty: what a variable explains is a fact about the data. What is measured: every variable
        of the graph that is a parent of both ends of a pair, the protected attribute among them, or, of a pair with the
        attribute, a parent of the feature that the attribute does not cause; every other column of the table; and the
        groups that are given. Columns that cannot be compared are in ``skipped``, with the reason.

        Parameters
        ----------
        columns
            Names of further columns of the table, ``[]`` for none, or a table of columns with the audited rows in the
            same order, such as ``frame[["age"]]``. Each is taken for a cause of every variable in a pair, of the
            protected attribute only if a pair names it. Default: all columns that the graph does not name.
        groups
            ``{name: variables}`` to be omitted together; default none.
        pairs
            Pairs that the graph joins by ``<->``, those with the protected attribute among them; default all of which
            it is not proved that they cannot matter; ``"all"`` has those too.
        multiples
            How many times as strong as the observed variable the hidden causes of the result are; default 1, 2 and 3.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> ugpa, lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> audit.benchmarks(columns=["sex"]).causes().round(3)
          benchmark  share_race  share_ugpa  share_lsat  largest
        0       sex       0.012       0.023       0.003    0.023
        """
        return benchmarks(self.fitted, columns, groups, pairs, multiples)

    # ------------------------------------------------------------ show

    def summary(self) -> str:
        """Say in plain words, and at most 25 lines, what the audit comes to.

        How much would have to be hidden is sought within a few budgets, which takes some seconds; where people have
        several counterfactual worlds it is left to `report`. `details` says what was assumed and fitted.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, people="students", random_state=0)
        >>> print(audit.summary().splitlines()[0])
        Would this prediction be the same if race were different?
        """
        from fairstress.report.text.brief import audit_brief

        return audit_brief(self, None if self.fitted.claim.takes_long else quick_conclusion(self.fitted))

    def details(self) -> str:
        """Say in prose what was assumed and fitted: models, predictors, kinds of columns, notes.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1)
        >>> print(audit.details().splitlines()[0])
        Audit of a predictor of zfya for counterfactual fairness with respect to race
        """
        from fairstress.report.text.audit import audit_summary

        return audit_summary(self)

    def report(
        self,
        path: str | Path | None = None,
        p_max: float | None = None,
        *,
        reason: str = "",
        budget: Budget | str = "pairwise",
        search: Search | None = None,
        sizes: Sequence[float] | None = None,
        grid: Sequence[float] | None = None,
        profiles: Sequence[Profile] | None = None,
        levels: Mapping[str, tuple[float, str]] | None = None,
        threshold: float | None = None,
        columns: Any = None,
        bands: Bootstrap | int | None = None,
        thorough: bool = False,
        people: bool = False,
        labels: bool = False,
        smallest_group: int = SMALLEST_GROUP,
        source: Mapping[str, str] | None = None,
        progress: Watch = None,
    ) -> ReportData:
        """Write a report that people can read: one HTML file with everything in it.

        Parameters
        ----------
        path
            Where to write it; default nowhere, which only collects what it would show.
        p_max
            Size of the budget at which details are shown, default 0.3.
        reason
            Why that size; default none.
        budget
            ``"pairwise"`` (default), ``"spectral"``, ``"single cause"``, or a `Pairwise`, `Spectral` or `SingleCause`
            value with options of its own.
        search
            A `Search`, default ``Search()``.
        sizes
            The p_max of each point of the curve; default 21 from 0 to 0.6, or 7 where people have several
            counterfactual worlds.
        grid
            Correlations of each pair's profile; default 49 from -0.96 to 0.96, or, where people have several
            counterfactual worlds, those of `profile`.
        profiles
            Profiles that are known already; default all pairs are profiled along ``grid``.
        levels
            What you call unacceptable, ``{name: (CFU, reason)}``; default the baselines alone.
        threshold
            Say whose decision, prediction at or above this, the counterfactual turns; default no decisions.
        columns
            Columns outside the graph to compare hidden causes with, as `benchmarks` takes them; default all that the
            table has.
        bands
            Limits of the curve and of breaking points from replicates of the data: how many to draw, or a `Bootstrap`
            value; default none.
        thorough
            Whether to ask the same question with other degrees, penalties, seeds and halves of the rows too, and what
            one hidden cause would have to explain where people have several counterfactual worlds, and to search the
            worst case within each size of the curve; default False, since it takes several times as long: about five
            sizes are searched, and between them the worst case is followed from both sides.
        people
            Whether the page and saved results show the people whose predictions move most, with their features;
            default False, since that may tell who they are.
        labels
            Whether they show their row labels too, which may name them; default False.
        smallest_group
            How many people a mean, share or quantile on the page and in saved results is about at least, default 10;
            groups of fewer, and those by which theirs could be told, are left out. 1 leaves out nothing.
        source
            ``file`` and ``sha256`` of the data, for the record; default none.
        progress
            Called with (steps done, steps in all); True shows a bar with the time left, False none. Default: a
            bar on a terminal or in a notebook, for what takes longer than a second.

        Returns
        -------
        ReportData
            What was found.

        Examples
        --------
        >>> import fairstress as fs
        >>> graph = fs.CausalGraph.parse("race -> ugpa, lsat; race <-> lsat", protected="race", outcome="zfya")
        >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, max_degree=1, random_state=0)
        >>> audit.report(p_max=0.2, sizes=[0, 0.2], grid=[0, 0.2])
        <ReportData of zfya for race: pairwise budget, p_max = 0.2, worst CFU 0.003933; summary() says more>
        """
        from fairstress.report.data import collect
        from fairstress.report.html.page import template, write_page
        from fairstress.report.json import report_results

        sharing = Sharing(people, labels, smallest_group)
        if path is not None:
            check_target(path, "the report")
            check_unread(path, "the report", self.fitted.table.files)
            template()  # now: on the command line the other processes are still starting
        data = collect(
            self,
            p_max,
            reason=reason,
            budget=budget,
            search=search,
            sizes=sizes,
            grid=grid,
            profiles=profiles,
            levels=levels,
            threshold=threshold,
            columns=columns,
            bands=bands,
            thorough=thorough,
            sharing=sharing,
            progress=as_callback(progress),
        )
        if path is not None:
            write_page(path, report_results(data, source=source), people=people, labels=labels)
        return data

    def to_markdown(self) -> str:
        """Write what was audited, and how predictor and baselines compare, as a table in Markdown."""
        from fairstress.report.text.markup import to_markdown
        from fairstress.report.text.tables import audit_table

        return to_markdown(audit_table(self))

    def to_latex(self) -> str:
        """Write what was audited, and how predictor and baselines compare, in LaTeX; it needs the package booktabs."""
        from fairstress.report.text.markup import to_latex
        from fairstress.report.text.tables import audit_table

        return to_latex(audit_table(self))

    def _repr_html_(self) -> str:
        from fairstress.report.text.markup import to_html
        from fairstress.report.text.tables import audit_table

        return to_html(audit_table(self))

    def __repr__(self) -> str:
        graph, rows = self.graph, self.fitted.table.y.size
        return f"<Audit of {graph.outcome} for {graph.protected}: {rows:,} rows; {graph}; summary() says more>"

    # ------------------------------------------------------------ inside

    def _read(self, correlation: Correlation) -> Array:
        return read_correlation(correlation, self.graph, self.variables)

    def _made_robust(self, robust: Robust, random_state: int | None, progress: Progress | None = None) -> Audit:
        made = robust_predictor(self.fitted, robust, random_state, progress)
        if made is None:
            return self
        claim = replace(self.fitted.claim, predictor=made.predictor)
        fitted = replace(self.fitted, claim=claim, fair_predictor=self.fitted.claim.predictor)
        return Audit(fitted, made)

    def _no_gradient(self) -> str:
        """Why CFU has none."""
        claim = self.fitted.claim
        if claim.measure.slope is None:
            return (
                f"CFU has no gradient, because its measure is {claim.measure.name!r}: 'squared' and 'absolute' have one"
            )
        return (
            f"CFU has no gradient, because the predictor's gradient is '{claim.predictor.gradient}': give "
            "'differences' if the predictor is smooth"
        )


def _read_keep(keep: ArrayLike) -> NDArray[np.bool_]:
    """Read one truth value per row."""
    rows = as_array(keep)
    if rows.dtype != np.bool_:
        raise SettingError(f"keep holds values of type {rows.dtype}: give True or False for each row")
    return rows


def _columns_of(frame: Any) -> list[str]:
    """Name the columns of a table, or of the first of several completed ones."""
    if is_stream(frame):
        return list(open_stream(frame).names)
    return column_names(frame[0] if isinstance(frame, list | tuple) else frame)


def _reader(frame: Any, client: Any, memory: int) -> tuple[Callable[..., Table], Any]:
    """How data become a table: from memory, in batches, or on workers."""
    if is_dask(frame):
        return read_apart, open_workers(frame, client)
    if client is not None:
        raise SettingError("client is given, but the data are no data frame of Dask's: leave it out")
    return (read_apart, InBatches(open_stream(frame), memory)) if is_stream(frame) else (read_table, frame)


def _check_whole(table: Table, own: UserPredictor | None, measure: Measure) -> None:
    """Refuse settings that need every person in memory, where a sample is held."""
    if own is not None and own.kind == ESTIMATOR and not is_fitted(own.model):
        table.check_held("a predictor that is still to be fitted", "give one that is fitted")
    if measure.of_all is not None:
        table.check_held(f"the measure {measure.name!r}", "give 'squared' or 'absolute'")


def _optional(read: Callable[[Any, str], Any], value: Any, name: str) -> Any:
    """Read an argument that may be left out."""
    return None if value is None else read(value, name)
