"""What is kept of each case, computed through the public interface and the command alone.

The functions of the first part are all that know fairshap's names: a renaming is made there.
"""

import contextlib
import csv
import hashlib
import io
import json
import os
import re
import runpy
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator

import fairshap
from fairshap import (
    Budget,
    EditConstraints,
    Explainer,
    Iterative,
    NearestMatcher,
    OptimalSubset,
    Threshold,
    TransportMatcher,
    metrics,
)
from tests.goldens.cases import CASES, TRANSPORT, Case, write_loans_parquet, write_staff_csv

DIGITS = 6

# ---- fairshap's names


def match_plan(case: Case, matcher: Any) -> dict[str, Any]:
    """Return the columns of a match plan and the best reference of each row."""
    beside = case.fit.get("sensitive_features")
    plan = fairshap.match(
        case.X, case.y, **case.who, sensitive_features=beside, matcher=_paired(case, matcher), n_jobs=1
    )
    return {
        "row": plan.row,
        "reference": plan.reference,
        "weight": plan.weight,
        "distance": plan.distance,
        "best": plan.best,
        "plan": plan,
    }


def attributions(case: Case, model: Any, plan: Any) -> dict[str, Any]:
    """Return Shapley values, risks and how they were found, of a fitted model."""
    found = fairshap.explain(
        model,
        case.X,
        plan,
        **case.who,
        sensitive_features=case.fit.get("sensitive_features"),
        explainer=Explainer(**case.explainer),
        random_state=0,
        n_jobs=1,
    )
    return {
        "values": found.values,
        "errors": found.standard_errors,
        "status": found.status,
        "risk": found.risk,
        "reference_risk": found.reference_risk,
        "players": [str(name) for name in found.feature_names],
        "route": found.route.partition(":")[0],
        "result": found,
    }


def step_edits(found: Any, threshold: float) -> list[list[Any]]:
    """Return the ledger of the steps, without the estimator."""
    return _lines(fairshap.select_edits(found, threshold=threshold))


def repair(
    case: Case, model: Any = None, *, with_certificate: bool = False, **changes: Any
) -> dict[str, Any]:
    """Repair a table and return the ledger, the repaired table and what goes with it.

    ``model`` is one that was fitted on the table before: it is explained as it is.
    """
    sampler = _sampler(case, clone(case.estimator) if model is None else FrozenEstimator(model), **changes)
    X, y = sampler.fit_resample(case.X, case.y, **case.fit)
    return {
        "model": sampler.model_,
        "ledger": _lines(sampler.edits_),
        "X": X,
        "y": y,
        "twin_of": sampler.counterfactual_of_,
        "sample_weight": sampler.sample_weight_,
        "rounds": [(one.n_edits, one.mean_risk) for one in sampler.rounds_],
        "certificate": sampler.certificate_ if with_certificate else None,
    }


#: The ways of matching, by name. Those of optimal transport are kept apart: a solver may change them.
NEAREST = {
    "nearest": NearestMatcher(),
    "nearest k=3": NearestMatcher(3),
    "nearest k=3 by distance": NearestMatcher(3, weights="distance"),
}
SOLVERS = {"emd": "emd", "sinkhorn": "sinkhorn", "sliced": TransportMatcher("sliced", random_state=0)}

#: The repairs of a case, by name. The first is the paper's.
REPAIRS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "threshold 0.05": lambda case: {"threshold": 0.05 * case.unit},
    "threshold 0.02": lambda case: {"threshold": 0.02 * case.unit},
    "budget": lambda _: {"selector": Budget(60)},
    "budget share": lambda _: {"selector": Budget(0.01)},
    "optimal": lambda case: {"selector": OptimalSubset(0.03 * case.unit)},
    "iterative": lambda case: {"selector": Iterative(Threshold(0.04 * case.unit), max_rounds=3)},
    "guard risk": lambda case: {
        "threshold": 0.02 * case.unit,
        "constraints": EditConstraints(reject_if="risk_rises"),
    },
    "guard label": lambda case: {
        "threshold": 0.02 * case.unit,
        "constraints": EditConstraints(reject_if="label_less_likely"),
    },
    "limits": lambda case: {
        "threshold": 0.02 * case.unit,
        "constraints": EditConstraints(**case.limits),
    },
    "augment edited": lambda case: {"threshold": 0.05 * case.unit, "counterfactuals": "edited"},
    "augment all": lambda case: {"threshold": 0.05 * case.unit, "counterfactuals": "all"},
    "augment by risk": lambda case: {"threshold": 0.05 * case.unit, "counterfactuals": 0.1},
}
#: Those that are left to tables of at most 1,000 rows: they cost time, and go the way of others.
ONLY_SMALL = ("budget share", "augment by risk")


