"""Every policy of the registry passes the contract; elsewhere than by default, slowly."""

import pytest

from bandit_envs import Policy
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.policies import BestArmPolicy, ContinuousPolicy, KnapsackPolicy
from bandit_envs.policies.registry import POLICIES
from bandit_envs.specs import SlateSpec, is_continuous, value_range
from bandit_envs.testing import BestArmContract, PolicyContract
from bandit_envs.wrappers import RandomActionMask
from tests.contracts import failures, one_test
from tests.policies.examples import is_class_of, make_environment, make_policy

pytestmark = pytest.mark.filterwarnings("ignore:budget is .*, too tight")


class FromRegistry:
    """Makes a policy of the registry, whose id a subclass names."""

    num_steps = 10

    def make_environment(self, batch_size, seed):
        return make_environment(self.name, batch_size, seed)

    def make_policy(self, env, seed):
        return make_policy(self.name, env, seed)


class WarmContract(PolicyContract):
    """Of a policy that knows a log from the start."""

    def test_reset_forgets_and_goes_on_drawing(self):
        policy = self.make_policy(self.make_environment(self.num_rows, 0), 0)
        assert not policy.is_as_made
        policy.reset()
        assert policy.is_as_made


def contract_of(name):
    """Returns the contract that a policy of the registry must pass."""
    if name == "warm_start":
        return WarmContract
    return BestArmContract if is_class_of(name, BestArmPolicy) else PolicyContract


for policy in POLICIES:
    members = {"name": policy, "__module__": __name__}
    if policy.startswith("neural_"):  # of single precision
        members["rounding"] = 1e-4
    bases = (FromRegistry, contract_of(policy))
    globals()[f"Test {policy}"] = one_test(type(f"Test {policy}", bases, members))


PAIRS = {
    "ridge": "elimination_reg_cb",
    "logistic": "thompson_sampling",
    "hybrid_ridge": "upper_bound",
    "fourier": "optimistic_reg_cb",
}
"""The rules with which models are tested that have no ids together."""


class FromPair(PolicyContract):
    """Makes a policy of a model, which a subclass names."""

    num_steps = 10

    def make_environment(self, batch_size, seed):
        if self.name != "hybrid_ridge":
            return make_environment("contextual", batch_size, seed)
        sizes = {"global_dim": 2, "arm_dim": 3, "max_num_actions": 4}
        return ENVIRONMENTS["per_arm"].make(**sizes, batch_size=batch_size, seed=seed)

    def make_policy(self, env, seed):
        arguments = {"model": self.name, "rule": PAIRS[self.name]}
        return POLICIES["contextual"].make_for(env, arguments, seed)


for model, rule in PAIRS.items():
    name = f"Test {model} with {rule}"
    members = {"name": model, "__module__": __name__}
    globals()[name] = one_test(type(name, (FromPair,), members))


FEW = {"num_rows": 2, "offset": 1000}
VARIANTS = {
    "2 rows, another seed": FEW,
    "2 rows, another seed, masks": {**FEW, "share": 0.5},
    "9 rows": {"num_rows": 9, "num_choices": 4500, "num_steps": 20},
}


def has_foreign_model(name):
    """Returns whether a policy has a model of another library, which takes its time to learn."""
    return name.startswith(("neural_", "sklearn_"))


def variants_of(name):
    """Returns the variants of a policy; slates and real numbers have no masks.

    Models of other libraries have tests of other rows and seeds of their own.
    """
    takes_masks = not POLICIES[name].slates and not is_class_of(name, ContinuousPolicy)
    few = "2 rows, another seed, masks" if takes_masks else "2 rows, another seed"
    return [few] if has_foreign_model(name) else [few, "9 rows"]


class Variant(FromRegistry):
    offset = 0
    share = None

    def make_environment(self, batch_size, seed):
        env = super().make_environment(batch_size, seed + self.offset)
        return env if self.share is None else RandomActionMask(env, self.share)

    def make_policy(self, env, seed):
        return super().make_policy(env, seed + self.offset)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variant"),
    [(name, variant) for name in POLICIES for variant in variants_of(name)],
)
def test_the_contract_holds_with_other_rows_seeds_and_masks(name, variant):
    members = {"name": name, **VARIANTS[variant]}
    contract = type(f"{name}, {variant}", (Variant, contract_of(name)), members)
    assert failures(contract) == {}


def fits(name, env):
    """Returns whether a policy can act in an environment and learn from its rewards."""
    entry = POLICIES[name]
    if entry.slates is not isinstance(env.action_spec(), SlateSpec):
        return False
    if name == "warm_start":  # its log is of another problem
        return False
    if is_class_of(name, ContinuousPolicy) is not is_continuous(env.action_spec()):
        return False
    spec = env.observation_spec()
    has_items = isinstance(spec, dict) and "per_arm" in spec
    if entry.context == "items" and not has_items:
        return False
    if env.reward_spec().shape != env.action_spec().shape or is_class_of(name, KnapsackPolicy):
        return False
    reward_range = make_policy(name, env).reward_range
    low, high = reward_range
    lowest, highest = value_range(env.reward_spec())
    return reward_range == Policy.reward_range or low <= lowest <= highest <= high


SMALLER = {"classification": {"data": "wine"}}
"""Arguments with which an environment is made in less time, by its id."""


def one_of_each_kind(names, turn):
    """Returns one of the policies that read and act alike; other turns return others."""
    kinds = {}
    for name in names:
        kind = (POLICIES[name].context, contract_of(name))
        kinds.setdefault(kind, []).append(name)
    return [alike[turn % len(alike)] for alike in kinds.values()]


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_contract_holds_in_every_environment_for_a_policy_of_each_kind_that_fits(environment):
    options = SMALLER.get(environment, {})
    try:
        env = ENVIRONMENTS[environment].make(batch_size=2, seed=0, **options)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    fitting = [name for name in POLICIES if not has_foreign_model(name) and fits(name, env)]
    found = {}
    for name in one_of_each_kind(fitting, turn=list(ENVIRONMENTS).index(environment)):

        class Elsewhere(FromRegistry, contract_of(name)):
            num_steps = 8
            num_choices = 300

            def make_environment(self, batch_size, seed):
                make = ENVIRONMENTS[environment].make
                return make(batch_size=batch_size, seed=seed, horizon=7, **options)

        Elsewhere.name = name
        found[name] = failures(Elsewhere)
    assert found
    assert not any(found.values()), found
