"""Evidence: one object with all that was found, and its forms."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairshap._crossval import MEASURES
from fairshap._files import write_atomically
from fairshap._messages import import_extra, listing
from fairshap._plotting import draw_fairness, draw_outcomes, draw_risks, draw_thresholds
from fairshap.evidence._figures import Figure
from fairshap.evidence._forms import print_pdf, to_card, to_ll144
from fairshap.evidence._gates import Gate
from fairshap.evidence._provenance import MAPPING, MAPPING_DATE, MAPPING_NOTE, Provenance
from fairshap.evidence._proxies import Proxies
from fairshap.evidence._sections import Mitigation, Setting, Treatment
from fairshap.evidence._tables import Grouping
from fairshap.evidence._words import FOUR_FIFTHS, Answers, one_sided, widest_table
from fairshap.exceptions import InputError
from fairshap.report import ReportData, Sweep, render

#: The version of what ``to_dict`` returns; it changes when a name goes or means something else.
SCHEMA = 1


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What an audit or a repair found: figures with intervals, findings in sentences, and provenance.

    It is made by :func:`fairshap.audit` and by :meth:`fairshap.FairSHAP.report`. Pages, cards, JSON and
    tables are forms of it: ``write("audit.html")``, ``.md``, ``.pdf`` (through a browser) or ``.json``.

    Attributes
    ----------
    answers : Answers
        What was unfair, for whom, through which columns, what was changed, what it did, and what is left.
    groupings : tuple of Grouping
        The groups by each attribute, and by several together: their rows, outcomes and errors.
    performance : dict
        How good the model is.
    treatment : Treatment
        What changes when only the attribute does.
    proxies : Proxies or None
        How well the other columns tell the attribute.
    gates : tuple of Gate
        The tests of ``fail_if``.
    mitigation : Mitigation or None
        What a repair changed and did.
    setting, provenance, limits
        What was audited, where it is from, and what the figures do not say.

    Examples
    --------
    >>> from fairshap import audit, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> evidence = audit(None, d.X, d.y, sensitive=d.sensitive, n_folds=2, random_state=0,
    ...                  fail_if=["impact_ratio < 0.01"])
    >>> [gate.passed for gate in evidence.gates]
    [True]
    >>> evidence.to_markdown().splitlines()[0]
    '# Fairness audit'
    """

    title: str
    provenance: Provenance
    setting: Setting
    answers: Answers
    groupings: tuple[Grouping, ...]
    performance: dict[str, Figure]
    treatment: Treatment
    proxies: Proxies | None
    gates: tuple[Gate, ...]
    mitigation: Mitigation | None
    limits: tuple[str, ...]
    data: ReportData | None = None
    note: str | None = None
    redact: bool = False

    def __repr__(self) -> str:
        failed = [gate.fails_if for gate in self.gates if not gate.passed]
        tests = f"; fails: {listing(failed, write=str)}" if failed else ""
        return f"Evidence({self.title!r}, {self.setting.rows:,} rows{tests}; .write('audit.html') saves it)"

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.answers.what_was_unfair}\n\n{self.answers.for_whom}"

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return all(gate.passed for gate in self.gates)

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures that ``fail_if`` can name, each the worst over all groups that are compared."""
        return figures_of(self.groupings, self.setting, self.performance, self.treatment, self.proxies)

    @cached_property
    def sweep(self) -> Sweep | None:
        """What other thresholds would do; None if the model is not explained."""
        return None if self.data is None else Sweep.of(self.data)

    # ---- forms

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, as the JSON file has it; what is not known is None.

        ``evidence_schema()`` describes it. Redacted, it has no values of single rows,
        and no figures of groups and ranges of scores under 10 rows.
        """
        names = ("title", "setting", "answers", "groupings", "performance", "treatment", "proxies", "gates")
        found: dict[str, Any] = {"schema": SCHEMA}
        for name in (*names, "mitigation", "limits", "provenance"):
            found[name] = _plain(getattr(self, name))
        requirements = [asdict(one) for one in MAPPING]
        found["mapping"] = {"date": MAPPING_DATE, "note": MAPPING_NOTE, "requirements": requirements}
        found["passed"] = self.passed
        if self.redact:
            for row in found["treatment"]["rows"]:
                row.update(id="", group="")
        return found

    @cached_property
    def html(self) -> str:
        """The page: one file of HTML that loads nothing; it needs the extra ``report``."""
        options = {
            "note": self.note,
            "redact": self.redact,
            "four_fifths": FOUR_FIFTHS,
            "drawn": self._outcomes_caption,
        }
        return render(self.to_dict(), self.data, self.sweep, self, **options)

    def to_markdown(self) -> str:
        """Return a model card in Markdown."""
        return to_card(self.to_dict())

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_ll144(self) -> dict[str, pd.DataFrame]:
        """Return the tables that New York City's Local Law 144 asks for, by attribute.

        A line has the number of people of a category, how many are selected (unless rates are weighted), the
        selection rate, the scoring rate, the impact ratios, and whether the category is under 2 % of the
        people. Of several labels there is a line for each category and label.
        """
        return to_ll144(self.groupings, is_weighted=self.setting.is_weighted)

    def content(self, path: str | os.PathLike[str]) -> bytes:
        """Return the bytes of a file; its ending says the form: .html, .md, .json or .pdf."""
        ending = Path(path).suffix.lower()
        match ending:
            case ".html" | ".htm":
                return self.html.encode()
            case ".md":
                return self.to_markdown().encode()
            case ".json":
                return self.to_json().encode()
            case ".pdf":
                return print_pdf(self.html)
        raise InputError(
            f"{os.fspath(path)!r} ends in {ending or 'nothing'}; evidence is written as .html, .md, .json "
            "or .pdf.",
            parameter="report",
        )

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write it to a file, whose ending says the form; an existing one is replaced with ``force`` only.

        A PDF is printed by Chromium, Chrome or Edge, if one is found.
        """
        content = self.content(path)
        write_atomically(path, lambda file: file.write(content), force=force)

    def write_ll144(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Write the tables of :meth:`to_ll144` as CSV files of a folder, and return their names."""
        names = []
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, frame in self.to_ll144().items():
            path = Path(folder) / f"{name}.csv"
            write_atomically(path, partial(frame.to_csv, index=False, mode="wb"), force=force)
            names.append(str(path))
        return names

    def log_mlflow(self, prefix: str = "fairshap.") -> None:
        """Log figures, page, JSON, card and ledger to the active MLflow run, or to a new one.

        It needs MLflow, the extra ``mlflow``.
        """
        mlflow = import_extra("mlflow", "Evidence.log_mlflow()", "mlflow")
        known = [(name, one.value) for name, one in self.figures.items() if np.isfinite(one.value)]
        mlflow.log_metrics({f"{prefix}{name}": value for name, value in known})
        mlflow.set_tags(
            {f"{prefix}passed": self.passed, f"{prefix}verdict": self.answers.what_was_unfair[:4000]}
        )
        mlflow.log_text(self.html, "fairshap/evidence.html")
        mlflow.log_text(self.to_json(), "fairshap/evidence.json")
        mlflow.log_text(self.to_markdown(), "fairshap/model-card.md")
        if self.data is not None and self.mitigation is not None and not self.redact:
            mlflow.log_text(self.data.edits.to_bytes().decode("utf-8", "replace"), "fairshap/edits.csv")

    def _repr_html_(self) -> str:
        # A frame of its own: the notebook's styles and scripts and the page's do not meet.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="fairshap report" '
            'style="width: 100%; height: 80vh; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    # ---- figures

    def plot_outcomes(self, ax: Any = None) -> Any:
        """Draw how often each group is selected, or its mean prediction, with intervals; return the axes.

        Of a model that decides on almost all alike, how often each group is scored above the median.
        """
        grouping = self.groupings[-1]
        if grouping.quantity is not None:
            figures = [one.mean_prediction for one in grouping.quantity.lines]
            label, line, unit = f"mean predicted {self.setting.target}", None, 1
        else:
            table = widest_table(self.setting, grouping)
            label = f"predicted {self.setting.target} = {table.label} (%)"
            rate, highest = "selection_rate", table.most_favored
            if one_sided(grouping, table):
                label = f"scored above the median for {self.setting.target} = {table.label} (%)"
                rate, highest = "scoring_rate", table.highest_scoring
            figures = [getattr(one, rate) for one in table.outcomes]
            best = [getattr(one, rate).value for one in table.outcomes if one.group == highest]
            line, unit = 80 * best[0], 100
        ends = unit * np.array([[one.value, one.low, one.high] for one in figures]).T
        names = [f"{group.name}*" if group.is_few else group.name for group in grouping.groups]
        return draw_outcomes(names, ends, label, line, ax)

    @property
    def _outcomes_caption(self) -> str:
        """What the plot of outcomes shows."""
        grouping = self.groupings[-1]
        if grouping.quantity is not None:
            return "Mean prediction"
        table = widest_table(self.setting, grouping)
        what = "scored above the median" if one_sided(grouping, table) else f"predicted {table.label}"
        return f"How often each group is {what}"

    def plot_fairness(self, ax: Any = None) -> Any:
        """Draw DR and the gaps between the groups before and after, with intervals; return the axes.

        None if no mitigation was measured on held-out rows.
        """
        lines = None if self.data is None else self.data.measure_lines()
        if lines is None:
            return None
        shown = [lines[name] for name, measure in MEASURES.items() if measure.is_fairness]
        models = [np.array([line[name] for line in shown]).T for name in ("before", "after")]
        return draw_fairness([line["label"] for line in shown], models, ax)

    def plot_columns(self, ax: Any = None) -> Any:
        """Draw the Shapley values of the heaviest columns, split by group; return the axes."""
        data = self._explained()
        return data.explanation.plot(ax, threshold=data.threshold)

    def plot_risks(self, ax: Any = None) -> Any:
        """Draw the risk of all rows under the explained model before and after; return the axes."""
        data = self._explained()
        known = ~np.isnan(data.certificate.before)
        after = None if data.is_audit else data.certificate.after[known]
        return draw_risks(data.certificate.before[known], after, ax)

    def plot_thresholds(self, ax: Any = None) -> Any:
        """Draw the mean risk against the number of edited cells, for several thresholds; return the axes."""
        sweep = Sweep.of(self._explained()) if self.sweep is None else self.sweep
        return draw_thresholds(sweep.thresholds, sweep.cells, sweep.risk, sweep.chosen, ax)

    def _explained(self) -> ReportData:
        if self.data is None:
            raise InputError("the model does not take the sensitive attribute, so it has no risk to draw.")
        return self.data


