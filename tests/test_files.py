import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairshap import _io
from fairshap._files import check_target, write_atomically
from fairshap.exceptions import FileError
from tests.io.conftest import write

posix = pytest.mark.skipif(os.name != "posix", reason="what POSIX systems do")


def write_new(file) -> None:
    file.write(b"new")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    write_atomically(tmp_path / "a", write_new)
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)
    assert names(tmp_path) == ["a", "b"]


def test_a_file_that_is_there_is_replaced_by_force_only_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(FileError, match=r"exists already; give another name, or force"):
        write_atomically(path, write_new)
    assert path.read_bytes() == b"old"
    write_atomically(path, write_new, force=True)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    modes = []

    def write(file) -> None:
        modes.extend(stat.S_IMODE(beside.stat().st_mode) for beside in tmp_path.iterdir())

    write_atomically(path, write, force=True)
    assert modes == [0o600, 0o600]


@posix
def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    real = tmp_path / "folder" / "real"
    real.write_bytes(b"old")
    (tmp_path / "link").symlink_to(real)
    write_atomically(tmp_path / "link", write_new, force=True)
    assert (tmp_path / "link").is_symlink()
    assert real.read_bytes() == b"new"


def test_the_input_is_never_replaced_by_whatever_name(tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\n1,2\n")
    aliases = [path, Path("in.csv"), tmp_path / "x" / ".." / "in.csv"]
    (tmp_path / "x").mkdir()
    (tmp_path / "hard.csv").hardlink_to(path)
    aliases.append(tmp_path / "hard.csv")
    if os.name == "posix":
        (tmp_path / "soft.csv").symlink_to(path)
        aliases.append(tmp_path / "soft.csv")
    monkeypatch.chdir(tmp_path)
    for alias in aliases:
        with pytest.raises(FileError, match="is a file that is read, which is never overwritten"):
            check_target(alias, force=True, sources=[path])


def test_what_goes_wrong_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    for error in (ValueError, KeyboardInterrupt, SystemExit):

        def write(file, error=error) -> None:
            file.write(b"half")
            raise error

        with pytest.raises(error):
            write_atomically(path, write, force=True)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_folders_that_are_not_there_or_are_in_the_way_are_told(tmp_path):
    with pytest.raises(FileError, match="there is no folder"):
        write_atomically(tmp_path / "none" / "a", write_new)
    with pytest.raises(FileError, match="is a folder; give the name of a file"):
        write_atomically(tmp_path, write_new, force=True)


def test_a_name_as_long_as_names_may_be_can_be_written(tmp_path):
    path = tmp_path / ("n" * 251 + ".csv")
    write_atomically(path, write_new)
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_what_is_no_ordinary_file_is_written_to_directly():
    before = Path("/dev/null").stat()
    write_atomically("/dev/null", write_new)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert Path("/dev/null").stat().st_ino == before.st_ino
    with pytest.raises(FileError, match="the disk is full"):
        write_atomically("/dev/full", write_new)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_a_full_disk_is_told_in_any_format(tmp_path, ending):
    (tmp_path / f"full.{ending}").symlink_to("/dev/full")
    with pytest.raises(FileError, match="the disk is full"):
        write(_io.read("german"), tmp_path / f"full.{ending}")


SLOW_WRITER = """
import sys
from fairshap._files import write_atomically

def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()

write_atomically(sys.argv[1], write, force=True)
"""


@posix
@pytest.mark.parametrize(("sent", "left"), [(signal.SIGKILL, 2), (signal.SIGINT, 1)])
def test_a_run_that_is_ended_leaves_the_old_file(tmp_path, sent, left):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    # It writes for as long as standard input is open.
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_WRITER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as run:
        assert run.stdout.readline() == b"writing\n"
        run.send_signal(sent)
        assert run.wait() != 0
    assert path.read_bytes() == b"old"
    # A killed run cannot take away what it wrote beside; Ctrl-C does.
    assert len(names(tmp_path)) == left


def run_code(code: str, *arguments) -> str:
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return run.stdout


@posix
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text("a,b\n" + "1,2\n" * 50_000)
    out.write_bytes(b"old")
    # A limit to the size of files fails as a full disk does: in the middle of writing.
    code = """
import resource, sys
from fairshap import exceptions, _io
from fairshap._files import write_atomically
source = _io.read(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
content = source.to_bytes(sys.argv[2])
try: write_atomically(sys.argv[2], lambda file: file.write(content), force=True)
except exceptions.FileError as error: print(error)
"""
    assert "the disk is full" in run_code(code, path, out)
    assert out.read_bytes() == b"old"
    assert names(tmp_path) == ["in.csv", "out.csv"]


@posix
def test_a_folder_that_is_read_only_is_told():
    # In the open folder for such things: root becomes nobody, who cannot enter pytest's.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.csv").write_bytes(b"a,b\n1,2\n")
        (folder / "in.csv").chmod(0o644)
        (folder / "secret.csv").write_bytes(b"a,b\n1,2\n")
        (folder / "secret.csv").chmod(0)
        folder.chmod(0o555)
        code = """
import os, sys
from pathlib import Path
from fairshap import exceptions, _io
from fairshap._files import write_atomically
folder = Path(sys.argv[1])
# What is imported when it is first needed may lie where nobody cannot read.
_io.read(folder / "in.csv")
if not os.getuid(): os.seteuid(65534)
calls = [
    lambda: write_atomically(folder / "out.csv", lambda file: file.write(b"new")),
    lambda: _io.read(folder / "secret.csv"),
]
for call in calls:
    try: call()
    except exceptions.FileError as error: print(error)
"""
        try:
            lines = run_code(code, folder).splitlines()
        finally:
            folder.chmod(0o755)
        assert "its folder is read-only for you" in lines[0]
        assert lines[1].endswith("cannot be read: Permission denied.")
        assert names(folder) == ["in.csv", "secret.csv"]


@posix
def test_a_reader_sees_the_old_or_the_new_content_at_any_time(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0" * 100_000)
    seen = set()
    for round_ in range(1, 9):

        def write(file, round_=round_) -> None:
            for _ in range(10):
                file.write(str(round_).encode() * 10_000)
                seen.add(path.read_bytes())

        write_atomically(path, write, force=True)
        seen.add(path.read_bytes())
    assert {(len(content), len(set(content))) for content in seen} == {(100_000, 1)}
