"""Run every benchmark, or those that are named, and write what they print to RESULTS.md."""

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
# What is no benchmark, and what takes hours and is run by itself.
APART = ("common", "effect_bars", "effect_page", "house", "write_results")
HOURS = ("defaults", "direction", "effect", "pipelines", "strategies", "tuned")
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
        f"- {date.today()}; the cores are virtual and shared: figures vary by a tenth or two, of small "
        "tables by more",
    ]


def main() -> None:
    target = HERE / "RESULTS.md"
    names = sys.argv[1:] or [path.stem for path in HERE.glob("*.py") if path.stem not in (*APART, *HOURS)]
    sections = known_sections(target) if sys.argv[1:] else {}
    for name in sorted(names):
        script = HERE / f"{name}.py"
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
        sections[name] = f"## {name} ({seconds:.0f} s)\n\n{summary}\n\n```\n{shown}\n```\n"
    head = "\n".join(["# Benchmarks", "", "Written by `make bench`.", "", *machine(), ""])
    aside = target.with_suffix(".new")
    aside.write_text("\n".join([head, *(sections[name] for name in sorted(sections))]), encoding="utf-8")
    aside.replace(target)


def known_sections(target: Path) -> dict[str, str]:
    """Return what stands in the file by the names of the benchmarks."""
    parts = re.split(r"^(?=## (?:\w+) \(\d+ s\)$)", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.split()[1]: part.rstrip() + "\n" for part in parts[1:]}


if __name__ == "__main__":
    main()
