"""The same fit again: with other settings, to some of the rows, or under other weights; nothing is chosen anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairstress.claim.build import Fitted, build, fixed
from fairstress.claim.holdout import judged_on
from fairstress.errors import SettingError
from fairstress.inputs.data import Table


def refit(
    fitted: Fitted,
    *,
    degrees: Mapping[str, int] | None = None,
    penalty: float | None = None,
    keep: Any = None,
) -> Fitted:
    """Fit the same with other degrees or another penalty, or to some of the rows; nothing is cross-validated anew."""
    if degrees is None and penalty is None and keep is None:
        return fitted
    table = fitted.table if keep is None else fitted.table.keep(keep)
    if keep is not None:
        table.check_kept()
    if fitted.training is not None:
        return judged_on(refit(fitted.training, degrees=degrees, penalty=penalty), table)
    settings = fitted.settings
    changed = replace(
        fixed(settings),
        degrees={**settings.degrees, **(degrees or {})},
        penalty=settings.penalty if penalty is None else penalty,
        own_penalties=settings.own_penalties if penalty is None else dict.fromkeys(settings.own_penalties, penalty),
    )
    again = build(table, changed, [], fitted.baselines)
    if fitted.fair_predictor is None:
        return again
    own = replace(again.claim, predictor=fitted.claim.predictor)
    return replace(again, claim=own, fair_predictor=again.claim.predictor)


def refit_to(fitted: Fitted, table: Table) -> Fitted:
    """Fit all of it anew to the same people under other weights."""
    return build(table, fixed(fitted.settings), [], fitted.baselines)


def check_refit(fitted: Fitted) -> None:
    """Refuse what cannot be fitted anew under other weights."""
    if fitted.training is not None or fitted.fair_predictor is not None:
        raise SettingError(
            "refit is 'all', but the audit is of a robust predictor or of people who were held out, and neither is "
            "made anew in a replicate: leave refit out"
        )
