"""Plots where people look at them: in the cells of a notebook that is run, and in a script with pyplot."""

import threading

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from fairshap import FairSHAP, datasets

SETUP = """
import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from fairshap import FairSHAP, budget_curve, datasets, tune

d = datasets.make_biased(300, random_state=0)
who = {"sensitive": d.sensitive, "privileged": d.privileged, "random_state": 0}
model = LogisticRegression()
fs = FairSHAP(model, **who, threshold=0.02).fit(d.X, d.y)
tuning = tune(d.X, d.y, model, **who, candidates=["plain"], n_folds=5)
points = tuning.curve(d.X, d.y, d.X, d.y)
curve = budget_curve(d.X, d.y, model, **who, budgets=[0, 5], n_folds=2)
report = fs.report(tuning=tuning)
"""

#: Every public method that draws.
PLOTS = (
    "fs.explanation_.plot()",
    "fs.explanation_.match_plan.diagnostics().plot()",
    "tuning.plot()",
    "points.plot()",
    "curve.plot()",
    "report.plot_fairness()",
    "report.plot_columns()",
    "report.plot_risks()",
    "report.plot_thresholds()",
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Return the outputs of each cell of a notebook that was run, by its source."""
    folder = tmp_path_factory.mktemp("notebook")
    sources = [SETUP, "report", *PLOTS]
    sources += ["fs.explanation_.plot()\nplt.savefig('figure.png')"]
    sources += ["ax = plt.subplots()[1]\nfs.explanation_.plot(ax) is ax"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return {cell.source: cell.outputs for cell in book.cells}, folder


def images(outputs) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("source", PLOTS)
def test_a_cell_shows_its_plot_once(cells, source):
    assert images(cells[0][source]) == 1


def test_the_page_of_a_report_leaves_no_figures_behind(cells):
    outputs, _ = cells
    assert images(outputs[SETUP]) == 0
    assert images(outputs["report"]) == 0
    assert "<iframe" in outputs["report"][0]["data"]["text/html"]


def test_nothing_in_the_notebook_warns(cells):
    assert [output["text"] for outputs in cells[0].values() for output in outputs if "text" in output] == []


def test_axes_that_are_given_are_drawn_on(cells):
    outputs, _ = cells
    (source,) = (source for source in outputs if source.startswith("ax = "))
    assert images(outputs[source]) == 1
    assert [output["data"]["text/plain"] for output in outputs[source] if "execution_count" in output] == [
        "True"
    ]


def test_savefig_in_the_cell_of_a_plot_writes_that_plot(cells):
    _, folder = cells
    assert np.ptp(plt.imread(folder / "figure.png")[:, :, :3]) > 0.5


def test_a_plot_is_the_current_figure_and_a_report_makes_none():
    d = datasets.make_biased(200, random_state=0)
    fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
    thread = threading.Thread(target=fs.report)
    thread.start()
    thread.join()
    fs.report()
    assert plt.get_fignums() == []
    ax = fs.explanation_.plot()
    assert plt.gcf() is ax.figure
    assert plt.gca() is ax
    fs.explanation_.plot(ax)
    assert len(plt.get_fignums()) == 1
