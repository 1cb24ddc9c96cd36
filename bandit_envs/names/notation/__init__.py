"""What users write, such as `ucb:c=2`: read without running it, and written."""

from bandit_envs.names.notation.choices import parse_choice, parse_toml, without_quotes
from bandit_envs.names.notation.values import to_toml
from bandit_envs.syntax import (
    parse_expression,
    parse_literal,
    parse_module,
    undisturbed,
)

__all__ = [
    "parse_choice",
    "parse_expression",
    "parse_literal",
    "parse_module",
    "parse_toml",
    "to_toml",
    "undisturbed",
    "without_quotes",
]
