"""The door: parse, call the library, print. A user's mistake is one line on standard error and exit code 2."""

from __future__ import annotations

import itertools
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from fairstress.errors import FairstressError, SettingError
from fairstress.report.text.markup import WIDTH, fill, printable

if TYPE_CHECKING:
    from fairstress.analyses.check import Check
    from fairstress.audit import Audit
    from fairstress.inputs.data import Table


class _Group(click.Group):
    """A command group whose users never see a traceback for a mistake of their own."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_lines():
                return super().invoke(ctx)
        except FairstressError as problem:
            click.echo(f"fairstress: {printable(str(problem))}", err=True)
            ctx.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fairstress")
def main() -> None:
    """Stress-test a claim of counterfactual fairness against hidden confounding."""


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="fairstress-demo.html",
    show_default=True,
    help="Where to write the report.",
)
def demo(output: Path) -> None:
    """Audit the law-school data of the paper, with hidden causes behind race, grades and scores; write a report."""
    import fairstress as fs
    from fairstress.inputs.datasets import law_school_source

    graph = fs.CausalGraph.parse(
        "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat <-> race <-> ugpa", protected="race", outcome="zfya"
    )
    as_in_the_paper: dict[str, Any] = {"max_degree": 4, "penalise_constant": True, "cv": "contiguous"}
    audit = fs.Audit.fit(
        fs.datasets.law_school(),
        graph,
        reference="White",
        labels={"ugpa": "college grades", "lsat": "LSAT scores", "zfya": "first-year grades (standardised)"},
        people="students",
        higher_is="better",
        random_state=0,
        **as_in_the_paper,
    )
    with _progress("report") as progress:
        data = audit.report(output, bands=100, source=law_school_source(), progress=progress)
    click.echo(data.summary())
    click.echo(f"Report written to {output}")


@main.command()
@click.argument("settings", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write the results [default: from the file]."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print the summary.")
@click.option("--report", type=click.Path(path_type=Path), help="Ask for worst cases too, and write a report there.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON instead of the summary.")
@click.option("--details", is_flag=True, help="Print models, predictors, profiles and the curve too.")
def run(settings: Path, output: Path | None, quiet: bool, report: Path | None, as_json: bool, details: bool) -> None:
    """Audit what the TOML file SETTINGS describes; print a summary and write the results as JSON."""
    from fairstress.report.html.page import write_page
    from fairstress.report.json import report_results, results, write_results
    from fairstress.settings import read_settings

    plan, quiet = read_settings(settings), quiet or as_json
    with _progress("fit of the models") as progress:
        audit = plan.fit(progress)
    profiles = []
    for pair in plan.pairs:
        with _progress(f"profile of {pair[0]} <-> {pair[1]}") as progress:
            profiles.append(audit.profile(pair, plan.grid, progress=progress))
    if report or plan.report is not None:
        with _progress("worst cases") as progress:
            data = audit.report(**(plan.report or {}), profiles=profiles, progress=progress)
        said, in_full = data.summary, [data.curve.summary]
        content = report_results(data, source=plan.source())
    else:
        said, in_full = audit.summary, []
        content = results(audit, profiles, source=plan.source())
    if not quiet:
        click.echo(said())
    if details:
        told = [audit.details, *(profile.summary for profile in profiles), *in_full]
        click.echo("\n" + "\n\n".join(tell() for tell in told))
    target = output or plan.output
    with _writing("the results", target):
        write_results(target, content)
    if as_json:
        click.echo(target.read_text(encoding="utf-8"))
    click.echo(f"Results written to {target}", err=True)
    if report:
        write_page(report, content)
        click.echo(f"Report written to {report}", err=True)


@main.command()
@click.argument("settings", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of prose.")
def check(settings: Path, as_json: bool) -> None:
    """Say what columns are taken for in the TOML file SETTINGS, and what its pairs can do to CFU, before any curve."""
    import json

    from fairstress.report.json import check_results
    from fairstress.settings import read_settings

    plan = read_settings(settings)
    with _progress("fit of the models") as progress:
        audit = plan.fit(progress)
    columns, notes = _columns(audit, plan.options), getattr(audit, "notes", ())
    verdicts = _verdicts(audit)
    if as_json:
        found = {"together": None, "alone": []} if isinstance(verdicts, str) else check_results(verdicts)
        click.echo(json.dumps({"columns": columns, "notes": list(notes), **found}, indent=2))
        return
    last = fill(verdicts) if isinstance(verdicts, str) else verdicts.summary()
    click.echo("\n\n".join(["What columns are taken for", _aligned(columns), *map(fill, notes), last]))


def _verdicts(audit: Audit) -> Check | str:
    """Check the pairs; a graph without any has nothing to check, which is no mistake where columns are shown too."""
    try:
        return audit.check()
    except SettingError as nothing:
        if audit.graph.pairs:
            raise
        sentence = str(nothing)
        return f"{sentence[0].upper()}{sentence[1:]}."


# ---------------------------------------------------------------- what columns are taken for


def _columns(audit: Audit, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Say for each column of the graph what it is taken for, and why; the options are what a settings file gives."""
    table = audit.fitted.table
    missing = table.dropped.by_column if table.dropped else {}
    columns = [
        *_protected_columns(table, is_given=table.graph.protected in options.get("kinds", {})),
        *_feature_columns(table, audit.fitted.claim.design.columns),
        _outcome_column(table, is_given="outcome_type" in options),
    ]
    return [{**column, "missing": missing.get(column["column"], 0)} for column in columns]


