"""The documentation hangs together: pages are found, links lead somewhere, the references leave nothing out."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import fairstress as fs
from fairstress.schema import load_schema

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation_and_every_link_leads_somewhere():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name in navigation
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (DOCS / link).exists(), f"{page.name} links to {link}"


REFERENCE = (DOCS / "reference_python.md").read_text(encoding="utf-8")


def described() -> set[object]:
    """What the Python reference asks to be described; members of an audit have entries of their own."""
    names = [name for name in re.findall(r"(?m)^::: (\S+)$", REFERENCE) if not name.startswith("fairstress.Audit.")]
    return {getattr(import_module(module), name) for module, _, name in (path.rpartition(".") for path in names)}


def results() -> Iterator[type]:
    """The classes of the package that an audit's methods and properties give, by their annotations."""
    for name, member in inspect.getmembers(fs.Audit):
        function = inspect.unwrap(getattr(member, "fget", None) or member)
        if name.startswith("_") or not inspect.isroutine(function) or not callable(function):
            continue
        for word in re.findall(r"\w+", str(inspect.signature(function).return_annotation)):
            found = inspect.getattr_static(sys.modules[function.__module__], word, None)
            if inspect.isclass(found) and found.__module__.startswith("fairstress."):
                yield found


def test_the_reference_has_every_public_name_and_every_result_of_an_audit():
    modules = {
        fs: set(fs.__all__) - {"__version__", "datasets", "results"},
        fs.datasets: set(fs.datasets.__all__),
        fs.results: set(fs.results.__all__),
    }
    public = {getattr(module, name) for module, names in modules.items() for name in names}
    assert len(set(results())) > 10
    assert public | set(results()) <= described()


def test_the_reference_has_an_audits_members_in_the_groups_of_its_docstring():
    docstring = inspect.getdoc(fs.Audit)
    groups = re.findall(r"(?m)^(\S.*)\n((?: {4}.*\n)+)", docstring[: docstring.index("Examples\n")])
    said = {title: re.findall(r"`(\w+)`", names) for title, names in groups}
    public = {name for name in dir(fs.Audit) if not name.startswith("_")}
    assert sorted(name for names in said.values() for name in names) == sorted(public - {"fit"})
    part = REFERENCE[REFERENCE.index("\n## Audit") : REFERENCE.index("\n## Options")]
    shown = {title: re.findall(r"(?m)^::: fairstress.Audit.(\w+)$", text) for title, text in sections(part)}
    assert list(shown.items()) == list(said.items())


def sections(text: str) -> list[tuple[str, str]]:
    """The headings of the third level, each with what stands below it."""
    return re.findall(r"(?m)^### (.*)\n((?:(?!###).*\n)*)", text)


def test_the_words_are_in_alphabetical_order_and_each_has_one_or_two_sentences():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| ([^|]+) \| ([^|]+) \| [^|]*\|$", text)[2:]
    words = [word for word, _ in rows]
    assert len(set(words)) > 50
    assert words == sorted(words, key=str.casefold)
    for word, meaning in rows:
        assert meaning.endswith("."), word
        assert len(re.findall(r"\.(?= |$)", meaning)) <= 2, word


def keys(schema, prefix="") -> Iterator[str]:
    """Every key of a settings file; one of a column as ``columns.name.kind``."""
    for key, part in schema.get("properties", {}).items():
        yield f"{prefix}{key}"
        yield from keys(part, f"{prefix}{key}.")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys(schema["additionalProperties"], f"{prefix}name.")


def test_the_page_on_own_data_lists_every_key_of_a_settings_file():
    text = (DOCS / "own_data.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"(?m)^\| ([^|]*`[^|]*) \| (.*) \|$", text[text.index("### Every key") :]))
    listed = [key for cell in rows for key in re.findall(r"`([\w.]+)`", cell)]
    known = set(keys(load_schema("settings"))) - {"columns", "options", "profile", "report"}
    alike = {key for key in known if re.match(r"options\.robust\.(budget|search)\.", key)}  # as those of a report
    assert sorted(listed) == sorted(known - alike)
