"""Names and numbers as text that cannot be taken for anything else: in a terminal, HTML, Markdown and LaTeX."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 100  # of a paragraph in a terminal
NARROW = 9  # characters of a line in the head of a column of numbers

# turn the direction of what follows: with them a name can make a line read as another
BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of characters, ends of lines and paragraphs

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # some languages of babel make it a command
    "[": "{[}",  # first in a row it would be an option of the line's end, as would a star
    "*": "{*}",
}
LIGATURE = re.compile(r"(?<=[-'`,!?])(?=[-'`])")  # between characters that LaTeX would join
MARKDOWN = re.compile(r"[\\`*_\[\]|~$:@^]|(?<=www)\.", re.IGNORECASE)  # the last ones would make links
BLOCK = re.compile(r"^\s*(?:([#+=-])|(\d+)([.)]))")  # would open a heading or a list


@dataclass(frozen=True, slots=True)
class Sheet:
    """A small table to report: a title, a head, rows and notes, all plain text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numeric: bool = False  # whether the columns after the first hold numbers


# ---------------------------------------------------------------- one piece of text


def printable(text: str) -> str:
    r"""Write characters that steer a terminal or turn the direction of writing as escapes, such as ``\x1b``.

    >>> printable("a" + chr(27) + "[31m")
    'a\\x1b[31m'
    """
    return "".join(escaped(c) if _steers(c) else c for c in text)


def fill(text: str) -> str:
    """A paragraph in lines for a terminal."""
    return textwrap.fill(printable(text), WIDTH)


def to_html_text(text: str) -> str:
    """Escape text for HTML, quotes included."""
    return html.escape(printable(text), quote=True)


def to_latex_text(text: str) -> str:
    """Escape text for LaTeX; letters of other scripts and emoji stay, which XeLaTeX and LuaLaTeX set."""
    joined = LIGATURE.sub("\0", printable(text))  # no printable text holds this mark
    return "".join(LATEX.get(c, c) for c in joined).replace("\0", "{}")


def to_markdown_text(text: str) -> str:
    """Escape text for Markdown, inside a line or a table's cell; what HTML would take for markup is an entity."""
    return MARKDOWN.sub(lambda match: f"\\{match[0]}", html.escape(printable(text), quote=False))


def _steers(c: str) -> bool:
    return unicodedata.category(c) in UNPRINTABLE or c in BIDI_CONTROLS


def escaped(c: str) -> str:
    """Write one character as an escape."""
    return c.encode("unicode_escape").decode("ascii") if not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}"


# ---------------------------------------------------------------- a table


def to_html(sheet: Sheet) -> str:
    """Write a table in HTML, with no script and no style sheet; notebooks take no dollar in it for a formula."""
    left, right = ' style="text-align:left"', ' style="text-align:right"'
    aligned = [left, *([right if sheet.numeric else left] * (len(sheet.head) - 1))]

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{a}>{to_html_text(c)}</{tag}>" for a, c in zip(aligned, cells, strict=True))

    lines = [
        '<div class="tex2jax_ignore mathjax_ignore">',
        "<table>",
        f"<caption{left}>{to_html_text(sheet.title)}</caption>",
    ]
    lines += ["<thead>", row(sheet.head, "th") + "</tr>", "</thead>", "<tbody>"]
    lines += [row(cells, "td") + "</tr>" for cells in sheet.rows]
    lines += ["</tbody>", "</table>", *(f"<p>{to_html_text(note)}</p>" for note in sheet.notes)]
    return "\n".join([*lines, "</div>"])


def to_markdown(sheet: Sheet) -> str:
    """Write a table in the Markdown of GitHub and Pandoc."""
    rule = ["---", *(["---:" if sheet.numeric else "---"] * (len(sheet.head) - 1))]
    lines = [f"**{to_markdown_text(sheet.title)}**", "", _piped(map(to_markdown_text, sheet.head)), _piped(rule)]
    lines += [_piped(map(to_markdown_text, cells)) for cells in sheet.rows]
    for note in sheet.notes:
        lines += ["", BLOCK.sub(_no_block, to_markdown_text(note))]
    return "\n".join(lines) + "\n"


def to_latex(sheet: Sheet) -> str:
    """Write a table in LaTeX, as a ``table`` with a caption; it needs the package booktabs."""
    columns = "l" + ("r" if sheet.numeric else "p{0.53\\linewidth}") * (len(sheet.head) - 1)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{to_latex_text(sheet.title)}}}"]
    lines += [r"\footnotesize\setlength{\tabcolsep}{3pt}"] if sheet.numeric else []
    head = map(_stacked if sheet.numeric else to_latex_text, sheet.head)
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _ampersands(head), r"\midrule"]
    lines += [_ampersands(map(to_latex_text, cells)) for cells in sheet.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {to_latex_text(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _stacked(text: str) -> str:
    """The head of a column of numbers, in lines that are not much wider than these."""
    pieces = textwrap.wrap(printable(text), NARROW, break_long_words=False, break_on_hyphens=False)
    if len(pieces) < 2:
        return to_latex_text(text)
    lines = r" \\ ".join(map(to_latex_text, pieces))
    return rf"\shortstack[r]{{{lines}}}"


def _no_block(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}"


def _piped(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
