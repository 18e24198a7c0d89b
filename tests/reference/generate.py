"""Make the values of other programs that ``test_other_programs.py`` and its neighbours hold fairstress to.

Usage: python tests/reference/generate.py

Needs linearmodels, semopy, dowhy and PySensemakr, and writes ``simulated.csv``, ``counterfactuals.csv`` and
``other_programs.json`` beside this file. Nothing here uses fairstress, so that the two cannot share a mistake: the
table is coded and standardised, and the columns of the equations are built, in a few lines of pandas.

Which program answers what:

- *Weights for a given covariance of the errors*: linearmodels, whose seemingly unrelated regression takes ``sigma``.
- *Weights and scales at a given correlation, linear equations*: semopy. Fixing a residual covariance would not do,
  since the scales that are best for a given covariance are not those that are best for a given correlation. A
  structural equation model can hold a correlation all the same: each error is written as a loading times a latent
  variable of variance 1, the latent variables' covariances are fixed at the correlations, and the features keep no
  residual variance of their own. The loadings are then the scales, and semopy estimates them together with the weights.
  semopy's search stops after some six digits; from there semopy's own gradient is taken to 0. The columns are
  centred: every equation has a free constant, which at the optimum makes its residuals sum to 0.
- *Weights and scales at the correlation that fits best*: linearmodels, iterated. Iterated to the end it maximises the
  likelihood over the weights and an unrestricted covariance, so at the correlation that it ends with, its weights and
  scales are also the best for that correlation. Its graph has two features; the third would not be identified.
- *Polynomials with a penalty*: none of the programs offers it, so the objective is written out as a sum over rows, with
  every monomial kept, and minimised by scipy. Derivatives are complex steps: nothing is derived by hand.
- *Counterfactuals with independent errors*: ``dowhy.gcm``.
- *A coefficient under a hidden common cause*: PySensemakr, which adjusts a least-squares estimate for a confounder with
  given partial R2 on treatment and outcome. Its treatment is ``ugpa``, its outcome ``lsat``, on the law-school table.
- *Ordered features with independent errors*: statsmodels' ordered and binary probit, on law-school columns cut into
  levels.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import semopy
import sensemakr
import statsmodels.api as sm
import statsmodels.formula.api as smf
from dowhy import gcm
from linearmodels.system import SUR
from scipy import optimize, stats
from statsmodels.miscmodels.ordinal_model import OrderedModel

HERE = Path(__file__).parent
PROGRAMS = ["linearmodels", "semopy", "scipy", "dowhy", "scikit-learn", "PySensemakr", "statsmodels", "numpy", "pandas"]
SEED = 20190722
LAW_SCHOOL = HERE.parents[1] / "src/fairstress/inputs/datasets/law_school.csv.bz2"
FEATURES = ["school", "test", "pay"]
PARENTS = {"school": ["group"], "test": ["school"], "pay": ["group", "test"]}
GRAPH = (
    "group -> school; school -> test; group, test -> pay; school <-> test; school <-> pay; test <-> pay; pay -> rating"
)
CHAIN = "group -> school; school -> test; school <-> test; test -> rating"
QUADRATIC = {"school": 2, "test": 2, "pay": 2}
CUBIC = {"school": 3, "test": 2, "pay": 3}
LINEAR = {"school": 1, "test": 1, "pay": 1}
MODERATE = {"school, test": 0.4, "school, pay": -0.3, "test, pay": 0.2}
STRONG = {"school, test": -0.8, "school, pay": 0.5, "test, pay": -0.7}
RECIPE = (
    "130 people: group south with probability 0.6 (a = +1, north -1); school years 12 + 1.5 a + 2.2 e1; test score "
    "5 + 0.24 (school - 12) + 0.03 (school - 12)^2 + 0.6 e2; pay 31 + 1.2 a + (2 + a) (test - 5) + 4 e3; (e1, e2, e3) "
    "normal with correlations 0.5, 0.2, -0.2; rounded. The last 20 of 150 rows repeat people, with their own ratings; "
    "rating 0.1 (pay - 31) + 0.4 (test - 5) + noise"
)


# ---------------------------------------------------------------- data


def simulate() -> pd.DataFrame:
    """Draw the table as `RECIPE` says."""
    rng = np.random.default_rng(SEED)
    n, n_repeated = 130, 20
    a = np.where(rng.random(n) < 0.6, 1.0, -1.0)
    P = np.array([[1, 0.5, 0.2], [0.5, 1, -0.2], [0.2, -0.2, 1]])
    e = rng.standard_normal((n, 3)) @ np.linalg.cholesky(P).T
    # units of one size: dowhy's regressions are scikit-learn's, which may drop directions a millionth of the longest
    school = np.round(12 + 1.5 * a + 2.2 * e[:, 0], 1)
    test = np.round(5 + 0.24 * (school - 12) + 0.03 * (school - 12) ** 2 + 0.6 * e[:, 1], 2)
    pay = np.round(31 + 1.2 * a + (2 + a) * (test - 5) + 4 * e[:, 2], 2)
    group = np.where(a > 0, "south", "north")
    frame = pd.DataFrame({"group": group, "school": school, "test": test, "pay": pay})
    frame = pd.concat([frame, frame.iloc[rng.choice(n, n_repeated, replace=False)]], ignore_index=True)
    noise = rng.standard_normal(n + n_repeated)
    return frame.assign(rating=np.round(0.1 * (frame["pay"] - 31) + 0.4 * (frame["test"] - 5) + noise, 2))


def standardise(frame: pd.DataFrame) -> pd.DataFrame:
    """Features with mean 0 and standard deviation 1 (divisor n), group as -1/+1, south +1."""
    x = frame[FEATURES]
    z = (x - x.mean()) / x.std(ddof=0)
    return z.assign(group=np.where(frame["group"] == "south", 1.0, -1.0))


def monomials(z: pd.DataFrame, parents: list[str], degree: int) -> pd.DataFrame:
    """Every monomial of the parents; those that are equal since group^2 = 1 have the same name."""
    columns, names = [], []
    for total in range(degree + 1):
        for factors in itertools.combinations_with_replacement(parents, total):
            columns.append(z[list(factors)].prod(axis=1).to_numpy())
            powers = {v: factors.count(v) % 2 if v == "group" else factors.count(v) for v in parents}
            names.append("*".join(v if e == 1 else f"{v}^{e}" for v, e in powers.items() if e) or "1")
    return pd.DataFrame(np.column_stack(columns), columns=names, index=z.index)


def distinct_monomials(z: pd.DataFrame, parents: list[str], degree: int) -> pd.DataFrame:
    """The monomials with equal ones kept once."""
    phi = monomials(z, parents, degree)
    return phi.loc[:, ~phi.columns.duplicated()]


def correlation_matrix(pairs: dict[str, float]) -> np.ndarray:
    """Turn ``{"school, test": 0.4}`` into a matrix in the order of `FEATURES`."""
    P = pd.DataFrame(np.eye(3), index=FEATURES, columns=FEATURES)
    for pair, p in pairs.items():
        a, b = pair.split(", ")
        P.loc[a, b] = P.loc[b, a] = p
    return P.to_numpy()


# ---------------------------------------------------------------- linearmodels


def sur_equations(z: pd.DataFrame, features: list[str], degrees: dict[str, int]) -> dict[str, dict[str, pd.DataFrame]]:
    """Targets and columns as linearmodels takes them."""
    return {
        name: {"dependent": z[[name]], "exog": distinct_monomials(z, PARENTS[name], degrees[name])} for name in features
    }


def by_feature(params: pd.Series, equations: dict[str, dict[str, pd.DataFrame]]) -> dict[str, dict[str, float]]:
    """Take linearmodels' estimates apart by feature and term."""
    return {name: {term: params[f"{name}_{term}"] for term in eq["exog"].columns} for name, eq in equations.items()}


