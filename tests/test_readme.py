"""What the README shows is what the program prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairstress.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def after(opening: str, language: str) -> str:
    """The first block of a language that follows some text."""
    return re.search(rf"```{language}\n(.*?)```", README[README.index(opening) :], re.DOTALL)[1]


def test_the_demonstration_prints_what_the_readme_shows(demonstration):
    assert demonstration.stdout == after("This is what `make demo` prints", "text")
    assert demonstration.stderr == ""  # no progress where there is no terminal
    assert "Within the agreed budget" in demonstration.page.read_text(encoding="utf-8")


def test_the_python_lines_print_what_the_readme_shows():
    names: dict[str, object] = {}
    for opening in ("## In Python", "What moves a claim most"):
        code = after(opening, "python")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # the README's own lines
        assert printed.getvalue() == after(code, "text")


@pytest.fixture
def settings(tmp_path, law_frame):
    law_frame.to_csv(tmp_path / "students.csv", index=False)
    (tmp_path / "audit.toml").write_text(after("## From the command line", "toml"))
    return tmp_path / "audit.toml"


def test_the_settings_file_of_the_readme_runs(settings):
    result = CliRunner().invoke(main, ["run", str(settings)])
    assert result.exit_code == 0, result.stderr
    assert "The pair ugpa <-> lsat: Model B at 101 correlations" in result.stdout


def test_the_mistake_of_the_readme_is_answered_as_it_says(settings):
    settings.write_text(settings.read_text().replace("lsat", "lsta"))
    result = CliRunner().invoke(main, ["run", str(settings)])
    assert result.exit_code == 2
    shown = after("A mistake is one line and exit code 2", "text").splitlines()
    assert shown[0] == "$ fairstress run audit.toml      # with lsta for lsat"
    assert result.stderr.splitlines() == shown[1:]
