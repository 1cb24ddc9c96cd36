"""What a study is: environments, policies, what is measured, and how users write it."""

from bandit_envs.studies.definition.study import Study

__all__ = [
    "Study",
]
