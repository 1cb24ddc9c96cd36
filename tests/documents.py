"""Runs the code blocks of a Markdown page in order, as a reader would.

python     runs, or is checked as a doctest; the blocks of a page share one namespace
sh         runs line by line, except for lines that get or install something; a line may go on
           after a backslash
any other  does not run

A block below the name of a file, in bold, does not run. It is appended to that file.
A block below `<!-- cluster: NAME -->` is run by tests/studies/test_clusters.py, and not here.
Blocks of parts that `python -m colab.pages` writes do not run.
"""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from colab.pages.places import PART
from tests import command_line
from tests.command_line import Outcome

ROOT = Path(__file__).parents[1]
FRAMEWORKS = (
    "gin",
    "gym",
    "gymnasium",
    "matplotlib",
    "pandas",
    "rlberry",
    "sklearn",
    "tensorflow",
    "tf_agents",
    "threadpoolctl",
    "torch",
)
COMMANDS = {
    "bandit-envs": [sys.executable, "-m", "bandit_envs"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
    "python": [sys.executable],
}
NOT_RUN = ("git ", "pip ", "python -m venv ")


CAPTION = re.compile(r"\*\*`(\S+\.\w+)`\*\*\n\n\Z")
CLUSTER = re.compile(r"<!-- cluster: \S+ -->\n\Z")


class PythonParser(PythonCodeBlockParser):
    """Parses the Python of a page; a block with a caption is written, and not run."""

    def __call__(self, document: Document) -> Iterable[Region]:
        for region in super().__call__(document):
            if CAPTION.search(document.text[: region.start]):
                region.evaluator = write
            yield region


class Blocks:
    """Parses the blocks of a page without those that another test runs."""

    def __init__(self, parse: Callable[[Document], Iterable[Region]]) -> None:
        self._parse = parse

    def __call__(self, document: Document) -> Iterable[Region]:
        parts = [part.span() for part in PART.finditer(document.text)]
        for region in self._parse(document):
            is_written = any(start < region.start < end for start, end in parts)
            if not is_written and not CLUSTER.search(document.text[: region.start]):
                yield region


def write(example: Example) -> None:
    """Appends a block with a caption to its file in the current folder."""
    caption = CAPTION.search(example.document.text[: example.region.start])
    if caption is not None:
        block = example.document.text[example.region.start : example.region.end]
        code = block.partition("\n")[2].removesuffix("```")  # indented, as `parsed` is not
        with Path(caption[1]).open("a", encoding="utf-8") as file:
            file.write(f"{code}\n")


def run_commands(example: Example) -> None:
    """Runs a block of shell commands in the current folder."""
    for line in example.parsed.replace("\\\n", " ").splitlines():
        if line.startswith(NOT_RUN):
            continue
        program, *arguments = shlex.split(line, comments=True)
        is_alone = program == "bandit-envs" and "--workers" not in arguments
        finished = run_here(arguments) if is_alone else run_elsewhere(program, arguments)
        lacks = ["is not installed", *(f"No module named {name!r}" for name in FRAMEWORKS)]
        said = finished.out + finished.err
        if finished.code != 0 and any(text in said for text in lacks):
            pytest.skip(said)
        assert finished.code == 0, said
        assert "skipped" not in finished.out


def run_here(arguments: list[str]) -> Outcome:
    """Runs `bandit-envs` in this process, whose imports take longer than most commands."""
    kept = modules_of_page()
    for name in kept:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        return command_line.run(*arguments)
    finally:
        for name in modules_of_page():
            del sys.modules[name]
        sys.modules.update(kept)


def modules_of_page() -> dict[str, ModuleType]:
    """Returns the modules that the current folder has, by their names."""
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    names = [name for name, file in files.items() if Path(file or "/").parent == Path.cwd()]
    return {name: sys.modules[name] for name in names}


def run_elsewhere(program: str, arguments: list[str]) -> Outcome:
    """Runs a program in a process of its own."""
    finished = subprocess.run(
        [*COMMANDS[program], *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(finished.returncode, finished.stdout, finished.stderr)


BLOCKS = Sybil(
    [
        Blocks(PythonParser(doctest_optionflags=doctest.ELLIPSIS)),
        Blocks(CodeBlockParser("toml", write)),
        Blocks(CodeBlockParser("sh", run_commands)),
    ]
)


def section_of(example: Example) -> str:
    """Returns the heading of the section in which a block stands."""
    above = example.document.text[: example.region.start]
    return re.findall(r"^## (.+)$", above, re.MULTILINE)[-1]


def run(page: Path, section: str = "") -> None:
    """Runs the blocks of a page, or of one of its sections, in the current folder.

    The test is skipped at the first import of a framework that is not installed.
    """
    try:
        for example in BLOCKS.parse(page):
            if not section or section_of(example) == section:
                example.evaluate()
    except ImportError as error:
        if str(error.name).partition(".")[0] in FRAMEWORKS:
            pytest.skip(str(error))
        raise
    finally:
        for name in modules_of_page():  # another page may write a file of the same name
            del sys.modules[name]
