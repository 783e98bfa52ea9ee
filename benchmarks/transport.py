"""Optimal transport on a whole table: processor seconds, peak memory and cost of each method.

    python benchmarks/transport.py            all methods, on Adult's 32,561 rows
    python benchmarks/transport.py compas     on another table

Each method runs in a process of its own, and its peak is that process's, with the libraries and the table.
The cost is the mean squared distance over the plan; the ratio is to that of "emd", which is within 0.1 % of
the lowest. The first run also compiles. One JSON line at the end.
"""

import json
import subprocess
import sys
import time

import numpy as np
from common import peak_mib

from fairshap import datasets
from fairshap.matching import NearestMatcher, TransportMatcher

WAYS = {
    "nearest": NearestMatcher(),
    "emd": TransportMatcher("emd", random_state=0),
    "sinkhorn": TransportMatcher("sinkhorn", random_state=0),
    "sliced": TransportMatcher("sliced", random_state=0),
}


def run(name: str, way: str) -> dict[str, float]:
    data = datasets.load(name)
    before = peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    plan = WAYS[way].match(data.X, data.y, sensitive=data.sensitive, privileged=data.privileged)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    best = plan.best
    uses = np.bincount(best[best >= 0], minlength=plan.n_rows)
    notes = plan.basis.notes
    return {
        "rows": plan.n_rows,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "MiB": round(peak_mib()),
        "MiB_before": round(before),
        "references": round(len(plan) / len(np.unique(plan.row)), 2),
        "most_used": int(uses.max()),
        **{key: notes[key] for key in ("transport_cost", "gap", "kept_mass_mean") if key in notes},
    }


def main() -> None:
    name = next(iter(sys.argv[1:]), "adult")
    if len(sys.argv) > 2:
        print(json.dumps(run(name, sys.argv[2])))
        return
    results = {}
    for way in WAYS:
        done = subprocess.run(
            [sys.executable, __file__, name, way], capture_output=True, text=True, check=True
        )
        results[way] = json.loads(done.stdout)
    lowest = results["emd"]["transport_cost"]
    for way, result in results.items():
        print(
            f"{name:8} {way:9} {result['seconds']:7.1f} s ({result['cpu_seconds']:.1f} of the processor) "
            f"{result['MiB']:6d} MiB  {result['references']:6.2f} references a row, one row is that of "
            f"{result['most_used']} at most"
        )
        if "transport_cost" in result:
            cost = result["transport_cost"]
            gap = f", gap {result['gap']:.2g}" if "gap" in result else ""
            print(f"{'':18} cost {cost:.3f}, ratio {cost / lowest:.3f}{gap}")
    print(json.dumps({"benchmark": "transport", "table": name, **results}))


if __name__ == "__main__":
    main()
