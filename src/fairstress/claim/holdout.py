"""People who were held out: Model A and predictor are fitted to some, Model B and CFU are of the others."""

from __future__ import annotations

from dataclasses import replace

from fairstress.claim.build import Fitted, cfu_under, check_sizes, pair_places, with_context
from fairstress.claim.claim import Baseline, Claim
from fairstress.claim.evaluate import model_b, sampled
from fairstress.claim.predictors import mean_squared_distance
from fairstress.inputs.data import Table
from fairstress.model.system import make_system


def judged_on(training: Fitted, table: Table) -> Fitted:
    """Judge what was fitted to some people on others, who are coded alike.

    CFU with independent errors is then not 0: Model B is fitted to others than Model A. It stands as the floor.
    """
    check_sizes(table, training.claim.design)
    claim = _claim(training, table)
    baselines = {name: _baseline(training, baseline, claim, table) for name, baseline in training.baselines.items()}
    judged = with_context(table, training.settings, claim, baselines)
    independent = cfu_under(claim, model_b(claim, claim.model_a.correlation))
    context = replace(judged.context, floor=independent, held_out=table.n_counted)
    return replace(judged, context=context, training=training, fair_predictor=training.fair_predictor)


def _claim(training: Fitted, table: Table) -> Claim:
    """The claim with Model B of other people; the likelihood under independent errors is theirs too."""
    settings, claim = training.settings, training.claim
    moved, origin = table.protected.contrasts(table.rows)
    system = make_system(
        claim.design,
        table.rows,
        settings.penalty or 0.0,
        penalise_constant=settings.penalise_constant,
        own=settings.own_penalties,
        pairs=pair_places(training.graph, training.variables),
    )
    judged = replace(claim, rows=moved, everyone=table.rows, system=system, origin=origin)
    likelihood = model_b(judged, claim.model_a.correlation).log_likelihood
    judged = replace(judged, model_a=replace(claim.model_a, log_likelihood=likelihood))
    return sampled(judged, settings.random_state) if judged.is_mixed else judged


def _baseline(training: Fitted, baseline: Baseline, claim: Claim, table: Table) -> Baseline:
    own = replace(claim, view=baseline.claim.view, predictor=baseline.claim.predictor)
    fair = replace(claim, predictor=training.fair_predictor or claim.predictor)
    return replace(baseline, claim=own, unfairness=mean_squared_distance(own, fair, table.rows))
