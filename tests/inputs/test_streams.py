"""Data that are read in batches: the numbers are those of the same data in memory, wherever they come from."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import fairstress as fs
from fairstress.claim.evaluate import fits as model_fits
from fairstress.inputs import look, streamed
from fairstress.inputs.correlation import read_correlation
from fairstress.inputs.streams import Stream, is_stream, open_stream
from fairstress.running import carry_out
from fairstress.settings import read_settings

GRAPH = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z; x <-> z", protected="a", outcome="y")
GIVEN = {"degrees": {"x": 1, "z": 2}, "penalty": 1, "predictor_degree": 2, "predictor_penalty": 1, "random_state": 0}
N = 5000
P = {("a", "z"): 0.3, ("x", "z"): -0.2}


@pytest.fixture(scope="module")
def frame():
    drawn = fs.datasets.simulate(GRAPH, N, random_state=0).frame
    return drawn.assign(a=np.where(drawn["a"] > 0, "u", "v"), x=10 + 3 * drawn["x"], w=1 + np.arange(N) % 3)


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """Five files of different length."""
    where = tmp_path_factory.mktemp("people")
    for i, part in enumerate(np.split(np.arange(N), [100, 2000, 2100, 4000])):
        pq.write_table(pa.table(frame.iloc[part]), where / f"part{i}.parquet", row_group_size=700)
    return where


@pytest.fixture
def small(monkeypatch):
    """Samples and pieces so small that a few thousand rows do not fit."""
    monkeypatch.setattr(look, "HELD", 500)
    for size in ("BLOCK", "PIECE"):
        monkeypatch.setattr(streamed, size, 1024)


def rounded(frame):
    """Whole numbers, of which zero has one sign."""
    return frame.assign(**{name: frame[name].round() + 0.0 for name in "xzy"})


def sources(folder):
    return {
        "pattern": str(folder / "*.parquet"),
        "folder": folder,
        "dataset": ds.dataset(folder),
        "lazy": pl.scan_parquet(folder / "*.parquet"),
        "relation": duckdb.read_parquet(str(folder / "*.parquet")),
    }


def numbers(audit):
    """What an audit finds, from Model A to worst cases."""
    claim = audit.fitted.claim
    fits = model_fits(claim, read_correlation(P, GRAPH, audit.variables)[None])
    asked = (audit.effect("z"), audit.effect("z", "direct"), audit.flips(0.5), audit.cfu_of_group("u"))
    return [
        *audit.fitted.claim.model_a.weights,
        audit.model_a.log_likelihood,
        *audit.fitted.claim.predictor.weights,
        audit.fitted.claim.predictor.r2,
        *(baseline.unfairness for baseline in audit.baselines.values()),
        audit.fitted.outcome_variance,
        audit.cfu(P),
        *audit.gradient(P),
        audit.cfu(P, baseline="blind"),
        *(one.values(claim, fits)[0] for one in asked),
    ]


@pytest.fixture(scope="module")
def expected(frame):
    return numbers(fs.Audit.fit(frame, GRAPH, **GIVEN))


@pytest.mark.parametrize("kind", ["pattern", "folder", "dataset", "lazy", "relation"])
def test_an_audit_of_batches_has_the_numbers_of_the_same_data_in_memory(folder, expected, small, kind):
    audit = fs.Audit.fit(sources(folder)[kind], GRAPH, **GIVEN)
    assert audit.fitted.table.rows.size <= 510
    assert audit.fitted.table.rows.n == N
    assert audit.fitted.table.n_counted == N
    assert numbers(audit) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_worst_case_and_a_profile_of_batches_are_those_in_memory(frame, folder, small):
    found, expected = (fs.Audit.fit(data, GRAPH, **GIVEN) for data in (folder, frame))
    assert found.worst_case(0.1).value == pytest.approx(expected.worst_case(0.1).value, rel=1e-9)
    one, other = (audit.profile(("a", "z"), [-0.2, 0.1]).to_frame()["cfu"] for audit in (found, expected))
    assert one.tolist() == pytest.approx(other.tolist(), rel=1e-9)


def test_people_whose_predictions_change_alike_are_gathered_from_everyone(frame, folder, small):
    given = GIVEN | {"degrees": {"x": 1, "z": 1}, "predictor_degree": 1}
    found, expected = (fs.Audit.fit(data, GRAPH, **given) for data in (folder, frame))
    assert found.cfu(P) == pytest.approx(expected.cfu(P), rel=1e-9)
    few = found.fitted.claim.for_changes().rows
    assert (few.size, few.n) == (2, N)
    assert sorted(few.weight) == sorted(found.fitted.table.group_sizes().values())


def test_weights_are_a_column_and_count_as_in_memory(frame, folder, small):
    found = fs.Audit.fit(folder, GRAPH, sample_weight="w", **GIVEN)
    expected = fs.Audit.fit(frame, GRAPH, sample_weight=frame["w"], **GIVEN)
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9, abs=1e-12)
    for argument in ("sample_weight", "cluster"):
        with pytest.raises(fs.SettingError, match=rf"{argument} is .*not in memory: give the name of a column of them"):
            fs.Audit.fit(folder, GRAPH, **{argument: frame["w"].to_numpy()}, **GIVEN)
        with pytest.raises(fs.DataError, match=f"{argument} names 'weight', which is not a column of the data"):
            fs.Audit.fit(folder, GRAPH, **{argument: "weight"}, **GIVEN)


def test_a_part_in_which_nobody_has_weight_counts_for_nothing(frame, small, tmp_path):
    frame = frame.assign(w=np.where(np.arange(N) < 2000, 0.0, frame["w"]))  # all of the first piece
    pq.write_table(pa.table(frame), tmp_path / "people.parquet")
    found = fs.Audit.fit(tmp_path / "people.parquet", GRAPH, sample_weight="w", **GIVEN).cfu(P)
    assert found == pytest.approx(fs.Audit.fit(frame[2000:], GRAPH, sample_weight=frame["w"][2000:], **GIVEN).cfu(P))


WRITES_HALVES = int(pa.__version__.split(".")[0]) >= 15


@pytest.mark.parametrize("kind", [pa.decimal128(20, 8), *([pa.float16()] if WRITES_HALVES else [])])
def test_short_floats_and_decimals_are_numbers(frame, small, tmp_path, kind):
    table = pa.table(frame[["a", "x", "z", "y"]])
    rounded = frame["x"].round(2)
    short = pa.array(rounded.to_numpy(np.float16)) if kind == pa.float16() else pa.array(rounded).cast(kind, safe=False)
    table = table.set_column(1, "x", short)
    pq.write_table(table, tmp_path / "people.parquet")
    found = fs.Audit.fit(tmp_path / "people.parquet", GRAPH, **GIVEN)
    assert found.fitted.table.rows.whole is not None
    rounded_alike = frame.assign(x=table.column("x").to_numpy().astype(float))
    for other in (table, rounded_alike):
        assert found.cfu(P) == pytest.approx(fs.Audit.fit(other, GRAPH, **GIVEN).cfu(P), rel=1e-9)


def test_columns_that_folders_are_named_by_are_read(frame, small, tmp_path):
    pq.write_to_dataset(pa.table(frame), tmp_path / "people", partition_cols=["a"])
    in_order = pd.concat([frame[frame["a"] == level] for level in "uv"])
    found = fs.Audit.fit(tmp_path / "people", GRAPH, **GIVEN)
    assert found.cfu(P) == pytest.approx(fs.Audit.fit(in_order, GRAPH, **GIVEN).cfu(P), rel=1e-9)


def test_an_outcome_of_classes_and_a_numeric_attribute_are_coded_as_in_memory(frame, small, tmp_path):
    own = frame.assign(y=np.where(frame["y"] > 0, "yes", "no"), a=(frame["a"] == "u") * 20 + 40 + frame["x"] % 3)
    own.to_parquet(tmp_path / "people.parquet")
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z", protected="a", outcome="y")
    at = {("a", "z"): 0.3}
    found, expected = (fs.Audit.fit(data, graph, **GIVEN) for data in (tmp_path / "people.parquet", own))
    assert found.cfu(at) == pytest.approx(expected.cfu(at), rel=1e-9)
    assert found.fitted.claim.predictor.weights == pytest.approx(expected.fitted.claim.predictor.weights, rel=1e-8)
    assert found.model_a.log_likelihood == pytest.approx(expected.model_a.log_likelihood, rel=1e-12)


def test_several_levels_are_moved_to_each_other_as_in_memory(frame, small, tmp_path):
    own = frame.assign(a=np.where(frame["x"] > 12, "t", frame["a"]))
    own.to_parquet(tmp_path / "people.parquet")
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    found, expected = (fs.Audit.fit(data, graph, **GIVEN) for data in (tmp_path / "people.parquet", own))
    assert found.cfu({("x", "z"): 0.3}) == pytest.approx(expected.cfu({("x", "z"): 0.3}), rel=1e-9)
    assert found.fitted.table.group_sizes() == expected.fitted.table.group_sizes()


@pytest.mark.parametrize("kind", ["folder", "lazy", "relation"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_repeat_are_counted_and_are_an_ordinary_table(frame, small, tmp_path, kind, weight):
    coarse = rounded(frame)
    coarse.to_parquet(tmp_path / "people.parquet")
    found = fs.Audit.fit(sources(tmp_path)[kind], GRAPH, sample_weight=weight, kinds=NUMBERS, **GIVEN)
    given = None if weight is None else coarse["w"]
    expected = fs.Audit.fit(coarse, GRAPH, sample_weight=given, kinds=NUMBERS, **GIVEN)
    assert found.fitted.table.rows.whole is None
    assert found.fitted.table.y.size == len(coarse[["a", "x", "z", "y"]].drop_duplicates())
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9, abs=1e-12)


NUMBERS = {"x": "number", "z": "number"}


@pytest.mark.parametrize("problem", [ImportError, AttributeError, TypeError])
def test_where_narwhals_does_not_fit_the_engine_rows_are_counted_by_batches(
    frame, small, tmp_path, monkeypatch, problem
):
    def does_not_fit(*_):
        raise problem("no module named 'duckdb.typing'")

    rounded(frame).to_parquet(tmp_path / "people.parquet")
    expected = fs.Audit.fit(sources(tmp_path)["relation"], GRAPH, sample_weight="w", kinds=NUMBERS, **GIVEN)
    monkeypatch.setattr(streamed.lazy, "from_native", does_not_fit)
    found = fs.Audit.fit(sources(tmp_path)["relation"], GRAPH, sample_weight="w", kinds=NUMBERS, **GIVEN)
    assert found.fitted.table.rows.whole is None
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("module", ["duckdb.duckdb", "_duckdb", "duckdb._relation"])
@pytest.mark.parametrize("reader", ["to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader"])
def test_relations_are_known_and_read_as_each_version_of_duckdb_has_them(module, reader):
    """As 1.3, 1.5 and 2.0 call their module; each has some of the ways to batches."""
    batches = pa.table({"x": [1.0, 2.0, 3.0]}).to_batches()
    chosen = SimpleNamespace(**{reader: lambda size: iter(batches)})
    body = {"__module__": module, "columns": ["x"], "project": lambda self, names: chosen}
    relation = type("DuckDBPyRelation", (), body)()
    assert is_stream(relation)
    (piece,) = open_stream(relation).pieces(["x"], 3)
    assert piece.column("x").to_pylist() == [1.0, 2.0, 3.0]


def test_where_too_many_rows_differ_they_are_read_one_by_one(frame, small, tmp_path, monkeypatch):
    rounded(frame).to_parquet(tmp_path / "people.parquet")
    monkeypatch.setattr(streamed, "MOST_COUNTS", 100)
    for kind in ("folder", "lazy"):
        audit = fs.Audit.fit(sources(tmp_path)[kind], GRAPH, kinds=NUMBERS, **GIVEN)
        assert audit.fitted.table.rows.whole is not None


def test_few_rows_are_simply_read(frame, folder, expected):
    audit = fs.Audit.fit(folder, GRAPH, **GIVEN)
    assert audit.fitted.table.rows.whole is None
    assert numbers(audit) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_pieces_have_the_same_rows_however_files_are_divided(frame, folder):
    pieces = list(open_stream(folder).pieces(["x", "a"], 1000))
    assert [len(piece) for piece in pieces] == [1000] * 5
    assert pa.concat_tables(pieces).to_pandas().equals(frame[["x", "a"]])


def test_a_rare_level_is_in_the_sample(frame, small, tmp_path):
    own = frame.assign(a=np.where(np.arange(N) == 4444, "w", frame["a"]))
    own.to_parquet(tmp_path / "people.parquet")
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; x <-> z", protected="a", outcome="y")
    with pytest.warns(fs.FairstressWarning, match="the group 'w' of 'a' has 1 rows"):
        audit = fs.Audit.fit(tmp_path / "people.parquet", graph, **GIVEN)
    assert audit.fitted.table.group_sizes()["w"] == 1


def test_degrees_and_penalties_are_chosen_by_the_sample(folder, small, monkeypatch):
    samples, read = [], streamed.read_table
    monkeypatch.setattr(
        streamed, "read_table", lambda people, *_, **own: samples.append(people) or read(people, *_, **own)
    )
    audit = fs.Audit.fit(folder, GRAPH, max_degree=2, random_state=0)
    sample = fs.Audit.fit(samples[0], GRAPH, max_degree=2, random_state=0)
    for name in ("degrees", "penalty", "predictor_degree", "predictor_penalty"):
        assert getattr(audit.settings, name) == getattr(sample.settings, name)


# ---------------------------------------------------------------- everyone, written


@pytest.mark.parametrize("kind", ["stream", "memory"])
def test_everyone_is_written_to_a_file_in_batches(frame, folder, small, tmp_path, kind):
    data = folder if kind == "stream" else frame
    audit = fs.Audit.fit(data, GRAPH, **GIVEN)
    assert audit.counterfactuals(P, to=tmp_path / "moved.parquet") is None
    found, whole = pd.read_parquet(tmp_path / "moved.parquet"), fs.Audit.fit(frame, GRAPH, **GIVEN)
    expected = whole.counterfactuals(P)
    assert found["row"].tolist() == list(range(N))
    assert found["a"].tolist() == expected["a"].tolist()
    np.testing.assert_allclose(found[["x", "z"]], expected[["x", "z"]], rtol=1e-9)
    np.testing.assert_allclose(found["cfu"], whole.cfu_by_row(P), rtol=1e-8, atol=1e-14)
    assert found["cfu"].mean() == pytest.approx(audit.cfu(P), rel=1e-9)


def test_nothing_is_left_behind_where_writing_fails(folder, small, tmp_path, monkeypatch):
    audit = fs.Audit.fit(folder, GRAPH, **GIVEN)

    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairstress.analyses.written._frame", fails)
    with pytest.raises(KeyboardInterrupt):
        audit.counterfactuals(P, to=tmp_path / "moved.parquet")
    assert not list(tmp_path.iterdir())
    with pytest.raises(fs.SettingError, match=r"cannot write counterfactuals to .*: there is no folder"):
        audit.counterfactuals(P, to=tmp_path / "nowhere" / "moved.parquet")


REFUSED = {
    "cfu_by_row": lambda audit: audit.cfu_by_row(P),
    "counterfactuals": lambda audit: audit.counterfactuals(P),
    "predictor_inputs": lambda audit: audit.predictor_inputs(),
    "limits": lambda audit: audit.estimate(P),
    "limits in a report": lambda audit: audit.report(None, 0.1, bands=True),
    "influence": lambda audit: audit.diagnostics(P),
    "a function of a frame": lambda audit: audit.bounds(lambda moved: moved["z"].mean(), 0.1),
    "some rows": lambda audit: audit.refit(keep=np.ones(audit.fitted.table.y.size, dtype=bool)),
}


@pytest.mark.parametrize("question", list(REFUSED))
def test_what_needs_everyone_in_memory_is_refused_with_the_way_out(folder, small, question):
    audit = fs.Audit.fit(folder, GRAPH, **GIVEN)
    with pytest.raises(
        fs.SettingError, match=r"not in memory, and .* would need all 5,000 people there: (c|read|give)"
    ):
        REFUSED[question](audit)


@pytest.mark.parametrize("kind", ["memory", "stream"])
def test_the_worst_of_everyone_are_the_first_of_all_when_sorted(frame, folder, small, tmp_path, kind):
    audit = fs.Audit.fit(frame if kind == "memory" else folder, GRAPH, **GIVEN)
    audit.counterfactuals(P, to=tmp_path / "all.parquet")
    expected = pd.read_parquet(tmp_path / "all.parquet").sort_values("cfu", ascending=False, kind="stable")
    found = audit.counterfactuals(P, worst=7)
    pd.testing.assert_frame_equal(found, expected.head(7).reset_index(drop=True))
    with pytest.raises(fs.SettingError, match="worst is 0: give a whole number"):
        audit.counterfactuals(P, worst=0)
    with pytest.raises(fs.SettingError, match="both to and worst are given"):
        audit.counterfactuals(P, worst=3, to=tmp_path / "some.parquet")


@pytest.mark.parametrize("kind", ["memory", "stream"])
def test_people_are_picked_by_a_function_in_a_frame_a_file_and_among_the_worst(frame, folder, small, tmp_path, kind):
    audit = fs.Audit.fit(frame if kind == "memory" else folder, GRAPH, **GIVEN)
    audit.counterfactuals(P, to=tmp_path / "all.parquet")
    everyone = pd.read_parquet(tmp_path / "all.parquet")
    expected = everyone[everyone["x"] > 1].reset_index(drop=True)
    assert 0 < len(expected) < len(everyone)
    pd.testing.assert_frame_equal(audit.counterfactuals(P, where=lambda people: people["x"] > 1), expected)
    audit.counterfactuals(P, to=tmp_path / "some.parquet", where=lambda people: people["x"] > 1)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "some.parquet"), expected)
    worst = audit.counterfactuals(P, worst=3, where=lambda people: people["x"] > 1)
    assert worst["cfu"].tolist() == sorted(expected["cfu"], reverse=True)[:3]
    nobody = audit.counterfactuals(P, where=lambda people: people["cfu"] < 0)
    assert (len(nobody), list(nobody)) == (0, list(everyone))
    audit.counterfactuals(P, to=tmp_path / "nobody.parquet", where=lambda people: people["cfu"] < 0)
    assert len(pd.read_parquet(tmp_path / "nobody.parquet")) == 0


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (3, "where is 3: give a function of the frame"),
        (lambda people: people["nix"], r"where failed on the frame \(KeyError: 'nix'\).*'row', 'a', .*'cfu'"),
        (lambda people: people["cfu"], "where gives an array of float64"),
        (lambda people: [True], r"shape \(1,\) for 5,000 rows: give one truth value a row"),
    ],
)
def test_a_function_that_picks_nobody_in_particular_is_refused(frame, where, said):
    with pytest.raises(fs.SettingError, match=said):
        fs.Audit.fit(frame, GRAPH, **GIVEN).counterfactuals(P, where=where)


def test_less_memory_makes_smaller_batches_and_the_same_numbers(folder, small, monkeypatch):
    monkeypatch.setattr(streamed, "PIECE", 4096)
    sizes, pieces = [], Stream.pieces
    monkeypatch.setattr(Stream, "pieces", lambda self, names, size: sizes.append(size) or pieces(self, names, size))
    found = [fs.Audit.fit(folder, GRAPH, max_memory=memory, **GIVEN).cfu(P) for memory in ("1 GB", "4 MB")]
    assert set(sizes) == {4096, 2048}
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_a_report_on_a_stream_is_that_of_everyone(folder, frame, small, tmp_path):
    options = {"p_max": 0.2, "sizes": [0, 0.2, 0.4], "grid": [0, 0.2]}
    found = fs.Audit.fit(folder, GRAPH, **GIVEN).report(tmp_path / "page.html", **options)
    expected = fs.Audit.fit(frame, GRAPH, **GIVEN).report(**options)
    assert found.conclusion.state == expected.conclusion.state
    assert found.conclusion.breaking.p_max == pytest.approx(expected.conclusion.breaking.p_max, abs=1e-4)
    values = [[point.value for point in data.curve.points] for data in (found, expected)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert found.diagnostics.influence is None
    assert "is about a sample of" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_settings_that_need_everyone_in_memory_are_refused(folder, small):
    for settings in ({"measure": "max"}, {"holdout": 0.2}):
        with pytest.raises(fs.SettingError, match="would need all 5,000 people"):
            fs.Audit.fit(folder, GRAPH, **GIVEN, **settings)
    with pytest.raises(fs.SettingError, match="kinds says 'rank' for 'x', but the data are not in memory"):
        fs.Audit.fit(folder, GRAPH, kinds={"x": "rank"}, **GIVEN)


def test_levels_beside_numbers_are_refused_where_rows_do_not_repeat(frame, small, tmp_path):
    frame.assign(x=frame["x"].round() % 4).to_parquet(tmp_path / "people.parquet")
    with pytest.raises(fs.DataError, match="not in memory, and 'x' is no plain number"):
        fs.Audit.fit(tmp_path / "people.parquet", GRAPH, **GIVEN)


def test_missing_and_infinite_values_are_refused_by_their_row(frame, small, tmp_path):
    for value, what in ((np.nan, "missing"), (np.inf, "infinite")):
        frame.assign(z=frame["z"].where(frame.index != 3000, value)).to_parquet(tmp_path / "people.parquet")
        with pytest.raises(fs.DataError, match=rf"column 'z' has 1 {what} value \(first in row 3,000\)"):
            fs.Audit.fit(tmp_path / "people.parquet", GRAPH, **GIVEN)


SETTINGS = """data = "people/*.parquet"
graph = "a -> x, z; x -> z; a <-> z; x <-> z"
protected = "a"
outcome = "y"
sample_weight = "w"

