"""``fairshap repair`` of many Parquet files."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fairshap import FairSHAP, datasets
from fairshap.cli._main import run as run_here
from fairshap.cli._models import make_model
from fairshap.cli._options import RunOptions
from tests.cli.conftest import described

D = datasets.make_biased(300, random_state=0)
FRAME = D.X.assign(hired=D.y, id=np.arange(300))
WHO = ("-t", "hired", "-s", "group", "-p", "a", "--drop", "id")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for k in range(3):
        FRAME[100 * k : 100 * k + 100].to_parquet(tmp_path / f"in/{k}.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize("data", ["in", "in/*.parquet"])
def test_many_files_are_repaired_into_a_folder(data, files, capsys):
    assert run_here(["repair", data, *WHO, "--out", "fair/", "--json"]) == 0, capsys.readouterr().err
    found = described(capsys.readouterr().out)
    repair = FairSHAP(make_model("hist-gradient-boosting", RunOptions(), n_rows=300), sensitive="group")
    repair.set_params(privileged="a", random_state=0, threshold=0.05)
    # As the command reads one file: text is categories.
    texts = D.X.select_dtypes(exclude="number").columns
    expected, _ = repair.fit_resample(D.X.astype(dict.fromkeys(texts, "category")), D.y)
    expected = expected.astype(D.X.dtypes)
    pd.testing.assert_frame_equal(pd.read_parquet(files / "fair"), FRAME.assign(**expected))
    assert found["edits"] == len(repair.edits_) == sum(found["by_column"].values())
    assert found["data"] == {
        "name": data,
        "files": 3,
        "rows": 300,
        "target": "hired",
        "dropped": {"id": "--drop"},
        "sensitive": "group",
        "privileged": "a",
    }
    assert 0 < found["measures"]["dr"] < 1
    assert {one["group"] for one in found["groups"]} == {"a", "b"}


def test_what_is_printed_and_a_second_call(files, capsys):
    for _ in range(2):
        assert run_here(["repair", "in", *WHO, "--out", "fair", "--positive", "0"]) == 0
    printed = capsys.readouterr()
    assert "were replaced, in" in printed.out
    assert "300 rows of 3 files" in printed.out
    assert "Written: fair, with ledgers in _ledger" in printed.out
    assert "3 of 3 files were complete already" in printed.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--edits", "e.csv"], "--edits goes with one file"),
        (["--categorical", "skil"], "--categorical skil is not a column"),
        (["--numeric", "district"], "--numeric district is text in the files"),
        (["--report", "r.doc"], "--report r.doc tells no form"),
        (["-p", "z"], "--privileged is given 2 times|does not occur"),
        (["--matcher", "emd"], "looks at all rows at once"),
        (["--max-memory", "0.5"], "--max-memory 0.5 GiB is too little"),
    ],
)
def test_what_does_not_go_with_many_files(options, said, files, capsys):
    assert run_here(["repair", "in", *WHO, *options, "--out", "fair/"]) != 0
    text = " ".join(capsys.readouterr().err.split())
    assert any(part in text for part in said.split("|")), text
    assert not (files / "fair").exists()


def test_columns_that_are_not_there(files, capsys):
    assert run_here(["repair", "in", "-t", "hire", "-s", "group", "-p", "a", "--out", "fair/"]) != 0
    assert "hire is not a column of the files" in capsys.readouterr().err
    assert run_here(["repair", "in", "-s", "group", "-p", "a", "--out", "fair/"]) != 0
    assert "--target is not given" in " ".join(capsys.readouterr().err.split())


def test_the_identifier_is_no_feature(files, capsys):
    who = ("-t", "hired", "-s", "group", "-p", "a")
    outputs = []
    for name, option in (("one", "--drop"), ("two", "--id")):
        assert run_here(["repair", "in", *who, option, "id", "--out", f"{name}/", "--json"]) == 0
        outputs.append(pd.read_parquet(files / name))
    pd.testing.assert_frame_equal(*outputs)
    assert run_here(["repair", "in", *who, "--id", "idd", "--out", "three/"]) != 0
    assert "--id idd is not a column" in capsys.readouterr().err
    assert run_here(["repair", "in", *who, "--id", "group", "--out", "three/"]) != 0
    assert "is --id and --target or --sensitive too" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        ["--folds", "3"],
        ["--folds", "0"],
        ["--repeats", "2"],
        ["--retrain", "xgboost"],
        ["--decimal", ","],
        ["--thousands", "."],
        ["--sheet", "1"],
        ["--header-row", "2"],
        ["--redact"],
    ],
)
def test_options_of_one_file_are_refused(option, files, capsys):
    assert run_here(["repair", "in", *WHO, *option, "--out", "fair/"]) != 0
    assert f"{option[0]} " in " ".join(capsys.readouterr().err.split())
    assert not (files / "fair").exists()


def test_without_a_privileged_value_those_that_occur_are_named(files, capsys):
    assert run_here(["repair", "in", "-t", "hired", "-s", "group", "--out", "fair/"]) != 0
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "--privileged is not given; name a value of group: 'a', 'b'" in said


def test_a_file_may_be_called_like_a_pattern(files, capsys):
    FRAME.to_parquet("data[1].parquet", index=False)
    assert run_here(["repair", "data[1].parquet", *WHO, "--folds", "0", "--out", "fair.parquet"]) == 0
    assert run_here(["repair", "data[1].parquet", *WHO, "--out", "fair/"]) == 0, capsys.readouterr().err
    for path in ("fair.parquet", "fair/data[1].parquet"):
        assert pd.read_parquet(path).shape == FRAME.shape


def test_columns_are_read_and_left_out_as_from_one_file(files, capsys):
    frame = FRAME.assign(
        since=(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300) % 40, "D")).date,
        pay=[Decimal(k % 50) / 4 for k in range(300)],
        always="x",
        empty=pd.Series([None] * 300, dtype="str"),
        code=np.arange(300) % 4,
    )
    who = ("-t", "hired", "-s", "group", "-p", "a", "--categorical", "code", "--json")
    frame.to_parquet("one.parquet", index=False)
    (files / "many").mkdir()
    for k in range(3):
        pq.write_table(pq.read_table("one.parquet").slice(100 * k, 100), f"many/{k}.parquet")
    found = []
    for data, out in (("one.parquet", "one-fair.parquet"), ("many", "many-fair/")):
        options = ("--folds", "0") if data == "one.parquet" else ("--report", "r.html,r.json")
        assert run_here(["repair", data, *who, *options, "--out", out]) == 0, capsys.readouterr().err
        found.append(described(capsys.readouterr().out))
    assert found[0]["data"]["dropped"] == found[1]["data"]["dropped"]
    assert set(found[1]["data"]["dropped"]) == {"id", "always", "empty"}
    assert found[0]["by_column"] == found[1]["by_column"]
    assert (
        pq.read_table("many-fair")
        .cast(pq.read_schema("one.parquet"))
        .equals(pq.read_table("one-fair.parquet"))
    )
    evidence = json.loads((files / "r.json").read_text())
    assert evidence["mitigation"]["cells"] == found[1]["edits"]
    assert "Rates of each group before and after" in (files / "r.html").read_text()


def test_many_files_are_audited(files, capsys):
    tests = ("--fail-if", "impact_ratio < 0.99", "--report", "a.json")
    assert run_here(["audit", "in", *WHO, *tests]) == 3
    printed = capsys.readouterr()
    assert "For whom: by group" in printed.out
    assert "failed: impact_ratio < 0.99" in printed.err
    evidence = json.loads((files / "a.json").read_text())
    assert evidence["setting"]["rows"] == 300
    assert evidence["mitigation"] is None
    assert run_here(["audit", "in", *WHO, "--folds", "3"]) != 0
    assert "--folds goes with one file" in " ".join(capsys.readouterr().err.split())
