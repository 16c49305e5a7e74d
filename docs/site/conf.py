# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for `make docs`. The pages are those that pages.py has written."""

import os

project = "Penstock"
author = "The Penstock authors"
copyright = "the Penstock authors"
release = version = os.environ["PENSTOCK_VERSION"]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 6
nitpicky = True
nitpick_ignore_regex = [("c:identifier", "(?!PST_).*"), ("c:identifier", "PST_(Stream|Queue)_s")]  # MPI's, and tags
highlight_language = "none"
html_theme = "furo"
html_title = f"Penstock {version}"
html_static_path = ["static"]
html_css_files = ["penstock.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}
