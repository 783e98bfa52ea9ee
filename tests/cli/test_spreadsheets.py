"""The command on tables as an HR department has them, on terminals of several widths and in a pipe."""

import csv
import io
import random
import re
import subprocess
import sys

import openpyxl
import pandas as pd
import pytest
from typer.main import get_command

from fairshap import Edits
from fairshap.cli._columns import find_suspicious, find_unusable
from fairshap.cli._main import COMMANDS, make_app
from fairshap.cli._main import run as run_here
from fairshap.cli._options import RunOptions
from fairshap.cli._output import Output, show
from tests.cli.conftest import described

HEAD = ["Applicant ID", "Name", "sex", "Salary wish", "Score", "Applied", "Grade", "Country", "Remarks"]
HEAD += ["outcome", "hired"]
WHO = ["-t", "hired", "-s", "sex", "-p", "Male", "--drop", "outcome"]
QUICK = ["--model", "logistic", "--folds", 2, "--repeats", 1]


def people(n=120):
    """Return rows of applicants as somebody typed them."""
    draw = random.Random(0)  # noqa: S311
    rows = []
    for k in range(n):
        sex = draw.choice(["Male", "Male ", "Female"])
        score = draw.random() * 100
        hired = score + 25 * sex.startswith("M") + draw.gauss(0, 15) > 65
        day = f"{draw.randint(1, 28):02d}.{draw.randint(1, 12):02d}.2022"
        pay = f"€{draw.randint(20_000, 90_000):,}"
        rows.append(
            [f"A{k:03d}", f"Ann {k % 100}", sex, pay, f"{score:.1f}%", day, k % 5, "DE", "", "", "no"]
        )
        if hired:
            rows[-1][-2:] = "offer", "yes"
    return rows


@pytest.fixture(scope="module")
def hires(tmp_path_factory):
    """Return an untidy CSV file, and the same table in a workbook."""
    folder = tmp_path_factory.mktemp("hires")
    path = folder / "hires.csv"
    with path.open("w", newline="", encoding="cp1252") as file:
        writer = csv.writer(file)
        writer.writerows([["Hiring 2022"], [], HEAD, *people(), [""] * len(HEAD)])
    book = openpyxl.Workbook()
    book.active["A1"] = "Do not forward"
    sheet = book.create_sheet("2022")
    for row in [["Hiring 2022"], [], HEAD, *people()]:
        sheet.append(row)
    book.save(folder / "hires.xlsx")
    return path


def asked(capsys, *args):
    assert run_here([*map(str, args), "--json"]) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    return described(said.out), said.err


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_an_untidy_table_is_repaired_in_its_own_form_and_told(capsys, hires, tmp_path, ending):
    source = hires.with_suffix(f".{ending}")
    out, ledger = tmp_path / f"fair.{ending}", tmp_path / "edits.csv"
    files = ["--out", out, "--edits", ledger, "--id", "Applicant ID", "--threshold", "0.01"]
    found, said = asked(capsys, "repair", source, *WHO, *files, *QUICK)
    for text in (
        "'Male ' counts as 'Male'",
        "is 2022-",
        "Remarks (empty)",
        "Country (always 'DE')",
        "Applicant ID (--id)",
        "Name (text of 100 different values)",
        "treating hired = yes as the FAVORABLE outcome; if not, --positive no",
        "Grade: few different whole numbers; if they are codes, give --categorical Grade",
    ):
        assert text in " ".join(said.split())
    assert re.search(r"Salary wish: '€[0-9,]+' is [0-9]+, €", " ".join(said.split()))
    data = found["data"]
    assert data["dropped"] == {
        "outcome": "--drop",
        "Applicant ID": "--id",
        "Name": "text of 100 different values",
        "Country": "always 'DE'",
        "Remarks": "empty",
    }
    assert set(data["columns"]) == {"sex", "Salary wish", "Score", "Applied", "Grade"}
    assert (data["id"], found["options"]["folds"], found["seed"]) == ("Applicant ID", 2, 0)
    assert any(line.startswith("left out outcome") for line in found["messages"])
    # The ledger names people by their identifier, and every new cell is a cell of the file.
    edits = Edits.read(ledger)
    assert len(edits) == found["edits"] > 0
    assert {edits.index[k] for k in range(len(edits))} <= {row[0] for row in people()}
    if ending == "csv":
        before = {row[0]: row for row in people()}
        lines = list(csv.reader(out.read_text(encoding="cp1252").splitlines()))
        assert lines[0] == ["Hiring 2022"]
        after = {row[0]: row for row in lines[3:-1]}
    else:
        book = openpyxl.load_workbook(out)
        assert book["Sheet"]["A1"].value == "Do not forward"
        rows = list(book["2022"].iter_rows(min_row=4, values_only=True))
        after = {row[0]: list(row) for row in rows}
        before = {row[0]: row for row in people()}
    for index, column, reference in zip(edits.index, edits.column, edits.reference, strict=True):
        place = HEAD.index(column)
        assert str(after[index][place]) == str(before[f"A{reference:03d}"][place])
    again = tmp_path / f"again.{ending}"
    assert run_here(["apply", str(ledger), str(source), "--out", str(again)]) == 0
    if ending == "csv":
        assert again.read_bytes() == out.read_bytes()


