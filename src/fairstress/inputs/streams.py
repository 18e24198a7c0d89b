"""Tables read in batches: Parquet files and folders, pyarrow datasets, polars' lazy frames, DuckDB's relations.

A stream is read again for every sum, in pieces of a fixed number of rows and in the same order, whatever the files'
own division is: sums have the same digits each time. At most a few pieces are in memory. Files that have changed in
between are refused: sums of them would not belong together.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairstress.errors import DataError, FairstressError, describe_error, did_you_mean, show
from fairstress.inputs.frames import check_unique, decoded
from fairstress.inputs.rows import BLOCK

PIECE = 16 * BLOCK  # rows that are worked on together, at most
SUFFIXES = (".parquet", ".pq")

QUERY = "see that the query runs by itself"
FILES = "see that all files are there, whole, and Parquet"
_NEEDS_ARROW = (
    "the data are a stream, which is read by pyarrow: install it with pip install 'fairstress[parquet]', or give a "
    "table held in memory"
)


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was when it was first looked at."""

    name: str  # as it was given
    place: str
    size: int
    changed: int  # when, in nanoseconds

    @classmethod
    def of(cls, name: str) -> File:
        """Look at a file, wherever the process works later."""
        found = Path(name).absolute()
        return cls(name, str(found), found.stat().st_size, found.stat().st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is another one by now, or gone."""
        try:
            found = Path(self.place).stat()
        except OSError:
            raise DataError(f"{show(self.name)} is gone since the data were first read: fit the audit again") from None
        if (found.st_size, found.st_mtime_ns) != (self.size, self.changed):
            raise DataError(f"{show(self.name)} has changed since the data were first read: fit the audit again")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Where rows come from, as often as they are asked for."""

    names: tuple[str, ...]  # of the columns
    read: Callable[[Sequence[str], int], Iterator[Any]]  # some columns as pyarrow's batches of about so many rows
    lazy: Any = None  # what narwhals can count rows of without reading them into memory
    files: tuple[File, ...] = ()  # that are read, where they are known
    schemas: Callable[[], Iterable[tuple[str, Any]]] = tuple  # of each file, with its name

    @contextmanager
    def reading(self, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Say in a sentence what goes wrong where others' programs read, but for errors that are to pass."""
        with reading(FILES if self.files else QUERY, passing):
            yield

    def pieces(self, names: Sequence[str], size: int) -> Iterator[Any]:
        """Hand out some columns as pyarrow tables of ``size`` rows, the last of fewer."""
        import pyarrow as pa

        for file in self.files:
            file.check()
        held: list[Any] = []
        for batch in self._batches(names, size):
            held.append(batch)
            while sum(map(len, held)) >= size:
                table = pa.Table.from_batches(held)
                yield decoded(table.slice(0, size))
                held = table.slice(size).to_batches() if len(table) > size else []
        if held:
            yield decoded(pa.Table.from_batches(held))

    def _batches(self, names: Sequence[str], size: int) -> Iterator[Any]:
        with self.reading():
            yield from self.read(list(dict.fromkeys(names)), size)

    def check(self, names: Sequence[str], by: str) -> None:
        """Refuse names that no column has, by what names them, and columns that are not alike in all files."""
        check_unique(self.names)
        for name in names:
            if name not in self.names:
                near = did_you_mean(name, self.names)
                raise DataError(f"{by} names '{name}', which is not a column of the data{near}")
        with self.reading():
            _check_alike(self.schemas(), names)


@contextmanager
def reading(advice: str, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Say in a sentence what goes wrong where others' programs read, whose errors may be any."""
    try:
        yield
    except FairstressError:
        raise
    except Exception as problem:
        if isinstance(problem, passing):
            raise
        raise DataError(f"the data cannot be read ({describe_error(problem)}): {advice}") from problem


def _check_alike(schemas: Iterable[tuple[str, Any]], names: Sequence[str]) -> None:
    """Refuse columns that hold numbers in one file and something else in another, which would be re-coded."""
    first: dict[str, tuple[str, str]] = {}
    for file, schema in schemas:
        for name in names:
            place = schema.get_field_index(name)
            what = "" if place < 0 else _what(schema.field(place).type)
            before, known = first.setdefault(name, (file, what)) if what else (file, what)
            if known != what:
                both = f"{known} in {show(before)} and {what} in {show(file)}"
                raise DataError(f"column '{name}' holds {both}: write it alike in all files")


def _what(kind: Any) -> str:
    """What a column of some type holds, for people; nothing where all is missing."""
    import pyarrow.types as of

    kind = kind.value_type if of.is_dictionary(kind) else kind
    if of.is_null(kind):
        return ""
    if of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind):
        return "numbers"
    text = of.is_string(kind) or of.is_large_string(kind) or str(kind) == "string_view"  # new in pyarrow
    return "text" if text else f"values of the type {kind}"


def is_stream(data: Any) -> bool:
    """Whether data are read in batches: a path, or what a library has not read yet."""
    return isinstance(data, str | Path) or _kind(data) in _OPENERS


def open_stream(data: Any) -> Stream:
    """Open data that are read in batches."""
    try:
        import pyarrow.dataset  # noqa: F401  (which all of them are read by)
    except ImportError:
        raise DataError(_NEEDS_ARROW) from None
    if isinstance(data, str | Path):
        return _of_paths(data)
    with reading(QUERY):
        return _OPENERS[_kind(data)](data)


def is_several_files(where: Path) -> bool:
    """Whether a path is a folder, or a pattern of names."""
    return where.is_dir() or (glob.has_magic(str(where)) and not where.exists())


def checksum(where: str | Path) -> str:
    """SHA-256 of all files of a folder or pattern, one after the other in the order of their names."""
    sha = hashlib.sha256()
    for name in _files(where):
        with Path(name).open("rb") as file:
            while chunk := file.read(2**20):
                sha.update(chunk)
    return sha.hexdigest()


def _files(where: str | Path) -> list[str]:
    """The files of a folder, or those that a pattern matches."""
    text = str(where)
    pattern = f"{glob.escape(text)}/**/*" if Path(text).is_dir() else text
    return sorted(name for name in glob.glob(pattern, recursive=True) if Path(name).is_file())  # noqa: PTH207


def _kind(data: Any) -> str:
    """Library and class of data, without importing either."""
    kind = type(data)
    library = kind.__module__.split(".")[0].lstrip("_")  # DuckDB 1.4 and 1.5 call theirs _duckdb
    return f"{library}.{'Dataset' if hasattr(data, 'get_fragments') else kind.__name__}"


# ---------------------------------------------------------------- sources


def _of_paths(where: str | Path) -> Stream:
    """Parquet files: one, a folder of them, or all that a pattern such as ``people/*.parquet`` matches."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    text = str(where)
    files: Any = text if Path(text).exists() else _files(text)
    if not files or (Path(text).is_dir() and not _files(text)):
        what = f"no file in {show(text)}" if files else f"no file {show(text)}"
        raise DataError(f"there is {what}: give a Parquet file, a folder of them, a pattern, or a table held in memory")
    if isinstance(files, str) and Path(text).is_file() and not text.endswith(SUFFIXES):
        raise DataError(f"{show(text)} is no Parquet file by its name: read it, and give the table itself")
    try:
        return _of_dataset(_with_folders(files, ds.dataset(files, format="parquet")))
    except (OSError, pa.ArrowException) as problem:
        raise DataError(f"{show(text)} cannot be read as Parquet ({problem}): {FILES}") from None


def _with_folders(files: Any, plain: Any) -> Any:
    """The dataset of some files with columns by which folders are named, ``region=north``, unless files have them."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    known = _schema_of_all(plain)
    alike = ds.dataset(files, format="parquet", schema=known)
    try:
        named = ds.dataset(files, format="parquet", partitioning="hive").partitioning.schema
    except (OSError, pa.ArrowException):  # where a column of the files has another type
        return alike
    if not named.names or set(named.names) & set(known.names):
        return alike
    schema = pa.schema([*known, *named])
    return ds.dataset(files, format="parquet", partitioning=ds.partitioning(named, flavor="hive"), schema=schema)


def _schema_of_all(data: Any) -> Any:
    """Columns as wide as the widest of all files: whole numbers in one and fractions in another are fractions."""
    import pyarrow as pa

    schemas = [schema for _, schema in _schemas(data)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive") if schemas else data.schema
    except (pa.ArrowException, TypeError):  # files that are not alike, of which `check` tells; pyarrow of old
        return data.schema


def _of_dataset(data: Any) -> Stream:
    def read(names: Sequence[str], size: int) -> Iterator[Any]:
        # few batches ahead, so that memory does not grow with the size of the files' row groups
        options = {"batch_size": size, "batch_readahead": 4, "fragment_readahead": 1}
        return iter(data.to_batches(columns=list(names), **options))

    local = hasattr(data, "files") and data.filesystem.type_name == "local"
    files = tuple(map(File.of, data.files)) if local else ()
    return Stream(tuple(map(str, data.schema.names)), read, files=files, schemas=lambda: _schemas(data))


def _schemas(data: Any) -> Iterator[tuple[str, Any]]:
    """What each file of a dataset says of its columns."""
    for fragment in data.get_fragments() if hasattr(data, "files") else ():
        yield str(fragment.path), fragment.physical_schema


def _of_lazy_frame(data: Any) -> Stream:
    if not hasattr(data, "collect_batches"):
        raise DataError(
            "the data are a LazyFrame of a polars that cannot hand out batches: install a newer polars, or write "
            "them with sink_parquet and give the path"
        )

    def read(names: Sequence[str], size: int) -> Iterator[Any]:
        for frame in data.select(names).collect_batches(chunk_size=size, maintain_order=True):
            yield from frame.to_arrow().to_batches()

    return Stream(tuple(data.collect_schema().names()), read, data)


_READERS = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")  # of newer and older versions of DuckDB


def _of_relation(data: Any) -> Stream:
    def read(names: Sequence[str], size: int) -> Iterator[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        chosen = data.project(quoted)
        reader = next(filter(None, (getattr(chosen, name, None) for name in _READERS)))
        return iter(reader(size))

    return Stream(tuple(map(str, data.columns)), read, data)


_OPENERS: dict[str, Callable[[Any], Stream]] = {
    "pyarrow.Dataset": _of_dataset,
    "polars.LazyFrame": _of_lazy_frame,
    "duckdb.DuckDBPyRelation": _of_relation,
}
