"""CSV files of any common format are read as what they say, and what was not said is asked for."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from fairstress.errors import DataError, SettingError
from fairstress.inputs.cells import Cells, doubt
from fairstress.inputs.files import MISSING, CsvFormat, read_frame, tell_delimiter

PLAIN = pd.DataFrame({"age": [31, 45, 28], "income": [3.5, 1.25, 2.0], "town": ["A, B", "C", "D"]})


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zip"])
def test_a_table_is_the_same_whatever_stands_between_its_cells(tmp_path, delimiter, suffix):
    path = tmp_path / f"people.{suffix}"
    PLAIN.to_csv(path, sep=delimiter, index=False)
    assert tell_delimiter(path) == delimiter
    pd.testing.assert_frame_equal(read_frame(path, CsvFormat(delimiter=delimiter)), PLAIN)


def test_decimal_commas_are_read_where_they_are_named(tmp_path):
    PLAIN.to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    read = read_frame(tmp_path / "people.csv", CsvFormat(delimiter=";", decimal=","))
    pd.testing.assert_frame_equal(read, PLAIN)
    as_text = read_frame(tmp_path / "people.csv", CsvFormat(delimiter=";"))
    assert doubt(as_text["income"], "income") == (
        "column 'income' holds numbers with a decimal comma, such as '3,5': add decimal = \",\" under [data]"
    )


@pytest.mark.parametrize(("delimiter", "word", "line"), [(";", "semicolons", '";"'), ("\t", "tabs", r'"\t"')])
def test_another_delimiter_is_named_with_the_line_that_says_so(tmp_path, delimiter, word, line):
    PLAIN.to_csv(tmp_path / "people.csv", sep=delimiter, decimal=",", index=False)  # with commas in some lines only
    message = (
        f"people.csv has 3 columns with {word} between them, which has to be said: add delimiter = {line} under [data]"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        read_frame(tmp_path / "people.csv")


def test_cells_without_a_name_in_the_first_line_are_refused(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match="2 cells in its first line and 3 in its second: give every column a name"):
        read_frame(tmp_path / "people.csv")


def test_what_is_read_as_missing_is_what_pandas_reads_as_missing(tmp_path):
    cells = [*MISSING, "NA ", "none", "?", "-", "Nan", "0"]
    path = tmp_path / "people.csv"
    path.write_text("cell,n\n" + "".join(f'"{cell}",1\n' for cell in cells))
    ours, theirs = read_frame(path), pd.read_csv(path)
    pd.testing.assert_frame_equal(ours, theirs)
    assert ours["cell"].isna().sum() == len(MISSING)


def test_named_cells_are_missing_and_words_that_are_levels_are_not(tmp_path):
    (tmp_path / "people.csv").write_text("age,plan\n31,None\n?,other\n45,?\n")
    form = CsvFormat(missing_values=("?",))
    read = read_frame(tmp_path / "people.csv", form, {"plan": ("None", "other")})
    np.testing.assert_array_equal(read["age"], [31, np.nan, 45])
    assert read["plan"].isna().tolist() == [False, False, True]
    assert read["plan"][0] == "None"


def test_named_cells_of_a_typed_table_are_missing_and_its_numbers_stay_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    table = PLAIN.assign(job=["cook", "?", "nurse"])
    table.to_parquet(tmp_path / "people.parquet")
    read = read_frame(tmp_path / "people.parquet", CsvFormat(missing_values=("?",)))
    assert read["job"].isna().tolist() == [False, True, False]
    pd.testing.assert_frame_equal(read[list(PLAIN)], PLAIN)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": ";;"}, "delimiter is ';;': give one character"),
        ({"decimal": "'"}, "decimal is \"'\": give '.' or ','"),
        ({"decimal": ","}, "delimiter and decimal are both ','"),
        ({"missing_values": (9,)}, "missing_values lists 9: give text as it stands in the file"),
    ],
)
def test_a_format_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(SettingError, match=re.escape(message)):
        CsvFormat(**given)


# ---------------------------------------------------------------- cells


def of(*cells: str) -> Cells:
    return Cells.of(pd.Series(cells))


def test_placeholders_are_told_from_signs_levels_and_numbers():
    assert of("31", "?", "45", "?").placeholders == {"?": 2}
    assert of("low", "mid", "high", " - ").placeholders == {" - ": 1}
    assert of("+", "-", "+", "weak").placeholders == {}
    assert of("yes", "?").placeholders == {}  # one of two levels
    assert of("-1", "-2", ".5").placeholders == {}


def test_numbers_with_exceptions_are_told_from_levels_that_look_like_numbers():
    many = [str(i) for i in range(40)]
    assert of(*many, "old").odd == {"old": 1}
    assert of("1", "2", "X", "Y").odd == {}
    assert doubt(pd.Series([*many, "old"]), "age") == (
        "column 'age' holds text such as 'old' in 1 row, and numbers in the others: if that stands for a missing "
        'value, add missing_values = ["old"] under [data]; otherwise correct the file'
    )
    assert doubt(pd.Series(["a", "b", "c", "?"]), "job").endswith(
        'add missing_values = ["?"] under [data], and missing_values = [] if it is a value like the others'
    )
    assert doubt(pd.Series(["a", "b", "c"]), "job") == ""


def test_commas_may_part_thousands_only_where_three_digits_follow_each():
    assert of("1,234", "5,678", "9,012").may_be_thousands
    assert not of("1,234", "5,67", "9,012").may_be_thousands
    assert of("1,234", "5,67", "9").decimal_commas == {"1,234": 1, "5,67": 1}


def test_dates_are_recognised_in_common_notations():
    assert of("2020-01-02", "2021-12-31 10:15").are_dates
    assert of("1.2.2020", "31/12/99").are_dates
    assert not of("1.5", "2.25").are_dates
    assert not of("12-34", "a").are_dates
