"""Logs of slates, and what another policy's slates would have earned."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bandit_envs.base.arrays import Floats, check_array
from bandit_envs.base.checks import shown
from bandit_envs.logged.estimates import Estimate
from bandit_envs.logged.log import check_each, column, features, joined
from bandit_envs.specs import Nest, map_structure
from bandit_envs.trajectories import SlateProbabilities, Trajectory


@dataclasses.dataclass(frozen=True, eq=False)
class SlateLog:
    """A table of n slates that were shown, with a reward for each of their S slots.

    Fields:
        observation: a nest of arrays [n, ...].
        action: [n, S], the items shown.
        reward: [n, S].
        propensity: the probabilities with which they were shown, above 0.

    Raises:
        TypeError, ValueError: a column is wrong; the message names it and its first bad row.

    >>> log = SlateLog((), [[0, 1], [2, 0]], [[1, 0], [0, 0]], SlateProbabilities([0.5, 0.1]))
    >>> len(log)
    2
    """

    observation: Nest
    action: NDArray[np.integer[Any]]
    reward: Floats
    propensity: SlateProbabilities

    def __post_init__(self) -> None:
        """Converts and checks the columns."""
        action = column("action", self.action, "iu", np.int64, 2)
        check_each("action", action, action >= 0, "at least 0")
        reward = check_array("reward has", column("reward", self.reward), action.shape)
        check_each("reward", reward, np.isfinite(reward), "finite numbers")
        propensity = _checked("propensity", self.propensity, action.shape)
        for kind, table in propensity._asdict().items():
            if table is not None:
                check_each(f"propensity.{kind}", table, table > 0.0, "above 0")
        observation = features(self.observation, len(action))
        columns = {"action": action, "reward": reward, "propensity": propensity}
        vars(self).update(columns, observation=observation)

    def __len__(self) -> int:
        return len(self.action)

    def __getitem__(self, rows: Any) -> SlateLog:
        """Returns the log of some rows: a slice, a mask [n] or an array of indices."""
        columns = self.observation, self.action, self.reward, self.propensity
        return SlateLog(*map_structure(lambda leaf: None if leaf is None else leaf[rows], columns))


class SlateRecorder:
    """An observer that records slates and their exact probabilities, as `RandomSlatePolicy` has.

    >>> from bandit_envs import CascadeBandit, RandomSlatePolicy, StepDriver
    >>> env = CascadeBandit(num_slots=2, batch_size=5, seed=0)
    >>> policy = RandomSlatePolicy(2, num_actions=10, batch_size=5, seed=1)
    >>> recorder = SlateRecorder()
    >>> _ = StepDriver(env, policy, [recorder], 4, emit_log_probability=True).run()
    >>> recorder.log().action.shape
    (20, 2)
    """

    def __init__(self) -> None:
        self._steps: list[Nest] = []

    def __call__(self, trajectory: Trajectory) -> None:
        """Records a step."""
        info = trajectory.policy_info
        if not isinstance(info, SlateProbabilities):
            expected = "SlateProbabilities, as a driver with emit_log_probability=True gives it"
            raise ValueError(f"policy_info is {shown(info)}; expected {expected}")
        self._steps.append((trajectory.observation, trajectory.action, trajectory.reward, info))

    def log(self) -> SlateLog:
        """Returns all that was recorded."""
        if not self._steps:
            raise ValueError("nothing was recorded yet")
        return SlateLog(*joined(self._steps))


class SlateEstimator:
    """Estimates the sum of a slate's rewards under a policy: mean(sum_s w_s r_s).

    Estimators differ in the probabilities whose ratio is the weight w_s of a slot.
    """

    _kind: ClassVar[str]

    def estimate(self, log: SlateLog, probabilities: SlateProbabilities) -> Estimate:
        """Estimates what a policy would have earned that shows slates with `probabilities`.

        Warns:
            UserWarning: the effective sample size is below 100, or the mean weight is not 1.
        """
        checked = _checked("probabilities", probabilities, log.action.shape)
        new, old = (getattr(each, self._kind) for each in (checked, log.propensity))
        if new is None or old is None:
            raise ValueError(f"{type(self).__name__} needs {self._kind} of both policies")
        weights = (new / old).reshape(len(log), -1)
        return Estimate.of((weights * log.reward).sum(axis=1)[np.newaxis], weights.T)


class SlateStandardIPS(SlateEstimator):
    """Weighs every slot by the ratio of the probabilities of the whole slate.

    It is unbiased whatever users do, but its variance grows fastest with the number of slots.

    Source: Li et al., Offline evaluation of ranking policies with click models (2018), there the
    list estimator.
    """

    _kind = "slate"


class SlateIndependentIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities that it shows its item.

    It is unbiased if a slot's reward depends on its own item only, as in `PositionBasedBandit`.

    Source: Li et al. (2018), there the item-position estimator.
    """

    _kind = "slot"


class RewardInteractionIPS(SlateEstimator):
    """Weighs a slot by the ratio of the probabilities of the slots down to it.

    It is unbiased if a slot's reward depends on its own item and on those above, as in
    `CascadeBandit`.

    Source: McInerney et al., Counterfactual evaluation of slate recommendations with sequential
    reward interactions (2020), without its normalisation.
    """

    _kind = "prefix"


def _checked(name: str, value: Any, shape: tuple[int, ...]) -> SlateProbabilities:
    """Returns the probabilities of slates [n, S], whose arrays are checked."""
    if not isinstance(value, SlateProbabilities):
        raise TypeError(f"{name} is {shown(value)}; expected SlateProbabilities")
    tables: dict[str, Floats | None] = value._asdict()
    for kind, given in tables.items():
        if given is not None:
            label, expected = f"{name}.{kind}", shape[:1] if kind == "slate" else shape
            table = check_array(f"{label} has", column(label, given, ndim=len(expected)), expected)
            check_each(label, table, (table >= 0.0) & (table <= 1.0), "0 to 1")
            tables[kind] = table
    return SlateProbabilities(**tables)
