"""What an action is, is one object; a kind of one's own is one class."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

import bandit_envs
from bandit_envs import (
    ArraySpec,
    AverageRewardMetric,
    BoundedArraySpec,
    CascadeBandit,
    EpsilonGreedyPolicy,
    KArmedTestbed,
    RandomPolicy,
    RegretMetric,
    StepDriver,
)
from bandit_envs.base.actions import (
    ActionKind,
    IndexedAction,
    NumberAction,
    SingleAction,
)
from bandit_envs.base.bandit_py_environment import BanditPyEnvironment
from bandit_envs.base.kind_of_actions import kind_of_actions
from bandit_envs.base.slates import SlateAction
from bandit_envs.environments import ContinuousBandit
from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog, LogRecorder, write_log
from bandit_envs.logged.joining import concatenate
from bandit_envs.logged.log_checks import require_numbered_actions
from bandit_envs.logged.summary import LogSummary
from bandit_envs.metrics.bandits import OptimalActionMetric
from bandit_envs.policies import (
    CascadeUCBPolicy,
    Policy,
    RandomNumberPolicy,
    RandomSlatePolicy,
)
from bandit_envs.specs import SlateSpec
from bandit_envs.testing import EnvironmentContract, PolicyContract
from bandit_envs.wrappers import AffineReward, RandomActionMask

B = 4
K = 5


class Pairs(ActionKind):
    """Two different integers from 0 to K - 1, in any order: [B, 2]."""

    def __init__(self, count):
        super().__init__(BoundedArraySpec((2,), np.int32, 0, [count - 1, count - 1]))
        self.count = count

    def check(self, action):
        pairs = super().check(action)
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(f"action is {pairs.tolist()}; expected pairs of different integers")
        return pairs

    def draw(self, rng, available=None):
        keys = rng.random((self.batch_size, self.count))
        return keys.argsort(axis=1)[:, :2].astype(np.int32)


class PairBandit(BanditPyEnvironment):
    """Pays the sum of the values of both, with noise."""

    def __init__(self, batch_size=B, **options):
        super().__init__(action_spec=Pairs(K), batch_size=batch_size, **options)

    def _initial_state(self, rng):
        return rng.normal(size=(self.batch_size, K))

    def _expected_reward(self, state, action):
        return np.take_along_axis(state, action, axis=1).sum(axis=1)

    def _optimal_action(self, state):
        return state.argsort(axis=1)[:, -2:]

    def _draw_rewards(self, rng, state, action):
        return self._expected_reward(state, action) + rng.normal(size=self.batch_size)


class PairPolicy(Policy):
    """Chooses a random pair in one of two steps, and else the pair that paid most."""

    @classmethod
    def arguments_for(cls, env):
        return {"action_spec": env.action_kind, "batch_size": env.batch_size}

    def _initial(self):
        best = np.tile([0, 1], (self.batch_size, 1))
        return {"best": best, "most": np.full(self.batch_size, -np.inf)}

    def _learn(self, learned, trajectory):
        is_better = trajectory.reward > learned["most"]
        learned["best"][is_better] = trajectory.action[is_better]
        learned["most"][is_better] = trajectory.reward[is_better]
        return learned

    def _select(self, rng, learned, time_step):
        explores = rng.random((self.batch_size, 1)) < 0.5
        return np.where(explores, self.action_kind.draw(rng), learned["best"])

    def _probability_of(self, learned, time_step, action):
        is_best = (action == learned["best"]).all(axis=1)
        return 0.5 / (K * (K - 1)) + 0.5 * is_best


class FixedPair(PairPolicy):
    """Chooses one pair; it does not say how probable that is."""

    pair = (2, 3)

    def _select(self, rng, learned, time_step):
        return np.tile(self.pair, (self.batch_size, 1))


class TestPairBandit(EnvironmentContract):
    def make_environment(self, seed):
        return PairBandit(seed=seed)


class TestWrappedPairBandit(EnvironmentContract):
    def make_environment(self, seed):
        return AffineReward(PairBandit(seed=seed), 2.0, 1.0)


class TestPairPolicy(PolicyContract):
    def make_environment(self, batch_size, seed):
        return PairBandit(batch_size, seed=seed)

    def make_policy(self, env, seed):
        return PairPolicy(**PairPolicy.arguments_for(env), seed=seed)


def record_pairs(num_steps=6):
    env = PairBandit(seed=0)
    policy = PairPolicy(**PairPolicy.arguments_for(env), seed=1)
    recorder = LogRecorder(action_kind=env.action_kind)
    observers = [policy, recorder]
    StepDriver(env, policy, observers, num_steps, emit_log_probability=True).run()
    return recorder.log()


def test_a_kind_of_ones_own_runs_with_metrics_of_reward_and_of_regret():
    env = AffineReward(PairBandit(seed=0), 1.0)
    assert isinstance(env.action_kind, Pairs)
    policy = PairPolicy(**PairPolicy.arguments_for(env), seed=1)
    reward = AverageRewardMetric()
    metrics = [reward, RegretMetric(env), OptimalActionMetric(env)]
    StepDriver(env, policy, [policy, *metrics], num_steps=300).run()
    per_step = reward.result().per_step.mean
    assert per_step[200:].mean() > per_step[:20].mean()
    assert (metrics[1].result().per_step.mean >= 0.0).all()


def test_a_kind_of_ones_own_is_checked_by_environments_and_policies():
    env = PairBandit(seed=0)
    env.reset()
    for bad in ([[1, 1]] * B, [[0, K]] * B, [[0, 1]], [0] * B):
        with pytest.raises(ValueError, match="action"):
            env.step(bad)
    with pytest.raises(NotImplementedError, match="PairBandit are not integers"):
        _ = env.num_actions
    policy = PairPolicy(**PairPolicy.arguments_for(env), seed=1)
    time_step = env.reset()
    with pytest.raises(ValueError, match="pairs of different integers"):
        policy.probability_of(time_step, [[2, 2]] * B)
    with pytest.raises(ValueError, match="cannot have more than 0 actions: it chooses Pairs"):
        policy.with_actions(1)
    assert policy.replicate(7).action_kind.batch_size == 7


def test_a_class_that_chooses_otherwise_does_not_inherit_what_is_told_of_choices():
    env = PairBandit(seed=0)
    fixed = FixedPair(**FixedPair.arguments_for(env))
    assert PairPolicy.knows_probabilities
    assert not fixed.knows_probabilities
    with pytest.raises(NotImplementedError, match="FixedPair does not know"):
        fixed.info_of(env.reset(), [[2, 3]] * B)
    with pytest.raises(NotImplementedError, match="does not know probabilities"):
        StepDriver(env, fixed, emit_log_probability=True)

    class BestOfNothing(RandomSlatePolicy):
        def _scores(self, learned, time_step):
            return np.tile(np.arange(10.0), (self.batch_size, 1))

    assert RandomSlatePolicy.knows_probabilities
    assert not BestOfNothing.knows_probabilities


def test_a_table_of_single_actions_tells_nothing_of_slates():
    class Uniform(Policy):
        def _select(self, rng, learned, time_step):
            return self.action_kind.draw(rng)

        def _probabilities(self, learned, time_step):
            return np.full((self.batch_size, self.num_actions), 1.0 / self.num_actions)

    assert Uniform(num_actions=K).knows_probabilities
    slates = Uniform(action_spec=SlateSpec.of(2, K))
    assert not slates.knows_probabilities
    time_step = CascadeBandit().reset()
    with pytest.raises(NotImplementedError, match=r"have no table of probabilities\Z"):
        slates.probabilities(time_step)


def test_a_log_in_memory_holds_actions_of_ones_own_kind():
    log = record_pairs()
    assert log.action.shape == (6 * B, 2)
    assert isinstance(log.action_kind, Pairs)
    assert not log.action.flags.writeable
    assert repr(log).startswith("BanditLog(24 rows, Pairs, mean reward")
    assert set(np.round(log.propensity, 3)) <= {0.025, 0.525}
    part = log[3:5]
    np.testing.assert_array_equal(part.action, log.action[3:5])
    assert len(log[:0]) == 0
    assert concatenate([log[:3], log[3:]]) == log
    assert LogSummary.from_batches([log[:9], log[9:]]).identify() == (
        LogSummary.from_batches([log]).identify()
    )
    with pytest.raises(ValueError, match="pairs of different integers"):
        BanditLog([[1.0]], [[1, 1]], [0.0], [0.5], action_kind=Pairs(K))
    with pytest.raises(ValueError, match=r"propensity is 1\.5 in row 0; .* at most 1"):
        BanditLog([[1.0]], [[1, 2]], [0.0], [1.5], action_kind=Pairs(K))


def test_what_needs_other_actions_refuses_a_log_of_ones_own_kind(tmp_path):
    log = record_pairs()
    with pytest.raises(ValueError, match="the actions of log are Pairs; expected integers from 0"):
        require_numbered_actions(log)
    with pytest.raises(ValueError, match="the actions of log are Pairs"):
        evaluate(log, RandomPolicy(K))
    with pytest.raises(ValueError, match="the actions of log are Pairs"):
        write_log(tmp_path / "log.npz", log)
    with pytest.raises(ValueError, match="actions are Pairs; expected None"):
        LogRecorder(folder=tmp_path, action_kind=Pairs(K))
    with pytest.raises(ValueError, match="slates"):
        LogRecorder(action_kind=CascadeBandit().action_kind)
    with pytest.raises(ValueError, match="num_actions is 3; expected 0, as action_kind"):
        LogRecorder(3, action_kind=Pairs(K))


DOSE = {
    "drug": BoundedArraySpec((), np.int32, 0, 2),
    "dose": BoundedArraySpec((), np.float64, 0.0, 1.0),
}


class DoseBandit(BanditPyEnvironment):
    """Pays for the right dose of the right drug."""

    def __init__(self):
        super().__init__(action_spec=DOSE, batch_size=B, seed=0)

    def _initial_state(self, rng):
        return None

    def _draw_rewards(self, rng, state, action):
        return (action["drug"] == 1) * (1.0 - np.abs(action["dose"] - 0.5))


class DosePolicy(Policy):
    """Chooses a drug and a dose uniformly at random."""

    def _select(self, rng, learned, time_step):
        return self.action_kind.draw(rng)

    def _probability_of(self, learned, time_step, action):
        return np.full(self.batch_size, 1.0 / 3.0)


def test_a_nest_of_specs_needs_no_class_at_all():
    env = DoseBandit()
    policy = DosePolicy(action_spec=env.action_spec(), batch_size=B, seed=1)
    reward = AverageRewardMetric()
    recorder = LogRecorder(action_kind=env.action_kind)
    StepDriver(env, policy, [reward, recorder], 50, emit_log_probability=True).run()
    assert 0.1 < reward.result().mean.mean < 0.5
    log = recorder.log()
    assert len(log) == 50 * B
    assert log.action["drug"].shape == log.action["dose"].shape == (50 * B,)
    assert log[:3].action["dose"].shape == (3,)
    bad = {"drug": [3] * B, "dose": [0.0] * B}
    with pytest.raises(ValueError, match="action"):
        env.step(bad)
    with pytest.raises(NotImplementedError, match="real actions"):
        OptimalActionMetric(env)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (BoundedArraySpec((), np.int32, 0, 3), SingleAction),
        (BoundedArraySpec((), np.int64, 0, 3), SingleAction),
        (BoundedArraySpec((), np.int32, 1, 3), ActionKind),
        (BoundedArraySpec((), np.int64, 0), ActionKind),
        (ArraySpec((), np.int32), ActionKind),
        (BoundedArraySpec((2,), np.int32, 0, 3), IndexedAction),
        (BoundedArraySpec((2,), np.int32, 0, [3, 4]), ActionKind),
        (SlateSpec.of(2, 4), SlateAction),
        (BoundedArraySpec((), np.float32, 0.0, 3.0), NumberAction),
        (ArraySpec((), np.float64), NumberAction),
        (BoundedArraySpec((2,), np.float32, 0.0, 3.0), ActionKind),
        (DOSE, ActionKind),
    ],
)
def test_specs_say_what_an_action_is(spec, kind):
    found = kind_of_actions(spec, 3)
    assert type(found) is kind
    assert found.num_actions == (4 if isinstance(found, IndexedAction) else 0)
    drawn = found.draw(np.random.default_rng(0))
    found.check(drawn)
    assert type(kind_of_actions(found, 5)) is kind


def test_slates_of_items_that_do_not_count_from_0_are_refused():
    for bad in (SlateSpec((2,), np.int32, 1, 4), SlateSpec((2, 2), np.int32, 0, 4)):
        with pytest.raises(ValueError, match="expected slots"):
            kind_of_actions(bad)


def test_policies_of_another_kind_than_the_environment_are_refused_before_a_step():
    pairs = PairBandit(seed=0)
    slates = CascadeBandit(batch_size=B, seed=0)
    numbers = ContinuousBandit(batch_size=B, seed=0)
    with pytest.raises(ValueError, match="chooses one of 5 actions; expected Pairs, as PairBandit"):
        StepDriver(pairs, RandomPolicy(K, batch_size=B))
    with pytest.raises(ValueError, match="one of 10 actions; expected slates of 4 of 10 items"):
        StepDriver(slates, RandomPolicy(10, batch_size=B))
    with pytest.raises(ValueError, match="expected an environment of slates"):
        RandomSlatePolicy.arguments_for(pairs)
    with pytest.raises(ValueError, match="one floating-point number"):
        RandomNumberPolicy(**RandomNumberPolicy.arguments_for(slates))
    with pytest.raises(TypeError, match="num_actions or action_spec, and not both"):
        RandomPolicy(3, action_spec=numbers.action_spec())


SHOWN = {
    "slates": lambda: (CascadeBandit(batch_size=B, seed=0), RandomSlatePolicy),
    "numbers": lambda: (ContinuousBandit(batch_size=B, seed=0), RandomNumberPolicy),
    "unknown slates": lambda: (CascadeBandit(batch_size=B, seed=0), CascadeUCBPolicy),
    "single actions": lambda: (KArmedTestbed(K, batch_size=B, seed=0), RandomPolicy),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_an_error_advises_works(name):
    env, policy_class = SHOWN[name]()
    policy = policy_class(**policy_class.arguments_for(env), seed=1)
    time_step = env.reset()
    action = policy.action(time_step)
    questions = {
        "probabilities": lambda: policy.probabilities(time_step),
        "estimated_probabilities": lambda: policy.estimated_probabilities(
            time_step, 3, np.random.default_rng(0)
        ),
        "info_of": lambda: policy.info_of(time_step, action),
        "probability_of": lambda: policy.probability_of(time_step, action),
    }
    answered = set()
    advised = set()
    for question, ask in questions.items():
        try:
            ask()
            answered.add(question)
        except NotImplementedError as error:
            advised |= set(re.findall(r"(\w+)\(\)", str(error)))
    assert advised <= answered
    assert ({"info_of", "probability_of"} <= answered) is policy.knows_probabilities


def test_nothing_but_the_kind_looks_at_specs_to_find_out_what_an_action_is():
    root = Path(bandit_envs.__file__).parent
    asks = re.compile(r"isinstance\([^\n]*SlateSpec|action_spec\(\)\.(dtype|shape|maximum)")
    found = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if asks.search(path.read_text(encoding="utf-8"))
    ]
    known = {"base/kind_of_actions.py", "specs.py", "adapters/tf_agents/baselines.py"}
    assert set(found) <= known


class Shifted(BanditPyEnvironment):
    """Pays the action, an integer that does not count from 0."""

    def __init__(self, low, high, **options):
        super().__init__(action_spec=BoundedArraySpec((), np.int32, low, high), **options)

    def _initial_state(self, rng):
        return ()

    def _draw_rewards(self, rng, state, action):
        return action.astype(np.float32)


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (1, 3)])
def test_actions_that_do_not_count_from_0_are_refused_with_what_to_add(low, high):
    env = Shifted(low, high, seed=0)
    assert env.reset() is not None
    assert env.step([low]).reward == low
    remedy = f"count actions from 0, and let the environment add {low} to them"
    found = f"integers from {low} to {high}, as Shifted takes; {remedy}"
    for count in range(1, 5):
        with pytest.raises(ValueError, match=found):
            StepDriver(env, RandomPolicy(num_actions=count))
    with pytest.raises(TypeError, match=remedy):
        RandomActionMask(env, 0.5)
    for ask in (RandomPolicy.arguments_for, lambda env: env.num_actions):
        with pytest.raises(NotImplementedError, match=remedy):
            ask(env)


def test_a_policy_of_actions_that_do_not_count_from_0_is_refused_where_others_count():
    policy = First(action_spec=Shifted(1, 3).action_spec())
    with pytest.raises(ValueError, match="policy chooses integers from 1 to 3; expected one of 3"):
        StepDriver(KArmedTestbed(k=3), policy)


@pytest.mark.parametrize("make", [RandomPolicy, functools.partial(EpsilonGreedyPolicy, 0.1)])
def test_a_policy_with_a_table_of_actions_is_refused_where_it_is_made_if_they_have_no_numbers(make):
    spec = Shifted(1, 3).action_spec()
    with pytest.raises(ValueError, match=r"action_spec is .*; expected integers from 0, .* add 1"):
        make(action_spec=spec)
    with pytest.raises(ValueError, match=r"action_spec is .*; expected integers from 0, as"):
        make(action_spec=ArraySpec((), np.int32))


class First(Policy):
    """Chooses the least action of its spec."""

    def _select(self, rng, learned, time_step):
        return np.full(self.batch_size, self.action_kind.spec.minimum)


def test_a_policy_of_ones_own_may_choose_integers_that_do_not_count_from_0():
    env = Shifted(2, 3, seed=0)
    policy = First(action_spec=env.action_spec())
    assert StepDriver(env, policy, num_steps=3).run().reward == 2


def test_policies_and_environments_of_different_integers_do_not_fit():
    policy = First(action_spec=Shifted(-1, 1).action_spec())
    with pytest.raises(ValueError, match="policy chooses integers from -1 to 1; expected integers"):
        StepDriver(Shifted(1, 3), policy)