def sur_at_given_covariances(z: pd.DataFrame) -> dict:
    """Weights for given covariances of the errors."""
    equations = sur_equations(z, FEATURES, QUADRATIC)
    points = []
    for pairs, scales in ((MODERATE, [0.9, 0.8, 0.6]), (STRONG, [0.7, 0.9, 1.1])):
        sigma = np.outer(scales, scales) * correlation_matrix(pairs)
        fitted = SUR(equations, sigma=sigma).fit(method="gls", iterate=False, cov_type="unadjusted")
        given = {"correlation": pairs, "scales": dict(zip(FEATURES, scales, strict=True))}
        points.append({**given, "weights": by_feature(fitted.params, equations)})
    separate = SUR(equations).fit(method="ols", cov_type="unadjusted")
    return {
        "description": "linearmodels SUR, gls with sigma given and ols, quadratic equations, no penalty",
        "graph": GRAPH,
        "degrees": QUADRATIC,
        "points": points,
        "least_squares": by_feature(separate.params, equations),
    }


def sur_iterated(z: pd.DataFrame) -> dict:
    """Weights, scales and correlation that maximise the likelihood together."""
    equations = sur_equations(z, FEATURES[:2], LINEAR)
    fitted = SUR(equations).fit(method="gls", iterate=True, iter_limit=100_000, tol=1e-15, cov_type="unadjusted")
    e = fitted.resids.to_numpy()
    sigma = e.T @ e / len(e)
    scales = np.sqrt(np.diag(sigma))
    return {
        "description": "linearmodels SUR, iterated gls, two linear equations, no penalty",
        "graph": CHAIN,
        "degrees": dict.fromkeys(FEATURES[:2], 1),
        "correlation": {"school, test": sigma[0, 1] / scales.prod()},
        "scales": dict(zip(FEATURES[:2], scales, strict=True)),
        "weights": by_feature(fitted.params, equations),
        "log_likelihood": float(stats.multivariate_normal(cov=sigma).logpdf(e).sum()),
        "rounds": int(fitted.iterations),
    }


