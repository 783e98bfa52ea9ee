import gzip
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from fairshap.cli._main import COMMANDS, make_app
from fairshap.cli._options import OPTIONS, name_option
from tests.cli.conftest import WHO

OUT = ["--out", "x.csv"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty."),
        (b"sex,risk\nmale,1\nfemale\n", "line 3"),
        (b"sex,risk\nmale,1\nfemale,\n", "the target, is missing in 1 of 2 rows (row 3 of the file)"),
        (b"sex,risk\nmale,1\nfemale,1\n", "holds 1 in every row"),
        (b"sex,risk\nmale,1\nfemale,2\nmale,3\n", "has 3 different values, 1, 2, 3; name the favorable"),
        (b"sex,risk\nmale,bad\nfemale,good\n", "Give --positive bad or --positive good."),
        (b"sex,risk\nMale,1\nFemale,0\n", "which holds 'Female', 'Male'. Did you mean 'Male'?"),
        (b"\xff\xfe\x00", "--encoding"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_sentence(refuse, tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    assert words in refuse("audit", tmp_path / "t.csv", *WHO)


def test_what_is_not_there_is_told_with_the_nearest(refuse, people, tmp_path):
    assert "Did you mean" in refuse("audit", str(people).replace("people.csv", "poeple.csv"), *WHO)
    said = refuse("audit", people, "-t", "risq", "-s", "sex", "-p", "male")
    assert said.startswith("--target 'risq' is not a column of")
    assert said.endswith("Did you mean 'risk'?")
    assert "Did you mean 'sex'?" in refuse("audit", people, "-t", "risk", "-s", "gender", "-p", "male")
    assert "range for --privileged" in refuse("audit", people, "-t", "risk", "-s", "age", "-p", "30")
    without = refuse("audit", people, "-t", "risk", "-s", "age")
    assert re.search(r"give a range for --privileged, such as \d+\.\. or \.\.\d+\.$", without)
    several = refuse("audit", people, "-t", "risk", "-s", "sex,age")
    assert several.endswith("add a column of ranges, and name that one, or audit by it alone.")
    assert "Did you mean 'age'?" in refuse(
        "repair", people, *WHO, "--out", tmp_path / "x.csv", "--frozen", "agee"
    )
    assert "Did you mean 'baseline'?" in refuse("evaluate", people, *WHO, "--methods", "basline")
    assert "--folds 200 is too many" in refuse("evaluate", people, *WHO, "--folds", 200)
    assert "Did you mean 'xgboost'?" in refuse("audit", people, *WHO, "--model", "xgbost")


def test_wrong_usage_has_a_code_of_its_own(refuse, people):
    assert "--privileged is not given, and it is never guessed" in refuse(
        "repair", people, "-t", "risk", "-s", "sex", "--out", "x.csv", code=2
    )
    said = refuse("audit", people, code=2)
    assert said.startswith("--target and --sensitive are not given; name the column to predict")
    assert "For example: -t risk -s sex. " in said
    assert "--modle" in refuse("audit", people, *WHO, "--modle", "x", code=2)
    assert "neither a number nor auto" in refuse(
        "repair", people, *WHO, "--out", "x.csv", "--threshold", "low", code=2
    )
    assert "both want standard output" in refuse("repair", people, *WHO, "--out", "-", "--json", code=2)


def test_a_range_that_is_none_is_refused(refuse, people):
    table = ["audit", people, "-t", "risk", "-s"]
    said = refuse(*table, "age", "-p", "39..20", code=2)
    assert "--privileged 39..20 is upside down" in said
    assert "give 20..39. " in said
    assert "give -1.5..2e1. " in refuse(*table, "age", "-p", "2e1..-1.5", code=2)
    for text in ("..", "nan..3", "1.2.3..4", "20..x"):
        assert "give a range for --privileged, such as" in refuse(*table, "age", "-p", text)
    assert "--privileged 20..39 does not occur in column 'sex'" in refuse(*table, "sex", "-p", "20..39")
    assert "picks none of them" in refuse(*table, "age", "-p", "500..600")


def test_files_are_not_overwritten_and_the_input_never_is(refuse, people, tmp_path):
    there = tmp_path / "there.csv"
    there.write_text("old")
    assert "or --force to replace it" in refuse("repair", people, *WHO, "--out", there)
    assert there.read_text() == "old"
    assert "never overwritten" in refuse("repair", people, *WHO, "--out", people, "--force")
    assert "given for two files" in refuse(
        "repair", people, *WHO, "--out", there, "--edits", there, "--force"
    )
    assert "there is no folder" in refuse("repair", people, *WHO, "--out", tmp_path / "no" / "x.csv")
    assert "tells no format" in refuse("repair", people, *WHO, "--out", tmp_path / "x.json")
    assert "is not a ledger" in refuse("apply", people, people, "--out", tmp_path / "x.csv")


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_a_report_that_cannot_be_made_is_told_before_any_work(refuse, monkeypatch, tmp_path, module):
    # As if it were not installed. The table is not there either: it has not been looked for yet.
    monkeypatch.setitem(sys.modules, module, None)
    page = tmp_path / "r.html"
    for command in (["audit"], ["tune"], ["repair", "--out", tmp_path / "x.csv"]):
        said = refuse(*command, tmp_path / "none.csv", *WHO, "--report", page)
        assert said.startswith(f"--report needs {module}")
        assert "fairshap[report]" in said
    assert not page.exists()


def test_a_report_needs_a_file_of_its_own(refuse, people, tmp_path):
    out = ["--out", tmp_path / "x.csv"]
    assert "give --report too" in refuse("audit", people, *WHO, "--redact", code=2)
    assert "--report - is not taken" in refuse("audit", people, *WHO, "--report", "-", code=2)
    same = ["--edits", tmp_path / "x.md", "--report", tmp_path / "x.md"]
    assert "given for two files" in refuse("repair", people, *WHO, *out, *same)
    assert "tells no form" in refuse("audit", people, *WHO, "--report", people, "--force", code=2)
    assert "there is no folder" in refuse("tune", people, *WHO, "--report", tmp_path / "no" / "r.html")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_neither_table_nor_ledger(refuse, people, tmp_path):
    full = tmp_path / "full.csv"
    full.symlink_to("/dev/full")
    said = refuse(
        "repair", people, *WHO, "--out", full, "--edits", tmp_path / "edits.csv", "--folds", 0, "-q"
    )
    assert "the disk is full" in said
    assert [path.name for path in tmp_path.iterdir()] == ["full.csv"]
    # The other way round: the report does not fit, and neither table nor ledger is there.
    full.rename(tmp_path / "full.html")
    files = ["--out", tmp_path / "x.csv", "--edits", tmp_path / "e.csv", "--report", tmp_path / "full.html"]
    assert "the disk is full" in refuse("repair", people, *WHO, *files, "--folds", 0, "-q")
    assert [path.name for path in tmp_path.iterdir()] == ["full.html"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to_is_told_before_any_work(refuse, people, tmp_path):
    # A model that is not known comes later: what is told is the folder.
    unknown = ["--model", "none"]
    for command in (["audit"], ["tune"], ["repair", "--out", tmp_path / "x.csv"]):
        said = refuse(*command, people, *WHO, *unknown, "--report", "/proc/r.html")
        assert said.startswith("'/proc/r.html' cannot be written")
    assert "cannot be written" in refuse("repair", people, *WHO, *unknown, "--out", "/proc/x.csv")
    assert "'/proc/demo'" in refuse("demo", "--out", "/proc/demo")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written as root")
def test_a_read_only_folder_is_told_before_any_work(refuse, people, tmp_path):
    tmp_path.chmod(0o500)
    assert "read-only for you" in refuse("repair", people, *WHO, "--out", tmp_path / "x.csv")


ROWS = b"male,1\n" * 10_000


def feed(pipe):
    for _ in range(1000):
        os.write(pipe, ROWS)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_half_way_leaves_nothing(tmp_path, number, code):
    # Standard input that never ends: the command is surely still reading.
    args = [sys.executable, "-m", "fairshap", "repair", "-", *WHO, *OUT, "--edits", "e.csv"]
    command = subprocess.Popen(
        args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    with command:
        pipe = command.stdin.fileno()
        # A pipe takes 64 KiB before it is read from: once more is written, the command is at work.
        os.write(pipe, b"sex,risk\n" + 5 * ROWS)
        command.send_signal(number)
        # More to read is no reason to let a signal wait.
        with pytest.raises(BrokenPipeError):
            feed(pipe)
        said = command.stderr.read().decode()
    assert command.returncode == code
    assert said.count("\n") == 1
    assert said.endswith("nothing was written.\n")
    assert list(tmp_path.iterdir()) == []


# Importing the commands takes as long as standard input is open.
SLOW_IMPORT = """
import sys, fairshap.cli

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "fairshap.cli._main":
            print("importing", flush=True)
            sys.stdin.read()

sys.meta_path.insert(0, Slow())
fairshap.cli.main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_the_commands_are_still_being_imported_is_answered_too(number, code):
    command = subprocess.Popen(
        [sys.executable, "-c", SLOW_IMPORT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with command:
        assert command.stdout.readline() == b"importing\n"
        command.send_signal(number)
        said, out = command.stderr.read().decode(), command.stdout.read()
    assert command.returncode == code
    assert said.count("\n") == 1
    assert said.endswith("nothing was written.\n")
    assert out == b""


@pytest.mark.parametrize(
    ("text", "parameter", "said"),
    [
        ("Give delimiter='\\t'.", "delimiter", "Give --delimiter '\\t'."),
        ("'a.csv' exists already.", "force", "'a.csv' exists already (--force)."),
        ("Give force=True.", "force", "Give --force."),
        ("n_folds=9 is too many", "n_folds", "--folds 9 is too many"),
        (
            "'age' is no number. Did you mean 'x'?",
            "numeric",
            "'age' is no number. Did you mean 'x'? (--numeric)",
        ),
        ("no_budget=3, budget=4", "budget", "no_budget=3, --budget 4"),
        ("players={} is text", "players", "players={} is text"),
        ("threshold=1 is not what this is about", None, "threshold=1 is not what this is about"),
    ],
)
def test_the_parameter_of_an_error_is_told_as_an_option(text, parameter, said):
    assert name_option(text, parameter) == said


def test_every_option_that_an_error_can_name_is_there():
    commands = typer.main.get_command(make_app(COMMANDS)).commands.values()
    assert set(OPTIONS.values()) <= {
        option for command in commands for p in command.params for option in p.opts
    }


def test_output_that_nobody_reads_has_a_code_of_its_own(people):
    for args in (["datasets"], ["datasets", "--json"], ["audit", str(people), *WHO, "--folds", "2", "-q"]):
        # Nobody reads from the first moment on.
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "fairshap", *args], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, b"")


def test_nothing_at_all_is_answered_by_the_help(run):
    done = run(check=False)
    assert done.returncode == 2
    assert b"Usage" in done.stdout
    assert done.stderr == b""


def test_what_a_table_holds_does_not_control_the_terminal(run, tmp_path):
    rows = [f"{k % 7},{'M' if k % 2 else 'F'}\x1b[31m\x07,{(k // 2) % 2}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,sex,hired", *rows, ""]))
    who = ["--target", "hired", "--sensitive", "sex", "--privileged", "F\x1b[31m\x07"]
    done = run("audit", "t.csv", *who, "--folds", 2)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"F\\x1b[31m\\x07" in done.stdout


def test_a_row_without_a_group_is_counted_and_left_alone(run, tmp_path):
    rows = [f"{k % 7},{'M' if k % 2 else 'F'},{(k // 2) % 2}" for k in range(40)]
    rows[3] = "3,,1"
    (tmp_path / "t.csv").write_text("\n".join(["a,sex,hired", *rows, ""]))
    who = ["--target", "hired", "--sensitive", "sex", "--privileged", "M"]
    done = run("repair", "t.csv", *who, "--out", "x.csv", "--folds", 2)
    assert done.stderr.count(b"1 rows have no value of 'sex'") == 1
    assert (tmp_path / "x.csv").read_text().splitlines()[4] == "3,,1"


def test_compressed_standard_input_is_told_as_such(run):
    done = run("audit", "-", *WHO, stdin=gzip.compress(b"a,b\n1,2\n"), check=False)
    assert b"standard input is not text: it begins like a file compressed by gzip; decompress" in done.stderr


def test_options_that_take_a_few_words_say_which(refuse, people):
    for args, text in (
        (["--reject-if", "True"], "--reject-if 'True' is not known; give one of None, 'risk_rises', 'label_"),
        (["--candidates", "plane"], "--candidates 'plane' is not known; give one of 'plain', 'weights'"),
        (["--scoring", "roc"], "--scoring 'roc' is not known; give one of 'accuracy'"),
        (["--minimize", "dr,dp"], "--minimize 'dr,dp' is not known; give one of 'fairness', 'demographic_"),
        (["--minimize", "dr=1,dp"], "the weight ''; give a finite one above 0"),
        (["--minimize", "dr=inf"], "give a finite one above 0"),
        (["--minimize", "dpp=1"], "Did you mean 'dp'"),
    ):
        assert text in refuse("tune", people, *WHO, *args)


def test_selectors_that_make_no_sense_are_refused(refuse, people, tmp_path):
    repair = ["repair", people, *WHO, "--out", tmp_path / "x.csv"]
    for args, text in (
        (["--selector", "best"], "--selector best is not known; give one of threshold, budget"),
        (["--selector", "budget"], "--selector budget needs --budget"),
        (["--selector", "optimal", "--budget", "5"], "--budget goes with threshold, budget and iterative"),
        (["--selector", "optimal", "--threshold", "auto"], "--threshold auto tries repairs by"),
        (["--selector", "optimal", "--threshold", "relative"], "--threshold relative goes with --selector"),
        (["--budget", "5", "--threshold", "relative"], "without --budget"),
        (["--game", "gap", "--report", tmp_path / "r.html"], "--report is about the risk"),
    ):
        assert text in refuse(*repair, *args, code=2)
    assert list(tmp_path.iterdir()) == []
