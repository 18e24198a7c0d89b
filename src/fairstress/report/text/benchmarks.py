"""Benchmarks in prose: what observed variables do, and what a hidden cause would have to explain. Computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairstress.analyses.absorption import listed as _join
from fairstress.report.text.markup import fill

if TYPE_CHECKING:
    from fairstress.analyses.benchmarks.result import Benchmark, Benchmarks
    from fairstress.analyses.benchmarks.strength import HiddenCause


_OUTSIDE = (
    "Columns outside the graph are taken for causes. One that comes later, such as a result of the features, is no "
    "benchmark: name those that come first in columns."
)


def benchmarks_summary(benchmarks: Benchmarks) -> str:
    """Say what leaving each observed variable out would do to the errors, and what hidden causes like it would."""
    paragraphs = [fill(_benchmark(b, benchmarks.multiples)) for b in benchmarks.found]
    harmless = list(dict.fromkeys(" <-> ".join(one.pair) for one in benchmarks.absorbed))
    if harmless:
        paragraphs.append(fill(f"Not shown: {_join(harmless)}, of which a hidden cause alone cannot matter."))
    measured = {one.pair for one in (*benchmarks.found, *benchmarks.absorbed)}
    bare = [f"{a} <-> {b}" for a, b in benchmarks.pairs if (a, b) not in measured]
    if bare:
        paragraphs.append(fill(f"No observed variable to compare with could confound {_join(bare)}."))
    if not benchmarks.chosen and any(not one.in_model for one in benchmarks.found):
        paragraphs.append(fill(_OUTSIDE))
    if benchmarks.skipped:
        paragraphs.append(fill(f"Not compared: {'; '.join(benchmarks.skipped.values())}."))
    return "\n\n".join(paragraphs)


def correlation_reading(benchmarks: Benchmarks, cause: HiddenCause) -> str:
    """Say how strong a hidden common cause must be to give two errors a correlation."""
    p = cause.correlation
    need = (
        f"A correlation of {p:.3g} in size needs one hidden cause that explains {_percent(cause.r2_first)} of the "
        f"variance of each error, or more of the one and less of the other with the same product."
    )
    partial = (
        f"As sensemakr counts, that is a partial R2 of {cause.r2_first:.3g} with the first variable and of "
        f"{cause.r2_second_given_first:.3g} with the second given the first."
    )
    latent = list(dict.fromkeys(name for b in benchmarks.found for name in b.latent_ends))
    behind = (
        f"Of {_join(latent)} it is the latent error behind the threshold; sensemakr has no such R2, since it takes "
        "variables as they are observed."
    )
    parts = [need] + [partial] * any(not b.latent_ends for b in benchmarks.found) + [behind] * bool(latent)
    return fill(" ".join([*parts, *(_times(b, p) for b in benchmarks.found)]))


# ---------------------------------------------------------------- one sentence


def _benchmark(b: Benchmark, multiples: Iterable[float]) -> str:
    first, second = b.pair
    name = b.name if b.members == (b.name,) else f"{b.name} ({_join(b.members)})"
    errors = [f"{end}'s{' latent' * (end in b.latent_ends)}" for end in b.pair]
    shares = f"{_percent(b.r2_first)} of the variance of {errors[0]} error and {_percent(b.r2_second)} of {errors[1]}"
    head = f"{first} <-> {second}, {name}. Omitted from the equations, it explains {shares}, and "
    if not b.in_model:
        head = f"{first} <-> {second}, {name}. It is not in the graph and explains {shares}; this "
    head += f"correlates the two by {b.correlation:+.3f}."
    possible = [k for k in multiples if b.hidden_cause(k) is not None and (b.in_model or k != 1)]
    strengths = [f"{b.correlation_at(k):+.3f} at {f'{k:g} times ' * (k != 1)}its strength" for k in possible]
    beside = "A hidden cause like it, beside it," if b.in_model else "A hidden cause like it"
    tail = f"{beside} gives {_join(strengths)}." if strengths else ""
    none = [f"{k:g}" for k in multiples if b.hidden_cause(k) is None]
    limit = f"None can be {_join(none)} times as strong: it would explain more than the whole error." if none else ""
    return " ".join(part for part in (head, tail, limit) if part)


def _times(b: Benchmark, p: float) -> str:
    """How many times as strong as a benchmark a cause in line with both errors must be."""
    multiple = b.multiple_for(p)
    pair = f"{b.pair[0]} <-> {b.pair[1]}"
    if multiple is None:
        return f"For {pair}, no multiple of {b.name} is enough."
    return f"For {pair}, a cause {multiple:.3g} times as strong as {b.name} is enough."


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
