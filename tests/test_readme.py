"""The README's promises that its blocks do not show; `test_docs.py` runs the blocks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairstress.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def after(opening: str, language: str) -> str:
    """The first block of a language that follows some text."""
    return re.search(rf"```{language}\n(.*?)```", README[README.index(opening) :], re.DOTALL)[1]


def test_the_demonstration_says_nothing_else_and_writes_its_page(demonstration):
    assert demonstration.stderr == ""  # no progress where there is no terminal
    page = demonstration.page.read_text(encoding="utf-8")
    assert demonstration.stdout.startswith("Would this prediction be the same if race were different?\n")
    assert "Would this prediction be the same if <bdi>race</bdi> were different?" in page


@pytest.fixture
def settings(tmp_path, law_frame):
    law_frame.to_csv(tmp_path / "students.csv", index=False)
    (tmp_path / "audit.toml").write_text(after("## From the command line", "toml"))
    return tmp_path / "audit.toml"


def test_the_settings_file_of_the_readme_runs(settings):
    result = CliRunner().invoke(main, ["run", str(settings)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Would this prediction be the same if race were different?\n")
