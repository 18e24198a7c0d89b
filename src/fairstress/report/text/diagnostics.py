"""Diagnostics in prose and as a table. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairstress.analyses.absorption import listed
from fairstress.report.text.markup import Sheet, fill

if TYPE_CHECKING:
    from fairstress.analyses.diagnostics.result import Diagnostics


def diagnostics_summary(found: Diagnostics) -> str:
    """Say what was found, and what to do."""
    people = f"{found.people:,} people"
    if round(found.effective_people) < found.people:
        people += f" (who tell as much as {found.effective_people:,.0f} of equal weight)"
    number = len(found.alarms)
    alarms = "No alarm" if not number else "1 alarm" if number == 1 else f"{number} alarms"
    parts = [
        f"{alarms} in {len(found.checks)} checks of the errors of {people}. If graph, kinds and degrees are right, any "
        "alarm at all has a probability of at most 5 %.",
        *(f"Alarm. {one.sentence}" for one in found.alarms),
        *(f"No alarm, but against independent errors (Model A). {one.sentence}" for one in found.allowed),
    ]
    if found.untested:
        parts.append(f"Not tested, because no equation says how: the independence of {'; '.join(found.untested)}.")
    explained = [
        f"{row.feature} {row.r2:.2f}{' (latent)' * (row.measured != 'R2')}" for row in found.equations.itertuples()
    ]
    parts.append(f"R2 of the equations: {listed(explained)}.")
    parts += [str(found.leakage)] if found.leakage else []
    parts += [found.influence.sentence] if found.influence else []
    return "\n\n".join(fill(part) for part in parts)


def diagnostics_table(found: Diagnostics) -> Sheet:
    """Every check with its value and verdict, alarms first."""
    head = ("Check", "Of", "With respect to", "Value", "p, all checks", "CFU alone", "Verdict")
    rows = []
    for one in sorted(found.checks, key=lambda one: (one.verdict != "alarm", one.verdict == "quiet")):
        cfu = "" if one.cfu is None else f"{one.cfu:.2g}"
        rows.append((one.check, one.feature, one.about, f"{one.value:.3g}", f"{one.adjusted:.2g}", cfu, one.verdict))
    notes = tuple(one.sentence for one in (*found.alarms, *found.allowed))
    return Sheet("Whether the data contradict what was assumed", head, tuple(rows), notes)
