"""The audited predictor, on what it looks at, and the baselines beside it, chosen and fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairstress.claim.claim import Baseline, Claim
from fairstress.claim.spec import Settings
from fairstress.errors import SettingError
from fairstress.inputs.data import Table
from fairstress.inputs.rows import Array, Rows
from fairstress.model.design import PLAINLY, Describer, Design, count_values
from fairstress.model.embedding import Input
from fairstress.model.fit import Fit
from fairstress.model.predictor import AnyPredictor, PolynomialPredictor, Source, fit_predictor, on_log_odds
from fairstress.model.selection import choose_predictor
from fairstress.model.size import Offer, affordable, check_memory
from fairstress.model.tree import model_residuals
from fairstress.model.user_predictor import fit_user_predictor
from fairstress.model.view import Lens, RawColumns, View
from fairstress.options import LOG_ODDS
from fairstress.progress import Steps


def fit_audited(
    table: Table, settings: Settings, view: View, model_a: Fit, folds: Sequence[Rows]
) -> tuple[Lens, AnyPredictor]:
    """What the audited predictor looks at, and the predictor, fitted."""
    own = settings.user_predictor
    if own is None:
        if not view.entries:
            raise SettingError(
                "ordered_residuals is 'leave out', which leaves the predictor nothing to look at: give 'expected'"
            )
        return view, _scaled(_polynomial(table, settings, folds, _residuals_of(table, view, model_a)), settings)
    lens = own.lens(view, table)
    return lens, _scaled(fit_user_predictor(own, table, lens, _gatherer(lens, view.design, model_a)), settings)


def _polynomial(table: Table, settings: Settings, folds: Sequence[Rows], source: Source) -> PolynomialPredictor:
    """Choose and fit the built-in predictor on some inputs."""
    options: dict[str, bool] = {
        "is_logistic": table.outcome_levels is not None,
        "penalise_constant": settings.penalise_constant,
    }
    degrees, penalties = predictor_degrees(table, settings, source.inputs), settings.predictor_penalties_to_try
    degree, penalty, tried = choose_predictor(folds, source, degrees, penalties, **options)
    return replace(fit_predictor(table.rows, source, degree, penalty, **options), tried=tried)


def predictor_degrees(table: Table, settings: Settings, inputs: Sequence[Input]) -> tuple[int, ...]:
    """The degrees of a predictor of some inputs that can be afforded."""
    most = Describer(table).most_terms(inputs)
    offer = Offer(len(inputs), settings.predictor_degrees_to_try, most)
    return affordable({"predictor": offer}, settings.max_memory)["predictor"]


def check_predictor_memory(table: Table, settings: Settings, describe: Describer) -> None:
    """Refuse a given degree at which the largest baseline, of all columns, does not fit into memory."""
    if settings.predictor_degree is not None:
        inputs = sum(len(describe(name)) for name in (table.graph.protected, *table.graph.features))
        offer = Offer(inputs, (settings.predictor_degree,))
        check_memory(offer, settings.predictor_degree, "predictor_degree", settings.max_memory)


def _scaled(predictor: AnyPredictor, settings: Settings) -> AnyPredictor:
    return on_log_odds(predictor) if settings.predictor_scale == LOG_ODDS else predictor


def _residuals_of(table: Table, view: View, model_a: Fit) -> Source:
    """What a counterfactually fair predictor may look at."""
    gather = _gatherer(view, view.design, model_a)
    inputs = [
        Input(entry.name, n_values=count, level=entry.level, of=str(entry.column))
        for entry, count in zip(view.entries, _count_inputs(table.rows, gather), strict=True)
    ]
    return Source(tuple(inputs), gather)


def _count_inputs(rows: Rows, gather: Callable[[Rows], Array]) -> list[int]:
    """How many distinct values each input has; of very many rows a sample is enough where it plainly has many."""
    some = rows.some()
    counts = [count_values(column) for column in gather(some or rows).T]
    if some is not None and min(counts) <= PLAINLY:
        counts = [count_values(column) for column in np.concatenate(list(map(gather, rows.blocks()))).T]
    return counts


def _gatherer(lens: Lens, design: Design, model_a: Fit) -> Callable[[Rows], Array]:
    """How a predictor's inputs come from rows."""
    return lambda block: lens.factual(block, model_residuals(design, model_a, block))


# ---------------------------------------------------------------- baselines


def fit_baselines(
    table: Table,
    settings: Settings,
    folds: Sequence[Rows],
    claim: Claim,
    like: Mapping[str, Baseline] | None,
    steps: Steps,
) -> dict[str, Baseline]:
    """Fit the predictors that ignore the graph and measure how far they are from the audited one."""
    describe = Describer(table)
    features = tuple(tuple(describe(name)) for name in table.graph.features)
    shown = {"unconstrained": (*describe(table.graph.protected),), "blind": ()}
    baselines = {}
    for name, own in steps.each(shown.items()):
        its = settings
        if like is not None:
            its = replace(settings, predictor_degree=like[name].degree, predictor_penalty=like[name].penalty)
        baselines[name] = _baseline(table, its, folds, claim, name, own, features)
    return baselines


def _baseline(
    table: Table,
    settings: Settings,
    folds: Sequence[Rows],
    claim: Claim,
    name: str,
    own: tuple[Input, ...],
    features: tuple[tuple[Input, ...], ...],
) -> Baseline:
    lens, inputs = RawColumns.of(own, features), (*own, *(variable for its in features for variable in its))
    predictor = _polynomial(table, settings, folds, Source(inputs, lambda block: lens.factual(block, block.x)))
    itself = replace(claim, view=lens, predictor=_scaled(predictor, settings))
    distance = mean_squared_distance(itself, claim, table.rows)
    return Baseline(name, distance, predictor.r2, predictor.degree, predictor.penalty, itself)


def mean_squared_distance(first: Claim, second: Claim, rows: Rows) -> float:
    """Mean squared difference of two predictors' predictions for people as they are."""
    one, other = first.bare(), second.bare()

    def of(block: Rows) -> float:
        eps = one.residuals(block)
        return float(block.weight @ (one.predict(block, eps) - other.predict(block, eps)) ** 2)

    alone = not all(isinstance(claim.predictor, PolynomialPredictor) for claim in (first, second))
    return rows.total(of, alone=alone) / rows.n
