"""The figures of the gallery with their commands and comparisons."""

import csv
from pathlib import Path

from bandit_envs.names.notation import parse_toml
from colab.pages.markdown import anchor, fence, paragraphs, table
from colab.pages.places import ROOT

STUDIES = ROOT / "bandit_envs" / "studies" / "gallery"
IMAGES = ROOT / "colab" / "images" / "gallery"


def sections(_: str, page: Path) -> str:
    """Returns a list of the studies of the gallery, and a section for each."""
    files = sorted(STUDIES.glob("*.toml"))
    entries = [f"- [{title_of(file)}](#{anchor(title_of(file))}): `{file.stem}`" for file in files]
    return paragraphs("\n".join(entries), *map(section, files))


def title_of(file: Path) -> str:
    """Returns the title of a study."""
    return str(parse_toml(file.read_text(encoding="utf-8"))["title"])


def section(file: Path) -> str:
    """Returns what a figure shows, its command, its picture and its comparison."""
    text = file.read_text(encoding="utf-8")
    title = title_of(file)
    about = " ".join(line[2:] for line in text.splitlines() if line.startswith("#"))
    compared = (IMAGES / f"{file.stem}.csv").read_text(encoding="utf-8").splitlines()
    heads, *rows = csv.reader(compared)
    return paragraphs(
        f"## {title}",
        about,
        fence("sh", f"bandit-envs reproduce {file.stem}"),
        f"![{title}: the measured curves](../images/gallery/{file.stem}.png)",
        table(heads, rows).replace("cumulative_", "cumulative "),
    )
