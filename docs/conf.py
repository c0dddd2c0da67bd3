"""How `make docs` builds the site: Sphinx, MyST for these Markdown pages, the pydata theme; nothing from elsewhere."""

project = "cellguard"
author = copyright = "The cellguard developers"  # noqa: A001
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["conf.py"]
myst_heading_anchors = 3
# Links to folders and scripts of the repository, which are no pages.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
pygments_style = "friendly"
html_theme = "pydata_sphinx_theme"
html_title = "cellguard"
html_show_sourcelink = False
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
