"""The corridor: strings data, models and sensitivity together; what a user holds, and what it says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairstress.audit.dossier import Dossier, gather
from fairstress.audit.stressed import Stressed
from fairstress.errors import SettingError, did_you_mean
from fairstress.sensitivity.tabled import Tabled
from fairstress.threads import one_thread

if TYPE_CHECKING:
    from fairstress.report.markup import Sheet


@dataclass(frozen=True)
class Audit(Stressed, Tabled):
    """A counterfactual fairness claim on some data, ready to be stressed. Made by `Audit.fit`.

    Examples
    --------
    >>> import fairstress as fs
    >>> graph = fs.CausalGraph.parse(
    ...     "race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    >>> audit = fs.Audit.fit(fs.datasets.law_school(), graph, reference="White")
    >>> f"{audit.cfu({('ugpa', 'lsat'): 0.9}):.1e}"
    '2.0e-06'
    """

    @one_thread
    def dossier(self, p_max: float = 0.3, **questions: Any) -> Dossier:
        """Gather what a report shows; arguments are those of `report`."""
        known = [name for name in inspect.signature(gather).parameters if name != "audit"]
        for name in questions:
            if name not in known:
                raise SettingError(f"a report has no argument '{name}'{did_you_mean(name, known)}")
        return gather(self, p_max, **questions)

    def report(
        self,
        path: str | Path,
        p_max: float = 0.3,
        *,
        labels: bool = False,
        source: Mapping[str, str] | None = None,
        **questions: Any,
    ) -> Dossier:
        """Write a report that people can read: one HTML file with everything in it.

        Parameters
        ----------
        path
            Where to write it.
        p_max
            The agreed budget.
        labels
            Whether to show the labels of the rows that move most; they may name people.
        source
            ``file`` and ``sha256`` of the data, for the record.
        questions
            ``reason`` for the budget, ``budgets`` of the curve, ``levels`` as ``{name: (CFU, reason)}``, ``budget`` and
            ``min_eigenvalue`` as in `worst_case`; ``threshold``, to say whose decision, prediction at or above it, the
            counterfactual turns, as in `flip_shares`; ``progress``, which is called with (steps done, steps in all).

        Returns
        -------
        Dossier
            What was found.
        """
        from fairstress.report.page import write_page
        from fairstress.report.results import dossier_results

        found = self.dossier(p_max, **questions)
        write_page(path, dossier_results(found, source=source), labels=labels)
        return found

    def summary(self) -> str:
        """Say in prose what was assumed and fitted."""
        from fairstress.report.audited import audit_summary

        return audit_summary(self)

    def __repr__(self) -> str:
        graph, rows = self.graph, self.table.y.size
        return f"<Audit of {graph.outcome} for {graph.protected}: {rows:,} rows; {graph}; summary() says more>"

    def _sheet(self) -> Sheet:
        from fairstress.report.tables import audit_table

        return audit_table(self)