def figures_of(
    groupings: tuple[Grouping, ...],
    setting: Setting,
    performance: Mapping[str, Figure],
    treatment: Treatment,
    proxies: Proxies | None,
) -> dict[str, Figure]:
    """Return the figures that tests can name, each the worst over all groups that are compared."""
    measured: dict[str, list[Figure]] = {}

    def add(name: str, figures: Iterable[Figure]) -> None:
        # The last ones first: of equally bad ones, those of the finest groups are taken.
        measured[name] = [*figures, *measured.get(name, [Figure()])]

    for grouping in groupings:
        few = {group.name for group in grouping.groups if not group.is_compared}
        for table in grouping.labels[:1] if setting.positive else grouping.labels:
            lines = [line for line in table.outcomes if line.group not in few]
            add("impact_ratio", (line.impact_ratio for line in lines))
            add("scoring_impact_ratio", (line.scoring_impact_ratio for line in lines))
            for name, gap in table.gaps.items():
                add(f"{name}_difference", [gap.figure])
        if (quantity := grouping.quantity) is not None:
            scored = (one.scoring_impact_ratio for one in quantity.lines if one.group not in few)
            add("scoring_impact_ratio", scored)
            add("mean_prediction_difference", [quantity.gap.figure])
    found = {name: _worst(name, figures) for name, figures in measured.items()}
    if setting.labels:
        odds = [found.get(f"{name}_positive_rate_difference", Figure()) for name in ("true", "false")]
        found["equalized_odds_difference"] = _worst("equalized_odds_difference", odds)
    found |= {"discriminative_risk": treatment.risk, "flip_rate": treatment.flip_rate, **performance}
    found["proxy_auc"] = Figure() if proxies is None else proxies.all_together
    found["unknown_share"] = Figure(max(one.unknown_share for one in groupings))
    return found


def _worst(name: str, figures: Iterable[Figure]) -> Figure:
    """Return the least of ratios or the greatest of differences, one that is known if there is any."""
    sign = 1 if name.endswith("ratio") else -1
    return min(figures, key=lambda one: sign * one.value if np.isfinite(one.value) else np.inf)


def _plain(value: Any) -> Any:
    """Return a section as JSON takes it: what is not known, or has no end, is None."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return value


def evidence_schema() -> dict[str, Any]:
    """Return the JSON Schema of :meth:`Evidence.to_dict`.

    Examples
    --------
    >>> from fairshap.evidence import evidence_schema
    >>> evidence_schema()["properties"]["schema"]
    {'const': 1}
    """
    file = resources.files("fairshap.evidence").joinpath(f"evidence-{SCHEMA}.schema.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
