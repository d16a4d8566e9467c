"""Makes the pages that are derived from sources, in docs/generated, before Sphinx reads any page.

- operations/: from the catalog (hal/generate.py --docs), each with an example that runs
  (operation_examples.py) and the drivers that have it (support_pages.py)
- abi/: one page for each public header
- environment/: one page for each variable
- status, manifest, commands: see fact_pages.py

Docstrings are plain text, so that they read well where they stand; here they are made safe for it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from environment_pages import environment_pages
from fact_pages import fact_pages
from header_pages import header_page
from operation_examples import example_section
from sphinx.application import Sphinx
from support_pages import read_support, support_page, support_section

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
    headers = [*INCLUDE.rglob("*.h"), made / "include" / "wia" / "ops.h"]
    pages = {
        f"abi/{path.stem}.rst": header_page(path.name, path.read_text(encoding="utf-8"))
        for path in headers
    }
    for name, text in (pages | environment_pages() | fact_pages()).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.rmtree(made)
    support = read_support()
    (folder / "operations" / "support.json").write_text(json.dumps(support, indent=1) + "\n")
    (folder / "operations" / "support.rst").write_text(support_page(support), encoding="utf-8")
    for operation in support["operations"]:
        sections = [*example_section(operation["name"]), *support_section(operation)]
        with (folder / "operations" / f"{operation['name']}.rst").open(
            "a", encoding="utf-8"
        ) as page:
            page.write("\n".join(["", *sections]))


def escape_docstring(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Make plain text of what docstrings say; backquotes, examples and listings stay."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    literal = False
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        literal = literal and (indented or not line)
        if literal:
            continue
        after = lines[number + 1 : number + 3]
        if line.endswith(":") and len(after) == 2 and not after[0] and after[1].startswith("    "):
            lines[number] += ":"
            literal = True
        elif not line.lstrip().startswith((">>>", "...")):
            lines[number] = re.sub(r"([*|]|_(?=\W|$))", r"\\\1", line)
