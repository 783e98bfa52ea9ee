"""Remedies that tune knows by name, written as tables: rows, weights, edits, and columns left out."""

import numpy as np
import pandas as pd
import pytest

from fairshap import Edits, FairSHAP, FairSHAPClassifier
from fairshap._crossval import CrossValidation
from fairshap._crossval.trials import draw_seed
from fairshap.cli._main import run as run_here
from fairshap.cli._models import make_model
from fairshap.cli._options import RunOptions
from fairshap.cli._remedies import TABLES
from fairshap.mitigation import MitigatedClassifier
from fairshap.model_selection._candidates import Maker
from tests.cli.conftest import FEW, WHO, described

CELLS = "cells 0.75, towards parity, reweighing, column dropped"


@pytest.fixture(scope="module")
def rows(people):
    """Return the columns of FEW as the command reads them, and the target."""
    frame = pd.read_csv(people)
    y = frame.pop("risk")
    words = ["sex", "housing"]
    return frame[["sex", "job", "housing", "age"]].astype(dict.fromkeys(words, "category")), y


@pytest.fixture(scope="module")
def candidates(rows):
    """Return the candidates of tune by name."""
    X, y = rows
    model = make_model("logistic", RunOptions(), n_rows=len(X))
    template = FairSHAP(model, sensitive="sex", privileged="male", random_state=draw_seed(0))
    problem = CrossValidation.read("tune", template, X, y, "yes", 2, 1).problem
    made = Maker(template, problem, "fairness", "yes").make(TABLES, is_blind=False)
    return {one.name: one.model for one in made}


def write(capsys, people, name, *more):
    assert run_here(["repair", str(people), *WHO, *FEW, "--remedy", name, *map(str, more), "--json"]) == 0
    return described(capsys.readouterr().out)


@pytest.mark.parametrize(
    "name",
    [
        "drop the column",
        "reweighing",
        "drop the column, reweighing squared",
        "weights, demographic parity 0.4",
        "counterfactual rows",
        "cells 0.75, counterfactuals of edited rows",
        CELLS,
        "soft labels, searched for 0.012",
    ],
)
def test_a_model_of_the_table_is_the_candidate(capsys, people, rows, candidates, tmp_path, name):
    """What is trained on the written table, with its weights, predicts what the candidate does."""
    (X, y), out = rows, tmp_path / "fair.csv"
    name = name if name in candidates else name.replace(" 0.4", " -0.4")
    found = write(capsys, people, name, "--out", out, "--folds", 0)
    table = pd.read_csv(out)
    weights = table.pop(found["weight_column"]) if found["weight_column"] else None
    labels, expected = table.pop("risk"), candidates[name].fit(X, y)
    kept = [column for column in X if column in table]
    assert found["left_out"] == [column for column in X if column not in table]
    assert len(table) == len(X) + found["rows_added"]
    table = table[kept].astype({column: X[column].dtype for column in kept})
    model = make_model("logistic", RunOptions(), n_rows=len(X))
    model.fit(table, labels, **({} if weights is None else {"logisticregression__sample_weight": weights}))
    ours = model.predict_proba(X[kept])[:, 1]
    np.testing.assert_allclose(ours, expected.predict_proba(X)[:, 1], atol=1e-6)


def test_a_remedy_has_a_ledger_and_is_measured(capsys, people, tmp_path):
    out, ledger = tmp_path / "fair.csv", tmp_path / "edits.csv"
    found = write(capsys, people, CELLS, "--out", out, "--edits", ledger, "--folds", 2, "--repeats", 1)
    assert found["edits"] == len(Edits.read(ledger)) > 0
    assert found["after"]["dr"] == 0 < found["before"]["dr"]
    args = ["-s", "housing", "-p", "own", "--model", "logistic", "--methods", "baseline", "--folds", "2"]
    assert run_here(["evaluate", str(out), *WHO[:2], *args, "--repeats", "1"]) == 0
    assert "is the repaired table of the ledger" in capsys.readouterr().err


def test_rows_that_are_only_edited_stay_byte_for_byte(capsys, people, tmp_path):
    out = tmp_path / "fair.csv"
    found = write(capsys, people, "cells 0.75", "--out", out, "--folds", 0)
    before, after = people.read_bytes().split(b"\r\n"), out.read_bytes().split(b"\r\n")
    assert sum(a != b for a, b in zip(before, after, strict=True)) == found["rows_edited"] > 0


def test_tune_writes_the_table_of_what_it_recommends(capsys, people, tmp_path):
    out, ledger = tmp_path / "fair.parquet", tmp_path / "edits.csv"
    args = ["tune", str(people), *WHO, *FEW, "--minimize", "demographic_parity", "--max-accuracy-drop", "0.1"]
    args += ["--folds", "2", "--repeats", "1", "--out", str(out), "--ledger", str(ledger), "--json"]
    assert run_here(args) == 0
    found = described(capsys.readouterr().out)
    assert {one["kind"] for one in found["candidates"]}.isdisjoint({"formula", "thresholds by group"})
    table, done = pd.read_parquet(out), found["table"]
    assert found["out"] == str(out)
    assert len(table) == 300 + done["rows_added"]
    assert ("sex" in table) == ("sex" not in done["left_out"])
    assert done["weight_column"] is None or table[done["weight_column"]].nunique() > 1
    assert len(Edits.read(ledger)) == done["edits"]


def test_a_taken_name_is_not_the_column_of_weights(capsys, people, tmp_path):
    source, out = tmp_path / "people.csv", tmp_path / "fair.csv"
    pd.read_csv(people).assign(sample_weight=1.5).to_csv(source, index=False)
    found = write(capsys, source, "reweighing", "--out", out, "--folds", 0)
    assert found["weight_column"] == "sample_weight_"
    assert (pd.read_csv(out)["sample_weight"] == 1.5).all()


def test_what_is_no_table_is_refused(refuse, people, tmp_path):
    out = ["--out", tmp_path / "fair.csv"]
    for args, text in [
        (["--remedy", "reweihing"], "--remedy 'reweihing' is not known"),
        (["--remedy", "reweihing"], "Did you mean 'reweighing'?"),
        (["--remedy", "reweighing", "--minimize", "dr=1,pd=6"], "--minimize"),
        (["--remedy", "correction, searched for 0.01"], "is a rule for predicting"),
        (["--remedy", "reweighing", "--threshold", "0.1"], "--threshold does not go with --remedy"),
        (["--remedy", "reweighing", "--report", tmp_path / "r.html"], "--report does not go with --remedy"),
    ]:
        code = 2 if "does not go" in text else 1
        assert text in refuse("repair", people, *WHO, *FEW, *out, *args, code=code)
    for args, text in [
        ([*out, "--candidates", "plain,corrections"], "'corrections' are rules for predicting"),
        (["--ledger", tmp_path / "e.csv"], "--ledger goes with --out"),
    ]:
        assert text in refuse("tune", people, *WHO, *FEW, *args, code=2)
    assert not list(tmp_path.iterdir())


def test_every_table_of_tune_is_written(candidates):
    """All candidates of these families are of the kinds that the command makes tables of."""
    assert len(candidates) > 30
    assert all(isinstance(one, (FairSHAPClassifier, MitigatedClassifier)) for one in candidates.values())
