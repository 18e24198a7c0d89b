"""The door: parse, call the library, print. A user's mistake is one line on standard error and exit code 2."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fairstress.errors import FairstressError
from fairstress.report.markup import printable


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
def demo() -> None:
    """Audit the law-school data with the settings of the paper and print a summary."""
    import fairstress as fs

    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    audit = fs.Audit.fit(
        fs.datasets.law_school(), graph, reference="White", max_degree=4, penalise_constant=True, random_state=0
    )
    click.echo(audit.summary() + "\n")
    with _progress("profile of ugpa <-> lsat") as progress:
        found = audit.profile(("ugpa", "lsat"), progress=progress)
    click.echo(found.summary())


@main.command()
@click.argument("settings", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to write the results [default: from the file]."
)
@click.option("-q", "--quiet", is_flag=True, help="Do not print the summary.")
def run(settings: Path, output: Path | None, quiet: bool) -> None:
    """Audit what the TOML file SETTINGS describes; print a summary and write the results as JSON."""
    from fairstress.report.results import results, write_results
    from fairstress.settings import read_settings

    plan = read_settings(settings)
    with _progress("fit of the models"):
        audit = plan.fit()
    profiles = []
    for pair in plan.pairs:
        with _progress(f"profile of {pair[0]} <-> {pair[1]}") as progress:
            profiles.append(audit.profile(pair, plan.grid, progress=progress))
    if not quiet:
        click.echo("\n\n".join([audit.summary(), *(found.summary() for found in profiles)]))
    target = output or plan.output
    try:
        write_results(target, results(audit, profiles, source=plan.source()))
    except OSError as problem:
        raise FairstressError(f"cannot write the results to {str(target)!r}: {problem.strerror}") from None
    click.echo(f"Results written to {target}", err=True)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show progress on standard error once a step takes longer than a second; nothing where it is not a terminal."""
    what = printable(what)
    if not sys.stderr.isatty():
        yield None
        return
    started = time.monotonic()
    notice = threading.Timer(1.0, lambda: click.echo(f"{what} ...", err=True, nl=False))
    notice.start()

    def report(done: int, total: int) -> None:
        if time.monotonic() - started > 1:
            click.echo(f"\r{what}: {done} of {total}", err=True, nl=False)

    try:
        yield report
    finally:
        notice.cancel()
        if time.monotonic() - started > 1:
            click.echo("", err=True)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Print warnings as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"fairstress: warning: {printable(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
