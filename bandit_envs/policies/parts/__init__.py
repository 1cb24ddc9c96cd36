"""Models and rules by name, as users write them and as files hold them.

Experimental: these names may change in any minor version.
"""

from bandit_envs.policies.parts.registry import MODELS, RULES, make_model, make_rule

__all__ = [
    "MODELS",
    "RULES",
    "make_model",
    "make_rule",
]
