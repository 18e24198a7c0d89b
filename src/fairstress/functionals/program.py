"""A walk through the graph and a predictor as flat arrays, for code that is compiled once and for all of them.

Equations and predictor are polynomials in sources. Sources and monomials are the nodes of one list, in which a monomial
that several polynomials have stands once, as an earlier node times a source. Polynomials and their derivatives are then
sums of nodes, whose coefficients are the design's weights and, behind these, the predictor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fairstress.functionals.sources import NotCompiledError, Sources
from fairstress.inputs.rows import Array, IntArray
from fairstress.model.design import Design
from fairstress.model.embedding import Embedding, Polynomial
from fairstress.model.monomials import Exponents
from fairstress.model.predictor import PolynomialPredictor
from fairstress.model.view import RawColumns, View

TOGETHER = 4  # nodes of a sum that are added at once: sums are filled up with nothing


class Program(NamedTuple):
    """One walk through the graph, and what the predictor makes of it."""

    before: IntArray  # (sources,) as in `Source`
    after: IntArray  # (sources,)
    level: Array  # (sources,) NaN for None
    x: IntArray  # (walked,) the source that each equation makes; NOWHERE: nobody looks at it
    eps: IntArray  # (walked,) the same for Model A's residual
    left: IntArray  # (products,) an earlier node ...
    right: IntArray  # (products,) ... times a source
    changes: IntArray  # (products,) whether it does
    looked_at: IntArray  # (products,) whether its value is, and not only what it changes by
    opens: IntArray  # (walked + 2,) where products that are known after so many equations begin, and where they end
    starts: IntArray  # (sums + 1,) where sums begin: of equations, predictor, score, then derivatives; where they end
    node: IntArray  # (k,)
    place: IntArray  # (k,) of its coefficient among all weights
    factor: Array  # (k,) times which it counts
    slopes: IntArray  # (walked + 2,) which sums are the derivatives of each equation, and of the predictor
    by: IntArray  # (sums,) by which source
    is_logistic: bool


class Abduction(NamedTuple):
    """What Model A takes for noise: people's features less polynomials in what is known of them."""

    before: IntArray  # (sources,) as in `Source`
    level: Array  # (sources,) NaN for None
    left: IntArray  # (products,) an earlier node ...
    right: IntArray  # (products,) ... times a source
    starts: IntArray  # (equations + 1,) where their sums begin, and where the last one ends
    node: IntArray  # (k,)
    place: IntArray  # (k,) of its coefficient among all weights
    factor: Array  # (k,) times which it counts
    column: IntArray  # (equations,) the feature of each


@lru_cache(maxsize=256)
def abduction_of(design: Design, width: int, columns: frozenset[int]) -> Abduction | None:
    """Lay out the residuals of some of the features; None where an equation is no polynomial."""
    chosen = [j for j, equation in enumerate(design.equations) if equation.column in columns]
    sources, equations = Sources(width, {}, frozenset()), [design.equations[j] for j in chosen]
    inputs = [sources.of_equation(equation) for equation in equations]
    try:
        given = zip(equations, inputs, chosen, strict=True)
        written = [_written(equation.embedding, own, design.slices[j].start) for equation, own, j in given]
    except NotCompiledError:
        return None
    products = _products(sources, written)
    number, (starts, terms) = _numbered(sources, products), _end_to_end(written)
    return Abduction(
        before=_whole(source.before for source in sources.found),
        level=_levels(sources),
        left=_whole(number[monomial[:-1]] for monomial in products),
        right=_whole(monomial[-1] for monomial in products),
        starts=starts,
        node=_whole(number[term.monomial] for term in terms),
        place=_whole(term.place for term in terms),
        factor=np.array([float(term.factor) for term in terms]),
        column=_whole(equation.column for equation in equations),
    )


@lru_cache(maxsize=256)
def program_of(
    design: Design,
    view: View | RawColumns,
    predictor: PolynomialPredictor,
    width: int,
    known: tuple[int, ...],
    walked: tuple[int, ...],
) -> Program | None:
    """Lay out a walk through some equations; None where something is no polynomial.

    People have ``width`` features, of which some are ``known`` from Model A.
    """
    equations = [design.equations[j] for j in walked]
    sources = Sources(width, {e.column: number for number, e in enumerate(equations)}, frozenset(known))
    firsts = [*(design.slices[j].start for j in walked), design.feature_of.size]
    try:
        inputs = [*map(sources.of_equation, equations), list(sources.of_view(view))]
        embeddings = [*(e.embedding for e in equations), predictor.embedding]
        written = [_written(*given) for given in zip(embeddings, inputs, firsts, strict=True)]
    except NotCompiledError:
        return None
    return _flat(sources, [e.column for e in equations], written, is_logistic=predictor.is_logistic)


