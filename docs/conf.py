"""The manual: `sphinx-build -W -b html docs build/html`."""

import importlib.metadata
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "WIA"
author = "the WIA authors"
copyright = author
version = release = importlib.metadata.version("wia")
extensions = ["myst_parser", "generated_pages"]
exclude_patterns = ["_ext", "_static", "snippets", "gallery/*_devices.md"]
default_role = "code"
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_title = f"WIA {version}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_js_files = ["support.js"]
html_show_sphinx = False
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
maximum_signature_line_length = 90

# Links of the C pages have to resolve. What Python signatures name is often not public.
nitpicky = True
nitpick_ignore = [("c:func", "wia_negotiate_driver")]
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|wia_driver_\w+_s|wia_tensor"),
    ("py:.*", ".*"),
]
