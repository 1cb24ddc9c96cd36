"""Runs the code blocks of a Markdown page, in their order, as a reader would.

python     is run; all of a page's blocks share one namespace
pycon      is run as a doctest in that namespace: what it prints must be what the page says
sh         is run line by line; lines that install something are left out
any other  is not run

A block with a caption is not run, whatever its language. It goes into the file that the caption
names, below the blocks with the same caption before it.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import bandit_envs

ROOT = Path(bandit_envs.__file__).parents[1]
FENCE = re.compile(
    r"^```(?:\{code-block\} )?(?P<language>\w+)\n"
    r"(?P<options>(?::\w[\w-]*:[^\n]*\n)*)\n?"
    r"(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CAPTION = re.compile(r"^:caption: (?P<name>.+)$", re.MULTILINE)
FRAMEWORKS = re.compile(
    r"^\s*(?:from|import) (?:bandit_envs\.adapters(?:\.| import ))?"
    r"(?P<name>tf_agents|tensorflow|gymnasium|rlberry|matplotlib|joblib)\b",
    re.MULTILINE,
)
COMMANDS = {
    "bandit-envs": [sys.executable, "-m", "bandit_envs"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
    "python": [sys.executable],
}
OLDEST = {"gymnasium": "1.1"}
COMMAND_NEEDS = ("filelock", "joblib", "matplotlib", "rich", "threadpoolctl")
INSTALLERS = ("pip", "git")


class Block(NamedTuple):
    """A code block: its language, the file it is to be written to, or None, and its lines."""

    language: str
    caption: str | None
    code: str


def blocks(page: Path) -> list[Block]:
    """Returns the code blocks of a page."""
    found = []
    for match in FENCE.finditer(page.read_text(encoding="utf-8")):
        caption = CAPTION.search(match["options"])
        found.append(Block(match["language"], caption and caption["name"], match["code"]))
    return found


def run(page: Path, folder: Path) -> dict[str, object]:
    """Runs the blocks of a page in `folder`, the current one, and returns their namespace.

    The test is skipped if a framework that they import is not installed.
    """
    for block in blocks(page):
        if block.language in ("python", "pycon"):
            for match in FRAMEWORKS.finditer(block.code.replace(">>> ", "")):
                pytest.importorskip(match["name"], minversion=OLDEST.get(match["name"]))
        if block.language == "sh" and "bandit-envs" in block.code:
            for name in COMMAND_NEEDS:
                pytest.importorskip(name)
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page):
        if block.caption is not None:
            write(block, folder)
        elif block.language == "python":
            exec(compile(block.code, str(page), "exec"), namespace)
        elif block.language == "pycon":
            run_doctest(block.code, namespace, page)
        elif block.language == "sh":
            for line in block.code.splitlines():
                run_command(line, folder)
    return namespace


def write(block: Block, folder: Path) -> None:
    """Puts a block with a caption into its file in `folder`, below what is there."""
    if block.caption is not None:
        file = folder / block.caption
        above = f"{file.read_text(encoding='utf-8')}\n" if file.exists() else ""
        file.write_text(above + block.code, encoding="utf-8")


def run_doctest(code: str, namespace: dict[str, object], page: Path) -> None:
    """Runs a doctest, and fails if it prints anything else than it says."""
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    test.globs = namespace  # not a copy: later blocks go on from here
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def run_command(line: str, folder: Path) -> str:
    """Runs a line of shell in `folder`, unless it installs something; returns what it said."""
    program, *arguments = shlex.split(line)
    if program in INSTALLERS:
        return ""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    finished = subprocess.run(
        [*COMMANDS[program], *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
