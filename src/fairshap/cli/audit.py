"""``fairshap audit``: who gets what, how the model errs, and which columns and rows tell the attribute."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fairshap.cli._options import FoldOptions, ReportOptions, RunOptions, TaskOptions, Texts, is_many, option

# The rest is imported where it is used: the help and completion of options do not wait for it.
if TYPE_CHECKING:
    from fairshap import Evidence
    from fairshap.cli._output import Output
    from fairshap.cli._problem import CommandTable

#: The exit code of an audit that fails a test.
FAILED = 3

# Columns that are shown; the JSON and the page have all.
_COLUMNS = 20


def audit(
    task: TaskOptions,
    run: RunOptions,
    page: ReportOptions,
    on: FoldOptions,
    threshold: float = option(0.05, "The smallest Shapley value of a cell that is counted."),
    top: int = option(10, "Rows to show.", min=0),
    weights: str | None = option(None, "The column of survey or sample weights.", "Table", metavar="COLUMN"),
    fail_if: Texts = option(
        None,
        "Exit with 3 if a figure is on the wrong side, such as 'impact_ratio<0.8' or 'flip_rate>0.02'; "
        "repeat for several.",
        "Tests",
        "--fail-if",
        metavar="TEST",
    ),
    gates: str | None = option(
        None, "A TOML file of tests: fail_if = ['impact_ratio < 0.8'].", "Tests", "--gates", metavar="FILE"
    ),
    by: str = option("", "Who made the audit, for the report.", "Output", metavar="NAME"),
    purpose: str = option("", "What it is for, for the report.", "Output", metavar="TEXT"),
    ll144: str | None = option(
        None,
        "A folder for the tables of New York City's Local Law 144 (CSV).",
        "Output",
        "--ll144",
        metavar="DIR",
    ),
) -> None:
    """Say who gets what, how the model errs by group, and through which columns and rows; change nothing."""
    import fairshap
    from fairshap.cli._models import open_task
    from fairshap.cli._output import Output, write_all
    from fairshap.evidence._gates import read_conditions, read_file

    output = Output("audit", run)
    tests = [*(fail_if or ()), *(read_file(gates) if gates is not None else ())]
    read_conditions(tests)
    if is_many(task.data):
        from fairshap.cli._dataset import audit_files

        given = {"--folds": on.folds, "--repeats": on.repeats, "--edits": on.edits, "--weights": weights}
        given["--ll144"] = ll144
        if refused := [name for name, value in given.items() if value is not None]:
            raise typer.BadParameter(f"{refused[0]} goes with one file")
        found = audit_files(output, task, page, threshold=threshold, fail_if=tests, by=by, purpose=purpose)
        _check_gates(output, found)
        return
    problem, estimator = open_task(output, task, page, on, needs_privileged=False, weights=weights)
    weight = None
    if weights is not None:
        weight = problem.source.frame[problem.source.find(weights, "weights")].to_numpy()
    tables = [] if ll144 is None else _table_files(ll144, problem, page)
    with output.warnings():
        found = fairshap.audit(
            estimator,
            **problem.inputs,
            sample_weight=weight,
            threshold=threshold,
            fail_if=tests,
            **on.params,
            **run.params,
            **problem.about(page, "Fairness audit of", by=by, purpose=purpose),
        )
        asked = [(path, partial(found.content, path)) for path in page.reports]
        if tables:
            contents = [frame.to_csv(index=False).encode for frame in found.to_ll144().values()]
            asked += [(path, partial(content)) for path, content in zip(tables, contents, strict=True)]
        write_all(asked, force=page.force)
    rows = _rows(found, problem, top)
    if page.redact:
        for row in rows:
            row.update(dict.fromkeys(("name", "group", "value", "reference_value"), ""))
    print_evidence(output, found, rows, problem.row_head)
    output.written(page, apart=True)
    if tables:
        output.line(f"Written: {', '.join(tables)}")
    evidence = found.to_dict()
    output.json(**problem.describe(), evidence=evidence, rows=rows, report=page.report, ll144=tables)
    _check_gates(output, found)


def _check_gates(output: Output, found: Evidence) -> None:
    """Say which tests failed, and leave with their exit code."""
    failed = [gate for gate in found.gates if not gate.passed]
    for gate in failed:
        output.note(f"failed: {gate.fails_if} ({gate.result}).")
    if failed:
        raise typer.Exit(FAILED)


def _table_files(folder: str, problem: CommandTable, page: ReportOptions) -> list[str]:
    """Return the files of the tables of Local Law 144, or say before any work why they cannot be written."""
    from fairshap.cli._output import check_writable
    from fairshap.evidence._forms import ll144_names
    from fairshap.exceptions import FileError

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"--ll144 {folder} cannot be a folder: {error.strerror}.") from error
    names = [problem.sensitive] if isinstance(problem.sensitive, str) else list(problem.sensitive)
    attributes = names if len(names) == 1 else [*names, " / ".join(names)]
    found = [str(Path(folder, f"{name}.csv")) for name in ll144_names(attributes)]
    check_writable([*page.written, *found], force=page.force, sources=[problem.source.path])
    return found


def _rows(found: Evidence, problem: CommandTable, top: int) -> list[dict[str, Any]]:
    """Return the rows of the largest risk, with the column that adds the most and its reference's value."""
    import numpy as np

    from fairshap._problem.target import steps

    if found.data is None:
        return []
    explanation = found.data.explanation
    risk = np.nan_to_num(explanation.risk, nan=-1.0)
    lines = []
    for row in np.argsort(-steps(risk, explanation.unit), kind="stable")[:top].tolist():
        phi = explanation.values[row]
        group = " / ".join(map(str, np.atleast_1d(problem.X[problem.sensitive].iloc[row])))
        line: dict[str, Any] = {"row": row, "name": problem.row_name(row), "group": group, "risk": risk[row]}
        line |= dict.fromkeys(("column", "value", "reference_value", "attribution", "reference"))
        other = int(explanation.best[row])
        if other >= 0 and not np.isnan(phi).all():
            added = steps(phi, explanation.unit)
            line["reference"] = other
            # Where no value adds to it, the attribute alone makes the risk.
            if np.nanmax(added) > 0:
                name = explanation.feature_names[int(np.nanargmax(added))]
                line["column"], line["attribution"] = str(name), float(np.nanmax(phi))
                line["value"], line["reference_value"] = (problem.X[name].iloc[k] for k in (row, other))
        lines.append(line)
    return lines