def predictions(case: Case, **changes: Any) -> np.ndarray:
    """Return what a model that was trained on the repaired table says of the table's rows."""
    kind = fairshap.FairSHAPRegressor if is_regressor(case.estimator) else fairshap.FairSHAPClassifier
    # As the table alone repairs: with the sensitive column, and without weights by group and label.
    plain = {"drop_sensitive": False} | ({} if is_regressor(case.estimator) else {"weights": None})
    predictor = kind(_sampler(case, clone(case.estimator), **changes), **plain).fit(
        case.X, case.y, **case.fit
    )
    output = "predict" if is_regressor(case.estimator) else "predict_proba"
    return np.asarray(getattr(predictor, output)(case.X))


def _sampler(case: Case, estimator: Any, matcher: Any = "nearest", **changes: Any) -> fairshap.FairSHAP:
    return fairshap.FairSHAP(
        estimator,
        **case.who,
        matcher=_paired(case, matcher),
        explainer=Explainer(**case.explainer),
        random_state=0,
        n_jobs=1,
        **changes,
    )


def _paired(case: Case, matcher: Any) -> Any:
    """Return a matcher that pairs the groups as the case says."""
    if case.pairing == "pooled":
        return matcher
    return clone(NEAREST[matcher] if isinstance(matcher, str) else matcher).set_params(pairing=case.pairing)


def measures(case: Case, model: Any) -> dict[str, Any]:
    """Return the measures of a model on its own table, for two labels and an attribute in the table."""
    column = case.who["sensitive"]
    attribute = case.X[:, column] if isinstance(case.X, np.ndarray) else case.X[column]
    said, labels = np.asarray(model.predict(case.X)), np.asarray(case.y)
    given = {"sensitive_features": attribute, "positive": np.unique(labels)[1]}
    return {
        "risk": metrics.discriminative_risk(model, case.X, **case.who, reduce=None),
        "mean risk": metrics.discriminative_risk(model, case.X, **case.who),
        "accuracy": float(np.mean(labels == said)),
        "demographic parity": metrics.demographic_parity_difference(labels, said, **given),
        "equal opportunity": metrics.equal_opportunity_difference(labels, said, **given),
        "predictive quality parity": metrics.predictive_parity_difference(labels, said, **given),
        "groups": metrics.group_frame(labels, said, **given),
    }


def _lines(edits: Any) -> list[list[Any]]:
    """Return the edits as lists: row, index, column, old, new, reference, phi."""
    columns = (edits.row, edits.index, edits.column, edits.old, edits.new, edits.reference, edits.phi)
    return [list(line) for line in zip(*columns, strict=True)]


