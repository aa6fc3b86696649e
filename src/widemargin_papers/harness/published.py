"""The project's table of data sets: how large each file is and where it is published.

``data_files.csv`` names files as on LIBSVM's data page. Files that other places publish
are expected as LIBSVM text under these names, but for the census table, which is read
as it comes.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"


@dataclass(frozen=True)
class DataFile:
    """A data file: its name, its shape as text, and the page that publishes it."""

    name: str
    shape: str
    published: str

    def __str__(self) -> str:
        """Name, shape and address, in one line."""
        return f"{self.name}{f' ({self.shape})' * bool(self.shape)}: {self.published}"


def table_rows(package: str, file: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file that lies in a package."""
    text = resources.files(package).joinpath(file).read_text(encoding="ascii")
    return list(csv.DictReader(text.splitlines()))


@cache
def data_files() -> dict[str, DataFile]:
    """Return all data files that something here reads, by name."""
    return {
        row["file"]: DataFile(
            row["file"],
            f"{int(row['rows']):,} x {row['features'] or 'several'}",
            row["published"],
        )
        for row in table_rows("widemargin_papers.harness", "data_files.csv")
    }


def data_file(name: str) -> DataFile:
    """Return what is known of a data file; one not in the table is LIBSVM's."""
    return data_files().get(name) or DataFile(name, "", LIBSVM)
