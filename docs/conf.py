"""How `make docs` builds the site: Sphinx, MyST for these Markdown pages, the pydata theme; nothing from elsewhere."""

project = "cellguard"
author = copyright = "The cellguard developers"  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["conf.py", "make_pictures.py"]
myst_heading_anchors = 3
# Links to folders and scripts of the repository, which are no pages; classes that several names lead to.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "ref.python", "docutils"]
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
default_role = "literal"
add_module_names = False
python_maximum_signature_line_length = 88
highlight_language = "none"
pygments_style = "friendly"
html_theme = "pydata_sphinx_theme"
html_title = "cellguard"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_center": ["navbar-nav"],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
