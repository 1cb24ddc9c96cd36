"""The tables of environments and policies, written from the registries.

What the registries and docstrings do not say, such as whether a bandit is stationary, is found by
running the default environment.
"""

import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import formulas
import numpy as np
from matplotlib.image import imsave

from bandit_envs import RandomPolicy, RandomSlatePolicy, StepDriver
from bandit_envs import environments as environments_package
from bandit_envs import policies as policies_package
from bandit_envs.environments.registry import ENVIRONMENTS, EnvironmentEntry
from bandit_envs.nests import flatten
from bandit_envs.policies.registry import POLICIES, PolicyEntry
from bandit_envs.specs import SlateSpec
from bandit_envs.trajectories import Trajectory

NUM_STEPS = 1000
NEEDED = 0.5, 10, (1.0, 0.5, 0.25, 0.1), (1.0, 0.5, 0.25, 0.1, 0.1)
"""Values for parameters without a default, of which the first that fits is taken."""


def environments(pictures: Path) -> str:
    """Returns the table of all environments as Markdown; their pictures go into a folder."""
    pictures.mkdir(parents=True, exist_ok=True)
    heads = "environment", "context", "stationary", "slates", "means known", "rows"
    rows = [_environment_row(entry, pictures) for entry in ENVIRONMENTS.values()]
    return _table(heads, "60 10 8 6 8 8", "environments", rows)


def policies() -> str:
    """Returns the table of all policies as Markdown."""
    heads = "policy", "for", "probabilities", "source"
    rows = [_policy_row(entry, _examples()) for entry in POLICIES.values()]
    return _table(heads, "50 18 8 24", "policies", rows)


@functools.cache
def _examples() -> list[tuple[str, Any, Trajectory]]:
    """Returns the context, the environment and a trajectory of each environment, made small."""
    examples = []
    for entry in ENVIRONMENTS.values():
        names = [name for name in entry.parameters() if name.endswith(("_dim", "num_actions"))]
        env: Any = entry.make(seed=0, **dict.fromkeys(names, 3))
        trajectories: list[Trajectory] = []
        StepDriver(env, _random_policy(env), [trajectories.append]).run()
        examples.append((_context(entry, env), env, trajectories[0]))
    return examples


def reference_of_environments() -> str:
    """Returns the reference of the environments' classes, in groups, as Markdown."""
    groups: dict[str, list[str]] = {}
    for entry, (context, env, _) in zip(ENVIRONMENTS.values(), _examples(), strict=True):
        if _has_slates(env):
            group = "Slates"
        elif context == "none":
            group = "Bandits that do not change" if is_stationary(env) else "Bandits that change"
        else:
            group = "Contextual bandits"
        groups.setdefault(group, []).append(entry.environment.__name__)
    return _reference(environments_package, groups)


def reference_of_policies() -> str:
    """Returns the reference of the policies' classes, in groups, as Markdown."""
    groups: dict[str, list[str]] = {}
    for entry in POLICIES.values():
        fits = [example for example in _examples() if _learns(entry, example, 0.0)]
        if _has_slates(fits[0][1]):
            group = "Slates"
        elif "observation_spec" in entry.make.arguments_for(fits[0][1]):
            group = "With contexts"
        elif _learns(entry, fits[0], -1.0):
            group = "Without contexts"
        else:
            group = "Without contexts, for rewards from 0 to 1"
        groups.setdefault(group, []).append(entry.make.__name__)
    return _reference(policies_package, groups)


def _reference(package: ModuleType, groups: dict[str, list[str]]) -> str:
    """Returns the members of groups, each once, and then the other public ones of a package."""
    grouped = {name for names in groups.values() for name in names}
    kinds = type, FunctionType
    others = [key for key, value in vars(package).items() if isinstance(value, kinds)]
    parts = []
    for heading, names in {**groups, "Others": [n for n in others if n not in grouped]}.items():
        parts.append(f"## {heading}")
        for name in dict.fromkeys(names):
            kind = "autoclass" if isinstance(getattr(package, name), type) else "autofunction"
            options = "\n   :members:" if kind == "autoclass" else ""
            directive = f".. {kind}:: {package.__name__}.{name}{options}"
            parts.append(f"```{{eval-rst}}\n{directive}\n```")
    return "\n\n".join(parts)


def _environment_row(entry: EnvironmentEntry, pictures: Path) -> list[str]:
    env: Any = entry.make(seed=0)
    name = entry.environment.__name__
    law = _law(entry.make) or _law(entry.environment)
    upstream = f"In TF-Agents: `{entry.upstream}`." if entry.upstream else ""
    path = f"bandit_envs.environments.{name}"
    picture = _picture(entry, env, pictures)
    return [
        _cell(entry, f"{{py:class}}`{name} <{path}>`", law, upstream, picture),
        _context(entry, env),
        _yes(is_stationary(env)),
        _yes(_has_slates(env)),
        _yes(_knows_means(env)),
        "problems" if entry.independent_rows else "users",
    ]


