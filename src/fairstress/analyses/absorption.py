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
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairstress.inputs.notation import Edge
from fairstress.model.design import Design, Equation
from fairstress.model.embedding import Polynomial

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


def prove(design: Design, protected: str, pairs: Sequence[Edge], used: Collection[str]) -> Proof:
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
        Features whose residuals the predictor looks at.
    """
    equations = {e.feature: e for e in design.equations}
    spans = {name: _span(e, design, protected) for name, e in equations.items()}
    pattern = _pattern(equations, pairs)
    asked = [name for name, e in equations.items() if pattern[name] and e.moves and name in used]
    splits: list[Split] = []
    apart = _apart(pattern, spans, splits)
    common = {k: spans[k].intersection(*(spans[i] for i in apart[k])) for k in equations}
    blocks = {name: linear_block(name, spans, common) for name in asked}
    words = _Words(design, protected, spans)
    shown = [words.idle([name for name in equations if pattern[name] and name not in asked])]
    needed = set(asked).union(*(block for block in blocks.values() if block))
    shown += [words.split(j, splits, needed) for j in equations]
    shown += [words.block(block, apart) for block in blocks.values() if block]
    missing = [name for name in asked if blocks[name] is None]
    obstacles = [sentence for j in missing for sentence in words.obstacles(j, apart)]
    return Proof(_distinct(shown), tuple(missing), _distinct(obstacles))


# ---------------------------------------------------------------- mathematics: spans


def _span(equation: Equation, design: Design, protected: str) -> Span:
    """The monomials of an equation, by the variables' names.

    Of an embedding that is no polynomial nothing is known; it gets a span of its own, which is like no other.
    """
    if type(equation.embedding) is not Polynomial:
        return frozenset([frozenset([(equation.feature, 0)])])
    inputs = _inputs(equation, design, protected)
    return frozenset(
        frozenset((name, power) for name, power in zip(inputs, exponents, strict=True) if power)
        for exponents in equation.embedding.exponents
    )


def _inputs(equation: Equation, design: Design, protected: str) -> list[str]:
    """Names of an equation's inputs; each level of a protected attribute with several is a variable of its own."""
    own = [f"{protected}={level:g}" for level in equation.levels] or [protected]
    return own * equation.uses_protected + [design.equations[k].feature for k in equation.parents]


def _itself(name: str) -> Monomial:
    return frozenset([(name, 1)])


def absorbs(spans: Spans, j: str, k: str) -> bool:
    """Whether j's equation contains x_k and all of k's equation."""
    return _itself(k) in spans[j] and spans[k] <= spans[j]


def linear_block(name: str, spans: Spans, common: Spans) -> frozenset[str] | None:
    """The smallest set L around a feature whose equations are V and some x_l with l in L, V the same for all of them.

    V holds the monomials without a variable in L. It must lie in ``common[l]`` for every l in L: the functions that l's
    residuals are orthogonal to. A monomial that cannot belong to V forces its variable into L; there it must stand
    alone. None where there is no such set. L of one feature is the rule "inner".
    """
    L = {name}
    while True:
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


def _apart(pattern: Pattern, spans: Spans, splits: list[Split]) -> Pattern:
    """Split until nothing splits: the pattern of the errors that are left to be fitted together."""
    for seed in pattern:
        lower = _lower_set(seed, pattern, spans)
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
            pattern_apart = {**_apart(below, spans, splits), **_apart(above, spans, splits)}
            return {name: pattern_apart[name] for name in pattern}
    return pattern


def _lower_set(seed: str, pattern: Pattern, spans: Spans) -> frozenset[str]:
    """The smallest connected set with the seed such that all that are tied to it absorb every member."""
    lower = {seed}
    while True:
        around = set().union(*(pattern[k] for k in lower)) - lower
        forced = {j for j in around if not all(absorbs(spans, j, k) for k in lower)}
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

    design: Design
    protected: str
    spans: Spans

    @property
    def order(self) -> list[str]:
        levels = {f"{self.protected}={level:g}" for e in self.design.equations for level in e.levels}
        return [self.protected, *sorted(levels), *(e.feature for e in self.design.equations)]

    def equation(self, name: str) -> str:
        """``race and ugpa, degree 2``."""
        own = self._of(name)
        inputs = _inputs(own, self.design, self.protected)
        return f"{listed(inputs)}, degree {own.degree}" if inputs else "a constant"

    def idle(self, names: Sequence[str]) -> str:
        """Say which features of the pairs need no rule."""
        still = [name for name in names if not self._of(name).moves]
        unused = [name for name in names if name not in still]
        verb = "do" if len(still) > 1 else "does"
        parts = [f"{listed(still)} {verb} not descend from {self.protected}."] if still else []
        parts += [f"The predictor does not use the residual of {listed(unused)}."] if unused else []
        return " ".join(parts)

    def split(self, j: str, splits: Sequence[Split], needed: Collection[str]) -> str:
        """Say whose equations a feature's equation contains."""
        lower = frozenset().union(*(s.lower for s in splits if j in s.absorbing))
        below = [name for name in self.order if name in lower]
        if not below or not {j, *below}.intersection(needed):
            return ""
        if len(below) == 1:
            inner = f"{below[0]}'s equation ({self.terms(self.spans[below[0]])})"
            shares = f"{below[0]}'s"
        else:
            inner = f"their equations ({'; '.join(f'{k}: {self.terms(self.spans[k])}' for k in below)})"
            shares = "theirs"
        return (
            f"{j}'s equation ({self.equation(j)}) contains {listed(below)} and all terms of {inner}, so that it "
            f"absorbs what its error shares with {shares}."
        )

    def block(self, block: frozenset[str], apart: Pattern) -> str:
        """Say why the features of a block have unmoved residuals."""
        names = [name for name in self.order if name in block]
        around = [name for name in self.order if name in apart[names[0]]]
        if len(names) > 1:
            shared = self.terms(m for m in self.spans[names[0]] if not any(v in block for v, _ in m))
            return (
                f"The equations of {listed(names)} are linear in these features and share all other terms "
                f"({shared}): their weights move, but the effect of {self.protected} on these features does not."
            )
        if not around:  # all that its error was tied to absorb it, or it absorbs them
            return ""
        terms = self.terms(self.spans[names[0]])
        if all(self.spans[name] == self.spans[names[0]] for name in around):
            alike = [name for name in self.order if name in {*names, *around}]
            return f"The equations of {listed(alike)} have the same terms ({terms}): their weights do not move."
        return (
            f"The terms of {names[0]}'s equation ({terms}) are all in the {_noun(around)} of {listed(around)}: its "
            "weights do not move."
        )

    def obstacles(self, j: str, apart: Pattern) -> list[str]:
        """Say what keeps a feature from absorbing, or from being absorbed by, those that its error is tied to."""
        direct = [self._lacking(j, k) for k in self.order if k in apart[j]]
        return direct if any(direct) else [self._lacking(j, k) for k in self.order if k in _connected(j, apart)]

    def _lacking(self, j: str, k: str) -> str:
        """Say what the later of two features' equations lacks."""
        low, top = sorted((j, k), key=self.order.index)
        for name in (low, top):
            if type(self._of(name).embedding) is not Polynomial:
                return f"The embedding of {name} is not polynomial, and no rule knows its span."
        lacking = ({_itself(low)} | self.spans[low]) - self.spans[top]
        equation = f"{top}'s equation ({self.equation(top)})"
        return f"{equation} lacks {self.terms(lacking)}, which absorbing {low} would take." if lacking else ""

    def _of(self, name: str) -> Equation:
        return next(e for e in self.design.equations if e.feature == name)

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
