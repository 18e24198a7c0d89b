"""Estimators with scikit-learn's manners, fitted or not, as functions from inputs to predictions.

scikit-learn takes long to import, and only a user's estimators need it: it is imported where it is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fairstress.errors import SettingError
from fairstress.inputs.rows import Array


def is_estimator(predictor: Any) -> bool:
    """Whether something has a ``predict`` of its own."""
    return callable(getattr(predictor, "predict", None))


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator has learned already."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not (hasattr(estimator, "fit") and _is_known(estimator)):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def fit_clone(estimator: Any, X: Any, y: Array, weight: Array, seed: int | None, *, two_valued: bool) -> Any:
    """Fit a copy to rows that have weight; the analyst's own object is left as it is."""
    from sklearn.base import clone, is_classifier

    if is_classifier(estimator) and not two_valued:
        raise _no_regressor(estimator)
    fitted = clone(estimator)
    if seed is not None:
        open_seeds = [key for key, value in fitted.get_params().items() if _is_seed(key) and value is None]
        fitted.set_params(**dict.fromkeys(sorted(open_seeds), seed))
    counted = weight > 0
    X = X.loc[counted] if hasattr(X, "loc") else X[np.flatnonzero(counted)]  # which polars and sparse matrices know too
    target = y[counted].astype(int) if two_valued else y[counted]
    return fitted.fit(X, target, **_weights(fitted, weight[counted]))


def predictions(estimator: Any, levels: tuple[Any, Any] | None) -> Callable[[Any], Any]:
    """How the estimator predicts: the outcome, or the probability of the last of two levels."""
    if not _classifies(estimator):
        return lambda X: estimator.predict(X)
    name = type(estimator).__name__
    if levels is None:
        raise _no_regressor(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise SettingError(
            f"predictor is the classifier {name}, which gives no probabilities: wrap it in CalibratedClassifierCV, or "
            "give a function that returns its score"
        )
    column = _column(estimator, levels, name)
    return lambda X: np.asarray(estimator.predict_proba(X))[:, column]


# ---------------------------------------------------------------- what it uses


def columns_in_use(estimator: Any, shown: tuple[str, ...]) -> tuple[str, ...] | None:
    """Which of the columns shown a fitted estimator uses: none that a first step drops, nor of weight 0.

    None where it does not say how many columns it was fitted to.
    """
    from sklearn.base import OneToOneFeatureMixin

    estimator = getattr(estimator, "best_estimator_", estimator)
    if getattr(estimator, "n_features_in_", None) != len(shown):
        return None
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    if hasattr(steps[0], "transformers_"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # 1.6 tells how it will list the columns that are left over
            return _not_dropped(steps[0].transformers_, shown)
    before = [step for step in steps[:-1] if step not in (None, "passthrough")]
    if not all(isinstance(step, OneToOneFeatureMixin) for step in before):
        return shown
    kept = _felt(steps[-1], len(shown))
    return shown if kept is None else tuple(name for name, felt in zip(shown, kept, strict=True) if felt)


def _not_dropped(transformers: Any, shown: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that a ColumnTransformer hands on."""
    names, kept = np.array(shown, dtype=object), set()
    for _, transformer, columns in transformers:
        if not (isinstance(transformer, str) and transformer == "drop"):
            own = [columns] if np.ndim(columns) == 0 and not isinstance(columns, slice) else columns
            text = not isinstance(own, slice) and all(isinstance(name, str) for name in own)
            kept |= set(own if text else names[own].tolist())
    return tuple(name for name in shown if name in kept)


def _felt(model: Any, count: int) -> Any:
    """(count,) whether each input has a weight, a split or an importance; None where the model has none of these."""
    trees = [model] if hasattr(model, "tree_") else np.ravel(getattr(model, "estimators_", np.array([]))).tolist()
    if trees and all(hasattr(tree, "tree_") for tree in trees):
        return np.isin(np.arange(count), np.concatenate([tree.tree_.feature for tree in trees]))
    for name in ("coef_", "feature_importances_"):
        weights: Any = getattr(model, name, None)
        weights = weights.toarray() if hasattr(weights, "toarray") else weights
        if weights is not None and np.shape(weights)[-1:] == (count,):
            return np.asarray(weights != 0).reshape(-1, count).any(axis=0)
    return None


# ---------------------------------------------------------------- checks


def _classifies(estimator: Any) -> bool:
    """Whether it predicts classes; scikit-learn says so of its own kind only."""
    from sklearn.base import is_classifier

    return bool(is_classifier(estimator)) if _is_known(estimator) else hasattr(estimator, "classes_")


def _is_known(estimator: Any) -> bool:
    """Whether scikit-learn can say anything of it: another program's model may have a ``predict`` and nothing else."""
    return hasattr(estimator, "__sklearn_tags__")


def _no_regressor(estimator: Any) -> SettingError:
    name = type(estimator).__name__
    return SettingError(
        f"predictor is the classifier {name}, but the outcome has more than two values: give a regressor"
    )


def _column(estimator: Any, levels: tuple[Any, Any], name: str) -> int:
    """Where the outcome's last level stands among the classes."""
    classes = list(estimator.classes_)
    for wanted in (levels, (0, 1)):  # as the table has them, or coded
        if len(classes) == 2 and all(level in classes for level in wanted):
            return classes.index(wanted[1])
    raise SettingError(
        f"predictor {name} was fitted to the classes {classes}, but the outcome has {list(levels)}: fit it to these, "
        "or hand it in unfitted"
    )


def _weights(estimator: Any, weight: Array) -> dict[str, Array]:
    """The keyword that hands row weights to ``fit``; none where all rows weigh the same."""
    from sklearn.utils.validation import has_fit_parameter

    if np.ptp(weight) == 0:
        return {}
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    if not has_fit_parameter(last, "sample_weight"):
        raise SettingError(
            f"sample_weight is given, but the fit of predictor {type(last).__name__} takes no weights: hand it in "
            "fitted, or give another estimator"
        )
    return {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": weight}


def _is_seed(key: str) -> bool:
    return key == "random_state" or key.endswith("__random_state")
