import numpy as np
import pytest

from fairshap import Edits
from paper import beyond
from paper.beyond import ALL, FEW, NAMES, count_invalid, finish, measure_tuned, measure_variants, plan
from paper.jobs import Options
from paper.main import measure_methods
from paper.methods import fit_model, repair
from paper.settings import Fold


@pytest.fixture(scope="module")
def found():
    """Return the records of one fold of two, with few candidates to tune, and what is made of them."""
    records = measure_variants("german:sex", "whole", 0, 2, True, 0)
    records += measure_tuned("german:sex", "whole", 0, 2, (0.05,), 1, 0)
    return records, finish(records, Options(("german:sex",), folds=2))


def test_the_table_has_all_variants(found):
    frame = found[1].frames["beyond"]
    assert list(dict.fromkeys(frame["method"])) == list(NAMES)
    assert len(ALL) == 18
    assert found[1].pages["beyond"].count("\n| German (sex) |") == len(NAMES)


def test_what_the_paper_has_is_as_in_the_main_table(found):
    main = measure_methods("german:sex", "whole", 1, 0, 2, ("Baseline", "RSA", "FairSHAP"), 0)
    ours = {(line["method"], line["metric"]): line["value"] for line in found[0]}
    compared = 0
    for line in main:
        if (line["method"], line["metric"]) in ours:
            assert ours[line["method"], line["metric"]] == line["value"]
            compared += 1
    assert compared == 14
    assert ours["RSA", "dr"] == 0


def test_only_encoded_features_leave_rows_invalid(found):
    frame = found[1].frames["beyond"]
    invalid = frame[frame["metric"] == "invalid"].set_index("method")["mean"]
    raw = [one.method for one in ALL if one.features == "raw columns"]
    encoded = [one.method for one in ALL if one.features == "encoded features"]
    assert (invalid[raw] == 0).all()
    assert (invalid[encoded] > 0.05).all()
    assert found[1].summary["invalid"] == {"German (sex)": round(invalid["FairSHAP"], 4)}


def test_a_raw_value_is_one_value_whatever_cells_it_has(found):
    frame = found[1].frames["beyond"].set_index(["method", "metric"])["mean"]
    for method in ("FairSHAP", "threshold, raw columns"):
        assert 0 < frame[method, "values"] <= frame[method, "edits"]
    assert frame["threshold, raw columns", "values"] < frame["threshold, raw columns", "edits"]
    assert frame["optimal, raw columns", "edits"] < frame["threshold, raw columns", "edits"]


def test_invalid_rows_are_counted_by_hand():
    fold = Fold.load("german:sex", "whole", 1, 0, 2, 0)
    repaired = repair(fold, fit_model(fold.X, fold.y))
    edits, rows = repaired.edits, repaired.X
    bad, categorical = set(), set()
    for row, column in zip(edits.row.tolist(), edits.column, strict=True):
        for columns in fold.feature_groups.values():
            if column in columns:
                categorical.add(row)
                if rows[row, columns].tolist().count(1.0) != 1:
                    bad.add(row)
    result = count_invalid(edits, fold.X, rows, fold.feature_groups)
    assert result["invalid"] == len(bad) / len(set(edits.row.tolist()))
    assert result["invalid_categorical"] == len(bad) / len(categorical)


def test_what_is_a_share_of_nothing_is_left_out():
    none = Edits(np.empty(0, np.int64), [], [], [], [], np.empty(0), np.empty(0, np.int64))
    zeros = np.zeros((2, 3))
    assert count_invalid(none, zeros, zeros, {"job": [1, 2]}) == {"values": 0.0}
    # A number is edited: there is no category that could be invalid.
    one = Edits(np.array([1]), [1], [0], [0.0], [5.0], np.array([0.2]), np.array([0]))
    before, after = np.array([[5.0, 1, 0], [0.0, 0, 1]]), np.array([[5.0, 1, 0], [5.0, 0, 1]])
    assert count_invalid(one, before, after, {"job": [1, 2]}) == {"values": 1.0, "invalid": 0.0}


def edits_of(*cells):
    """Return the edits of a row, a column and a reference each."""
    row, column, reference = (list(part) for part in zip(*cells, strict=True))
    n = len(cells)
    values = [0.0] * n
    return Edits(np.array(row), row, column, values, values, np.zeros(n), np.array(reference))


def test_a_missing_category_that_a_row_had_or_was_given_is_valid():
    # The last row has no job. The first gets that from it, the second loses half of its own.
    before = np.array([[0.0, 1, 0], [0.0, 1, 0], [0.0, 0, 1], [9.0, 0, 0]])
    after = np.array([[0.0, 0, 0], [0.0, 0, 0], [0.0, 0, 1], [0.0, 0, 0]])
    edits = edits_of((0, 1, 3), (1, 1, 2), (3, 0, 2))
    found = count_invalid(edits, before, after, {"job": [1, 2]})
    assert found == {"values": 3.0, "invalid": pytest.approx(1 / 3), "invalid_categorical": 1 / 2}


def test_what_is_tuned_is_said(found):
    picked = {line["picked"] for line in found[0] if line["method"] == "tuned"}
    assert len(picked) == 1
    assert f"- German (sex): {picked.pop()} (1)." in found[1].pages["beyond"]


def test_large_tables_have_a_few_and_the_page_says_so(found):
    jobs = plan(Options(("adult:sex", "credit:SEX"), folds=2))
    assert [job.key.rsplit("/")[-1] for job in jobs] == ["variants", "tuned"] * 2 + ["variants"] * 2
    assert set(FEW) < set(ALL)
    assert not {one for one in FEW if one.selector == "iterative"}
    assert "left out" not in found[1].pages["beyond"]
    assert "Default Credit (sex): some variants are left out" in beyond._left_out(Options(("credit:SEX",)))


def test_the_figure_shows_ratios_to_the_baseline(found):
    frame = found[1].frames["beyond"].set_index(["method", "metric"])["mean"]
    axes = found[1].figures["beyond"]()
    shown = axes[1].lines[0].get_xdata()
    assert shown[NAMES.index("FairSHAP") - 1] == frame["FairSHAP", "dr"] / frame["Baseline", "dr"]