# ---------------------------------------------------------------- polynomials in sources


Monomial = tuple[int, ...]  # the sources that it is the product of, ascending


class Term(NamedTuple):
    """One term of a sum."""

    monomial: Monomial
    place: int  # of its weight
    factor: int = 1

    def by(self, source: int) -> Term:
        """Its derivative by one of its sources."""
        at, power = self.monomial.index(source), self.monomial.count(source)
        return Term(self.monomial[:at] + self.monomial[at + 1 :], self.place, power)


def _written(embedding: Embedding, inputs: Sequence[int], first: int) -> list[Term]:
    """An embedding whose weights begin at a place; the constant comes first."""
    if not isinstance(embedding, Polynomial):
        raise NotCompiledError
    return [Term(_monomial(inputs, powers), first + i) for i, powers in enumerate(embedding.exponents)]


def _monomial(inputs: Sequence[int], powers: Exponents) -> Monomial:
    return tuple(sorted(source for source, power in zip(inputs, powers, strict=True) for _ in range(power)))


# ---------------------------------------------------------------- all of it


def _flat(sources: Sources, columns: list[int], written: list[list[Term]], *, is_logistic: bool) -> Program:
    products = _products(sources, written)
    number = _numbered(sources, products)
    sums, slopes, by = _sums(sources, written, is_logistic=is_logistic)
    starts, terms = _end_to_end(sums)
    looked_at = {term.monomial for own in sums[len(written) :] for term in own} | {one[:-1] for one in products}
    return Program(
        before=_whole(source.before for source in sources.found),
        after=_whole(source.after for source in sources.found),
        level=_levels(sources),
        x=_whole(sources.made_feature(k) for k in columns),
        eps=_whole(sources.made_residual(k) for k in columns),
        left=_whole(number[monomial[:-1]] for monomial in products),
        right=_whole(monomial[-1] for monomial in products),
        changes=_whole(sources.changes(monomial) for monomial in products),
        looked_at=_whole(monomial in looked_at for monomial in products),
        opens=_whole(np.searchsorted([*map(sources.known_after, products)], range(len(columns) + 2))),
        starts=starts,
        node=_whole(number[term.monomial] for term in terms),
        place=_whole(term.place for term in terms),
        factor=np.array([float(term.factor) for term in terms]),
        slopes=_whole(slopes),
        by=_whole(by),
        is_logistic=is_logistic,
    )


def _whole(numbers: Iterable[int]) -> IntArray:
    return np.array(list(numbers), dtype=np.intp)


def _levels(sources: Sources) -> Array:
    return np.array([np.nan if source.level is None else source.level for source in sources.found])


def _numbered(sources: Sources, products: Sequence[Monomial]) -> dict[Monomial, int]:
    """The number of each node: sources, then products."""
    number: dict[Monomial, int] = {(): 0} | {(s,): s for s in range(sources.count)}
    return number | {monomial: sources.count + i for i, monomial in enumerate(products)}


def _end_to_end(sums: Sequence[list[Term]]) -> tuple[IntArray, list[Term]]:
    """Where each sum begins and the last one ends, and their terms, filled up with nothing."""
    filled = [[*own, *[Term((), 0, 0)] * (-len(own) % TOGETHER)] for own in sums]
    return _whole(np.cumsum([0, *map(len, filled)])), [term for own in filled for term in own]


def _products(sources: Sources, written: list[list[Term]]) -> list[Monomial]:
    """All monomials of a degree above 1, each after the one with a source less; those known early come first."""
    every = {term.monomial for own in written for term in own if len(term.monomial) > 1}
    return sorted(every, key=lambda monomial: (sources.known_after(monomial), len(monomial), monomial))


def _sums(
    sources: Sources, written: list[list[Term]], *, is_logistic: bool
) -> tuple[list[list[Term]], list[int], list[int]]:
    """Each polynomial's terms that change, the predictor's score, and derivatives by what Model B moves.

    Also where the derivatives of each polynomial begin and end, and by which source each sum is one.
    """
    sums = [[term for term in own if sources.changes(term.monomial)] for own in written]
    sums.append(written[-1] if is_logistic else [])
    slopes, by = [len(sums)], [0] * len(sums)
    for own in written:
        moved = sorted({s for term in own for s in term.monomial if sources.known_after((s,))})
        sums += [[term.by(s) for term in own if s in term.monomial] for s in moved]
        by += moved
        slopes.append(len(sums))
    return sums, slopes, by
