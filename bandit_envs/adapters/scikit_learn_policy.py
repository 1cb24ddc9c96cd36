"""What the policies around estimators of scikit-learn share."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.adapters.scikit_learn_estimators import RewardEstimator, Rows
from bandit_envs.adapters.scikit_learn_fitting import Fitting, MemoryFitting, Models, OnlineFitting
from bandit_envs.adapters.scikit_learn_priors import BetaPrior, NormalPrior, Prior
from bandit_envs.arrays import Array, Floats, Mask
from bandit_envs.base.checks import check_integer, check_number, check_numbers, short_repr
from bandit_envs.datasets.tables import import_extra
from bandit_envs.nests import Nest
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.seeding import generator
from bandit_envs.trajectories import Trajectory

MAX_MEMORY = 2**31

OPTIMISM = 0.9
"""The level of the quantile of a prior that stands in the place of a prediction."""


class EstimatorOptions(PolicyOptions, total=False):
    """The keyword arguments of `EstimatorPolicy`, which subclasses pass on."""

    memory_size: int
    refit_after: float
    min_rewards: int
    prior: Sequence[float] | None
    observation_spec: Nest


class Predictions(NamedTuple):
    """What models predict of the rewards of actions.

    Fields:
        scores: [n, B, K], of each replica: log-odds of classifiers, rewards of regressors; 0 for
            actions whose models have seen too little.
        is_known: [K], whether the model of each action has seen enough.
    """

    scores: Floats
    is_known: Mask


class EstimatorPolicy(Policy):
    """A policy whose models of rewards are estimators of scikit-learn.

    Where the observation has the keys `global` and `per_arm`, one model predicts the reward of each
    action from both. Elsewhere each action has a model, which predicts from the context: the
    observation, or the entry `observation` of one with a mask. All rows share the models.

    A classifier takes rewards from 0 to 1 and predicts the probability of a reward of 1; a
    regressor takes any rewards. `RewardEstimator` says how.

    Until a model has seen `min_rewards` rewards, of a classifier successes and failures each, a
    posterior of the mean reward of its actions takes its place: `BetaPrior` for classifiers,
    `NormalPrior` for regressors. Rules that need one number take its quantile of level 0.9.

    A subclass is a rule of choice. It asks `_scores_of_first` for scores, which tell apart what
    rounds to a probability of 1, `_values` for mean rewards, or `_predictions` for all replicas.

    Args:
        estimator: a classifier or a regressor, with `fit` and `predict`; or its text, such as
            "LogisticRegression(C=0.1)" or "module:name", as `make_estimator` reads it. Each model
            is a copy. A `random_state` that is None becomes a generator, seeded from the policy's.
        memory_size: of how many of the last rows models are fitted anew; 0 to learn each row once,
            through `partial_fit`.
        refit_after: a model is fitted anew when its new rows are this share of those of its last
            fit, at least 0; 0 for each time that it has new rows.
        min_rewards: how many rewards a model must have seen, at least 1.
        prior: the two parameters of the Beta prior, above 0; None for 2 / log2(K) and 4.
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.
    """

    learns_by_row = False

    _num_replicas: int = 1

    _prior_successes: ClassVar[float] = 2.0
    """The first parameter of the Beta prior by default, times log2(K)."""

    def __init__(
        self,
        estimator: Any,
        *,
        memory_size: int = 10_000,
        refit_after: float = 0.1,
        min_rewards: int = 1,
        prior: Sequence[float] | None = None,
        observation_spec: Nest,
        **options: typing.Unpack[PolicyOptions],
    ) -> None:
        size = check_integer("memory_size", memory_size, 0, MAX_MEMORY)
        self._estimator = RewardEstimator(estimator, is_online=size == 0)
        if self._estimator.is_classifier:
            self.reward_range = (0.0, 1.0)
        num_actions = check_integer("num_actions", options["num_actions"], minimum=1)
        self._features = ActionFeatures(observation_spec, num_actions)
        self._min_rewards = check_integer("min_rewards", min_rewards, minimum=1)
        self._prior = self._prior_of(prior, num_actions)
        self._memory_size = size
        self._fitting = self._fitting_of(size, refit_after)
        rng = generator(options.get("seed"))
        self._learning_seed = int(rng.integers(2**63))
        super().__init__(num_actions=num_actions, batch_size=options.get("batch_size", 1), seed=rng)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _initial(self) -> Models:
        rng = np.random.default_rng(self._learning_seed)
        return self._fitting.initial(rng, self._features.num_outputs, self._features.dim)

    def _learn(self, learned: Any, trajectory: Trajectory) -> Any:
        self._learn_rows(learned, trajectory)
        return learned

    def _learn_rows(self, models: Models, trajectory: Trajectory) -> None:
        """Lets the models learn from the rows of a trajectory."""
        features, chosen = self._features.read_chosen(trajectory.observation, trajectory.action)
        rows = Rows(features, np.asarray(trajectory.reward, np.float64))
        with _trusting(models):
            self._fitting.learn(models, chosen, rows)

    def _predictions(self, models: Models, observation: Nest, size: int) -> Predictions:
        """Returns what the models predict for `size` rows."""
        features = self._features.read(observation, size).reshape(-1, self._features.dim)
        scores = np.zeros((self._num_replicas, size, self.num_actions))
        is_known = np.zeros(self.num_actions, np.bool_)
        is_ready = self._prior.has_seen(models.sums, self._min_rewards)
        is_ready &= models.is_fitted.all(axis=1)
        with _trusting(models):
            for model in np.flatnonzero(is_ready).tolist():
                columns = self._columns(model)
                is_known[columns] = True
                for number, table in enumerate(scores):
                    estimator = models.replica(model, number).estimator
                    predicted = self._estimator.predict(estimator, features)
                    table[:, columns] = predicted.reshape(size, -1)
        return Predictions(scores, is_known)

    def _scores_of_first(self, models: Models, observation: Nest, size: int) -> Floats:
        """Returns the scores that the first replica predicts, or else those of the prior.

        They are log-odds of classifiers, and rewards of regressors: [size, K].
        """
        predictions = self._predictions(models, observation, size)
        prior = self._prior_scores(self._prior.quantile(models.sums, OPTIMISM))
        return np.where(predictions.is_known, predictions.scores[0], prior)

    def _values(self, models: Models, observation: Nest, size: int) -> Floats:
        """Returns the mean rewards of which `_scores_of_first` returns the scores: [size, K]."""
        return self._estimator.means_of(self._scores_of_first(models, observation, size))

    def _prior_scores(self, of_models: Floats) -> Floats:
        """Returns mean rewards of models [..., M] as scores of actions [..., K]."""
        scores = self._estimator.scores_of(of_models)
        return np.broadcast_to(scores, (*scores.shape[:-1], self.num_actions))

    def _columns(self, model: int) -> slice:
        """Returns the actions whose rewards a model predicts."""
        return slice(None) if self._features.are_of_actions else slice(model, model + 1)

    def _prior_of(self, prior: Sequence[float] | None, num_actions: int) -> Prior:
        """Returns the prior; ValueError if its parameters are not two numbers above 0."""
        successes = self._prior_successes / max(math.log2(num_actions), 1.0)
        failures = 4.0
        if prior is not None:
            given = check_numbers("prior", prior, ndim=1).astype(np.float64)
            if given.shape != (2,) or not (given > 0.0).all():
                raise ValueError(f"prior is {short_repr(prior)}; expected two numbers above 0")
            successes, failures = given.tolist()
        is_classifier = self._estimator.is_classifier
        return BetaPrior(successes, failures) if is_classifier else NormalPrior()

    def _fitting_of(self, memory: int, refit_after: float) -> Fitting:
        """Returns the way to fit the models."""
        share = check_number("refit_after", refit_after, 0.0, 1e6)
        if memory == 0:
            return OnlineFitting(self._estimator, self._num_replicas)
        return MemoryFitting(
            self._estimator,
            self._num_replicas,
            size=memory,
            refit_after=share,
            prior=self._prior,
            min_rewards=self._min_rewards,
        )

    def _checked(self, action: Any, reward: Any) -> tuple[Array, Array]:
        indices, rewards = super()._checked(action, reward)
        self._estimator.check_rewards(rewards)
        return indices, rewards

    def _state_key(self) -> dict[str, int | None]:
        return {
            **super()._state_key(),
            "num_features": self._features.dim,
            "num_replicas": self._num_replicas,
            "memory_size": self._memory_size,
        }


def _trusting(models: Models) -> Any:
    """Returns a context in which scikit-learn does not check again what is known to be right.

    Features have no NaN, and the first model that was fitted has the parameters of all.
    """
    sklearn = import_extra("sklearn", "scikit-learn")
    skips = bool(models.is_fitted.any())
    return sklearn.config_context(assume_finite=True, skip_parameter_validation=skips)
