"""The findings in sentences, written for people who have to decide, not for statisticians."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairshap.evidence._figures import Figure
from fairshap.evidence._proxies import Proxies
from fairshap.evidence._sections import Mitigation, Setting, Treatment
from fairshap.evidence._tables import Grouping, LabelTable, QuantityTable
from fairshap.report._page import amount, count, join_names

# A group whose name by itself says nothing: a number, a truth value or a letter.
_CODE = re.compile(r"(?i)[-+]?\d+([.,]\d+)?|true|false|yes|no|[a-z]")

#: A label that is predicted so many times less often than it occurs is given to almost nobody.
_RARELY = 10

#: A risk under this is called about 0: a point of probability.
_NOTHING = 0.01

# Groups that a sentence names.
_NAMED = 3

FOUR_FIFTHS = (
    "The four-fifths line is a rule of thumb of US employment practice (29 CFR 1607.4 D): a group that is "
    "selected less than four fifths as often as the most favored one is looked at more closely. A ratio "
    "above it does not show that a model is fair, and one below it is no finding of discrimination."
)


@dataclass(frozen=True, slots=True)
class Answers:
    """Six questions and their answers: the first screen of the page."""

    what_was_unfair: str
    for_whom: str
    through_which_columns: str
    what_was_changed: str
    what_did_it_do: str
    what_is_left: str


def percent(value: float) -> str:
    """Return a share in percent.

    >>> percent(0.0813), percent(0.00042), percent(float("nan"))
    ('8.1 %', '0.04 %', 'not known')
    """
    if not np.isfinite(value):
        return "not known"
    digits = 1 if abs(value) >= 0.001 or value == 0 else 2
    return f"{100 * value:.{digits}f} %"


def points(value: float) -> str:
    """Return a difference of shares in percentage points.

    >>> points(0.161), points(0.01)
    ('16.1 points', '1.0 points')
    """
    return f"{100 * abs(value):.1f} points" if np.isfinite(value) else "not known"


def group_name(attribute: str, name: str) -> str:
    """Return what a sentence calls a group: a code is named with its attribute.

    >>> group_name("sex", "Female"), group_name("SEX", "1"), group_name("SEX / RACE", "1 / Black")
    ('Female', 'SEX = 1', 'SEX = 1 / RACE = Black')
    """
    parts, attributes = name.split(" / "), attribute.split(" / ")
    if not any(_CODE.fullmatch(part) for part in parts):
        return name
    if len(parts) != len(attributes):
        return f"{attribute} = {name}"
    return " / ".join(f"{one} = {part}" for one, part in zip(attributes, parts, strict=True))


def interval(figure: Figure, write: Callable[[float], str] = "{:.2f}".format) -> str:
    """Return the 95 % interval of a figure in words."""
    return f"95 % interval {write(figure.low)} to {write(figure.high)}"


def verdict(setting: Setting, groupings: tuple[Grouping, ...], treatment: Treatment) -> str:
    """Return who is selected how often, then what the attribute alone does, and what neither shows."""
    first = groupings[-1]
    if first.quantity is not None:
        outcome, differs = _quantity_in_words(setting, first.attribute, first.quantity)
    elif first.labels:
        outcome, differs = _outcome_in_words(setting, first)
    said = [outcome, treatment_in_words(setting, treatment)]
    # Of a quantity nothing says how much is little, but of none at all.
    little = _NOTHING if treatment.unit == "probability" else 0.0
    if differs and (not setting.sees_attribute or treatment.risk.value <= little):
        said.append(
            f"This is not evidence of fairness: the groups {differs} all the same, because other columns "
            "differ between them or stand in for the attribute."
        )
    return " ".join(said)


def _outcome_in_words(setting: Setting, grouping: Grouping) -> tuple[str, str]:
    """Say how often the groups with the highest and the lowest rate are selected; and how they differ."""
    table = widest_table(setting, grouping)
    gap = table.gaps["selection_rate"]
    if not gap.highest:
        return f"There are no two groups of {grouping.attribute} to compare.", ""
    lines = {line.group: line for line in table.outcomes}
    high, low = lines[gap.highest], lines[gap.lowest]
    rates = [percent(line.selection_rate.value) for line in (low, high)]
    names = [group_name(grouping.attribute, line.group) for line in (low, high)]
    whom = f"{rates[0]} of {names[0]} and for {rates[1]} of {names[1]}"
    many = f" (of {len(lines)} groups, the lowest and the highest)" if len(lines) > 2 else ""
    if everybody := one_sided(grouping, table):
        return _scores_in_words(setting, grouping, table, everybody)
    impact = low.impact_ratio
    said = f"The model predicts {setting.target} = {table.label} for {whom}{many}"
    if np.isfinite(impact.value):
        said += f": {impact.value:.2f} times as often ({interval(impact)}), {points(gap.figure.value)} apart"
    if not gap.figure.low > 0:
        return f"{said}. With these rows, the two rates cannot be told apart.", ""
    return f"{said}.", "get different outcomes"


def widest_table(setting: Setting, grouping: Grouping) -> LabelTable:
    """Return the table that the first sentence is about: of several labels, that of the widest gap."""
    tables = grouping.labels[:1] if setting.positive else grouping.labels
    return max(tables, key=lambda one: np.nan_to_num(one.gaps["selection_rate"].figure.value, nan=-1.0))


def one_sided(grouping: Grouping, table: LabelTable) -> str:
    """Return whom the model gives a label to if that is almost everybody or nobody, otherwise nothing.

    Such decisions say nothing about the groups, unless they tell them apart all the same.
    """
    if table.gaps["selection_rate"].figure.low > 0:
        return ""
    weight = np.array([group.share for group in grouping.groups])
    base, chosen = (
        np.array([getattr(line, name).value for line in table.outcomes])
        for name in ("base_rate", "selection_rate")
    )
    known = np.isfinite(base)
    had, given = (float(weight[known] @ rate[known]) / float(weight[known].sum()) for rate in (base, chosen))
    shares = f"({percent(given)} of the rows, and {percent(had)} have it)"
    if given * _RARELY < had:
        return f"almost nobody {shares}"
    return f"almost everybody {shares}" if (1 - given) * _RARELY < 1 - had else ""


def _scores_in_words(
    setting: Setting, grouping: Grouping, table: LabelTable, everybody: str
) -> tuple[str, str]:
    """Say how the groups are scored by a model whose decisions tell nothing; and how that differs."""
    label = f"{setting.target} = {table.label}"
    said = f"The model predicts {label} for {everybody}, so its decisions say nothing about the groups."
    few = {group.name for group in grouping.groups if not group.is_compared}
    lines = {line.group: line for line in table.outcomes if line.group not in few}
    high, low = (
        pick(lines.values(), key=lambda line: np.nan_to_num(line.scoring_rate.value)) for pick in (max, min)
    )
    impact = low.scoring_impact_ratio
    if not np.isfinite(impact.value):
        return said, ""
    shown = [
        f"{percent(line.scoring_rate.value)} of {group_name(grouping.attribute, line.group)}"
        for line in (low, high)
    ]
    said += (
        f" Its scores do: they are above the median of all for {shown[0]} and for {shown[1]}, "
        f"{impact.value:.2f} times as often ({interval(impact)})."
    )
    gaps = {errors.group: errors.calibration_gap.value for errors in table.errors}
    means = [line.base_rate.value - gaps[line.group] for line in (low, high)]
    start = " In"
    if np.isfinite(means).all():
        # A model that knows next to nothing has the groups on two sides of the median too.
        said += f" On average they are {percent(means[0])} and {percent(means[1])};"
        start = " in"
    bases = [percent(line.base_rate.value) for line in (low, high)]
    said += f"{start} the table, {bases[0]} and {bases[1]} have {label}."
    if not impact.high < 1:
        return f"{said} With these rows, the two cannot be told apart.", ""
    return said, "are scored differently"


def _quantity_in_words(setting: Setting, attribute: str, table: QuantityTable) -> tuple[str, str]:
    gap = table.gap
    if not gap.highest:
        return "There are no two groups to compare.", ""
    lines = {line.group: line for line in table.lines}
    high, low = lines[gap.highest], lines[gap.lowest]
    names = [group_name(attribute, line.group) for line in (low, high)]
    said = (
        f"The model predicts a mean {setting.target} of {amount(low.mean_prediction.value)} for {names[0]} "
        f"and of {amount(high.mean_prediction.value)} for {names[1]}: {amount(gap.figure.value)} apart "
        f"({interval(gap.figure, amount)})."
    )
    if not gap.figure.low > 0:
        return f"{said} With these rows, the two cannot be told apart.", ""
    return said, "get different outcomes"


def treatment_in_words(setting: Setting, treatment: Treatment) -> str:
    """Say what changing the attribute alone does."""
    name = join_names(setting.sensitive)
    if not setting.sees_attribute:
        return f"The model does not use {name}: changing only {name} changes nothing, by construction (DR 0)."
    if not np.isfinite(treatment.risk.value):
        return f"What changing only {name} does could not be measured."
    if treatment.unit == "probability":
        what = "the predicted chance" + (
            f" of {setting.target} = {setting.positive}" if setting.positive else "s"
        )
        moved = f"moves {what} by {points(treatment.risk.value)} on average"
    else:
        moved = f"moves the {treatment.unit} by {amount(treatment.risk.value)} on average"
    tested = "Tested on rows that it was not trained on, changing" if setting.folds else "Changing"
    said = f"{tested} only {name} {moved}"
    if np.isfinite(treatment.flip_rate.value):
        said += f" and changes the decision for {percent(treatment.flip_rate.value)} of people"
    said += "."
    if treatment.is_noise:
        noise = treatment.noise_level
        shown = points(noise) if treatment.unit == "probability" else amount(noise)
        said += f" That cannot be told from what a shuffled column does ({shown})."
    return said


def answers(
    setting: Setting,
    groupings: tuple[Grouping, ...],
    treatment: Treatment,
    proxies: Proxies | None,
    mitigation: Mitigation | None,
    reason: str = "",
) -> Answers:
    """Return the six answers of the first screen; ``reason`` is what a search recommends."""
    found = verdict(setting, groupings, treatment)
    if mitigation is not None and (after := _after(setting, groupings[-1], mitigation)):
        found = f"Before the repair, {found[0].lower()}{found[1:]} {after}"
    return Answers(
        found,
        _for_whom(setting, groupings),
        _through(setting, treatment, proxies),
        _changed(mitigation),
        _effect(mitigation),
        _left(mitigation, reason),
    )


def _after(setting: Setting, grouping: Grouping, mitigation: Mitigation) -> str:
    """Say what the groups get, and what the attribute alone does, after a repair; blank if not measured."""
    gap = grouping.labels[0].gaps["selection_rate"] if grouping.labels else None
    lines = mitigation.groups.get(grouping.attribute, ())
    rates = {line.group: line.after.value for line in lines if line.rate == "selection_rate"}
    if gap is None or not gap.highest or not {gap.highest, gap.lowest} <= set(rates):
        return ""
    low, high = rates[gap.lowest], rates[gap.highest]
    names = [group_name(grouping.attribute, name) for name in (gap.lowest, gap.highest)]
    said = (
        f"After it: {setting.target} = {grouping.labels[0].label} for {percent(low)} of {names[0]} and for "
    )
    said += f"{percent(high)} of {names[1]}"
    said += f", {low / high:.2f} times as often" if high > 0 else ""
    dr = next((one.after.value for one in mitigation.measures if one.name == "dr"), np.nan)
    if np.isfinite(dr):
        said += f"; changing only {join_names(setting.sensitive)} moves the prediction by {points(dr)}"
    return f"{said}."


def _for_whom(setting: Setting, groupings: tuple[Grouping, ...]) -> str:
    """Say which groups are under the four-fifths line, which are few, and how many rows have no group."""
    said = []
    for one in groupings:
        few = {group.name for group in one.groups if not group.is_compared}
        if one.is_intersection:
            # The first sentence of all is about the combinations.
            continue
        # Of several labels, none of which is favorable, one alone would clear the others.
        tables = one.labels[:1] if setting.positive else one.labels
        said += [f"By {one.attribute}, {_below(setting, one, table, few)}" for table in tables]
        if one.quantity is not None and one.quantity.gap.lowest:
            lowest = group_name(one.attribute, one.quantity.gap.lowest)
            said.append(f"By {one.attribute}, {lowest} gets the lowest mean prediction.")
        if few:
            names = [group_name(one.attribute, name) for name in sorted(few)]
            said.append(f"{_some(names)} {'has' if len(few) == 1 else 'have'} too few rows to compare.")
        if one.unknown_rows:
            said.append(
                f"{count(one.unknown_rows, 'row')} ({percent(one.unknown_share)}) of unknown {one.attribute} "
                f"{'is' if one.unknown_rows == 1 else 'are'} in no group."
            )
    return " ".join(said)


def _some(names: list[str]) -> str:
    """Return names in a sentence, the rest counted."""
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return join_names([*names[:_NAMED], *more])


def _below(setting: Setting, grouping: Grouping, table: LabelTable, few: set[str]) -> str:
    # The ratios of one-sided decisions are those of a few rows.
    is_scored = bool(one_sided(grouping, table))
    ratios = [
        (group_name(grouping.attribute, line.group), ratio)
        for line in table.outcomes
        if line.group not in few
        and (ratio := line.scoring_impact_ratio if is_scored else line.impact_ratio).value < 0.8
    ]
    ratios.sort(key=lambda one: one[1].value)
    label = f"{setting.target} = {table.label}"
    what = f"scored above the median for {label}" if is_scored else f"predicted {label}"
    best = group_name(grouping.attribute, table.highest_scoring if is_scored else table.most_favored)
    if not ratios:
        return f"no group is {what} less than four fifths as often as {best}."
    those = "is" if len(ratios) == 1 else "are"
    below = _some(
        [
            f"{name} ({ratio.value:.2f}{'' if ratio.high < 1 else ', which may be chance'})"
            for name, ratio in ratios
        ]
    )
    return f"{below} {those} {what} less than four fifths as often as {best}."


def _through(setting: Setting, treatment: Treatment, proxies: Proxies | None) -> str:
    said = []
    heavy = [one for one in treatment.columns if one.mean_size > 0][:3]
    if heavy:
        listed = [f"{one.column} ({percent(one.share)} of the risk)" for one in heavy]
        said.append(f"The risk is carried by {join_names(listed)}.")
    elif proxies is not None:
        by_gap = sorted(proxies.columns, key=lambda one: -np.nan_to_num(one.share_of_gap))[:3]
        listed = [f"{one.column} ({percent(one.share_of_gap)})" for one in by_gap if one.share_of_gap > 0]
        if listed:
            said.append(
                f"What differs in the scores of similar people of two groups comes from {join_names(listed)}."
            )
    if proxies is not None and proxies.columns:
        best = [f"{one.column} (AUC {one.auc.value:.2f})" for one in proxies.columns[:3]]
        name = join_names(setting.sensitive)
        said.append(
            f"The columns that reveal {name} best are {join_names(best)}. Together, all columns reveal it "
            f"with an AUC of {proxies.all_together.value:.2f}, where 0.5 is a coin flip and 1 is certainty."
        )
    return " ".join(said) or "No column adds to the risk, and none was found to reveal the attribute."


def _changed(mitigation: Mitigation | None) -> str:
    if mitigation is None:
        return "Nothing. This is an audit: it changes neither the table nor the model."
    if not mitigation.cells and not mitigation.added_rows:
        return "No cell was replaced."
    said = []
    if mitigation.cells:
        share = mitigation.cells / mitigation.cells_in_table
        listed = [f"{name} ({n:,})" for name, n in mitigation.columns.items()]
        shown = join_names([*listed[:4], *([f"{len(listed) - 4} more columns"] if len(listed) > 4 else [])])
        said.append(
            f"{count(mitigation.cells, 'cell')} of {mitigation.cells_in_table:,} ({100 * share:.2g} %) in "
            f"{count(mitigation.rows, 'row')} of the training table: {shown}."
        )
    else:
        said.append("No cell was replaced.")
    if mitigation.added_rows:
        said.append(
            f"{count(mitigation.added_rows, 'row')} with the attribute switched (counterfactuals) were added."
        )
    return " ".join(said)


def _effect(mitigation: Mitigation | None) -> str:
    if mitigation is None:
        return "Nothing was changed, so there is no effect to report."
    if not mitigation.measures:
        return f"The effect on a retrained model was not measured. {mitigation.how}"
    found = {one.name: one for one in mitigation.measures}
    helped = any(
        one.verdict == "better" for one in mitigation.measures if one.name in ("dr", "flips", "dp", "eo")
    )
    said = "" if helped else "The repair does not help measurably. "
    words = {"better": "down from", "worse": "up from", "not measurable": "not measurably different from"}
    dr, dp = found["dr"], found["dp"]
    accuracy = found["accuracy"]
    return said + (
        f"On rows that the models were not trained on, changing only the attribute moves the prediction by "
        f"{points(dr.after.value)} on average, {words[dr.verdict]} {points(dr.before.value)}. The groups' "
        "rates are "
        f"{points(dp.after.value)} apart, {words[dp.verdict]} {points(dp.before.value)}. Accuracy is "
        f"{percent(accuracy.after.value)}, before {percent(accuracy.before.value)}."
    )


def _left(mitigation: Mitigation | None, reason: str) -> str:
    if mitigation is None and reason:
        return f"The gap above is as it was found. {reason}"
    if mitigation is not None and mitigation.measures:
        found = {one.name: one for one in mitigation.measures}
        dp = found["dp"].after
        if dp.low > 0:
            left = (
                f"A gap of {points(dp.value)} (95 % interval {100 * dp.low:.1f} to {100 * dp.high:.1f}) "
                "between the groups is left."
            )
        else:
            left = "With these rows, the groups' rates can no longer be told apart."
        best = [one.name for one in mitigation.alternatives if one.is_recommended]
        return left + (
            f" The search recommends: {best[0]}."
            if best
            else " Simpler remedies may do more: fairshap tune tries them."
        )
    return (
        "The gap above is as it was found. fairshap tune finds out what would narrow it, and at what cost: "
        "it compares dropping the column, weights, edited cells and thresholds on the same rows."
    )


def limits(
    setting: Setting,
    groupings: tuple[Grouping, ...],
    treatment: Treatment,
    is_stand_in: bool,
    least: int = 0,
) -> tuple[str, ...]:
    """Return what was not measured or is not shown (``least`` rows), and what the figures do not say."""
    said = []
    if least:
        said.append(
            f"Figures of groups and of ranges of scores under {least} rows are left out, because they would "
            "reveal single people."
        )
    if is_stand_in:
        said.append(
            "The audited model is a stand-in: models of this kind were trained here, on this table. A "
            "model that is in use may behave differently; audit it with its own file."
        )
    if not setting.folds:
        said.append(
            "The model was judged on the rows of the table. If it was trained on some, it looks better "
            "than it is."
        )
    for one in groupings:
        few = [group for group in one.groups if group.is_few]
        for names, then in (
            ([group.name for group in few if not group.is_compared], "their figures are not compared"),
            ([group.name for group in few if group.is_compared], "their figures are uncertain"),
        ):
            if names:
                said.append(f"{one.attribute}: fewer than 30 rows of {join_names(names)}; {then}.")
        if small := [group.name for group in one.groups if group.is_small and not group.is_few]:
            said.append(f"{one.attribute}: under 2 % of the rows are of {join_names(small)}.")
        if one.unknown_rows:
            said.append(
                f"{one.attribute} is unknown in {count(one.unknown_rows, 'row')}, which are in no group."
            )
    if setting.sees_attribute and not np.isfinite(treatment.noise_level):
        said.append("DR has no noise level here, because no model was trained with the attribute shuffled.")
    said += [
        "Base rates come from the labels as they were recorded. If these are biased, error rates inherit "
        "the bias.",
        "DR and flips ask what happens if only the attribute changes. They are 0 for a model without the "
        "column, whatever stands for the attribute in other columns.",
        "Rates, true positive rates and precision cannot all be equal between groups whose base rates "
        "differ.",
        "Intervals hold for these models on other rows of the same kind. They do not cover another "
        "population, a later time, or other labels.",
    ]
    if setting.is_weighted:
        said.append(
            "Figures are weighted. Intervals take unequal weights into account, not strata or clusters of "
            "a survey."
        )
    return tuple(said)