#: The command's runs, by name: what is given, in the folder that the two files stand in. Those of one list
#: follow each other, and later ones read what earlier ones wrote.
_STAFF = "staff.csv --target promoted --sensitive sex --privileged m --categorical code"
_LOANS = "loans.parquet --target granted --sensitive gender --privileged man"
_FEW = "--folds 2 --repeats 1 --jobs 1"
COMMANDS: dict[str, list[str]] = {
    "datasets": ["datasets --json"],
    "audit": [
        f"audit {_STAFF} {_FEW} --top 3 --json",
        f"audit {_LOANS} --model logistic {_FEW} --threshold 0.02 --json",
    ],
    "repair": [
        f"repair {_STAFF} {_FEW} --out fair.csv --edits edits.csv --threshold 0.03 --max-per-row 2 --json",
        "apply edits.csv staff.csv --categorical code --out again.csv --json",
        f"audit {_STAFF.replace('staff', 'fair')} {_FEW} --json",
        f"repair {_LOANS} {_FEW} --model xgboost --out fair.parquet --edits loans-edits.csv"
        " --selector optimal --reject-if label_less_likely --frozen debt --json",
        f"repair {_LOANS} --folds 0 --jobs 1 --model random-forest --out fair-loans.csv --budget 40"
        " --selector budget --json",
    ],
    "evaluate": [
        f"evaluate {_LOANS} {_FEW} --model logistic --threshold 0.02 --json",
        f"evaluate {_STAFF} {_FEW} --json"
        " --methods baseline,counterfactuals,fairshap,fairshap-counterfactuals",
    ],
    "tune": [f"tune {_LOANS} {_FEW} --model logistic --candidates plain,weights,cells --json"],
}
REPORTS: dict[str, str] = {
    "german-audit": f"audit german {_FEW} --report page.html --json",
    "staff-repair": f"repair {_STAFF} {_FEW} --out fair.csv --threshold 0.03 --report page.html --json",
}

# ---- from here on, no name of fairshap's


def compute(name: str) -> Any:
    """Return what is kept under a name: a structure of plain values, or the text of a report."""
    with warnings.catch_warnings():
        # What is warned of is tested elsewhere.
        warnings.simplefilter("ignore")
        kind, _, rest = name.partition("/")
        return {"cases": _case, "transport": _transport, "cli": _commands, "reports": _report}[kind](rest)


def names() -> list[str]:
    """Return all names."""
    return [
        *(f"cases/{name}" for name in CASES),
        *(f"transport/{name}" for name in TRANSPORT),
        *(f"cli/{name}" for name in COMMANDS),
        *(f"reports/{name}" for name in REPORTS),
    ]


def _case(name: str) -> dict[str, Any]:
    case = CASES[name]()
    first = repair(case, **REPAIRS["threshold 0.05"](case), with_certificate=True)
    model = first["model"]
    plan = match_plan(case, NEAREST["nearest"])
    found = attributions(case, model, plan["plan"])
    kept: dict[str, Any] = {
        "table": {"rows": len(case.X), "sha256": _sha256(_cells(case.X))},
        "nearest": _kept_plan(plan),
        "attributions": _kept_attributions(found),
        "edits by steps": _kept_ledger(step_edits(found["result"], 0.05 * case.unit), 0),
        "repairs": {"threshold 0.05": _kept_repair(first, 100)},
        "certificate": _column_sums(first["certificate"]),
    }
    for which, given in REPAIRS.items():
        is_more = which not in ("threshold 0.05", "threshold 0.02")
        if which == "threshold 0.05" or (is_more and not case.is_full):
            continue
        if which in ONLY_SMALL and len(case.X) > 1000:
            continue
        # A further round trains again: from the estimator, not from the model that is known.
        done = repair(case, None if which == "iterative" else model, **given(case))
        kept["repairs"][which] = _kept_repair(done, 20)
    if not case.is_full:
        return kept
    kept |= {which: _kept_plan(match_plan(case, way)) for which, way in NEAREST.items() if which not in kept}
    labels = np.unique(np.asarray(case.y))
    if len(labels) == 2 and "sensitive" in case.who:
        said = measures(case, model)
        kept["measures"] = {
            **{key: _number(value) for key, value in said.items() if np.isscalar(value)},
            "risk": _sampled(said["risk"], 40),
            "groups": json.loads(said["groups"].round(DIGITS).to_json(orient="split")),
        }
    if len(case.X) < 1000:
        kept["predictions"] = {
            f"augment {rows}": _sampled(
                predictions(case, threshold=0.03 * case.unit, counterfactuals=rows).reshape(len(case.X), -1)[
                    :, -1
                ],
                40,
            )
            for rows in (None, "edited")
        }
    return kept


