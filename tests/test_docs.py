"""What the README and the documentation show is what the program does: every block and every command is run.

A page is gone through from top to bottom in a folder of its own, with the names that its Python has made so far. A
block in a language that is not listed here fails, and so does a command of a program that is not.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import fairstress as fs
from fairstress.cli import main
from fairstress.results import Benchmarks, Certificate, Contour, Curve, Frontier, People, Profile, WorstCase
from fairstress.settings import read_settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FENCE = re.compile(r"\s*(```|~~~)")
INDENTED = re.compile(r"( {4}|\t)\s*(\$|>>>|fairstress|make|pip|python|import|from) ")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
KEYS = (DOCS / "results.md", DOCS / "own_data.md")  # they have dotted keys of files, which other tests compare
KNOWN = {
    "Audit": fs.Audit,
    "CausalGraph": fs.CausalGraph,
    "audit": fs.Audit,
    "benchmarks": Benchmarks,
    "certificate": Certificate,
    "contour": Contour,
    "curve": Curve,
    "frontier": Frontier,
    "fs": fs,
    "graph": fs.CausalGraph,
    "people": People,
    "profile": Profile,
    "worst_case": WorstCase,
}


# ---------------------------------------------------------------- reading a page


@dataclass(frozen=True)
class Block:
    """Something on a page that can be run or compared."""

    language: str  # of a fenced block; "span" for a command in running text
    text: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """Give the fenced blocks, and what stands in backticks between them, in order."""
    lines, prose = enumerate(text.splitlines(keepends=True), start=1), ""
    for number, line in lines:
        if not FENCE.match(line):
            assert not INDENTED.match(line), f"line {number}: put what is run between fences"
            prose += line
            continue
        yield from (Block("span", span, number) for span in spans(prose))
        opening, prose = re.fullmatch(r"```(\w+)\n", line), ""
        assert opening, f"line {number}: a block begins at the margin, with ``` and the name of its language"
        inside = []
        for _, inner in lines:
            if inner.rstrip() == "```":
                break
            inside.append(inner)
        else:
            raise AssertionError(f"line {number}: this block never ends")
        yield Block(opening[1], "".join(inside), number)
    yield from (Block("span", span, 0) for span in spans(prose))


def spans(prose: str) -> list[str]:
    """What stands in backticks, line breaks as spaces."""
    return [" ".join(span.split()) for span in SPAN.findall(prose)]


def named(page: Path) -> list[str]:
    """What the running text of a page has in backticks."""
    return [block.text for block in blocks(read(page)) if block.language == "span"]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def assert_shown(shown: str, printed: str) -> None:
    """A line of three dots stands for what is omitted; all else must be there, in this order."""
    pieces = re.split(r"(?m)^\.\.\.\n", shown)
    if len(pieces) == 1:
        assert printed == shown
    assert printed.startswith(pieces[0])
    assert printed.endswith(pieces[-1])
    for piece in pieces:
        assert piece in printed
        printed = printed[printed.index(piece) + len(piece) :]


# ---------------------------------------------------------------- running it


@dataclass
class Walk:
    """The way through a page: what its blocks have defined, written and printed so far."""

    folder: Path
    demonstration: str  # what `fairstress demo` prints
    printed_by: Callable[[str], str]  # what an example prints
    names: dict[str, Any] = field(default_factory=dict)
    printed: str = ""
    unshown: str = ""  # printed by Python, and not on the page yet

    def through(self, text: str) -> None:
        """Go from the first block to the last."""
        for block in blocks(text):
            self.step(block)
        self.end()

    def step(self, block: Block) -> None:
        """Run a block, or compare it with what was printed."""
        steps = {
            "python": self.python,
            "text": self.text,
            "json": self.json,
            "toml": self.toml,
            "sh": self.sh,
            "span": self.span,
        }
        assert block.language in steps, f"no test knows what to do with a block of {block.language}"
        steps[block.language](block.text)

    def end(self) -> None:
        assert not self.unshown, f"the page does not show that this is printed:\n{self.unshown}"

    def python(self, code: str) -> None:
        self.end()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)  # the page's own lines
        self.printed = self.unshown = printed.getvalue()

    def text(self, shown: str) -> None:
        if shown.startswith("$ "):
            return self.session(shown)
        assert self.printed, "no block before this one prints anything"
        assert_shown(shown, self.printed)
        self.unshown = ""
        return None

    def json(self, shown: str) -> None:
        assert json.loads(shown) == json.loads(self.printed)

    def toml(self, content: str) -> None:
        path = self.folder / "audit.toml"
        path.write_text(content, encoding="utf-8")
        assert all(data.exists() for data in read_settings(path).data)

    def sh(self, lines: str) -> None:
        self.printed = "".join(map(self.command, lines.splitlines()))

    def session(self, shown: str) -> None:
        """``$ command  # with this for that`` and what it answers, standard error included."""
        for line, answer in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown):
            path = self.folder / "audit.toml"
            content = read(path)
            if change := re.search(r"# with (\w+) for (\w+)$", line):
                path.write_text(content.replace(change[2], change[1]), encoding="utf-8")
            found = CliRunner().invoke(main, shlex.split(line, comments=True)[1:])
            path.write_text(content, encoding="utf-8")
            assert found.output == answer
            assert found.exit_code == (2 if answer.startswith("fairstress: ") else 0)

    def span(self, text: str) -> None:
        """A command in running text; without settings on the page it has nothing to run on, and is only read."""
        words = shlex.split(text) if text.startswith(("fairstress ", "make ", "pip ", "python ", "bash ")) else []
        if not words:
            return
        if words[0] == "fairstress":
            missing = is_only_named(words[1:])
            if missing or not (self.folder / "audit.toml").exists():
                return
        self.command(text)

    def command(self, line: str) -> str:
        """Run a command, or see that it can be run where running it would set up environments; give what it prints."""
        program, *words = shlex.split(line, comments=True)
        programs = {
            "fairstress": self.fairstress,
            "make": self.make,
            "pip": self.pip,
            "python": self.script,
            "bash": self.script,
        }
        assert program in programs, f"no test runs {line!r}"
        return programs[program](words)

    def fairstress(self, words: list[str]) -> str:
        if words == ["demo"]:
            return self.demonstration
        found = CliRunner().invoke(main, words)
        assert found.exit_code == 0, found.output
        return found.stdout

    def make(self, targets: list[str]) -> str:
        """The target exists, and make can say what it would do."""
        phony = re.search(r"(?m)^\.PHONY: (.*)$", read(ROOT / "Makefile"))[1].split()
        assert {target for target in targets if "=" not in target} <= set(phony)
        command = ["make", "--dry-run", "--no-print-directory", *targets]
        planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        if targets != ["demo"]:
            return ""
        assert planned.stdout.endswith("bin/fairstress demo\n")
        return self.demonstration

    def pip(self, words: list[str]) -> str:
        """What is installed is this project, with extras that it has, or something that an extra asks for."""
        extras = PROJECT["optional-dependencies"]
        asked = {
            re.split(r"[>=\[]", name)[0] for group in [PROJECT["dependencies"], *extras.values()] for name in group
        }
        install, *wanted = words
        assert install == "install"
        for name in wanted:
            own = re.fullmatch(r"(?:\.|fairstress)(?:\[(\w+)\])?", name)
            assert name in asked or (own and (own[1] is None or own[1] in extras)), name
        return ""

    def script(self, words: list[str]) -> str:
        """Examples are run; what else the project runs (benchmarks, continuous integration) is there."""
        path = ROOT / words[0]
        assert path.exists(), f"there is no {words[0]}"
        return self.printed_by(path.stem) if path.parent.name == "examples" else ""