# ---------------------------------------------------------------- semopy


def sem_description(pairs: dict[str, float]) -> str:
    """The linear equations, each error a loading times a latent variable of variance 1."""
    errors = [f"e_{name}" for name in FEATURES]
    lines = ["DEFINE(latent) " + " ".join(errors)]
    lines += [f"{name} ~ {' + '.join(PARENTS[name])} + s_{name}*e_{name}" for name in FEATURES]
    lines += [f"e_{name} ~~ 1*e_{name}\n{name} ~~ 0*{name}\ngroup ~~ 0*e_{name}" for name in FEATURES]
    lines += [f"e_{a} ~~ {p!r}*e_{b}" for (a, b), p in ((pair.split(", "), p) for pair, p in pairs.items())]
    # a loading without a starting value sends semopy's search for one into an endless loop
    return "\n".join([*lines, "START(1) " + " ".join(f"s_{name}" for name in FEATURES)])


def sem_at_given_correlation(z: pd.DataFrame, pairs: dict[str, float]) -> dict:
    """Weights and scales of the linear equations at a given correlation."""
    model = semopy.Model(sem_description(pairs))
    model.fit(z - z.mean())
    found = optimize.root(model.grad_mlw, model.param_vals, tol=1e-15)
    model.param_vals = found.x
    model.update_matrices(found.x)
    table = model.inspect()
    estimate = table[table["op"] == "~"].set_index(["lval", "rval"])["Estimate"]
    weights = {name: {v: float(estimate[name, v]) for v in PARENTS[name]} for name in FEATURES}
    for name, its in weights.items():
        its["1"] = float(z[name].mean() - sum(w * z[v].mean() for v, w in its.items()))
    return {
        "correlation": pairs,
        "weights": weights,
        "scales": {name: abs(float(estimate[name, f"e_{name}"])) for name in FEATURES},
        "largest_gradient": float(np.abs(model.grad_mlw(found.x)).max()),
    }


