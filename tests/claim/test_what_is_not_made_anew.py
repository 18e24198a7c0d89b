"""Replicates of the whole procedure are refused for robust predictors and for people held out, and for no others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fairstress.claim.refit import check_refit
from fairstress.errors import SettingError


@pytest.mark.parametrize(("training", "fair_predictor"), [(object(), None), (None, object()), (object(), object())])
def test_a_robust_predictor_or_a_holdout_is_refused(training, fair_predictor):
    with pytest.raises(SettingError, match="refit is 'all', but the audit is of a robust predictor or of people who"):
        check_refit(SimpleNamespace(training=training, fair_predictor=fair_predictor))


def test_any_other_audit_is_taken():
    assert check_refit(SimpleNamespace(training=None, fair_predictor=None)) is None
