"""Data sets: one that ships with fairstress, and one that the user brings."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from fairstress.errors import DataError, SettingError, show

NHS_COLUMNS = ("race", "gender", "sex_orient", "disability", "age", "job_sat", "manager_sat", "org_sat", "health")


def law_school(protected: str | None = "race") -> pd.DataFrame:
    """Law students' grades and test scores: 21,791 rows of the LSAC bar passage study, as used by Kusner et al.

    Read the data card (``docs/data_law_school.md``) before drawing conclusions from it.

    Parameters
    ----------
    protected
        ``"race"`` gives ``race`` as White / non-White, as in the paper; ``"sex"`` gives ``sex`` as female / male;
        None leaves every column as it is in the source.

    Returns
    -------
    pandas.DataFrame
        Columns ``race, sex, lsat, ugpa, region_first, zfya, sander_index, first_pf``.

    Examples
    --------
    >>> law_school()["race"].value_counts().to_dict()
    {'White': 18285, 'non-White': 3506}
    """
    if protected is not None and not (isinstance(protected, str) and protected in ("race", "sex")):
        raise SettingError(f"protected is {show(protected)}: law_school offers 'race', 'sex' or None")
    with resources.files(__name__).joinpath("law_school.csv.bz2").open("rb") as file:
        frame = pd.read_csv(file, compression="bz2")
    if protected == "race":
        return frame.assign(race=np.where(frame["race"] == "White", "White", "non-White"))
    if protected == "sex":
        return frame.assign(sex=frame["sex"].map({1: "female", 2: "male"}))
    return frame


def law_school_source() -> dict[str, str]:
    """Say which file holds the law-school data, with its checksum."""
    content = resources.files(__name__).joinpath("law_school.csv.bz2").read_bytes()
    return {"file": "law_school.csv.bz2", "sha256": hashlib.sha256(content).hexdigest()}


def nhs_staff_survey(path: str | Path) -> pd.DataFrame:
    """Read the authors' ``nhs.npz`` of the 2014 NHS staff survey, which the user brings; it is not shipped.

    Parameters
    ----------
    path
        An ``.npz`` file with the arrays ``data`` and ``colnames``.

    Returns
    -------
    pandas.DataFrame
        ``race, gender, sex_orient, disability, age`` coded 1 or 2, and the indices ``job_sat, manager_sat, org_sat,
        health``.
    """
    if not isinstance(path, str | Path):
        raise DataError(f"path is {show(path)}: give the path of the authors' nhs.npz")
    try:
        with np.load(path, allow_pickle=False) as archive:
            frame = pd.DataFrame(archive["data"], columns=[str(name) for name in archive["colnames"]])
    except FileNotFoundError:
        raise DataError(f"there is no file {show(str(path))}: give the path of the authors' nhs.npz") from None
    except (KeyError, OSError, ValueError, EOFError, IndexError, BadZipFile) as problem:
        raise DataError(f"{show(str(path))} is not the authors' nhs.npz: {problem}") from None
    missing = [name for name in NHS_COLUMNS if name not in frame.columns]
    if missing:
        raise DataError(f"{show(str(path))} is not the authors' nhs.npz: it has no column '{missing[0]}'")
    coded = list(NHS_COLUMNS[:5])
    return frame[list(NHS_COLUMNS)].astype(dict.fromkeys(coded, int))