def sem(z: pd.DataFrame) -> dict:
    """The linear equations at two correlations."""
    return {
        "description": "semopy, Wishart likelihood with the errors' correlations fixed, linear equations, no penalty",
        "graph": GRAPH,
        "degrees": LINEAR,
        "points": [sem_at_given_correlation(z, pairs) for pairs in (MODERATE, STRONG)],
    }


# ---------------------------------------------------------------- scipy


def objective(parameters: np.ndarray, x: np.ndarray, phi: list[np.ndarray], P: np.ndarray, penalty: float) -> complex:
    """``sum_i (x_i - Phi_i w)' Sigma^-1 (x_i - Phi_i w) + lam |w|^2 + 2 n sum log sigma``, over the rows one by one."""
    w, t = parameters[:-3], parameters[-3:]
    ends = np.cumsum([p.shape[1] for p in phi])[:-1]
    e = x - np.column_stack([p @ v for p, v in zip(phi, np.split(w, ends), strict=True)])
    sigma = np.exp(t)
    precision = np.linalg.inv(sigma[:, None] * P * sigma)
    return sum(row @ precision @ row for row in e) + penalty * np.sum(w**2) + 2 * len(x) * np.sum(t)


def complex_step(function: Callable[[np.ndarray], complex], z: np.ndarray) -> np.ndarray:
    """Gradient of an analytic function, exact to rounding."""
    return np.array([function(z + 1e-30j * unit).imag / 1e-30 for unit in np.eye(z.size)])


def minimise(z: pd.DataFrame, degrees: dict[str, int], pairs: dict[str, float], penalty: float) -> dict:
    """Minimise the objective over weights and log scales, all monomials kept and penalised."""
    tables = [monomials(z, PARENTS[name], degrees[name]) for name in FEATURES]
    x, phi, P = z[FEATURES].to_numpy(), [table.to_numpy() for table in tables], correlation_matrix(pairs)

    def value(at: np.ndarray) -> complex:
        return objective(at, x, phi, P, penalty)

    def gradient(at: np.ndarray) -> np.ndarray:
        return complex_step(value, at)

    start = np.zeros(sum(table.shape[1] for table in tables) + 3)
    rough = optimize.minimize(value, start, jac=gradient, method="BFGS", options={"gtol": 1e-5})
    found = optimize.root(gradient, rough.x, tol=1e-15).x
    sizes = np.cumsum([table.shape[1] for table in tables])[:-1]
    parts = np.split(found[:-3], sizes)
    scales = np.exp(found[-3:])
    e = x - np.column_stack([p @ w for p, w in zip(phi, parts, strict=True)])
    normal = stats.multivariate_normal(cov=np.outer(scales, scales) * P)
    return {
        "correlation": pairs,
        "weights": {
            name: pd.Series(w, index=table.columns).groupby(level=0, sort=False).sum().to_dict()
            for name, w, table in zip(FEATURES, parts, tables, strict=True)
        },
        "scales": dict(zip(FEATURES, scales, strict=True)),
        "log_likelihood": float(normal.logpdf(e).sum()),
        "largest_gradient": float(np.abs(gradient(found)).max()),
    }


def penalised(z: pd.DataFrame) -> dict:
    """Polynomial equations with a penalty on every monomial, the constant included."""
    penalty = 40.0
    return {
        "description": "scipy, minimum of the objective over the rows; weights of equal monomials added up",
        "graph": GRAPH,
        "degrees": CUBIC,
        "penalty": penalty,
        "points": [minimise(z, CUBIC, pairs, penalty) for pairs in (MODERATE, STRONG)],
    }


# ---------------------------------------------------------------- dowhy