def _policy_row(entry: PolicyEntry, examples: list[tuple[str, Any, Trajectory]]) -> list[str]:
    name = entry.make.__name__
    link = f"{{py:class}}`{name} <bandit_envs.policies.{name}>`"
    fits = [example for example in examples if _learns(entry, example, 0.0)]
    policy = _make_policy(entry, fits[0][1])
    words = ["slates"] if _has_slates(fits[0][1]) else []
    if "observation_spec" in entry.make.arguments_for(fits[0][1]):
        contexts = dict.fromkeys(context for context, _, _ in fits)
        words += [f"contexts: {', '.join(contexts)}"]
    else:
        words += ["ignores contexts"]
    words += [] if _learns(entry, fits[0], -1.0) else ["rewards from 0 to 1"]
    text = inspect.getdoc(entry.make) or ""
    source = re.search(r"^Source: (.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return [
        _cell(entry, link, _law(entry.make)),
        "; ".join(words),
        "exact" if policy.knows_probabilities else "estimated",
        " ".join(source[1].split()) if source else "",
    ]


def _cell(entry: Any, link: str, law: str, upstream: str = "", picture: str = "") -> str:
    """Returns the cell that describes an entry."""
    parameters = ", ".join(f"`{name}`" for name in entry.parameters())
    lines = [f"**`{entry.id}`** · {link}", entry.summary, _formulas(law), upstream]
    lines += [f"Parameters: {parameters}." if parameters else "", picture]
    return "\n\n".join(filter(None, lines))


def _formulas(law: str) -> str:
    """Returns equations as maths; a line breaks between two of them only."""
    shown = [" ".join(f"${part}$" for part in parts) for parts in formulas.lines(law)]
    return "```{container} law\n" + "\n\n".join(shown) + "\n```" if law else ""


def _law(made: Any) -> str:
    """Returns the equations of a docstring: its first indented block."""
    text = (inspect.getdoc(made) or "").partition("\nShapes:")[0].partition("\nArgs:")[0]
    block = re.search(r"\n\n((?: {4}.*\n?|\n)+)", text)
    return textwrap.dedent(block[1]).strip() if block else ""


def _picture(entry: EnvironmentEntry, env: Any, pictures: Path) -> str:
    StepDriver(env, _random_policy(env)).run()
    imsave(pictures / f"{entry.id}.png", env.render())
    shown = (
        "the value of each item and a slate"
        if _has_slates(env)
        else "the expected reward of each action"
    )
    alt = f"{entry.title}: {shown} in one row"
    return f"![{alt}](/_generated/{pictures.name}/{entry.id}.png)"


def is_stationary(env: Any) -> bool:
    """Whether equal observations mean equal expected rewards, at any time.

    They do if every state is drawn anew, whatever came before. If not, this compares the expected
    rewards of the observations that a run meets more than once.
    """
    driver = StepDriver(env, _random_policy(env), num_steps=1)
    driver.run()
    before = env._state.latent
    driver.run()
    after = env._state.latent
    if after.state is not None and _draws_anew(env, before, after):
        return True
    met: dict[bytes, bytes] = {}
    num_again = 0
    for _ in range(NUM_STEPS):
        time_step = driver.run()
        leaves = flatten(time_step.observation)
        values = env.optimal_reward() if _has_slates(env) else env.expected_rewards()
        for row, value in enumerate(values):
            observed = b"".join(leaf[row].tobytes() for leaf in leaves)
            num_again += observed in met
            if met.setdefault(observed, value.tobytes()) != value.tobytes():
                return False
    return num_again > 0


def _draws_anew(env: Any, *bandits: Any) -> bool:
    """Whether the state after each of `bandits` is the same if the generator is."""
    one, other = (
        flatten(env._next_state(np.random.default_rng(0), bandit.state, bandit.action))
        for bandit in bandits
    )
    different = [flatten(bandit.state) for bandit in bandits]
    is_same = all(map(np.array_equal, one, other))
    return is_same and not all(map(np.array_equal, *different))


def _random_policy(env: Any) -> Any:
    make = RandomSlatePolicy if _has_slates(env) else RandomPolicy
    return make(**make.arguments_for(env), seed=1)


def _learns(entry: PolicyEntry, example: tuple[str, Any, Trajectory], reward: float) -> bool:
    """Whether a policy fits an environment, and learns from a reward."""
    _, env, trajectory = example
    try:
        policy = _make_policy(entry, env)
        policy(trajectory._replace(reward=np.full_like(trajectory.reward, reward)))
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _make_policy(entry: PolicyEntry, env: Any) -> Any:
    required = [name for name, p in entry.parameters().items() if p.default is p.empty]
    sizes = entry.make.arguments_for(env)
    for values in itertools.product(NEEDED, repeat=len(required)):
        given = dict(zip(required, values, strict=True))
        try:
            return entry.make(**entry.fixed, **given, **sizes, seed=1)
        except (TypeError, ValueError) as error:
            refused = error
    raise refused


def _has_slates(env: Any) -> bool:
    return isinstance(env.action_spec(), SlateSpec)


def _knows_means(env: Any) -> bool:
    try:
        env.optimal_reward()
    except NotImplementedError:
        return False
    return True


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _context(entry: EnvironmentEntry, env: Any) -> str:
    """Returns what observations tell: of the row, and of the actions."""
    if not entry.has_context:
        return "none"
    return "users and items" if isinstance(env.observation_spec(), dict) else "users"


def _table(heads: Iterable[str], widths: str, name: str, rows: list[list[str]]) -> str:
    """Returns a list table, whose cells are blocks of Markdown."""
    lines = ["````{list-table}", ":header-rows: 1", f":widths: {widths}", f":class: {name}", ""]
    for row in [list(heads), *rows]:
        for column, cell in enumerate(row):
            mark = "* - " if column == 0 else "  - "
            lines.append(mark + textwrap.indent(cell, "    ").strip())
    return "\n".join([*lines, "````"])
