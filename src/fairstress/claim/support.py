"""Which monomials of a person's values a change of prediction is made of, whatever Model B is.

Structural equations and built-in predictors are polynomials, so a change of prediction is one too, with coefficients
that Model B moves. Its monomials follow from the exponents alone: where inputs z become z + d, a product becomes a sum
of products, and what is left after subtraction has at least one factor d.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fairstress.model.design import Design, Equation
from fairstress.model.embedding import Polynomial
from fairstress.model.monomials import Exponents
from fairstress.model.predictor import AnyPredictor, PolynomialPredictor
from fairstress.model.view import Lens, RawColumns, View

Support = frozenset[Exponents]  # monomials, by the exponents of each feature, of A and of its counterfactual value

MOST = 200  # monomials that are still worth while
MOST_PRODUCTS = 20_000  # that are written down on the way

NOTHING: Support = frozenset()


def change_support(
    design: Design, view: Lens, predictor: AnyPredictor, differing: frozenset[int], width: int, *, grouped: bool
) -> Support | None:
    """Monomials of which predictions' changes are made, with all their divisors; None: too many, or no polynomial.

    Weights of the equations in ``differing`` may be any. People have ``width`` features; where they are ``grouped`` by
    A and by levels of features, these count as constants.
    """
    if not isinstance(predictor, PolynomialPredictor) or predictor.is_logistic:
        return None
    if not isinstance(view, View | RawColumns) or not _shows_all(view):
        return None
    if not all(isinstance(equation.embedding, Polynomial) for equation in design.equations):
        return None
    return _found(design, view, predictor, differing, width, grouped)


@lru_cache(maxsize=64)  # claims about samples of people ask for the same again
def _found(
    design: Design,
    view: View | RawColumns,
    predictor: PolynomialPredictor,
    differing: frozenset[int],
    width: int,
    grouped: bool,
) -> Support | None:
    try:
        walk = _Walk.along(design, width, grouped=grouped)
        return _with_divisors(walk.of_prediction(view, predictor, differing))
    except _TooManyError:
        return None


def _shows_all(view: View | RawColumns) -> bool:
    """Whether a predictor is shown all residuals, or all features, as they are."""
    return view.all_residuals if isinstance(view, View) else view.sources is None and not view.others


def grouping_columns(design: Design) -> list[int]:
    """Features that some equation looks at level by level."""
    return sorted({k for equation in design.equations for k, level in equation.sources if level is not None})


class _TooManyError(Exception):
    """A change has more monomials than are worth while."""


@dataclass(frozen=True, slots=True)
class _Input:
    """What an input of a polynomial is made of, and what it changes by."""

    own: Support
    change: Support = NOTHING

    def still(self) -> _Input:
        """The same where the change does not arrive."""
        return replace(self, change=NOTHING)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Each feature's change, from parents to children."""

    one: Support  # the constant
    features: list[_Input]
    protected: _Input
    residuals: dict[int, _Input]  # by equation: Model A's, under another Model B

    @classmethod
    def along(cls, design: Design, width: int, *, grouped: bool) -> _Walk:
        """Walk through the graph."""
        units = [frozenset([tuple(int(i == k) for i in range(width + 2))]) for k in range(width + 2)]
        one: Support = frozenset([(0,) * (width + 2)])
        protected = _Input(one, one) if grouped else _Input(units[-2], units[-2] | units[-1])
        walk = cls(one, [_Input(unit) for unit in units[:width]], protected, {})
        for j, equation in enumerate(design.equations):
            value, change = walk._of_equation(equation)
            own = walk.features[equation.column].own
            walk.residuals[j] = _Input(own | value, change)
            walk.features[equation.column] = _Input(own, change)
        return walk

    def of_prediction(
        self, view: View | RawColumns, predictor: PolynomialPredictor, differing: frozenset[int]
    ) -> Support:
        """What the change of a prediction is made of."""
        inputs = list(self.features)
        if isinstance(view, RawColumns):
            inputs = [self.protected] * len(view.levels) + inputs
        else:
            for j, equation in enumerate(view.design.equations):
                own = self.residuals[j]
                inputs[equation.column] = own if j in differing else own.still()
            context = set(range(len(inputs))) - set(view.design.columns)
            inputs = [given.still() if k in context else given for k, given in enumerate(inputs)]
        return self._of(inputs, predictor.embedding)[1]

    def _of_equation(self, equation: Equation) -> tuple[Support, Support]:
        """What the right-hand side is made of, and what its change is."""
        protected = self.protected.still() if equation.protected_is_fair else self.protected
        inputs = [protected] * equation.n_protected
        for k, level in equation.sources:
            given = self.features[k] if level is None else _Input(self.one)
            inputs.append(given.still() if k in equation.fair else given)
        assert isinstance(equation.embedding, Polynomial)
        return self._of(inputs, equation.embedding)

    def _of(self, inputs: Sequence[_Input], polynomial: Polynomial) -> tuple[Support, Support]:
        parts = [self._products(inputs, exponents) for exponents in polynomial.exponents]
        return frozenset().union(*(value for value, _ in parts)), frozenset().union(*(change for _, change in parts))

    def _products(self, inputs: Sequence[_Input], exponents: Exponents) -> tuple[Support, Support]:
        """Of one monomial of some inputs: products of own values alone, and those with a change among the factors."""
        plain, changed = self.one, NOTHING
        for given, power in zip(inputs, exponents, strict=True):
            for _ in range(power):
                changed = _times(changed, given.own | given.change) | _times(plain, given.change)
                plain = _times(plain, given.own)
        return plain, changed


def _times(first: Support, second: Support) -> Support:
    if len(first) * len(second) > MOST_PRODUCTS:
        raise _TooManyError
    return frozenset(tuple(map(sum, zip(*pair, strict=True))) for pair in itertools.product(first, second))


def _with_divisors(monomials: Iterable[Exponents]) -> Support:
    """Some monomials and all that divide them."""
    found: set[Exponents] = set()
    for exponents in monomials:
        if exponents not in found:
            found.update(itertools.product(*(range(power + 1) for power in exponents)))
        if len(found) > MOST:
            raise _TooManyError
    return frozenset(found)