def gcm_counterfactuals(frame: pd.DataFrame, regressor: Callable[[], gcm.ml.PredictionModel]) -> pd.DataFrame:
    """Everyone's features in the other group, in the table's units, with independent errors."""
    data = frame[FEATURES].assign(group=np.where(frame["group"] == "south", 1.0, 0.0))
    edges = [(parent, name) for name in FEATURES for parent in PARENTS[name]]
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(edges))
    model.set_causal_mechanism("group", gcm.EmpiricalDistribution())
    for name in FEATURES:
        model.set_causal_mechanism(name, gcm.AdditiveNoiseModel(regressor()))
    gcm.fit(model, data)
    return gcm.counterfactual_samples(model, {"group": lambda a: 1 - a}, observed_data=data)[FEATURES]


def counterfactuals(frame: pd.DataFrame, file: Path) -> dict:
    """Linear and quadratic equations; the values go to a file of their own."""
    gcm.config.disable_progress_bars()
    regressors = {"linear": gcm.ml.create_linear_regressor, "quadratic": gcm.ml.create_polynom_regressor}
    found = [gcm_counterfactuals(frame, regressor).add_prefix(f"{kind}_") for kind, regressor in regressors.items()]
    pd.concat(found, axis=1).to_csv(file, index=False)
    return {
        "description": "dowhy.gcm counterfactual_samples, additive noise models, group set to the other group",
        "file": file.name,
        "graph": GRAPH,
        "degrees": {"linear": LINEAR, "quadratic": QUADRATIC},
    }


# ---------------------------------------------------------------- PySensemakr

# partial R2 of the hidden cause with ugpa given race, and with lsat given race and ugpa
STRENGTHS = ((0.01, 0.02), (0.05, 0.05), (0.1, 0.4), (0.4, 0.1), (0.3, 0.3), (0.6, 0.8), (0.9, 0.95))


def sensemakr_adjusted(file: Path) -> dict:
    """The weight of ugpa in the equation of lsat, adjusted downwards and upwards for hidden causes."""
    frame = pd.read_csv(file).assign(white=lambda f: np.where(f["race"] == "White", 1.0, -1.0))
    model = smf.ols("lsat ~ white + ugpa", frame).fit()
    of = {"model": model, "treatment": "ugpa"}
    points = [
        {
            "r2_treatment": r2_d,
            "r2_outcome": r2_y,
            "reduced": float(sensemakr.adjusted_estimate(r2_d, r2_y, **of)),
            "increased": float(sensemakr.adjusted_estimate(r2_d, r2_y, **of, reduce=False)),
        }
        for r2_d, r2_y in STRENGTHS
    ]
    return {
        "description": "PySensemakr adjusted_estimate, lsat on race (White +1, others -1) and ugpa, points per point",
        "file": file.name,
        "estimate": float(model.params["ugpa"]),
        "robustness_value": float(np.squeeze(sensemakr.robustness_value(model, "ugpa"))),
        "points": points,
    }


def sensemakr_benchmark(file: Path) -> dict:
    """Sex as a benchmark for a hidden cause of ugpa and lsat, and the region's eleven codes as a group of them."""
    frame = pd.read_csv(file).assign(white=lambda f: np.where(f["race"] == "White", 1.0, -1.0))
    outcome, treatment = (smf.ols(f"{of} + sex", frame).fit() for of in ("lsat ~ white + ugpa", "ugpa ~ white"))
    # by its t and F statistics, since PySensemakr's reading of a model's covariates fails under pandas 3
    r2_d, r2_y = (sensemakr.partial_r2(t_statistic=m.tvalues["sex"], dof=int(m.df_resid)) for m in (treatment, outcome))
    bounds = sensemakr.ovb_partial_r2_bound(r2dxj_x=r2_d, r2yxj_dx=r2_y, kd=[1, 2, 3])
    plain, regions = (smf.ols(f"ugpa ~ white{more}", frame).fit() for more in ("", " + C(region_first)"))
    F, _, p = regions.compare_f_test(plain)
    return {
        "description": "PySensemakr partial_r2, group_partial_r2, ovb_partial_r2_bound; statsmodels' weights of ugpa",
        "r2_treatment": float(r2_d),
        "r2_outcome": float(r2_y),
        "r2_treatment_multiples": bounds["r2dz_x"].tolist(),
        "estimate_with_sex": float(outcome.params["ugpa"]),
        "r2_treatment_regions": float(sensemakr.group_partial_r2(f_statistic=F, p=p, dof=regions.df_resid)),
        "estimate_with_regions": float(smf.ols("lsat ~ white + ugpa + C(region_first)", frame).fit().params["ugpa"]),
    }


