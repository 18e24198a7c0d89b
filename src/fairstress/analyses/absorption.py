"""Why correlated errors of features cannot move CFU without a penalty: rules about spans, and proofs made of them.

The rules hold for every P of the pairs' pattern and for any data whose equations have independent columns. They are
about the total effect of a protected attribute that shares no hidden cause with a feature. `docs/mathematics.md` proves
them, under these names:

split        an equation that contains x_k and all of k's equation, for every k below that its error depends on,
             absorbs these: the features fall into two sets that are fitted apart
inner        an equation whose terms are in the equations of all features with which its error is left correlated has
             the weights of Model A (equations with the same regressors are the case of equality)
linear       equations that share all terms but for each other's features, which enter as they are: weights move, but
             not what a change of the shared variables does to the features

Features may be of any kind, but only numbers that are seen for everyone can be absorbed, and the rules "inner" and
"linear" give the weights of numbers with one scale alone. What is shown of a feature that is seen in intervals only, an
expected error, stays as Model A has it if its error is tied to no other and nothing before it moves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairstress.inputs.notation import Edge
from fairstress.model.design import Design, Equation
from fairstress.model.embedding import ByGroup, Polynomial

Monomial = frozenset[tuple[str, int]]  # (variable, power) of each factor; empty is the constant 1
Span = frozenset[Monomial]
Pattern = dict[str, frozenset[str]]  # with whose error each feature's error may be correlated
Spans = Mapping[str, Span]


@dataclass(frozen=True, slots=True)
class Proof:
    """What the rules say of some pairs."""

    sentences: tuple[str, ...]  # what was shown
    open: tuple[str, ...]  # features whose residuals may move, for all that the rules know
    obstacles: tuple[str, ...]  # what the rules miss where features are open

    @property
    def is_complete(self) -> bool:
        """Whether no residual that the predictor uses can move."""
        return not self.open


def prove(
    design: Design, protected: str, pairs: Sequence[Edge], used: Collection[str], features: Sequence[str]
) -> Proof:
    """Apply the rules to some pairs of features, for a predictor that uses some of the residuals.

    Parameters
    ----------
    design
        The structural equations.
    protected
        Name of the protected attribute.
    pairs
        Pairs of features whose errors may be correlated.
    used
        Features whose residuals, or expected errors, the predictor looks at.
    features
        Names of all features by column, those without an equation too.
    """
    known = Known.of(design, protected, features)
    equations = known.equations
    pattern = _pattern(equations, pairs)
    wanted = known.with_what_they_follow(used)
    asked = [name for name, e in equations.items() if pattern[name] and e.moves and name in wanted]
    splits: list[Split] = []
    apart = _apart(pattern, known, splits)
    blocks = {name: unmoved_block(name, known, apart) for name in asked}
    words = _Words(known, protected)
    shown = [words.idle([name for name in equations if pattern[name] and name not in asked])]
    needed = set(asked).union(*(block for block in blocks.values() if block))
    shown += [words.split(j, splits, needed) for j in equations]
    shown += [words.block(block, apart) for block in blocks.values() if block]
    missing = [name for name in asked if blocks[name] is None]
    obstacles = [sentence for j in missing for sentence in words.obstacles(j, apart)]
    obstacles += [words.following(j, used) for j in missing if j not in used]
    return Proof(_distinct(shown), tuple(missing), _distinct(obstacles))


# ---------------------------------------------------------------- mathematics: spans


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the rules know of the equations."""

    equations: Mapping[str, Equation]  # by feature
    inputs: Mapping[str, tuple[str, ...]]  # names of what enters each
    spans: Spans
    itself: Spans  # what a feature's error has of the feature: x_k, or x_k at each level of the protected attribute

    @classmethod
    def of(cls, design: Design, protected: str, features: Sequence[str]) -> Known:
        """Read the spans off the equations."""
        equations = {e.feature: e for e in design.equations}
        own = {name: _protected_inputs(e, protected) for name, e in equations.items()}
        others = {name: _parent_inputs(e, features) for name, e in equations.items()}
        return cls(
            equations=equations,
            inputs={name: (*own[name], *others[name]) for name in equations},
            spans={name: _span(e, own[name], others[name]) for name, e in equations.items()},
            itself={
                name: _at_levels({_itself(name)}, own[name] if e.law.groups else ()) for name, e in equations.items()
            },
        )

    def absorbs(self, j: str, k: str) -> bool:
        """Whether k's error is known and j's equation contains all of it, x_k and the terms of k's equation."""
        return self.is_seen(k) and self.itself[k] <= self.spans[j] and self.spans[k] <= self.spans[j]

    def is_seen(self, name: str) -> bool:
        """Whether a feature is a number whose error is known for everyone."""
        law = self.equations[name].law
        return not law.is_ordered and law.atom is None

    def with_what_they_follow(self, used: Collection[str]) -> set[str]:
        """Some features, and all that those of them follow whose errors are not known for everyone.

        A number's residual is what stays; what is expected of an interval follows all that the feature follows.
        """
        columns = {e.column: name for name, e in self.equations.items()}
        followed: set[str] = set()
        edge = {name for name, e in self.equations.items() if name in used and e.moves and not self.is_seen(name)}
        while edge:
            followed |= edge
            parents = {columns[k] for name in edge for k in self.equations[name].parents if k in columns}
            edge = parents - followed
        return {*used, *followed}


