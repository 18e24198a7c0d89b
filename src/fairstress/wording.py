"""Words in which results speak, and what of people they may show; neither changes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairstress.arguments import (
    flag,
    whole_number,
)
from fairstress.errors import SettingError, did_you_mean, show

BETTER, WORSE = "better", "worse"  # what a higher outcome is for people
SMALLEST_GROUP = 10  # people whom a mean may be about, unless another number is asked for


@dataclass(frozen=True, slots=True)
class Sharing:
    """What of people may stand in results and on pages."""

    people: bool = False  # the people whose predictions move most, with their features
    labels: bool = False  # and their labels
    smallest_group: int = SMALLEST_GROUP  # numbers about fewer people are left out

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", flag(self.people, "people"))
        object.__setattr__(self, "labels", flag(self.labels, "labels"))
        object.__setattr__(self, "smallest_group", whole_number(self.smallest_group, "smallest_group"))
        if self.labels and not self.people:
            raise SettingError("labels is True, but people is False: labels are those of people, ask for both")


SHARING = Sharing()


@dataclass(frozen=True, slots=True)
class Wording:
    """Words in which results speak of columns and people; they change no number.

    Parameters
    ----------
    labels
        ``{column: name to show}``, such as ``{"lsat": "LSAT score"}``; default the columns' own names.
    units
        ``{column: unit}``, such as ``{"zfya": "grade points"}``; default none.
    people
        What rows are, in the plural, such as ``"students"`` or ``"towns"``; default ``"people"``.
    higher_is
        Whether a higher outcome, and so a higher prediction, is ``"better"`` or ``"worse"`` for people; default None,
        not said.

    Examples
    --------
    >>> import fairstress as fs
    >>> wording = fs.Wording(labels={"lsat": "LSAT score"}, units={"zfya": "grade points"}, people="students")
    >>> wording.label("lsat"), wording.label("ugpa"), wording.unit("zfya")
    ('LSAT score', 'ugpa', 'grade points')
    """

    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    units: Mapping[str, str] = field(default_factory=dict, hash=False)
    people: str = "people"
    higher_is: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _read_words_by_column(self.labels, "labels", {"lsat": "LSAT score"}))
        object.__setattr__(self, "units", _read_words_by_column(self.units, "units", {"zfya": "grade points"}))
        if not _is_word(self.people):
            raise SettingError(
                f"people is {show(self.people)}: give the word for rows in the plural, such as 'students'"
            )
        if self.higher_is is not None and not (isinstance(self.higher_is, str) and self.higher_is in (BETTER, WORSE)):
            raise SettingError(f"higher_is is {show(self.higher_is)}: give '{BETTER}' or '{WORSE}', or leave it out")

    def label(self, name: str) -> str:
        """The name under which a column is shown: its label, or else its own.

        Parameters
        ----------
        name
            Name of the column.
        """
        return self.labels.get(name, name)

    def unit(self, name: str) -> str:
        """The unit of a column; empty where none was given.

        Parameters
        ----------
        name
            Name of the column.
        """
        return self.units.get(name, "")

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as saved results and settings files have them."""
        words = {"labels": dict(self.labels), "units": dict(self.units)}
        return {**words, "people": self.people, "higher_is": self.higher_is}


def read_wording(labels: Any, units: Any, people: Any, higher_is: Any, columns: Iterable[str]) -> Wording:
    """Turn an analyst's words into a value; labels and units must name columns."""
    wording = Wording({} if labels is None else labels, {} if units is None else units, people, higher_is)
    known = list(columns)
    for key, words in (("labels", wording.labels), ("units", wording.units)):
        for name in words:
            if name not in known:
                raise SettingError(
                    f"{key} names '{name}', which is not a column of the data{did_you_mean(name, known)}"
                )
    return wording


def _read_words_by_column(words: Any, key: str, example: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(words, Mapping):
        raise SettingError(f"{key} is {show(words)}: give a dict such as {example}, or leave it out")
    for name, word in words.items():
        if not isinstance(name, str):
            raise SettingError(f"{key} names {show(name)}: give the name of a column")
        if not _is_word(word):
            raise SettingError(f"{key}['{name}'] is {show(word)}: give text, such as {next(iter(example.values()))!r}")
    return dict(words)


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and bool(word.strip())
