"""Policies get more actions, and keep what they have learned of those that they had."""

import dataclasses

import numpy as np
import pytest

from bandit_envs import ArraySpec, BernoulliPyEnvironment, ContextualPolicy, Policy, StepDriver
from bandit_envs.base.bandit_py_environment import available_actions
from bandit_envs.base.saving import load_state, save_state
from bandit_envs.environments import KnapsackBandit
from bandit_envs.environments.registry import ENVIRONMENTS
from bandit_envs.logged import BanditLog, learn_from_log, read_policy, write_policy
from bandit_envs.policies import BestArmPolicy, KnapsackPolicy, RowByRowPolicy, models, rules
from bandit_envs.policies.registry import POLICIES
from bandit_envs.policies.scikit_learn import FittedRegressions
from bandit_envs.tables.encoding import NumberColumn, TableEncoding
from bandit_envs.testing.comparison import assert_identical
from bandit_envs.trajectories import restart
from bandit_envs.wrappers.shared import with_entries
from tests.cases import for_each
from tests.policies import contextual_parts
from tests.policies.contextual_parts import (
    MODELS,
    RULES,
    K,
    Lessons,
    P,
    UsersModel,
    UsersRule,
    kinds_of_context,
    observe,
    teach,
)
from tests.policies.examples import clicks, is_class_of, make_environment, make_policy

pytestmark = pytest.mark.filterwarnings("ignore:budget is .*, too tight")

MORE = 2

REFUSED = {
    "uniform_allocation": "budget",
    "ucb_e": "budget",
    "successive_rejects": "budget",
    "sequential_halving": "budget",
    "g_optimal": "features",
    "random_number": "numbers",
    "gaussian": "numbers",
}
"""Policies that cannot have more actions, and a word of the reason."""

NAMES = [name for name in POLICIES if name not in REFUSED]

DEPENDS_ON_K = {
    *("exp3", "exp3_s", "tsallis_inf", "tsallis_inf_rv"),
    *("track_and_stop", "c_tracking", "decaying_epsilon_greedy", "moss"),
    *(name for name in POLICIES if "reg_cb" in name or name.startswith("sklearn")),
}
"""Policies that choose among known actions by how many there are."""

FIXED = {"constant", "first", "popular", "greedy", "beta_greedy"}
"""Policies that may never choose new actions."""

SCALED = {
    *("exp3", "exp3_s", "tsallis_inf", "tsallis_inf_rv", "gradient"),
    *("track_and_stop", "c_tracking"),
    *("greedy", "epsilon_greedy", "decaying_epsilon_greedy"),
    *("neural_ucb", "neural_thompson"),
}
"""Policies that know numbers which depend on each other, such as shares, or are in one row."""

BATCH_SIZES = [1, pytest.param(3, marks=pytest.mark.slow)]


def wide_environment(name, batch_size, seed=0):
    """Returns an environment like that of `make_environment`, with more actions that pay more."""
    entry = POLICIES[name]
    sizes = {"batch_size": batch_size, "seed": seed}
    if entry.slates and entry.context == "items":
        return ENVIRONMENTS["ranking"].make(num_items=8, num_slots=3, dim=2, **sizes)
    if entry.slates:
        chances = np.linspace(0.1, 0.5, make_environment(name).num_actions + MORE)
        return ENVIRONMENTS["cascade"].make(chances, num_slots=2, **sizes)
    if entry.context == "items":
        return ENVIRONMENTS["per_arm"].make(global_dim=2, arm_dim=3, max_num_actions=6, **sizes)
    if is_class_of(name, KnapsackPolicy):
        rewards = (0.2, 0.4, 0.6, 0.8, 0.9, 0.9)
        return KnapsackBandit(rewards, (0.1, 0.4, 0.5, 0.9, 0.1, 0.1), 15, 20, **sizes)
    if entry.context == "any":
        return ENVIRONMENTS["logistic_context"].make(num_actions=6, **sizes)
    return clicks(name, [0.2, 0.4, 0.6, 0.8, 0.9, 0.9], **sizes)


