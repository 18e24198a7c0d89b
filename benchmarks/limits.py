"""How far moments and sweeps are from what the machine allows.

*Moments* are compared with reading the columns once, which adds each of them up and does nothing else, and one product
of a matrix of the same shape with itself, ready-made and in the same blocks: no fit from moments can do with less. A
*sweep*, CFU with its gradient for one Model B or CFU alone for several, is compared with its arithmetic, the products
that its formula has at the rate at which numpy multiplies in a core's cache, and with memory, the bytes of its columns
at the rate at which numpy copies. Numpy writes every product to memory and reads it again; compiled code need not, and
can be below one. Changes are taken absolute: squares would follow from a few people. All take turns in one process on
one thread, and the best processor times count. Prints rows of Markdown, and holds nothing to a limit.

Usage: python benchmarks/limits.py [ROWS]
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from growth import graph_of, people

import fairstress as fs
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import fits
from fairstress.compiling import VARIABLE
from fairstress.functionals.cfu import CFU
from fairstress.functionals.compiled import compiled
from fairstress.inputs.rows import BLOCK, Rows
from fairstress.model.design import structural_moments
from fairstress.model.predictor import PolynomialPredictor
from fairstress.threads import one_thread

ROWS = 200_000
TURNS = 7
VERSIONS = 8  # of Model B
MODELS = {"three features, degree 3": (3, 3), "ten features, degree 2": (10, 2)}
COPIED = 2**23  # doubles, 64 MB: far more than a cache holds
MULTIPLIED = 200  # times a block, so that the clock's steps do not matter


def claim_of(features: int, degree: int, rows: int) -> Claim:
    """A chain of features, as in growth.py; neighbours share hidden causes, so that every equation may differ."""
    graph = graph_of(features, features - 1)
    given = {"degrees": dict.fromkeys(graph.features, degree), "penalty": 1, "predictor_penalty": 1}
    audit = fs.Audit.fit(
        people(graph, rows), graph, **given, predictor_degree=degree, measure="absolute", random_state=0
    )
    return audit.fitted.claim


def best(works: dict[str, Callable[[], Any]], turns: int = TURNS) -> dict[str, float]:
    """The best processor seconds of each work, all in turn; the first turn warms up."""
    found = dict.fromkeys(works, float("inf"))
    for number in range(turns + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            spent = time.process_time() - start
            found[name] = min(found[name], spent) if number else float("inf")
    return found


# ---------------------------------------------------------------- the machine


def machine() -> dict[str, Callable[[], Any]]:
    """What the machine is measured by: many multiplications in the cache, and a copy of more than it holds."""
    rng = np.random.default_rng(0)
    u, v, product = rng.random(BLOCK), rng.random(BLOCK), np.empty(BLOCK)
    source, target = rng.random(COPIED), np.zeros(COPIED)
    return {
        "multiply": lambda: [np.multiply(u, v, out=product) for _ in range(MULTIPLIED)],
        "copy": lambda: np.copyto(target, source),
    }


def rates(found: dict[str, float]) -> tuple[float, float]:
    """Nanoseconds of a multiplication, and of a byte that is read or written."""
    return 1e9 * found["multiply"] / (MULTIPLIED * BLOCK), 1e9 * found["copy"] / (2 * 8 * COPIED)


# ---------------------------------------------------------------- moments


def read_columns(rows: Rows) -> float:
    """Look at every number that moments see."""
    return float(rows.a.sum() + rows.weight.sum() + sum(column.sum() for column in rows.x.T))


def product_in_blocks(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """``Z Z'`` of a ready-made matrix in blocks (columns, rows of a block)."""
    total = np.zeros((len(blocks[0]), len(blocks[0])))
    for Z in blocks:
        total += np.dot(Z, Z.T)
    return total


