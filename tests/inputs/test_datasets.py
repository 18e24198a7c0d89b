from __future__ import annotations

import bz2
import hashlib
from importlib import resources

import numpy as np
import pytest

from fairstress import datasets
from fairstress.errors import DataError, SettingError

CHECKSUM = "05c1d236440426088f7b28cbbdf4b78b078ebd3e147bba04f7e02b50df4647de"  # printed by scripts/build_law_school.py


def test_the_shipped_table_has_the_checksum_of_its_source():
    file = resources.files("fairstress.inputs.datasets") / "law_school.csv.bz2"
    assert hashlib.sha256(bz2.decompress(file.read_bytes())).hexdigest() == CHECKSUM


def test_law_school_has_the_rows_columns_and_groups_of_the_paper():
    frame = datasets.law_school()
    assert frame.shape == (21791, 8)
    assert list(frame) == ["race", "sex", "lsat", "ugpa", "region_first", "zfya", "sander_index", "first_pf"]
    assert frame["race"].value_counts().to_dict() == {"White": 18285, "non-White": 3506}
    assert datasets.law_school("sex")["sex"].value_counts().to_dict() == {"male": 12254, "female": 9537}
    raw = datasets.law_school(None)
    assert raw["race"].nunique() == 8
    assert set(raw["sex"]) == {1, 2}
    assert frame.notna().all(axis=None)


def test_law_school_offers_only_what_it_has():
    with pytest.raises(SettingError, match="protected is 'age': law_school offers"):
        datasets.law_school("age")


def test_the_nhs_survey_is_read_from_the_users_file(nhs_frame):
    assert nhs_frame.shape == (209112, 9)
    assert set(nhs_frame["race"]) == {1, 2}


def test_a_file_that_is_not_the_nhs_survey_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        datasets.nhs_staff_survey(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", data=np.zeros((2, 1)), colnames=np.array(["race"]))
    with pytest.raises(DataError, match="it has no column 'gender'"):
        datasets.nhs_staff_survey(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(DataError, match=r"is not the authors' nhs\.npz"):
        datasets.nhs_staff_survey(tmp_path / "text.npz")
