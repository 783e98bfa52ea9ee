"""The Parquet files of a data set: found, checked before any work, read and written a row group at a time."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from fairshap._messages import import_extra, listing
from fairshap.exceptions import FileError

# The bytes that are read at a time for a checksum.
_BLOCK = 1 << 22
# The digits of a decimal that float64 holds.
_DIGITS = 15
# Columns in which pandas keeps an index: passed through.
INDEX = "__index_level_"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a data set."""

    path: str
    #: Its path below the folder of the data set.
    name: str
    #: The number of its first row in the data set, and the sizes of its row groups.
    first_row: int
    row_groups: tuple[int, ...]
    #: The columns that its folders stand for, and their values.
    partition: Mapping[str, Any]
    #: A checksum of its footer, which tells where all columns are and how long they are.
    footer: str

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return sum(self.row_groups)


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a data set, in order; all have the same columns."""

    filesystem: Any
    files: tuple[File, ...]
    #: The columns of the files, and those that folders stand for.
    schema: pa.Schema
    partitions: pa.Schema

    @classmethod
    def open(cls, source: Any) -> "Files":
        """Return the files of a path, a folder, a pattern, a list of these, a URL or a pyarrow data set."""
        data = source if isinstance(source, ds.Dataset) else _open(source)
        if not isinstance(data, ds.FileSystemDataset) or not data.files:
            raise _wrong(f"{_show(source)} holds no Parquet files.")
        if twice := [path for path, n in Counter(data.files).items() if n > 1]:
            raise _wrong(f"{listing(twice, 3)} is given twice, so its rows would count twice; give it once.")
        root, found, first, start = _root(data.files), [], None, 0
        for fragment in sorted(data.get_fragments(), key=lambda one: str(one.path)):
            with _reading(fragment.path), data.filesystem.open_input_file(fragment.path) as opened:
                metadata = pq.ParquetFile(opened).metadata
                schema = metadata.schema.to_arrow_schema()
                footer = _footer(opened)
            sizes = tuple(metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
            # Before the types are compared: those of empty columns are often unknown.
            if not sum(sizes):
                raise _wrong(f"{fragment.path!r} has no rows. Take the file out of the data set.")
            if first is None:
                first = fragment.path, schema
            _check_same(*first, fragment.path, schema)
            partition = ds.get_partition_keys(fragment.partition_expression)
            name = str(PurePosixPath(fragment.path).relative_to(root))
            found.append(File(fragment.path, name, start, sizes, partition, footer))
            start += sum(sizes)
        assert first is not None  # noqa: S101 - there are files
        own = first[1]
        names = [name for name in data.schema.names if name not in own.names]
        partitions = pa.schema([data.schema.field(name) for name in names])
        return cls(data.filesystem, tuple(found), own, partitions)

    @property
    def n_rows(self) -> int:
        """The number of rows of all files."""
        return sum(file.n_rows for file in self.files)

    @property
    def names(self) -> list[str]:
        """The columns that can be features or the target: of the files and of the folders."""
        own = [name for name in self.schema.names if not name.startswith(INDEX)]
        return [*own, *self.partitions.names]

    def row_groups(self, file: File) -> Iterator[pa.Table]:
        """Yield the row groups of a file, with the columns of its folders last."""
        with _reading(file.path), self.filesystem.open_input_file(file.path) as opened:
            reader = pq.ParquetFile(opened)
            for k in range(len(file.row_groups)):
                if file.row_groups[k]:
                    table = reader.read_row_group(k)
                    table = table.cast(pa.schema([_readable(field) for field in table.schema]))
                    for field in self.partitions:
                        value = pa.scalar(file.partition.get(field.name), type=_plain(field.type))
                        table = table.append_column(field.name, pa.repeat(value, len(table)))
                    yield table

    def chunks(self, columns: Sequence[str], size: int) -> Iterator[pa.Table]:
        """Yield some columns of all rows in tables of the same size, wherever the files end."""
        waiting: list[pa.Table] = []
        n = 0
        for table in (table.select(columns) for file in self.files for table in self.row_groups(file)):
            waiting.append(table)
            n += len(table)
            while n >= size:
                joined = join(waiting)
                yield joined.slice(0, size)
                waiting, n = [joined.slice(size)], n - size
        if n:
            yield join(waiting)

    def write(self, file: File, groups: Iterator[pa.Table], out: Any, path: str) -> str:
        """Write a file's row groups elsewhere, aside and then renamed, and return the checksum."""
        with self.filesystem.open_input_file(file.path) as opened:
            metadata = pq.ParquetFile(opened).metadata
        packed = metadata.row_group(0)
        columns = [packed.column(k) for k in range(packed.num_columns)]
        codecs = {one.path_in_schema: one.compression.replace("UNCOMPRESSED", "NONE") for one in columns}

        def fill(stream: Any) -> None:
            with pq.ParquetWriter(stream, self.schema, compression=codecs) as writer:
                for table in groups:
                    writer.write_table(table, row_group_size=len(table))

        return write_stream(out, path, fill)


