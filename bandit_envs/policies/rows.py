"""Which rows of an environment may share what a policy learns."""

from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.policies.policy import Policy


def pools_problems(env: PyEnvironment, policy: Policy) -> bool:
    """Returns whether a policy would learn one model from the rows of several problems."""
    shares_a_model = policy.can_learn and not policy.learns_by_row
    return shares_a_model and env.independent_rows and env.batch_size > 1


def check_problems(env: PyEnvironment, policy: Policy) -> None:
    """Raises ValueError if a policy would learn one model from the rows of several problems."""
    if not pools_problems(env, policy):
        return
    name = type(policy).__name__
    problem = (
        f"policy learns one model from all rows ({name}.learns_by_row is False), but each of the "
        f"{env.batch_size} rows of {env.name} is a problem of its own (independent_rows is True)"
    )
    raise ValueError(f"{problem}; expected a batch_size of 1 for each problem")
