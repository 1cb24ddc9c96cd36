"""Writes the parts of pages that follow from the registries and from the gallery, as Markdown."""

import csv
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.image import imsave

from bandit_envs import Policy, RandomPolicy, RandomSlatePolicy, StepDriver
from bandit_envs.base.notation import parse_toml
from bandit_envs.base.registry import Entry
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.policies import RandomNumberPolicy
from bandit_envs.policies.models import ValueModel
from bandit_envs.policies.parts.registry import MODELS, RULES, make_model, make_rule
from bandit_envs.policies.registry import POLICIES, ContextualEntry, PolicyEntry
from bandit_envs.policies.rules import Rule
from bandit_envs.specs import SlateSpec, is_continuous

EXAMPLES = {"epsilon": 0.1, "estimator": "LogisticRegression"}
"""Values of parameters without a default."""

TEXTS = {
    "linear_scores": "linear_scores:weights=[[0.0, 1.0], [1.0, 0.0]]",
    "estimators": 'estimators:estimator="LogisticRegression",num_replicas=2',
    "epsilon_greedy": "epsilon_greedy:epsilon=0.1",
    "first_pulls": "first_pulls:rule=greedy",
    "mixed": "mixed:rule=softmax",
}
"""How to write models and rules that have parameters without a default."""

CONTEXTS = {"ignored": "no", "any": "yes", "items": "features of the actions"}


def write(folder: Path, root: Path) -> None:
    """Writes all parts into a folder; `root` is that of the repository."""
    folder.mkdir(exist_ok=True)
    parts = {
        "environments": environments(folder),
        "gallery": gallery(root / "bandit_envs/studies/gallery", root / "colab/images/gallery"),
        "models_and_rules": models_and_rules(),
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
        link = f"[`{entry.id}`](#{entry.id})"
        context = CONTEXTS[str(entry.context)]
        lines.append([link, entry.summary, context, *facts_of(entry)])
        if isinstance(entry, ContextualEntry):
            sections.append(section_of_pair(entry))
            continue
        text = source_of(entry.make)
        sections.append(section(entry, "policies", entry.make, law_of(entry.make), text))
    return "\n\n".join([table(heads, lines), *sections])


def facts_of(entry: PolicyEntry) -> tuple[str, str]:
    """Returns which rewards a policy takes, and whether it knows the probabilities of actions."""
    made: Any = entry.make
    if isinstance(entry, ContextualEntry):
        needed = {key: value for key, value in EXAMPLES.items() if key in entry.parameters()}
        model, rule = entry.make_parts(needed)
        reward_range = model.reward_range if rule.reward_range is None else rule.reward_range
        is_known = rule.knows_probabilities(model)
    elif hasattr(made, "knows_probabilities"):
        reward_range = made.reward_range
        is_known = made.knows_probabilities
    else:
        return "as its parts", "as its parts"
    return "0 to 1" if reward_range == (0.0, 1.0) else "any", "exact" if is_known else "estimated"


def models_and_rules() -> str:
    """Returns a table of all pairs of the package: what is known of each."""
    made = {name: make_model(TEXTS.get(name, name)) for name in MODELS}
    heads = ["rule", *(f"`{name}`" for name in MODELS)]
    lines = []
    for name in RULES:
        rule = make_rule(TEXTS.get(name, name))
        lines.append([f"`{name}`", *(known_of(model, rule) for model in made.values())])
    lines.append(["independent rows", *("yes" if m.can_have_rows else "" for m in made.values())])
    needs = {"hybrid_ridge": "needed", "linear_scores": "no"}
    lines.append(["features of actions", *(needs.get(name, "yes") for name in made)])
    return table(heads, lines)


def known_of(model: ValueModel, rule: Rule) -> str:
    """Returns whether a pair works, and whether its probabilities have a closed form."""
    try:
        rule.check(model)
    except (TypeError, ValueError):
        return ""
    return "exact" if rule.knows_probabilities(model) else "estimated"


def section_of_pair(entry: ContextualEntry) -> str:
    """Returns the section of a contextual policy, which refers to its two parts."""
    parameters = ", ".join(f"`{name}`" for name in entry.parameters())
    law = "\n\n".join(filter(None, (law_of(entry.rule), law_of(entry.model))))
    paragraphs = [
        f"## {entry.id}",
        f"`ContextualPolicy` of `{entry.model.__name__}` and `{entry.rule.__name__}`: "
        f"{entry.summary}",
        f"```text\n{law}\n```" if law else "",
        f"Parameters: {parameters}.",
        source_of(entry.rule),
        source_of(entry.model),
    ]
    return "\n\n".join(filter(None, paragraphs))


def source_of(documented: Any) -> str:
    """Returns the sentence of a docstring that names its source, or ""."""
    found = re.search(r"^Source: .*?(?=\n\n|\Z)", document(documented), re.DOTALL | re.MULTILINE)
    return found[0] if found else ""


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
