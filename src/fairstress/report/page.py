"""The page: one HTML file with everything in it, drawn from saved results alone. Computes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from fairstress.errors import FairstressError

TEMPLATE = "page.html.jinja"


def write_page(path: str | Path, content: Mapping[str, Any], *, labels: bool = False) -> None:
    """Write the report of some results; row labels are shown only if asked for, since they may name people."""
    target = Path(path)
    try:
        target.write_text(render_page(content, labels=labels), encoding="utf-8")
    except OSError as problem:
        raise FairstressError(f"cannot write the report to {str(target)!r}: {problem.strerror}") from None


def render_page(content: Mapping[str, Any], *, labels: bool = False) -> str:
    """Give the report of some results as HTML; the same results give the same page, byte for byte."""
    import jinja2  # takes long to import, and only pages need it
    import markupsafe

    folder = resources.files("fairstress.report") / "template"
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({TEMPLATE: (folder / TEMPLATE).read_text(encoding="utf-8")}),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )

    def number(value: float | None, digits: int = 4) -> markupsafe.Markup:
        """A number with its full value behind it."""
        if value is None:
            return markupsafe.Markup("none")
        return markupsafe.Markup('<data value="{}">{}</data>').format(repr(value), shown(value, digits))

    environment.filters["number"] = number
    environment.filters["shown"] = shown
    shared = dict(content)
    if not labels and shared.get("people"):
        shared["people"] = [{**row, "label": None} for row in shared["people"]]
    text = environment.get_template(TEMPLATE).render(
        r=shared,
        labels=labels,
        data=markupsafe.Markup(embedded(shared)),
        style=markupsafe.Markup((folder / "page.css").read_text(encoding="utf-8")),
        script=markupsafe.Markup((folder / "page.js").read_text(encoding="utf-8")),
    )
    return str(text)


def shown(value: float, digits: int = 4) -> str:
    """A number as people read it: whole numbers with separators, others with a few digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}"


def embedded(content: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element: no text of the analyst's can end it."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
