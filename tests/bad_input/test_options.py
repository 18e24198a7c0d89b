"""Arguments of `Audit.fit` that no audit can be fitted with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairstress as fs
from fairstress.errors import DataError, SettingError

CASES = [
    (
        "a negative penalty",
        lambda w: w.fit(penalty=-1),
        SettingError,
        "penalty is -1: give a finite number that is not negative",
    ),
    (
        "a penalty that is text",
        lambda w: w.fit(penalty="1"),
        SettingError,
        "penalty is '1': give a finite number that is not negative",
    ),
    (
        "a penalty that is none",
        lambda w: w.fit(penalty=np.nan),
        SettingError,
        "penalty is nan: give a finite number that is not negative",
    ),
    (
        "an infinite penalty",
        lambda w: w.fit(penalty=np.inf),
        SettingError,
        "penalty is inf: give a finite number that is not negative",
    ),
    (
        "a penalty beyond all sense",
        lambda w: w.fit(penalty=1e200),
        SettingError,
        "penalty is 1e+200: give at most 1e+100, where every weight is 0 already",
    ),
    (
        "a penalty that is true",
        lambda w: w.fit(penalty=True),
        SettingError,
        "penalty is True: give a finite number that is not negative",
    ),
    (
        "a predictor penalty that is negative",
        lambda w: w.fit(predictor_penalty=-0.1),
        SettingError,
        "predictor_penalty is -0.1: give a finite number that is not negative",
    ),
    (
        "a degree of 0",
        lambda w: w.fit(degrees={"x": 0}),
        SettingError,
        "degrees['x'] is 0: give a whole number of at least 1",
    ),
    (
        "a degree of one half",
        lambda w: w.fit(degrees={"x": 1.5}),
        SettingError,
        "degrees['x'] is 1.5: give a whole number of at least 1",
    ),
    (
        "a degree of a million",
        lambda w: w.fit(degrees={"x": 10**6}),
        SettingError,
        "degrees['x'] is 1000000: give at most 50, beyond which powers leave no digits",
    ),
    (
        "degrees of a stranger",
        lambda w: w.fit(degrees={"zz": 1}),
        SettingError,
        "degrees names 'zz', which is not a feature; did you mean 'z'?",
    ),
    (
        "degrees of the outcome",
        lambda w: w.fit(degrees={"y": 1}),
        SettingError,
        "degrees names 'y', which is not a feature",
    ),
    (
        "degrees as a list",
        lambda w: w.fit(degrees=[1, 2]),
        SettingError,
        "degrees is [1, 2]: give a dict of features and degrees, such as {'lsat': 2}",
    ),
    (
        "one degree for all",
        lambda w: w.fit(degrees=2),
        SettingError,
        "degrees is 2: give a dict of features and degrees, such as {'lsat': 2}",
    ),
    (
        "a highest degree of 0",
        lambda w: w.fit(max_degree=0),
        SettingError,
        "max_degree is 0: give a whole number of at least 1",
    ),
    (
        "a highest degree of a million",
        lambda w: w.fit(max_degree=10**6),
        SettingError,
        "max_degree is 1000000: give at most 50, beyond which powers leave no digits",
    ),
    (
        "a predictor degree of 0",
        lambda w: w.fit(predictor_degree=0),
        SettingError,
        "predictor_degree is 0: give a whole number of at least 1",
    ),
    (
        "a predictor degree of 60",
        lambda w: w.fit(predictor_degree=60),
        SettingError,
        "predictor_degree is 60: give at most 50, beyond which powers leave no digits",
    ),
    (
        "no penalties",
        lambda w: w.fit(penalty=None, penalties=[]),
        SettingError,
        "penalties is empty: give at least one number",
    ),
    (
        "a negative one among penalties",
        lambda w: w.fit(penalty=None, penalties=[1, -1]),
        SettingError,
        "penalties is -1: give a finite number that is not negative",
    ),
    (
        "penalties as a number",
        lambda w: w.fit(penalty=None, penalties=3),
        SettingError,
        "penalties is 3: give a list of numbers",
    ),
    (
        "penalties as text",
        lambda w: w.fit(penalty=None, penalties="all"),
        SettingError,
        "penalties is 'all': give a list of numbers",
    ),
    (
        "one fold",
        lambda w: w.fit(cv=1),
        SettingError,
        (
            "cv is 1: give a number of folds from 2 to the number of rows, 60, or ('contiguous', 5) for folds "
            "in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "more folds than rows",
        lambda w: w.fit(cv=61),
        SettingError,
        (
            "cv is 61: give a number of folds from 2 to the number of rows, 60, or ('contiguous', 5) for folds "
            "in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "folds as text",
        lambda w: w.fit(cv="shuffled"),
        SettingError,
        (
            "cv is 'shuffled': give a number of folds from 2 to the number of rows, 60, or ('contiguous', 5) "
            "for folds in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "half a fold",
        lambda w: w.fit(cv=2.5),
        SettingError,
        (
            "cv is 2.5: give a number of folds from 2 to the number of rows, 60, or ('contiguous', 5) for "
            "folds in the order of the rows, or pairs of training and test rows"
        ),
    ),
    (
        "folds of other rows",
        lambda w: w.fit(cv=[([0], [1])]),
        SettingError,
        (
            "the splits of cv must test each of the 60 rows once, on a fit to all others: give those of a "
            "KFold, or a number of folds"
        ),
    ),
    (
        "folds that are no rows",
        lambda w: w.fit(cv=[("a", "b")]),
        SettingError,
        "cv holds something else than pairs of training and test rows: give their positions",
    ),
    (
        "weights of too few",
        lambda w: w.fit(sample_weight=[1, 2]),
        DataError,
        "sample_weight has shape (2,), but the data have 60 rows: give one weight per row",
    ),
    (
        "negative weights",
        lambda w: w.fit(sample_weight=-np.ones(60)),
        DataError,
        ("sample_weight is -1 in row 0: give everyone a finite weight that is not negative, 0 to leave someone out"),
    ),
    (
        "weights of nobody",
        lambda w: w.fit(sample_weight=np.zeros(60)),
        DataError,
        "every sample_weight is zero: give some row a positive weight",
    ),
    (
        "a missing weight",
        lambda w: w.fit(sample_weight=np.where(np.arange(60) == 7, np.nan, 1)),
        DataError,
        ("sample_weight is nan in row 7: give everyone a finite weight that is not negative, 0 to leave someone out"),
    ),
    (
        "an infinite weight",
        lambda w: w.fit(sample_weight=np.where(np.arange(60) == 7, np.inf, 1)),
        DataError,
        ("sample_weight is inf in row 7: give everyone a finite weight that is not negative, 0 to leave someone out"),
    ),
    (
        "weights as words",
        lambda w: w.fit(sample_weight=["one"] * 60),
        DataError,
        "sample_weight holds something that is not a number: give one number per row",
    ),
    (
        "weights as a name",
        lambda w: w.fit(sample_weight="age"),
        DataError,
        "sample_weight holds something that is not a number: give one number per row",
    ),
    (
        "weights of other people",
        lambda w: w.fit(sample_weight=pd.Series(1.0, index=range(100, 160))),
        SettingError,
        (
            "sample_weight is a Series whose labels are not those of the data's rows, so that nothing tells "
            "which value belongs to whom: give it the rows' labels, or sample_weight.to_numpy() if it stands "
            "in their order"
        ),
    ),
    (
        "weights of one group alone",
        lambda w: w.fit(sample_weight=(w.frame["a"] == w.frame["a"].iloc[0]).astype(float)),
        DataError,
        "the group '1' of 'a' has no weight: there is nobody to compare with",
    ),
    (
        "an unknown reference",
        lambda w: w.fit(reference="nobody"),
        SettingError,
        "reference 'nobody' is not a level of 'a': give -1 or 1",
    ),
    (
        "a reference as a list",
        lambda w: w.fit(reference=["f"]),
        SettingError,
        "reference ['f'] is not a level of 'a': give -1 or 1",
    ),
    (
        "a shift of levels",
        lambda w: w.fit(shift=1.0),
        SettingError,
        "shift is 1.0, but 'a' has levels: its counterfactuals are the other levels",
    ),
    (
        "a shift of nothing",
        lambda w: w.with_column("a", np.arange(60.0), shift=0),
        SettingError,
        "shift is 0: give a finite number other than 0",
    ),
    (
        "a shift that is text",
        lambda w: w.with_column("a", np.arange(60.0), shift="one"),
        SettingError,
        "shift is 'one': give a finite number other than 0",
    ),
    (
        "shift and contrast",
        lambda w: w.with_column("a", np.arange(60.0), shift=1, contrast=[3]),
        SettingError,
        "shift and contrast are both given: give one of them",
    ),
    (
        "a reference of a number",
        lambda w: w.with_column("a", np.arange(60.0), reference=3),
        SettingError,
        (
            "reference is 3, but 'a' has 60 numeric values: leave it out, or compare them as groups with "
            "kinds={'a': 'category'} or 'ordered'"
        ),
    ),
    (
        "a contrast with nobody",
        lambda w: w.fit(contrast="nobody"),
        SettingError,
        "'nobody' is not a level of 'a': give -1 or 1",
    ),
    (
        "an empty contrast",
        lambda w: w.fit(contrast=[]),
        SettingError,
        "contrast is empty: give the levels, or values, that people are moved to",
    ),
    (
        "missing as a number",
        lambda w: w.fit(missing=3),
        SettingError,
        "missing is 3: give 'refuse' or 'drop'",
    ),
    (
        "missing imputed",
        lambda w: w.fit(missing="impute"),
        SettingError,
        "missing is 'impute': give 'refuse' or 'drop'",
    ),
    (
        "missing dropped until nobody is left",
        lambda w: w.with_column("x", np.nan, missing="drop"),
        DataError,
        (
            "missing='drop' leaves nobody: all 60 people lack a value; remove 'x' from the graph, or impute "
            "several times and give the completed tables as a list, Audit.fit([frame_1, frame_2, ...], graph)"
        ),
    ),
    (
        "missing dropped until a group is gone",
        lambda w: w.with_column("x", w.frame["x"].where(w.frame["a"] == w.frame["a"].iloc[0]), missing="drop"),
        DataError,
        (
            "missing='drop' leaves nobody with 'a' = 1: all 26 of them lack a value; remove 'x' from the "
            "graph, or impute several times and give the completed tables as a list, Audit.fit([frame_1, "
            "frame_2, ...], graph)"
        ),
    ),
    (
        "clusters of too few",
        lambda w: w.fit(cluster=[1, 2]),
        DataError,
        "cluster has shape (2,), but the data have 60 rows: give one label for each",
    ),
    (
        "a cluster that is missing",
        lambda w: w.fit(cluster=[None, *range(59)]),
        DataError,
        "cluster is missing in row 0: give a person who is in no cluster a label of their own",
    ),
    (
        "a cluster column that is none",
        lambda w: w.fit(cluster="school"),
        DataError,
        "cluster names 'school', which is not a column of the data",
    ),
    (
        "everyone held out",
        lambda w: w.fit(holdout=1.0),
        SettingError,
        ("holdout is 1.0: give a share between 0 and 1 that leaves people on both sides, or one truth value per row"),
    ),
    (
        "nobody held out",
        lambda w: w.fit(holdout=0.0),
        SettingError,
        ("holdout is 0.0: give a share between 0 and 1 that leaves people on both sides, or one truth value per row"),
    ),
    (
        "a holdout as text",
        lambda w: w.fit(holdout="half"),
        SettingError,
        "holdout is 'half': give a finite number",
    ),
    (
        "a holdout of other rows",
        lambda w: w.fit(holdout=[True, False]),
        SettingError,
        "holdout has bool values of shape (2,): give one truth value per row",
    ),
    (
        "a holdout of numbers",
        lambda w: w.fit(holdout=np.arange(60)),
        SettingError,
        "holdout has int64 values of shape (60,): give one truth value per row",
    ),
    (
        "a holdout of everyone",
        lambda w: w.fit(holdout=np.ones(60, dtype=bool)),
        SettingError,
        "holdout names every row with weight: hold some people out, and keep some",
    ),
    (
        "a constant that is perhaps penalised",
        lambda w: w.fit(penalise_constant="yes"),
        SettingError,
        "penalise_constant is 'yes': give True or False",
    ),
    (
        "a constant penalised by 1",
        lambda w: w.fit(penalise_constant=1),
        SettingError,
        "penalise_constant is 1: give True or False",
    ),
    (
        "an embedding that is none",
        lambda w: w.fit(embedding="splines"),
        SettingError,
        "embedding is 'splines': give a function of inputs and a degree",
    ),
    (
        "an embedding that fails",
        lambda w: w.fit(embedding=lambda inputs, degree: 1 / 0),
        SettingError,
        (
            "embedding failed on 1 inputs and degree 1 (ZeroDivisionError: division by zero): give a function "
            "of both that gives an embedding"
        ),
    ),
    (
        "an embedding of nothing",
        lambda w: w.fit(embedding=lambda inputs, degree: None),
        SettingError,
        (
            "embedding gives None, which has no 'terms': give a function whose result has terms, repeats, "
            "values and slopes"
        ),
    ),
    (
        "mixed features as what",
        lambda w: w.fit(mixed="half"),
        SettingError,
        "mixed is 'half': give 'residual' or 'fair part'",
    ),
    (
        "ordered residuals as what",
        lambda w: w.fit(ordered_residuals="all"),
        SettingError,
        "ordered_residuals is 'all': give 'expected' or 'leave out'",
    ),
    (
        "an outcome of what type",
        lambda w: w.fit(outcome_type="ranks"),
        SettingError,
        "outcome_type is 'ranks': give 'number' or 'classes', or leave it out",
    ),
    (
        "an unknown measure",
        lambda w: w.fit(measure="cubed"),
        SettingError,
        (
            "measure is 'cubed': give 'squared', 'absolute' or 'max', a number between 0 and 1 for that "
            "quantile of the absolute change, or a function of everyone's change of prediction and their "
            "weights"
        ),
    ),
    (
        "a measure of nothing",
        lambda w: w.fit(measure=None),
        SettingError,
        (
            "measure is None: give 'squared', 'absolute' or 'max', a number between 0 and 1 for that quantile "
            "of the absolute change, or a function of everyone's change of prediction and their weights"
        ),
    ),
    (
        "a negative measure",
        lambda w: w.fit(measure=-1),
        SettingError,
        (
            "measure is -1: give 'squared', 'absolute' or 'max', a number between 0 and 1 for that quantile of "
            "the absolute change, or a function of everyone's change of prediction and their weights"
        ),
    ),
    (
        "a measure that gives text",
        lambda w: w.fit(measure=lambda change, weight: "much").cfu({("x", "z"): 0.3}),
        SettingError,
        (
            "measure failed on arrays of changes and weights (ValueError: could not convert string to float: "
            "'much'): give a function of both to one number"
        ),
    ),
    (
        "a measure that fails",
        lambda w: w.fit(measure=lambda change, weight: 1 / 0).cfu({("x", "z"): 0.3}),
        SettingError,
        (
            "measure failed on arrays of changes and weights (ZeroDivisionError: division by zero): give a "
            "function of both to one number"
        ),
    ),
    (
        "a robust predictor by a word",
        lambda w: w.fit(robust="yes"),
        SettingError,
        "robust is 'yes': give a value such as Robust(p_max=0.3, weight=10)",
    ),
    (
        "a robust predictor without weight",
        lambda w: fs.Robust(p_max=0.3, weight=-1),
        SettingError,
        "weight is -1: give a finite number that is not negative",
    ),
    (
        "a robust predictor within 1",
        lambda w: fs.Robust(p_max=1, weight=1),
        SettingError,
        "p_max is 1: give a number from 0 up to, but not including, 1",
    ),
    (
        "labels as a list",
        lambda w: w.fit(labels=["race"]),
        SettingError,
        "labels is ['race']: give a dict such as {'lsat': 'LSAT score'}, or leave it out",
    ),
    (
        "a label of a stranger",
        lambda w: w.fit(labels={"zz": "Z"}),
        SettingError,
        "labels names 'zz', which is not a column of the data; did you mean 'z'?",
    ),
    (
        "a label that is a number",
        lambda w: w.fit(labels={"x": 3}),
        SettingError,
        "labels['x'] is 3: give text, such as 'LSAT score'",
    ),
    (
        "units of a stranger",
        lambda w: w.fit(units={"zz": "m"}),
        SettingError,
        "units names 'zz', which is not a column of the data; did you mean 'z'?",
    ),
    (
        "people as a number",
        lambda w: w.fit(people=3),
        SettingError,
        "people is 3: give the word for rows in the plural, such as 'students'",
    ),
    (
        "higher is what",
        lambda w: w.fit(higher_is="good"),
        SettingError,
        "higher_is is 'good': give 'better' or 'worse', or leave it out",
    ),
    (
        "a negative seed",
        lambda w: w.fit(random_state=-1),
        SettingError,
        "random_state is -1: give a whole number that is not negative, or None",
    ),
    (
        "a seed that is text",
        lambda w: w.fit(random_state="seven"),
        SettingError,
        "random_state is 'seven': give a whole number that is not negative, or None",
    ),
    (
        "a seed of one half",
        lambda w: w.fit(random_state=0.5),
        SettingError,
        "random_state is 0.5: give a whole number that is not negative, or None",
    ),
    (
        "memory as a word",
        lambda w: w.fit(max_memory="much"),
        SettingError,
        "max_memory is 'much': give a number of bytes, or text such as '1 GB'",
    ),
    (
        "no memory",
        lambda w: w.fit(max_memory=0),
        SettingError,
        "max_memory is 0: give a number of bytes, or text such as '1 GB'",
    ),
    (
        "too little memory",
        lambda w: w.fit(max_memory=100),
        SettingError,
        (
            "predictor_degree is 1, which has 4 terms of 3 variables and needs some 525920 bytes, more than "
            "max_memory, 100 bytes: give a lower degree, or more memory"
        ),
    ),
    (
        "progress that is none",
        lambda w: w.fit(progress="bar"),
        SettingError,
        "progress is 'bar': give True, False, or a function of (steps done, steps in all)",
    ),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("spoilt", "error", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refusals_of_options(spoilt, error, sentence, world, refuses):
    refuses(lambda: spoilt(world), sentence, error)