def print_evidence(
    output: Output, found: Evidence, rows: list[dict[str, Any]], row_head: str = "row"
) -> None:
    """Print what an audit found; ``rows`` are those of the largest risk, if there are any to show."""
    from fairshap.cli._output import print_noise
    from fairshap.report._page import decimal

    output.line(found.answers.what_was_unfair)
    output.line(found.answers.for_whom)
    is_stand_in = found.provenance.is_stand_in
    model = f"The model is a stand-in, {found.provenance.model}, trained here. " if is_stand_in else ""
    output.line(model + found.setting.how)
    for grouping in found.groupings:
        _print_groups(output, grouping)
    figures = ", ".join(
        f"{name.replace('_', ' ')} {decimal(one.value)}" for name, one in found.performance.items()
    )
    output.line(f"\nAll rows together: {figures}.")
    if found.setting.sees_attribute:
        dr, flips = found.treatment.risk, found.treatment.flip_rate
        value, low, high = map(decimal, (dr.value, dr.low, dr.high))
        said = f"{value} [{low}, {high}]."
        if flips.value == flips.value:
            said += f" Decisions that flip: {flips.value:.2%} [{flips.low:.2%}, {flips.high:.2%}]."
        output.line(f"Discriminative risk (DR), the mean change if only the attribute changes: {said}")
        if found.treatment.noise_level == found.treatment.noise_level:
            print_noise(output, found.treatment)
    _print_columns(output, found)
    if rows:
        output.line(
            "\nWhich rows: the largest risks, and the value that adds the most. The reference of a row is "
            "the most similar one of another group with the same label."
        )
        head = [row_head, "group", "risk", "column", "value", "reference has", "adds"]
        names = ("name", "group", "risk", "column", "value", "reference_value", "attribution")
        output.table(head, [[line[name] for name in names] for line in rows], left=(0, 1, 3))
    if found.gates:
        output.line("\nTests")
        lines = [(gate.fails_if, gate.result, "passed" if gate.passed else "FAILED") for gate in found.gates]
        output.table(["fails if", "measured", "result"], lines, left=(0, 1, 2))


