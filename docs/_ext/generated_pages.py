"""Makes the pages that are derived from sources, in docs/generated, before Sphinx reads any page.

- operations/: from the catalog (hal/generate.py --docs)
- abi/: one page for each public header
- environment.rst: from the table in hal/env.h

Docstrings are plain text, so that they read well where they stand; here they are made safe for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from header_pages import header_page
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", lambda *_: make_pages(ROOT / "docs" / "generated"))
    app.connect("autodoc-process-docstring", escape_docstring)
    return {"parallel_read_safe": True}


def make_pages(folder: Path) -> None:
    """Write all pages; what a former run left is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    generator = [sys.executable, "-B", str(ROOT / "hal" / "generate.py")]
    made = folder / "include"
    subprocess.run([*generator, "--docs", str(folder), "--output", str(made)], check=True)

    headers = [*sorted(INCLUDE.glob("wia/*.h")), made / "include" / "wia" / "ops.h"]
    headers = [INCLUDE / "wia.h", *sorted(headers), INCLUDE / "wia_driver.h"]
    pages = folder / "abi"
    pages.mkdir(parents=True)
    for header in sorted(headers, key=lambda path: (path.parent.name != "include", path.name)):
        page = header_page(header.name, header.read_text(encoding="utf-8"))
        (pages / f"{header.stem}.rst").write_text(page, encoding="utf-8")
    shutil.rmtree(made)
    (folder / "environment.rst").write_text(environment_page(), encoding="utf-8")


def environment_page() -> str:
    """Return the page of environment variables, from the one table that has them."""
    text = (ROOT / "hal" / "env.h").read_text(encoding="utf-8")
    table = text[text.index("#define WIA__ENV_MAP(X)") : text.index("#define WIA__ENV_ENUM")]
    lines = ["Environment variables", "=====================", ""]
    lines += ["Read once, by the library; ignored when the process is privileged.", ""]
    for entry in re.findall(r"X\(\w+,(.*?\")\)", table.replace("\\\n", " "), re.DOTALL):
        name, default, *help_parts = re.findall(r'"((?:[^"\\]|\\.)*)"', entry)
        described = "".join(help_parts).replace('\\"', '"')
        shown = f"``{default}``" if default else "empty"
        lines += [f"``{name}`` (default: {shown})", f"   {escape(described)}", ""]
    return "\n".join(lines)


def escape_docstring(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Make what docstrings say of *inputs, [a-z]* and wia_ plain text; backquotes stay markup."""
    lines[:] = [re.sub(r"([*|]|_(?=\W|$))", r"\\\1", line) for line in lines]


def escape(text: str) -> str:
    """Return text with what reStructuredText would read as markup made plain."""
    return re.sub(r"([*`|_\\])", r"\\\1", text)
