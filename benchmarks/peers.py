"""What other programs for sensitivity take for questions that fairstress answers too, and whether the answers agree.

Law school, every program in a process of its own that imports it, reads the table and answers, on one thread. Seconds
are the processor time of the whole process, memory is the most that it has had; each is the best of a few runs, in
turn. A program that is not installed is named and skipped. There are two questions that peers can answer:

- *The interval of an effect.* lsat by ugpa given race, in points per point, if a hidden cause has a partial R2 of 0.1
  with ugpa given race and of 0.2 with lsat given both. fairstress: the bounds of the coefficient within the correlation
  of errors that such a cause makes, ``rho^2 / (1 - rho^2) = R2_Y R2_D / (1 - R2_D)``. PySensemakr and dowhy adjust the
  same least-squares estimate: equal but for rounding. DoubleML and EconML fit each fifth of the people by the others
  and bound the same formula: equal but for that.
- *Counterfactual people.* Everyone's ugpa and lsat, had their race been the other, errors independent. fairstress:
  Model A's counterfactuals. dowhy.gcm: an invertible causal model of additive noise; it has no hidden causes, so that
  this is all of an audit that it can answer. Compared are means and mean squares.

No peer answers what an audit is for: the worst case of CFU over the correlations of a budget. It stands below for its
time alone. Exits with 1 if answers are further apart than said.

Usage: python benchmarks/peers.py [RUNS]
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = 3
R2_TREATMENT, R2_OUTCOME = 0.1, 0.2
RHO = ((odds := R2_OUTCOME * R2_TREATMENT / (1 - R2_TREATMENT)) / (1 + odds)) ** 0.5
P_MAX = 0.3
EDGES = "race -> ugpa, lsat; ugpa -> lsat"
ROUNDING, CROSS_FITTED = 1e-9, 5e-3  # relative to the larger end: least squares on both sides; fitted by fifths
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


# ---------------------------------------------------------------- the programs, each in a process of its own


def only_read(table: Path) -> list[float]:
    read(table)
    return []


def read(table: Path) -> Any:
    import pandas as pd

    return pd.read_csv(table)


def audit_of(table: Path, pairs: str = "ugpa <-> lsat") -> Any:
    import fairstress as fs

    graph = fs.CausalGraph.parse(f"{EDGES}; {pairs}", protected="race", outcome="zfya")
    given: dict[str, Any] = {"penalty": 0, "predictor_degree": 1, "predictor_penalty": 0}
    return fs.Audit.fit(read(table), graph, degrees={"ugpa": 1, "lsat": 1}, **given)


def fairstress_interval(table: Path) -> list[float]:
    audit = audit_of(table)
    return [end.value for end in audit.bounds(audit.coefficient("lsat", "ugpa"), RHO)]


def sensemakr_interval(table: Path) -> list[float]:
    import sensemakr
    import statsmodels.formula.api as smf

    model = smf.ols("lsat ~ race + ugpa", read(table)).fit()
    ends = [
        sensemakr.adjusted_estimate(R2_TREATMENT, R2_OUTCOME, model=model, treatment="ugpa", reduce=reduce)
        for reduce in (True, False)
    ]
    return [float(end) for end in ends]


def dowhy_interval(table: Path) -> list[float]:
    """The refuter that adds a hidden common cause, by partial R2; a single fraction would not do: it asks for lists."""
    import dowhy

    model = dowhy.CausalModel(read(table), treatment="ugpa", outcome="lsat", common_causes=["race"])
    effect = model.identify_effect(proceed_when_unidentifiable=True)
    estimate = model.estimate_effect(effect, method_name="backdoor.linear_regression")
    analyser = model.refute_estimate(
        effect,
        estimate,
        method_name="add_unobserved_common_cause",
        simulation_method="linear-partial-R2",
        benchmark_common_causes=["race"],
        effect_fraction_on_treatment=[1.0],
        effect_fraction_on_outcome=[1.0],
        plot_estimate=False,
    )
    ends = []
    for analyser.confounder_increases_estimate in (True, False):
        ends.append(float(analyser.compute_bias_adjusted(R2_TREATMENT, R2_OUTCOME)["bias_adjusted_estimate"]))
    return ends


def doubleml_interval(table: Path) -> list[float]:
    import doubleml
    import numpy as np
    from sklearn.linear_model import LinearRegression

    np.random.seed(0)  # noqa: NPY002  (its folds are drawn by it)
    data = doubleml.DoubleMLData(read(table), y_col="lsat", d_cols="ugpa", x_cols=["race"])
    model = doubleml.DoubleMLPLR(data, ml_l=LinearRegression(), ml_m=LinearRegression(), n_folds=5).fit()
    model.sensitivity_analysis(cf_y=R2_OUTCOME, cf_d=R2_TREATMENT, rho=1.0)
    return [float(model.sensitivity_params["theta"][end][0]) for end in ("lower", "upper")]


def econml_interval(table: Path) -> list[float]:
    from econml.dml import LinearDML
    from sklearn.linear_model import LinearRegression

    frame = read(table)
    model = LinearDML(model_y=LinearRegression(), model_t=LinearRegression(), cv=5, random_state=0)
    model.fit(frame["lsat"], frame["ugpa"], W=frame[["race"]])
    ends = model.sensitivity_interval(c_y=R2_OUTCOME, c_t=R2_TREATMENT, rho=1.0, interval_type="theta")
    return [float(end) for end in ends]


def fairstress_people(table: Path) -> list[float]:
    return means(audit_of(table).counterfactuals({}))


def gcm_people(table: Path) -> list[float]:
    import networkx as nx
    from dowhy import gcm

    gcm.config.disable_progress_bars()
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph([("race", "ugpa"), ("race", "lsat"), ("ugpa", "lsat")]))
    model.set_causal_mechanism("race", gcm.EmpiricalDistribution())
    for name in ("ugpa", "lsat"):
        model.set_causal_mechanism(name, gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor()))
    frame = read(table)
    gcm.fit(model, frame)
    return means(gcm.counterfactual_samples(model, {"race": lambda a: -a}, observed_data=frame))


def means(frame: Any) -> list[float]:
    columns = [frame[name] for name in ("ugpa", "lsat")]
    return [float(number) for column in columns for number in (column.mean(), (column**2).mean())]


def fairstress_worst_case(table: Path) -> list[float]:
    audit = audit_of(table, "race <-> ugpa <-> lsat; race <-> lsat")
    return [float(audit.worst_case(P_MAX, random_state=0).value)]


@dataclass(frozen=True)
class Program:
    """One program with what it is asked."""

    name: str
    package: str  # the distribution that it comes with
    answer: Callable[[Path], list[float]]
    tolerance: float = ROUNDING  # of the difference from fairstress


INTERVAL, PEOPLE = "the interval of an effect", "counterfactual people"
QUESTIONS: dict[str, tuple[Program, ...]] = {
    "reading the table": (Program("pandas", "pandas", only_read),),
    INTERVAL: (
        Program("fairstress", "fairstress", fairstress_interval),
        Program("PySensemakr", "PySensemakr", sensemakr_interval),
        Program("dowhy, refuter", "dowhy", dowhy_interval),
        Program("DoubleML", "DoubleML", doubleml_interval, CROSS_FITTED),
        Program("EconML", "econml", econml_interval, CROSS_FITTED),
    ),
    PEOPLE: (
        Program("fairstress", "fairstress", fairstress_people),
        Program("dowhy.gcm", "dowhy", gcm_people),
    ),
    f"the worst case of CFU within {P_MAX:g}": (Program("fairstress", "fairstress", fairstress_worst_case),),
}


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Measured:
    """An answer, and what it took."""

    answer: list[float]
    seconds: float
    megabytes: float


def measure(question: str, name: str, table: Path) -> None:
    """Answer in this process, and print what it took since the process began."""
    (program,) = (program for program in QUESTIONS[question] if program.name == name)
    answer = program.answer(table)
    (most,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"answer": answer, "seconds": time.process_time(), "megabytes": int(most.split()[1]) / 1024}))


def in_a_process_of_its_own(question: str, program: Program, table: Path) -> Measured | str:
    """What it found, or why not."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", question, program.name, str(table)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return Measured(**json.loads(done.stdout.strip().splitlines()[-1]))


