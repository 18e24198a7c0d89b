"""What results have in common: a short face in notebooks; a table that is written in Markdown and LaTeX, too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairstress.report.text.markup import Sheet


class Shown:
    """A result that a notebook shows in a few lines."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from fairstress.report.text.faces import face
        from fairstress.report.text.markup import to_html

        return to_html(face(self))


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
