"""CSV files of any common format are read as what they say, and what was not said is asked for."""

from __future__ import annotations

import gzip
import lzma
import re

import numpy as np
import pandas as pd
import pytest

from fairstress.errors import DataError, SettingError
from fairstress.inputs.cells import Cells, doubt
from fairstress.inputs.files import MISSING, CsvFormat, open_table, read_frame, tell_delimiter
from fairstress.inputs.survey import survey

PLAIN = pd.DataFrame({"age": [31, 45, 28], "income": [3.5, 1.25, 2.0], "town": ["A, B", "C", "D"]})


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zip"])
def test_a_table_is_the_same_whatever_stands_between_its_cells(tmp_path, delimiter, suffix):
    path = tmp_path / f"people.{suffix}"
    PLAIN.to_csv(path, sep=delimiter, index=False)
    assert tell_delimiter(open_table(path)) == delimiter
    pd.testing.assert_frame_equal(read_frame(open_table(path), CsvFormat(delimiter=delimiter)), PLAIN)


def test_decimal_commas_are_read_where_they_are_named(tmp_path):
    PLAIN.to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    read = read_frame(open_table(tmp_path / "people.csv"), CsvFormat(delimiter=";", decimal=","))
    pd.testing.assert_frame_equal(read, PLAIN)
    as_text = read_frame(open_table(tmp_path / "people.csv"), CsvFormat(delimiter=";"))
    assert doubt(Cells.of(as_text["income"]), "income") == (
        "column 'income' holds numbers with a decimal comma, such as '3,5': add decimal = \",\" under [data]"
    )