def _column(
    name: str, role: str, kind: str, reason: str, *, levels: Iterable[Any] = (), ends: Iterable[float] = ()
) -> dict[str, Any]:
    shown, limits = [str(level) for level in levels], [float(end) for end in ends]
    return {
        "column": name,
        "role": role,
        "kind": kind,
        "levels": shown or None,
        "range": limits or None,
        "reason": reason,
    }


def _feature_columns(table: Table, modelled: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Features; those without an equation are context."""
    for j, (coding, kind) in enumerate(zip(table.units.features, table.kinds.values(), strict=True)):
        ends = (0.0 if kind.atom else coding.known[0], coding.known[-1]) if kind.is_number else ()
        role = "feature" if j in modelled else "context"
        yield _column(coding.name, role, kind.word, kind.reason, levels=kind.levels, ends=ends)


def _protected_columns(table: Table, *, is_given: bool) -> Iterator[dict[str, Any]]:
    """The protected attribute, column by column where there are several."""
    coding, names, number = table.protected, table.graph.protected_columns, table.units.protected
    if number is not None:
        reason = "given" if is_given else "numbers"
        yield _column(names[0], "protected", "number", reason, ends=(number.known[0], number.known[-1]))
        return
    levels, kind = coding.levels or (), "ordered" if coding.is_ordered else "category"
    reason = "an ordered categorical" if coding.is_ordered else "levels without an order"
    reason = "given" if is_given else "two values" if coding.is_binary else reason
    if len(names) > 1:
        reason = f"{len(levels)} levels of {' and '.join(names)} together"
    for name in names:
        own = levels if len(names) == 1 else sorted(table.units.levels[name].unique(), key=str)
        yield _column(name, "protected", kind, reason, levels=own)


def _outcome_column(table: Table, *, is_given: bool) -> dict[str, Any]:
    name, levels = table.graph.outcome, table.outcome_levels
    if levels is not None:
        return _column(name, "outcome", "classes", "given" if is_given else "two values", levels=levels)
    reason, values = "given" if is_given else "more than two values", table.outcome()
    return _column(name, "outcome", "number", reason, ends=(values.min(), values.max()))


HEAD = ("column", "role", "kind", "levels or range", "missing", "reason")
GAP = 2  # between columns
MOST_LEVELS, LONGEST_LEVEL = 5, 20  # that are written out


def _aligned(columns: Sequence[Mapping[str, Any]]) -> str:
    """Write columns as a table that a terminal has room for: the widest cells go over several lines."""
    rows = [HEAD] + [(c["column"], c["role"], c["kind"], _values(c), f"{c['missing']:,}", c["reason"]) for c in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while sum(widths) + GAP * (len(widths) - 1) > WIDTH:
        widths[widths.index(max(widths))] -= 1
    return "\n".join(line for row in cells for line in _lines(row, widths))


def _lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Write one row, in as many lines as its longest cell needs; the number of missing values stands on the right."""
    own = [textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(cells, widths, strict=True)]
    for parts in itertools.zip_longest(*own, fillvalue=""):
        aligned = zip(parts, widths, HEAD, strict=True)
        yield (" " * GAP).join(f"{part:{'>' if head == 'missing' else '<'}{w}}" for part, w, head in aligned).rstrip()


def _values(column: Mapping[str, Any]) -> str:
    """Write the levels, lowest first if they have an order, or the range."""
    if column["levels"] is None:
        return " to ".join(_number(end) for end in column["range"])
    levels = [
        level if len(level) <= LONGEST_LEVEL else f"{level[: LONGEST_LEVEL - 3]}..." for level in column["levels"]
    ]
    between = " < " if column["kind"].startswith("ordered") else ", "
    if len(levels) <= MOST_LEVELS:
        return between.join(levels)
    return f"{between.join([*levels[:3], '...', levels[-1]])} ({len(levels)} levels)"


def _number(value: float) -> str:
    """Write a number briefly: no digits behind the point of a whole or large one."""
    return f"{value:,.0f}" if (value % 1 == 0 or abs(value) >= 1e4) and abs(value) < 1e9 else f"{value:.4g}"


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write the page [default: RESULTS.html]."
)
@click.option("--labels", is_flag=True, help="Show the labels of rows; they may name people.")
def report(results: Path, output: Path | None, labels: bool) -> None:
    """Write the report of saved RESULTS as one HTML file."""
    from fairstress.report.html.page import write_page
    from fairstress.report.json import read_results

    target = output or results.with_suffix(".html")
    write_page(target, read_results(results), labels=labels)
    click.echo(f"Report written to {target}")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of prose.")
