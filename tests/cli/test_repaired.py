"""A repaired table is known as one, and nothing else is."""

import hashlib
import html
import json
import os
import shutil

import pandas as pd
import pytest

from fairshap import Edits, _io
from fairshap.cli._main import run as run_here
from fairshap.cli._problem import find_ledger
from tests.cli.conftest import FEW, WHO, described
from tests.io.conftest import edits_of

REPAIR = [*WHO, *FEW, "--threshold", "0.003"]
AUDIT = [*WHO, *FEW, "--folds", "2"]
EDITED = "The rows that a model is tested on here are edited too"


def checksum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def told(capsys):
    """Return a function that runs a command here, and gives its JSON and its messages."""

    def command(*args):
        # What a fixture printed meanwhile is none of it.
        capsys.readouterr()
        assert run_here([*map(str, args), "--json"]) == 0, capsys.readouterr().err
        said = capsys.readouterr()
        return described(said.out), said.err

    return command


@pytest.fixture(scope="module")
def repaired(people, tmp_path_factory):
    """Return a function that gives a folder of its own, with a copy of the repaired table and its ledger."""
    made = {}

    def copy(ending, folder):
        if ending not in made:
            made[ending] = tmp_path_factory.mktemp("repaired")
            files = ["--out", made[ending] / f"fair.{ending}", "--edits", made[ending] / "ledger.csv"]
            args = ["repair", people, *REPAIR, *files, "--folds", 0, "--quiet", "--json"]
            assert run_here([str(arg) for arg in args]) == 0
        shutil.copytree(made[ending], folder, dirs_exist_ok=True)
        return folder / f"fair.{ending}", folder / "ledger.csv"

    return copy


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "xlsx"])
def test_a_repaired_file_is_known_by_the_ledger_beside_it(told, people, repaired, tmp_path, ending):
    table, ledger = repaired(ending, tmp_path)
    found, said = told("audit", table, *AUDIT)
    repair = found["data"]["repair"]
    assert found["data"]["repaired"] is True
    assert repair["ledger"] == str(ledger)
    assert repair["edits"] == len(Edits.read(ledger)) == len(pd.read_csv(ledger)) > 0
    assert repair["original_sha256"] == checksum(people)
    assert pd.read_csv(ledger)["repaired_sha256"].dropna().tolist() == [checksum(table)]
    assert f"warning: {repair['warning']}" in said
    assert f"is the repaired table of the ledger {str(ledger)!r} ({repair['edits']} cells" in said
    assert EDITED in said
    assert "`fairshap repair ORIGINAL -t risk -s sex -p male --out FILE`" in said


def test_all_commands_that_measure_warn_and_the_report_does(told, repaired, tmp_path):
    table, _ = repaired("csv", tmp_path)
    page = tmp_path / "r.html"
    commands = [
        ["audit", table, *AUDIT, "--report", page],
        ["evaluate", table, *AUDIT, "--methods", "baseline"],
        ["tune", table, *AUDIT, "--repeats", 1, "--candidates", "plain"],
        ["repair", table, *REPAIR, "--threshold", "0.0001", "--folds", 2, "--out", tmp_path / "twice.csv"],
    ]
    for command in commands:
        found, said = told(*command)
        assert found["data"]["repaired"] is True, command
        assert f"fairshap: warning: {found['data']['repair']['warning']}\n" in said, command
    assert found["edits"] > 0
    assert EDITED in html.unescape(page.read_text())


def test_an_unrepaired_table_gives_no_warning(told, people, repaired, tmp_path):
    _, ledger = repaired("csv", tmp_path)
    # Beside the ledger of a repair, its original and another table.
    original, other = tmp_path / "people.csv", tmp_path / "other.csv"
    shutil.copy(people, original)
    other.write_bytes(b"".join(people.read_bytes().splitlines(keepends=True)[:201]))
    page = tmp_path / "r.html"
    for args in ([original, "--report", page], [other], [original, "--edits", ledger]):
        found, said = told("audit", args[0], *AUDIT, *args[1:])
        assert found["data"]["repaired"] is False
        assert found["data"]["repair"] is None
        assert "repaired" not in said.replace(str(tmp_path), "")
    assert EDITED not in html.unescape(page.read_text())


def test_a_table_that_was_moved_is_known_by_the_ledger_that_is_given(told, run, repaired, tmp_path):
    table, ledger = repaired("csv", tmp_path)
    (tmp_path / "elsewhere").mkdir()
    moved = table.rename(tmp_path / "elsewhere" / "renamed.csv")
    assert told("audit", moved, *AUDIT)[0]["data"]["repaired"] is False
    for command in (["audit"], ["evaluate", "--methods", "baseline"]):
        found, said = told(*command, moved, *AUDIT, "--edits", ledger)
        assert found["data"]["repair"]["ledger"] == str(ledger)
        assert EDITED in said
    piped = run("audit", "-", *AUDIT, "--edits", ledger, "--json", stdin=moved.read_bytes())
    assert json.loads(piped.stdout)["data"]["repaired"] is True


