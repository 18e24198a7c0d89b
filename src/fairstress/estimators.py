"""scikit-learn estimators: fit a counterfactually fair predictor to people, predict for others, keep the audit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from fairstress.arguments import is_list
from fairstress.audit import Audit
from fairstress.claim.evaluate import predict_people
from fairstress.errors import DataError, SettingError, show
from fairstress.inputs.data import CLASSES, NUMBER
from fairstress.inputs.frames import as_array, check_unique, column_names
from fairstress.inputs.graph import CausalGraph
from fairstress.inputs.newcomers import code_newcomers
from fairstress.inputs.rows import Array
from fairstress.inputs.supervised import check_people, graph_of, kinds_of_array
from fairstress.model.embedding import EmbeddingFactory
from fairstress.options import LOG_ODDS, Predictor, Robust


class _CounterfactuallyFair(TransformerMixin, BaseEstimator, ABC):
    """What the two estimators share: they read people, fit an audit and look at residuals."""

    audit_: Audit
    graph_: CausalGraph
    n_features_in_: int

    def __init__(
        self,
        graph: CausalGraph | str | None = None,
        *,
        protected: str | int | tuple[str, ...] | None = None,
        outcome: str | None = None,
        columns: Sequence[str] | None = None,
        reference: Any = None,
        shift: float | None = None,
        contrast: Any = None,
        kinds: Mapping[str, Any] | None = None,
        degrees: Mapping[str, int] | None = None,
        penalty: float | None = None,
        predictor_degree: int | None = None,
        predictor_penalty: float | None = None,
        max_degree: int = 3,
        penalties: Sequence[float] | None = None,
        cv: Any = 5,
        penalise_constant: bool = False,
        embedding: EmbeddingFactory | None = None,
        mixed: str = "residual",
        ordered_residuals: str = "expected",
        robust: Robust | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        people: str = "people",
        higher_is: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.graph = graph
        self.protected = protected
        self.outcome = outcome
        self.columns = columns
        self.reference = reference
        self.shift = shift
        self.contrast = contrast
        self.kinds = kinds
        self.degrees = degrees
        self.penalty = penalty
        self.predictor_degree = predictor_degree
        self.predictor_penalty = predictor_penalty
        self.max_degree = max_degree
        self.penalties = penalties
        self.cv = cv
        self.penalise_constant = penalise_constant
        self.embedding = embedding
        self.mixed = mixed
        self.ordered_residuals = ordered_residuals
        self.robust = robust
        self.labels = labels
        self.units = units
        self.people = people
        self.higher_is = higher_is
        self.random_state = random_state

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit Model A and the predictor on its residuals."""

    # ------------------------------------------------------------ what scikit-learn asks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # residuals are float64
        tags.input_tags.string = True  # in a frame; "categorical" would be arrays of codes, which are numbers here
        return tags

    def transform(self, X: Any) -> Array:
        """Give what the predictor looks at: Model A's residuals of new people, on the standardised scale, (n, m).

        Columns are named by `get_feature_names_out`, and `set_output` gives them as a frame.

        Parameters
        ----------
        X
            A table or array with the columns of the fit.
        """
        check_is_fitted(self)
        return self._look(self._frame(X, reset=False))[1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Give the names of what `transform` gives.

        Parameters
        ----------
        input_features
            There for scikit-learn, and not used.
        """
        check_is_fitted(self)
        return np.array(self.audit_.fitted.claim.view.names, dtype=object)

    # ------------------------------------------------------------ inside

    def _fit(self, X: Any, y: NDArray[Any], name: Any, sample_weight: ArrayLike | None, outcome_type: str) -> Self:
        """Fit the audit of people X with outcome y, which is called ``name`` unless the parameters say otherwise."""
        frame = self._frame(X, reset=True)
        check_consistent_length(frame, y)
        if y.size == 1:
            raise DataError("X has 1 sample: there is nobody to compare with")
        graph = graph_of(self.graph, self._names, protected=self.protected, outcome=self.outcome, y_name=name)
        check_people(frame, graph)
        with_outcome = _beside(frame, graph.outcome, y)
        own = ("graph", "protected", "outcome", "columns")
        settings = {key: value for key, value in self.get_params(deep=False).items() if key not in own}
        settings["cv"] = _splits(self.cv, y)
        if not nw.dependencies.is_into_dataframe(X):
            settings["kinds"] = kinds_of_array(self.kinds, graph)
        if self.robust is not None and outcome_type == CLASSES:
            settings["predictor"] = Predictor(scale=LOG_ODDS)  # where a robust predictor can be found
        by_position = None if sample_weight is None else np.asarray(sample_weight)  # as scikit-learn takes X and y
        weights: dict[str, Any] = {"sample_weight": by_position, "outcome_type": outcome_type}
        self.audit_ = Audit.fit(with_outcome, graph, **weights, **settings, progress=False)
        self.graph_ = graph
        return self

    def _frame(self, X: Any, *, reset: bool) -> Any:
        """Give X as a frame with the names that the fit saw; scikit-learn checks columns and their number."""
        if not nw.dependencies.is_into_dataframe(X):
            return self._frame_of_array(X, reset=reset)
        check_unique(column_names(X))
        native = nw.from_native(X, eager_only=True)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            self._names = tuple(str(name) for name in native.columns)
            return X
        if list(native.columns) == list(self._names):
            return X
        return native.rename(dict(zip(native.columns, self._names, strict=True))).to_native()

    def _frame_of_array(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Give an array's columns the names that the parameters say, or that the fit saw."""
        if nw.dependencies.is_polars_lazyframe(X):
            raise DataError("X is a LazyFrame, whose rows are not there yet: collect it first")
        try:
            values = validate_data(self, X, reset=reset, dtype=np.float64)
        except OverflowError as problem:
            raise DataError(f"X holds a number that is too large ({problem}): give it in another unit") from None
        if reset:
            self._names = _names_of_array(self.columns, values.shape[1])
        return pd.DataFrame(values, columns=list(self._names))

    def _look(self, frame: Any) -> tuple[Array, Array]:
        """Give (n,) predictions and (n, m) what they rest on, for people coded as the fit's own were."""
        fitted = self.audit_.fitted
        predicted, inputs = predict_people(fitted.claim, code_newcomers(frame, fitted.table))
        if fitted.settings.predictor_scale == LOG_ODDS:
            return np.asarray(special.expit(predicted)), inputs
        return predicted + fitted.table.origin, inputs


class CounterfactuallyFairRegressor(RegressorMixin, _CounterfactuallyFair):
    """Regression on the residuals of Model A: counterfactually fair under the graph, errors independent.

    What becomes of that where the errors are correlated, `audit_` says.

    Parameters
    ----------
    graph
        A `CausalGraph` whose outcome is not a column of X, or the text of one (`protected` must then be given).
        Without it, the protected attribute is taken for a possible cause of every other column, each two of which
        may share hidden causes, and nothing hidden for a cause of the protected attribute. Columns of more than two
        values without an order cannot be effects of it: order them by `kinds`, or draw a graph.
    protected
        Name or position of the protected column of X, or a tuple of names. Of a `CausalGraph`, it is known.
    outcome
        What a graph that is text calls y; default the name of y, if it is a named series.
    columns
        Names of the columns where X is an array; without them ``x0, x1, ...``. Frames have their own.
    reference, shift, contrast
        How the protected attribute is coded, and what its counterfactual values are: see `Audit.fit`.
    kinds
        What columns are to be taken for, such as ``{"income": "log", "grade": ["low", "mid", "high"]}``: see
        `Audit.fit`. Default: in a frame, as the columns tell, where two values, ordered categoricals and whole numbers
        with at most ten distinct values are levels, and new people must have one of them; in an array, every feature
        is a number.
    degrees, penalty, predictor_degree, predictor_penalty
        Degrees of the structural equations by feature, their ridge penalty, and the same for the predictor; what is
        not given is chosen by cross-validation within `fit`.
    max_degree, penalties, cv
        What cross-validation chooses from, and its number of folds, whatever the order of rows; ``"contiguous"`` or
        ``("contiguous", 10)`` for folds of neighbouring rows; or a splitter that tests every row once, such as
        ``KFold(5, shuffle=True)``, or its splits, such as ``list(GroupKFold(5).split(X, y, schools))``.
    penalise_constant, embedding, mixed, ordered_residuals, random_state
        See `Audit.fit`.
    robust
        A `Robust` value, such as ``Robust(p_max=0.3, weight=10)``: predict by the robust predictor that it describes. A
        classifier's audit is then on the scale of log-odds. Default: the fair predictor.
    labels, units, people, higher_is
        Words in which results of the audit speak of columns and people: see `Audit.fit`. They change no number.

    Attributes
    ----------
    audit_ : Audit
        The claim that the predictor is counterfactually fair, ready to be stressed. It holds the training data, and so
        does a pickle of the estimator.
    graph_ : CausalGraph
        The graph that was used.
    n_features_in_, feature_names_in_
        Number of columns of X and, where it was a frame, their names.

    Examples
    --------
    >>> import fairstress as fs
    >>> frame = fs.datasets.law_school()
    >>> X, y = frame[["race", "ugpa", "lsat"]], frame["zfya"]
    >>> model = fs.CounterfactuallyFairRegressor("race -> ugpa, lsat; ugpa -> lsat; race <-> lsat", protected="race")
    >>> model.fit(X, y).predict(X.head(3)).round(2)
    array([ 0.11, -0.02, -0.24])
    >>> f"{model.audit_.cfu({('race', 'lsat'): 0.2}):.2g}"
    '0.0043'
    """

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit Model A and the predictor on its residuals.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow table, whose columns may be numbers, text, booleans or categories, or a numeric
            array whose columns are taken by position. Columns that the graph does not name are not used. Missing values
            are refused: put an imputer before.
        y
            The outcome, one number per row.
        sample_weight
            One weight per row; weight 2 is the row twice.
        """
        values = _as_numbers(_read_outcome(self, y))
        return self._fit(X, values, getattr(y, "name", None), sample_weight, NUMBER)

    def predict(self, X: Any) -> Array:
        """Predict the outcome of new people, who are coded and scaled as the people of the fit were; (n,).

        Parameters
        ----------
        X
            A table or array with the columns of the fit.
        """
        check_is_fitted(self)
        return self._look(self._frame(X, reset=False))[0]


class CounterfactuallyFairClassifier(ClassifierMixin, _CounterfactuallyFair):
    """Logistic regression on the residuals of Model A: counterfactually fair under the graph, errors independent.

    For an outcome of two classes; ``classes_`` has them in sorted order. Parameters and other attributes are those
    of `CounterfactuallyFairRegressor`.

    Examples
    --------
    >>> import fairstress as fs
    >>> frame = fs.datasets.law_school()
    >>> X, y = frame[["race", "ugpa", "lsat"]], frame["first_pf"]
    >>> model = fs.CounterfactuallyFairClassifier(protected="race", max_degree=1).fit(X, y)
    >>> model.predict_proba(X.head(1)).round(2)
    array([[0.08, 0.92]])
    >>> print(model.graph_)
    race -> ugpa; race -> lsat; ugpa <-> lsat
    """

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit Model A and the logistic predictor on its residuals.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow table, whose columns may be numbers, text, booleans or categories, or a numeric
            array whose columns are taken by position. Columns that the graph does not name are not used. Missing values
            are refused: put an imputer before.
        y
            The outcome, one of two classes per row.
        sample_weight
            One weight per row; weight 2 is the row twice.
        """
        values = _read_outcome(self, y)
        check_classification_targets(values)
        self.classes_ = _two_classes(values, sample_weight)
        return self._fit(X, values, getattr(y, "name", None), sample_weight, CLASSES)

    def predict_proba(self, X: Any) -> Array:
        """Give new people's probabilities of the two classes, in the order of `classes_`, (n, 2).

        Parameters
        ----------
        X
            A table or array with the columns of the fit.
        """
        check_is_fitted(self)
        second = self._look(self._frame(X, reset=False))[0]
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the more probable class of new people, (n,).

        Parameters
        ----------
        X
            A table or array with the columns of the fit.
        """
        second = self.predict_proba(X)[:, 1] > 0.5
        return np.asarray(self.classes_[second.astype(int)])


# ---------------------------------------------------------------- checks


def _splits(cv: Any, y: NDArray[Any]) -> Any:
    """Let a splitter split; leave all else to `Audit.fit`."""
    if isinstance(cv, str | bytes) or not hasattr(cv, "split"):
        return cv
    return list(cv.split(np.zeros((y.size, 1)), y))


def _names_of_array(columns: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if columns is None:
        return tuple(f"x{i}" for i in range(count))
    if not is_list(columns):
        raise SettingError(f"columns is {show(columns)}: give a list of names, one for each column of X")
    names = tuple(str(name) for name in columns)
    if len(names) != count:
        raise SettingError(f"columns has {len(names)} names, but X has {count} columns: give one name for each")
    return names


def _read_outcome(estimator: Any, y: Any) -> NDArray[Any]:
    """Check one value per row; a column is taken for a row of values with scikit-learn's warning."""
    if y is None:
        raise DataError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    values = np.asarray(column_or_1d(y, warn=True))
    assert_all_finite(values, input_name="y")
    return values


def _as_numbers(y: NDArray[Any]) -> Array:
    try:
        return y.astype(float)
    except (TypeError, ValueError, OverflowError) as problem:
        raise DataError(f"y holds something that is not a number ({problem}): give one number per row") from None


def _two_classes(y: NDArray[Any], sample_weight: ArrayLike | None) -> NDArray[Any]:
    """Give the two classes in sorted order."""
    classes = np.unique(y)
    if classes.size > 2:
        raise DataError(
            f"Only binary classification is supported. The type of the target is multiclass: y has {classes.size} "
            "classes; merge classes, or fit one class against the rest"
        )
    weight = np.ones(y.size) if sample_weight is None else as_array(sample_weight)
    numbers = weight.shape == y.shape and np.issubdtype(weight.dtype, np.number)  # `Audit.fit` refuses all else
    counted = np.unique(y[weight > 0]) if numbers and weight.any() else classes
    if counted.size == 1:
        raise DataError(
            f"y has one class, {counted.tolist()[0]!r}, among rows with weight: there is nothing to predict"
        )
    return np.asarray(classes)


def _beside(frame: Any, name: str, y: NDArray[Any]) -> Any:
    """Put the outcome beside the columns of a frame, whose row labels stay."""
    table = nw.from_native(frame, eager_only=True)
    if isinstance(frame, pd.DataFrame):
        return frame.assign(**{name: y})
    series = nw.new_series(name, y.tolist(), native_namespace=nw.get_native_namespace(frame))
    return table.with_columns(series).to_native()
