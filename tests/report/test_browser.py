"""The report in a real browser, without a window."""

import os
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from sklearn.linear_model import LogisticRegression

from fairshap import Budget, FairSHAP
from tests.report.conftest import HOSTILE, hostile_table

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

MISSING = None if BROWSER and DRIVER else "needs Chromium and its driver: make browser"

pytestmark = pytest.mark.skipif(bool(MISSING and not os.environ.get("CI")), reason=str(MISSING))


@pytest.fixture(scope="module")
def browser():
    if MISSING:
        pytest.fail(MISSING)
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, report, tmp_path):
    report.write(tmp_path / "report.html")
    # Whatever a test before this one has left.
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get((tmp_path / "report.html").as_uri())
    return browser


def column(page, number):
    rows = "document.querySelectorAll('#ledger-table tbody tr')"
    return page.execute_script(f"return Array.from({rows}, r => r.cells[{number}].textContent)")


def wait(page, condition):
    WebDriverWait(page, 120).until(lambda _: condition())


def test_nothing_complains_nothing_leaves_the_page_and_text_stays_text(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.execute_script("return window.broken") is None
    assert HOSTILE[0] in page.find_element(By.TAG_NAME, "h1").text
    assert HOSTILE[0] in column(page, 3) + column(page, 2)
    # A phone has no sideways scrolling.
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# What axe-core found, as a check that needs no package.
NOT_REACHED = """
return [...document.querySelectorAll("main *")]
  .filter(e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0)
  .map(e => e.outerHTML.slice(0, 80))
"""
LANDMARKS = """
const heading = (e) => document.getElementById(e.getAttribute("aria-labelledby")).textContent;
return [...document.querySelectorAll("[role=region], section[aria-labelledby], nav")]
  .map(e => e.getAttribute("aria-label") || heading(e))
"""


def test_the_keyboard_reaches_all_that_scrolls_and_each_landmark_has_a_name_of_its_own(page):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    assert page.execute_script(NOT_REACHED) == []
    names = page.execute_script(LANDMARKS)
    assert len(names) == len(set(names)) > 10
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_what_is_folded_on_the_screen_is_printed(page):
    shown = (
        "return [...document.querySelectorAll('details table')]"
        ".map(e => e.checkVisibility({contentVisibilityAuto: true}))"
    )
    assert set(page.execute_script(shown)) == {False}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    # The page hears of it in its own time.
    wait(page, lambda: set(page.execute_script(shown)) == {True})


def test_the_slider_answers_to_the_keyboard(page, report):
    slider, out = (page.find_element(By.ID, name) for name in ("threshold-range", "threshold-out"))
    assert "(chosen)" in out.text
    slider.send_keys(Keys.HOME)
    wait(page, lambda: f"{report.sweep.cells[0]:,} cells in {report.sweep.rows[0]:,} rows" in out.text)
    assert f"{report.sweep.risk[0]:.4f}" in out.text


def test_the_printed_page_says_how_much_of_the_ledger_it_holds(page, fitted):
    total = len(fitted.edits_)
    said = page.find_element(By.CSS_SELECTOR, "#ledger > p")
    assert said.text.startswith("Every edit: the cell")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    wait(page, lambda: len(column(page, 0)) == 50)
    assert total > 50
    wait(page, lambda: said.text.startswith("The 50 largest"))
    assert said.text.startswith(f"The 50 largest of {total:,} edits: the cell")
    assert said.text.endswith(
        "The ledger file has all of them: --edits on the command line, edits_.write in Python."
    )
    page.execute_script("document.getElementById('ledger-next').click()")
    n_shown = len(column(page, 0))
    assert said.text.startswith(f"{n_shown} of {total:,} edits, as searched and sorted on the screen: ")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    wait(page, lambda: said.text.startswith("Every edit: the cell"))


def test_a_short_ledger_is_printed_whole(browser, tmp_path):
    X, y = hostile_table()
    model = FairSHAP(
        LogisticRegression(), sensitive="sex", privileged="m", selector=Budget(20), random_state=0
    )
    report = model.fit(X, y).report(X_test=X, y_test=y)
    report.write(tmp_path / "report.html")
    browser.get((tmp_path / "report.html").as_uri())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    said = browser.find_element(By.CSS_SELECTOR, "#ledger > p").text
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(column(browser, 0)) == len(model.edits_) == 20
    assert said.startswith("Every edit: the cell")
    assert said.endswith("and the reference row. Rows are counted from 0.")


def test_the_ledger_is_searched_and_sorted(page, fitted):
    total = len(fitted.edits_)
    status = page.find_element(By.ID, "ledger-status")
    assert status.text.startswith(f"{total:,} of {total:,} edits")
    phi = [float(text) for text in column(page, 4)]
    assert phi == sorted(phi, reverse=True)
    page.find_element(By.CSS_SELECTOR, "th[data-key=row] button").send_keys(Keys.ENTER)
    rows = [int(text.split()[0]) for text in column(page, 0)]
    assert rows == sorted(fitted.edits_.row.tolist())[: len(rows)]
    assert page.find_element(By.CSS_SELECTOR, "th[data-key=row]").get_attribute("aria-sort") == "ascending"
    search = page.find_element(By.ID, "ledger-search")
    search.send_keys("wage")
    of_wage = sum(name == "wage <b>$" for name in fitted.edits_.column)
    wait(page, lambda: status.text.startswith(f"{of_wage:,} of"))
    assert set(column(page, 1)) == {"wage <b>$"}
    search.send_keys(" nobody-has-this")
    wait(page, lambda: status.text == "No edit matches.")
