import csv
import html
import json
import re
import shlex
import subprocess
import sys
from importlib import metadata

import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fairshap import Edits, datasets
from fairshap._crossval import MEASURES, THRESHOLDS
from fairshap.cli import main
from fairshap.cli._main import run as run_here
from fairshap.cli._models import make_model
from fairshap.cli._options import RunOptions
from tests.cli.conftest import FEW, WHO

HEAD = {"fairshap", "schema", "command", "seed", "options", "messages"}
FOLDS = {"folds", "repeats", "constant_accuracy"}


def result(capsys, *args):
    """Return what a command run in this process prints as JSON."""
    assert run_here([*map(str, args), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_the_command_is_installed_under_its_name():
    (installed,) = metadata.entry_points(group="console_scripts", name="fairshap")
    assert installed.load() is main


def test_a_repair_changes_the_edited_cells_and_no_other_byte(run, people, tmp_path):
    done = run("repair", people, *WHO, "--out", "fair.csv", "--edits", "edits.csv", "--folds", 0)
    edits = Edits.read(tmp_path / "edits.csv")
    assert len(edits) > 0
    assert f"{len(edits):,} of 3,000 cells" in done.stdout.decode()
    assert "treating risk = yes as the FAVORABLE outcome; if not, --positive no" in done.stderr.decode()
    before, after = people.read_bytes().split(b"\r\n"), (tmp_path / "fair.csv").read_bytes().split(b"\r\n")
    changed = {k - 1 for k, (old, new) in enumerate(zip(before, after, strict=True)) if old != new}
    assert changed == set(edits.row.tolist())
    header, *rows = csv.reader(line.decode() for line in after)
    for row, column, new in zip(edits.row, edits.column, edits.new, strict=True):
        assert rows[row][header.index(column)] == str(new)
    # The ledger applied again, to the same table on standard input, gives the same bytes.
    again = run("apply", "edits.csv", "-", "--out", "-", stdin=people.read_bytes())
    assert again.stdout == (tmp_path / "fair.csv").read_bytes()
    refused = run("apply", "edits.csv", "fair.csv", "--out", "twice.csv", check=False)
    assert refused.returncode == 1
    assert b"Is it the table that the ledger was made for?" in refused.stderr
    assert not (tmp_path / "twice.csv").exists()


def test_messages_are_kept_from_the_result_and_quiet_has_none(run, people):
    table = run("repair", people, *WHO, "--out", "-", "--folds", 0, "--quiet")
    assert table.stderr == b""
    assert table.stdout.split(b"\r\n")[0] == people.read_bytes().split(b"\r\n")[0]


def groups_of(found):
    """Return the groups by the first attribute of an audit."""
    return found["evidence"]["groupings"][0]["groups"]


def test_the_same_seed_gives_the_same_json_for_any_number_of_jobs(capsys, people):
    args = ["audit", people, *WHO, "--folds", 2, "--seed", 3]
    found = result(capsys, *args, "--jobs", 1)
    again = result(capsys, *args, "--jobs", 2)
    assert (found["options"].pop("jobs"), again["options"].pop("jobs")) == (1, 2)
    assert found["evidence"]["provenance"].pop("command") != again["evidence"]["provenance"].pop("command")
    assert found == again
    assert (found["seed"], found["options"]["folds"]) == (3, 2)
    names = {"data", "model", "evidence", "rows", "report", "ll144"}
    assert set(found) == HEAD | names
    assert found["data"]["columns"]["code"] == "category"
    assert {group["name"] for group in groups_of(found)} == {"male", "female"}
    assert sum(group["rows"] for group in groups_of(found)) == 300
    assert len(found["rows"]) == 10
    risks = [row["risk"] for row in found["rows"]]
    assert risks == sorted(risks, reverse=True)


def test_repair_says_before_and_after_on_other_rows(capsys, people, tmp_path):
    out = tmp_path / "fair.parquet"
    found = result(
        capsys, "repair", people, *WHO, "--out", out, "--folds", 2, "--frozen", "age,credit_amount"
    )
    assert set(found) == HEAD | {
        *("data", "model", "selector", "threshold", "edits", "rows_edited", "by_column"),
        *FOLDS,
        *("before", "after", "change", "helps", "instead", "out", "ledger", "report"),
    }
    assert found["before"]["dr"] + found["change"]["dr"] == pytest.approx(found["after"]["dr"])
    for side in ("before", "after", "change"):
        assert set(MEASURES) <= set(found[side])
    assert sum(found["by_column"].values()) == found["edits"] > 0
    assert not {"age", "credit_amount", "sex"} & set(found["by_column"])
    assert len(pd.read_parquet(out)) == 300


def test_evaluate_has_all_methods_with_intervals(capsys, people):
    found = result(capsys, "evaluate", people, *WHO, "--folds", 2, "--methods", "baseline,rsa,fairshap")
    assert set(found) == HEAD | {*FOLDS, "data", "model", "methods", "changes"}
    methods = {line["method"]: line for line in found["methods"]}
    assert list(methods) == ["baseline", "rsa", "fairshap"]
    assert methods["rsa"]["dr"] == 0
    assert methods["baseline"]["dr_low"] < methods["baseline"]["dr"] < methods["baseline"]["dr_high"]
    assert methods["baseline"]["edits"] == 0 < methods["fairshap"]["edits"]


def test_tune_recommends_within_the_limits(capsys, people):
    args = [*FEW, "--folds", 2, "--repeats", 1, "--max-accuracy-drop", 0.05, "--minimize", "dr=1,dp=6"]
    found = result(capsys, "tune", people, *WHO, *args, "--candidates", "plain,cells")
    names = {"data", "model", "recommended", "reason", "estimator", "dr_noise", "candidates", "report"}
    names |= {"table", "out", "ledger"}
    assert set(found) == HEAD | FOLDS | names
    taken = next(line for line in found["candidates"] if line["name"] == found["recommended"])
    base = found["candidates"][0]
    assert [line["recommended"] for line in found["candidates"][:2]].count(True) == 1
    assert taken["recommended"]
    assert taken["allowed"]
    assert base["accuracy"] - taken["accuracy"] <= 0.05
    assert {"cells 1.5", "reweighing"} < {line["name"] for line in found["candidates"]}


def test_tune_recommends_what_predicts_without_the_column(capsys, people):
    args = [*FEW, "--folds", 2, "--repeats", 1, "--blind", "--candidates", "plain"]
    found = result(capsys, "tune", people, *WHO, *args)
    assert [line["needs_attribute"] for line in found["candidates"]] == [True, False, False, False]
    assert found["recommended"] != "baseline"


def test_the_report_tells_the_command_the_checksum_and_the_same_figures(capsys, people, tmp_path):
    page = tmp_path / "r.html"
    args = ["repair", people, *WHO, "--out", tmp_path / "a.csv", "--folds", 2, "--report", page]
    found = result(capsys, *args, "--redact", "--seed", 5)
    text = html.unescape(page.read_text())
    assert f"fairshap {shlex.join(map(str, args))} --redact --seed 5 --json" in text
    assert found["data"]["sha256"] in text
    assert "<dt>Seed</dt><dd><bdi>5</bdi></dd>" in text
    assert "Redacted." in text
    for side in ("before", "after"):
        assert f"{found[side]['accuracy']:.4f}" in text
    # A second time it is there already: neither it nor the table is touched.
    again = [*args[: 2 + len(WHO)], "--out", tmp_path / "b.csv", "--report", page]
    assert run_here([str(arg) for arg in again]) == 1
    assert "--force to replace it" in capsys.readouterr().err
    assert not (tmp_path / "b.csv").exists()


def test_an_audit_writes_a_report_and_changes_nothing(capsys, people, tmp_path):
    page = tmp_path / "r.html"
    before = people.read_bytes()
    found = result(capsys, "audit", people, *WHO, "--folds", 2, "--report", page)
    assert found["report"] == str(page)
    text = page.read_text()
    assert "Fairness audit of" in text
    assert "Nothing was changed." in text
    assert f"{found['evidence']['treatment']['risk']['value']:.4f}" in text
    assert people.read_bytes() == before


def test_an_audit_has_several_forms_and_tables(capsys, people, tmp_path):
    names = [str(tmp_path / name) for name in ("r.md", "r.json")]
    args = [*FEW, "--folds", 2, "--by", "A. Person", "--purpose", "a test", "--ll144", tmp_path / "tables"]
    found = result(capsys, "audit", people, *WHO, *args, "--report", ",".join(names))
    written = json.loads((tmp_path / "r.json").read_text())
    assert written == found["evidence"]
    assert (written["provenance"]["by"], written["provenance"]["purpose"]) == ("A. Person", "a test")
    assert (tmp_path / "r.md").read_text().startswith("# Fairness audit of")
    assert found["ll144"] == [str(tmp_path / "tables" / "sex.csv")]


def test_a_gate_fails_with_a_code_of_its_own(capsys, people, tmp_path):
    args = ["audit", str(people), *WHO, *FEW, "--folds", "2", "--json"]
    gates = tmp_path / "gates.toml"
    gates.write_text('fail_if = ["accuracy < 0.01"]\n')
    assert run_here([*args, "--gates", str(gates)]) == 0
    capsys.readouterr()
    assert run_here([*args, "--gates", str(gates), "--fail-if", "accuracy<1"]) == 3
    said = capsys.readouterr()
    assert "failed: accuracy < 1 (accuracy is 0." in said.err
    found = json.loads(said.out)["evidence"]
    assert [gate["passed"] for gate in found["gates"]] == [False, True]
    assert not found["passed"]


def test_gates_that_cannot_be_read_are_refused_before_any_work(refuse, people, tmp_path):
    assert "is no condition" in refuse("audit", people, *WHO, "--fail-if", "impact_ratio")
    gates = tmp_path / "gates.toml"
    gates.write_text("impact_ratio = 0.8")
    assert 'such as fail_if = ["impact_ratio < 0.8"]' in refuse("audit", people, *WHO, "--gates", gates)


def test_an_audit_needs_no_privileged_group_and_takes_weights(capsys, people):
    table = ["--target", "risk", "--sensitive", "sex", "--folds", 2, *FEW]
    found = result(capsys, "audit", people, *table, "--weights", "age")
    assert found["data"]["privileged"] is None
    assert "is taken for it" in found["evidence"]["setting"]["privileged_note"]
    assert found["evidence"]["setting"]["is_weighted"]
    assert "age" not in found["evidence"]["setting"]["columns"]
    frame = pd.read_csv(people)
    share = frame.groupby("sex")["age"].sum() / frame["age"].sum()
    for group in groups_of(found):
        assert group["share"] == pytest.approx(share[group["name"]])


@pytest.mark.parametrize("family", ["plain", "cells"])
def test_tuning_reports_the_trade_off(capsys, people, tmp_path, family):
    page = tmp_path / "r.html"
    args = [*FEW, "--folds", 2, "--repeats", 1, "--candidates", family, "--report", page]
    found = result(capsys, "tune", people, *WHO, *args)
    text = html.unescape(page.read_text())
    assert "Pareto front" in text
    assert found["reason"] in text


def test_an_audit_explains_the_gap(capsys, people):
    args = ["audit", people, *WHO, *FEW, "--folds", 2, "--repeats", 1, "--top", 3]
    found = result(capsys, *args)["evidence"]["proxies"]
    shares = [line["share_of_gap"] for line in found["columns"]]
    assert min(shares) >= 0
    assert 0 < found["attribute_share_of_gap"] == pytest.approx(1 - sum(shares))


def test_a_repair_goes_towards_parity(capsys, people, tmp_path):
    args = ["repair", people, *WHO, *FEW, "--folds", 0, "--game", "gap", "--threshold", "0.01"]
    every = result(capsys, *args, "--out", tmp_path / "a.csv")
    some = result(capsys, *args, "--out", tmp_path / "b.csv", "--direction", "parity")
    assert 0 < some["edits"] < every["edits"]


def test_a_rejection_leaves_some_edits_out(capsys, people, tmp_path):
    args = ["repair", people, *WHO, "--folds", 0]
    edits = [
        result(capsys, *args, "--out", tmp_path / f"{len(more)}{more[-1:]}.csv", *more)["edits"]
        for more in ([], ["--reject-if", "risk_rises"], ["--reject-if", "label_less_likely"])
    ]
    assert 0 < edits[2] < edits[0]
    assert edits[1] <= edits[0]


@pytest.mark.parametrize(
    ("args", "selector", "threshold"),
    [
        (["--threshold", "0.003"], "threshold", 0.003),
        (["--threshold", "0.003", "--budget", "9"], "threshold", 0.003),
        (["--selector", "budget", "--budget", "9"], "budget", None),
        (["--selector", "optimal", "--threshold", "0.003"], "optimal", 0.003),
        (["--selector", "iterative", "--threshold", "0.003"], "iterative", 0.003),
        (["--threshold", "relative"], "threshold", "relative"),
        (["--selector", "iterative", "--threshold", "relative"], "iterative", "relative"),
    ],
)
def test_the_json_of_a_repair_names_its_selector(capsys, people, tmp_path, args, selector, threshold):
    out = ["--out", tmp_path / "x.csv", "--folds", 0]
    found = result(capsys, "repair", people, *WHO, *FEW, *out, *args)
    assert (found["selector"], found["threshold"]) == (selector, threshold)
    assert 0 < found["edits"] <= (9 if "--budget" in args else 300)


def test_the_threshold_is_found_on_folds(capsys, people, tmp_path):
    args = [*FEW, "--threshold", "auto", "--folds", 0]
    found = result(capsys, "repair", people, *WHO, "--out", tmp_path / "a.csv", *args)
    assert found["threshold"] in THRESHOLDS
    again = ["--threshold", found["threshold"], "--folds", 0]
    given = result(capsys, "repair", people, *WHO, "--out", tmp_path / "b.csv", *FEW, *again)
    assert given["edits"] == found["edits"] > 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_threads_are_those_that_were_asked_for():
    def openmp():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}

    with threadpool_limits(2):
        make_model("logistic", RunOptions(jobs=3), n_rows=100)
        assert openmp() == {3}
        # One for a small table, all cores for a large one.
        make_model("logistic", RunOptions(), n_rows=100)
        assert openmp() == {1}
        make_model("logistic", RunOptions(jobs=2), n_rows=100)
        make_model("logistic", RunOptions(), n_rows=100_000)
        assert openmp() == {2}


def test_the_built_in_tables_are_listed(capsys):
    found = result(capsys, "datasets")["datasets"]
    assert [line["name"] for line in found] == list(datasets.names())
    assert found[1]["rows"] == 7214


@pytest.mark.paper
def test_the_demo_writes_its_files(run, tmp_path):
    done = run("demo", "--out", "demo", "--quiet")
    edits = Edits.read(tmp_path / "demo" / "compas-edits.csv")
    assert f"{len(edits):,} of 64,926 cells" in done.stdout.decode()
    assert re.search(r"DR +0\.\d{4} +0\.\d{4}", done.stdout.decode())
    assert len((tmp_path / "demo" / "compas-repaired.csv").read_text().splitlines()) == 7215
    assert "Fairness repair of compas, by sex" in (tmp_path / "demo" / "compas-report.html").read_text()


@pytest.mark.parametrize("command", ["audit", "repair", "evaluate", "tune", "apply", "datasets", "demo"])
def test_help_has_an_example(capsys, command):
    assert run_here([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Example: fairshap {command}" in said


def test_the_help_says_the_exit_codes(capsys):
    assert run_here(["--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0" in said
    assert "3 a test of an audit failed" in said
    assert "130 interrupted" in said


def test_several_sensitive_columns_ranges_and_labels(capsys, people):
    table = ["--target", "risk", "--folds", 2, "--top", 1]
    both = ["--sensitive", "sex", "--sensitive", "housing", "--privileged", "male", "--privileged", "own"]
    found = result(capsys, "audit", people, *table, *both)
    assert found["data"]["privileged"] == ["male", "own"]
    found = result(capsys, "audit", people, *table, "-s", "age", "-p", "30..60")
    assert found["data"]["privileged"] == "[30.0, 60.0]"
    assert {group["name"] for group in groups_of(found)} == {"in [30.0, 60.0]", "not in [30.0, 60.0]"}
    found = result(capsys, "audit", people, *table, "-s", "age", "-p", "27..27")
    rows = {group["name"]: group["rows"] for group in groups_of(found)}
    assert rows["in [27.0, 27.0]"] == (pd.read_csv(people)["age"] == 27).sum()
    # Of several labels one is compared with the rest.
    table[1] = "job"
    found = result(capsys, "audit", people, *table, "-s", "sex", "-p", "male", "--positive", "2")
    (table,) = found["evidence"]["groupings"][0]["labels"]
    counted = [
        group["rows"] * line["base_rate"]["value"]
        for group, line in zip(groups_of(found), table["outcomes"], strict=True)
    ]
    assert sum(counted) == pytest.approx((pd.read_csv(people)["job"] == 2).sum())


def test_output_that_nobody_reads_on_is_no_error(people):
    command = f"{sys.executable} -m fairshap datasets --json | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, check=True)  # noqa: S602
    assert done.stdout == b"{"
    assert done.stderr == b""


def test_a_redacted_audit_prints_no_value_of_a_row(capsys, people, tmp_path):
    args = ["audit", people, *WHO, *FEW, "--folds", 2, "--top", 3, "--id", "code2"]
    frame = pd.read_csv(people, dtype=str).assign(code2=[f"person-{k}" for k in range(300)])
    table = tmp_path / "table.csv"
    frame.to_csv(table, index=False)
    args[1] = table
    shown = result(capsys, *args)["rows"]
    hidden = result(capsys, *args, "--report", tmp_path / "r.json", "--redact")
    assert all(row["name"].startswith("person-") for row in shown)
    assert [row["risk"] for row in hidden["rows"]] == [row["risk"] for row in shown]
    for name in ("name", "group", "value", "reference_value"):
        assert {row[name] for row in hidden["rows"]} == {""}
    assert "person-" not in json.dumps(hidden)


def test_tables_that_cannot_be_written_are_refused_before_any_work(refuse, people, tmp_path):
    args = ["audit", people, *WHO, *FEW, "--folds", 2, "--report", tmp_path / "r.json", "--ll144"]
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "sex.csv").write_text("mine")
    assert "exists already" in refuse(*args, tmp_path / "tables")
    (tmp_path / "file").write_text("mine")
    assert "cannot be a folder" in refuse(*args, tmp_path / "file")
    assert not (tmp_path / "r.json").exists()
    assert (tmp_path / "tables" / "sex.csv").read_text() == "mine"
