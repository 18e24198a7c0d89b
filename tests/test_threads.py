"""Linear algebra runs in one thread whatever is asked of an audit, and in as many as before once it is answered."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.linear_model import LinearRegression
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_limits

import fairstress as fs
from fairstress import threads as threads_module
from fairstress.claim.claim import Claim
from fairstress.model.embedding import Polynomial
from fairstress.search import faces
from fairstress.threads import one_thread

BEFORE = 2  # threads, whatever machine and environment would allow
ONE_PAIR = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> z", protected="a", outcome="y")
TWO_PAIRS = fs.CausalGraph.parse("a -> x -> z; a -> z; a <-> z; x <-> z", protected="a", outcome="y")
P = {("a", "z"): 0.3}
SETTINGS = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "predictor_degree": 1, "predictor_penalty": 1, "random_state": 0}
LIBRARIES = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]


def threads() -> set[int]:
    """In how many threads each library of linear algebra may run."""
    return {library.num_threads for library in LIBRARIES}


def free_to_all() -> None:
    """Let any thread set limits: threadpoolctl, from 3.8 on, leaves that to the first that did."""
    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


@pytest.fixture(autouse=True)
def several_threads():
    free_to_all()
    limits = threadpool_limits(BEFORE, user_api="blas")
    free_to_all()
    yield
    free_to_all()
    limits.restore_original_limits()
    free_to_all()


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(TWO_PAIRS, 60, random_state=0).frame


@pytest.fixture
def audit(frame):
    return fs.Audit.fit(frame, ONE_PAIR, **SETTINGS)


@pytest.fixture
def audit_of_two_pairs(frame):
    return fs.Audit.fit(frame, TWO_PAIRS, **SETTINGS)


@pytest.fixture(scope="module")
def model(frame):
    own = {name: SETTINGS[name] for name in ("penalty", "predictor_degree", "predictor_penalty")}
    return fs.CounterfactuallyFairRegressor(ONE_PAIR, max_degree=1, **own).fit(frame[["a", "x", "z"]], frame["y"])


@pytest.fixture
def seen(monkeypatch):
    """The number of threads at every pass over the columns of rows, the heaviest of all work."""
    found = set()
    for name in ("values", "lower"):  # a walk through the graph takes the one or the other
        monkeypatch.setattr(Polynomial, name, recording(getattr(Polynomial, name), found))
    return found


def recording(function, found):
    """The function, which puts down the number of threads whenever it is called."""

    def recorded(self, Z):
        found.update(threads())
        return function(self, Z)

    return recorded


def test_an_audit_is_fitted_in_one_thread(frame, seen):
    fs.Audit.fit(frame, ONE_PAIR, **SETTINGS)
    assert seen == {1}
    assert threads() == {BEFORE}


QUESTIONS = {
    "refit": lambda audit: audit.refit(penalty=2),
    "refit to some rows": lambda audit: audit.refit(keep=np.arange(60) < 50),
    "predictor_inputs": lambda audit: audit.predictor_inputs(),
    "cfu": lambda audit: audit.cfu(P),
    "cfu under Model A": lambda audit: audit.cfu({}),
    "cfu of a baseline": lambda audit: audit.cfu(P, baseline="blind"),
    "cfu_by_row": lambda audit: audit.cfu_by_row(P),
    "gradient": lambda audit: audit.gradient(P),
    "counterfactuals": lambda audit: audit.counterfactuals(P),
    "check": lambda audit: audit.check(),
    "profile": lambda audit: audit.profile(("a", "z"), [0, 0.3]),
    "worst_case": lambda audit: audit.worst_case(0.2),
    "worst_case by Algorithm 1": lambda audit: audit.worst_case(0.2, search=fs.Search(method="ascent")),
    "curve": lambda audit: audit.curve([0, 0.2]),
    "curve.breaking_point": lambda audit: audit.curve([0, 0.2]).breaking_point(0.001),
    "breaking_point": lambda audit: audit.breaking_point(0.001, highest=0.2),
    "bounds of CFU": lambda audit: audit.bounds(audit.cfu_of_group(1), 0.2),
    "bounds of flips": lambda audit: audit.bounds(audit.flips(0.1), 0.2),
    "bounds of a function": lambda audit: audit.bounds(lambda moved: moved["z"].mean(), 0.02),
    "effects": lambda audit: audit.effects(0.2),
    "people": lambda audit: audit.people(P, threshold=0.1),
    "people by levels": lambda audit: audit.people(P).by_levels(),
    "benchmarks": lambda audit: audit.benchmarks(columns=pd.DataFrame({"age": np.arange(60.0)})),
    "frontier": lambda audit: audit.frontier(0.2, [1]),
    "robust": lambda audit: audit.robust(0.2, 1),
    "report": lambda audit: audit.report(None, 0.2, sizes=[0, 0.2], grid=[0, 0.2], threshold=0.1),
}


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_every_question_is_answered_in_one_thread_and_the_limit_lifted(audit, seen, question):
    QUESTIONS[question](audit)
    assert seen == {1}
    assert threads() == {BEFORE}


def test_a_contour_is_drawn_in_one_thread(audit_of_two_pairs, seen):
    audit_of_two_pairs.contour(("a", "z"), ("x", "z"), [0, 0.3])
    assert seen == {1}
    assert threads() == {BEFORE}


def test_a_search_climbs_in_one_thread(audit_of_two_pairs, monkeypatch):
    """Quadratic programming has linear algebra of its own, larger than that of a fit."""
    found, minimize = [], optimize.minimize

    def recorded(*arguments, **options):
        found.append(threads())
        return minimize(*arguments, **options)

    monkeypatch.setattr(optimize, "minimize", recorded)
    monkeypatch.setattr(faces, "MOVES", 0)  # which leaves every ascent that does not end in a corner to it
    audit_of_two_pairs.bounds(audit_of_two_pairs.effect("z"), 0.9, search=fs.Search(starts=1))
    assert found
    assert all(counts == {1} for counts in found)


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_an_estimator_looks_at_new_people_in_one_thread(model, frame, seen, method):
    getattr(model, method)(frame[["a", "x", "z"]])
    assert seen == {1}
    assert threads() == {BEFORE}


def test_a_users_predictor_is_asked_in_one_thread(frame):
    found = set()

    def predict(Z):
        found.update(threads())
        return Z.sum(axis=1)

    audit = fs.Audit.fit(frame, ONE_PAIR, predictor=predict, **SETTINGS)
    audit.cfu(P)
    audit.people(P)
    audit.worst_case(0.05)
    assert found == {1}
    assert threads() == {BEFORE}


# ---------------------------------------------------------------- the limit itself


def test_the_limit_is_lifted_when_the_outermost_of_several_is_left():
    with one_thread:
        with one_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {BEFORE}


class Inside:
    """A thread that stays under the limit until it is to leave."""

    def __init__(self) -> None:
        self._entered, self._leave = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._stay, daemon=True)
        self._thread.start()
        assert self._entered.wait(60)

    def _stay(self) -> None:
        with one_thread:
            self._entered.set()
            self._leave.wait(60)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join(60)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_threads_inside_at_once_the_last_to_leave_lifts_the_limit(order):
    both = [Inside(), Inside()]
    counts = [threads()]
    for i in order:
        both[i].leave()
        counts.append(threads())
    assert counts == [{1}, {1}, {BEFORE}]


@pytest.mark.parametrize("first_to_enter", ["this thread", "another"])
@pytest.mark.parametrize("first_to_leave", ["this thread", "another"])
def test_of_this_thread_and_another_the_last_to_leave_lifts_the_limit(first_to_enter, first_to_leave):
    this = ExitStack()
    if first_to_enter == "this thread":
        this.enter_context(one_thread)
    other = Inside()
    if first_to_enter == "another":
        this.enter_context(one_thread)
    counts = [threads()]
    for leave in (this.close, other.leave) if first_to_leave == "this thread" else (other.leave, this.close):
        leave()
        counts.append(threads())
    assert counts == [{1}, {1}, {BEFORE}]


def test_another_thread_is_limited_after_this_one_has_been(audit):
    audit.cfu(P)
    other = Inside()
    counts = [threads()]
    other.leave()
    assert [*counts, threads()] == [{1}, {BEFORE}]


def test_the_limit_is_lifted_when_something_fails_inside(audit):
    with pytest.raises(ZeroDivisionError), one_thread:
        1 / 0  # noqa: B018
    assert threads() == {BEFORE}
    found = set()

    def fails(moved):
        found.update(threads())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit.bounds(fails, 0.2)
    assert found == {1}
    assert threads() == {BEFORE}


def test_who_is_not_let_in_does_not_keep_the_limit_for_good(monkeypatch):
    def fails(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threads_module._controller, "limit", fails)
        with pytest.raises(KeyboardInterrupt), one_thread:
            pass
    with one_thread:
        assert threads() == {1}
    assert threads() == {BEFORE}


# ---------------------------------------------------------------- one audit, several threads


TOGETHER = 4
ASKED = {
    "cfu": lambda audit: audit.cfu(P),
    "cfu of a baseline": lambda audit: audit.cfu(P, baseline="blind"),
    "gradient": lambda audit: audit.gradient(P).tolist(),
    "people": lambda audit: audit.people(P).to_frame()["cfu"].tolist(),
    "bounds of an effect": lambda audit: [end.value for end in audit.bounds(audit.effect("z"), 0.2)],
    "worst_case": lambda audit: audit.worst_case(0.2, search=fs.Search(starts=1)).value,
}


def at_once(ask):
    """What several threads are told that ask at the same moment."""
    start, answers, failures = threading.Barrier(TOGETHER), [], []

    def run() -> None:
        try:
            start.wait(60)
            answers.append(ask())
        except BaseException as problem:  # which a thread would keep to itself
            failures.append(problem)

    asking = [threading.Thread(target=run, daemon=True) for _ in range(TOGETHER)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(300)
    assert not failures
    return answers


@pytest.fixture(scope="module")
def levelled():
    return fs.datasets.simulate(TWO_PAIRS, 60, kinds={"x": [0, 1, 2]}, random_state=0).frame


@pytest.fixture
def meeting(monkeypatch):
    """All threads that work out a claim's people for the first time are at it together."""
    met, work_out = threading.Barrier(TOGETHER), Claim.factual

    def together(self, block):
        if threading.current_thread() is not threading.main_thread():
            with suppress(threading.BrokenBarrierError):
                met.wait(5)
        return work_out(self, block)

    monkeypatch.setattr(Claim, "factual", together)


