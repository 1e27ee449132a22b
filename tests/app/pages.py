# SPDX-License-Identifier: Apache-2.0
"""What a page in a real browser is asked: whether it fits the screen, and whether its text can be read."""

from __future__ import annotations

from typing import Any

#: WCAG 2.2, level AA: least contrast of text, and of large text (24 px, or bold from 18.7 px).
CONTRAST, LARGE = 4.5, 3.0
#: Of each element with text of its own: its words, the ratio of its contrast, and whether it is large.
_CONTRASTS = """
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
// what CSS has mixed is written as "color(srgb 0.9 0.4 0.4)"
const numbers = text => text.match(/[0-9.]+/g).map((v, i) => text.startsWith("color(") && i < 3 ? 255 * v : Number(v));
const behind = one => {
  for (; one; one = one.parentElement) {
    const colour = numbers(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll(arguments[0] + " *")]
  .filter(one => one.checkVisibility() && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
  .map(one => {
    const style = getComputedStyle(one), size = parseFloat(style.fontSize);
    const [low, high] = [light(numbers(style.color)), light(behind(one))].sort((a, b) => a - b);
    return [one.textContent.trim().slice(0, 40), (high + 0.05) / (low + 0.05),
            size >= 24 || (size >= 18.7 && style.fontWeight >= 600)];
  });
"""


def resize(browser: Any, width: int) -> None:
    """Show pages as on a screen of a width in px; a narrow one is a phone's."""
    # a window has a least width; a device has not
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 640},
    )


def overflow_px(browser: Any, width: int) -> int:
    """Return by how much the page is wider than the screen, whose width it must have heeded."""
    assert browser.execute_script("return window.innerWidth") == width
    root = "document.documentElement"
    return int(browser.execute_script(f"return {root}.scrollWidth - {root}.clientWidth"))


def faint(browser: Any, within: str = "body") -> list[str]:
    """Return the words whose contrast with what is behind them is too small, in elements that a selector names."""
    texts = browser.execute_script(_CONTRASTS, within)
    assert len(texts) > 20
    return [words for words, ratio, large in texts if ratio < (LARGE if large else CONTRAST)]