def measured(table: Path, runs: int) -> dict[tuple[str, str], Measured | str]:
    """The best of a few runs of everything, in turn; why not, of what did not answer."""
    found: dict[tuple[str, str], Measured | str] = {}
    for number in range(runs):
        for question, programs in QUESTIONS.items():
            for program in programs:
                key = question, program.name
                before = found.get(key)
                if isinstance(before, str):
                    continue
                print(f"\rrun {number + 1}: {program.name}{' ' * 20}", end="", file=sys.stderr, flush=True)
                now = in_a_process_of_its_own(question, program, table)
                found[key] = now if before is None or isinstance(now, str) else better(before, now)
    print(file=sys.stderr)
    return found


def better(one: Measured, other: Measured) -> Measured:
    return Measured(one.answer, min(one.seconds, other.seconds), min(one.megabytes, other.megabytes))


# ---------------------------------------------------------------- what is printed


def apart(answer: list[float], reference: list[float]) -> float:
    """The largest difference, relative to the largest number."""
    return max(abs(x - y) for x, y in zip(answer, reference, strict=True)) / max(map(abs, reference))


def rows(found: dict[tuple[str, str], Measured | str]) -> Iterator[tuple[str, str]]:
    """Rows of Markdown, each with what is wrong with it; of what was skipped, a sentence."""
    for question, programs in QUESTIONS.items():
        ours = found[question, programs[0].name]
        for program in programs:
            its = found[question, program.name]
            if isinstance(its, str) or isinstance(ours, str):
                why = its if isinstance(its, str) else "fairstress has no answer to compare"
                yield f"| {question} | {program.name} | not measured: {why} | | | | |", failure(program, why)
                continue
            shown = ", ".join(f"{number:.6g}" for number in its.answer)
            what = f"| {question} | {program.name} {version(program)} | {its.seconds:.2f}"
            if program is programs[0]:
                yield f"{what} | | {its.megabytes:.0f} | {shown} | |", ""
                continue
            times, distance = its.seconds / ours.seconds, apart(its.answer, ours.answer)
            wrong = "" if distance <= program.tolerance else f"{program.name} differs by {distance:.1e}"
            yield f"{what} | {times:.1f} | {its.megabytes:.0f} | {shown} | {distance:.0e} |", wrong


