"""Writes the parts of pages that follow from the registries and from the gallery, as Markdown."""

import csv
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.image import imsave

from bandit_envs import Policy, RandomNumberPolicy, RandomPolicy, RandomSlatePolicy, StepDriver
from bandit_envs.base.registry import Entry
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.policies.registry import POLICIES
from bandit_envs.specs import SlateSpec, is_continuous
from bandit_envs.base.notation import parse_toml

CONTEXTS = {"ignored": "no", "any": "yes", "items": "features of the actions"}


def write(folder: Path, root: Path) -> None:
    """Writes all parts into a folder; `root` is that of the repository."""
    folder.mkdir(exist_ok=True)
    parts = {
        "environments": environments(folder),
        "gallery": gallery(root / "bandit_envs/studies/gallery", root / "colab/images/gallery"),
        "policies": policies(),
        "presets": presets(),
    }
    for name, text in parts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def environments(pictures: Path) -> str:
    """Returns a line for each environment, and then a section with its law and its picture."""
    heads = ("id", "what it is", "context", "stationary", "rows", "in TF-Agents")
    lines = []
    sections = []
    for entry in ENVIRONMENTS.values():
        lines.append(
            [
                f"[`{entry.id}`](#{entry.id})",
                entry.summary,
                yes(entry.has_context),
                yes(entry.stationary),
                "problems" if entry.independent_rows else "users",
                yes(entry.upstream),
            ]
        )
        path = pictures / f"{entry.id}.png"
        draw(entry, path)
        picture = (
            f"![{entry.title}: one row after a random action](/{path.parent.name}/{path.name})"
        )
        law = law_of(entry.make) or law_of(entry.environment)
        sections.append(section(entry, "environments", entry.environment, law, picture))
    return "\n\n".join([table(heads, lines), *sections])


def policies() -> str:
    """Returns a line for each policy, and then a section with its rule and its source."""
    heads = ("id", "what it does", "uses contexts", "rewards", "probabilities")
    lines = []
    sections = []
    for entry in POLICIES.values():
        probabilities = "exact" if entry.make.knows_probabilities else "estimated"
        rewards = "0 to 1" if entry.make.reward_range == (0.0, 1.0) else "any"
        link = f"[`{entry.id}`](#{entry.id})"
        context = CONTEXTS[str(entry.context)]
        lines.append([link, entry.summary, context, rewards, probabilities])
        source = re.search(
            r"^Source: .*?(?=\n\n|\Z)", document(entry.make), re.DOTALL | re.MULTILINE
        )
        text = source[0] if source else ""
        sections.append(section(entry, "policies", entry.make, law_of(entry.make), text))
    return "\n\n".join([table(heads, lines), *sections])


def presets() -> str:
    """Returns the reference of the functions that make environments from plain values."""
    makers = [entry.make for entry in ENVIRONMENTS.values() if entry.make is not entry.environment]
    lines = [f".. autofunction:: {make.__module__}.{make.__name__}" for make in makers]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def gallery(studies: Path, images: Path) -> str:
    """Returns the figures of the gallery with their commands and comparisons."""
    sections = []
    for file in sorted(studies.glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        title = parse_toml(text)["title"]
        about = " ".join(line[2:] for line in text.splitlines() if line.startswith("#"))
        csv_lines = (images / f"{file.stem}.csv").read_text(encoding="utf-8").splitlines()
        heads, *rows = csv.reader(csv_lines)
        compared = table(heads, rows).replace("cumulative_", "cumulative ")
        sections += [
            f"## {title}",
            about,
            f"```sh\nbandit-envs reproduce {file.stem}\n```",
            f"![{title}: the measured curves](../images/gallery/{file.stem}.png)",
            f"```{{table}}\n:class: expected\n:widths: 30 12 8 18 12 14 8\n\n{compared}\n```",
        ]
    return "\n\n".join(sections)


def section(entry: Entry, package: str, documented: type, law: str, *parts: str) -> str:
    """Returns the section of an environment or a policy."""
    name = documented.__name__
    parameters = ", ".join(f"`{name}`" for name in entry.parameters())
    paragraphs = [
        f"## {entry.id}",
        f"{{py:class}}`{name} <bandit_envs.{package}.{name}>`: {entry.summary}",
        f"```text\n{law}\n```" if law else "",
        f"Parameters: {parameters}." if parameters else "",
        *parts,
    ]
    return "\n\n".join(filter(None, paragraphs))


def law_of(documented: Any) -> str:
    """Returns the equations of a docstring: its first indented block, ahead of its sections."""
    text = re.split(r"\n(?:Args|Shapes):", document(documented))[0]
    block = re.search(r"\n\n((?: {4}.*\n?|\n)+)", text)
    return textwrap.dedent(block[1]).strip() if block else ""


def document(documented: Any) -> str:
    """Returns a docstring."""
    return inspect.getdoc(documented) or ""


def draw(entry: EnvironmentEntry, path: Path) -> None:
    """Writes the picture of the default environment after a random action."""
    env: Any = entry.make(seed=0)
    spec = env.action_spec()
    policy: type[Policy] = RandomPolicy
    if isinstance(spec, SlateSpec):
        policy = RandomSlatePolicy
    elif is_continuous(spec):
        policy = RandomNumberPolicy
    StepDriver(env, policy(**policy.arguments_for(env), seed=1)).run()
    imsave(path, env.render())


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table."""
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    for row in rows:
        lines.append(" | ".join(cell.replace("|", r"\|") for cell in row))
    return "\n".join(f"| {line} |" for line in lines)


def yes(fact: object) -> str:
    """Returns what a table shows of a fact."""
    return "yes" if fact else "no"
