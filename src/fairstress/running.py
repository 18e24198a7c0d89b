"""A plan carried out: the audit that settings describe, with its results in plain types; and the same audit again."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstress.analyses.profile import Profile
from fairstress.asking import processes_ready
from fairstress.audit import Audit
from fairstress.draft import in_settings
from fairstress.errors import DataError, SettingError
from fairstress.inputs.tables import Tables
from fairstress.keys import check_settings
from fairstress.progress import Progress
from fairstress.report.comparing import Compared, compare
from fairstress.report.data import ReportData
from fairstress.report.json import render_results, report_results, results
from fairstress.report.saved import read_results
from fairstress.report.text.brief import brief
from fairstress.settings import Plan, make_plan

Bar = Callable[[str], AbstractContextManager[Progress | None]]  # shows how far some work is, by its name


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What carrying out a plan has found."""

    audit: Audit
    profiles: tuple[Profile, ...]
    report: ReportData | None  # where the plan asks for worst cases
    content: dict[str, Any]  # results in plain types

    def summary(self, more: str) -> str:
        """Say in at most 25 lines what was found; ``more`` says where there is more of a report."""
        return self.audit.summary() if self.report is None else brief(self.content, more)

    def details(self) -> str:
        """Say all else in words."""
        in_full = [] if self.report is None else [self.report.curve.summary()]
        return "\n\n".join([self.audit.details(), *(profile.summary() for profile in self.profiles), *in_full])


def carry_out(plan: Plan, bar: Bar, tables: Tables | None = None) -> Found:
    """Read the data, unless they are given, fit, profile pairs and, where the plan says so, ask for worst cases."""
    with processes_ready(_processes(plan)):
        return _carried_out(plan, bar, tables)


def _processes(plan: Plan) -> int:
    """How many processes to start before all else: one where what is asked is likely to take seconds at most."""
    if plan.report is None:
        return 1
    is_long = len(plan.graph.pairs) > 1 or plan.report.get("bands") or plan.report.get("thorough")
    return plan.report["search"].n_jobs if is_long else 1


def _carried_out(plan: Plan, bar: Bar, tables: Tables | None) -> Found:
    tables = tables or plan.tables()
    with bar("fit of the models") as progress:
        audit = plan.fit(progress, tables)
    wanted = plan.report is not None
    left = wanted and plan.grid is None and plan.pairs == audit.graph.pairs  # to the report, whose grid is coarser
    profiles = []
    for pair in () if left else plan.pairs:
        with bar(f"profile of {pair[0]} <-> {pair[1]}") as progress:
            profiles.append(audit.profile(pair, plan.grid, progress=progress))
    if plan.report is None:
        return Found(audit, tuple(profiles), None, results(audit, profiles, source=tables.source))
    with bar("worst cases") as progress:
        data = audit.report(**plan.report, profiles=None if left else profiles, progress=progress)
    return Found(audit, data.profiles, data, in_settings(report_results(data, source=tables.source)))


# ---------------------------------------------------------------- again


def with_record(content: Mapping[str, Any], plan: Plan, target: Path) -> dict[str, Any]:
    """Results that say how they came about: the settings, and where their folder lies, seen from the results' own."""
    folder, own = plan.folder.resolve(), target.resolve().parent
    try:
        way = Path(os.path.relpath(folder, own))
    except ValueError:  # another drive
        way = folder
    return {**content, "run": {"settings": dict(plan.content), "folder": way.as_posix()}}


def run_again(path: Path, bar: Bar, *, trust_pickle: bool = False) -> Compared:
    """Run the audit that some results are of once more, with the same data, and compare number by number.

    Results are data, whoever wrote them: no code that they name is run unless ``trust_pickle`` says so, whatever the
    settings in them say.
    """
    before = read_results(path)
    if before["run"] is None:
        raise SettingError(
            f"{str(path)!r} does not say with which settings it was made, so that it cannot be run again: results that "
            "fairstress run writes from now on do"
        )
    plan = _plan_of(before["run"], path, trust_pickle)
    tables = plan.tables()
    for key in ("file", "sha256"):
        if tables.source[key] != before["data"][key]:
            raise DataError(
                f"the data are not those of {str(path)!r}: {key} was {before['data'][key]} and is "
                f"{tables.source[key]}; put the file back that was audited"
            )
    found = carry_out(plan, bar, tables)
    return compare(before, json.loads(render_results(found.content)))  # as it would be read, were it written


def _plan_of(run: Mapping[str, Any], path: Path, trust_pickle: bool) -> Plan:
    """The plan of recorded settings."""
    settings = copy.deepcopy(dict(run["settings"]))
    check_settings(settings, path.name)
    predictor = settings.get("options", {}).get("predictor")
    if isinstance(predictor, dict):
        predictor.pop("trust_pickle", None)
    model = predictor.get("model") if isinstance(predictor, dict) else predictor
    if model is not None and not trust_pickle:
        raise SettingError(
            f"{str(path)!r} names the predictor {model!r}, and loading it runs its code: if you trust it and these "
            "results, add --trust-pickle"
        )
    return make_plan(settings, path.name, path.parent / run["folder"], trust_pickle=trust_pickle)
