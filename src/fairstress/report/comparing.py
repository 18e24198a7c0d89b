"""Two results compared, number by number: whether the same audit, run again, finds the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairstress.report.text.markup import printable

DIGITS = 9  # to which numbers agree that differ by rounding alone
NOISE = 1e-12  # of the outcome's variance: numbers that differ by less are the same, too
MOST = 20  # differences that a table shows
OF_THE_RUN = ("fairstress", "versions", "schema", "run")  # which may differ from one run to the next
PROSE = ("notes", "sentence", "reason", "note", "how", "advice", "untested", "benchmarks_refused", "date")
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two results are not the same."""

    where: str  # such as ``curve.points[3].cfu``
    before: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing two results has found."""

    numbers: int  # how many were compared
    differences: tuple[Difference, ...]
    versions: str  # what else is not the same: versions of this program and of others; empty where all are

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but by rounding."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Plain types."""
        different = [{"where": d.where, "before": d.before, "now": d.now} for d in self.differences]
        return {"same": self.is_same, "numbers": self.numbers, "differences": different, "versions": self.versions}

    def summary(self) -> str:
        """Say whether both are the same, or show the first differences as a table."""
        head = [self.versions] * bool(self.versions)
        if self.is_same:
            return "\n".join([*head, "The same to rounding.", f"{self.numbers:,} numbers were compared."])
        rows = [("where", "before", "now"), *((d.where, _shown(d.before), _shown(d.now)) for d in self.differences)]
        more = len(rows) - 1 - MOST
        rows = rows[: MOST + 1]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        n = len(self.differences)
        places = f"{n:,} {'place differs' if n == 1 else 'places differ'}"
        count = f"Not the same: {places}; {self.numbers:,} numbers were compared."
        return "\n".join([*head, count, "", *lines, *([f"... and {more:,} more"] if more > 0 else [])])


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> Compared:
    """Compare results of two runs of one audit; sentences, dates and versions are not compared.

    Parameters
    ----------
    before
        Results as they were saved.
    now
        Results of the same audit, run again.
    """
    one, other = (dict(_leaves({k: v for k, v in r.items() if k not in OF_THE_RUN}, "")) for r in (before, now))
    floor = NOISE * abs(float(before["data"]["outcome_variance"]))
    places = [place for place in {**one, **other} if not _is_prose(place)]
    pairs = [Difference(place, one.get(place, NOTHING), other.get(place, NOTHING)) for place in places]
    different = tuple(pair for pair in pairs if not _is_same(pair.before, pair.now, floor))
    numbers = sum(_is_number(pair.before) or _is_number(pair.now) for pair in pairs)
    return Compared(numbers, different, _versions(before, now))


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Everything that is neither a list nor an object, and empty ones, with its place."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list) and value:
        for i, part in enumerate(value):
            yield from _leaves(part, f"{place}[{i}]")
    else:
        yield place, value


def _is_prose(place: str) -> bool:
    return place.rpartition(".")[2].partition("[")[0] in PROSE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(one: Any, other: Any, floor: float) -> bool:
    if not (_is_number(one) and _is_number(other)):
        return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
    return bool(abs(one - other) <= max(10**-DIGITS * max(abs(one), abs(other)), floor))


def _shown(value: Any) -> str:
    text = f"{value:.12g}" if isinstance(value, float) else printable(str(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def _versions(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Which versions differ."""
    one, other = ({"fairstress": r.get("fairstress"), **(r.get("versions") or {})} for r in (before, now))
    changed = [name for name, version in other.items() if one.get(name) != version]
    shown = [f"{name} {one.get(name)} then and {other[name]} now" for name in changed]
    return f"Versions differ: {', '.join(shown)}." if shown else ""