def _span(equation: Equation, own: Sequence[str], others: Sequence[str]) -> Span:
    """The monomials of an equation, by the variables' names.

    Of an embedding that is no polynomial nothing is known; it gets a span of its own, which is like no other.
    """
    polynomial = polynomial_of(equation)
    if polynomial is None:
        return frozenset([frozenset([(equation.feature, 0)])])
    inputs = others if equation.law.groups else (*own, *others)
    monomials = {
        frozenset((name, power) for name, power in zip(inputs, exponents, strict=True) if power)
        for exponents in polynomial.exponents
    }
    return _at_levels(monomials, own if equation.law.groups else ())


def polynomial_of(equation: Equation) -> Polynomial | None:
    """The polynomial of an equation, or of each of its groups; None where there is none."""
    inside = equation.embedding.of if type(equation.embedding) is ByGroup else equation.embedding
    return inside if type(inside) is Polynomial else None


def _at_levels(monomials: Collection[Monomial], own: Sequence[str]) -> Span:
    """Functions at each level of the protected attribute: themselves, and times what stands for it in equations."""
    return frozenset([*monomials, *(m | _itself(name) for m in monomials for name in own)])


def _protected_inputs(equation: Equation, protected: str) -> tuple[str, ...]:
    """What stands for the protected attribute: itself, or each of several levels but the first."""
    levels = equation.levels or (equation.law.groups[1:] if len(equation.law.groups) > 2 else ())
    return (tuple(f"{protected}={level:g}" for level in levels) or (protected,)) * equation.uses_protected


def _parent_inputs(equation: Equation, features: Sequence[str]) -> tuple[str, ...]:
    """What stands for the parents: the features, or levels of them, as the embedding names these."""
    polynomial, first = polynomial_of(equation), 0 if equation.law.groups else equation.n_protected
    terms = dict(zip(polynomial.exponents, polynomial.terms, strict=True)) if polynomial else {}
    names = []
    for position, (column, level) in enumerate(equation.sources, start=first):
        alone = tuple(int(i == position) for i in range(first + len(equation.sources)))
        names.append(features[column] if level is None else terms.get(alone, f"{features[column]}={level:g}"))
    return tuple(names)


def _itself(name: str) -> Monomial:
    return frozenset([(name, 1)])


def unmoved_block(name: str, known: Known, apart: Pattern) -> frozenset[str] | None:
    """Features that show together that a feature's residual does not move; None where no rule shows it."""
    if not apart[name]:
        return frozenset([name])
    common = {k: known.spans[k].intersection(*(known.spans[i] for i in apart[k])) for k in apart}
    return _linear_block(name, known, common)