def test_a_copy_of_the_target_and_a_proxy_are_pointed_out_before_the_work(capsys, hires, tmp_path):
    lines = hires.read_text(encoding="cp1252").splitlines()
    rows = [line.replace("DE", "Mr" if ",Male" in line else "Ms") for line in lines]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    who = ["-t", "hired", "-s", "sex", "-p", "Male"]
    _, said = asked(capsys, "evaluate", path, *who, *QUICK, "--methods", "baseline")
    assert "'outcome' tells 'hired' exactly: is it known only after the decision?" in said
    assert said.count("'Country' tells 'sex' exactly") == 1


def test_columns_that_no_model_can_use_are_found():
    n = 60
    frame = pd.DataFrame(
        {
            "n": range(n),
            "employee_id": [k * 7919 % 100_003 for k in range(n)],
            "pay": [k * 7919 % 100_003 + 0.5 for k in range(n)],
            "units": [k * 7919 % 100_003 for k in range(n)],
            "text": pd.Categorical([f"t{k // 1.5:.0f}" for k in range(n)]),
            "zip": pd.Categorical([f"{k % 25:05d}" for k in range(n)]),
            "same": 3,
            "none": pd.Categorical([None] * n),
            "left": [1.0, *[None] * (n - 1)],
        }
    )
    found = find_unusable(frame, kept=[])
    assert list(found) == ["n", "employee_id", "text", "same", "none"]
    assert find_unusable(frame, kept=list(found)) == {}
    y = pd.Series([0, 1] * (n // 2), name="y")
    X = pd.DataFrame({"copy": y.map({0: "a", 1: "b"}), "score": y * 10 + frame["pay"] / 1e6, "x": frame["n"]})
    told = find_suspicious(X.assign(sex=y), y, ["sex"])
    assert told["target"] == ["'copy' tells 'y' exactly", "'score' tells 'y' exactly"]
    assert told["sensitive"] == ["'copy' tells 'sex' exactly", "'score' tells 'sex' exactly"]


def test_several_favorable_labels_and_commas_between_columns(capsys, tmp_path):
    rows = ["sex,race,n,status"]
    rows += [
        f"{'fm'[k % 2]},{'ab'[k // 2 % 2]},{k % 13},{('promoted', 'ok', 'out')[k % 3]}" for k in range(120)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    who = ["-t", "status", "-s", "sex,race", "-p", "m,a", "--positive", "promoted,ok"]
    found, said = asked(capsys, "evaluate", path, *who, *QUICK, "--methods", "baseline")
    assert "treating status = ok or promoted" in said or "treating status = promoted or ok" in said
    assert found["data"]["positive"] == ["promoted", "ok"]
    assert found["data"]["sensitive"] == ["sex", "race"]
    assert found["data"]["privileged"] == ["m", "a"]
    assert run_here(["evaluate", str(path), *who[:-1], "promoted,ok,out"]) == 1
    assert "names every label" in capsys.readouterr().err


def test_an_identifier_that_is_there_twice_is_refused(refuse, hires):
    said = refuse("evaluate", hires, *WHO, "--id", "Name")
    assert said.startswith("--id 'Name' does not name every row: it is empty or the same in rows 4, 5, 6, 7 ")


def test_what_is_missing_is_asked_for_on_a_terminal(terminal, hires):
    # Some of it wrong at first.
    shown = terminal(
        "evaluate",
        hires,
        "--drop",
        "outcome",
        *QUICK,
        "--methods",
        "baseline",
        typed="hird\n1\n1\nmale\nMale\n",
    )
    assert "'hird' is none of them. Did you mean 'hired'?" in shown
    assert re.search(r"1  hired +no \(\d+\), yes \(\d+\)|1  hired +yes \(\d+\), no \(\d+\)", shown)
    assert re.search(r"1  Male +\d+ rows, \d+% of them favorable", shown)
    assert "Did you mean 'Male'?" in shown
    command = re.search(r"Next time: fairshap (.*)", shown)[1]
    assert command.endswith("-t hired -s sex -p Male")


def test_without_a_terminal_what_is_missing_is_named(run, hires):
    done = run("audit", hires, check=False, stdin=b"")
    assert done.returncode == 2
    assert b"--target and --sensitive are not given" in done.stderr


def test_no_number_and_no_name_is_cut_off(terminal, hires):
    shown = terminal("evaluate", hires, *WHO, *QUICK, "--methods", "baseline,rsa,reweighing")
    assert "…" not in shown
    words = " ".join(shown.split())
    for short in (
        "DR: discriminative risk: ",
        "DP: demographic parity: ",
        "EO: equal opportunity: ",
        "Flips: share",
    ):
        assert short in words
    for name in ("baseline", "rsa", "reweighing"):
        assert re.search(rf"^{name}$", shown, re.M)
    assert len(re.findall(r"\d\.\d{3} \[-?\d\.\d{3}, -?\d\.\d{3}\]", shown)) >= 18
    # A bar is as wide as the terminal, and is drawn over itself.
    assert max(len(line) for line in shown.splitlines() if "━" not in line) <= 80


class Terminal(io.StringIO):
    """Takes what is printed as a terminal does."""

    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("which", ["evaluate", "repair", "names"])
def test_a_table_fits_or_becomes_blocks(monkeypatch, width, which):
    header, row = {
        "evaluate": (["method", *"ABCDEF"], ["fairshap-counterfactuals", *["0.673 [0.663, 0.684]"] * 6]),
        "repair": (
            ["measure", "before", "after", "change [95 % interval]", "between", "meaning"],
            ["EOdds", 0.0472, 0.1704, "+0.1232 [+0.0452, +0.2012]", "Female over Male", "a word " * 15],
        ),
        "names": (["name", "n"], ["a name of [bold] brackets " * 5, 12_345]),
    }[which]
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    Output("evaluate", RunOptions()).table(header, [row, row])
    shown = re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue())
    # Only a long text is broken, between words.
    words = shown.split()
    for cell in map(show, row):
        texts = [cell] if len(cell) < 40 else cell.replace("\\", "").split()
        for text in texts:
            assert text in shown or text in words
    first = show(row[0]).replace("\\", "").strip()
    assert shown.count(first) == 2
    others = [line for line in shown.splitlines() if first not in line]
    assert max(map(len, others), default=0) <= width


def test_a_number_at_the_head_of_a_block_is_named_and_an_error_is_broken_between_words(terminal, tmp_path):
    rows = ["sex,pay,hired"] + [f"{'fm'[k % 2]},{k * 37 % 101},{int(k % 3 == 0)}" for k in range(150)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    who = ["-t", "hired", "-s", "sex"]
    shown = terminal("audit", "t.csv", *who, *QUICK, "--top", 2, width=40)
    assert len(re.findall(r"^row of the file \d+$", shown, re.M)) == 2
    shown = terminal("audit", "t.csv", "-t", "hirde", "-s", "sex", code=1, width=40)
    assert len(shown.splitlines()) > 2
    assert max(map(len, shown.splitlines())) <= 40
    assert "Did you mean 'hired'?" in " ".join(shown.split())


def test_rare_decisions_are_judged_by_scores_and_what_adds_nothing_has_no_column(capsys, tmp_path):
    rows = ["sex,years,call"]
    rows += [f"{'fm'[k % 2]},{k * 7 % 5},{int(k % 2 and k % 13 == 0)}" for k in range(600)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    args = ["audit", path, "-t", "call", "-s", "sex", "-p", "m", *QUICK, "--top", 3]
    assert run_here([*map(str, args)]) == 0
    shown = capsys.readouterr().out
    assert "The model predicts call = 1 for almost nobody" in shown
    assert "scored above median" in shown
    assert "-0.0%" not in shown
    # A row whose reference has the same years: the attribute alone makes its risk.
    found, _ = asked(capsys, *args)
    assert all((line["column"] is None) == (line["attribution"] is None) for line in found["rows"])
    assert any(line["column"] is None and line["reference"] is not None for line in found["rows"])


def test_a_repair_that_does_not_help_says_so_first_and_what_does(capsys, hires, tmp_path):
    # Too little to change a thing.
    args = ["repair", hires, *WHO, *QUICK, "--selector", "budget", "--budget", 1, "--out", tmp_path / "x.csv"]
    assert run_here([*map(str, args)]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("THIS REPAIR DOES NOT HELP. It replaces 1 cells")
    table = "\n".join(rest[:6])
    assert re.search(r"^drop the column +0\.\d{4} +0\.0000", table, re.M)
    assert re.search(r"^weight the rows", table, re.M)
    found, _ = asked(capsys, *args, "--force")
    assert found["helps"] is False
    assert [line["method"] for line in found["instead"]] == ["rsa", "reweighing", "counterfactuals"]


def test_only_the_command_that_runs_is_imported():
    code = (
        "import sys; from fairshap.cli._main import run\n"
        "run(sys.argv[1:]); print('sklearn' in sys.modules, 'pandas' in sys.modules, file=sys.stderr)"
    )
    for args in (["--help"], *([name, "--help"] for name in COMMANDS)):
        done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
        assert done.stderr == "False False\n", args


def test_what_the_help_says_of_a_command_is_its_first_sentence():
    for name, command in get_command(make_app(COMMANDS)).commands.items():
        assert command.help.split("\n\n")[0].replace("\n", " ") == COMMANDS[name][1]


def test_values_are_offered_by_completion(run, monkeypatch):
    monkeypatch.setenv("_FAIRSHAP_COMPLETE", "complete_bash")
    for line, offered in (
        ("fairshap repair --model x", ["xgboost"]),
        ("fairshap repair --selector ", ["threshold", "budget", "optimal", "iterative"]),
        ("fairshap repair --matcher s", ["sinkhorn", "sliced"]),
        ("fairshap evaluate --methods rsa,rew", ["rsa,reweighing"]),
        ("fairshap tune --candidates c", ["cells", "corrections"]),
        ("fairshap tune --scoring a", ["accuracy", "auc", "ap"]),
    ):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", "3")
        assert run().stdout.decode().split() == offered
