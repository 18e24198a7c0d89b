"""How sure: limits, and how they came about, in prose. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairstress.analyses.bands.limits import Estimate, Replication
    from fairstress.claim.claim import Context

NOTHING_MISSED = 1e-3  # of the value: a full search that finds no more than this has found the same


def percent(level: float) -> str:
    """A confidence level as text."""
    return f"{100 * level:g} %"


def limit_text(estimate: Estimate | None) -> str:
    """Say between which limits a number lies."""
    if estimate is None:
        return ""
    level = percent(estimate.replication.level)
    if estimate.lower is None:
        return f"With {level} confidence it is at most {estimate.upper:.3g}."
    return f"Its {level} interval goes from {estimate.lower:.3g} to {estimate.upper:.3g}."


def sampling_text(estimate: Estimate | None, context: Context) -> str:
    """Say what CFU may be where nothing is hidden."""
    if estimate is None or estimate.replication.refit == "all":  # which is at 0 again in every replicate
        return ""
    level = percent(estimate.replication.level)
    if context.held_out:
        upper = f"with {level} confidence at most {estimate.upper:.2g}"
        return f"With independent errors CFU is {estimate.value:.2g}, {upper}."
    if estimate.value > context.negligible:
        return (
            f"Under Model A CFU is {estimate.value:.3g}; with its sampling error, up to {estimate.upper:.2g} ({level})."
        )
    return (
        f"Under Model A CFU is 0 by construction; up to {estimate.upper:.2g} ({level}) from the sampling error of "
        "Model A."
    )


def replication_text(replication: Replication | None) -> str:
    """Say how limits came about, and what speaks against them."""
    if replication is None:
        return ""
    each = ", for the whole curve at once" if replication.simultaneous else ""
    sentences = [f"Limits ({percent(replication.level)}{each}) come from {replication.n_done} {_made(replication)}."]
    if replication.penalised:
        sentences.append("Nearly collinear terms leave no fit without penalty, so that limits leave its effect out.")
    sentences += [f"{count} more failed: {reason}" for reason, count in replication.failures.items()]
    if replication.n_checked:
        sentences.append(_checked(replication))
    return " ".join(sentences)


def _made(replication: Replication) -> str:
    if replication.normal:
        return "normal draws of Model B, with the covariance that the survey's replicate weights give"
    if replication.refit == "all":
        return "replicates, all that is fitted here fitted anew in each, so that they are about the procedure"
    return "replicates, Model A and the predictor as deployed, Model B fitted anew in each"


def _checked(replication: Replication) -> str:
    where = f"A full search in {replication.n_checked} of them found"
    if replication.largest_miss <= NOTHING_MISSED:
        return f"{where} none more extreme."
    return f"{where} worst cases up to {100 * replication.largest_miss:.2g} % of the value more extreme."