def _print_groups(output: Output, grouping: Any) -> None:
    """Print what the groups by one attribute get, and how the model errs about them."""
    from fairshap.evidence._words import one_sided

    output.line(f"\nFor whom: by {grouping.attribute} [95 % intervals]")
    head = ["group", "rows", "base rate", "selected", "impact ratio", "adjusted p", "true positives"]
    for table in grouping.labels[:1]:
        # Decisions that are almost all alike say nothing about the groups, and scores do.
        scored = ["scored above median", "its ratio"] if one_sided(grouping, table) else []
        lines = []
        for group, line, errors in zip(grouping.groups, table.outcomes, table.errors, strict=True):
            mark = " (few rows)" if group.is_few else " (under 2 %)" if group.is_small else ""
            base, is_favored = line.base_rate.value, line.group == table.most_favored
            cells = [
                group.name + mark,
                group.rows,
                "not known" if base != base else f"{base:.1%}",
                _figure(line.selection_rate),
                "most favored" if is_favored else _figure(line.impact_ratio, "{:.2f}".format),
                "" if line.p_adjusted != line.p_adjusted else f"{line.p_adjusted:.2g}",
                *(_figure(errors.rates[name]) for name in ("true_positive_rate", "false_positive_rate")),
            ]
            if scored:
                is_highest = line.group == table.highest_scoring
                ratio = "highest" if is_highest else _figure(line.scoring_impact_ratio, "{:.2f}".format)
                cells += [_figure(line.scoring_rate), ratio]
            lines.append(cells)
        output.table([*head, "false positives", *scored], lines)
    if grouping.quantity is not None:
        _print_quantity(output, grouping)
    if grouping.unknown_rows:
        output.line(
            f"Unknown group: {grouping.unknown_rows:,} rows ({grouping.unknown_share:.1%}), in no line above."
        )


def _print_quantity(output: Output, grouping: Any) -> None:
    """Print the means of a quantity in each group, and how far the model is off."""
    from fairshap.report._page import amount

    lines = []
    for group, line in zip(grouping.groups, grouping.quantity.lines, strict=True):
        mark = " (few rows)" if group.is_few else " (under 2 %)" if group.is_small else ""
        is_favored = line.group == grouping.quantity.most_favored
        lines.append(
            [
                group.name + mark,
                group.rows,
                amount(line.mean_target.value),
                _figure(line.mean_prediction, amount),
                "most favored" if is_favored else _figure(line.difference, amount),
                "" if line.p_adjusted != line.p_adjusted else f"{line.p_adjusted:.2g}",
                _figure(line.mean_absolute_error, amount),
            ]
        )
    head = ["group", "rows", "mean", "mean prediction", "difference", "adjusted p", "mean absolute error"]
    output.table(head, lines)


def _share(value: float) -> str:
    """Return a share as text, nothing if it is not known."""
    return f"{value:.1%}" if value == value else ""


def _figure(figure: Any, write: Callable[[float], str] = "{:.1%}".format) -> str:
    """Return a figure with its interval as text."""
    if figure is None or figure.value != figure.value:
        return "not known"
    value, low, high = (write(one) for one in (figure.value, figure.low, figure.high))
    return f"{value} [{low}, {high}]"


def _print_columns(output: Output, found: Evidence) -> None:
    """Print what each column adds to the risk, or else to the gap, and how well it tells the attribute."""
    told = {} if found.proxies is None else {one.column: one.auc for one in found.proxies.columns}
    what, head = "risk", ["share of risk", "mean size", "cells to edit"]
    lines: list[tuple[Any, ...]] = [
        (
            *(one.column, f"{one.share:.1%}", one.mean_size, one.cells),
            _figure(told.get(one.column), "{:.2f}".format),
        )
        for one in found.treatment.columns
    ]
    if not lines and found.proxies is not None:
        # A model without the attribute has a gap between similar people all the same.
        what, head = "gap between the scores of similar people", ["share of gap"]
        lines = [
            (one.column, _share(one.share_of_gap), _figure(one.auc, "{:.2f}".format))
            for one in found.proxies.columns
        ]
    if not lines:
        return
    output.line(
        f"\nThrough which columns: share of the {what}, and how well a column tells the attribute (0.5 is "
        "chance)"
    )
    output.table(["column", *head, "AUC for attribute"], lines[:_COLUMNS])
    if len(lines) > _COLUMNS:
        output.line(f"{len(lines) - _COLUMNS} more columns are in --json and --report.")
    if found.proxies is not None:
        output.line(
            "All columns together tell the attribute with an AUC of "
            f"{_figure(found.proxies.all_together, '{:.2f}'.format)}."
        )
