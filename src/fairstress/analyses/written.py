"""Everyone in both worlds, batch by batch: written to a file, or some of them kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairstress.claim.build import Fitted
from fairstress.claim.claim import Claim
from fairstress.claim.evaluate import predictions
from fairstress.errors import SettingError, describe_error, show
from fairstress.inputs.rows import Rows
from fairstress.inputs.streamed import Batches
from fairstress.inputs.streams import PIECE, SUFFIXES
from fairstress.model.fit import Fit
from fairstress.saving import check_target, check_unread, whole_file

Where = Callable[[pd.DataFrame], Any] | None  # of a frame to one truth value for each of its rows; None: all

COLUMNS = ("row", "factual", "counterfactual", "cfu")  # beside the protected attribute and the features


def check_written(fitted: Fitted, to: str | Path) -> None:
    """Refuse, before anything is computed, what is no place for everyone, or would be written over the data."""
    check_target(to, "counterfactuals")
    if Path(to).suffix not in SUFFIXES:
        raise SettingError(f"to is {show(str(to))}, but what is written is Parquet: give a name that ends in .parquet")
    check_unread(to, "counterfactuals", fitted.table.files)


def write_people(fitted: Fitted, fit: Fit, to: str | Path, where: Where = None) -> None:
    """Write everyone's counterfactual features under one version of Model B, with predictions and CFU, to Parquet.

    One row for each person and value that they are moved to; ``row`` is the person's place in the data. Where people
    have several worlds, features are those of the likeliest.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise SettingError("to= writes Parquet: install pyarrow with pip install 'fairstress[parquet]'") from None
    writer = None
    with whole_file(to, "counterfactuals") as path:
        for frame in _frames(fitted, fit):
            table = pa.Table.from_pandas(frame, preserve_index=False).filter(_is_kept(frame, where))
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table.cast(writer.schema))
        if writer is not None:
            writer.close()


def worst_people(fitted: Fitted, fit: Fit, count: int, where: Where = None) -> pd.DataFrame:
    """The same rows of those whose CFU is largest, worst first; of equals those who come first in the data."""
    found = pd.DataFrame()
    for frame in _frames(fitted, fit):
        found = pd.concat([found, frame[_is_kept(frame, where)]], ignore_index=True).nlargest(count, "cfu")
    return found.reset_index(drop=True)


def some_people(fitted: Fitted, fit: Fit, where: Where) -> pd.DataFrame:
    """The same rows of those whom a function picks, in the order of the data."""
    return pd.concat([frame[_is_kept(frame, where)] for frame in _frames(fitted, fit)], ignore_index=True)


def _is_kept(frame: pd.DataFrame, where: Where) -> NDArray[np.bool_]:
    """Whether a function picks each row of a frame."""
    if where is None:
        return np.ones(len(frame), dtype=bool)
    if not callable(where):
        raise SettingError(f"where is {show(where)}: give a function of the frame to one truth value a row")
    try:
        kept = np.asarray(where(frame.copy()))
    except Exception as problem:  # the analyst's function may fail in any way
        raise SettingError(
            f"where failed on the frame ({describe_error(problem)}): give a function of its columns "
            f"{', '.join(map(repr, frame.columns))} to one truth value a row"
        ) from problem
    if kept.dtype != bool or kept.shape != (len(frame),):
        raise SettingError(
            f"where gives an array of {kept.dtype} and shape {kept.shape} for {len(frame):,} rows: give one truth "
            "value a row, such as people['cfu'] > 0.1"
        )
    return kept


def _frames(fitted: Fitted, fit: Fit) -> Iterator[pd.DataFrame]:
    """A frame for each batch of people."""
    first = 0
    for people in _batches(fitted):
        frame = _frame(fitted, fitted.claim, fit, people)
        frame["row"] += first
        first += people.size
        yield frame


def _batches(fitted: Fitted) -> Iterator[Rows]:
    """People one by one, in the order of the data."""
    table, whole = fitted.table, fitted.table.rows.whole
    if isinstance(whole, Batches):
        yield from map(whole.code, whole.read())
        return
    table.check_held("a file of everyone")
    for start in range(0, table.row_of.size, PIECE):
        yield table.rows.where(table.row_of[start : start + PIECE])


def _frame(fitted: Fitted, claim: Claim, fit: Fit, people: Rows) -> pd.DataFrame:
    table = fitted.table
    moved, origin = table.protected.contrasts(people)
    here = replace(claim, rows=moved, origin=None)
    leaves = here.counterfactual_rows(fit)
    x = leaves.x[leaves.likeliest(moved.size)] if leaves.owner.size > moved.size else leaves.x
    factual, other, cfu = predictions(here, fit)
    shown = {own.name: own.decode(x[:, j]) for j, own in enumerate(table.units.features)}
    protected = table.protected.decode(moved.a_cf).to_numpy()
    numbers = dict(zip(COLUMNS, (origin, factual + table.origin, other + table.origin, cfu), strict=True))
    return pd.DataFrame({"row": np.asarray(origin), table.graph.protected: protected, **shown, **numbers})
