"""A certificate in prose."""

from __future__ import annotations

from fairstress.analyses.certificate import Certificate
from fairstress.report.text.implications import ADDITIVE
from fairstress.report.text.markup import fill


def certificate_summary(certificate: Certificate) -> str:
    """What was found, the bound in words that fit how it came about, and what to do where it is wide."""
    worst = certificate.worst_case
    budget = f"{worst.budget} budget p_max = {worst.p_max:g}"
    found = f"The largest {worst.functional} found under {ADDITIVE} within the {budget} is {certificate.found:.4g}."
    return fill(" ".join([found, *(_proved(certificate) if certificate.proved else _estimated(certificate))]))


def _proved(certificate: Certificate) -> list[str]:
    bound = f"It is at most {certificate.bound:.4g}{_more(certificate)}:"
    cells = f"a division of all correlations that the budget allows into {certificate.cells:,} cells"
    return [f"{bound} proved by bounds on Model B's weights all over {cells}.", *_wide(certificate)]


def _estimated(certificate: Certificate) -> list[str]:
    seen = f"It was seen at {certificate.cells:,} correlations, and its derivatives are taken to change at most"
    return [
        f"It is estimated not to exceed {certificate.bound:.4g}{_more(certificate)}.",
        f"{seen} {certificate.safety:g} times as fast anywhere between them. Nothing is proved: {certificate.why_not}.",
        *_wide(certificate),
    ]


def _more(certificate: Certificate) -> str:
    if not 0 < certificate.found < certificate.bound < 10 * certificate.found:
        return ""
    return f", {100 * (certificate.bound / certificate.found - 1):.2g} % more"


def _wide(certificate: Certificate) -> list[str]:
    if certificate.is_close:
        return []
    return [f"The subdivision ended before the gap of {100 * certificate.gap:g} % was reached: raise cells."]
