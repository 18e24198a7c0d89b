"""What results with a table have in common: they show it in notebooks, and write it in Markdown and LaTeX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairstress.report.text.markup import Sheet


class Tabular(ABC):
    """A result with a table."""

    __slots__ = ()

    def to_latex(self) -> str:
        """Write a table to report in LaTeX; it needs the package booktabs."""
        from fairstress.report.text.markup import to_latex

        return to_latex(self._sheet())

    def to_markdown(self) -> str:
        """Write a table to report in Markdown."""
        from fairstress.report.text.markup import to_markdown

        return to_markdown(self._sheet())

    def _repr_html_(self) -> str:
        from fairstress.report.text.markup import to_html

        return to_html(self._sheet())

    @abstractmethod
    def _sheet(self) -> Sheet:
        """The table."""
