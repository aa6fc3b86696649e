"""Sphinx settings: ``make docs`` builds the pages without a warning."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
import members  # the folder of extensions is on the path only now
from sphinx_gallery.sorting import ExplicitOrder

project = "widemargin"
author = "The widemargin developers"
copyright = "2026, The widemargin developers"
version = release = installed_version("widemargin")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]
autosummary_generate = True
autosummary_context = {
    "common": members.COMMON,
    "untold_properties": members.untold_properties(),
}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # the page is about one of them
numpydoc_show_class_members = False
# Names in single backquotes are linked to the API.
default_role = "py:obj"
rst_prolog = ".. currentmodule:: widemargin\n"
nitpicky = False
smartquotes_action = "qe"  # quotes and ellipses; two dashes begin an option

html_theme = "pydata_sphinx_theme"
html_title = "widemargin"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["widemargin.css"]
html_math_renderer = "mathml"
# All pages in the side bar, so that the top bar holds the name and the search only.
html_sidebars = {"**": ["globaltoc.html"]}
html_context = {"default_mode": "light"}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_center": [],
    "footer_start": ["copyright"],
    "footer_end": [],
}

#: what no other package has comes first
GALLERY = ["certificate", "cost_stream", "ramp_mislabelled", "quantile_band"]
GALLERY += ["chance_error_bars", "cost_matrix", "tuning", "divide_early"]
GALLERY += ["stream_window", "one_class_forgets", "private_audit", "cost_margins"]
GALLERY += ["chance_missing_values", "one_class_frontier", "svr_tube", "nu_shares"]

sphinx_gallery_conf = {
    "within_subsection_order": ExplicitOrder(
        [*(f"plot_{name}.py" for name in GALLERY), "*"]
    ),
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # that page would load scripts from the network
    "min_reported_time": 1,
    "abort_on_example_error": True,
}


def write_capabilities(app):
    """Ask the estimators who can do what; the page includes the answer."""
    from widemargin.cli.capabilities import as_rst

    folder = Path(app.srcdir, "generated")
    folder.mkdir(exist_ok=True)
    (folder / "capabilities.inc").write_text(as_rst(), encoding="utf-8")


def plain_references(_app, _what, _name, _obj, _options, lines):
    """Drop references to pages of scikit-learn: inherited docstrings have some."""
    reference = r":(?:ref|term):`([^`<]+?)(?:\s*<[^`]*>)?`"
    lines[:] = [re.sub(reference, r"``\1``", line) for line in lines]


def setup(app):
    """Hook the generated pages into the build."""
    app.connect("autodoc-process-docstring", plain_references, priority=1)
    app.connect("builder-inited", write_capabilities)
