"""The part of the contract on expected rewards, for bandits that know theirs."""

import contextlib
import pickle
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Array
from bandit_envs.base.bandit_py_environment import is_bandit
from bandit_envs.base.hook_results import check_run_optimum, state_after
from bandit_envs.nests import Nest, flatten
from bandit_envs.specs import add_outer_dims_nest, check_arrays_nest
from bandit_envs.testing.comparison import assert_identical, require
from bandit_envs.testing.drawn_rewards import draw_rewards
from bandit_envs.testing.rollout import ContractPart, Rollout, availability, require_refusal

STANDARD_ERRORS = 6.0
MIN_REWARDS = 100
"""The smallest group of rewards whose mean is tested: of fewer, the spread is uncertain."""


class Followed(NamedTuple):
    """What follows an action.

    Fields:
        state: the next state of the bandit, without its wrappers.
        pays: the means of the next step, and the step type: what wrappers may change.
        generator: where the generator is then, as bytes.
    """

    state: Any
    pays: list[Any]
    generator: bytes


class BanditRollout(NamedTuple):
    """A bandit and a rollout of it.

    Fields:
        environment: in the last state of the rollout.
        rollout: what was seen.
        indexed: whether each action has an expected reward.
    """

    environment: Any
    rollout: Rollout
    indexed: bool


