"""Tables in files that cannot be read, or not in one way only."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

import pytest

COMMA = ","


def joined(lines: Iterable[str]) -> str:
    return "\n".join(lines)


CASES = [
    (
        "an empty file",
        "people.csv",
        lambda lines: "",
        "cannot read 'people.csv': it is empty, give a file with a line of names and a line for each person",
    ),
    (
        "a header alone",
        "people.csv",
        lambda lines: lines[0],
        "the data have no rows: give a table with one row per person",
    ),
    (
        "one field more than the header",
        "people.csv",
        lambda lines: joined(lines[:1] + [f"{line},1" for line in lines[1:]]),
        ("people.csv has 4 cells in its first line and 5 in its second: give every column a name in the first line"),
    ),
    (
        "one row too long",
        "people.csv",
        lambda lines: joined([*lines, f"{lines[-1]},7"]),
        (
            "people.csv has 5 cells in line 82 and 4 in its first line: give each line as many, empty ones "
            "included; a number with a decimal comma has to stand in quotes"
        ),
    ),
    (
        "one row too short",
        "people.csv",
        lambda lines: joined([*lines, "1,2"]),
        (
            "people.csv has 2 cells in line 82 and 4 in its first line: give each line as many, empty ones "
            "included; a number with a decimal comma has to stand in quotes"
        ),
    ),
    (
        "two columns of one name",
        "people.csv",
        lambda lines: joined([lines[0].replace("z", "x"), *lines[1:]]),
        "the data have two columns named 'x': rename one of them",
    ),
    (
        "an unnamed column",
        "people.csv",
        lambda lines: joined([lines[0].replace("z", ""), *lines[1:]]),
        "the graph names 'z', which is not a column of the data",
    ),
    (
        "a quote that is never closed",
        "people.csv",
        lambda lines: joined([*lines, '"1,2,3,4']),
        (
            "people.csv has 1 cells in line 82 and 4 in its first line: give each line as many, empty ones "
            "included; a number with a decimal comma has to stand in quotes"
        ),
    ),
    (
        "a word among numbers",
        "people.csv",
        lambda lines: joined([*lines, f"{lines[1].split(COMMA)[0]},high,1,1"]),
        (
            "column 'x' holds text such as 'high' in 1 row, and numbers in the others: if that stands for a "
            'missing value, add missing_values = ["high"] under [data]; otherwise correct the file'
        ),
    ),
    (
        "a missing cell",
        "people.csv",
        lambda lines: joined([*lines, f"{lines[1].split(COMMA)[0]},,1,1"]),
        (
            "column 'x' has 1 missing value (first in row 80; a=-1: 1): missing = \"drop\" under [options] leaves this "
            "person out, and the report says how many of each group; or impute several times and name the completed "
            'tables in a list, data = ["one.csv", "two.csv"]; fairstress never does either silently'
        ),
    ),
    (
        "a cell that may be missing",
        "people.csv",
        lambda lines: joined([*lines, f"{lines[1].split(COMMA)[0]},NA,1,1"]),
        (
            "column 'x' has 1 missing value (first in row 80; a=-1: 1): missing = \"drop\" under [options] leaves this "
            "person out, and the report says how many of each group; or impute several times and name the completed "
            'tables in a list, data = ["one.csv", "two.csv"]; fairstress never does either silently'
        ),
    ),
    (
        "not a gz file",
        "people.csv.gz",
        joined,
        "cannot read 'people.csv.gz': Not a gzipped file (b'a,')",
    ),
    (
        "half a gz file",
        "people.csv.gz",
        lambda lines: gzip.compress(joined(lines).encode())[:200],
        "cannot read 'people.csv.gz': Compressed file ended before the end-of-stream marker was reached",
    ),
    (
        "not an xz file",
        "people.csv.xz",
        joined,
        "cannot read 'people.csv.xz': Input format not supported by decoder",
    ),
    (
        "not a Parquet file",
        "people.parquet",
        joined,
        (
            "cannot read 'people.parquet': Could not open Parquet input source '<Buffer>': Parquet magic bytes "
            "not found in footer. Either the file is corrupted or this is not a parquet file."
        ),
    ),
    (
        "not UTF-8",
        "people.csv",
        lambda lines: joined(lines).replace("a,", "\xe4,").encode("latin-1"),
        ("cannot read 'people.csv': 'utf-8' codec can't decode byte 0xe4 in position 0: invalid continuation byte"),
    ),
    (
        "NUL bytes",
        "people.csv",
        lambda lines: joined(lines).encode().replace(b"\n", b"\0\n"),
        "people.csv has a NUL byte in line 1, so it is not plain text: save it again as CSV in UTF-8",
    ),
    (
        "infinite",
        "people.csv",
        lambda lines: joined([*lines, f"{lines[1].split(COMMA)[0]},inf,1,1"]),
        "column 'x' has 1 infinite value (first in row 80): remove or replace them before the audit",
    ),
    (
        "semicolons and commas",
        "people.csv",
        lambda lines: joined(line.replace(COMMA, ";").replace(".", COMMA) for line in lines),
        (
            'people.csv has 4 columns with semicolons between them, which has to be said: add delimiter = ";" '
            "under [data]"
        ),
    ),
]


@pytest.mark.parametrize(("name", "spoil", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_tables_are_refused_in_one_line(name, spoil, sentence, command):
    text = spoil((command.folder / "people.csv").read_text(encoding="utf-8").splitlines())
    (command.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    settings = command.settings.replace("people.csv", name)
    (command.folder / "audit.toml").write_text(settings, encoding="utf-8")
    command.refuses(["check", "audit.toml"], sentence)
