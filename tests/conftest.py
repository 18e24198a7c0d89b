"""Shared data: the law-school audit as in the paper, and the paper's files where they can be found."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fairstress as fs

LAW = "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat"
NHS = """
race -> org_sat, manager_sat, job_sat
org_sat -> manager_sat, job_sat
manager_sat -> job_sat
org_sat <-> manager_sat; org_sat <-> job_sat; manager_sat <-> job_sat
"""


@pytest.fixture(scope="session")
def law_graph() -> fs.CausalGraph:
    return fs.CausalGraph.parse(LAW, protected="race", outcome="zfya")


@pytest.fixture(scope="session")
def law_frame() -> pd.DataFrame:
    return fs.datasets.law_school()


@pytest.fixture(scope="session")
def law_audit(law_frame: pd.DataFrame, law_graph: fs.CausalGraph) -> fs.Audit:
    """Law school with the settings of the paper."""
    return fs.Audit.fit(law_frame, law_graph, reference="White", max_degree=4, penalise_constant=True)


@pytest.fixture(scope="session")
def nhs_frame() -> pd.DataFrame:
    folder = os.environ.get("FAIRSTRESS_DATA")
    if not folder:
        pytest.skip("the NHS staff survey is not shipped: set FAIRSTRESS_DATA to the folder that holds it")
    return fs.datasets.nhs_staff_survey(Path(folder) / "nhs_staff_survey.npz")


@pytest.fixture(scope="session")
def nhs_audit(nhs_frame: pd.DataFrame) -> fs.Audit:
    """The NHS survey with the settings of the paper."""
    graph = fs.CausalGraph.parse(NHS, protected="race", outcome="health")
    return fs.Audit.fit(nhs_frame, graph, penalise_constant=True, penalties=np.logspace(-3, 3, 8))