def _linear_block(name: str, known: Known, common: Spans) -> frozenset[str] | None:
    """The smallest set L around a feature whose equations are V and some x_l with l in L, V the same for all of them.

    V holds the monomials without a variable in L. It must lie in ``common[l]`` for every l in L: the functions that l's
    residuals are orthogonal to. A monomial that cannot belong to V forces its variable into L; there it must stand
    alone. All of L are numbers with one scale, seen for everyone. None where there is no such set. L of one feature is
    the rule "inner".
    """
    spans, L = known.spans, {name}
    while all(known.equations[k].law.is_plain for k in L):
        outside = {k: {m for m in spans[k] if not any(v in L for v, _ in m)} for k in L}
        if any(m not in map(_itself, L) for k in L for m in spans[k] - outside[k]):
            return None
        V = set.intersection(*outside.values()).intersection(*(common[k] for k in L))
        strangers = set().union(*outside.values()) - V
        if not strangers:
            return frozenset(L)
        forced = {k for k in spans if _itself(k) in strangers}
        if len(forced) < len(strangers):
            return None
        L |= forced
    return None


# ---------------------------------------------------------------- mathematics: which errors are tied


@dataclass(frozen=True, slots=True)
class Split:
    """Some features, connected among themselves, and those tied to them that absorb all of them."""

    lower: frozenset[str]
    absorbing: frozenset[str]


def _pattern(names: Iterable[str], pairs: Sequence[Edge]) -> Pattern:
    tied: dict[str, set[str]] = {name: set() for name in names}
    for a, b in pairs:
        tied[a].add(b)
        tied[b].add(a)
    return {name: frozenset(others) for name, others in tied.items()}


def _apart(pattern: Pattern, known: Known, splits: list[Split]) -> Pattern:
    """Split until nothing splits: the pattern of the errors that are left to be fitted together."""
    for seed in pattern:
        lower = _lower_set(seed, pattern, known)
        around = frozenset().union(*(pattern[k] for k in lower)) - lower
        if around:
            splits.append(Split(lower, around))
            below = {k: pattern[k] & lower for k in lower}
            # given the errors of the lower set, those of all that are tied to it may be correlated
            above = {
                j: (others - lower) | (around - {j} if j in around else frozenset())
                for j, others in pattern.items()
                if j not in lower
            }
            pattern_apart = {**_apart(below, known, splits), **_apart(above, known, splits)}
            return {name: pattern_apart[name] for name in pattern}
    return pattern


def _lower_set(seed: str, pattern: Pattern, known: Known) -> frozenset[str]:
    """The smallest connected set with the seed such that all that are tied to it absorb every member."""
    lower = {seed}
    while True:
        around = set().union(*(pattern[k] for k in lower)) - lower
        forced = {j for j in around if not all(known.absorbs(j, k) for k in lower)}
        if not forced:
            return frozenset(lower)
        lower |= forced


def _connected(name: str, pattern: Pattern) -> set[str]:
    """All that are tied to a feature, directly or through others."""
    reached, edge = set[str](), {name}
    while edge:
        reached |= edge
        edge = set().union(*(pattern[k] for k in edge)) - reached
    return reached - {name}


