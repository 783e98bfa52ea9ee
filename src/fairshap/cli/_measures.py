"""How measures are printed, and written as JSON."""

from typing import Any

from fairshap._crossval import GAPS, MEASURES, Evaluation
from fairshap.cli._output import Output, records


def with_interval(line: Any, measure: str) -> str:
    """Return a measure with its interval, for a line of a frame that has both."""
    return f"{line[measure]:.3f} [{line[f'{measure}_low']:.3f}, {line[f'{measure}_high']:.3f}]"


def main_measures() -> list[str]:
    """Return the measures that a table of methods shows; the JSON has all."""
    return [name for name, measure in MEASURES.items() if measure.is_main]


def labels(names: list[str]) -> list[str]:
    """Return what the measures are called."""
    return [MEASURES[name].label for name in names]


def between(evaluation: Evaluation, measure: str) -> str:
    """Return the groups of the highest and of the lowest rate under the first model, for a gap."""
    pair = evaluation.measures.pair(0, measure)
    return "" if pair is None else f"{pair[0]} over {pair[1]}"


def describe_measures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the measures of each model as JSON takes them, with the groups that gaps are between."""
    return [
        line | {f"{gap}_between": evaluation.measures.pair(k, gap) for gap in GAPS}
        for k, line in enumerate(records(evaluation.frame()))
    ]


def describe_folds(evaluation: Evaluation) -> dict[str, Any]:
    """Return how the rows were held out, as JSON takes it."""
    folds = evaluation.folds
    return {"folds": folds and folds.n_folds, "repeats": folds and folds.n_repeats}


def print_notes(output: Output, evaluation: Evaluation) -> None:
    """Print what the intervals are of, and the DR of a shuffled attribute, if there is one."""
    if evaluation.noise_level is None:
        output.line("DR has no noise level here: a model from a file is not retrained.")
        return
    output.line(
        "Intervals are for the models trained here; that of DR also reflects training on other folds."
    )
    print_noise(output, evaluation.noise_level, evaluation.is_noise)


def print_noise(output: Output, level: float, is_noise: bool) -> None:
    """Print the DR of a shuffled attribute, and whether the model's own is distinguishable from it."""
    said = "; DR is not distinguishable from it" if is_noise else ""
    output.line(f"Noise level of DR (the sensitive column shuffled among the rows): {level:.4f}{said}.")