def failure(program: Program, why: str) -> str:
    """Programs that are not installed are no failure; those that break are."""
    return "" if "No module named" in why else f"{program.name}: {why}"


def version(program: Program) -> str:
    return importlib.metadata.version(program.package)


def save_table(folder: Path) -> Path:
    """Law school with race as -1 and +1, which every program reads."""
    import fairstress as fs

    frame = fs.datasets.law_school()[["race", "ugpa", "lsat", "zfya"]]
    frame["race"] = frame["race"].eq("White").map({True: 1.0, False: -1.0})
    frame.to_csv(folder / "law_school.csv", index=False)
    return folder / "law_school.csv"


def main(runs: int) -> int:
    print(f"machine  Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    print("seconds of processor time and the most memory of the whole process, import included, one thread;")
    print(f"the best of {runs} runs in turn; an effect's interval for a correlation of {RHO:.4f}\n")
    with tempfile.TemporaryDirectory() as folder:
        found = measured(save_table(Path(folder)), runs)
    print("| question | program | seconds | times fairstress's | MB | answer | differs by |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    failures = []
    for row, wrong in rows(found):
        print(row)
        failures += [wrong] if wrong else []
    print(f"\nfailed: {'; '.join(failures)}" if failures else "\npassed")
    return int(bool(failures))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
