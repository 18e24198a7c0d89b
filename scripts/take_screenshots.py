"""Take the pictures of the report for the documentation: ``python scripts/take_screenshots.py demo.html [folder]``.

Needs selenium and pillow, and Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars
"""
SHOTS = {"report_first_screen.png": 1280, "report_narrow.png": 390}  # width of the window


def main(page: Path, folder: Path = IMAGES) -> None:
    """Write a picture of the first screen for each width."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS.split(), f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    for file, width in SHOTS.items():
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(page.resolve().as_uri())
        box, main_box = (
            driver.execute_script("return document.querySelector(arguments[0]).getBoundingClientRect()", selector)
            for selector in ("#verdict", "body")
        )
        clip = {"x": main_box["x"], "y": 0, "width": main_box["width"], "height": box["bottom"] + 12, "scale": 1}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
        image.quantize(64).save(folder / file, optimize=True)  # few colours, a small file
    driver.quit()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