class BanditContract(ContractPart):
    """What a bandit says about its rewards agrees with itself and with the rewards."""

    def test_optimal_actions_have_the_largest_expected_reward(self) -> None:
        known = self._bandit_rollout("optimal_action")
        if known is None:
            return
        environment, rollout, indexed = known
        spec = add_outer_dims_nest(environment.action_spec(), (environment.batch_size,))
        for index, view in enumerate(rollout.views):
            name = f"optimal_action() after {index} steps"
            most = view["optimal_reward"]
            if not check_arrays_nest(view["optimal_action"], spec):
                raise AssertionError(f"{name} is {view['optimal_action']}; expected {spec}")
            if indexed:
                means = view["expected_rewards"]
                shape = (len(most), environment.num_actions)
                require(means.shape == shape, f"expected_rewards() has shape {means.shape}")
                assert_identical(means.max(axis=1), most, f"the largest expected reward at {name}")
            environment.set_state(rollout.states[index])
            if not environment.step(view["optimal_action"]).is_first().all():
                reward = environment.get_info()["expected_reward"]
                if not np.allclose(reward, most, 1e-5, 1e-6):
                    raise AssertionError(f"{name} earns {reward} on average; expected {most}")

    def test_info_describes_the_last_step(self) -> None:
        known = self._bandit_rollout("optimal_action")
        if known is None:
            return
        _, rollout, indexed = known
        for index, action in enumerate(rollout.actions):
            name = f"get_info() after {index + 1} steps"
            expected = dict(rollout.views[index])
            info = rollout.views[index + 1]["get_info"]
            if rollout.time_steps[index + 1].is_first().all():
                if info is not None:
                    raise AssertionError(f"{name} is {info}; expected None after a reset")
                continue
            if indexed:
                rows = np.arange(len(action))
                expected["expected_reward"] = expected["expected_rewards"][rows, action]
            for key in ("expected_reward", "optimal_reward", "optimal_action"):
                if key in expected:
                    assert_identical(info.get(key), expected[key], f"{name}[{key!r}]")
            most = info["optimal_reward"]
            surplus = info["expected_reward"] - most
            if not (surplus <= 1e-5 * (1.0 + np.abs(most))).all():
                raise AssertionError(f"{name} is {info}")

    def test_rows_of_one_problem_have_one_mean_where_they_look_alike(self) -> None:
        """Compares the means after a reset: later, users may have states of their own.

        Rows that look alike after a reset, and differ in later contexts, may have other means
        only if nothing that tells them apart stays in the state for the whole episode.
        """
        known = self._bandit_rollout("expected_rewards")
        if known is None or known.environment.independent_rows:
            return
        environment, rollout, _ = known
        means = rollout.views[0]["expected_rewards"]
        for row in range(1, environment.batch_size):
            alike = [_are_equal(each.observation, 0, row) for each in rollout.time_steps]
            if not alike[0] or _are_equal(means, 0, row):
                continue
            if all(alike) or _keep_values_of_their_own(environment, rollout, row):
                found = f"rows 0 and {row} look alike after a reset"
                differ = f"the means of one are {means[0]}, those of the other {means[row]}"
                advice = "set `independent_rows = True` in the class if rows are problems"
                raise AssertionError(f"{found}, but {differ}; {advice}")

    def test_unavailable_actions_are_refused_and_have_no_expected_reward(self) -> None:
        known = self._bandit_rollout("current_time_step")
        if known is None:
            return
        environment, rollout, _ = known
        for index, action in enumerate(rollout.actions):
            environment.set_state(rollout.states[index])
            available = availability(environment)
            if available is None or environment.should_reset(environment.current_time_step()):
                continue
            means = rollout.views[index].get("expected_rewards", np.where(available, 0, -np.inf))
            agree = np.isneginf(means).reshape(*available.shape, -1) == ~available[..., np.newaxis]
            if not agree.all():
                found = f"available are {available}"
                raise AssertionError(f"{found}, but expected_rewards() is {means}")
            for row, unavailable in np.argwhere(~available)[:1]:
                bad = action.copy()
                bad[(row, 0)[: bad.ndim]] = unavailable
                require_refusal(environment, environment.step, bad, "an unavailable action")

    def test_actions_change_the_state_only_if_the_environment_says_so(self) -> None:
        """Takes two actions in the same state, with equal generators, and compares what follows.

        If the reward of one of them draws more numbers, the generators differ, and the states are
        not compared. So a bandit also draws its next states without rewards.
        """
        known = self._bandit_rollout("current_time_step")
        if known is None or known.environment.actions_change_state:
            return
        environment, rollout, _ = known
        rng = np.random.default_rng(2)
        for index, action in enumerate(rollout.actions):
            environment.set_state(rollout.states[index])
            other = self.draw_action(rng, environment)
            try:
                _require_one_next_state(environment, action, other)
                one = _follow(environment, action)
                environment.set_state(rollout.states[index])
                two = _follow(environment, other)
                if one.generator != two.generator:
                    continue
                assert_identical(two.state, one.state, "the next state")
                assert_identical(two.pays, one.pays, "what the next step pays")
            except AssertionError as error:
                steps = f"after {index} steps, action {other} leads elsewhere than {action}"
                problem = "actions_change_state is False, and should be True"
                raise AssertionError(f"{problem}: {steps}: {error}") from None

    def test_no_policy_earns_more_than_the_optimum_of_a_run(self) -> None:
        """Compares the optimum with what chance, the best means and single arms earn.

        It may be 6 standard errors above it. The best fixed arm is compared with single arms alone.
        """
        known = self._bandit_rollout("expected_rewards")
        if known is None or not known.indexed or self.num_rewards == 0:
            return
        environment = known.environment
        steps = min(self.num_steps, environment.horizon or self.num_steps)
        try:
            optimum = environment.optimum_of_run(steps)
        except NotImplementedError:
            return
        check_run_optimum(environment.name, optimum, steps)
        name = f"optimum_of_run({steps}).earned"
        shorter = environment.optimum_of_run(1).earned
        close = np.allclose(shorter, optimum.earned[:1])
        require(close, f"optimum_of_run(1).earned is {shorter}; expected {optimum.earned[:1]}")
        rules: list[int | None] = [*range(environment.num_actions)]
        if optimum.among != "best fixed arm":
            rules += [None, -1]
        for rule in rules:
            earned = self._earn(environment, rule, steps)
            error = earned.std(axis=0) / np.sqrt(len(earned))
            excess = earned.mean(axis=0) - optimum.earned
            bound = STANDARD_ERRORS * error + 1e-5 * (1.0 + np.abs(optimum.earned))
            if not (excess <= bound).all():
                found = f"{name} is {optimum.earned}, and a policy earns {excess} more"
                raise AssertionError(f"{found}; expected at most {bound}")

    def _earn(self, environment: Any, rule: int | None, steps: int) -> Array:
        """Returns what each run is expected to earn in its first steps: [n, T].

        Args:
            environment: is reset for each run.
            rule: as for `_follow`.
            steps: T.
        """
        rng = np.random.default_rng(0)
        rows = np.arange(environment.batch_size)
        runs: list[Array] = []
        while len(runs) * steps * len(rows) < self.num_rewards:
            environment.reset()
            means = []
            for _ in range(steps):
                table = environment.expected_rewards()
                table = table.reshape(*table.shape[:2], -1)[..., 0]
                action = self._follow(rng, rule=rule, environment=environment, table=table)
                means.append(table[rows, action].astype(float))
                environment.step(action)
            runs.append(np.cumsum(means, axis=0).T)
        return np.concatenate(runs)

    def _follow(
        self, rng: np.random.Generator, *, rule: int | None, environment: Any, table: Array
    ) -> Array:
        """Returns an action for each row; it is random where the rule's action is unavailable.

        Args:
            rng: of the random actions.
            rule: a fixed arm; -1 for the best mean, None for random actions.
            environment: to act in.
            table: its means, [B, K].
        """
        if rule is None:
            return np.asarray(self.draw_action(rng, environment))
        action = table.argmax(axis=1) if rule == -1 else np.full(len(table), rule)
        is_available = ~np.isneginf(table[np.arange(len(table)), action])
        if is_available.all():
            return action
        return np.where(is_available, action, self.draw_action(rng, environment))

    def test_the_mean_of_many_rewards_is_the_expected_reward(self) -> None:
        """Holds means of reward - expected reward to 6 standard errors.

        The means are over all rewards, and over those of each row and of each action; one more,
        weighted by the expected rewards, finds rewards that went to other rows. The expected reward
        of a slate is that of the sum over its slots. Late rewards are held where they arrive.
        """
        known = self._bandit_rollout("expected_rewards", "optimal_action")
        if known is None or self.num_rewards == 0:
            return
        environment, _, indexed = known
        draws = draw_rewards(environment, self.draw_action, self.num_rewards, indexed)
        if draws is None:
            return
        groups = {
            "all": draws.errors,
            "all, weighted by their means,": draws.errors * (draws.means - draws.means.mean()),
        }
        for row in range(environment.batch_size):
            groups[f"row {row}"] = draws.errors[draws.rows == row]
        for action in np.unique(draws.actions):
            groups[f"action {action}"] = draws.errors[draws.actions == action]
        largest = 1.0 + np.abs(draws.errors).max()
        rounding = 1e-6 * (1.0 + np.abs(draws.means).max()) * largest
        num_numbers = draws.errors.shape[1:]  # of a reward: none, or those of a vector
        for name, group in groups.items():
            values = group.reshape(-1, *num_numbers)
            if len(values) < MIN_REWARDS:
                continue
            # Rewards that are rarely other than 0 may all be 0 in a group: hence the spread of all.
            spread = np.maximum(values.std(axis=0), draws.errors.std())
            bound = STANDARD_ERRORS * spread / np.sqrt(len(values)) + rounding
            means = values.mean(axis=0)
            if not (np.abs(means) <= bound).all():
                found = f"{means} above the expected on average, over {len(values)}"
                raise AssertionError(f"rewards of {name} are {found}; expected at most {bound}")

    def _bandit_rollout(self, *known: str) -> BanditRollout | None:
        """Returns a bandit and its rollout.

        It is None if the environment is not a bandit, or knows none of the methods `known`.
        """
        environment = self.make_environment(1)
        rollout = self._rollout()
        environment.set_state(rollout.states[-1])
        view = rollout.views[0]
        indexed = "expected_rewards" in view and environment.action_kind.is_single
        if not is_bandit(environment) or view.keys().isdisjoint(known):
            return None
        return BanditRollout(environment, rollout, indexed)


