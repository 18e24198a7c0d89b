"""What the documentation shows is what the program prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairstress.cli import main

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
PAGES = [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_a_page_prints_what_it_shows(page):
    names: dict[str, object] = {}
    for code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # the page's own lines
        if shown:
            assert printed.getvalue() == shown


def test_the_settings_file_and_the_commands_of_the_page_on_own_data_work(tmp_path, monkeypatch, law_frame):
    text = (DOCS / "own_data.md").read_text(encoding="utf-8")
    law_frame.to_csv(tmp_path / "students.csv", index=False)
    (tmp_path / "audit.toml").write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    monkeypatch.chdir(tmp_path)
    for command in re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1].splitlines():
        program, *arguments = command.split()
        assert program == "fairstress"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.stderr
    assert (tmp_path / "audit-results.html").read_text() == (tmp_path / "audit.html").read_text()


def test_every_page_is_in_the_navigation_and_every_link_leads_somewhere():
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name in navigation
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (DOCS / link).exists(), f"{page.name} links to {link}"
