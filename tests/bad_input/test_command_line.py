"""Commands that cannot be carried out, and files that are no results: one line on standard error, and exit code 2."""

from __future__ import annotations

from importlib.metadata import version

import pytest

IS_NEW = tuple(map(int, version("click").split(".")[:2])) >= (8, 4)  # in whose words it is said

COMMANDS = [
    (
        ["rn"],
        "no such command 'rn'. Did you mean 'run'? See fairstress --help"
        if IS_NEW
        else "no such command 'rn': see fairstress --help",
    ),
    (
        ["run"],
        "missing argument '[SETTINGS]': see fairstress run --help",
    ),
    (
        ["run", "nowhere.toml"],
        "there is no settings file 'nowhere.toml'",
    ),
    (
        ["run", "."],
        "cannot read '.': [Errno 21] Is a directory: '.'",
    ),
    (
        ["run", "audit.toml", "--reprot", "x"],
        "no such option '--reprot'. Did you mean '--report'? See fairstress run --help"
        if IS_NEW
        else "no such option: --reprot Did you mean --report? See fairstress run --help",
    ),
    (
        ["run", "audit.toml", "--report", "."],
        "cannot write the report to '.': it is a folder",
    ),
    (
        ["run", "audit.toml", "--report", "nowhere/x.html"],
        "cannot write the report to 'nowhere/x.html': there is no folder 'nowhere'",
    ),
    (
        ["run", "audit.toml", "--report", "people.csv"],
        "the report would overwrite the data, 'people.csv': give another file",
    ),
    (
        ["run", "audit.toml", "--report", "audit.toml"],
        "the report would overwrite the settings, 'audit.toml': give another file",
    ),
    (
        ["run", "--again", "nowhere.json"],
        "there is no results file 'nowhere.json'",
    ),
    (
        ["run", "--again", "people.csv"],
        "cannot read 'people.csv': Expecting value: line 1 column 1 (char 0)",
    ),
    (
        ["run", "audit.toml", "--again", "x.json", "--report", "y"],
        "--again goes with --json, --quiet and --trust-pickle alone: see fairstress run --help",
    ),
    (
        ["check"],
        "missing argument 'SETTINGS': see fairstress check --help",
    ),
    (
        ["check", "nowhere.toml"],
        "there is no settings file 'nowhere.toml'",
    ),
    (
        ["check", "people.csv"],
        "people.csv is not valid TOML: Expected '=' after a key in a key/value pair (at line 1, column 2)",
    ),
    (
        ["report"],
        "missing argument 'RESULTS': see fairstress report --help",
    ),
    (
        ["report", "nowhere.json"],
        "there is no results file 'nowhere.json'",
    ),
    (
        ["report", "people.csv"],
        "cannot read 'people.csv': Expecting value: line 1 column 1 (char 0)",
    ),
    (
        ["report", "."],
        "'.' is a folder: give a results file",
    ),
    (
        ["new"],
        "missing argument 'DATA': see fairstress new --help",
    ),
    (
        ["new", "nowhere.csv", "-o", "new.toml"],
        "there is no data file 'nowhere.csv'",
    ),
    (
        ["new", "people.csv", "-o", "audit.toml"],
        "'audit.toml' is there already: give another file by -o, or --force to overwrite it",
    ),
    (
        ["new", "people.csv", "-o", "people.csv", "--force"],
        "the settings would overwrite the data, 'people.csv': give another file",
    ),
    (
        ["new", "loop", "-o", "new.toml"],
        "cannot read 'loop': give a .csv or .parquet file",
    ),
    (
        ["graph"],
        "missing argument 'FILE': see fairstress graph --help",
    ),
    (
        ["graph", "nowhere.txt"],
        "invalid value for 'FILE': 'nowhere.txt': No such file or directory: see fairstress graph --help",
    ),
    (
        ["graph", "nowhere.txt", "--protected", "a"],
        "invalid value for 'FILE': 'nowhere.txt': No such file or directory: see fairstress graph --help",
    ),
    (
        ["graph", "people.csv", "--protected", "a", "--outcome", "y"],
        "cannot read '-1': write '->', '<-', '<->' or '=fair=>', or put the name in quotes",
    ),
    (
        ["demo", "-o", "nowhere/x.html"],
        "cannot write the report to 'nowhere/x.html': there is no folder 'nowhere'",
    ),
    (
        ["demo", "-o", "."],
        "cannot write the report to '.': it is a folder",
    ),
    (
        ["demo", "--fast"],
        "no such option '--fast': see fairstress demo --help"
        if IS_NEW
        else "no such option: --fast: see fairstress demo --help",
    ),
    (
        ["--colour"],
        "no such option '--colour': see fairstress --help"
        if IS_NEW
        else "no such option: --colour: see fairstress --help",
    ),
]

RESULTS = [
    (
        "empty",
        "",
        "cannot read 'results.json': Expecting value: line 1 column 1 (char 0)",
    ),
    (
        "not JSON",
        "{",
        ("cannot read 'results.json': Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ),
    (
        "a list",
        "[]",
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "a number",
        "3",
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "nothing in it",
        "{}",
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "null",
        "null",
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "NaN",
        "NaN",
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "too deep",
        100_000 * "[",
        "cannot read 'results.json': lists or objects stand too deep in one another",
    ),
    (
        "another program's",
        '{"version": 1}',
        (
            "'results.json' cannot be used: it has no 'schema', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "a schema of tomorrow",
        '{"schema": 99, "kind": "report"}',
        (
            "'results.json' cannot be used: its schema is 99, and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "a schema as text",
        '{"schema": "4"}',
        (
            "'results.json' cannot be used: its schema is '4', and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "a schema of true",
        '{"schema": true}',
        (
            "'results.json' cannot be used: its schema is True, and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "a schema of 0",
        '{"schema": 0}',
        (
            "'results.json' cannot be used: its schema is 0, and this version of fairstress reads 1 to 5; "
            "write the results anew, or use the version that wrote them"
        ),
    ),
    (
        "no kind",
        '{"schema": 4}',
        ("'results.json' cannot be used: it has no 'data'; write the results anew, or use the version that wrote them"),
    ),
    (
        "binary",
        "\x00\x01",
        "cannot read 'results.json': Expecting value: line 1 column 1 (char 0)",
    ),
]


@pytest.mark.parametrize(("arguments", "sentence"), COMMANDS, ids=[" ".join(case[0]) for case in COMMANDS])
def test_commands_are_refused_in_one_line(arguments, sentence, command):
    (command.folder / "audit.toml").write_text(command.settings, encoding="utf-8")
    (command.folder / "loop").mkdir()
    command.refuses(arguments, sentence)


@pytest.mark.parametrize(("text", "sentence"), [case[1:] for case in RESULTS], ids=[case[0] for case in RESULTS])
def test_results_are_refused_in_one_line(text, sentence, command):
    (command.folder / "results.json").write_text(text, encoding="utf-8")
    command.refuses(["report", "results.json"], sentence)