def moments_row(name: str, claim: Claim) -> str:
    """Nanoseconds a row of moments and of what they cannot do without."""
    rows, equations = claim.rows, claim.design.equations
    width = claim.design.feature_of.size + len(equations)
    rng = np.random.default_rng(0)
    ready_made = [rng.random((width, block.size)) for block in rows.blocks()]
    found = best(
        {
            "moments": lambda: structural_moments(rows, equations),
            "columns": partial(read_columns, rows),
            "product": partial(product_in_blocks, ready_made),
        }
    )
    moments, columns, product = (1e9 * seconds / rows.size for seconds in found.values())
    ratio = moments / (columns + product)
    return f"| {name} | {width} | {moments:.1f} | {columns:.1f} | {product:.1f} | {ratio:.1f} |"


# ---------------------------------------------------------------- sweeps


def multiplications(claim: Claim) -> int:
    """Products of one sweep a person: monomials in the other world, and their sums for Model B, for both, for f.

    A monomial of degree 2 or more is one product with a monomial of one degree less. Weights of constants multiply
    nothing that changes. The last two are the change's own weight and sign.
    """
    assert isinstance(claim.predictor, PolynomialPredictor)
    predictor = claim.predictor.embedding
    of_equations = sum(
        higher(equation.embedding) + 2 * (len(equation.embedding.terms) - 1)
        for equation in claim.design.equations
        if equation.moves
    )
    return of_equations + higher(predictor) + len(predictor.terms) - 1 + 2


def higher(embedding: Any) -> int:
    """How many of its monomials are products of others."""
    return int((np.asarray(embedding.exponents).sum(axis=1) > 1).sum())


def bytes_read(claim: Claim) -> int:
    """Of a person: the attribute in both worlds, features and weight; all else follows from them."""
    return 8 * (claim.rows.x.shape[1] + 3)


def versions_of(claim: Claim) -> Sequence[Any]:
    """Fits at correlations of neighbours."""
    m = len(claim.model_a.correlation)
    beside = np.eye(m, k=1) + np.eye(m, k=-1)
    P = [np.eye(m) + rho * beside for rho in np.linspace(0.05, 0.4, VERSIONS)]
    return fits(claim, np.array(P), check_minima=False)


def ways(claim: Claim) -> Iterator[tuple[str, str]]:
    """By numpy and, where numba is installed, compiled; and how the environment asks for it."""
    yield "numpy", "0"
    os.environ[VARIABLE] = "1"
    if compiled(claim) is not None:
        yield "compiled", "1"


def sweep_rows(name: str, claim: Claim) -> Iterator[str]:
    """Nanoseconds a row and Model B of sweeps, of their arithmetic and of reading what they look at.

    A gradient by a reverse sweep has two products for each of the sweep itself. Several versions of Model B share what
    is read. The machine's rates are of the same turns.
    """
    versions, products = versions_of(claim), multiplications(claim)
    for way, asked in ways(claim):
        os.environ[VARIABLE] = asked
        sweeps = {
            "with gradient": lambda: CFU().values_and_slopes(claim, versions[:1]),
            "values": lambda: CFU().values(claim, versions),
        }
        found = best(sweeps | machine())
        per_product, per_byte = rates(found)
        for what, (times, count) in {"with gradient": (3, 1), "values": (1, VERSIONS)}.items():
            spent = 1e9 * found[what] / claim.rows.size / count
            arithmetic, memory = times * products * per_product, bytes_read(claim) * per_byte / count
            limits = f"{arithmetic:.0f} | {spent / arithmetic:.1f} | {memory:.1f} | {spent / memory:.0f}"
            yield f"| {name} | {way}, {what} | {spent:.0f} | {times * products} | {limits} |"


def main(rows: int) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print(f"library  fairstress {fs.__version__}, numpy {np.__version__}; {rows:,} rows")
    fs.set_threads(1)
    with one_thread:
        per_product, per_byte = rates(best(machine()))
        print(f"rates    {1 / per_product:.1f} multiplications and {1 / per_byte:.0f} bytes copied a nanosecond")
        claims = {name: claim_of(*shape, rows) for name, shape in MODELS.items()}
        print("\n| moments, ns a row | columns of the product | moments | reading | product | times both |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for name, claim in claims.items():
            print(moments_row(name, claim), flush=True)
        print("\n| sweep, ns a row and Model B | by | time | products | arithmetic | times it | memory | times it |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name, claim in claims.items():
            for row in sweep_rows(name, claim):
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
