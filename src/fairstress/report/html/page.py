"""The page: one HTML file with everything in it, drawn from saved results alone. Computes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from fairstress.report.sharing import shared
from fairstress.report.text.markup import printable
from fairstress.report.text.plain import first_screen
from fairstress.report.text.said import as_html, as_text
from fairstress.report.text.words import Words
from fairstress.saving import save
from fairstress.wording import SMALLEST_GROUP, Sharing

TEMPLATE = "page.html.jinja"
MANY = 1e6  # from here on numbers have an exponent
SCRIPTS = ("elements", "tables", "graph", "curve", "picture", "people", "begin")  # in this order


def write_page(path: str | Path, content: Mapping[str, Any], *, people: bool = False, labels: bool = False) -> None:
    """Write the report of some results, whole or not at all; people and their labels are shown only if asked for."""
    save(path, render_page(content, people=people, labels=labels), "the report")


def render_page(content: Mapping[str, Any], *, people: bool = False, labels: bool = False) -> str:
    """Give the report of some results as HTML; the same results give the same page, byte for byte."""
    smallest = (content.get("privacy") or {}).get("smallest_group", SMALLEST_GROUP)
    shown = shared(content, Sharing(people, labels, smallest))
    text = template().render(
        r=shown,
        data=Markup(embedded(shown)),
        style=Markup(_part("page.css")),
        script=Markup(_script()),
    )
    return str(text)


@cache
def template() -> jinja2.Template:
    """The page's template, which escapes whatever is text, and refuses what is not there; made once."""
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({TEMPLATE: _part(TEMPLATE)}),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        optimized=False,  # constants are few, and the page is drawn once
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters.update(if_shared=if_shared, number=number, name=name, value=value, written=written, label=label)
    environment.filters.update(first_screen=first_screen, said=said, plain_text=as_text)
    environment.globals["changes"] = lambda content: said(Words(content).changes)
    environment.globals["strength_is"] = lambda content: Words(content).strength_is
    return environment.get_template(TEMPLATE)


def _part(file: str) -> str:
    return (resources.files("fairstress.report.html") / "template" / file).read_text(encoding="utf-8")


def _script() -> str:
    """The page's script: its parts share the names of one function, and the page sees none of them."""
    parts = "\n".join(_part(f"{part}.js") for part in SCRIPTS)
    return f'"use strict";\n(function () {{\n{parts}}})();\n'


# ---------------------------------------------------------------- numbers, names and data in HTML


def number(value: float | None, digits: int = 4, size: bool = False, floor: float = 0.0) -> Markup:
    """A number with its full value behind it; ``size`` leaves out the sign, and up to ``floor`` it is 0."""
    if value is None:
        return Markup("none")
    seen = 0 if abs(value) <= floor else abs(value) if size else value
    return Markup('<data value="{}">{}</data>').format(repr(value), shown(seen, digits))


def if_shared(value: float | None, digits: int = 4, floor: float = 0.0) -> Markup:
    """A number about some people, or that it is not shown, since they are few."""
    return Markup("not shown") if value is None else number(value, digits, floor=floor)


def name(text: Any) -> Markup:
    """A name of the analyst's: text in its own direction, whatever it holds."""
    return Markup("<bdi>{}</bdi>").format(printable(str(text)))


def label(column: str, content: Mapping[str, Any]) -> Markup:
    """A column as people call it."""
    return said(Words(content).label(column))


def said(sentence: str) -> Markup:
    """A sentence with its numbers and names marked up."""
    return Markup(as_html(sentence))


def value(of: Any) -> Markup:
    """A value of a column: a number, or a level by its name."""
    return number(of) if isinstance(of, int | float) and not isinstance(of, bool) else name(of)


def written(value: Any) -> Markup:
    """Settings as JSON, to be read and not to be run."""
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    return escape("\n".join(map(printable, lines)))


def shown(value: float, digits: int = 4) -> str:
    """A number as people read it: whole numbers with separators, others with a few digits."""
    whole = abs(value) >= 10**digits  # which the format would write with an exponent
    text = (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.0f}"
        if whole and abs(value) < MANY
        else f"{value:.{digits}g}"
    )
    return text.replace("-", "\N{MINUS SIGN}")


def embedded(content: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element: no text of the analyst's can end it."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
