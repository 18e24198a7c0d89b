"""What is written is whole or not there, whoever reads it and whenever it is cut short; what is read is never lost."""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairstress as fs
from fairstress.errors import SettingError
from fairstress.saving import check_apart, check_target, save

SOURCE = str(Path(fs.__file__).parent)

# the package without its face, which would load numpy and pandas first
BEGIN = f"""import sys, types
sys.modules["fairstress"] = own = types.ModuleType("fairstress")
own.__path__ = [{SOURCE!r}]
"""


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


def test_a_file_is_replaced_keeps_its_permissions_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "results.json"
    save(path, "old", "the results")
    path.chmod(0o640)
    save(path, "n\N{LATIN SMALL LETTER E WITH ACUTE}w", "the results")
    assert path.read_text(encoding="utf-8") == "n\N{LATIN SMALL LETTER E WITH ACUTE}w"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["results.json"]


def test_new_files_have_the_permissions_that_new_files_have(tmp_path):
    (tmp_path / "other").touch()
    save(tmp_path / "results.json", b"new", "the results")
    assert (tmp_path / "results.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_link_stays_a_link_and_a_pipe_is_written_to(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    save(tmp_path / "link", "new", "the results")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        save(tmp_path / "pipe", "through", "the results")
        assert reader.communicate(timeout=60)[0] == b"through"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_full_disk_or_a_size_limit_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    code = BEGIN + (
        "import resource; from fairstress.saving import save; from fairstress.errors import SettingError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: save(sys.argv[1], 'x' * 100_000, 'the results')\n"
        "except SettingError as problem: print(problem)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert found.stdout == f"cannot write the results to {str(path)!r}: File too large\n"
    assert path.read_text() == "old"
    assert parts(tmp_path) == []


WRITER = BEGIN + (
    "import itertools; from fairstress.saving import save\n"
    "for i in itertools.count():\n"
    "    save(sys.argv[1], f'{i} ' * 30_000, 'the results')\n"
    "    i or print('begun', flush=True)\n"
)


def begin_writing(path: Path) -> subprocess.Popen:
    """Let another process write one file after the other, and come back when it has begun."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "begun\n"
    return writer


def end(writer: subprocess.Popen) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.communicate()


def is_whole(path: Path) -> bool:
    words = path.read_text().split()
    return len(words) == 30_000 and len(set(words)) == 1


def test_readers_never_see_a_part_of_what_two_writers_write(tmp_path):
    path = tmp_path / "results.json"
    writers = [begin_writing(path) for _ in range(2)]
    seen = set()
    for _ in range(100):
        assert is_whole(path)
        seen.add(path.stat().st_ino)
    for writer in writers:
        end(writer)
    assert len(seen) > 1


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    path, draw = tmp_path / "results.json", random.Random(0)
    for _ in range(20):
        writer = begin_writing(path)
        time.sleep(draw.uniform(0, 0.05))
        end(writer)
        assert is_whole(path)


def test_what_is_no_place_to_write_to_is_refused_beforehand(tmp_path):
    (tmp_path / "file").write_text("old")
    for path, why in {
        tmp_path: "it is a folder",
        tmp_path / "no" / "where.json": f"there is no folder {str(tmp_path / 'no')!r}",
        tmp_path / "file" / "where.json": f"there is no folder {str(tmp_path / 'file')!r}",
        tmp_path / ("n" * 300): "File name too long",
        str(tmp_path / "zero\0"): "embedded null",
    }.items():
        with pytest.raises(SettingError, match=re.escape(why)) as refused:
            check_target(path, "the report")
        assert str(refused.value).startswith("cannot write the report to ")
    with pytest.raises(SettingError, match="path is 3: give the file to write the report to"):
        check_target(3, "the report")
    check_target(tmp_path / "file", "the report")
    check_target("/dev/null", "the report")
    assert (tmp_path / "file").read_text() == "old"
    assert parts(tmp_path) == []


def test_what_must_not_be_changed_is_refused_beforehand(tmp_path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "file").touch()
    monkeypatch.setattr("os.access", lambda *_: False)  # nothing is forbidden to root
    with pytest.raises(SettingError, match="it must not be changed"):
        check_target(tmp_path / "file", "the report")
    monkeypatch.setattr("pathlib.Path.touch", forbid)
    with pytest.raises(SettingError, match="Permission denied"):
        check_target(tmp_path / "page.html", "the report")


def test_outputs_are_kept_apart_from_each_other_and_from_what_is_read(tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("a")
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "hard.csv").hardlink_to(data)
    for same in (data, tmp_path / "." / "people.csv", tmp_path / "link.csv", tmp_path / "hard.csv"):
        with pytest.raises(SettingError, match=r"the results would overwrite the data, .*: give another file"):
            check_apart({"the results": same}, {"the data": data})
    with pytest.raises(SettingError, match="the report would be written to the same file as the results"):
        check_apart({"the results": tmp_path / "new", "the report": tmp_path / "x" / ".." / "new"}, {})
    check_apart({"the results": tmp_path / "new", "the report": None}, {"the data": data})


def test_a_run_that_is_killed_leaves_whole_files():
    study = runpy.run_path(str(Path(__file__).parents[1] / "studies" / "killed_runs.py"))["study"]
    moments, found, _ = study(4, seed=1)  # which refuses a file that is not whole
    assert sum(moments.values()) == sum(found.values()) == 4
