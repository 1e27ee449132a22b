# SPDX-License-Identifier: Apache-2.0
"""The text of all pages in one script, from which the search takes its excerpts.

Browsers refuse to read other pages if a page is a file, so the search could not read the pages that it finds.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

#: Elements whose text is no text of the page, or, as its title, is shown with it anyway.
_SILENT = ("script", "style", "nav", "button", "h1")
#: The class of the sign that a heading's link has.
_SIGN = "headerlink"


class _Article(HTMLParser):
    """The text of a page's article."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._inside = 0
        self._silent = 0
        self._sign = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside += tag == "article"
        self._silent += tag in _SILENT
        self._sign = dict(attrs).get("class") == _SIGN

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag == "article"
        self._silent -= tag in _SILENT
        self._sign = False

    def handle_data(self, data: str) -> None:
        if self._inside and not self._silent and not self._sign:
            self.parts.append(data)


def text_of(page: str) -> str:
    """Return the text of the article of a page in HTML.

    Examples
    --------
    >>> text_of('<nav>menu</nav><article><h1>One</h1><h2>Two<a class="headerlink">#</a></h2> three  four</article>')
    'Two three four'
    """
    article = _Article()
    article.feed(page)
    return re.sub(r"\s+", " ", " ".join(article.parts)).strip()


def write(site: Path) -> Path:
    """Write the texts of all pages of a built site, and return the script's path."""
    pages = {
        path.relative_to(site).as_posix(): text_of(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }
    target = site / "_static" / "texts.js"
    target.write_text(f"window.RL_TEXTS = {json.dumps(pages, ensure_ascii=False)};\n", encoding="utf-8")
    return target
