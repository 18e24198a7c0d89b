"""Data frames of Dask's: the numbers are those of the same data in memory, and survive a worker's loss."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what Dask says of itself when it is imported
    import dask.dataframe as dd
    import distributed

import fairstress as fs
from fairstress.inputs import look, partitions
from fairstress.inputs.partitions import Partitions, _packed

GRAPH = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; race <-> lsat", protected="race", outcome="zfya")
GIVEN = {"degrees": {"ugpa": 1, "lsat": 2}, "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1}
P = {("race", "lsat"): 0.3}

pytestmark = pytest.mark.filterwarnings("ignore")  # of sockets and loops that a cluster leaves to be closed


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def frame(law_frame):
    """Law school with fractions of points, so that no two students are alike."""
    noise = np.random.default_rng(0).standard_normal((len(law_frame), 2))
    return law_frame.assign(ugpa=law_frame["ugpa"] + 0.01 * noise[:, 0], lsat=law_frame["lsat"] + 0.1 * noise[:, 1])


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(look, "HELD", 2000)


def numbers(audit):
    return [
        *audit.fitted.claim.model_a.weights,
        *audit.fitted.claim.predictor.weights,
        audit.baselines["blind"].unfairness,
        audit.cfu(P),
        *audit.gradient(P),
    ]


@pytest.fixture(scope="module")
def expected(frame):
    return numbers(fs.Audit.fit(frame, GRAPH, reference="White", random_state=0, **GIVEN))


def test_an_audit_on_workers_has_the_numbers_of_the_same_data_in_memory(client, frame, expected, small):
    data = dd.from_pandas(frame, npartitions=5)
    audit = fs.Audit.fit(data, GRAPH, client=client, reference="White", random_state=0, **GIVEN)
    assert isinstance(audit.fitted.table.rows.whole, Partitions)
    assert audit.fitted.table.n_counted == len(frame)
    assert numbers(audit) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_worker_that_is_lost_changes_no_answer(client, frame, small):
    data = dd.from_pandas(frame, npartitions=4)
    audit = fs.Audit.fit(data, GRAPH, client=client, reference="White", random_state=0, **GIVEN)
    in_memory = fs.Audit.fit(frame, GRAPH, reference="White", random_state=0, **GIVEN)
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    assert audit.cfu({("race", "lsat"): 0.2}) == pytest.approx(in_memory.cfu({("race", "lsat"): 0.2}), rel=1e-9)
    again = fs.Audit.fit(data, GRAPH, client=client, reference="White", random_state=0, **GIVEN)
    assert numbers(again) == numbers(audit)


def test_replicates_are_worked_out_on_the_workers_with_the_same_limits(client, law_frame):
    graph = fs.CausalGraph.parse("race -> ugpa, lsat; ugpa -> lsat; ugpa <-> lsat", protected="race", outcome="zfya")
    audit = fs.Audit.fit(law_frame[:2000], graph, reference="White", random_state=0, **GIVEN)
    expected = audit.curve([0.1, 0.3], bands=fs.Bootstrap(40)).to_frame()
    with joblib.parallel_config(backend="dask"):
        found = audit.curve([0.1, 0.3], bands=fs.Bootstrap(40, n_jobs=2)).to_frame()
    assert all("fairstress.analyses.bands.replicates" in modules for modules in client.run(_modules).values())
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def _modules():
    return list(sys.modules)


def test_rows_that_repeat_are_counted_on_the_workers(client, law_frame, small):
    coarse = law_frame.round({"ugpa": 1, "lsat": 0, "zfya": 0}).assign(w=2.0)
    kinds = {"ugpa": "number", "lsat": "number"}
    given = {"reference": "White", "random_state": 0, "kinds": kinds, **GIVEN}
    found = fs.Audit.fit(dd.from_pandas(coarse, npartitions=3), GRAPH, client=client, sample_weight="w", **given)
    expected = fs.Audit.fit(coarse, GRAPH, sample_weight=coarse["w"], **given)
    assert found.fitted.table.rows.whole is None
    assert found.cfu(P) == pytest.approx(expected.cfu(P), rel=1e-9)


def test_the_client_that_is_at_work_is_the_default(client, frame, small):
    data = dd.from_pandas(frame, npartitions=2)
    assert fs.Audit.fit(data, GRAPH, reference="White", **GIVEN).fitted.table.n_counted == len(frame)


def test_a_frame_without_a_cluster_and_a_client_without_a_frame_are_refused(client, law_frame, monkeypatch):
    data = dd.from_pandas(law_frame, npartitions=2)
    with pytest.raises(fs.SettingError, match="client is given, but the data are no data frame of Dask's"):
        fs.Audit.fit(law_frame, GRAPH, client=client, **GIVEN)
    with pytest.raises(fs.DataError, match="the graph names 'zfya', which is not a column"):
        fs.Audit.fit(data.drop(columns="zfya"), GRAPH, client=client, **GIVEN)

    def none():
        raise ValueError("no client")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(fs.SettingError, match=r"there is no cluster: give client=distributed.Client\(\)"):
        fs.Audit.fit(data, GRAPH, **GIVEN)


def _fails(part):
    raise OSError("no such part")


def test_frames_that_cannot_be_computed_and_clients_that_are_closed_are_refused(client, frame, small):
    broken = dd.from_pandas(frame, npartitions=2).map_partitions(_fails, meta=frame)
    with pytest.raises(fs.DataError, match=r"read \(OSError: no such part\): see that Dask computes the data frame"):
        fs.Audit.fit(broken, GRAPH, client=client, **GIVEN)
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        audit = fs.Audit.fit(dd.from_pandas(frame, npartitions=2), GRAPH, client=other, **GIVEN)
    with pytest.raises(fs.DataError, match="the client by which the data are reached is closed: ask while"):
        audit.cfu(P)


def test_weights_on_workers_are_named_by_their_row_and_may_all_be_zero_in_a_part(client, frame, small):
    weight = np.where(np.arange(len(frame)) < 4000, 0.0, 1.0)
    found, alone = (
        fs.Audit.fit(data, GRAPH, reference="White", **given, **GIVEN).cfu(P)
        for data, given in (
            (dd.from_pandas(frame.assign(w=weight), npartitions=10), {"client": client, "sample_weight": "w"}),
            (frame[4000:], {}),
        )
    )
    assert found == pytest.approx(alone, rel=1e-9)
    weight[20_000] = -1
    data = dd.from_pandas(frame.assign(w=weight), npartitions=10)
    with pytest.raises(fs.DataError, match=r"'w' of weights has 1 negative value \(first in row 20,000\)"):
        fs.Audit.fit(data, GRAPH, client=client, sample_weight="w", **GIVEN)


def test_what_is_sent_to_workers_leaves_the_sample_behind(frame):
    rows = fs.Audit.fit(frame, GRAPH, reference="White", **GIVEN).fitted.table.rows
    sample = replace(rows, whole=Partitions(None, (), 1.0))
    assert len(_packed(partial(max, sample))) < 5_000 < len(_packed(partial(max, rows)))


def test_the_sample_is_of_all_people_however_they_are_divided(client, monkeypatch):
    for room in (look, partitions):
        monkeypatch.setattr(room, "HELD", 300)
    frame = pd.DataFrame({"part": np.repeat([0.0, 1.0], [4000, 1000]), "x": np.random.default_rng(0).random(5000)})
    divided = [dd.from_pandas(frame[:4000], npartitions=1), dd.from_pandas(frame[4000:], npartitions=20)]
    found = partitions.Workers(dd.concat(divided), client).look(["part", "x"], None)
    assert found.n == 5000
    assert found.people()["part"].mean() == pytest.approx(0.2, abs=0.08)  # 3.5 standard deviations