[options]
degrees = { x = 1, z = 2 }
penalty = 1
predictor_degree = 2
predictor_penalty = 1
random_state = 0

[profile]
points = 3
lowest = -0.2
highest = 0.2
"""


def test_a_settings_file_names_a_pattern(frame, folder, small, tmp_path):
    shutil.copytree(folder, tmp_path / "people")
    (tmp_path / "audit.toml").write_text(SETTINGS)
    found = carry_out(read_settings(tmp_path / "audit.toml"), lambda _: nullcontext())
    expected = fs.Audit.fit(frame, GRAPH, sample_weight=frame["w"], **GIVEN)
    assert found.audit.cfu(P) == pytest.approx(expected.cfu(P), rel=1e-9)
    assert found.content["data"]["file"] == "*.parquet"
    assert found.content["data"]["rows"] == N
    assert len(found.content["data"]["sha256"]) == 64
    (tmp_path / "audit.toml").write_text(f'{SETTINGS}\n[columns.a]\nrecode = {{ u = "U", v = "V" }}\n')
    with pytest.raises(fs.SettingError, match=r"the settings have recode, but '\*.parquet' is read in batches"):
        read_settings(tmp_path / "audit.toml").fit()


def test_paths_that_are_no_parquet_are_refused(frame, tmp_path):
    (tmp_path / "people.csv").write_text("a,x")
    (tmp_path / "broken.parquet").write_text("a,x")
    for where, why in (
        (tmp_path / "people.csv", "is no Parquet file by its name"),
        (tmp_path / "broken.parquet", "cannot be read as Parquet"),
        (tmp_path / "none.parquet", "there is no file"),
        (str(tmp_path / "*.feather"), "there is no file"),
    ):
        with pytest.raises(fs.DataError, match=why):
            fs.Audit.fit(where, GRAPH, **GIVEN)
    frame.drop(columns="z").to_parquet(tmp_path / "people.parquet")
    with pytest.raises(fs.DataError, match="the graph names 'z', which is not a column of the data"):
        fs.Audit.fit(tmp_path / "people.parquet", GRAPH, **GIVEN)


def test_a_summary_speaks_of_everyone_and_the_notes_of_the_sample(folder, small):
    audit = fs.Audit.fit(folder, GRAPH, **GIVEN)
    assert "5,000 rows" in audit.details()
    assert any("5,000 people" in note and "a sample of 500" in note for note in audit.notes)


def test_the_order_of_rows_in_a_file_decides_nothing_at_defaults(tmp_path):
    graph = fs.CausalGraph.parse("a -> x, z; x -> z; a <-> z", protected="a", outcome="y")
    frame = fs.datasets.simulate(graph, 150_000, random_state=0).frame  # more than a sample holds
    frame.to_parquet(tmp_path / "drawn.parquet")
    frame.sort_values("y").to_parquet(tmp_path / "sorted.parquet")
    drawn, in_order = (fs.Audit.fit(tmp_path / f"{n}.parquet", graph, random_state=0) for n in ("drawn", "sorted"))
    assert drawn.settings.degrees == in_order.settings.degrees
    assert drawn.settings.penalty == in_order.settings.penalty
    assert drawn.cfu({("a", "z"): 0.3}) == pytest.approx(in_order.cfu({("a", "z"): 0.3}), rel=1e-9)


@pytest.mark.parametrize(("weight", "coarse"), [("w", False), (None, True)])
def test_a_stream_in_another_order_has_the_same_numbers(frame, small, tmp_path, monkeypatch, weight, coarse):
    """Where rows are coarse, many agree in all numbers and differ in the attribute, and rare numbers are looked for."""
    monkeypatch.setattr(streamed, "MOST_COUNTS", 100)
    drawn = rounded(frame).assign(x=(frame["x"] / 2).round() + 0.0) if coarse else frame
    orders = [drawn, drawn.sort_values("y", kind="stable"), drawn.sample(frac=1, random_state=1)]
    found = []
    for i, one in enumerate(orders):
        one.to_parquet(tmp_path / f"{i}.parquet")
        audit = fs.Audit.fit(
            tmp_path / f"{i}.parquet", GRAPH, sample_weight=weight, kinds=NUMBERS, max_degree=2, random_state=0
        )
        assert audit.fitted.table.rows.whole is not None
        found.append((audit.settings.degrees, [audit.settings.penalty, *numbers(audit), audit.worst_case(0.1).value]))
    for degrees, values in found[1:]:
        assert degrees == found[0][0]
        assert values == pytest.approx(found[0][1], rel=1e-9, abs=1e-12)


def test_clusters_of_a_stream_deal_its_sample_whatever_the_order_of_rows(frame, small, tmp_path):
    drawn = frame.assign(school=[f"school {i % 40}" for i in range(N)])
    given = {"degrees": {"x": 1, "z": 1}, "penalty": 1, "max_degree": 2, "random_state": 0}
    found = []
    for i, one in enumerate((drawn, drawn.sort_values("school"))):
        one.to_parquet(tmp_path / f"{i}.parquet")
        found.append(fs.Audit.fit(tmp_path / f"{i}.parquet", GRAPH, cluster="school", **given))
    assert found[0].fitted.table.rows.whole is not None
    assert numbers(found[0]) == pytest.approx(numbers(found[1]), rel=1e-9, abs=1e-12)
    alone = fs.Audit.fit(tmp_path / "0.parquet", GRAPH, **given)
    scores = [audit.fitted.claim.predictor.tried.scores for audit in (found[0], found[1], alone)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)
    assert not np.allclose(scores[0], scores[2], rtol=1e-3)


def test_a_fitted_predictor_explains_as_much_of_a_stream_as_of_its_sample(frame, small, tmp_path, monkeypatch):
    own = frame.assign(y=np.where(frame["y"] > 1, "yes", "no"))
    own.to_parquet(tmp_path / "people.parquet")
    model = fs.Predictor(LogisticRegression().fit(own[["x", "z"]], own["y"]), input="features")
    samples, read = [], streamed.read_table
    monkeypatch.setattr(streamed, "read_table", lambda people, *_, **o: samples.append(people) or read(people, *_, **o))
    found = fs.Audit.fit(tmp_path / "people.parquet", GRAPH, predictor=model, **GIVEN)
    assert found.fitted.table.rows.whole is not None
    expected = fs.Audit.fit(samples[0], GRAPH, predictor=model, **GIVEN)
    assert found.fitted.claim.predictor.r2 == pytest.approx(expected.fitted.claim.predictor.r2, rel=1e-9)


def test_decimals_of_rows_that_repeat_are_numbers(frame, small):
    coarse = rounded(frame).drop(columns="w")
    relation = duckdb.sql("select a, x::decimal(9, 2) as x, z::decimal(9, 2) as z, y::decimal(9, 2) as y from coarse")
    lazy = pl.from_pandas(coarse).lazy().with_columns(pl.col("x", "y").cast(pl.Decimal(9, 2)))
    expected = fs.Audit.fit(coarse, GRAPH, **GIVEN).cfu(P)
    for data in (relation, lazy):
        found = fs.Audit.fit(data, GRAPH, **GIVEN)
        assert found.fitted.table.rows.whole is None  # they were counted
        assert found.cfu(P) == pytest.approx(expected, rel=1e-9)


def test_columns_of_files_count_more_than_names_of_folders(frame, small, tmp_path):
    for level, name in (("u", "a=v"), ("v", "a=u")):  # folders that say otherwise
        (tmp_path / "people" / name).mkdir(parents=True)
        pq.write_table(pa.table(frame[frame["a"] == level]), tmp_path / "people" / name / "part.parquet")
    in_order = pd.concat([frame[frame["a"] == level] for level in "vu"])
    found = fs.Audit.fit(tmp_path / "people", GRAPH, **GIVEN)
    assert found.cfu(P) == pytest.approx(fs.Audit.fit(in_order, GRAPH, **GIVEN).cfu(P), rel=1e-9)
    number = frame.assign(a=(frame["a"] == "u").astype("int64"))
    for level in (0, 1):
        (tmp_path / "numbers" / f"a={level}").mkdir(parents=True)
        pq.write_table(pa.table(number[number["a"] == level]), tmp_path / "numbers" / f"a={level}" / "part.parquet")
    assert fs.Audit.fit(tmp_path / "numbers", GRAPH, **GIVEN).cfu(P) > 0


def test_whole_numbers_in_one_file_and_fractions_in_the_next_are_fractions(frame, small, tmp_path):
    whole = frame.assign(x=frame["x"].round())
    for number, part in enumerate((whole.astype({"x": int}), frame)):
        pq.write_table(pa.table(part), tmp_path / f"{number}.parquet")
    found = fs.Audit.fit(tmp_path, GRAPH, **GIVEN).cfu(P)
    assert found == pytest.approx(fs.Audit.fit(pd.concat([whole, frame]), GRAPH, **GIVEN).cfu(P), rel=1e-9)


def test_files_are_found_from_wherever_the_process_works(frame, small, tmp_path, monkeypatch):
    pq.write_table(pa.table(frame), tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    audit = fs.Audit.fit("people.parquet", GRAPH, **GIVEN)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(fs.SettingError, match="counterfactuals would overwrite the data"):
        audit.counterfactuals(P, to=tmp_path / "people.parquet")
    assert audit.fitted.table.files == (str(tmp_path / "people.parquet"),)


def test_what_is_wrong_with_the_data_is_said_as_such_while_a_file_is_written(frame, small, tmp_path):
    pq.write_table(pa.table(frame), tmp_path / "people.parquet")
    audit = fs.Audit.fit(tmp_path / "people.parquet", GRAPH, **GIVEN)
    pq.write_table(pa.table(frame[:4000]), tmp_path / "people.parquet")
    with pytest.raises(fs.DataError, match="has changed since the data were first read"):
        audit.counterfactuals(P, to=tmp_path / "moved.parquet")