def taught(name, batch_size=3, num_steps=25):
    """Returns a policy that has learned, and the last time step."""
    env = make_environment(name, batch_size)
    policy = make_policy(name, env, seed=1)
    return policy, StepDriver(env, policy, [policy], num_steps=num_steps).run()


def masked(time_step, known, num_actions):
    """Returns a time step of more actions, of which only the first `known` are available."""
    observation = time_step.observation
    available = available_actions(observation, known)
    size = len(time_step.step_type)
    mask = np.zeros((size, num_actions), np.bool_)
    mask[:, :known] = True if available is None else available
    shown = with_entries(observation, mask=mask)
    if "per_arm" in shown:
        features = shown["per_arm"]
        more = np.ones((size, num_actions - known, *features.shape[2:]), features.dtype)
        shown["per_arm"] = np.concatenate((features[:, :known], more), axis=1)
    return time_step._replace(observation=shown)


def require_kept(found, known):
    """Requires arrays to be at the beginning of larger ones, and all else to be the same."""
    if isinstance(known, (list, tuple)):
        for old, new in zip(known, found):
            require_kept(new, old)
    elif isinstance(known, dict):
        for key, old in known.items():
            require_kept(found[key], old)
    elif isinstance(known, np.ndarray):
        np.testing.assert_array_equal(found[tuple(map(slice, known.shape))], known)
    elif isinstance(known, (int, float)):
        assert known == found


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_copy_with_more_actions_knows_what_the_policy_knows(name, batch_size):
    policy = make_policy(name, make_environment(name, batch_size))
    known = policy.num_actions
    if name != "warm_start":  # it knows a log
        wide = policy.with_actions(known + MORE)
        made = make_policy(name, wide_environment(name, batch_size))
        assert repr(wide) == repr(made)
        assert_identical(wide.get_state(), made.get_state(), "what it knows")

    policy, time_step = taught(name, batch_size)
    wide = policy.with_actions(known + MORE)
    learned = policy.get_state().content.learned
    if name not in SCALED:
        if is_class_of(name, BestArmPolicy):
            learned = learned._replace(stopped=np.zeros_like(learned.stopped))
        require_kept(wide.get_state().content.learned, learned)
    if name in DEPENDS_ON_K or POLICIES[name].slates or not policy.knows_probabilities:
        return
    asked = masked(time_step, known, known)
    found = wide.probabilities(masked(time_step, known, known + MORE))
    rows = ~policy.stopped if isinstance(policy, BestArmPolicy) else slice(None)
    assert not found[:, known:].any()
    np.testing.assert_allclose(found[rows, :known], policy.probabilities(asked)[rows], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", BATCH_SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_learning_goes_on_with_new_actions(name, batch_size, tmp_path):
    policy, _ = taught(name, batch_size)
    wide = policy.with_actions(policy.num_actions + MORE)
    env = wide_environment(name, batch_size)
    assert env.num_actions == wide.num_actions
    save_state(tmp_path / "state.npz", wide.get_state())
    recorded = []
    StepDriver(env, wide, [wide, recorded.append], num_steps=60).run()
    chosen = np.concatenate([trajectory.action.reshape(-1) for trajectory in recorded])
    assert name in FIXED or (chosen >= policy.num_actions).any()

    env = wide_environment(name, batch_size)
    again = make_wide(name, env)
    again.set_state(load_state(tmp_path / "state.npz"))
    StepDriver(env, again, [again], num_steps=60).run()
    assert_identical(again.get_state(), wide.get_state(), "the policy from the file")


def make_wide(name, env):
    """Returns a policy that is made with more actions than its log has, if it has one."""
    if name == "warm_start":
        return POLICIES["lin_ucb"].make_for(env, {"alpha": 0.5}, 0)
    return make_policy(name, env)


@pytest.mark.parametrize("name", REFUSED)
def test_a_policy_that_cannot_have_more_actions_says_why(name):
    policy, _ = taught(name, num_steps=2)
    with pytest.raises(ValueError, match=f"cannot have more than .* actions: .*{REFUSED[name]}"):
        policy.with_actions(policy.num_actions + 1)
    same = policy.with_actions(max(policy.num_actions, 0))
    assert_identical(same.get_state(), policy.get_state(), "a copy")


ALL_MODELS = {**MODELS, "users model": UsersModel()}
ALL_RULES = {**RULES, "users rule": UsersRule()}


PAIRS = {
    *((model, "mixed") for model in ALL_MODELS),
    *((model, rule) for model in ("ridge", "hybrid ridge") for rule in ALL_RULES),
}
"""Each model with a rule, and each rule with two models: both grow by themselves."""


@pytest.mark.parametrize(("model", "rule"), sorted(PAIRS))
@for_each("independent_rows", [False, True])
def test_models_and_rules_go_on_and_predict_known_actions_as_before(model, rule, independent_rows):
    parts = ALL_MODELS[model], ALL_RULES[rule]
    for spec in kinds_of_context(ALL_MODELS[model]).values():
        options = {"independent_rows": independent_rows}
        policy = contextual_parts.make_policy(*parts, spec, 3, **options)
        Lessons(policy, spec, steps=9)
        wide = policy.with_actions(K + MORE)
        require_kept(wide.get_state().content.learned, policy.get_state().content.learned)
        wide_spec = wide_spec_of(spec)
        rng = np.random.default_rng(2)
        observation = observe(rng, wide_spec, 3)
        before = means_of(policy, without_more(observation))
        accuracy = 1e-5 if "float32" in repr(policy.model) else 1e-12
        np.testing.assert_allclose(
            means_of(wide, observation)[:, :K], before, rtol=accuracy, atol=accuracy / 100
        )
        made = contextual_parts.make_policy(*parts, wide_spec, 3, num_actions=K + MORE, **options)
        made.set_state(wide.get_state())
        for step in range(3):
            observation = observe(rng, wide_spec, 3)
            teach(wide, observation, [K, K + 1, step % K], [0.0, 1.0, 0.5])
            teach(made, observation, [K, K + 1, step % K], [0.0, 1.0, 0.5])
            asked = restart(observation, 3)
            np.testing.assert_array_equal(wide.action(asked), made.action(asked))
        assert_identical(wide.get_state(), made.get_state(), "a policy made with more actions")


def means_of(policy, observation):
    """Returns what the model of a policy of three rows predicts."""
    return policy._seen(policy.get_state().content.learned, observation, 3).means()


def without_more(observation):
    """Returns an observation of more actions without these."""
    if not isinstance(observation, dict):
        return observation
    return {**observation, "per_arm": observation["per_arm"][:, :K]}


def wide_spec_of(spec):
    """Returns the spec of observations of more actions."""
    if not isinstance(spec, dict):
        return spec
    return {**spec, "per_arm": ArraySpec((K + MORE, P), np.float64)}


def test_rows_with_a_policy_each_get_more_actions():
    env = make_environment("lin_ucb", 3)
    narrow = RowByRowPolicy([make_policy("lin_ucb", make_environment("lin_ucb", 1)) for _ in "abc"])
    StepDriver(env, narrow, [narrow], num_steps=20).run()
    wide = narrow.with_actions(6)
    env = wide_environment("lin_ucb", 3)
    state = wide.get_state()
    alone = [make_policy("lin_ucb", wide_environment("lin_ucb", 1)) for _ in "abc"]
    made = RowByRowPolicy(alone)
    made.set_state(state)
    for each in (wide, made):
        StepDriver(wide_environment("lin_ucb", 3), each, [each], num_steps=20).run()
    assert_identical(wide.get_state(), made.get_state(), "policies made with more actions")
    assert narrow.num_actions == 4


def test_a_fixed_policy_leaves_new_actions_to_a_rule_that_explores():
    context = np.ones((1, 1))
    fixed = {
        "scores": models.LinearScores([[0.0, 1.0], [0.5, 0.0]]),
        "regressions": FittedRegressions([0.2, 0.4]),
    }
    for model in fixed.values():
        spec = ArraySpec((1,), np.float64)
        rule = rules.Mixed(rules.Greedy(), 0.3)
        policy = ContextualPolicy(model, rule, observation_spec=spec, num_actions=2)
        wide = policy.with_actions(3)
        found = wide.probabilities(restart(context, 1))
        assert found[0, 2] == pytest.approx(0.1)
        assert found[0, :2].argmax() == policy.probabilities(restart(context, 1)).argmax()
        made = ContextualPolicy(wide.model, rule, observation_spec=spec, num_actions=3)
        made.set_state(wide.get_state())
        assert wide.model.for_actions(3) == wide.model


def test_a_test_for_the_best_action_goes_on_with_more():
    env = BernoulliPyEnvironment([0.1, 0.9], batch_size=2, seed=0)
    policy = make_policy("track_and_stop", env, seed=1)
    StepDriver(env, policy, [policy], num_steps=2000).run_until_stopped()
    wide = policy.with_actions(3)
    assert policy.has_stopped
    assert not wide.stopped.any()
    env = BernoulliPyEnvironment([0.1, 0.6, 0.95], batch_size=2, seed=2)
    time_step = StepDriver(env, wide, [wide], num_steps=2000).run_until_stopped()
    assert wide.recommend(time_step).tolist() == [2, 2]


class Flat(Policy):
    """A user's, whose numbers stand in one row."""

    def _initial(self):
        return np.zeros((self.batch_size, 2 * self.num_actions))

    def _learn(self, learned, trajectory):
        return learned

    def _probabilities(self, learned, time_step):
        return np.full(self._table_shape, 1.0 / self.num_actions)


class Listed(Flat):
    """A user's, which knows a list with an item for each action."""

    def _initial(self):
        return {"items": [np.zeros(self.batch_size) for _ in range(self.num_actions)], "none": None}


def test_users_policies_grow_by_axes_and_lists_of_actions():
    observation = np.ones((2, 1))
    policy = Listed(num_actions=3, batch_size=2)
    teach(policy, observation, [0, 1], [0.0, 0.0])
    assert len(policy.with_actions(5).get_state().content.learned["items"]) == 5
    policy = Flat(num_actions=3, batch_size=2)
    teach(policy, observation, [0, 1], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"Flat cannot have more .* expected an axis of 3 actions"):
        policy.with_actions(5)


def test_names_of_actions_are_the_callers():
    log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], [0.5] * 4)
    spec = ArraySpec((1,), np.float64)
    policy = ContextualPolicy(models.Ridge(), rules.Greedy(), observation_spec=spec, num_actions=2)
    policy = learn_from_log(policy, log)
    policy.encoding = TableEncoding(("hats", "shoes"), (NumberColumn("age"),))
    wide = policy.with_actions(3)
    assert wide.encoding is policy.encoding
    with pytest.raises(ValueError, match="encoding has the names of 2 actions; expected 3"):
        write_policy("never.npz", wide)


