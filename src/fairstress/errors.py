"""Exceptions and statuses: every message says what is wrong, which one, and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum


class FairstressError(ValueError):
    """Base of every error that fairstress raises on purpose.

    Examples
    --------
    >>> import fairstress as fs
    >>> try:
    ...     fs.CausalGraph.parse("a -> x; x -> a", protected="a", outcome="y")
    ... except fs.FairstressError as problem:
    ...     print(problem)
    the graph has a cycle: a -> x -> a; remove one of these edges
    """


class GraphError(FairstressError):
    """The causal graph cannot be read, or does not describe a model.

    Examples
    --------
    >>> import fairstress as fs
    >>> try:
    ...     fs.CausalGraph.parse("a -> x; y -> x", protected="a", outcome="y")
    ... except fs.GraphError as problem:
    ...     print(problem)
    the outcome 'y' is a parent of 'x': reverse or remove 'y -> x', an outcome causes no feature
    """


class DataError(FairstressError):
    """The table does not fit the graph, or cannot be analysed as it is.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("race -> lsats", protected="race", outcome="zfya")
    >>> try:
    ...     fs.Audit.fit(fs.datasets.law_school(), graph)
    ... except fs.DataError as problem:
    ...     print(problem)
    the graph names 'lsats', which is not a column of the data; did you mean 'lsat'?
    """


class SettingError(FairstressError):
    """An argument or a key of a settings file has a value that cannot be used.

    Examples
    --------
    >>> import fairstress as fs
    >>> try:
    ...     fs.Search(starts=0)
    ... except fs.SettingError as problem:
    ...     print(problem)
    starts is 0: give a whole number of at least 1
    """


class FairstressWarning(UserWarning):
    """Something that the analyst should know before trusting a result."""


class Status(StrEnum):
    """How a computation ended; the value is the sentence to show.

    Examples
    --------
    >>> Status.CONVERGED.name
    'CONVERGED'
    >>> print(Status.STEP_LIMIT)
    The fit ran out of steps before it converged: treat the numbers as approximate.
    """

    CONVERGED = "The computation converged."
    STEP_LIMIT = "The fit ran out of steps before it converged: treat the numbers as approximate."
    STALLED = "The fit stopped where rounding hides any further progress: treat the numbers as approximate."
    SEARCH_STEPS = "The search ran out of steps before it converged: add starts, or expect a more extreme value."
    DIFFERENCES = "The search converged, with the predictor's derivatives taken by finite differences."
    NO_DERIVATIVES = (
        "The search used no derivatives, only values at the points that it compared: a more extreme value may exist."
    )
    LOCAL = "The ascent ended at a local maximum, as Algorithm 1 does: a more extreme value may exist."
    OUTSIDE = "The ascent ended outside the budget: its value is no worst case; use search=Search()."
    LEFT_SET = "The ascent met matrices that are not positive definite; those steps were shortened."
    CUT_LIMIT = "The robust predictor ran out of steps before it converged: treat it as approximate."
    LOST_DIGITS = (
        "Columns of the equations, or errors at this correlation, nearly determine each other, so that rounding may "
        "leave fewer than six digits of the fit: remove a variable, raise the penalty or lower the correlation."
    )
    TWO_MINIMA = (
        "The fit has more than one minimum at this correlation, as a large penalty on few rows can cause; "
        "the lowest one found is reported."
    )


def describe_error(problem: BaseException) -> str:
    """Name an error that is not ours, in one line: a message such as ``'x'`` says little without its type."""
    said = str(problem).strip().partition("\n")[0]
    return f"{type(problem).__name__}: {said[:LONGEST_ERROR]}{'...' * (len(said) > LONGEST_ERROR)}"


LONGEST_ERROR = 300  # characters of another program's message
LONGEST = 120  # characters of a value that a message shows


def show(value: object) -> str:
    """Show a value in one line, as Python writes it; a long one is cut.

    Examples
    --------
    >>> print(show("lsat"), show(range(3)))
    'lsat' range(0, 3)
    >>> len(show("x" * 1000))
    123
    """
    try:
        text = repr(value)
    except Exception:  # a number with more digits than Python writes, or what cannot show itself
        return f"a {type(value).__name__} that cannot be shown"
    text = " ".join(text.split()) if "\n" in text else text  # tables and arrays take several lines
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def alternatives(choices: Iterable[object]) -> str:
    """Name what to choose from: ``'a', 'b' or 'c'``."""
    named = [show(choice) for choice in choices]
    return " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Give ``"; did you mean 'lsat'?"`` when a known name is close, otherwise nothing."""
    if not isinstance(name, str):
        return ""
    by_lower = {other.lower(): other for other in known}
    nearest = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
    return f"; did you mean '{by_lower[nearest[0]]}'?" if nearest else ""
