"""Copies the notebooks into the documentation, where they are executed and shown with outputs."""

import importlib.util
import json
import re
import zlib
from pathlib import Path
from typing import Any

from docutils import nodes

BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\](?=\()")


def copy(notebooks: Path, folder: Path) -> list[str]:
    """Copies all notebooks into a folder; returns those whose imports are not installed."""
    folder.mkdir(exist_ok=True)
    not_executed = []
    names = set()
    for path in sorted(notebooks.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        copied = folder / path.name
        new = BADGE.sub("[Open in Colab]", text)  # readers' browsers load nothing from elsewhere
        if not copied.exists() or copied.read_text(encoding="utf-8") != new:
            copied.write_text(new, encoding="utf-8")
        if not all(map(importlib.util.find_spec, imports(text))):
            not_executed.append(f"{folder.name}/{path.name}")
        names.add(path.name)
    for old in folder.glob("*.ipynb"):
        if old.name not in names:
            old.unlink()
    return not_executed


def version(package: Path) -> str:
    """Returns a name that changes with the code of a package, and with it what notebooks show."""
    code = b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))
    return f"{zlib.crc32(code):08x}"


def imports(text: str) -> set[str]:
    """Returns the top-level modules that a notebook imports and does not write."""
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(cell["source"]) for cell in cells)
    written = set(re.findall(r"^%%writefile (\w+)\.py", code, re.MULTILINE))
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE))
    return imported - written - {"bandit_envs"}


def describe_figures(app: Any, document: nodes.document) -> None:
    """Gives figures of notebooks the section in which they are as alternative text."""
    for image in document.findall(nodes.image):
        section = image.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        if section is not None and app.env.docname.startswith("notebooks/"):
            image.setdefault("alt", f"Figure of the section “{section[0].astext()}”")