def is_only_named(words: list[str]) -> bool:
    """Whether a command is named without what it needs; unknown commands and options are errors."""
    try:
        above = click.Context(
            main, **main.context_settings
        )  # a command remembers by which options it was asked for help
        name, command, rest = main.resolve_command(above, words)
        command.make_context(name, rest, parent=above)
    except click.MissingParameter:
        return True
    return False


@pytest.fixture(scope="module")
def students(tmp_path_factory, law_frame) -> Path:
    """The table that the pages call students.csv."""
    path = tmp_path_factory.mktemp("data") / "students.csv"
    law_frame.to_csv(path, index=False)
    return path


@pytest.fixture
def walk(tmp_path, monkeypatch, students, request, printed_by):
    def begin(page: Path) -> Walk:
        shutil.copy(students, tmp_path)
        monkeypatch.chdir(tmp_path)
        shows = re.search(r"(?m)^(make|fairstress) demo", read(page))
        return Walk(tmp_path, request.getfixturevalue("demonstration").stdout if shows else "", printed_by)

    return begin


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_and_prints_what_the_page_shows(page, walk):
    way = walk(page)
    way.through(read(page))
    if page.stem == "own_data":  # the page that `run` writes is the one that `report` draws from the results
        assert read(way.folder / "audit-results.html") == read(way.folder / "audit.html")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```r\n1 + 1\n```\n", "a block of r"),
        ("```\n1 + 1\n```\n", "the name of its language"),
        ("- so\n    ```python\n    1 + 1\n    ```\n", "at the margin"),
        ("```python\n1 + 1\n", "never ends"),
        ("So:\n\n    import fairstress\n", "between fences"),
        ("```sh\ncurl fairstress\n```\n", "no test runs 'curl"),
        ("```sh\npython examples/nothing.py\n```\n", "there is no examples/nothing.py"),
        ("```text\n2\n```\n", "prints anything"),
        ("```python\nprint(2)\n```\n", "does not show"),
        ("```python\nprint(2)\n```\n\n```text\n3\n```\n", "'2"),
        ("```sh\nfairstress datasets --jsn\n```\n", "--jsn"),
        ("Say `fairstress rum audit.toml`.\n", "rum"),
    ],
)
def test_a_block_or_command_that_no_test_can_run_is_an_error(tmp_path, walk, text, problem):
    page = tmp_path / "page.md"
    page.write_text(text)
    way = walk(page)
    with pytest.raises((AssertionError, click.UsageError), match=re.escape(problem)):
        way.through(text)