def datasets(as_json: bool) -> None:
    """List the data sets that come with fairstress, or that it can read."""
    import json

    import fairstress as fs

    described = {
        name: (getattr(fs.datasets, name).__doc__ or "").strip().splitlines()[0].replace("`", "")
        for name in ("law_school", "nhs_staff_survey", "simulate")
    }
    lines = [f"{name:<20}{text}" for name, text in described.items()]
    click.echo(json.dumps(described, indent=2) if as_json else "\n".join(lines))


@main.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--protected", required=True, multiple=True, help="Name of the protected attribute; may be repeated.")
@click.option("--outcome", required=True, help="Name of the outcome.")
@click.option(
    "--to", "form", type=click.Choice(["text", "dot", "json"]), default="text", show_default=True, help="The notation."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --to json.")
@click.option("--draw", type=click.Path(path_type=Path), help="Draw it there instead: .png, .svg or .pdf.")
def graph(file: IO[str], protected: tuple[str, ...], outcome: str, form: str, as_json: bool, draw: Path | None) -> None:
    """Read a graph from FILE (text, DOT or dagitty; - is standard input); write it in another notation, or draw it."""
    import json

    import fairstress as fs

    try:
        text = file.read()
    except UnicodeDecodeError as problem:
        raise SettingError(f"cannot read {file.name!r}: {problem}") from None
    is_dot = text.lstrip().lower().startswith(("digraph", "strict", "dag", "graph"))
    read = fs.CausalGraph.from_dot if is_dot else fs.CausalGraph.parse
    causal_graph = read(text, protected=protected[0] if len(protected) == 1 else protected, outcome=outcome)
    if draw:
        _draw(causal_graph, draw)
    elif as_json or form == "json":
        click.echo(json.dumps(causal_graph.to_dict(), indent=2))
    else:
        click.echo(causal_graph.to_dot() if form == "dot" else causal_graph.to_text())


def _draw(graph: Any, path: Path) -> None:
    from fairstress.report.plots.graphs import plot_graph

    if path.suffix.lower() not in PICTURES:
        raise SettingError(f"cannot draw to {str(path)!r}: give a file that ends in {', '.join(PICTURES)}")
    figure: Any = plot_graph(graph).figure
    with _writing("the picture", path):
        figure.savefig(path)
    click.echo(f"Graph drawn in {path}")


PICTURES = (".png", ".svg", ".pdf")


@contextmanager
def _writing(what: str, path: Path) -> Iterator[None]:
    """Say what could not be written where."""
    try:
        yield
    except OSError as problem:
        raise SettingError(f"cannot write {what} to {str(path)!r}: {problem.strerror}") from None


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error once a step takes longer than a second; nothing where it is not a terminal."""
    from tqdm import tqdm

    bar = tqdm(desc=printable(what), total=1, file=sys.stderr, disable=None, delay=1, leave=False, bar_format=_BAR)

    def show() -> None:
        bar.delay = 0
        bar.refresh()

    notice = threading.Timer(1.0, show)  # for a step that never says how far it is
    notice.daemon = True
    notice.start()

    def report(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield report
    finally:
        notice.cancel()
        bar.close()


_BAR = "{desc}: |{bar:30}| {n_fmt} of {total_fmt} [{elapsed}]"


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"fairstress: warning: {printable(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
