"""The configuration of the site: ``make docs`` builds it, offline, into docs/_build/html."""

import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS / "_ext"), str(ROOT / "src")]

import fairshap  # noqa: E402

project = "fairshap"
author = "the fairshap developers"
copyright = "2026, the fairshap developers"  # noqa: A001
version = release = fairshap.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "commands",
    "mathml",
    "short_names",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "screenshots"]
suppress_warnings = ["config.cache"]

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# The reference
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False

# The page
html_theme = "pydata_sphinx_theme"
html_title = "fairshap"
html_static_path = ["_static"]
html_css_files = ["fairshap.css"]
html_favicon = "_static/favicon.svg"
# Without it, the theme complains in the console of a browser that comes for the first time.
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
html_show_sourcelink = False
# Nothing leads to it: the reference has every name.
html_domain_indices = False
toc_object_entries_show_parents = "hide"
html_sidebars = {name: [] for name in ("index", "install", "command_line", "whats_new")}
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "matplotlib_animations": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    # Its page loads scripts from other hosts.
    "write_computation_times": False,
    "default_thumb_file": str(DOCS / "_static" / "method.svg"),
    "reference_url": {},
}

# Pages whose text is a file of the repository, which keeps its place there.
COPIED = {
    "architecture": "ARCHITECTURE.md",
    "contributing": "CONTRIBUTING.md",
    "whats_new": "CHANGELOG.md",
    "results/benchmarks": "benchmarks/RESULTS.md",
}
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")


def copy_document(app: Any, name: str, source: list[str]) -> None:
    """Put the text of a file of the repository into its page, and let links lead to such pages."""
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    path = ROOT / COPIED[name] if name in COPIED else page
    pages = {ROOT / file: DOCS / f"{copy}.md" for copy, file in COPIED.items()}

    def adapt(link: re.Match[str]) -> str:
        target = (path.parent / link[1]).resolve()
        if path == page and target not in pages:
            return link[0]
        target = pages.get(target, target)
        return f"]({Path(os.path.relpath(target, page.parent)).as_posix()}{link[2] or ''})"

    text = path.read_text(encoding="utf-8") + source[0] if name in COPIED else source[0]
    source[0] = LINK.sub(adapt, text)


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from scikit-learn or imbalanced-learn."""
    module = getattr(getattr(member, "fget", member), "__module__", None) or "fairshap"
    return True if not module.startswith("fairshap") else None


def setup(app: Any) -> None:
    """Connect what the site does by itself."""
    app.connect("source-read", copy_document)
    app.connect("autodoc-skip-member", skip_foreign)