def _transport(name: str) -> dict[str, Any]:
    """Return plans of optimal transport and their edits, which a change of solver may change."""
    case = CASES[name]()
    kept = {}
    for way, solver in SOLVERS.items():
        plan = match_plan(case, solver)
        pairs = _kept_plan(plan)
        pairs["cost"] = _number((plan["weight"] * plan["distance"] ** 2).sum())
        done = repair(case, threshold=0.05 * case.unit, matcher=solver)
        kept[way] = {"plan": pairs, "edits": _kept_ledger(done["ledger"], 20)}
    return kept


def _commands(name: str) -> list[dict[str, Any]]:
    kept = []
    with _folder() as folder:
        for command in COMMANDS[name]:
            before = set(Path(folder).iterdir())
            said = _run(command)
            files = {path.name: _kept_file(path) for path in sorted(set(Path(folder).iterdir()) - before)}
            kept.append({"command": command, "json": said, "files": files})
    return kept


def _report(name: str) -> str:
    with _folder() as folder:
        _run(REPORTS[name])
        return _text_of(Path(folder, "page.html").read_text())


# ---- the command, as `python -m fairshap` runs it


@contextlib.contextmanager
def _folder() -> Any:
    """Make a folder with the two files the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_staff_csv(Path("staff.csv"))
        write_loans_parquet(Path("loans.parquet"))
        yield folder


def _run(command: str) -> Any:
    """Return the JSON that a command prints, run in this process: starting one takes seconds."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.getsignal(number) for number in numbers]
    arguments, sys.argv = sys.argv, ["fairshap", *command.split()]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            runpy.run_module("fairshap", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        if end.code:
            raise AssertionError(f"`fairshap {command}` ended with {end.code}: {err.getvalue()}") from None
    finally:
        sys.argv = arguments
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
    said = json.loads(out.getvalue())
    said.pop("fairshap", None)
    return _plain(said)


def _plain(value: Any) -> Any:
    """Return JSON with floats rounded, and checksums and versions masked."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return _number(value)
    return _mask(value) if isinstance(value, str) else value


def _mask(text: str) -> str:
    text = re.sub(r"\b[0-9a-f]{64}\b", "<sha256>", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?", "<date>", text)
    text = re.sub(re.escape(os.path.realpath(tempfile.gettempdir())) + r"/[^\s'\"]*", "<path>", text)
    return re.sub(r"\b\d+\.\d+\.\d+\S*?(?=[,;\s]|$)", "<version>", text)


def _kept_file(path: Path) -> Any:
    """Return what a command wrote: bytes of a text table, cells of a binary one, and a ledger's lines."""
    if path.suffix == ".parquet":
        return {"cells": _sha256(_cells(pd.read_parquet(path)))}
    if "edits" in path.name:
        with path.open(newline="") as file:
            lines = [
                [cell for key, cell in line.items() if key != "phi" and not key.endswith("sha256")]
                for line in csv.DictReader(file)
            ]
        return {"edits": len(lines), "sha256": _sha256("\n".join("\t".join(line) for line in lines))}
    return {"bytes": hashlib.sha256(path.read_bytes()).hexdigest()}


class _Text(HTMLParser):
    """Collects the text of a page, a line for each element that has some; drawings and programs aside."""

    _SKIPPED = ("script", "style", "svg", "title")

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._inside = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._inside += tag in self._SKIPPED

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag in self._SKIPPED

    def handle_data(self, data: str) -> None:
        if not self._inside and data.strip():
            self.lines.append(" ".join(data.split()))


def _text_of(page: str) -> str:
    parser = _Text()
    parser.feed(page)
    lines = [_mask(line) for line in parser.lines]
    # The list of versions is that of one installation.
    lines = ["<versions>" if line.startswith("Python <version>") else line for line in lines]
    return "\n".join(lines) + "\n"


# ---- plain values


def _kept_plan(plan: dict[str, Any]) -> dict[str, Any]:
    n_pairs = len(plan["row"])
    kept = {
        "pairs": n_pairs,
        "sha256": _sha256("\n".join(f"{a} {b}" for a, b in zip(plan["row"], plan["reference"], strict=True))),
        "best": _sampled(plan["best"], 200),
        "distance": _number(plan["distance"].sum()),
        "distances": _sampled(plan["distance"], 40),
    }
    if n_pairs > len(np.unique(plan["row"])):
        kept["weights"] = _sampled(plan["weight"], 40)
    return kept


def _kept_attributions(found: dict[str, Any]) -> dict[str, Any]:
    values, kinds = found["values"], np.unique(found["status"], return_counts=True)
    rows = _every(len(values), 40)
    return {
        "route": found["route"],
        "status": dict(zip(kinds[0].tolist(), kinds[1].tolist(), strict=True)),
        "players": found["players"],
        "sums": [_number(one) for one in np.nansum(values, axis=0)],
        "absolute sums": [_number(one) for one in np.nansum(np.abs(values), axis=0)],
        "rows": [[int(row), *(_number(one) for one in values[row])] for row in rows],
        "error sum": _number(np.nansum(found["errors"])),
        "risk sum": _number(np.nansum(found["risk"])),
        "risk": _sampled(found["risk"], 40),
        "reference risk": _sampled(found["reference_risk"], 40),
    }


def _kept_repair(done: dict[str, Any], n_lines: int) -> dict[str, Any]:
    kept = {
        **_kept_ledger(done["ledger"], n_lines),
        "table": f"{type(done['X']).__module__.partition('.')[0]} {len(done['X'])}",
        "table sha256": _sha256(_cells(done["X"])),
        "target sha256": _sha256("\n".join(_cell(one) for one in np.asarray(done["y"]).tolist())),
    }
    if len(done["rounds"]) > 1:
        kept["rounds"] = [[n, _number(risk)] for n, risk in done["rounds"]]
    if len(done["twin_of"]):
        kept["twins"] = len(done["twin_of"])
        kept["twin_of"] = _sampled(done["twin_of"], 40)
        kept["twin_of sha256"] = _sha256(" ".join(map(str, done["twin_of"].tolist())))
    if done["sample_weight"] is not None:
        kept["weight sum"] = _number(done["sample_weight"].sum())
        kept["weights"] = _sampled(done["sample_weight"], 40)
    return kept


def _kept_ledger(lines: list[list[Any]], n_lines: int) -> dict[str, Any]:
    exact = [[_cell(one) for one in line[:-1]] for line in lines]
    names, counts = np.unique([line[2] for line in exact], return_counts=True)
    kept = {
        "edits": len(lines),
        "rows": len({line[0] for line in exact}),
        "columns": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "sha256": _sha256("\n".join("\t".join(line) for line in exact)),
        "phi sum": _number(sum(line[-1] for line in lines)),
    }
    if n_lines:
        kept["lines"] = [[*exact[k], _number(lines[k][-1])] for k in _every(len(lines), n_lines)]
    return kept


def _column_sums(frame: Any) -> dict[str, float | None]:
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    return {str(name): _number(np.nansum(frame[name])) for name in frame.columns}


def _every(n: int, most: int) -> range:
    """Return positions that are spread evenly, about as many as named."""
    return range(0, n, max(1, n // most))


def _sampled(values: Any, most: int) -> list[Any]:
    values = np.asarray(values)
    chosen = values[list(_every(len(values), most))].tolist()
    return chosen if values.dtype.kind in "iub" else [_number(one) for one in chosen]


def _number(value: Any) -> float | None:
    # Adding zero makes a plain zero of a negative one.
    return None if np.isnan(value) else round(float(value), DIGITS) + 0.0


def _cell(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return "missing"
    return repr(value) if isinstance(value, float) else str(value)


def _cells(X: Any) -> str:
    """Return a table as text: names, kinds and index too, where it has them."""
    if isinstance(X, np.ndarray):
        return "\n".join("\t".join(map(_cell, line)) for line in X.tolist())
    if isinstance(X, pl.DataFrame):
        head, columns = [f"{name}:{kind}" for name, kind in X.schema.items()], X.to_dict(as_series=False)
    else:
        head, columns = [f"{name}:{kind}" for name, kind in X.dtypes.items()], {"": X.index.tolist()}
        columns |= {name: X[name].tolist() for name in X.columns}
    return "\n".join([" ".join(head), *("\t".join(map(_cell, cells)) for cells in columns.values())])


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
