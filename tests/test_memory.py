"""No n x m array anywhere: what a dense plan would need does not fit into these limits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPAIR = Path(__file__).parents[1] / "benchmarks" / "repair.py"


@pytest.mark.paper
def test_adult_is_repaired_within_one_and_a_half_gibibytes():
    command = [sys.executable, REPAIR, "adult", "raw"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["peak_GiB"] < 1.5
