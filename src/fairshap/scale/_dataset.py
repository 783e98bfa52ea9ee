"""Repair a data set that is larger than memory, file by file; an interrupted run goes on where it stopped."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, Self

import joblib
import numpy as np
import pyarrow as pa
from pyarrow import fs
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from fairshap import __version__
from fairshap._messages import Progress, check_number, did_you_mean, listing
from fairshap.edits import EditConstraints, Edits
from fairshap.edits._ledger import header_of
from fairshap.estimators import FairSHAP
from fairshap.evidence import Evidence
from fairshap.evidence._audit import is_fitted
from fairshap.evidence._gates import read_conditions
from fairshap.exceptions import ColumnError, FileError, InputError
from fairshap.scale._evidence import Subject, make_evidence
from fairshap.scale._files import (
    File,
    Files,
    checksum_of,
    is_among,
    join,
    open_folder,
    read_json,
    write_stream,
)
from fairshap.scale._fitting import MAX_REFERENCES
from fairshap.scale._reading import read_repairer
from fairshap.scale._repairer import Repairer
from fairshap.scale._sums import Sums

# The bytes of a ledger's lines that are held in memory, and that are copied at a time.
_HELD, _BLOCK = 1 << 24, 1 << 22
# Folders that readers of data sets pass over, because of the underscore.
_LEDGER, _MANIFEST = "_ledger", "_fairshap/manifest.json"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DatasetRepair:
    """What a repair of a data set did.

    Attributes
    ----------
    sums : Sums
        Counts and sums over all rows: edits by column, and the audit figures of the explained model.
    files : tuple of str
        The repaired files, below the folder. The ledger of ``a.parquet`` is ``_ledger/a.parquet.csv``.
    diagnostics : dict
        How many rows and references each stratum has; see :class:`fairshap.Repairer`.
    n_resumed : int
        The files that an earlier run had written already.
    subject : Subject
        What the sums are about: names, and no row.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairshap import FairSHAP, datasets, repair_dataset
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> d = datasets.make_biased(400, random_state=0)
    >>> d.X.assign(hired=d.y).to_parquet(folder / "people.parquet")
    >>> repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> done = repair_dataset(folder / "people.parquet", folder / "fair", repair, target="hired")
    >>> done.files, done.sums.n_rows
    (('people.parquet',), 400)
    """

    sums: Sums
    files: tuple[str, ...]
    diagnostics: dict[str, Any]
    n_resumed: int
    subject: Subject

    def report(self, *, fail_if: Iterable[str] = (), **about: Any) -> Evidence:
        """Return the evidence in the sums: groups, outcomes, errors, DR, flips, and edits by column.

        Before and after are the explained model's own, on the rows as they were and as they are repaired. See
        :func:`fairshap.audit` for the parameters, of which ``ids`` means nothing here.
        """
        about = {"title": "Fairness repair", **about}
        return make_evidence(self.sums, self.subject, is_repair=True, fail_if=fail_if, about=about)

    def __repr__(self) -> str:
        sums = self.sums
        return f"DatasetRepair({len(self.files)} files, {sums.n_rows} rows, {sums.n_edits} cells edited)"


def repair_dataset(
    source: Any,
    out: Any,
    repair: FairSHAP,
    *,
    target: str,
    positive: Any = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_references: int | None = MAX_REFERENCES,
    max_memory: float = 3.0,
) -> DatasetRepair:
    """Repair the Parquet files of a data set into a folder, in memory that does not grow with them.

    The first pass over the rows fits the model and chooses references; the second repairs file by file.
    Files, folders, row order, row groups, columns and types stay the same. If all rows are references and
    fit into memory, the result is that of ``FairSHAP.fit_resample`` on the whole table, byte for byte.

    Each file is written aside and renamed, and noted in ``out/_fairshap/manifest.json`` with its checksum. A
    run that was interrupted goes on after the last complete file if it is called again; other arguments or
    other files are an error.

    Parameters
    ----------
    source : path, folder, pattern, URL, list of these, or pyarrow.dataset.Dataset
        The files. Folders such as ``year=2024`` are columns, which are not edited. URLs that pyarrow does not
        know need fsspec, the extra ``remote``.
    out : path or URL
        The folder to write to, new or empty. The ledgers are in ``_ledger`` in it. Rows are counted through
        all files in the order of their names.
    repair : FairSHAP
        How the table is repaired; see :meth:`Repairer.fit` for what cannot be done in batches. Give an
        integer as ``random_state``, so that an interrupted run can go on.
    target : str
        The column to predict.
    positive : label, optional
        The positive label, for the figures in the sums; by default the larger of two.
    drop : list of str, optional
        Columns that the model does not see, such as identifiers; they are written as they are.
    categorical : list of str, optional
        Columns that are pandas categories to the model: text, or whole numbers that are codes.
    max_references : int, default=10000
        The most references of one label on one side; None for all rows, as far as they fit into memory.
    max_memory : float, default=3.0
        GiB of memory to use at most. Data sets with more rows than fit are sampled to fit the model and to
        choose references. A row group has to fit as well: it is written at once.

    Returns
    -------
    DatasetRepair

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairshap import FairSHAP, datasets, repair_dataset
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> d = datasets.make_biased(400, random_state=0)
    >>> d.X.assign(hired=d.y).to_parquet(folder / "people.parquet")
    >>> repair = FairSHAP(sensitive="group", privileged="a", random_state=0)
    >>> repair_dataset(folder / "people.parquet", folder / "fair", repair, target="hired")
    DatasetRepair(1 files, 400 rows, 211 cells edited)
    """
    files, columns = _open(source, target, drop, categorical, max_memory)
    repair = _prepared(repair, files, columns)
    filesystem, folder = open_folder(out)
    asked = {
        "target": target,
        "positive": repr(positive),
        "drop": sorted(drop),
        "categorical": sorted(categorical),
        "max_references": max_references,
        "max_memory": max_memory,
        # Another version may repair otherwise, or write the same values in other bytes.
        "fairshap": __version__,
        "pyarrow": pa.__version__,
    }
    for file in files.files:
        if is_among(source, f"{folder.rstrip('/')}/{file.name}"):
            raise _wrong(f"{folder!r} is in the data set that is read; give a folder that is not.")
    run = _Run(filesystem, folder, _identify(files, repair, asked))
    run.check(files)
    repairer, size = read_repairer(
        files, repair, columns, target, positive, categorical, max_references, max_memory
    )
    run.begin(repairer)
    with Progress("Repairing", files.n_rows, repair.verbose) as progress:
        for file in files.files:
            if not run.is_done(file):
                run.repair(files, file, repairer, size, repair.n_jobs)
            progress.advance(file.n_rows, file.n_rows)
    return run.result(files, Subject.of(repairer, repair))


def audit_dataset(
    source: Any,
    model: Any = None,
    *,
    target: str,
    sensitive: Any,
    privileged: Any,
    positive: Any = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    threshold: float = 0.05,
    fail_if: Iterable[str] = (),
    max_references: int | None = MAX_REFERENCES,
    max_memory: float = 3.0,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
    **about: Any,
) -> Evidence:
    """Return evidence of how a model treats groups, from Parquet files of any size; nothing is written.

    The figures are those of :func:`fairshap.audit` that sums over batches tell: groups, outcomes, errors,
    discriminative risk, flips, and what columns add to the risk. Those that need all rows at once are not
    known: ROC AUC, calibration and proxies.

    Parameters
    ----------
    source, target, positive, drop, categorical, max_references, max_memory
        As of :func:`repair_dataset`.
    model : estimator, optional
        A fitted model is judged as it is. An unfitted one, or None for scikit-learn's histogram gradient
        boosting, is trained on the rows that fit into memory.
    sensitive, privileged, threshold, fail_if, **about
        As of :func:`fairshap.audit`; the privileged values have to be given.
    random_state, n_jobs, verbose
        As of :class:`fairshap.FairSHAP`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairshap import audit_dataset, datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> d = datasets.make_biased(400, random_state=0)
    >>> d.X.assign(hired=d.y).to_parquet(folder / "people.parquet")
    >>> evidence = audit_dataset(folder, target="hired", sensitive="group", privileged="a")
    >>> evidence.groupings[0].labels[0].most_favored
    'a'
    """
    read_conditions(fail_if)
    estimator = FrozenEstimator(model) if model is not None and is_fitted(model) else model
    how: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "verbose": verbose}
    who = {"sensitive": sensitive, "privileged": privileged, "min_group_size": 1}
    repair = FairSHAP(estimator, **who, threshold=threshold, **how)
    files, columns = _open(source, target, drop, categorical, max_memory)
    repairer, size = read_repairer(
        files, repair, columns, target, positive, categorical, max_references, max_memory
    )
    parts = []
    with Progress("Auditing", files.n_rows, verbose) as progress:
        for chunk in files.chunks([*columns, target], size):
            parts.append(repairer.repair(chunk, n_jobs=n_jobs).sums)
            progress.advance(len(chunk), len(chunk))
    subject = Subject.of(repairer, repair)
    return make_evidence(Sums.total(parts), subject, is_repair=False, fail_if=fail_if, about=about)


def _open(
    source: Any, target: str, drop: Sequence[str], categorical: Sequence[str], max_memory: float
) -> tuple[Files, list[str]]:
    """Return the files, and the columns that the model sees."""
    what = "a number of GiB; give 3.0, for example."
    check_number(max_memory, "max_memory", what, low=np.nextafter(0.0, 1.0))
    files = Files.open(source)
    asked = [(target, "target")]
    for parameter, names in (("drop", drop), ("categorical", categorical)):
        if isinstance(names, str):
            text = f"{parameter}={names!r} must be a list of columns, such as [{names!r}]."
            raise InputError(text, parameter=parameter)
        asked += [(name, parameter) for name in names]
    for name, parameter in asked:
        if name not in files.names:
            raise ColumnError(
                f"{parameter}={name!r} is not a column of the files, which have {listing(files.names)}."
                f"{did_you_mean(name, files.names)}",
                parameter=parameter,
            )
    seen = [name for name in files.names if name != target and name not in drop]
    if unseen := [name for name in categorical if name not in seen]:
        text = f"categorical={unseen[0]!r} is the target or in drop; name columns that the model sees."
        raise ColumnError(text, parameter="categorical")
    return files, seen


class _Run:
    """A run and its manifest: what it was asked for, and which files are complete."""

    def __init__(self, filesystem: Any, folder: str, asked: dict[str, Any]) -> None:
        self.filesystem, self.folder, self.asked = filesystem, folder.rstrip("/"), asked
        self.manifest: dict[str, Any] = {}
        self.n_resumed = 0

    def check(self, files: Files) -> None:
        """Raise an error if the folder holds anything but the same run, interrupted or complete."""
        info = self.filesystem.get_file_info(self.folder)
        if info.type == fs.FileType.NotFound:
            return
        if info.type == fs.FileType.File:
            raise _wrong(f"{self.folder!r} is a file; give a folder that is new or empty.")
        known = read_json(self.filesystem, self._path(_MANIFEST))
        if known is None:
            # A run that was interrupted at its very beginning leaves no more than the manifest's folder.
            found = self.filesystem.get_file_info(fs.FileSelector(self.folder))
            if any(one.base_name != _MANIFEST.partition("/")[0] for one in found):
                raise _wrong(f"the folder {self.folder!r} is not empty; give one that is new or empty.")
            return
        if not isinstance(known, dict) or not known.keys() >= {"asked", "fitted", "diagnostics", "files"}:
            raise _wrong(f"{self._path(_MANIFEST)!r} is damaged; give another folder.")
        changed = [name for name, value in self.asked.items() if known["asked"].get(name) != value]
        if changed:
            raise _wrong(
                f"{self.folder!r} holds a repair with other arguments ({', '.join(changed)} changed). Give "
                "the same arguments to go on with it, or another folder."
            )
        for file in files.files:
            done = known["files"].get(file.name)
            paths = [self._path(file.name), self._path(ledger_of(file.name))]
            if done and [self._checksum(path) for path in paths] != [done["sha256"], done["ledger_sha256"]]:
                del known["files"][file.name]
        self.manifest, self.n_resumed = known, len(known["files"])

    def begin(self, repairer: Repairer) -> None:
        """Write the manifest, or see that the model that was fitted again is the one of the run before."""
        references = repairer.references
        some = references.take(np.arange(min(1000, len(references))), repairer.template.dtypes)
        fitted = joblib.hash([references.number, np.round(repairer.scorer(some), 9)])
        if self.manifest:
            if self.manifest["fitted"] != fitted:
                raise _wrong(
                    f"the model, fitted again, is not the one that the repair in {self.folder!r} began with. "
                    "Give a random_state and an estimator that is fitted alike every time, or a fitted one, "
                    "and a new folder."
                )
            return
        self.manifest = {
            "asked": self.asked,
            "fitted": fitted,
            "diagnostics": repairer.diagnostics,
            "files": {},
        }
        self._note()

    def is_done(self, file: File) -> bool:
        """Say whether a file is complete."""
        return file.name in self.manifest["files"]

    def repair(self, files: Files, file: File, repairer: Repairer, size: int, n_jobs: int | None) -> None:
        """Repair one file, write it and its ledger, and note both."""
        sums: Sums | None = None

        def groups(spool: _Spool) -> Iterator[pa.Table]:
            nonlocal sums
            row = file.first_row
            for table in files.row_groups(file):
                repaired = []
                for start in range(0, len(table), size):
                    batch = table.slice(start, size)
                    found = repairer.repair(batch, first_row=row + start, n_jobs=n_jobs)
                    spool.add(found.edits)
                    sums = found.sums if sums is None else sums + found.sums
                    repaired.append(found.X.select(files.schema.names))
                row += len(table)
                yield join(repaired).cast(files.schema)

        with _Spool() as spool:
            checksum = files.write(file, groups(spool), self.filesystem, self._path(file.name))
            ledger = self._path(ledger_of(file.name))
            ledger_checksum = write_stream(self.filesystem, ledger, lambda out: spool.write(out, checksum))
        assert sums is not None  # noqa: S101 - there are rows
        self.manifest["files"][file.name] = {
            "first_row": file.first_row,
            "rows": file.n_rows,
            "edits": spool.n_edits,
            "sha256": checksum,
            "ledger_sha256": ledger_checksum,
            "sums": sums.to_dict(),
        }
        self._note()

    def result(self, files: Files, subject: Subject) -> DatasetRepair:
        """Return what the run did, all files together."""
        found = self.manifest["files"]
        sums = Sums.total([Sums.from_dict(found[file.name]["sums"]) for file in files.files])
        names = tuple(file.name for file in files.files)
        return DatasetRepair(sums, names, self.manifest["diagnostics"], self.n_resumed, subject)

    def _note(self) -> None:
        content = json.dumps(self.manifest, indent=1, sort_keys=True).encode()
        write_stream(self.filesystem, self._path(_MANIFEST), lambda out: out.write(content))

    def _checksum(self, path: str) -> str | None:
        is_there = self.filesystem.get_file_info(path).type == fs.FileType.File
        return checksum_of(self.filesystem, path) if is_there else None

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


class _Spool:
    """The ledger of a file that is being repaired: its lines wait on the disk, not in memory.

    The first line of a ledger has the checksum of the repaired file, which is known when all are made.
    """

    def __init__(self) -> None:
        self.n_edits = 0
        self._first: Edits | None = None
        self._rest = SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - closed on leaving

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rest.close()

    def add(self, edits: Edits) -> None:
        """Add the edits of the next batch."""
        start = 0
        if self._first is None and len(edits):
            # No more than the batch is held.
            self._first, start = edits, 1
        self._rest.write(edits.lines(["", ""], start))
        self.n_edits += len(edits)

    def write(self, stream: Any, repaired: str) -> None:
        """Write the ledger of a file with this checksum, as :meth:`fairshap.Edits.to_bytes` has it."""
        checksums = ["", repaired]
        stream.write(header_of(checksums))
        if self._first is not None:
            stream.write(self._first.lines(checksums, stop=1))
        self._rest.seek(0)
        while block := self._rest.read(_BLOCK):
            stream.write(block)


def ledger_of(name: str) -> str:
    """Return where the ledger of a file is."""
    return f"{_LEDGER}/{name}.csv"


def _prepared(repair: FairSHAP, files: Files, columns: Sequence[str]) -> FairSHAP:
    """Return the repair with the columns that are folders frozen: a row stays in its file."""
    if not isinstance(repair, FairSHAP):
        raise InputError(
            f"repair={repair!r} is not a FairSHAP; give fairshap.FairSHAP(sensitive=..., privileged=...).",
            parameter="repair",
        )
    folders = [name for name in files.partitions.names if name in columns]
    if not folders:
        return repair
    repair = clone(repair)
    limits = repair.constraints or EditConstraints()
    if limits.editable is None:
        changed = {"frozen": [*(limits.frozen or ()), *folders]}
    else:
        changed = {"editable": [name for name in limits.editable if name not in folders]}
    frozen: FairSHAP = repair.set_params(constraints=clone(limits).set_params(**changed))
    return frozen


def _identify(files: Files, repair: FairSHAP, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what a run is known by: its files and its arguments, each as a checksum where it is long."""
    hashed = {}
    for name, value in repair.get_params(deep=False).items():
        if name in ("n_jobs", "verbose", "keep_data"):
            continue
        try:
            hashed[name] = repr(value) if isinstance(value, (str, int, float)) else joblib.hash(value)
        except Exception:
            # A function that cannot be pickled is known by its name.
            hashed[name] = getattr(value, "__qualname__", type(value).__name__)
    inputs = [(file.name, file.row_groups, file.footer) for file in files.files]
    return {"source": joblib.hash(inputs), **asked, **hashed}


def _wrong(text: str) -> FileError:
    return FileError(text, parameter="out")