# ---------------------------------------------------------------- statsmodels

PEOPLE = 400  # of the law-school table, its first
LEVELS = {"ugpa": (3.0, 3.4), "zfya": (-0.6, 0.0, 0.7)}  # a level is how many of these lie below
LADDER = "race -> ugpa, lsat, zfya, first_pf; ugpa -> lsat, zfya; lsat -> zfya, first_pf"
PROBITS = {"ugpa": ["race"], "zfya": ["race", "ugpa", "lsat"], "first_pf": ["race", "lsat"]}


def ordered_probit(levels: pd.Series, columns: pd.DataFrame) -> dict:
    """Weights, cuts and log likelihood; of two levels by a probit, whose constant is minus a cut."""
    if levels.nunique() == 2:
        found = sm.Probit(levels, sm.add_constant(columns)).fit(disp=0, method="newton", tol=1e-14)
        return {"weights": found.params[1:].to_dict(), "cuts": [-found.params["const"]], "log_likelihood": found.llf}
    model = OrderedModel(levels.astype(pd.CategoricalDtype(ordered=True)), columns, distr="probit")
    found = model.fit(disp=0, method="bfgs", gtol=1e-8, maxiter=1000)
    cuts = model.transform_threshold_params(found.params.to_numpy())[1:-1]
    weights = found.params[: columns.shape[1]].to_dict()
    return {"weights": weights, "cuts": cuts.tolist(), "log_likelihood": float(found.llf)}


def ordered_features(file: Path) -> dict:
    """Grades and first-year grades in levels, and whether the bar was passed at first."""
    frame = pd.read_csv(file).iloc[:PEOPLE]
    shown = frame.assign(**{name: np.searchsorted(cuts, frame[name]) for name, cuts in LEVELS.items()})
    z = (shown[["ugpa", "lsat"]] - shown[["ugpa", "lsat"]].mean()) / shown[["ugpa", "lsat"]].std(ddof=0)
    z = z.assign(race=np.where(frame["race"] == "White", 1.0, -1.0))
    return {
        "description": "statsmodels OrderedModel and Probit, one feature after the other; scores of levels and lsat "
        "standardised (divisor n), race White +1, others -1",
        "file": file.name,
        "people": PEOPLE,
        "levels": LEVELS,
        "graph": LADDER,
        "features": {name: ordered_probit(shown[name], z[parents]) for name, parents in PROBITS.items()},
    }


def main() -> None:
    """Write the table and the values."""
    table = HERE / "simulated.csv"
    simulate().to_csv(table, index=False)
    frame = pd.read_csv(table)
    z = standardise(frame)
    values = {
        "programs": {name: importlib.metadata.version(name) for name in PROGRAMS},
        "data": {"file": table.name, "rows": len(frame), "seed": SEED, "recipe": RECIPE},
        "units": "weights and scales: features standardised (divisor n), group -1/+1 with south +1",
        "sur_at_given_covariances": sur_at_given_covariances(z),
        "sur_iterated": sur_iterated(z),
        "sem": sem(z),
        "penalised": penalised(z),
        "counterfactuals": counterfactuals(frame, HERE / "counterfactuals.csv"),
        "sensemakr": sensemakr_adjusted(LAW_SCHOOL),
        "sensemakr_benchmark": sensemakr_benchmark(LAW_SCHOOL),
        "ordered_features": ordered_features(LAW_SCHOOL),
    }
    (HERE / "other_programs.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