# ---------------------------------------------------------------- words


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Sentences about equations, in the graph's names."""

    known: Known
    protected: str

    @property
    def order(self) -> list[str]:
        inputs = {name for own in self.known.inputs.values() for name in own}
        others = inputs.difference([self.protected], self.known.equations)
        return [self.protected, *sorted(others), *self.known.equations]

    def equation(self, name: str) -> str:
        """``race and ugpa, degree 2``."""
        own, inputs = self._of(name), self.known.inputs[name]
        by_group = ", by group" if own.law.groups else ""
        return f"{listed(inputs)}, degree {own.degree}{by_group}" if inputs else "a constant"

    def idle(self, names: Sequence[str]) -> str:
        """Say which features of the pairs need no rule."""
        still = [name for name in names if not self._of(name).moves]
        unused = [name for name in names if name not in still]
        verb = "do" if len(still) > 1 else "does"
        parts = [f"{listed(still)} {verb} not descend from {self.protected}."] if still else []
        parts += [f"The predictor does not use the {self._residual(unused)} of {listed(unused)}."] if unused else []
        return " ".join(parts)

    def split(self, j: str, splits: Sequence[Split], needed: Collection[str]) -> str:
        """Say whose equations a feature's equation contains."""
        lower = frozenset().union(*(s.lower for s in splits if j in s.absorbing))
        below = [name for name in self.order if name in lower]
        if not below or not {j, *below}.intersection(needed):
            return ""
        if len(below) == 1:
            inner = f"{below[0]}'s equation ({self.terms(self.known.spans[below[0]])})"
            shares = f"{below[0]}'s"
        else:
            inner = f"their equations ({'; '.join(f'{k}: {self.terms(self.known.spans[k])}' for k in below)})"
            shares = "theirs"
        return (
            f"{j}'s equation ({self.equation(j)}) contains {listed(map(self._by_group, below))} and all terms of "
            f"{inner}, so that it absorbs what its error shares with {shares}."
        )

    def block(self, block: frozenset[str], apart: Pattern) -> str:
        """Say why the features of a block have unmoved residuals."""
        names = [name for name in self.order if name in block]
        around = [name for name in self.order if name in apart[names[0]]]
        if len(names) > 1:
            shared = self.terms(m for m in self.known.spans[names[0]] if not any(v in block for v, _ in m))
            return (
                f"The equations of {listed(names)} are linear in these features and share all other terms "
                f"({shared}): their weights move, but the effect of {self.protected} on these features does not."
            )
        if not around:  # all that its error was tied to absorb it, or it absorbs them
            return ""
        terms, own = self.terms(self.known.spans[names[0]]), self._of(names[0])
        if all(self.known.spans[name] == self.known.spans[names[0]] for name in around):
            alike = [name for name in self.order if name in {*names, *around}]
            whose = "their" if all(self._of(name).law.is_plain for name in around) else f"{own.feature}'s"
            return f"The equations of {listed(alike)} have the same terms ({terms}): {whose} weights do not move."
        return (
            f"The terms of {names[0]}'s equation ({terms}) are all in the {_noun(around)} of {listed(around)}: its "
            "weights do not move."
        )

    def obstacles(self, j: str, apart: Pattern) -> list[str]:
        """Say what keeps a feature from absorbing, or from being absorbed by, those that its error is tied to."""
        direct = [self._lacking(j, k) for k in self.order if k in apart[j]]
        return direct if any(direct) else [self._lacking(j, k) for k in self.order if k in _connected(j, apart)]

    def following(self, name: str, used: Collection[str]) -> str:
        """Say why a residual matters that the predictor does not use."""
        known = self.known
        below = [j for j in used if not known.is_seen(j) and name in known.with_what_they_follow([j])]
        shown = [j for j in self.order if j in below]
        return f"The predictor uses the {self._residual(shown)} of {listed(shown)}, which depends on {name}."

    def _lacking(self, j: str, k: str) -> str:
        """Say what the later of two features' equations lacks."""
        known, (low, top) = self.known, sorted((j, k), key=self.order.index)
        for name in (low, top):
            if polynomial_of(self._of(name)) is None:
                return f"The embedding of {name} is not polynomial, and no rule knows its span."
        if not known.is_seen(low):
            what = "is ordered" if self._of(low).law.is_ordered else "has many people at its lowest value"
            return f"{low} {what}, so that its error is known as an interval only, which no equation absorbs."
        lacking = (known.itself[low] | known.spans[low]) - known.spans[top]
        equation = f"{top}'s equation ({self.equation(top)})"
        return f"{equation} lacks {self.terms(lacking)}, which absorbing {low} would take." if lacking else ""

    def _of(self, name: str) -> Equation:
        return self.known.equations[name]

    def _by_group(self, name: str) -> str:
        return f"{name} by group" if self._of(name).law.groups else name

    def _residual(self, names: Iterable[str]) -> str:
        """What a predictor is shown of some features."""
        kinds = {self.known.is_seen(name) for name in names}
        return (
            {True: "residual", False: "expected error"}[kinds.pop()]
            if len(kinds) == 1
            else "residual or expected error"
        )

    def terms(self, monomials: Iterable[Monomial], at_most: int = 4) -> str:
        """Name monomials as embeddings do, the lowest first."""
        rank = self.order.index
        factors = [sorted(m, key=lambda f: rank(f[0])) for m in monomials]
        factors.sort(key=lambda m: (sum(power for _, power in m), [(rank(v), power) for v, power in m]))
        names = ["*".join(v if power == 1 else f"{v}^{power}" for v, power in m) or "1" for m in factors]
        more = len(names) - at_most
        return listed([*names[:at_most], f"{more} more"] if more > 0 else names)


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    names = list(words)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _noun(names: Sequence[str]) -> str:
    return "equations" if len(names) > 1 else "equation"


def _distinct(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s for s in sentences if s))
