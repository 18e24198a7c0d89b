"""How long a certificate takes, beside the search whose worst case it is about: law school with all three pairs.

Usage: python benchmarks/certificate.py [--gap 0.01] [--p-max 0.3] [--store]

With ``--store`` the run becomes a row of ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from reliability import store

import fairstress as fs

TEXT = "race -> ugpa, lsat; ugpa -> lsat; race <-> ugpa; race <-> lsat; ugpa <-> lsat"


def make_audit() -> fs.Audit:
    """Law school with every pair free, tuned by cross-validation."""
    graph = fs.CausalGraph.parse(TEXT, protected="race", outcome="zfya")
    return fs.Audit.fit(fs.datasets.law_school(), graph, reference="White", random_state=0)


def seconds(work: Callable[[], object]) -> float:
    """Time of one core that some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print both times, their ratio and what was proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--p-max", type=float, default=0.3)
    parser.add_argument("--store", action="store_true", help="make the run a row of docs/reliability.md")
    given = parser.parse_args()
    search = seconds(lambda: make_audit().worst_case(given.p_max))
    audit, found = make_audit(), []
    proof = seconds(lambda: found.append(audit.certificate(given.p_max, gap=given.gap, progress=False)))
    print(found[0].summary())
    print(f"fit and search {search:.1f} s, certificate {proof:.1f} s: {proof / search:.0f} times as long")
    if given.store:
        record(found[0], proof)


def record(certificate: fs.results.Certificate, proof: float) -> None:
    """Store what was proved, and the time of one core that it took."""
    found, at_most, p_max = certificate.found, certificate.at_most, certificate.worst_case.p_max
    assert at_most is not None
    store(
        "certificate",
        f"python benchmarks/certificate.py --p-max {p_max:g} --gap {certificate.gap:g} --store",
        title="A proved bound of a worst case",
        tried=f"law school with three pairs within p_max = {p_max:g}, to within {100 * certificate.gap:g} %",
        outcome=f"found {found:.5f}, at most {at_most:.5f}, {100 * (at_most / found - 1):.2f} % more; "
        f"{certificate.cells:,} cells, {proof:.0f} s of one core",
    )


if __name__ == "__main__":
    main()
