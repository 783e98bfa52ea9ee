import json
import os
import re
import subprocess
import sys
import termios
from contextlib import suppress
from importlib.resources import files

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from fairshap import datasets

#: A quick model of few columns.
FEW = [
    "--model",
    "logistic",
    "--drop",
    "code,credit_amount,duration,purpose,checking_account,saving_accounts",
]
WHO = ["--target", "risk", "--sensitive", "sex", "--privileged", "male"]
#: What the JSON of every command looks like.
SCHEMA = Draft202012Validator(json.loads(files("fairshap.cli").joinpath("output-1.schema.json").read_text()))


def described(text):
    """Return the JSON that a command printed, which is as the JSON Schema says."""
    found = json.loads(text)
    SCHEMA.validate(found)
    return found


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """Return a CSV of 300 people in a folder of its own."""
    data = datasets.load("german")
    frame = data.X.assign(risk=np.where(data.y == 1, "yes", "no")).head(300)
    # Codes with leading zeros, quotes and blanks, which must come out as they went in.
    frame.insert(1, "code", [f"{k % 7:03d}" for k in range(300)])
    path = tmp_path_factory.mktemp("people") / "people.csv"
    text = frame.to_csv(index=False, lineterminator="\r\n").replace("car", '"car"')
    path.write_bytes(text.encode())
    return path


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the command in a folder of its own."""

    def command(*args, stdin=None, check=True):
        done = subprocess.run(
            [sys.executable, "-m", "fairshap", *map(str, args)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr.decode()
        return done

    return command


@pytest.fixture
def refuse(capsys):
    """Return a function that runs a command in this process, and gives the sentence that refuses it."""
    from fairshap.cli._main import run as run_here

    def command(*args, code=1):
        # What a fixture printed meanwhile is none of it.
        capsys.readouterr()
        assert run_here([str(arg) for arg in args]) == code
        said = capsys.readouterr()
        assert said.out == ""
        # Before it there may be notes on how the table was read.
        *notes, last = said.err.splitlines()
        assert all(line.startswith(("fairshap: ", "  ")) for line in notes), said.err
        return last.removeprefix("fairshap: ")

    return command


@pytest.fixture
def terminal(tmp_path):
    """Return a function that runs the command on a terminal of some width, and gives what is shown."""
    pty = pytest.importorskip("pty")

    def command(*args, width=80, typed="", code=0):
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, width))
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        environment.pop("COLUMNS", None)
        process = subprocess.Popen(
            [sys.executable, "-m", "fairshap", *map(str, args)],
            **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
            cwd=tmp_path,
            env=environment,
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        # At its end the terminal is gone, which is an error to whoever reads it.
        with suppress(OSError):
            while part := os.read(ours, 1 << 16):
                shown += part
        os.close(ours)
        assert process.wait() == code, shown.decode()
        # Bold letters, and a bar that is drawn over itself.
        return re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", shown.decode()).replace("\r\n", "\n")

    return command
