"""Small faults that can be planted in a Python file, one at a time, and a draw from them with a fixed seed."""

from __future__ import annotations

import ast
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Change: TypeAlias = tuple[str, ast.AST, str]  # kind, what is replaced, by which text

SWAPPED = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
REVERSED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}
NAMES = {
    one: other
    for pair in (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("nanmin", "nanmax"), ("any", "all"),
                 ("floor", "ceil"), ("sin", "cos"), ("zeros", "ones"), ("zeros_like", "ones_like"), ("triu", "tril"))
    for one, other in (pair, pair[::-1])
}  # fmt: skip
WEIGHTS = {"return": 0.15, "shortcut": 0.3, "condition": 0.5, "statement": 0.7, "logic": 0.7}  # 1 for what computes


@dataclass(frozen=True)
class Mutant:
    """One fault: the bytes from ``start`` to ``end`` of a file's text replaced."""

    path: str
    line: int
    code: str  # the line that it begins in
    kind: str
    start: int
    end: int
    old: str
    new: str
    lines: tuple[int, int]  # the statement's first line, and the last of what is replaced
    copy: int = 0  # how many mutants before it read the same

    @property
    def name(self) -> str:
        """What stays the same when lines above it are added or taken away."""
        again = f" ({self.copy + 1})" if self.copy else ""
        return f"{self.path} | {self.code} | {self.old} -> {self.new}{again}"

    def planted(self, source: str) -> str:
        """The file's text with the fault in it."""
        text = source.encode()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()


def mutants(source: str, path: str) -> list[Mutant]:
    """All faults that can be planted in a file, in the order of its text."""
    found, seen = [], Counter[str]()
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for statement, (kind, node, new) in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old, code = source.encode()[start:end].decode(), source.splitlines()[node.lineno - 1].strip()
        lines = statement.lineno, node.end_lineno
        one = Mutant(path, node.lineno, code, kind, start, end, " ".join(old.split()), new, lines)
        found.append(Mutant(*list(vars(one).values())[:-1], copy=seen[one.name]))
        seen[one.name] += 1
    return sorted(found, key=lambda one: (one.start, one.end, one.new))


def drawn(all_of_a_file: list[Mutant], share: float, least: int, seed: int) -> list[Mutant]:
    """A share of a file's mutants, at least so many; a larger share begins with the same ones.

    What computes is drawn more often than conditions, shortcuts and the like: ``WEIGHTS``.
    """

    def rank(one: Mutant) -> float:
        return -math.log(random.Random(f"{seed} {one.name}").random()) / WEIGHTS.get(one.kind, 1.0)

    return sorted(all_of_a_file, key=rank)[: max(least, math.ceil(share * len(all_of_a_file)))]


def _changes(tree: ast.AST, statement: ast.stmt | None = None) -> Iterator[tuple[ast.stmt, Change]]:
    """Every change below a node, with its statement; nothing in refusals, assertions, texts and annotations."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: an assertion, too
            continue
        if isinstance(tree, ast.arg) or (isinstance(tree, ast.AnnAssign) and node is tree.annotation):
            continue
        if node is getattr(tree, "returns", None) or node in getattr(tree, "decorator_list", ()):
            continue
        within = node if isinstance(node, ast.stmt) else statement
        if within is not None and hasattr(node, "lineno"):
            yield from ((within, change) for change in _of_node(node))
        yield from _changes(node, within)


def _of_node(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=op) if type(op) in SWAPPED and not _is_text(node):
            yield "arithmetic", node, _infix(node.left, SWAPPED[type(op)], node.right)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield "sign", node, f"({ast.unparse(operand)})"
        case ast.Compare(ops=[op]):
            for table in (SWAPPED, REVERSED):
                if type(op) in table:
                    yield "comparison", node, _infix(node.left, table[type(op)], node.comparators[0])
        case ast.BoolOp(op=op, values=values):
            yield "logic", node, f"({f' {SWAPPED[type(op)]} '.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.Constant(value=bool(value)):
            yield "constant", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", node, str(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", node, str(2 * value or 1.0)
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            yield "function", node.func, ast.unparse(node.func).removesuffix(name) + NAMES[name]
        case ast.Slice(lower=lower, upper=upper):
            yield from (("slice", end, f"{ast.unparse(end)} + 1") for end in (lower, upper) if _is_variable(end))
        case ast.IfExp(test=test) | ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare):
            yield "condition", test, f"(not ({ast.unparse(test)}))"
        case _:
            yield from _of_statement(node)
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Continue) and not node.orelse:
        yield "shortcut", node.test, "False"


def _of_statement(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Return(value=ast.BinOp() as value) if not _is_text(value):
            yield "return", value, f"-({ast.unparse(value)})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return", value, "None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield "statement", node, "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "statement", node, "pass"


def _infix(left: ast.expr, operator: str, right: ast.expr) -> str:
    return f"(({ast.unparse(left)}) {operator} ({ast.unparse(right)}))"


def _is_text(node: ast.AST) -> bool:
    """Whether an expression joins or formats texts."""
    leaves = list(ast.walk(node))
    return any(isinstance(leaf, ast.JoinedStr) or isinstance(getattr(leaf, "value", None), str) for leaf in leaves)


def _is_variable(node: ast.expr | None) -> bool:
    return node is not None and not isinstance(node, ast.Constant | ast.UnaryOp)
