"""Make the screenshots of the report again, from the page that the demo writes.

``python docs/screenshots/make.py`` runs the demo for real. It needs the development install, Chromium and its
driver.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).parent

#: Width, height and colors of the report's.
SHOTS = {"light": (1180, 1500, "light"), "dark": (1180, 1500, "dark"), "phone": (390, 1200, "light")}


def shoot(page: Path) -> None:
    """Write the pictures of a report."""
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        for name, (width, height, colors) in SHOTS.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            scheme = {"features": [{"name": "prefers-color-scheme", "value": colors}]}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
            driver.get(page.as_uri())
            driver.save_screenshot(HERE / f"report-{name}.png")
    finally:
        driver.quit()


def main() -> None:
    """Make them all."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "fairshap", "demo", "--out", "demo"], cwd=folder, check=True)
        shoot(Path(folder) / "demo" / "compas-report.html")


if __name__ == "__main__":
    main()
