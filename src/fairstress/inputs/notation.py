"""Graph notations: fairstress text, DOT and dagitty, read into plain statements and written back.

The three differ in how names are cut out of the text; what a statement means is the same::

    statement := group (arrow group)*          arrow := "->" | "<-" | "<->" | "=fair=>"
    group     := name ("," name)*              a lone group declares its names

In DOT and dagitty a fair edge is ``a -> b [fair=true]``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fairstress.errors import GraphError

Edge = tuple[str, str]
FAIR = "=fair=>"


@dataclass(slots=True)
class Statements:
    """What a text declares, in the order in which it does so."""

    nodes: list[str] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    pairs: list[Edge] = field(default_factory=list)
    fair: list[Edge] = field(default_factory=list)  # edges that are called fair
    latent: set[str] = field(default_factory=set)

    def declare(self, names: Iterable[str]) -> None:
        """Add names that have not been seen."""
        self.nodes.extend(name for name in dict.fromkeys(names) if name not in self.nodes)

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
    edges, fair = list(edges), set(fair)
    lines: list[str] = []
    waiting: list[str] = []  # roots that no statement has named yet
    for node in nodes:
        parents = [a for a, b in edges if b == node]
        waiting += [] if parents else [node]
        if parents:
            lines += [] if waiting in ([], parents[:1]) else [_quote(root) for root in waiting]
            lines += [f"{_quote(a)} {FAIR if (a, node) in fair else '->'} {_quote(node)}" for a in parents]
            waiting = []
    lines += [_quote(root) for root in waiting]
    return "; ".join(lines + [f"{_quote(a)} <-> {_quote(b)}" for a, b in pairs])


def write_dot(nodes: Iterable[str], edges: Iterable[Edge], pairs: Iterable[Edge], fair: Iterable[Edge]) -> str:
    """Write a DOT digraph that `read_dot` reads back to the same graph."""

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '\\"') + '"'

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
            raise GraphError(f'the graph text has a quotation mark (") that is never closed: {text[position:][:40]!r}')
        position = match.end()
        kind, token = str(match.lastgroup), match.group().strip()
        if kind == "name" and re.search(r"--|[<>]|^-|-$", token):
            raise GraphError(f"cannot read {token!r}: write '->', '<-', '<->' or '{FAIR}', or put the name in quotes")
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
            shown = " ".join(t for _, t in statement)
            raise GraphError(f"cannot read {shown!r} at {token!r}: write 'a -> b', 'a <-> b' or 'a -> b, c'")
        if kind == "name":
            groups[-1].append(token)
        elif kind == "arrow":
            arrows.append(token)
            groups.append([])
        expects_name = kind != "name"
    if statement and expects_name:
        shown = " ".join(t for _, t in statement)
        raise GraphError(f"cannot read {shown!r}: a name is missing after {statement[-1][1]!r}")
    return groups, arrows


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

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_DOT_COMMENT = re.compile(rf"({_QUOTED})|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
_DOT_HEADER = re.compile(
    rf"^\s*(?:strict\s+)?(?P<kind>digraph|graph|dag|mag|pdag|pag)\b\s*(?:[\w.]+\s*|{_QUOTED}\s*)?\{{", re.IGNORECASE
)
_DOT_TOKEN = re.compile(
    rf"""\s*(?:(?P<quoted>{_QUOTED})
      | (?P<attributes>\[(?:[^\]"]|{_QUOTED})*\])
      | (?P<arrow><->|->|<-|--|@-@|@->|<-@)
      | (?P<mark>[{{}}=;,])
      | (?P<name>(?:(?!->|--)[^\s\[\]{{}}=;,"<@])+))""",
    re.VERBOSE,
)
_DOT_ATTRIBUTE = re.compile(rf"([\w.]+)(?:\s*=\s*({_QUOTED}|[^\s,;\]]+))?")
_Token = tuple[str, str]


def read_dot(text: str) -> Statements:
    """Read a DOT ``digraph`` or dagitty ``dag``; ``[dir=both]`` and ``<->`` are pairs, ``[latent]`` a hidden cause."""
    text = _DOT_COMMENT.sub(lambda match: match[1] or "", text)
    header = _DOT_HEADER.match(text)
    if header is None or header["kind"].lower() not in ("digraph", "dag"):
        raise GraphError("the text does not start with 'digraph {' or 'dag {': only directed graphs can be read")
    statements = Statements()
    tokens = list(_dot_tokens(text[header.end() :].rstrip("; \t\r\n").removesuffix("}")))
    while tokens:
        _read_dot_statement(statements, tokens)
    return statements


def _dot_tokens(text: str) -> Iterator[_Token]:
    """Cut DOT into tokens; the port of a bare name is left out."""
    position = 0
    while text[position:].strip():
        match = _DOT_TOKEN.match(text, position)
        if match is None:
            raise GraphError(f"cannot read the graph at {text[position:].strip()[:40]!r}")
        position = match.end()
        kind = str(match.lastgroup)
        token = match[kind]
        if token in ("subgraph", "+"):
            raise GraphError(f"cannot read {token!r}: write the graph without subgraphs and joined names")
        if kind == "quoted":
            yield "name", token[1:-1].replace('\\"', '"')
        else:
            yield kind, token.partition(":")[0] if kind == "name" else token


def _read_dot_statement(statements: Statements, tokens: list[_Token]) -> None:
    """Take one statement off the tokens: nodes or a chain of edges, attributes behind them."""
    if tokens[0] in (("mark", ";"), ("mark", ",")):
        tokens.pop(0)
        return
    groups, arrows = [_dot_group(tokens)], []
    while tokens and tokens[0][0] == "arrow":
        arrows.append(tokens.pop(0)[1])
        groups.append(_dot_group(tokens))
    attributes: dict[str, str] = {}
    while tokens and tokens[0][0] == "attributes":
        attributes |= {key.lower(): value.strip('"') for key, value in _DOT_ATTRIBUTE.findall(tokens.pop(0)[1])}
    if tokens[:1] == [("mark", "=")]:  # a setting of the drawing, such as bb="0,0,1,1"
        del tokens[:2]
        return
    if not arrows and groups[0] in (["graph"], ["node"], ["edge"]) and attributes:
        if "dir" in attributes:
            raise GraphError("cannot read 'edge [dir=...]': give each edge its own direction")
        return
    if not arrows and {"latent", "unobserved"} & set(attributes):
        statements.latent.update(groups[0])
    arrows = [_dot_arrow(arrow, attributes.get("dir"), groups) for arrow in arrows]
    _apply(statements, groups, [_fair_arrow(arrow, attributes.get("fair")) for arrow in arrows])


def _dot_group(tokens: list[_Token]) -> list[str]:
    """Take one name, or the names of ``{a b}``, off the tokens."""
    kind, token = tokens.pop(0) if tokens else ("end", "the end")
    if kind == "name":
        return [token]
    if (kind, token) != ("mark", "{"):
        raise GraphError(f"cannot read the graph at {token!r}: a name is expected there")
    names = []
    while tokens and tokens[0] != ("mark", "}"):
        kind, token = tokens.pop(0)
        if tokens[:1] == [("mark", "=")]:  # a setting such as rank=same
            del tokens[:2]
        elif kind == "name":
            names.append(token)
        elif token not in (";", ","):
            raise GraphError(f"cannot read the graph at {token!r}: only names may stand inside '{{ }}'")
    if not tokens:
        raise GraphError("the graph has a '{' that is never closed")
    tokens.pop(0)
    return names


def _fair_arrow(arrow: str, fair: str | None) -> str:
    """Give an edge with ``[fair=true]`` its own arrow."""
    if fair is None or fair.lower() == "false":
        return arrow
    if fair.lower() not in ("", "true") or arrow != "->":
        raise GraphError(f"cannot read 'fair={fair}' on '{arrow}': write 'a -> b [fair=true]'")
    return FAIR


def _dot_arrow(arrow: str, direction: str | None, groups: list[list[str]]) -> str:
    """Give the direction of an edge after its ``dir`` attribute; refuse edges without one."""
    if arrow not in ("->", "<-", "<->") or direction == "none":
        shown = f" {arrow} ".join(", ".join(group) for group in groups)
        raise GraphError(f"'{shown}' is not a directed or bidirected edge: write '->' or '<->'")
    return {"both": "<->", "back": "<-"}.get(direction or "", arrow)
