"""What the page "TF-Agents in detail" says of changing imports, for tests that do it."""

import os
import pathlib
import re
import subprocess
from contextlib import contextmanager

PAGE = pathlib.Path(__file__).parents[2] / "colab" / "docs" / "tf_agents_in_detail.md"
TEXT = PAGE.read_text(encoding="utf-8")


def change_imports(folder):
    """Runs the page's lines of Python, which change all files `*.py` of a folder."""
    (code,) = re.findall(r'^```python\n(from pathlib [^`]*glob\("\*\.py"\)[^`]*)^```', TEXT, re.M)
    with working_in(folder):
        exec(code, {})


def run_sed(folder, suffix):
    """Runs the page's line of `sed` for files of a suffix."""
    (line,) = re.findall(rf"^sed .* \*{re.escape(suffix)}$", TEXT, re.M)
    subprocess.run(line, shell=True, check=True, cwd=folder)


@contextmanager
def working_in(folder):
    """Makes a folder the current one for a while."""
    before = pathlib.Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
