"""The table of all policies with a section of each, and that of all models and rules."""

import inspect
from pathlib import Path
from typing import Any

from bandit_envs import ContextualPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.parts.registry import MODELS, RULES, make_model, make_rule
from bandit_envs.policies.registry import POLICIES, ContextualEntry, PolicyEntry
from bandit_envs.policies.rules import Rule
from colab.pages.laws import law_of, parameters_of, source_of
from colab.pages.markdown import fence, paragraphs, table

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


def sections(_: str, page: Path) -> str:
    """Returns a line for each policy, and then a section with its rule and its source."""
    heads = ("id", "what it does", "uses contexts", "rewards", "probabilities")
    lines = []
    texts = []
    for entry in POLICIES.values():
        id_and_link = f"[`{entry.id}`](#{entry.id})"
        context = CONTEXTS[str(entry.context)]
        lines.append([id_and_link, entry.summary, context, *facts_of(entry)])
        if isinstance(entry, ContextualEntry):
            texts.append(section_of_pair(entry))
        else:
            texts.append(section(entry))
    return paragraphs(table(heads, lines), *texts)


def facts_of(entry: PolicyEntry) -> tuple[str, str]:
    """Returns which rewards a policy takes, and whether it knows the probabilities of actions."""
    made: Any = entry.make
    if isinstance(entry, ContextualEntry):
        model, rule = parts_of(entry)
        reward_range = model.reward_range if rule.reward_range is None else rule.reward_range
        is_known = rule.knows_probabilities(model.predictor)
    elif hasattr(made, "knows_probabilities"):
        reward_range = made.reward_range
        is_known = made.knows_probabilities
    else:
        return "as its parts", "as its parts"
    return "0 to 1" if reward_range == (0.0, 1.0) else "any", "exact" if is_known else "estimated"


def parts_of(entry: ContextualEntry) -> tuple[Model, Rule]:
    """Returns the model and the rule of a contextual policy."""
    needed = {key: value for key, value in EXAMPLES.items() if key in entry.parameters()}
    return entry.make_parts(needed)


def section(entry: Any) -> str:
    """Returns the section of a policy."""
    law = law_of(entry.make)
    made = entry.make if inspect.isclass(entry.make) else ContextualPolicy
    return paragraphs(
        f"## {entry.id}",
        f"`{made.__name__}`: {entry.summary}",
        fence("text", law) if law else "",
        parameters_of(entry),
        source_of(entry.make),
    )


def section_of_pair(entry: ContextualEntry) -> str:
    """Returns the section of a contextual policy, which refers to its two parts."""
    model, rule = (type(part) for part in parts_of(entry))
    law = paragraphs(law_of(entry.rule) or law_of(rule), law_of(entry.model) or law_of(model))
    return paragraphs(
        f"## {entry.id}",
        f"`ContextualPolicy` of `{model.__name__}` and `{rule.__name__}`: {entry.summary}",
        fence("text", law) if law else "",
        parameters_of(entry),
        source_of(entry.rule) or source_of(rule),
        source_of(entry.model) or source_of(model),
    )


def models_and_rules(_: str, page: Path) -> str:
    """Returns a table of all pairs of the package: what is known of each."""
    made = {name: make_model(TEXTS.get(name, name)) for name in MODELS}
    heads = ["rule", *(f"`{name}`" for name in MODELS)]
    lines = []
    for name in RULES:
        rule = make_rule(TEXTS.get(name, name))
        lines.append([f"`{name}`", *(known_of(model, rule) for model in made.values())])
    lines.append(
        ["independent rows", *("yes" if m.predictor.can_have_rows else "" for m in made.values())]
    )
    needs = {"hybrid_ridge": "needed", "linear_scores": "no"}
    lines.append(["features of actions", *(needs.get(name, "yes") for name in made)])
    return table(heads, lines)


def known_of(model: Model, rule: Rule) -> str:
    """Returns whether a pair works, and whether its probabilities have a closed form."""
    try:
        rule.check(model.predictor)
    except (TypeError, ValueError):
        return ""
    return "exact" if rule.knows_probabilities(model.predictor) else "estimated"