def test_of_a_table_that_was_changed_afterwards_nothing_is_claimed(told, repaired, tmp_path):
    table, ledger = repaired("csv", tmp_path)
    lines = table.read_bytes().splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:-1]))
    found, said = told("audit", table, *AUDIT)
    assert found["data"]["repaired"] is False
    assert "repaired" not in said
    found, said = told("audit", table, *AUDIT, "--edits", ledger)
    assert found["data"]["repaired"] is False
    assert f"{str(ledger)!r} does not tell whether {str(table)!r} is repaired" in said
    assert "or the table was changed afterwards" in said
    # Nor of a ledger from Python, which knows no files.
    Edits.read(ledger).write(ledger)
    found, said = told("audit", table, *AUDIT, "--edits", ledger)
    assert found["data"]["repaired"] is False
    assert "holds no checksum of a repaired file" in said


def test_a_ledger_that_is_given_must_be_one_and_is_not_overwritten(refuse, people, repaired, tmp_path):
    _, ledger = repaired("csv", tmp_path)
    assert "there is no ledger" in refuse("audit", people, *AUDIT, "--edits", tmp_path / "none.csv")
    assert "is not a ledger of fairshap" in refuse("audit", people, *AUDIT, "--edits", people)
    before = ledger.read_bytes()
    said = refuse("audit", people, *AUDIT, "--edits", ledger, "--report", ledger, "--force", code=2)
    assert "tells no form" in said
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_the_same_repair_gives_the_same_bytes(told, people, repaired, tmp_path, ending):
    table, ledger = repaired(ending, tmp_path)
    again = tmp_path / f"again.{ending}", tmp_path / "again-ledger.csv"
    told("repair", people, *REPAIR, "--folds", 0, "--out", again[0], "--edits", again[1])
    assert again[0].read_bytes() == table.read_bytes()
    assert again[1].read_bytes() == ledger.read_bytes()


def test_applied_edits_are_known_the_same_way(told, people, repaired, tmp_path):
    table, ledger = repaired("csv", tmp_path)
    # The same file again is the one that the ledger names.
    _, said = told("apply", ledger, people, "--out", tmp_path / "same.csv")
    assert (tmp_path / "same.csv").read_bytes() == table.read_bytes()
    assert "repaired" not in said
    # Of another file it is said that nothing names it.
    _, said = told("apply", ledger, people, "--out", tmp_path / "out.tsv")
    assert "nothing tells later that this one is repaired" in said
    assert told("audit", tmp_path / "out.tsv", *AUDIT)[0]["data"]["repaired"] is False


def test_without_edits_nothing_is_repaired(told, people, tmp_path):
    for ending in ("csv", "parquet"):
        out, ledger = tmp_path / f"out.{ending}", tmp_path / f"{ending}.csv"
        args = ["--threshold", "0.9", "--folds", 0, "--out", out, "--edits", ledger]
        found, _ = told("repair", people, *WHO, *FEW, *args)
        assert found["edits"] == 0
        assert told("audit", out, *AUDIT, "--edits", ledger)[0]["data"]["repaired"] is False
    assert (tmp_path / "out.csv").read_bytes() == people.read_bytes()


def test_a_repair_ends_with_how_to_check_it(run, people):
    done = run("repair", people, *REPAIR, "--folds", 2, "--out", "fair.csv")
    *_, check, ledger = done.stdout.decode().splitlines()
    assert check.startswith("To check the repair, train on fair.csv and test on original rows")
    assert "as the measures above do" in check
    assert "An audit of the repaired table tests on edited rows" in check
    assert ledger.startswith("Without a ledger, the list of all edits (--edits FILE),")
    done = run("repair", people, *REPAIR, "--folds", 0, "--out", "fair.parquet")
    assert "with --folds 5" in done.stdout.decode().splitlines()[-2]


def test_the_ledger_of_a_file_is_found_by_its_checksum(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    source = _io.read(path)
    edits = edits_of(source, [(0, "a", 1)])
    checksum = "a" * 64
    # What cannot be a ledger, is damaged, waits for a writer, or belongs to another file is passed over.
    edits.write(tmp_path / "a-python.csv")
    edits.write(tmp_path / "b-other.csv", repaired="b" * 64)
    (tmp_path / "c-binary.csv").write_bytes(bytes(range(256)))
    damaged = edits.to_bytes(repaired=checksum)
    (tmp_path / "d-damaged.csv").write_bytes(damaged.replace(b"\r\n", b"\r\n\xff", 1))
    (tmp_path / "e-folder.csv").mkdir()
    os.mkfifo(tmp_path / "f-pipe.csv")
    edits.write(tmp_path / "z-ledger.txt", repaired=checksum)
    assert find_ledger(tmp_path, checksum) is None
    edits.write(tmp_path / "y.CSV", repaired=checksum)
    assert find_ledger(tmp_path, checksum) == str(tmp_path / "y.CSV")
    assert find_ledger(tmp_path, source.checksum) is None
    assert find_ledger(tmp_path / "none", checksum) is None
