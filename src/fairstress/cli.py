"""The door: parse, call the library, print. A user's mistake is one line on standard error and exit code 2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from fairstress.errors import FairstressError, SettingError
from fairstress.progress import Progress, watching
from fairstress.report.text.markup import fill, printable

if TYPE_CHECKING:
    from fairstress.analyses.check import Check
    from fairstress.audit import Audit


class _Group(click.Group):
    """A command group whose users never see a traceback for a mistake of their own."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_lines():
                return super().invoke(ctx)
        except FairstressError as problem:
            from fairstress.draft import in_settings

            click.echo(f"fairstress: {printable(in_settings(str(problem)))}", err=True)
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
        labels={"ugpa": "college grades", "lsat": "LSAT scores", "zfya": "first-year law-school grades"},
        people="students",
        higher_is="better",
        random_state=0,
        **as_in_the_paper,
    )
    with _progress("report") as progress:
        data = audit.report(output, columns=["sex"], bands=100, source=law_school_source(), progress=progress)
    click.echo(data.summary())
    click.echo(f"Report written to {output}")


@main.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="audit.toml",
    show_default=True,
    help="Where to write the settings.",
)
@click.option("--protected", multiple=True, help="Name of the protected attribute; may be repeated.")
@click.option("--outcome", help="Name of the outcome.")
@click.option("--force", is_flag=True, help="Overwrite settings that are there.")
def new(data: Path, output: Path, protected: tuple[str, ...], outcome: str | None, force: bool) -> None:
    """Look through the table DATA (.csv, also compressed, or .parquet), and write a settings file to fill in."""
    from fairstress.draft import draft_settings
    from fairstress.inputs.survey import survey

    if output.exists() and not force:
        raise SettingError(f"{str(output)!r} is there already: give another file by -o, or --force to overwrite it")
    found = survey(data)
    text = draft_settings(found, data, output, protected=protected, outcome=outcome)
    with _writing("the settings", output):
        output.write_text(text, encoding="utf-8")
    click.echo(f"{found.rows:,} rows, {len(found.columns):,} columns")
    for problem in found.problems:
        click.echo("\n" + fill(str(problem)))
    empty = " and ".join(
        filter(None, (", ".join(("protected",) * (not protected) + ("outcome",) * (not outcome)), "graph"))
    )
    click.echo(f"\nSettings written to {output}: fill in {empty}, then run: fairstress check {output}")


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
    from fairstress.draft import in_settings
    from fairstress.report.html.page import write_page
    from fairstress.report.json import report_results, results, write_results
    from fairstress.report.text.brief import brief
    from fairstress.settings import read_settings

    plan, quiet = read_settings(settings), quiet or as_json
    with _progress("fit of the models") as progress:
        audit = plan.fit(progress)
    wanted = report is not None or plan.report is not None
    left = wanted and plan.grid is None and plan.pairs == audit.graph.pairs  # to the report, whose grid is coarser
    profiles = []
    for pair in () if left else plan.pairs:
        with _progress(f"profile of {pair[0]} <-> {pair[1]}") as progress:
            profiles.append(audit.profile(pair, plan.grid, progress=progress))
    if wanted:
        with _progress("worst cases") as progress:
            data = audit.report(**(plan.report or {}), profiles=None if left else profiles, progress=progress)
        profiles = list(data.profiles)
        content = in_settings(report_results(data, source=plan.source()))
        said: Callable[[], str] = partial(brief, content, _MORE.format(settings))
        in_full = [data.curve.summary]
    else:
        said, in_full = audit.summary, []
        content = results(audit, profiles, source=plan.source())
    if not quiet:
        click.echo(said())
    if details:
        parts = [audit.details, *(profile.summary for profile in profiles), *in_full]
        click.echo("\n" + "\n\n".join(part() for part in parts))
    target = output or plan.output
    with _writing("the results", target):
        write_results(target, content)
    if as_json:
        click.echo(target.read_text(encoding="utf-8"))
    click.echo(f"Results written to {target}", err=True)
    if report:
        write_page(report, content)
        click.echo(f"Report written to {report}", err=True)


_MORE = "More: fairstress run {0} --details and fairstress check {0}; --report writes a page."


@main.command()
@click.argument("settings", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of prose.")
def check(settings: Path, as_json: bool) -> None:
    """Say what columns are taken for in the TOML file SETTINGS, and what its pairs can do to CFU, before any curve."""
    import json

    from fairstress.draft import in_settings
    from fairstress.report.json import check_results
    from fairstress.report.text.columns import aligned, describe_columns
    from fairstress.settings import read_settings

    plan = read_settings(settings)
    with _progress("fit of the models") as progress:
        audit = plan.fit(progress)
    columns, notes = describe_columns(audit, plan.options), in_settings(list(audit.notes))
    verdicts = _verdicts(audit)
    if as_json:
        found = {"together": None, "alone": []} if isinstance(verdicts, str) else check_results(verdicts)
        click.echo(json.dumps({"columns": columns, "notes": notes, **found}, indent=2))
        return
    last = fill(verdicts) if isinstance(verdicts, str) else verdicts.summary()
    click.echo("\n\n".join(["What columns are taken for", aligned(columns), *map(fill, notes), last]))


def _verdicts(audit: Audit) -> Check | str:
    """Check the pairs; a graph without any has nothing to check, which is no mistake where columns are shown too."""
    try:
        return audit.check()
    except SettingError as nothing:
        if audit.graph.pairs:
            raise
        sentence = str(nothing)
        return f"{sentence[0].upper()}{sentence[1:]}."


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


def _progress(what: str) -> AbstractContextManager[Progress | None]:
    """Show how far some work is, where somebody looks; names in it may be anything."""
    return watching(None, printable(what))


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"fairstress: warning: {printable(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
