"""The door: parse, call the library, print. A user's mistake is one line on standard error and exit code 2."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from fairstress.errors import FairstressError, SettingError
from fairstress.process import importing
from fairstress.progress import Progress, watching
from fairstress.report.text.markup import fill, printable
from fairstress.saving import check_apart, check_target, save

if TYPE_CHECKING:
    from fairstress.analyses.check import Check
    from fairstress.audit import Audit


class _Group(click.Group):
    """A command group whose users never see a traceback for a mistake of their own, and one line for any."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as problem:
            raise _in_one_line(problem) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_as_lines():
                return super().invoke(ctx)
        except click.UsageError as problem:
            raise _in_one_line(problem) from None
        except FairstressError as problem:
            from fairstress.draft import in_settings

            _refuse(ctx, in_settings(str(problem)))
        except SystemExit as problem:  # click ends by an exception of its own
            _refuse(ctx, f"a predictor, or what it uses, ended the program (SystemExit: {problem}): correct it")


class _Misuse(click.ClickException):
    """A command that cannot be read."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Say so in one line."""
        click.echo(f"fairstress: {printable(self.message)}", err=True)


def _in_one_line(problem: click.UsageError) -> click.ClickException:
    """The same mistake without click's lines on usage; a command without arguments shows its help as before."""
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        return problem
    asked = "" if problem.ctx is None else problem.ctx.command_path.removeprefix("main").removeprefix("fairstress")
    said = problem.format_message().rstrip(".")
    said = f"{said[:1].lower()}{said[1:]}"
    return _Misuse(f"{said}{' See' if said.endswith('?') else ': see'} fairstress{asked} --help")


def _refuse(ctx: click.Context, sentence: str) -> None:
    """Say one line on standard error, and end with exit code 2."""
    click.echo(f"fairstress: {printable(sentence)}", err=True)
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
    from fairstress.asking import processes_ready

    check_target(output, "the report")
    with processes_ready(-1):
        said = _audit_law_school(output)
    click.echo(said)
    click.echo(f"Report written to {output}")


def _audit_law_school(output: Path) -> str:
    """Write the report, and give its summary."""
    with importing(keep=True):
        import fairstress as fs
        import fairstress.report.data
        import fairstress.report.html.page
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
    asked: dict[str, Any] = {"columns": ["sex"], "bands": 100, "search": fs.Search(n_jobs=-1)}
    with _progress("report") as progress:
        return audit.report(output, **asked, source=law_school_source(), progress=progress).summary()


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
    with importing(keep=True):
        from fairstress.draft import draft_settings
        from fairstress.inputs.survey import survey

    if output.exists() and not force:
        raise SettingError(f"{str(output)!r} is there already: give another file by -o, or --force to overwrite it")
    _check_targets({"the settings": output}, {"the data": data})
    found = survey(data)
    save(output, draft_settings(found, data, output, protected=protected, outcome=outcome), "the settings")
    click.echo(f"{found.rows:,} rows, {len(found.columns):,} columns")
    for problem in found.problems:
        click.echo("\n" + fill(str(problem)))
    empty = " and ".join(
        filter(None, (", ".join(("protected",) * (not protected) + ("outcome",) * (not outcome)), "graph"))
    )
    click.echo(f"\nSettings written to {output}: fill in {empty}, then run: fairstress check {output}")