def test_omitted_lines_are_the_only_freedom_of_what_is_shown():
    assert_shown("1\n...\n3\n", "1\n2\n3\n")
    for shown in ("1\n3\n", "1\n...\n4\n", "2\n...\n", "3\n...\n1\n", "...\n2\n"):
        with pytest.raises(AssertionError):
            assert_shown(shown, "1\n2\n3\n")


def test_json_on_a_page_is_what_the_command_before_it_prints(tmp_path, walk):
    page = tmp_path / "page.md"
    page.write_text("```sh\nfairstress datasets --json\n```\n")
    way = walk(page)
    way.step(next(blocks(read(page))))
    way.step(Block("json", way.printed, 1))
    with pytest.raises(AssertionError):
        way.step(Block("json", "{}", 1))


# ---------------------------------------------------------------- what running text names


def calls(page: Path) -> Iterator[tuple[str, Callable[..., Any], ast.Call]]:
    """Calls of the library's own functions in running text."""
    for span in named(page):
        with contextlib.suppress(SyntaxError):
            for node in ast.walk(ast.parse(span, mode="eval")):
                if isinstance(node, ast.Call) and (found := owner(node.func)):
                    yield span, found, node


def owner(node: ast.expr) -> Any:
    """What a dotted name stands for, if it begins with a name that the pages use for something of the library."""
    if isinstance(node, ast.Name):
        return KNOWN.get(node.id)
    if not isinstance(node, ast.Attribute) or (parent := owner(node.value)) is None:
        return None
    if node.attr in getattr(parent, "__dataclass_fields__", {}):
        return None
    assert hasattr(parent, node.attr), f"{parent.__name__} has no {node.attr}"
    found = getattr(parent, node.attr)
    return given_by(found) if isinstance(found, property) else found


def given_by(member: property) -> Any:
    """The class that a property's annotation names, if it is the library's."""
    return vars(sys.modules[member.fget.__module__]).get(member.fget.__annotations__["return"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_calls_in_running_text_name_functions_and_arguments_that_exist(page):
    for span, function, node in calls(page):
        is_method = inspect.isfunction(function) and "." in function.__qualname__
        given = [ast.Constant(None)] * is_method + node.args  # a method's self
        try:
            inspect.signature(function).bind_partial(*given, **{word.arg: None for word in node.keywords})
        except TypeError as problem:
            pytest.fail(f"{span}: {problem}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_files_and_options_in_running_text_exist(page):
    options = {word for command in main.commands.values() for p in command.params for word in p.opts}
    for span in named(page):
        if re.fullmatch(r"[a-zA-Z]\w*(\.\w+)+", span) and not span.endswith((".py", ".toml")) and page not in KEYS:
            owner(ast.parse(span, mode="eval").body)
        if re.match(r"(benchmarks|docs|examples|scripts|src|tests)/\S+$", span):
            assert list(ROOT.glob(span)) or page.name == "data_law_school.md", span  # it names a file of dowhy's
        if span.startswith("--"):
            assert span.split()[0] in options, span


def test_completion_works_as_the_page_on_own_data_says():
    line = next(span for span in named(DOCS / "own_data.md") if span.startswith("eval "))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", f"{line}; complete -p fairstress"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert found.stdout.endswith(" fairstress\n"), found.stderr
