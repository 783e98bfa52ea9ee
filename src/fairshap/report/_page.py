"""From the data to the page: what the template needs, and the template filled in."""

import base64
import hashlib
import platform
from functools import partial
from importlib import metadata, resources
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._frames import Table, show
from fairshap._problem.target import exceeds
from fairshap.exceptions import MissingExtraError
from fairshap.report._cells import column_lines, flows, ledger, plain_ledger, riskiest_rows
from fairshap.report._data import ReportData, Sweep
from fairshap.report._evaluation import group_rates
from fairshap.report._figures import plot_measures, plot_risks, plot_thresholds, to_svg
from fairshap.report._summary import (
    cards,
    count,
    decimal,
    facts,
    group_sizes,
    join_names,
    selection,
    verdict,
)

_PACKAGES = ("fairshap", "numpy", "pandas", "scikit-learn", "numba")


def render(data: ReportData, sweep: Sweep, *, checksum: str | None, redact: bool, **texts: Any) -> str:
    """Return the page as HTML; ``texts`` are the title, the note, the command and the seed."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("the report", "jinja2", "report") from error
    script = _read("report.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["count"] = count
    environment.filters |= {"decimal": decimal, "show": show, "whole": "{:,}".format}
    return environment.from_string(_read("report.html")).render(
        style=_read("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        checksum=checksum or f"{checksum_of(data.problem.own)} (SHA-256 of the table's names and cells)",
        versions=versions(data.explanation.model),
        redact=redact,
        **texts,
        **_context(data, sweep, redact),
    )


def _read(name: str) -> str:
    return resources.files("fairshap.report").joinpath("page", name).read_text(encoding="utf-8")


def _context(data: ReportData, sweep: Sweep, redact: bool) -> dict[str, Any]:
    """Return what the sections show."""
    lines, n_hidden = column_lines(data)
    listed = ledger(data, redact)
    certificate = data.certificate
    risen = exceeds(certificate.dr_after, certificate.dr_before, data.explanation.unit)
    plots: dict[str, Any] = {
        "measures": partial(plot_measures, data),
        "risks": partial(plot_risks, data),
        "thresholds": partial(plot_thresholds, sweep),
        "columns": partial(data.explanation.plot, threshold=data.threshold),
    }
    plan, matching = data.explanation.match_plan, None
    # A plan that was given may not say how it was made.
    if plan.basis is not None and len(plan):
        matching = plan.diagnostics()
        plots["matching"] = matching.plot
    if data.tuning is not None:
        plots["tuning"] = data.tuning.plot
    return {
        "audit": data.is_audit,
        "attribute": data.attribute,
        "sides": data.problem.side_names,
        "verdict": verdict(data),
        "cards": cards(data),
        "facts": facts(data),
        "sizes": group_sizes(data),
        "measures": MEASURES,
        "lower_is_better": join_names([one.label for one in MEASURES.values() if not one.higher_is_better]),
        "evaluation": data.evaluation,
        "measure_lines": data.measure_lines(),
        "rates": [] if data.evaluation is None else group_rates(data.evaluation, data.n_models),
        "not_measured": data.not_measured,
        "columns": lines,
        "columns_hidden": n_hidden,
        "threshold": data.threshold,
        "selection": selection(data),
        "flows": flows(data, redact),
        "matching": matching,
        "risks": data.mean_risks(),
        "risks_edited": data.mean_risks(edited=True),
        "n_edited": int(certificate.edited.sum()),
        "n_risen": int(risen[certificate.edited].sum()),
        "sweep": sweep.to_dict(),
        "rows": riskiest_rows(data, redact),
        "ledger": listed,
        "plain_ledger": plain_ledger(listed),
        "tuning": data.tuning,
        "candidates": [] if data.tuning is None else data.tuning.frame().to_dict("records"),
        "figure": lambda name, description: to_svg(name, description, plots[name]),
    }


def versions(model: Any) -> list[tuple[str, str]]:
    """Return the versions of Python and of the packages that the result depends on."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    # xgboost is also installed under other names.
    owners = metadata.packages_distributions()
    modules = {type(step).__module__.partition(".")[0] for step in steps}
    of_model = {owners[module][0] for module in modules if module in owners}
    names = [*_PACKAGES, *sorted(of_model - set(_PACKAGES))]
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in names)]


def checksum_of(table: Table) -> str:
    """Return the SHA-256 of a table's names and cells, which is the same for any library."""
    digest = hashlib.sha256()
    for name in table.names:
        digest.update(str(name).encode("utf-8", "replace") + b"\0")
    digest.update(np.ascontiguousarray(table.numbers).tobytes())
    digest.update(np.ascontiguousarray(table.codes).tobytes())
    for column in table.category_columns.tolist():
        for value in table.store.values(column, table.distinct(column)):
            digest.update(str(value).encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