def _needed_unless_again(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a run without settings, unless it is one of saved results."""
    if value is None and ctx.params.get("again") is None:
        raise click.MissingParameter(ctx=ctx, param=param)
    return value


_PEOPLE = "show the people whose predictions move most, with their features; that may tell who they are."
_trust_pickle = click.option(
    "--trust-pickle",
    is_flag=True,
    help="Open a predictor that joblib or pickle wrote. Such a file runs whatever code it holds, with your rights: "
    "open none whose author you do not trust.",
)


@main.command()
@click.argument("settings", type=click.Path(path_type=Path), required=False, callback=_needed_unless_again)
@click.option(
    "--again",
    type=click.Path(path_type=Path),
    is_eager=True,  # known before it is asked whether there are settings
    help="Run the audit of these results again, with the same data, and compare number by number; exit code 0 if all "
    "is the same to rounding, 1 if not. Nothing is written.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write the results [default: from the file]."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print the summary.")
@click.option("--report", type=click.Path(path_type=Path), help="Ask for worst cases too, and write a report there.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON instead of the summary.")
@click.option("--details", is_flag=True, help="Print models, predictors, profiles and the curve too.")
@click.option("--people", is_flag=True, help=f"Ask for worst cases too, and {_PEOPLE}")
@click.option("--labels", is_flag=True, help="With --people: show their row labels too, which may name them.")
@_trust_pickle
@click.pass_context
def run(
    ctx: click.Context,
    settings: Path | None,
    again: Path | None,
    output: Path | None,
    quiet: bool,
    report: Path | None,
    as_json: bool,
    details: bool,
    people: bool,
    labels: bool,
    trust_pickle: bool,
) -> None:
    """Audit what the TOML file SETTINGS describes; print a summary and write the results as JSON."""
    with importing(keep=True):
        from fairstress.report.html.page import render_page
        from fairstress.report.json import render_results
        from fairstress.running import carry_out, with_record
        from fairstress.settings import read_settings

    if again is not None:
        if settings or output or report or details or people or labels:
            raise click.UsageError("--again goes with --json, --quiet and --trust-pickle alone.")
        ctx.exit(_run_again(again, quiet=quiet, as_json=as_json, trust_pickle=trust_pickle))
    assert settings is not None
    shown = {name: True for name, is_asked in (("people", people), ("labels", labels)) if is_asked}
    asked = {"report": shown} if report or shown else {}
    plan = read_settings(settings, asked, trust_pickle=trust_pickle)
    target = output or plan.output
    _check_targets({"the results": target, "the report": report}, plan.sources)
    with _prints_aside():
        found = carry_out(plan, _progress)
        said = "" if quiet or as_json else found.summary(_MORE.format(settings))
        more = found.details() if details else ""
    content, privacy = with_record(found.content, plan, target), found.content["privacy"]
    page = render_page(content, people=privacy["people"], labels=privacy["labels"]) if report else ""
    results = render_results(content)
    for text in filter(None, (said, f"\n{more}" * bool(more))):
        click.echo(text)
    save(target, results, "the results")
    if as_json:
        click.echo(results)
    click.echo(f"Results written to {target}", err=True)
    if report:
        save(report, page, "the report")
        click.echo(f"Report written to {report}", err=True)


def _run_again(results: Path, *, quiet: bool, as_json: bool, trust_pickle: bool) -> int:
    """Run the audit of some results again, and give the exit code: 0 if it found the same, 1 if not."""
    import json

    from fairstress.running import run_again

    with _prints_aside():
        compared = run_again(results, _progress, trust_pickle=trust_pickle)
    if as_json:
        click.echo(json.dumps(compared.to_dict(), indent=2))
    elif not quiet:
        click.echo(compared.summary())
    return 0 if compared.is_same else 1


_MORE = "More: fairstress run {0} --details and fairstress check {0}; --report writes a page."


@main.command()
@click.argument("settings", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of prose.")
@_trust_pickle
def check(settings: Path, as_json: bool, trust_pickle: bool) -> None:
    """Say what columns are taken for in the TOML file SETTINGS, and what its pairs can do to CFU, before any curve."""
    import json

    with importing(keep=True):
        from fairstress.draft import in_settings
        from fairstress.report.json import check_results
        from fairstress.report.text.columns import aligned, describe_columns
        from fairstress.settings import read_settings

    plan = read_settings(settings, trust_pickle=trust_pickle)
    with _prints_aside():
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
@click.option("--people", is_flag=True, help=f"Where the results have them, {_PEOPLE}")
@click.option("--labels", is_flag=True, help="With --people: show their row labels too, which may name them.")
def report(results: Path, output: Path | None, people: bool, labels: bool) -> None:
    """Write the report of saved RESULTS as one HTML file."""
    from fairstress.report.html.page import write_page
    from fairstress.report.saved import read_results

    if not results.name:
        raise SettingError(f"{str(results)!r} is a folder: give a results file")
    target = output or results.with_suffix(".html")
    _check_targets({"the report": target}, {"the results": results})
    content = read_results(results)
    shown = content["people"] or []
    if (people and not shown) or (labels and all(row["label"] is None for row in shown)):
        what = "people" if people and not shown else "labels"
        raise SettingError(f"{str(results)!r} holds no {what}: run the audit with --{what} to have them")
    write_page(target, content, people=people, labels=labels)
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
@click.argument("what", type=click.Choice(["settings", "results"]), metavar="WHAT")
def schema(what: str) -> None:
    """Print the JSON schema of WHAT, "settings" or "results", by which they are checked; editors understand it."""
    import json

    from fairstress.schema import load_schema

    click.echo(json.dumps(load_schema(what), indent=2))


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
        _draw(causal_graph, draw, file.name)
    elif as_json or form == "json":
        click.echo(json.dumps(causal_graph.to_dict(), indent=2))
    else:
        click.echo(causal_graph.to_dot() if form == "dot" else causal_graph.to_text())


def _draw(graph: Any, path: Path, source: str) -> None:
    import io

    from fairstress.report.plots.graphs import plot_graph

    suffix = path.suffix.lower()
    if suffix not in PICTURES:
        raise SettingError(f"cannot draw to {str(path)!r}: give a file that ends in {', '.join(PICTURES)}")
    _check_targets({"the picture": path}, {"the graph": Path(source)})
    drawn = io.BytesIO()
    figure: Any = plot_graph(graph).figure
    figure.savefig(drawn, format=suffix[1:])
    save(path, drawn.getvalue(), "the picture")
    click.echo(f"Graph drawn in {path}")


PICTURES = (".png", ".svg", ".pdf")


def _check_targets(targets: Mapping[str, Path | None], sources: Mapping[str, Path]) -> None:
    """Refuse, before anything is computed, to write over what is read, or to where nothing can be written."""
    check_apart(targets, sources)
    for what, path in targets.items():
        if path is not None:
            check_target(path, what)


@contextmanager
def _prints_aside() -> Iterator[None]:
    """Let what a predictor prints go to standard error: on standard output stands the answer alone.

    Python's own output is redirected, and so is the descriptor, which compiled code and child processes write to.
    """
    kept = _descriptor()
    with redirect_stdout(sys.stderr):
        try:
            if kept is not None:
                os.dup2(2, 1)
            yield
        finally:
            if kept is not None:
                with suppress(OSError, AttributeError, TypeError):
                    ctypes.CDLL(None).fflush(None)  # what compiled code has printed and not yet written
                os.dup2(kept, 1)
                os.close(kept)


def _descriptor() -> int | None:
    """A second descriptor of standard output; None where there is none, or no standard error."""
    try:
        os.fstat(2)
        return os.dup(1)
    except OSError:
        return None


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
