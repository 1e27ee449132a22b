# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests: Chromium without a window, driven by selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Start Chromium without a window."""
    pytest.importorskip("selenium", reason="selenium is not installed: it is in the extra dev")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver (on Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for each in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "no-proxy-server", "window-size=1366,1100"):
        options.add_argument(f"--{each}")
    options.add_argument(f"--user-data-dir={tmp_path / 'chromium'}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield started
    finally:
        started.quit()
