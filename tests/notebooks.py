"""Runs notebooks in this process, cell by cell, as Jupyter would, but without its kernel.

What the process has imported stays imported, and each notebook has a namespace of its own. A cell
may begin with `%%writefile NAME`. A cell that would install something fails.
"""

import ast
import json
import logging
import os
import re
import sys
from pathlib import Path
from unittest import mock

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")

INSTALLS = re.compile(r"^( *)%pip (?:.*\\\n)*.*", re.MULTILINE)
WRITES = re.compile(r"%%writefile (\S+)\n")


class Notebook:
    """The cells of a file; code can be added."""

    def __init__(self, path: Path) -> None:
        self.content = json.loads(path.read_text("utf-8"))
        self.cells = self.content["cells"]
        self.text = "\n".join(map(source, self._of_type("markdown")))
        self.code = list(map(source, self._of_type("code")))

    def _of_type(self, cell_type: str) -> list[dict]:
        return [cell for cell in self.cells if cell["cell_type"] == cell_type]

    @property
    def parameters(self) -> int:
        """The number, among cells of code, of the one that has all sizes."""
        (found,) = (
            number
            for number, cell in enumerate(self._of_type("code"))
            if "parameters" in cell["metadata"].get("tags", [])
        )
        return found


def source(cell: dict) -> str:
    """Returns the text of a cell."""
    return "".join(cell["source"])


def run_code(cells: list[str], folder: Path, scripts: Path) -> int:
    """Runs cells inside of `folder`, and returns how many pictures they show.

    Each cell is written to a file in `scripts`, in which TensorFlow finds the source of functions.
    """
    shown = []

    def show(*args, **kwargs) -> None:
        shown.extend(map(drawn, map(pyplot.figure, pyplot.get_fignums())))
        pyplot.close("all")

    namespace = {"__name__": "__main__"}
    before = os.getcwd()
    loggers = [logging.getLogger(), logging.getLogger("tensorflow")]
    levels = [logger.level for logger in loggers]
    imported = set(sys.modules)
    os.chdir(folder)
    try:
        with (
            mock.patch.dict(os.environ),
            mock.patch.object(sys, "path", [str(folder), *sys.path]),
            mock.patch.object(pyplot, "show", show),
            pyplot.rc_context(),
        ):
            for number, cell in enumerate(cells):
                value = run_cell(cell, scripts / f"cell_{number:02}.py", namespace)
                shown.append(drawn(value))
                show()
    finally:
        os.chdir(before)
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
        pyplot.close("all")
        for name in set(sys.modules) - imported:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
                del sys.modules[name]
    return sum(shown)


def run_cell(cell: str, script: Path, namespace: dict) -> object:
    """Runs the code of a cell, and returns the value of its last line if that is an expression."""
    if written := WRITES.match(cell):
        Path(written[1]).write_text(cell[written.end() :], encoding="utf-8")
        return None
    cell = INSTALLS.sub(r"\1raise RuntimeError('a package is missing')", cell)
    script.write_text(cell, encoding="utf-8")
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, script, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), script, "eval"), namespace)


def drawn(value: object) -> bool:
    """Shows what Jupyter shows below a cell, and says whether it is a picture."""
    if hasattr(value, "savefig"):
        value.canvas.draw()
        return bool(value.axes)
    if hasattr(value, "_repr_png_"):
        return bool(value._repr_png_())
    str(value._repr_html_() if hasattr(value, "_repr_html_") else value)
    return False