def _are_equal(nest: Nest, row: int, other: int) -> bool:
    """Returns whether two rows of a nest of arrays [B, ...] are equal."""
    return all(np.array_equal(leaf[row], leaf[other]) for leaf in flatten(nest))


def _keep_values_of_their_own(environment: Any, rollout: Rollout, row: int) -> bool:
    """Returns whether a part of the state differs in rows 0 and `row`, and stays in each step."""
    pairs = []
    for index, saved in enumerate(rollout.states):
        if index > 0 and rollout.time_steps[index].is_first().all():
            break
        environment.set_state(saved)
        leaves = flatten(environment.unwrapped.bandit_state().state)
        arrays = [leaf for leaf in leaves if np.shape(leaf)[:1] == (environment.batch_size,)]
        pairs.append([leaf[[0, row]] for leaf in arrays])
    for kept in zip(*pairs):
        differs = not np.array_equal(kept[0][0], kept[0][1])
        if differs and len(kept) > 2 and all(np.array_equal(each, kept[0]) for each in kept):
            return True
    return False


def _require_one_next_state(environment: Any, action: Nest, other: Nest) -> None:
    """Requires equal next states after two actions, in an environment without wrappers."""
    is_reset = environment.should_reset(environment.current_time_step())
    if environment is not environment.unwrapped or is_reset:
        return
    state = environment.bandit_state().state
    one, two = [
        state_after(environment, np.random.default_rng(3), state, each) for each in (action, other)
    ]
    assert_identical(two, one, "the next state")


def _follow(environment: Any, action: Nest) -> Followed:
    """Takes an action, and returns what follows it."""
    time_step = environment.step(action)
    pays: list[Any] = [time_step.step_type]
    for what in ("table", "optimum"):
        with contextlib.suppress(NotImplementedError):
            pays.append(getattr(environment.means_now(), what))
    generator = pickle.dumps(environment.np_random.bit_generator.state)
    return Followed(environment.unwrapped.bandit_state().state, pays, generator)
