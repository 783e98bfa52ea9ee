"""The gallery and the notebook run as they stand, each in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

# shap uses what matplotlib will deprecate; how slow a machine is must not fail a test.
WARNINGS = ("error", "ignore:The set_:PendingDeprecationWarning", "ignore:explaining will take:UserWarning")

pytestmark = pytest.mark.examples


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "MPLBACKEND": "agg", "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs_without_a_warning(script, tmp_path, pytestconfig):
    # What `make test-oldest` ignores of old packages is given to pytest.
    warnings = [*WARNINGS, *(pytestconfig.getoption("pythonwarnings") or ())]
    options = [part for warning in warnings for part in ("-W", warning)]
    ran = subprocess.run(
        [sys.executable, *options, str(script)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_is_in_the_form_of_the_gallery(script):
    title, rule, blank, *_ = script.read_text("utf-8").removeprefix('"""\n').splitlines()
    assert rule == "=" * len(title)
    assert blank == ""
    assert "\n# %%\n" in script.read_text("utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_stored_without_outputs(path, tmp_path, monkeypatch):
    book = nbformat.read(path, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    # A warning, or a progress bar, would go to standard error.
    told = [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert told == []
    (page,) = tmp_path.rglob("audit.html")
    assert page.stat().st_size > 10_000
