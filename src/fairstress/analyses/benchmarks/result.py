"""Benchmarks as a result: what observed variables do to the errors, and hidden causes that are k times as strong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fairstress.analyses.benchmarks.strength import HiddenCause
from fairstress.analyses.tabular import Shown
from fairstress.arguments import finite, is_list, not_negative
from fairstress.errors import SettingError, show
from fairstress.inputs.notation import Edge


@dataclass(frozen=True, slots=True)
class Benchmark(Shown):
    """One observed variable, or a group, and the errors of one pair.

    ``r2_first`` and ``r2_second`` are its shares of the two errors' variance when it is omitted from the equations; of
    ``latent_ends`` they are shares of the latent error, which is seen through thresholds, or above an atom only.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a, u -> x, z; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"u": 1, "x": 1, "z": 1}, penalty=0, predictor_degree=1)
    >>> benchmark = audit.benchmarks(pairs="all").found[-1]
    >>> benchmark.name, round(benchmark.correlation, 3), round(benchmark.correlation_at(0.5), 3)
    ('u', -0.323, -0.242)
    >>> round(benchmark.multiple_for(0.3), 3)
    0.621
    """

    name: str  # of the variable or group
    members: tuple[str, ...]  # the variables that it stands for
    pair: Edge  # whose errors it could confound
    in_model: bool  # whether the audit's equations have it; otherwise it is among the errors already
    r2_first: float  # share of the first error's variance
    r2_second: float  # share of the second error's variance
    alignment: float  # correlation of what it puts into the two; -1 or +1 for one variable in linear equations
    errors_with: float  # correlation of the two errors with it in the equations
    errors_without: float  # and when it is omitted
    latent: str | None = None  # the protected attribute, if it is an end of the pair and has levels
    latent_ends: tuple[str, ...] = ()  # the ends of the pair, the protected attribute too, whose errors are latent
    inside: tuple[bool, bool] | None = None  # whether each end's equation has it; None: both as ``in_model`` says

    @property
    def correlation(self) -> float:
        """The correlation of the errors that omitting it induces."""
        return self.alignment * float(np.sqrt(self.r2_first * self.r2_second))

    def shares(self, multiple: float) -> tuple[float, float]:
        """Shares of the audit's two errors that a hidden cause k times as strong explains: k times its variance.

        As in sensemakr, strength is variance explained. A variable that stays in the equations is not part of the
        audit's errors, so that the share is ``k R2 / (1 - R2)``; one outside them is, and the share is ``k R2``. From
        1 on no such cause exists.

        Parameters
        ----------
        multiple
            How many times as strong.
        """
        times = not_negative(multiple, "multiple")
        inside = np.array(self.inside or (self.in_model, self.in_model))
        kept = np.where(inside, 1 - np.array([self.r2_first, self.r2_second]), 1.0)
        first, second = (times * np.array([self.r2_first, self.r2_second]) / kept).tolist()
        return first, second

    def hidden_cause(self, multiple: float) -> HiddenCause | None:
        """A hidden cause k times as strong; None where it would explain more than there is.

        Parameters
        ----------
        multiple
            How many times as strong.
        """
        shares = self.shares(multiple)
        return HiddenCause(*shares) if max(shares) < 1 else None

    def correlation_at(self, multiple: float) -> float:
        """The correlation from a hidden cause k times as strong that pulls on the two as the benchmark does.

        Parameters
        ----------
        multiple
            How many times as strong.
        """
        first, second = self.shares(multiple)
        return self.alignment * float(np.sqrt(first * second))

    def multiple_for(self, correlation: float) -> float | None:
        """How many times as strong a cause that pulls on both in one line must be; None where none can be.

        Parameters
        ----------
        correlation
            Of the pair's errors.
        """
        first, second = self.shares(1.0)
        if first * second == 0:
            return None
        multiple = abs(finite(correlation, "correlation")) / float(np.sqrt(first * second))
        return multiple if self.hidden_cause(multiple) else None


@dataclass(frozen=True, slots=True, eq=False)
class Benchmarks(Shown):
    """Observed variables as benchmarks for hidden ones. Made by `Audit.benchmarks`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse("a, u -> x, z; x <-> z", protected="a", outcome="y")
    >>> frame = fs.datasets.simulate(graph, 300, random_state=0).frame
    >>> audit = fs.Audit.fit(frame, graph, degrees={"u": 1, "x": 1, "z": 1}, penalty=0, predictor_degree=1)
    >>> found = audit.benchmarks(pairs="all", multiples=[1, 2])
    >>> print(found.to_frame()[["benchmark", "multiple", "correlation"]].round(3).to_string(index=False))
    benchmark  multiple  correlation
            a       1.0        0.568
            a       2.0          NaN
            u       1.0       -0.483
            u       2.0          NaN
    >>> print(found.reading(0.3))
    A correlation of 0.3 in size needs one hidden cause that explains 30 % of the variance of each
    error, or more of the one and less of the other with the same product. As sensemakr counts, that is
    a partial R2 of 0.3 with the first variable and of 0.231 with the second given the first. For x <->
    z, a cause 0.528 times as strong as a is enough. For x <-> z, a cause 0.621 times as strong as u is
    enough.
    """

    found: tuple[Benchmark, ...]  # one for each variable and pair
    multiples: tuple[float, ...]  # how many times as strong hidden causes are
    variables: tuple[str, ...]  # the order of correlation matrices
    pairs: tuple[Edge, ...]  # those that were asked for
    absorbed: tuple[Benchmark, ...] = ()  # of pairs that are proved not to matter alone: they are measured, not shown
    skipped: dict[str, str] = field(default_factory=dict)  # columns of the table that are not compared, and why
    chosen: bool = True  # whether the analyst chose the columns; otherwise they are all that the table has

    def to_frame(self) -> pd.DataFrame:
        """One row per benchmark, pair and multiple.

        Columns
        -------
        benchmark, variables, first, second, multiple
            What is compared with, the pair, and k.
        correlation
            What a hidden cause k times as strong, and pulling alike, gives the errors.
        r2_first_on_errors, r2_second_on_errors
            The shares of the two errors' variance that it explains; a cause that pulls on both in one line gives
            ``sqrt`` of their product, the column ``largest``.
        r2_second_given_first
            sensemakr's partial R2 with the second variable given the first. Its R2 with the first is
            ``r2_first_on_errors``. Missing where an end of the pair is seen through thresholds, or above an atom only:
            sensemakr gives the first variable as it is observed, of which the latent error is another function.
        omitted
            The correlation that omitting the variable itself from the equations induces.
        errors_with, errors_without
            Correlation of the errors with the variable in the equations, and when it is omitted.
        note
            A sentence where no hidden cause is that strong; the correlation is then missing.
        """
        return pd.DataFrame([self._row(b, k) for b in self.found for k in self.multiples])

    def causes(self, multiple: float = 1.0) -> pd.DataFrame:
        """One hidden cause of all variables at once, k times as strong as each observed variable.

        A row per benchmark, the largest first: ``benchmark``, a column ``share_<variable>`` for each variable in a
        pair, the share of its error (of an attribute with levels, its latent error) that the cause explains, and
        ``largest``, the size of the single-cause budget that holds it. From 1 on no such cause exists; missing where
        the variable could not cause this one.

        Parameters
        ----------
        multiple
            How many times as strong; default once.
        """
        touched = [name for name in self.variables if any(name in pair for pair in self.pairs)]
        rows: dict[str, dict[str, float]] = {}
        for b in (*self.found, *self.absorbed):
            rows.setdefault(b.name, {}).update(zip(b.pair, b.shares(multiple), strict=True))
        shares = pd.DataFrame([[its.get(name, np.nan) for name in touched] for its in rows.values()], columns=touched)
        frame = shares.add_prefix("share_").assign(largest=shares.max(axis=1))
        frame.insert(0, "benchmark", list(rows))
        return frame.sort_values("largest", ascending=False, kind="stable", ignore_index=True)

    def marks(self, pair: tuple[str, str] | None = None) -> pd.DataFrame:
        """Where to mark the benchmarks: on a profile of one pair, or on a curve over budgets.

        With a pair: ``label, benchmark, multiple, correlation``. Without: ``p_max_pairwise`` and ``p_max_spectral``
        instead, the smallest budgets that hold the correlations of all its pairs (from 1 on: none does), and
        ``p_max_single cause``, the largest share of an error. Causes stronger than any can be have no mark.

        Parameters
        ----------
        pair
            The pair of a profile; default a curve over budgets.
        """
        if pair is not None:
            self._check_pair(pair)
        rows = []
        for name in dict.fromkeys(b.name for b in self.found):
            its = [b for b in self.found if b.name == name and (pair is None or set(b.pair) == set(pair))]
            every = its if pair is not None else [*its, *(b for b in self.absorbed if b.name == name)]
            for k in self.multiples if its else ():
                if all(b.hidden_cause(k) for b in every):
                    where = self._budgets(every, k) if pair is None else {"correlation": its[0].correlation_at(k)}
                    rows.append({"label": f"{k:g} x {name}", "benchmark": name, "multiple": k, **where})
        return pd.DataFrame(rows)

    def _check_pair(self, pair: Any) -> None:
        ends = tuple(pair) if is_list(pair) else ()
        is_pair = len(ends) == 2 and all(isinstance(end, str) for end in ends)
        if not is_pair or frozenset(ends) not in {frozenset(known) for known in self.pairs}:
            asked = " <-> ".join(ends) if is_pair else show(pair)
            known = ", ".join(f"{a} <-> {b}" for a, b in self.pairs)
            raise SettingError(f"there are no benchmarks for {asked}: give one of {known}")

    def reading(self, correlation: float) -> str:
        """Say how strong a hidden cause must be to give the errors a correlation, and against what is observed.

        Parameters
        ----------
        correlation
            Of two errors, strictly between -1 and 1.
        """
        from fairstress.report.text.benchmarks import correlation_reading

        return correlation_reading(self, HiddenCause.of_correlation(correlation))

    def summary(self) -> str:
        """Say in prose what omitting each variable would do."""
        from fairstress.report.text.benchmarks import benchmarks_summary

        return benchmarks_summary(self)

    def _row(self, b: Benchmark, k: float) -> dict[str, object]:
        cause, (first, second) = b.hidden_cause(k), b.shares(k)
        over, name = max((first, b.pair[0]), (second, b.pair[1]))
        return {
            "benchmark": b.name,
            "variables": ", ".join(b.members),
            "first": b.pair[0],
            "second": b.pair[1],
            "multiple": k,
            "correlation": b.correlation_at(k) if cause else np.nan,
            "largest": cause.correlation if cause else np.nan,
            "r2_first_on_errors": first,
            "r2_second_on_errors": second,
            "r2_second_given_first": cause.r2_second_given_first if cause and not b.latent_ends else np.nan,
            "omitted": b.correlation,
            "errors_with": b.errors_with,
            "errors_without": b.errors_without,
            "note": "" if cause else f"No hidden cause is so strong: it would be {over:.0%} of the error of {name}.",
        }

    def _budgets(self, its: list[Benchmark], k: float) -> dict[str, float]:
        P = pd.DataFrame(np.eye(len(self.variables)), index=list(self.variables), columns=list(self.variables))
        for b in its:
            P.loc[b.pair[0], b.pair[1]] = P.loc[b.pair[1], b.pair[0]] = b.correlation_at(k)
        sizes = [abs(b.correlation_at(k)) for b in its]
        return {
            "p_max_pairwise": max(sizes),
            "p_max_spectral": 1 - float(np.linalg.eigvalsh(P.to_numpy())[0]),
            "p_max_single cause": max(share for b in its for share in b.shares(k)),
        }

    def __repr__(self) -> str:
        names = list(dict.fromkeys(b.name for b in self.found))
        shown = ", ".join(names[:4]) + ", ..." * (len(names) > 4)
        return f"<Benchmarks of {len(self.pairs)} pair{'s' * (len(self.pairs) > 1)}: {shown}; summary() says more>"
