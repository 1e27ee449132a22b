# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the site. `rdcnlab_papers.app.site.build` copies this file beside the pages."""

project = "rdcnlab"
author = "the authors of rdcnlab"
copyright = author  # noqa: A001  (Sphinx's name)
extensions = ["myst_nb"]
exclude_patterns = ["extra"]
root_doc = "index"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

# notebooks come with their outputs
nb_execution_mode = "off"
nb_merge_streams = True
# pages work without a network: no script of another site
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# a paper's name stands in several documents
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "rdcnlab"
html_static_path = ["_static"]
html_extra_path = ["extra"]
html_css_files = ["report.css", "site.css"]
html_js_files = ["report.js", "excerpts.js", "interactive.js", "explore.js", "zoom.js"]
# pages without pages below them have no navigation of a section
html_sidebars: dict[str, list[str]] = {name: [] for name in ("index", "explore", "figures", "search")}
html_copy_source = False
# Sphinx's summary would read the found pages, which browsers refuse for files; `excerpts.js` shows excerpts
html_show_search_summary = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["sphinx-version"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# without it the theme reports an error on the first visit
html_context = {"default_mode": "auto"}
