"""Graph notations: fairstress text, DOT and dagitty, read into plain statements and written back.

The three differ in how names are cut out of the text; what a statement means is the same::

    statement := group (arrow group)*          arrow := "->" | "<-" | "<->" | "=fair=>"
    group     := name ("," name)*              a lone group declares its names

In DOT and dagitty a fair edge is ``a -> b [fair=true]``.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fairstress.errors import GraphError, show

Edge = tuple[str, str]
FAIR = "=fair=>"


@dataclass(slots=True)
class Statements:
    """What a text declares, in the order in which it does so."""

    nodes: dict[str, None] = field(default_factory=dict)  # a set in order
    edges: list[Edge] = field(default_factory=list)
    pairs: list[Edge] = field(default_factory=list)
    fair: list[Edge] = field(default_factory=list)  # edges that are called fair
    latent: set[str] = field(default_factory=set)

    def declare(self, names: Iterable[str]) -> None:
        """Add names that have not been seen."""
        self.nodes |= dict.fromkeys(names)

    def connect(self, left: list[str], arrow: str, right: list[str]) -> None:
        """Read ``left arrow right`` for two groups of names."""
        if arrow == "<->":
            self.pairs.extend(itertools.product(left, right))
            return
        self.declare(left)
        self.declare(right)
        edges = list(itertools.product(left, right) if arrow != "<-" else itertools.product(right, left))
        self.edges.extend(edges)
        self.fair.extend(edges if arrow == FAIR else [])


# ---------------------------------------------------------------- fairstress text

_TEXT_TOKEN = re.compile(
    r"""(?P<quoted>"(?:[^"]|"")*")
      | (?P<comment>\#[^\n]*)
      | (?P<arrow><->|->|<-|=fair=>)
      | (?P<comma>,)
      | (?P<end>[;\n])
      | (?P<name>(?:(?!<->|->|<-|=fair=>)[^,;\n"\#])+)""",
    re.VERBOSE,
)


def read_text(text: str) -> Statements:
    """Read ``a -> b, c; b <-> c``; statements end at ``;`` or at the end of a line, ``#`` starts a comment."""
    statements = Statements()
    for statement in _split_statements(text):
        groups, arrows = _split_groups(statement)
        _apply(statements, groups, arrows)
    return statements


def write_text(nodes: Iterable[str], edges: Iterable[Edge], pairs: Iterable[Edge], fair: Iterable[Edge] = ()) -> str:
    """Write statements that `read_text` reads back to the same graph, nodes in the order given."""
    fair, parents_of = set(fair), group_by_effect(edges)
    lines: list[str] = []
    waiting: list[str] = []  # roots that no statement has named yet
    for node in nodes:
        parents = parents_of.get(node, [])
        waiting += [] if parents else [node]
        if parents:
            lines += [] if waiting in ([], parents[:1]) else [_quote(root) for root in waiting]
            lines += [f"{_quote(a)} {FAIR if (a, node) in fair else '->'} {_quote(node)}" for a in parents]
            waiting = []
    lines += [_quote(root) for root in waiting]
    return "; ".join(lines + [f"{_quote(a)} <-> {_quote(b)}" for a, b in pairs])


def group_by_effect(edges: Iterable[Edge]) -> dict[str, list[str]]:
    """Give the causes of each effect, in the order of the edges."""
    causes: dict[str, list[str]] = {}
    for cause, effect in edges:
        causes.setdefault(effect, []).append(cause)
    return causes


def write_dot(nodes: Iterable[str], edges: Iterable[Edge], pairs: Iterable[Edge], fair: Iterable[Edge]) -> str:
    """Write a DOT digraph that `read_dot` reads back to the same graph."""

    def quoted(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    labelled = set(fair)
    lines = [f"  {quoted(node)};" for node in nodes]
    lines += [f"  {quoted(a)} -> {quoted(b)}{' [fair=true]' * ((a, b) in labelled)};" for a, b in edges]
    lines += [f"  {quoted(a)} -> {quoted(b)} [dir=both];" for a, b in pairs]
    return "\n".join(["digraph {", *lines, "}"])


def _split_statements(text: str) -> Iterator[list[tuple[str, str]]]:
    """Cut the text into statements of (kind, token); a dangling arrow or comma goes on in the next line."""
    statement: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TEXT_TOKEN.match(text, position)
        if match is None:
            raise GraphError(f'the graph text has a quotation mark (") that is never closed: {show(text[position:])}')
        position = match.end()
        kind, token = str(match.lastgroup), match.group().strip()
        if kind == "name" and re.search(r"--|[<>]|^-|-$", token):
            raise GraphError(
                f"cannot read {show(token)}: write '->', '<-', '<->' or '{FAIR}', or put the name in quotes"
            )
        if kind == "end" and not (match.group() == "\n" and statement and statement[-1][0] in ("arrow", "comma")):
            yield statement
            statement = []
        elif token and kind != "comment" and kind != "end":
            statement.append(("name", token[1:-1].replace('""', '"')) if kind == "quoted" else (kind, token))
    yield statement


def _split_groups(statement: list[tuple[str, str]]) -> tuple[list[list[str]], list[str]]:
    """Give the groups of names and the arrows between them."""
    groups: list[list[str]] = [[]]
    arrows: list[str] = []
    expects_name = True
    for kind, token in statement:
        if (kind == "name") != expects_name:
            raise GraphError(
                f"cannot read {_whole(statement)} at {show(token)}: write 'a -> b', 'a <-> b' or 'a -> b, c'"
            )
        if kind == "name":
            groups[-1].append(token)
        elif kind == "arrow":
            arrows.append(token)
            groups.append([])
        expects_name = kind != "name"
    if statement and expects_name:
        raise GraphError(f"cannot read {_whole(statement)}: a name is missing after {show(statement[-1][1])}")
    return groups, arrows


def _whole(statement: list[tuple[str, str]]) -> str:
    """A statement as a message shows it."""
    return show(" ".join(token for _, token in statement))


def _apply(statements: Statements, groups: list[list[str]], arrows: list[str]) -> None:
    """Add one statement's groups and arrows to what was found."""
    if not arrows:
        statements.declare(groups[0])
    for left, arrow, right in zip(groups, arrows, groups[1:], strict=False):
        statements.connect(left, arrow, right)


def _quote(name: str) -> str:
    """Quote a name that the text notation would cut or change."""
    plain = name == name.strip() and name and not re.search(r'[,;\n"#<>]|--|->|^-|-$', name)
    return name if plain else '"' + name.replace('"', '""') + '"'


# ---------------------------------------------------------------- DOT and dagitty

_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_DOT_COMMENT = re.compile(
    rf"(?P<quoted>{_QUOTED})|//[^\n]*|/\*.*?\*/|^[^\S\n]*#[^\n]*|(?P<open>/\*|\")", re.DOTALL | re.MULTILINE
)
_DOT_HEADER = re.compile(
    rf"^\s*(?:strict\s+)?(?P<kind>digraph|graph|dag|mag|pdag|pag)\b\s*(?:[\w.]+\s*|{_QUOTED}\s*)?\{{",
    re.IGNORECASE | re.DOTALL,
)
_DOT_TOKEN = re.compile(
    rf"""\s*(?:(?P<quoted>{_QUOTED})
      | (?P<arrow><->|->|<-|--|@-@|@->|<-@)
      | (?P<mark>[{{}}=;,\[])
      | (?P<name>(?:(?!->|--)[^\s\[\]{{}}=;,"<@])+)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_DOT_ATTRIBUTE = re.compile(
    rf"""\s*(?:(?P<close>\]) | [,;] | (?P<key>{_QUOTED}|[^\s\[\]=;,"<]+)
      \s*(?:=\s*(?:(?P<value>{_QUOTED}|[^\s\[\];,"<][^\s\];,"]*)|(?P<markup><)))?)""",
    re.VERBOSE | re.DOTALL,
)
_DOT_ESCAPE = re.compile(r'\\(["\\]|\r?\n)')
_ANGLE = re.compile("[<>]")
_Attributes = Mapping[str, str]
_YES, _NO = ("", "true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of DOT: a name, a name in quotes, an arrow, a mark, or the attributes between brackets."""

    kind: str
    text: str
    attributes: _Attributes = field(default_factory=dict)

    @property
    def is_name(self) -> bool:
        """Whether it names something, be it in quotes."""
        return self.kind in ("name", "quoted")

    def is_mark(self, mark: str) -> bool:
        """Whether it is this mark, and not a name that looks like it."""
        return self.kind == "mark" and self.text == mark

    def is_word(self, *words: str) -> bool:
        """Whether it is one of DOT's own words, which no quotes surround."""
        return self.kind == "name" and self.text in words


_Tokens = deque[_Token]


def kind_of(text: str) -> str:
    """Name the way in that reads a text: ``parse``, ``from_dot`` or ``from_dagitty``."""
    header = _DOT_HEADER.match(text)
    return "parse" if header is None else "from_dot" if "graph" in header["kind"].lower() else "from_dagitty"


def read_dot(text: str) -> Statements:
    """Read a DOT ``digraph`` or dagitty ``dag``; ``[dir=both]`` and ``<->`` are pairs, ``[latent]`` a hidden cause."""
    text = _DOT_COMMENT.sub(_without_comment, text)
    header = _DOT_HEADER.match(text)
    if header is None or header["kind"].lower() not in ("digraph", "dag"):
        raise GraphError("the text does not start with 'digraph {' or 'dag {': only directed graphs can be read")
    body = text[header.end() :].rstrip("; \t\r\n")
    if not body.endswith("}"):
        raise GraphError("the graph has no '}' at its end: part of the text may be missing")
    statements, tokens = Statements(), deque(_dot_tokens(body[:-1]))
    while tokens:
        _read_dot_statement(statements, tokens)
    return statements


def _without_comment(match: re.Match[str]) -> str:
    """A comment separates names as a space does; a quoted name is none."""
    if match["open"]:
        what = "comment ('/*')" if match["open"] == "/*" else 'quotation mark (")'
        raise GraphError(f"the graph has a {what} that is never closed: {show(match.string[match.start() :])}")
    return match["quoted"] or " "


def _dot_tokens(text: str) -> Iterator[_Token]:
    """Cut DOT into tokens; the port of a bare name is left out."""
    position = 0
    while True:
        match = _DOT_TOKEN.match(text, position)
        if match is None:
            raise GraphError(f"cannot read the graph at {show(text[position:].strip())}")
        position, kind = match.end(), str(match.lastgroup)
        token = match[kind]
        if kind == "end":
            return
        if kind == "name" and token.lower() in ("subgraph", "+"):
            raise GraphError(f"cannot read '{token}': write the graph without subgraphs and joined names")
        if kind == "mark" and token == "[":
            attributes, position = _dot_attributes(text, position)
            yield _Token("attributes", token, attributes)
        elif kind == "quoted":
            yield _Token(kind, _unquote(token))
        else:
            yield _Token(kind, token.partition(":")[0] if kind == "name" else token)


def _dot_attributes(text: str, position: int) -> tuple[dict[str, str], int]:
    """Read what stands behind ``[``, to its ``]``: keys, with values where they have any, and where it ends."""
    attributes: dict[str, str] = {}
    while match := _DOT_ATTRIBUTE.match(text, position):
        position = match.end()
        if match["close"]:
            return attributes, position
        if match["markup"]:
            position = _end_of_markup(text, position)
        if match["key"]:
            attributes[_unquote(match["key"]).lower()] = _unquote(match["value"] or "")
    rest = text[position:].strip()
    if not rest:
        raise GraphError("the graph has a '[' that is never closed")
    raise GraphError(f"cannot read the attributes at {show(rest)}: write [key=value, ...]")


def _end_of_markup(text: str, position: int) -> int:
    """Where a label such as ``<a <b>bold</b> one>`` ends, its first ``<`` being read."""
    depth = 1
    for angle in _ANGLE.finditer(text, position):
        depth += 1 if angle[0] == "<" else -1
        if depth == 0:
            return angle.end()
    raise GraphError("the graph has a label in '<...>' that is never closed")


def _unquote(token: str) -> str:
    """The name in quotes, in which a quotation mark and a backslash have a backslash before them."""
    if not token.startswith('"'):
        return token
    return _DOT_ESCAPE.sub(lambda escape: escape[1].strip("\r\n"), token[1:-1])


def _read_dot_statement(statements: Statements, tokens: _Tokens) -> None:
    """Take one statement off the tokens: nodes or a chain of edges, attributes behind them."""
    if tokens[0].is_mark(";") or tokens[0].is_mark(","):
        tokens.popleft()
        return
    is_default = tokens[0].is_word("graph", "node", "edge")
    groups, arrows = [_dot_group(tokens)], []
    while tokens and tokens[0].kind == "arrow":
        arrows.append(tokens.popleft().text)
        groups.append(_dot_group(tokens))
    attributes: dict[str, str] = {}
    has_attributes = bool(tokens) and tokens[0].kind == "attributes"
    while tokens and tokens[0].kind == "attributes":
        attributes |= tokens.popleft().attributes
    if tokens and tokens[0].is_mark("="):  # a setting of the drawing, such as bb="0,0,1,1"
        if arrows or has_attributes or len(groups[0]) != 1:
            raise GraphError("cannot read the graph at '=': only a setting such as 'rankdir=LR' has one")
        _skip_value(tokens)
        return
    if is_default and has_attributes and not arrows:
        _check_default(groups[0][0], attributes)
        return
    if not arrows and _is_latent(attributes, groups[0]):
        statements.latent.update(groups[0])
    arrows = [_dot_arrow(arrow, attributes.get("dir"), groups) for arrow in arrows]
    _apply(statements, groups, [_fair_arrow(arrow, attributes.get("fair")) for arrow in arrows])


def _skip_value(tokens: _Tokens) -> None:
    """Take ``= value`` off the tokens."""
    tokens.popleft()
    if not tokens or not tokens[0].is_name:
        raise GraphError("cannot read the graph at '=': a value is expected behind it")
    tokens.popleft()


def _dot_group(tokens: _Tokens) -> list[str]:
    """Take one name, or the names of ``{a b}``, off the tokens."""
    token = tokens.popleft() if tokens else _Token("end", "the end")
    if token.is_name:
        return [token.text]
    if not token.is_mark("{"):
        raise GraphError(f"cannot read the graph at {show(token.text)}: a name is expected there")
    names = []
    while tokens and not tokens[0].is_mark("}"):
        token = tokens.popleft()
        if tokens and tokens[0].is_mark("="):  # a setting such as rank=same
            _skip_value(tokens)
        elif token.is_name:
            names.append(token.text)
        elif not (token.is_mark(";") or token.is_mark(",")):
            raise GraphError(f"cannot read the graph at {show(token.text)}: only names may stand inside '{{ }}'")
    if not tokens:
        raise GraphError("the graph has a '{' that is never closed")
    tokens.popleft()
    return names


def _check_default(of: str, attributes: _Attributes) -> None:
    """Refuse a default that changes what later statements mean; how they are drawn is of no account."""
    for key in ("dir", "fair", "latent", "unobserved"):
        if key in attributes:
            what = "edge its own direction" if key == "dir" else "edge or node its own label"
            raise GraphError(f"cannot read '{of} [{key}=...]': give each {what}")


def _is_latent(attributes: _Attributes, names: list[str]) -> bool:
    """Whether nodes are called hidden causes, by ``[latent]`` or ``[unobserved]``."""
    found = False
    for key in ("latent", "unobserved"):
        value = attributes.get(key, "false").lower()
        if value not in (*_YES, *_NO):
            raise GraphError(f"cannot read '{key}={value}' of '{', '.join(names)}': write [{key}], or leave it out")
        found = found or value in _YES
    return found


def _fair_arrow(arrow: str, fair: str | None) -> str:
    """Give an edge with ``[fair=true]`` its own arrow."""
    if fair is None or fair.lower() in _NO:
        return arrow
    if fair.lower() not in _YES or arrow != "->":
        raise GraphError(f"cannot read 'fair={fair}' on '{arrow}': write 'a -> b [fair=true]'")
    return FAIR


def _dot_arrow(arrow: str, direction: str | None, groups: list[list[str]]) -> str:
    """Give the direction of an edge after its ``dir`` attribute; refuse edges without one."""
    towards = direction.lower() if direction else None
    shown_edge = f" {arrow} ".join(", ".join(group) for group in groups)
    if arrow not in ("->", "<-", "<->") or towards == "none":
        raise GraphError(f"'{shown_edge}' is not a directed or bidirected edge: write '->' or '<->'")
    known = {None: arrow, "both": "<->", "forward": "->", "back": "<-"}
    if towards not in known or (towards and arrow != "->" and known[towards] != arrow):
        raise GraphError(f"cannot read 'dir={direction}' of '{shown_edge}': write 'both', 'back' or 'forward' on '->'")
    return known[towards]
