"""Take the pictures of the report for the documentation: ``python scripts/take_screenshots.py fairstress-demo.html``.

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
PARTS = {"report_verdict.png": "#verdict .verdict", "report_curve.png": "#h-curve + figure"}
WIDTH = 860


def main(page: Path) -> None:
    """Write one picture for each part."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS.split(), f"--user-data-dir={tempfile.mkdtemp()}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(page.resolve().as_uri())
    for file, selector in PARTS.items():
        box = driver.execute_script("return document.querySelector(arguments[0]).getBoundingClientRect()", selector)
        clip = {
            "x": box["x"] - 8,
            "y": box["y"] - 8,
            "width": box["width"] + 16,
            "height": box["height"] + 16,
            "scale": 1,
        }
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
        image.quantize(64).save(IMAGES / file, optimize=True)  # few colours, a small file
    driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
