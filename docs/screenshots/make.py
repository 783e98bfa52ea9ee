"""Make all screenshots of the README again: what the commands print, and the report that the demo writes.

``python docs/screenshots/make.py`` runs the commands for real. It takes the development install, and Chromium
with its driver for the report.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).parent

#: The commands by the name of their screenshot.
COMMANDS = {
    "demo": ["demo", "--out", "demo"],
    "audit": ["audit", "compas", "--top", "3", "--quiet"],
    "evaluate": ["evaluate", "compas", "--quiet"],
}

#: Width, height and colors of the report's.
SHOTS = {"light": (1180, 1500, "light"), "dark": (1180, 1500, "dark"), "phone": (390, 1200, "light")}

# Left out: fonts from the network, which a page that shows the picture would not load anyway.
_FONTS = re.compile(r"@font-face\s*{[^}]*}")


def picture(args: list[str], folder: Path) -> str:
    """Return what a command prints as SVG."""
    done = subprocess.run(
        [sys.executable, "-m", "fairshap", *args],
        env=os.environ | {"FORCE_COLOR": "1"},
        stdout=subprocess.PIPE,
        cwd=folder,
        check=True,
    )
    lines = [line.rstrip() for line in done.stdout.decode().splitlines()]
    texts = [Text(f"$ fairshap {' '.join(args)}", style="bold green"), Text(), *map(Text.from_ansi, lines)]
    for text in texts:
        text.rstrip()
    width = min(max(text.cell_len for text in texts), 150)
    console = Console(record=True, width=width, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    for text in texts:
        console.print(text)
    svg = console.export_svg(title="fairshap", theme=MONOKAI, unique_id="fairshap")
    svg = _FONTS.sub("", svg).replace("Fira Code", "DejaVu Sans Mono")
    return re.sub(r"[ \t]+\n|\n\s*\n", "\n", svg)


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
        for name, args in COMMANDS.items():
            (HERE / f"terminal-{name}.svg").write_text(picture(args, Path(folder)), encoding="utf-8")
        shoot(Path(folder) / "demo" / "compas-report.html")


if __name__ == "__main__":
    main()
