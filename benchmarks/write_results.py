"""Run every benchmark, one after the other, and write what they print to RESULTS.md."""

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("numpy", "numba", "pandas", "scikit-learn", "xgboost-cpu", "lightgbm", "shap", "faiss-cpu")


def machine() -> list[str]:
    """Describe where the figures come from."""
    processor, memory = platform.processor(), 0.0
    if Path("/proc/cpuinfo").exists():
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
        processor = models[0].partition(":")[2].strip() if models else processor
        total = Path("/proc/meminfo").read_text().split()[1]
        memory = int(total) / 1024**2
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return [
        f"- {os.cpu_count()} cores of {processor}, {memory:.0f} GiB, {platform.system()}",
        f"- Python {platform.python_version()}, {versions}",
        f"- {date.today()}; the cores are virtual and shared: figures vary by a tenth or two",
    ]


def main() -> None:
    lines = ["# Benchmarks", "", "Written by `make bench`.", "", *machine()]
    for script in sorted(HERE.glob("*.py")):
        if script.name in ("peak.py", "write_results.py"):
            continue
        print(f"== {script.name}", flush=True)
        start = time.perf_counter()
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{script.name} failed:\n{done.stderr}")
        print(done.stdout, end="", flush=True)
        summary = script.read_text().split('"""')[1].strip()
        # The last line is for machines.
        shown = "\n".join(done.stdout.rstrip().splitlines()[:-1])
        seconds = time.perf_counter() - start
        lines += ["", f"## {script.stem} ({seconds:.0f} s)", "", summary, "", "```", shown, "```"]
    target = HERE / "RESULTS.md"
    aside = target.with_suffix(".new")
    aside.write_text("\n".join(lines) + "\n", encoding="utf-8")
    aside.replace(target)


if __name__ == "__main__":
    main()
