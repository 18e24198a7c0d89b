"""Draw the table of people that ``values.R`` and fairstress are both given.

Usage: python tests/reference/r_table.py

Writes ``r_table.csv`` beside this file, by numpy alone. Everything is rounded as it is written, so that both programs
read the same numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

TABLE = Path(__file__).with_name("r_table.csv")
SEED = 20100601
N = 240


def simulate() -> pd.DataFrame:
    """Draw 240 people: numbers with correlated errors, a column of two values and one of four levels."""
    rng = np.random.default_rng(SEED)
    a, age = np.where(rng.random(N) < 0.55, 1.0, -1.0), rng.normal(40, 9, N)
    P = np.array([[1, 0.4, 0.2], [0.4, 1, -0.3], [0.2, -0.3, 1]])
    e = rng.standard_normal((N, 3)) @ np.linalg.cholesky(P).T
    school = 12 + 0.9 * a + 0.05 * (age - 40) + 2 * e[:, 0]
    test = 5 + 0.2 * a + (0.25 + 0.08 * a) * (school - 12) + 0.04 * (school - 12) ** 2 + 0.6 * e[:, 1]
    pay = 31 + 1.3 * a + 2.2 * (test - 5) + 4 * e[:, 2]
    grade = np.searchsorted([-0.7, 0.2, 1.1], 0.4 * a + 0.3 * (test - 5) + rng.standard_normal(N))
    member = 0.3 * a + 0.2 * (school - 12) - 0.3 * (grade - 1) + rng.standard_normal(N) > 0
    return pd.DataFrame(
        {
            "group": np.where(a > 0, "south", "north"),
            "age": age.round(1),
            "school": school.round(1),
            "test": test.round(2),
            "pay": pay.round(2),
            "grade": grade,
            "member": member.astype(int),
            "rating": (0.1 * (pay - 31) + 0.4 * (test - 5) + rng.standard_normal(N)).round(2),
        }
    )


if __name__ == "__main__":
    simulate().to_csv(TABLE, index=False)