@pytest.mark.parametrize("question", [*ASKED, "cfu with levels", "gradient with levels"])
def test_threads_that_ask_a_new_audit_at_once_are_told_what_one_alone_is(frame, levelled, meeting, question):
    ask, table = ASKED[question.removesuffix(" with levels")], levelled if "with levels" in question else frame
    alone, shared = (fs.Audit.fit(table, TWO_PAIRS, **SETTINGS) for _ in range(2))
    expected = ask(alone)
    assert at_once(lambda: ask(shared)) == [expected] * TOGETHER
    assert ask(shared) == expected  # nor was anything spoilt for later
    assert threads() == {BEFORE}


def test_threads_that_ask_about_a_users_model_at_once_lift_the_limit(frame, meeting):
    alone, shared = (fs.Audit.fit(frame, ONE_PAIR, predictor=LinearRegression(), **SETTINGS) for _ in range(2))
    assert at_once(lambda: shared.cfu(P)) == [alone.cfu(P)] * TOGETHER
    assert threads() == {BEFORE}


def test_a_value_that_another_thread_forgets_meanwhile_is_found_anew(levelled):
    class Forgetful(dict):
        def __contains__(self, key):
            there = super().__contains__(key)
            self.clear()
            return there

    audit = fs.Audit.fit(levelled, TWO_PAIRS, **SETTINGS)
    expected = audit.cfu(P)
    object.__setattr__(audit.fitted.claim, "_values", Forgetful(audit.fitted.claim._values))
    assert audit.cfu(P) == expected


def test_breaking_points_of_one_curve_do_not_hear_of_each_other(levelled):
    """What one of them finds on its way would come between the points and the values of another."""
    curve = fs.Audit.fit(levelled, TWO_PAIRS, **SETTINGS).curve([0, 0.2], search=fs.Search(starts=1))
    before = {key: len(one.points) for key, one in curve.solve.known.items()}
    assert 0 < curve.breaking_point(0.9 * curve.points[-1].value).p_max < 0.2
    assert {key: len(one.points) for key, one in curve.solve.known.items()} == before
