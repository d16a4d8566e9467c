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
html_theme = "alabaster"
html_theme_options = {
    "description": "A hardware abstraction layer for AI accelerators",
    "page_width": "72em",
    "sidebar_width": "16em",
}
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
exclude_patterns = ["_ext"]
