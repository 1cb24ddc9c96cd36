"""A trial finds users' classes whose runs do not repeat."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")

from bandit_envs.policies import Policy, UCBPolicy
from bandit_envs.studies import TasksFailedError, run
from bandit_envs.studies.definition.study import Study
from tests import command_line
from tests.studies.mine import Bernoulli


class GlobalEpsilon(UCBPolicy):
    """Explores at random in one of ten steps, by NumPy's global generator."""

    def _select(self, rng, learned, time_step):
        action = super()._select(rng, learned, time_step)
        explores = np.random.random(self.batch_size) < 0.1
        other = np.random.randint(self.num_actions, size=self.batch_size)
        return np.where(explores, other, action)


class Unseeded(Policy):
    """Chooses at random, by a generator without a seed."""

    def __init__(self, **options):
        super().__init__(**options)
        self._own = np.random.default_rng()

    def _select(self, rng, learned, time_step):
        return self._own.integers(self.num_actions, size=self.batch_size)


class Repeats(Policy):
    """Chooses at random, by the generator that it is given."""

    def _select(self, rng, learned, time_step):
        return rng.integers(self.num_actions, size=self.batch_size)


class GlobalRewards(Bernoulli):
    """Draws rewards by NumPy's global generator."""

    def _draw_rewards(self, rng, state, action):
        return np.random.normal(size=self.batch_size).astype(np.float32)


class GlobalContexts(Bernoulli):
    """Shows what NumPy's global generator draws."""

    independent_rows = True

    def _observe(self, state):
        return np.random.normal(size=(self.batch_size, 1)).astype(np.float32)


OWN = "tests.studies.test_repeats"
BERNOULLI = "bernoulli:means=[0.1,0.5,0.7]"


def make(policy="ucb:c=1", environment=BERNOULLI, **values):
    """A study of a policy in an environment, or of lists of them."""
    given = {"environment": environment, "policy": policy}
    named = {key: [each] if isinstance(each, str) else each for key, each in given.items()}
    return Study.from_dict({"title": "Repeats", "runs": 50, "steps": 30, **named, **values})


@pytest.mark.parametrize("policy", ["GlobalEpsilon:c=1", "Unseeded"])
def test_a_policy_that_draws_from_a_generator_of_its_own_is_refused(policy):
    found = rf"policy {OWN}:{policy} in environment bernoulli.* differ in the "
    expected = "action of step [1-8]; expected a policy that repeats itself: draws are from the rng"
    with pytest.raises(ValueError, match=found + expected):
        make(f"{OWN}:{policy}")


@pytest.mark.parametrize(("name", "part"), [("GlobalRewards", "reward"), ("GlobalContexts", "obs")])
def test_an_environment_that_draws_from_a_generator_of_its_own_is_refused(name, part):
    with pytest.raises(ValueError, match=f"differ in the {part}.* of step 1; expected an environ"):
        make(environment=f"{OWN}:{name}:means=[0.1,0.9]")


class Hidden(UCBPolicy):
    """Draws from NumPy's global generator, and does not use it in the first steps."""

    def _select(self, rng, learned, time_step):
        np.random.random()
        return super()._select(rng, learned, time_step)


class FailsLater(Policy):
    """Fails in its third step."""

    def _initial(self):
        return np.zeros(self.batch_size)

    def _select(self, rng, learned, time_step):
        if learned.max() > 1:
            raise IndexError("third")
        return np.zeros(self.batch_size, int)

    def _learn(self, learned, trajectory):
        return learned + 1


@pytest.mark.parametrize("runs", [1, 50])
def test_classes_that_draw_from_what_they_are_given_are_studied(runs):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    assert make(f"{OWN}:Repeats", runs=runs).runs == runs
    assert make("tests.studies.mine:Always", "tests.studies.mine:OwnNews").num_tasks == 1
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_a_pair_of_classes_is_tried_once_whatever_its_parameters(monkeypatch):
    tried = []
    monkeypatch.setattr(
        "bandit_envs.studies.definition.repeats._try", lambda *args: tried.append(args) or []
    )
    values = {"title": "Several", "runs": 2, "steps": 2, "environment": [BERNOULLI]}
    policies = [f"{OWN}:Repeats", f"{OWN}:GlobalEpsilon:c=1", f"{OWN}:GlobalEpsilon:c=2", "greedy"]
    Study.from_dict({**values, "policy": policies})
    assert len(tried) == 2 * 2
    make()
    assert len(tried) == 2 * 2


def test_draws_that_change_no_action_yet_are_found():
    with pytest.raises(ValueError, match=r"Hidden:c=1 in .* has drawn from np\.random; expected"):
        make(f"{OWN}:Hidden:c=1")


def test_policies_that_fail_or_differ_in_a_trial_do_not_stop_the_others():
    names = ["GlobalEpsilon:c=1", "GlobalEpsilon:c=2", "Hidden:c=1", "FailsLater"]
    failing = [f"{OWN}:{name}" for name in names]
    found = make(policy=[*failing, "greedy", f"{OWN}:Repeats"])
    assert [str(policy) for policy in found.policy] == ["greedy", f"{OWN}:Repeats"]
    assert found.failed.keys() == set(failing)
    assert "IndexError: third" in found.failed[failing[-1]]


def test_a_policy_that_has_its_place_is_refused():
    policies = [f"{OWN}:GlobalEpsilon:c=1", "greedy"]
    with pytest.raises(ValueError, match="differ in the action"):
        make(policy=policies, environment=[BERNOULLI, "testbed"], paired=True)


def test_a_study_goes_on_where_a_policy_that_is_left_out_differs_in_another_step(
    tmp_path,
):
    study = make(policy=[f"{OWN}:GlobalEpsilon:c=1", "greedy"])
    for text in ("step 1", "step 2"):
        told = dataclasses.replace(study, failed=dict.fromkeys(study.failed, text))
        with pytest.raises(TasksFailedError, match=text):
            run(told, tmp_path / "out", backend="threading")


def test_the_command_refuses_it_before_a_run(tmp_path):
    policy = f"{OWN}:GlobalEpsilon:c=1"
    outcome = command_line.run("run", "testbed", "--policy", policy, "--output", tmp_path / "out")
    assert outcome.code == 2
    assert "two runs with one seed differ" in outcome.err
    assert not (tmp_path / "out").exists()
