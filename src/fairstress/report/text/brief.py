"""What was found, briefly: at most 25 lines for a terminal, a few paragraphs for a notebook. Computes nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairstress.report.json import audit_results, report_results
from fairstress.report.text.markup import WIDTH, printable
from fairstress.report.text.plain import first_screen
from fairstress.report.text.said import as_html, as_text, listed, name
from fairstress.report.text.words import Words

if TYPE_CHECKING:
    from fairstress.analyses.conclusion import Conclusion
    from fairstress.audit import Audit
    from fairstress.report.data import ReportData

LINES = 25
INDENT = "  "


def report_summary(data: ReportData) -> str:
    """The first screen of a report as text."""
    more = "More: audit.details(), audit.check().summary(), curve.summary(), diagnostics.summary(); the page."
    return brief(report_results(data), more)


def audit_brief(audit: Audit, conclusion: Conclusion | None) -> str:
    """The same from a few budgets only, or what can be said without any."""
    more = "More: details() on models and predictors, curve() and worst_case() on hidden causes, report('report.html')."
    r = audit_results(audit, conclusion)
    return brief(r, more) if conclusion is not None else _not_stressed(r, more)


def _not_stressed(r: Mapping[str, Any], more: str) -> str:
    """What is known of an audit before hidden causes were tried."""
    words, typical = Words(r), r["typical_model_a"]
    own = words.amount(typical["audited"]) if typical["audited"] else "0"
    others = {"blind": f"leaving {words.protected} out", "unconstrained": "using everything"}
    beside = [f"{words.amount(typical[key])} for {text}" for key, text in others.items() if typical.get(key)]
    nothing = f"If nothing is hidden, {words.changes} would change by {own}"
    why = (
        "How much would have to be hidden takes longer to find out here: report() does."
        if r["graph"]["pairs"]
        else "The graph allows no hidden causes, so that nothing was stressed: add pairs such as 'a <-> b' to it."
    )
    compared = f"{nothing}{f', against {listed(beside)}' if beside else ''}."
    paragraphs = [words.title, words.line, compared, why, *doubts(r), more]
    return _at_most([_filled(as_text(paragraph)) for paragraph in paragraphs])


def brief(r: Mapping[str, Any], more: str) -> str:
    """Title, headline, answers, doubts and where to find more."""
    screen = first_screen(r)
    paragraphs = [screen.line, f"{screen.claim} {screen.headline}"]
    paragraphs += [f"{question} {answer}" for question, answer in screen.answers]
    lines = [as_text(screen.title), *(_filled(as_text(paragraph)) for paragraph in [*paragraphs, *doubts(r)]), more]
    return _at_most(lines)


def _filled(text: str) -> str:
    """A paragraph in lines for a terminal; names with a hyphen are not broken."""
    return textwrap.fill(printable(text), WIDTH, break_on_hyphens=False)


def doubts(r: Mapping[str, Any]) -> list[str]:
    """Kinds of columns that were guessed, and how many things there are to know before trusting the audit."""
    words, guessed = Words(r), [one for one in r["data"]["kinds"] if one["reason"] != "given"]
    sentences = []
    if guessed:
        kinds = [f"{words.label(one['column'])} ({name(one['kind'])})" for one in guessed]
        shown = listed(kinds if len(kinds) <= 6 else [*kinds[:5], f"{len(kinds) - 5} more"])
        sentences.append(f"Kinds of columns were guessed: {shown}.")
    if r["notes"]:
        more = f" ({len(r['notes']) - 1} more to know)" if len(r["notes"]) > 1 else ""
        sentences.append(f"To know before trusting this: {name(r['notes'][0])}{more}")
    return sentences


def _at_most(paragraphs: list[str]) -> str:
    """Text of at most so many lines; what is too long is cut, and says so."""
    lines = "\n".join(paragraphs).splitlines()
    if len(lines) > LINES:
        lines = [*lines[: LINES - 2], f"{lines[LINES - 2][: WIDTH - 4]} ...", lines[-1]]
    return "\n".join(lines)


def report_html(data: ReportData) -> str:
    """The first screen of a report for a notebook."""
    screen = first_screen(report_results(data))
    answers = "".join(f"<dt>{question}</dt><dd>{as_html(answer)}</dd>" for question, answer in screen.answers)
    return (
        f'<div class="tex2jax_ignore mathjax_ignore">'
        f"<p><strong>{as_html(screen.title)}</strong><br>{as_html(screen.line)}</p>"
        f"<p><strong>{as_html(screen.claim)}</strong> {as_html(screen.headline)}</p><dl>{answers}</dl></div>"
    )
