"""The files of an experiment."""

import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fairshap._io import write_atomically
from fairshap.reproduction._experiment import Experiment, Findings, Options
from fairshap.reproduction._versions import versions

_STYLE: dict[Any, Any] = {"svg.hashsalt": "fairshap", "svg.fonttype": "none", "font.size": 9}


def write_findings(
    folder: Path, experiment: Experiment, findings: Findings, options: Options, fold_seeds: list[int]
) -> list[Path]:
    """Write tables, pages, figures and versions; return the files. The same findings give the same bytes."""
    contents: dict[str, bytes] = {}
    for name, frame in findings.frames.items():
        contents[f"{name}.csv"] = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    for name, page in findings.pages.items():
        contents[f"{name}.md"] = page.encode()
    for name, draw in findings.figures.items():
        for kind in ("png", "svg"):
            contents[f"{name}.{kind}"] = _figure(draw, kind)
    setup = {
        "experiment": experiment.name,
        "versions": versions(*experiment.packages, *experiment.optional),
        "options": asdict(options),
        "fold_seeds": fold_seeds,
    }
    contents["versions.json"] = (json.dumps(setup, indent=2) + "\n").encode()
    for name, content in contents.items():
        write_atomically(folder / name, partial(_write, content), force=True)
    return [folder / name for name in contents]


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _figure(draw: Callable[[], Any], kind: str) -> bytes:
    import matplotlib as mpl

    file = BytesIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = np.atleast_1d(draw()).flat[0].figure
        # Neither date nor version: the same figure gives the same bytes.
        figure.savefig(file, format=kind, dpi=130, metadata={"Date" if kind == "svg" else "Software": None})
    return file.getvalue()
