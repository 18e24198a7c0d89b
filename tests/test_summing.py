"""Sums over pieces: the same digits on any number of threads, in the pieces' order, and nothing left behind."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pytest

import fairstress as fs
from fairstress import summing
from fairstress.claim.evaluate import fits as model_fits
from fairstress.inputs.correlation import read_correlation
from fairstress.parallel import in_parallel
from fairstress.summing import in_one_thread, in_order, n_threads, total

GRAPH = fs.CausalGraph.parse("a -> x1, x2; x1 -> x2; a <-> x2; x1 <-> x2", protected="a", outcome="y")
GIVEN = {"degrees": {"x1": 2, "x2": 2}, "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1, "random_state": 0}
P = {("a", "x2"): 0.2, ("x1", "x2"): 0.3}


@pytest.fixture(autouse=True)
def default_threads():
    yield
    fs.set_threads(None)


def draw(n, seed=0):
    """Numbers whose sum depends on the order in which they are added."""
    return list(np.random.default_rng(seed).lognormal(sigma=8, size=n))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_a_sum_has_the_digits_of_adding_in_order(threads):
    fs.set_threads(threads)
    numbers = draw(500)
    expected = 0.0
    for number in numbers:
        expected += number**2
    assert total(lambda x: x**2, numbers) == expected
    assert expected != sum(sorted(x**2 for x in numbers))  # so that order would show


def test_tuples_are_added_entry_by_entry_and_keep_their_names():
    class Sums(NamedTuple):
        count: int
        values: np.ndarray

    found = total(lambda i: Sums(1, np.array([i, i**2])), range(10))
    assert isinstance(found, Sums)
    assert found.count == 10
    assert found.values.tolist() == [45, 285]
    assert total(lambda i: (i, 1.0), [2, 3]) == (5, 2.0)


def test_several_threads_are_at_work_and_one_piece_takes_one():
    fs.set_threads(2)
    met = threading.Barrier(2)

    def meet(_):
        met.wait(20)  # which one thread alone would wait for in vain
        return [threading.get_ident()]

    assert len(set(total(meet, range(20)))) == 2
    assert total(lambda _: threading.get_ident(), range(1)) == threading.get_ident()


def test_who_may_not_be_asked_by_several_at_once_is_asked_by_one():
    fs.set_threads(2)
    asked = []
    total(lambda i: asked.append(threading.get_ident()) or i, range(20), alone=True)
    assert set(asked) == {threading.get_ident()}


def test_a_sum_within_a_sum_is_not_spread_any_further():
    fs.set_threads(2)
    inner = lambda i: total(lambda j: i * j, range(20))  # noqa: E731
    assert total(inner, range(20)) == 190 * 190


def test_pieces_are_not_read_far_ahead():
    fs.set_threads(2)
    read = []

    def pieces():
        for i in range(100):
            read.append(i)
            yield i

    for count, i in enumerate(in_order(lambda i: i, pieces()), start=1):
        assert i == count - 1
        assert len(read) <= count + 1 + 2 * summing.AHEAD


def test_an_error_in_a_piece_is_raised_and_the_next_sum_works():
    fs.set_threads(2)
    with pytest.raises(ZeroDivisionError):
        total(lambda i: 1 / (i - 7), range(100))
    assert total(lambda i: i, range(100)) == 4950


def test_results_that_wait_for_a_slow_piece_are_few():
    fs.set_threads(2)
    begun, meanwhile = [], []

    def of(i):
        begun.append(i)
        if i == 0:
            threading.Event().wait(0.2)  # the other thread works on, but not for ever
            meanwhile.extend(begun)
        return i

    assert total(of, range(100)) == 4950
    assert set(meanwhile) <= set(range(2 * summing.AHEAD))


def test_an_error_of_the_thread_that_asks_ends_the_others():
    fs.set_threads(3)
    asking = threading.get_ident()

    def of(i):
        if threading.get_ident() == asking:
            raise ZeroDivisionError
        return i

    with pytest.raises(ZeroDivisionError):
        total(of, range(10_000))
    assert total(lambda i: i, range(100)) == 4950


def test_an_interrupt_while_a_thread_waits_for_its_next_piece_ends_the_sum(monkeypatch):
    """It comes while the thread that asks has taken a place and works on nothing: nobody is to wait for that piece."""
    fs.set_threads(2)
    asking, following = threading.get_ident(), summing._Sum._next

    def interrupted(own):
        place = following(own)
        if threading.get_ident() == asking and place is not None and place > 0:
            raise KeyboardInterrupt
        return place

    monkeypatch.setattr(summing._Sum, "_next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        total(lambda i: i, range(10_000))
    monkeypatch.undo()
    assert total(lambda i: i, range(100)) == 4950


def test_processes_that_share_the_cores_take_one_thread_each():
    fs.set_threads(4)
    assert (
        in_one_thread(lambda _: list(in_order(lambda _: threading.get_ident(), range(9))), 0)
        == [threading.get_ident()] * 9
    )
    assert in_parallel(_threads_at_work, [0, 1], n_jobs=2) == [1, 1]


def _threads_at_work(_):
    return len(set(in_order(lambda _: threading.get_ident(), range(50))))


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "two"])
def test_a_number_of_threads_that_is_none_is_refused(count):
    with pytest.raises(fs.SettingError, match=r"the number of threads is .*: give a whole number of 1 or more"):
        fs.set_threads(count)


def test_the_environment_gives_the_number_of_threads(monkeypatch):
    monkeypatch.setenv(summing.VARIABLE, "3")
    assert n_threads() == 3
    fs.set_threads(2)
    assert n_threads() == 2
    fs.set_threads(None)
    monkeypatch.setenv(summing.VARIABLE, "many")
    with pytest.raises(fs.SettingError, match="FAIRSTRESS_THREADS is 'many'"):
        n_threads()
    monkeypatch.delenv(summing.VARIABLE)
    for cores, threads in {1: 1, 2: 2, 64: 2}.items():
        monkeypatch.setattr(summing, "n_cores", lambda cores=cores: cores)
        assert n_threads() == threads


@pytest.fixture(scope="module")
def frame():
    return fs.datasets.simulate(GRAPH, 100_000, random_state=0).frame


def numbers_of(frame, outcome):
    audit = fs.Audit.fit(frame.assign(y=outcome), GRAPH, **GIVEN)
    weights = [*audit.fitted.claim.model_a.weights, *audit.fitted.claim.predictor.weights]
    fits = model_fits(audit.fitted.claim, read_correlation(P, audit.graph, audit.variables)[None])
    others = [one.values(audit.fitted.claim, fits)[0] for one in (audit.effect("x2"), audit.flips(0.5))]
    found = [audit.cfu(P), *audit.gradient(P), *others]
    return [*weights, *found, audit.baselines["blind"].unfairness]


@pytest.mark.parametrize("two_valued", [False, True])
def test_an_audit_has_the_same_digits_on_one_thread_and_on_two(frame, two_valued):
    """Moments, threshold, logistic fit, sweep with its gradient, effects and decisions of 100,000 rows."""
    outcome = (frame["y"] > 0).astype(int) if two_valued else frame["y"]
    found = []
    for threads in (1, 2):
        fs.set_threads(threads)
        found.append(numbers_of(frame, outcome))
    assert found[0] == found[1]