def test_a_written_policy_of_more_actions_is_read_as_it_is(tmp_path):
    policy, _ = taught("lin_ucb")
    wide = policy.with_actions(6)
    write_policy(tmp_path / "policy.npz", wide)
    env = wide_environment("lin_ucb", 3)
    again = read_policy(tmp_path / "policy.npz").make(env.observation_spec(), 3)
    assert_identical(
        again.get_state().content.learned, wide.get_state().content.learned, "what it knows"
    )


@pytest.mark.parametrize("name", ["neural_ucb", "neural_thompson", "neural_linear"])
@pytest.mark.parametrize("optimizer", ["RMSprop", "Adam"])
def test_networks_predict_known_actions_as_before(name, optimizer):
    torch = pytest.importorskip("torch")
    env = make_environment(name, 3)
    made = make_policy(name, env)
    model = dataclasses.replace(made.model, optimizer=getattr(torch.optim, optimizer))
    spec = env.observation_spec()
    policy = ContextualPolicy(
        model, made.rule, observation_spec=spec, num_actions=4, batch_size=3, seed=0
    )
    time_step = StepDriver(env, policy, [policy], num_steps=60).run()
    wide = policy.with_actions(4 + MORE)
    bounds = []
    for each in (policy, wide):
        inputs = each._reader.read(time_step.observation, 3)
        bounds.append(each.model.interval(each.get_state().content.learned.model, inputs, 1.0))
    for before, after in zip(*bounds):
        np.testing.assert_allclose(after[:, :4], before, rtol=1e-5)
    env = wide_environment(name, 3)
    StepDriver(env, wide, [wide], num_steps=60).run()
