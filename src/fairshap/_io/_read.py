"""Read a table from a file, standard input or the built-in ones."""

import hashlib
import os
import sys
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import cast

import pandas as pd

from fairshap import datasets
from fairshap._frames import Kind
from fairshap._io._arrow import ArrowDocument, FeatherDocument, ParquetDocument
from fairshap._io._document import Document, Inferred
from fairshap._io._excel import ExcelDocument
from fairshap._io._formats import DELIMITERS, Format, check_format, format_of, restore
from fairshap._io._frames import FrameDocument
from fairshap._io._kinds import MISSING
from fairshap._io._source import Source, missing_column
from fairshap._io._text import TextDocument
from fairshap._messages import did_you_mean, listing
from fairshap.datasets import stored_bytes
from fairshap.exceptions import FileError, FileFormatError, InputError


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
    drop: Iterable[str] = (),
    missing: Iterable[str] = (),
) -> Source:
    r"""Return the table of a file, with all that is needed to write it again.

    Parameters
    ----------
    path : path-like
        A file whose name ends in .csv, .tsv, .tab, .parquet, .pq, .feather, .arrow, .ipc, .xlsx or .xlsm,
        each also with .gz, .bz2, .xz or .zst; ``-`` for standard input; or the name of a built-in table (a
        file of such a name is given as ``./name``).
    format : {"csv", "tsv", "parquet", "feather", "excel"}, optional
        The format, if the ending does not say it. Standard input is CSV unless told otherwise.
    delimiter : str, optional
        What is between two fields of a CSV or TSV file, if it is not a comma or a tab.
    encoding : str, optional
        How a CSV or TSV file is encoded, if not in UTF-8.
    categorical, numeric : iterable of str
        Columns that are categories or numbers, whatever they look like.
    drop : iterable of str
        Columns that the frame does not have. The file that is written does.
    missing : iterable of str
        Texts that mean that a cell is missing, beside the usual ones: nothing, NA, N/A, n/a, #N/A, <NA>, NaN,
        nan, -NaN, -nan, NULL, null and None. They matter for CSV, TSV and Excel.

    Returns
    -------
    Source
        The table.

    Notes
    -----
    In text, a column of numbers is numeric, however few different ones there are. It is a category if a
    number is written with leading zeros (``007`` is a code) or is whole and beyond 2^53 (an identifier). All
    else is a category. Other formats say themselves what their columns are.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("age,zip\n31,02139\n45,94110\n")
    >>> source = read(file)
    >>> {name: inferred.kind for name, inferred in source.inferred.items()}
    {'age': 'numeric', 'zip': 'category'}
    """
    name = os.fspath(path)
    asked = {"categorical": list(categorical), "numeric": list(numeric), "drop": list(drop)}
    _check_lists(asked)
    dataset = None
    if name in datasets.names():
        if format or delimiter or encoding:
            raise InputError(f"{name!r} is a built-in table; format, delimiter and encoding are for files.")
        dataset = datasets.load(name)
        raw, file = stored_bytes(name), None
        document: Document = FrameDocument(dataset.X.assign(**{str(dataset.y.name): dataset.y}))
    else:
        file = None if name == "-" else Path(name)
        form = _format(file, format)
        raw = _read_input() if file is None else _read_bytes(file)
        content = raw if file is None else restore(raw, file)
        texts = MISSING | {text.strip() for text in missing}
        document = _open(content, name, form, delimiter, encoding, texts)
    frame, inferred = _read_columns(document, name, asked)
    document.release()
    return Source(
        name=name,
        path=file,
        format=document.format,
        checksum=hashlib.sha256(raw).hexdigest(),
        frame=frame,
        inferred=inferred,
        dataset=dataset,
        document=document,
    )


def _check_lists(asked: dict[str, list[str]]) -> None:
    both = [name for name in asked["numeric"] if name in asked["categorical"]]
    if both:
        raise InputError(f"{listing(both)} cannot be both numeric and categorical; name each in one of them.")


def _format(path: Path | None, given: str | None) -> Format:
    if given is not None:
        return check_format(given)
    if path is None:
        return "csv"
    if not path.exists() and not path.suffix:
        # More likely a built-in table than a file.
        raise FileError(_not_there(path))
    return format_of(path)


def _read_input() -> bytes:
    """Return all of standard input, in pieces: Python answers signals between reads, not within one."""
    pipe = cast(BufferedReader, sys.stdin.buffer)
    return b"".join(iter(lambda: pipe.read1(1 << 20), b""))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise FileError(_not_there(path)) from error
    except IsADirectoryError as error:
        raise FileError(f"{str(path)!r} is a folder; give one file in it.") from error
    except PermissionError as error:
        raise FileError(f"{str(path)!r} cannot be read: you are not allowed to.") from error
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def _not_there(path: Path) -> str:
    tables = datasets.names()
    try:
        files = [str(path.parent / file.name) for file in path.parent.iterdir()]
    except OSError:
        files = []
    hint = did_you_mean(str(path), [*files, *tables])
    return f"there is no file {str(path)!r}, nor a built-in table of that name ({listing(tables)}).{hint}"


def _open(
    content: bytes,
    name: str,
    form: Format,
    delimiter: str | None,
    encoding: str | None,
    missing: frozenset[str],
) -> Document:
    """Return the document of a file's content."""
    if not content:
        raise FileFormatError(f"{'standard input' if name == '-' else repr(name)} is empty.")
    if form in DELIMITERS:
        return TextDocument(content, name, form, delimiter, encoding, missing)
    if delimiter is not None or encoding is not None:
        raise InputError(f"delimiter and encoding are for CSV and TSV; {name!r} is read as {form}.")
    if form == "excel":
        return ExcelDocument(content, name, missing)
    return ParquetDocument(content, name) if form == "parquet" else FeatherDocument(content, name)


def _read_columns(
    document: Document, name: str, asked: dict[str, list[str]]
) -> tuple[pd.DataFrame, dict[str, Inferred]]:
    for what, columns in asked.items():
        for column in columns:
            if column not in document.names:
                raise missing_column(column, what, name, list(document.names))
    dropped: Collection[str] = asked["drop"]
    if isinstance(document, ArrowDocument):
        dropped = {*dropped, *document.index}
    kept = [column for column in document.names if column not in dropped]
    if not kept:
        raise InputError(f"drop leaves no column of {name!r}.")
    kinds: dict[str, Kind] = {
        **dict.fromkeys(asked["categorical"], "category"),
        **dict.fromkeys(asked["numeric"], "numeric"),
    }
    with ThreadPoolExecutor(min(len(kept), os.cpu_count() or 1)) as pool:
        found = list(
            pool.map(lambda column: document.column(document.names.index(column), kinds.get(column)), kept)
        )
    frame = pd.DataFrame(
        {column: series for column, (series, _) in zip(kept, found, strict=True)}, copy=False
    )
    inferred = {column: inferred for column, (_, inferred) in zip(kept, found, strict=True)}
    return frame.reset_index(drop=True), inferred