@pytest.mark.parametrize(("delimiter", "word", "line"), [(";", "semicolons", '";"'), ("\t", "tabs", r'"\t"')])
def test_another_delimiter_is_named_with_the_line_that_says_so(tmp_path, delimiter, word, line):
    PLAIN.to_csv(tmp_path / "people.csv", sep=delimiter, decimal=",", index=False)  # with commas in some lines only
    message = (
        f"people.csv has 3 columns with {word} between them, which has to be said: add delimiter = {line} under [data]"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        read_frame(open_table(tmp_path / "people.csv"))


def test_cells_without_a_name_in_the_first_line_are_refused(tmp_path):
    (tmp_path / "people.csv").write_text("a,b\n1,2,3\n4,5,6\n")
    with pytest.raises(DataError, match="2 cells in its first line and 3 in its second: give every column a name"):
        read_frame(open_table(tmp_path / "people.csv"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,2,3"] * 60 + ["4,5,6,7"], "people.csv has 4 cells in line 62 and 3 in its first line: give each line as"),
        (["1,2,3"] * 60 + ["4,5"], "people.csv has 2 cells in line 62 and 3 in its first line"),
        (["1,2,3", "", '"4\n4",5', "6,7,8"], "people.csv has 2 cells in line 5 and 3 in its first line"),
        (["1,2,3", "4,5,6,"], "people.csv has 4 cells in line 3 and 3 in its first line"),
    ],
)
def test_a_line_with_a_cell_too_many_or_too_few_is_refused_wherever_it_stands(tmp_path, lines, message):
    (tmp_path / "people.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(DataError, match=re.escape(message)) as refused:
        read_frame(open_table(tmp_path / "people.csv"))
    assert str(refused.value).endswith("empty ones included; a number with a decimal comma has to stand in quotes")
    with pytest.raises(DataError, match=re.escape(message)):
        survey(tmp_path / "people.csv")


def test_missing_cells_at_the_end_of_a_line_and_a_comma_behind_the_names_are_no_shift(tmp_path):
    (tmp_path / "people.csv").write_text("a,b,\n1,\n,2\n3,4,\n")
    read = read_frame(open_table(tmp_path / "people.csv"))
    np.testing.assert_array_equal(read[["a", "b"]], [[1, np.nan], [np.nan, 2], [3, 4]])


TEXT = b"a,b\n" + b"1,2\n" * 5000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.csv.gz", gzip.compress(TEXT, mtime=0)[:-20]),
        ("cut.csv.xz", lzma.compress(TEXT)[:-20]),
        ("plain.csv.gz", TEXT),
        ("plain.csv.xz", TEXT),
        ("plain.csv.zip", TEXT),
        ("plain.csv.bz2", TEXT),
        ("plain.csv.tar", TEXT),
        ("plain.csv.zst", TEXT),
        ("plain.parquet", TEXT),
        ("bytes.csv", bytes(range(256))),
        ("quote.csv", b'a,b\n"1,2\n'),
        ("empty.csv", b""),
        ("wide.csv", b"a,b\n" + b'"' + b"1" * 200_000 + b'",2\n3\n'),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused_with_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    for read in (lambda path: read_frame(open_table(path)), survey):
        with pytest.raises(DataError, match=re.escape(name)):
            read(tmp_path / name)


def test_what_is_read_as_missing_is_what_pandas_reads_as_missing(tmp_path):
    cells = [*MISSING, "NA ", "none", "?", "-", "Nan", "0"]
    path = tmp_path / "people.csv"
    path.write_text("cell,n\n" + "".join(f'"{cell}",1\n' for cell in cells))
    ours, theirs = read_frame(open_table(path)), pd.read_csv(path)
    pd.testing.assert_frame_equal(ours, theirs)
    assert ours["cell"].isna().sum() == len(MISSING)


def test_named_cells_are_missing_and_words_that_are_levels_are_not(tmp_path):
    (tmp_path / "people.csv").write_text("age,plan\n31,None\n?,other\n45,?\n")
    form = CsvFormat(missing_values=("?",))
    read = read_frame(open_table(tmp_path / "people.csv"), form, ["plan"], {"plan": form.missing - {"None"}})
    np.testing.assert_array_equal(read["age"], [31, np.nan, 45])
    assert read["plan"].isna().tolist() == [False, False, True]
    assert read["plan"][0] == "None"


def test_named_cells_of_a_typed_table_are_missing_and_its_numbers_stay_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    table = PLAIN.assign(job=["cook", "?", "nurse"])
    table.to_parquet(tmp_path / "people.parquet")
    read = read_frame(open_table(tmp_path / "people.parquet"), CsvFormat(missing_values=("?",)))
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
    assert doubt(of(*many, "old"), "age") == (
        "column 'age' holds text such as 'old' in 1 row, and numbers in the others: if that stands for a missing "
        'value, add missing_values = ["old"] under [data]; otherwise correct the file'
    )
    assert doubt(of("a", "b", "c", "?"), "job").endswith(
        'add missing_values = ["?"] under [data], and missing_values = [] if it is a value like the others'
    )
    assert doubt(of("a", "b", "c"), "job") == ""


def test_commas_may_part_thousands_only_where_three_digits_follow_each():
    assert of("1,234", "5,678", "9,012").may_be_thousands
    assert not of("1,234", "5,67", "9,012").may_be_thousands
    assert of("1,234", "5,67", "9").decimal_commas == {"1,234": 1, "5,67": 1}


def test_dates_are_recognised_in_common_notations():
    assert of("2020-01-02", "2021-12-31 10:15").are_dates
    assert of("1.2.2020", "31/12/99").are_dates
    assert not of("1.5", "2.25").are_dates
    assert not of("12-34", "a").are_dates


def test_codes_and_words_for_missing_values_are_told_from_numbers_and_levels():
    assert of("01", "02", "10").codes == {"01": 1, "02": 1}
    assert of("01", "north", "10").codes == {}  # text anyway
    assert of("0", "0.5", "10").codes == {}
    assert of("NA", "None", "basic", "full").words == {"NA": 1, "None": 1}
    assert of("NA", "1", "2", "3").words == {}
    assert of("NA", "true", "False").words == {}
    assert Cells.of(pd.Series(["None", "01", "basic"]), typed=True).words == {}