def join(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of several tables as one, with one dictionary for each column."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()


def open_folder(out: Any) -> tuple[Any, str]:
    """Return the file system of a folder that is written to, and its path there."""
    filesystem, paths = _paths(str(out))
    return filesystem, paths[0]


def write_stream(filesystem: Any, path: str, fill: Callable[[Any], Any]) -> str:
    """Write a file under another name, rename it when it is complete, and return its checksum."""
    place = PurePosixPath(path)
    filesystem.create_dir(str(place.parent), recursive=True)
    aside = str(place.with_name(f".{place.name}.part"))
    with filesystem.open_output_stream(aside) as stream:
        fill(stream)
    checksum = checksum_of(filesystem, aside)
    filesystem.move(aside, path)
    return checksum


def checksum_of(filesystem: Any, path: str) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with filesystem.open_input_stream(path) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_json(filesystem: Any, path: str) -> Any:
    """Return what a file of JSON holds, None if there is no such file."""
    if filesystem.get_file_info(path).type == fs.FileType.NotFound:
        return None
    with filesystem.open_input_stream(path) as stream:
        try:
            return json.loads(stream.read())
        except ValueError as error:
            raise FileError(f"{path!r} is damaged: it is no JSON ({error}).", parameter="out") from error


def is_among(source: Any, path: str) -> bool:
    """Say whether a file that is written would be one of the source too, when it is read again."""
    if isinstance(source, ds.Dataset):
        return False
    filesystem, paths = _paths(source)
    for one in paths:
        if filesystem.get_file_info(one).type == fs.FileType.Directory:
            inside = PurePosixPath(path)
            # Readers of folders pass over names that begin with these.
            if inside.is_relative_to(one) and not any(
                part.startswith(("_", ".")) for part in inside.relative_to(one).parts
            ):
                return True
        elif path == one or (_is_pattern(one) and PurePosixPath(path).match(one)):
            return True
    return False


def _paths(source: Any) -> tuple[Any, list[str]]:
    """Return the file system of paths, of patterns or of a URL, and the paths there."""
    paths = [str(path) for path in source] if isinstance(source, (list, tuple)) else [str(source)]
    if "://" in paths[0]:
        places = [_by_url(path) for path in paths]
        return places[0][0], [path for _, path in places]
    return fs.LocalFileSystem(), [Path(path).absolute().as_posix() for path in paths]


def _open(source: Any) -> ds.Dataset:
    """Return the data set of paths, of patterns or of a URL."""
    filesystem, paths = _paths(source)
    found = [one for path in paths for one in _expand(filesystem, path)]
    if not found:
        raise _wrong(f"{_show(source)} names no file.")
    partitioning = ds.HivePartitioning.discover()
    try:
        if len(found) == 1:
            return ds.dataset(found[0], filesystem=filesystem, format="parquet", partitioning=partitioning)
        # Of a list of files the folders are not looked at otherwise.
        options = ds.FileSystemFactoryOptions(partition_base_dir=_root(found), partitioning=partitioning)
        form = ds.ParquetFileFormat()
        return ds.FileSystemDatasetFactory(filesystem, found, form, options).finish()
    except (OSError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _wrong(f"{_show(source)} cannot be read as Parquet: {_first_line(error)}") from error


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _expand(filesystem: Any, path: str) -> list[str]:
    """Return the files that a pattern names, or the path itself."""
    if filesystem.get_file_info(path).type != fs.FileType.NotFound:
        return [path]
    if not _is_pattern(path):
        raise _wrong(f"there is no file or folder {path!r}.")
    plain = takewhile(lambda part: not _is_pattern(part), PurePosixPath(path).parts)
    base = str(PurePosixPath(*plain))
    selector = fs.FileSelector(base, recursive=True, allow_not_found=True)
    every = (info.path for info in filesystem.get_file_info(selector) if info.type == fs.FileType.File)
    return sorted(one for one in every if PurePosixPath(one).match(path))


def _by_url(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, pyarrow's own or one of fsspec's, and the path there."""
    try:
        found, path = fs.FileSystem.from_uri(url)
        return found, str(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        core = import_extra("fsspec.core", f"the URL {url!r}", "remote")
        try:
            found, path = core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise _wrong(f"{url!r} cannot be opened: {error}") from error
        return fs.PyFileSystem(fs.FSSpecHandler(found)), str(path)


def _root(paths: Sequence[str]) -> str:
    """Return the folder that all paths are in; key=value folders are below it."""
    parents = [PurePosixPath(path).parts[:-1] for path in paths]
    shared = []
    for parts in zip(*parents, strict=False):
        if len(set(parts)) > 1 or "=" in parts[0]:
            break
        shared.append(parts[0])
    return str(PurePosixPath(*shared)) if shared else ""


def _footer(opened: Any) -> str:
    """Return a checksum of the metadata at the end of a Parquet file; its length stands after it."""
    size = opened.size()
    opened.seek(size - 8)
    length = int.from_bytes(opened.read(4), "little")
    opened.seek(max(0, size - 8 - length))
    return hashlib.sha256(opened.read()).hexdigest()


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Say which file cannot be read."""
    try:
        yield
    except FileError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise _wrong(
            f"{path!r} cannot be read as Parquet ({_first_line(error)}); nothing was written for it."
        ) from error


def _check_same(first: str, expected: pa.Schema, path: str, schema: pa.Schema) -> None:
    """Raise an error if the columns of two files differ."""
    if schema.equals(expected):
        return
    lacking = [name for name in expected.names if name not in schema.names]
    more = [name for name in schema.names if name not in expected.names]
    if lacking or more:
        word, names = ("lacks", lacking) if lacking else ("has", more)
        also = f", which {first!r} {'has' if lacking else 'lacks'}"
        raise _wrong(f"{path!r} {word} the column {listing(names)}{also}. Give all files the same columns.")
    for field in expected:
        if schema.field(field.name).type != field.type:
            raise _wrong(
                f"column {field.name!r} is {field.type} in {first!r} and {schema.field(field.name).type} in "
                f"{path!r}. Give all files the same types."
            )
    if schema.names != expected.names:
        raise _wrong(
            f"{path!r} has the columns of {first!r} in another order. Give all files the same order."
        )


def _readable(field: pa.Field) -> pa.Field:
    """Return a column in the type that numbers and dates are compared in; it is written in its own."""
    kind = field.type
    if pa.types.is_date(kind):
        return field.with_type(pa.timestamp("ms"))
    # Digits that float64 has; longer ones stay categories.
    if pa.types.is_float16(kind) or (pa.types.is_decimal(kind) and kind.precision <= _DIGITS):
        return field.with_type(pa.float64())
    return field.with_type(pa.large_string()) if pa.types.is_string_view(kind) else field


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__


def _show(source: Any) -> str:
    return listing(map(str, source), 3) if isinstance(source, (list, tuple)) else repr(str(source))


def _wrong(text: str) -> FileError:
    return FileError(text, parameter="source")
