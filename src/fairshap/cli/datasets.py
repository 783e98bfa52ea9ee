"""``fairshap datasets``: the built-in tables."""

from io import BytesIO

import pyarrow.parquet as parquet

from fairshap.cli._options import RunOptions
from fairshap.cli._output import Output
from fairshap.datasets import SPECS, stored_bytes


def datasets(run: RunOptions) -> None:
    """List the built-in tables, which can be given as DATA."""
    output = Output("datasets", run)
    lines = []
    for name, spec in SPECS.items():
        held = parquet.ParquetFile(BytesIO(stored_bytes(name))).metadata
        sensitive, privileged = next(iter(spec.sensitive.items()))
        lines.append(
            {
                "name": name,
                "rows": held.num_rows,
                "columns": held.num_columns,
                "target": spec.target,
                "positive_means": spec.meaning,
                "sensitive": sensitive,
                "privileged": privileged,
                "source": spec.source,
                "licence": spec.licence,
                "description": spec.description,
            }
        )
    shown = ["name", "rows", "columns", "target", "sensitive", "privileged", "positive_means"]
    output.table(
        ["name", "rows", "columns", "target", "sensitive", "privileged", "1 means"],
        [[line[key] for key in shown] for line in lines],
        left=(0, 3, 4, 5, 6),
    )
    output.json(datasets=lines)
