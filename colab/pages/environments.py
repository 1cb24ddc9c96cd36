"""The table of all environments, and a section with the law and the picture of each."""

from pathlib import Path

from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from colab.pages.laws import law_of, parameters_of
from colab.pages.markdown import fence, paragraphs, table


def sections(_: str, page: Path) -> str:
    """Returns a line for each environment, and then a section with its law and its picture."""
    heads = ("id", "what it is", "context", "stationary", "rows", "in TF-Agents")
    lines = [
        (
            f"[`{entry.id}`](#{entry.id})",
            entry.summary,
            yes(entry.has_context),
            yes(entry.stationary),
            "problems" if entry.independent_rows else "users",
            yes(entry.upstream),
        )
        for entry in ENVIRONMENTS.values()
    ]
    texts = [section(entry) for entry in ENVIRONMENTS.values()]
    return paragraphs(table(heads, lines), *texts)


def section(entry: EnvironmentEntry) -> str:
    """Returns the section of an environment."""
    law = law_of(entry.make) or law_of(entry.environment)
    return paragraphs(
        f"## {entry.id}",
        f"`{entry.environment.__name__}`: {entry.summary}",
        fence("text", law) if law else "",
        parameters_of(entry),
        f"![{entry.title}: one row after a random action](../images/environments/{entry.id}.png)",
    )


def yes(fact: object) -> str:
    """Returns what a table shows of a fact."""
    return "yes" if fact else "no"
