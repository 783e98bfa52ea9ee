"""How measures are printed."""

from typing import Any

from fairshap.cli._output import Output, records
from fairshap.model_selection import Comparison
from fairshap.metrics._rates import GAPS

#: The measures and what they mean.
MEANINGS = {
    "accuracy": "share of right predictions (higher is better)",
    "dr": "change of the prediction when only the sensitive column changes",
    "dp": "gap in the rate of positive predictions",
    "eo": "gap in the true positive rate",
    "pqp": "gap in precision",
}


def with_interval(line: Any, measure: str) -> str:
    """Return a measure with its interval, for a line of a frame that has both."""
    return f"{line[measure]:.3f} [{line[f'{measure}_low']:.3f}, {line[f'{measure}_high']:.3f}]"


def between(measured: Comparison, measure: str) -> str:
    """Return the groups of the highest and of the lowest rate under the first method, for a gap."""
    pair = measured.measured.pair(0, measure)
    return "" if pair is None else f"{pair[0]} over {pair[1]}"


def describe_measures(measured: Comparison) -> list[dict[str, Any]]:
    """Return the measures of each method as JSON takes them, with the groups that gaps are between."""
    return [
        line | {f"{gap}_between": measured.measured.pair(k, gap) for gap in GAPS}
        for k, line in enumerate(records(measured.frame()))
    ]


def describe_folds(measured: Comparison) -> dict[str, Any]:
    """Return how the rows were held out, as JSON takes it."""
    folds = measured.folds
    return {"folds": folds and folds.n_folds, "repeats": folds and folds.n_repeats}


def print_notes(output: Output, measured: Comparison) -> None:
    """Print what the intervals are of, and the DR of a shuffled attribute, if there is one."""
    if measured.noise_level is None:
        output.line("DR has no noise level here: a model from a file is not trained again.")
        return
    output.line(
        "Intervals are for the models trained here; that of DR also reflects training on other folds."
    )
    print_noise(output, measured.noise_level, measured.is_noise)


def print_noise(output: Output, level: float, is_noise: bool) -> None:
    """Print the DR of a shuffled attribute, and whether the model's own is distinguishable from it."""
    said = "; DR is not distinguishable from it" if is_noise else ""
    output.line(f"Noise level of DR (the sensitive column shuffled among the rows): {level:.4f}{said}.")
