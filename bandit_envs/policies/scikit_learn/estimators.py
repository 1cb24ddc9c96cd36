"""Any classifier or regressor of scikit-learn as a model of rewards."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Mask, Rng
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    check_integer,
    check_number,
    check_numbers,
    check_positive,
    short_repr,
)
from bandit_envs.base.extras import import_extra
from bandit_envs.policies.models.inputs import Inputs, Items, ModelSizes, TrainingRows
from bandit_envs.policies.models.value_model import ValueModel
from bandit_envs.policies.scikit_learn.fitting import (
    Fitting,
    MemoryFitting,
    Models,
    OnlineFitting,
    advise_to_wait,
)
from bandit_envs.policies.scikit_learn.named_estimators import make_estimator
from bandit_envs.policies.scikit_learn.priors import BetaPrior, NormalPrior, Prior
from bandit_envs.policies.scikit_learn.reward_estimator import EXTRA, RewardEstimator, Rows

MAX_MEMORY = 2**31

MAX_REPLICAS = 10_000

OPTIMISM = 0.9
"""The level of the quantile of a prior that stands in the place of a prediction."""

FAILURES = 4.0
"""The second parameter of the Beta prior, unless it is given."""


class Scores(NamedTuple):
    """What replicas predict.

    Fields:
        of_replicas: [N, B, K], log-odds of classifiers, rewards of regressors; 0 for actions whose
            models have seen too little.
        is_known: [K], whether the model of each action has seen enough.
    """

    of_replicas: Floats
    is_known: Mask


@dataclasses.dataclass(frozen=True)
class Estimators(ValueModel):
    """Classifiers or regressors of scikit-learn: one of each action, or of features of actions.

    A classifier takes rewards from 0 to 1 and predicts the probability of a reward of 1; a
    regressor takes any rewards. `RewardEstimator` says how. The scores of classifiers are log-odds,
    which tell apart what rounds to a probability of 1.

    Until a model has seen `min_rewards` rewards, of a classifier successes and failures each, a
    posterior of the mean reward of its actions takes its place: `BetaPrior` for classifiers,
    `NormalPrior` for regressors. A prediction is then its quantile of level 0.9.

    Several replicas of each estimator are a bootstrap: each gives each row a weight Gamma(1, 1), or
    if the estimator takes no `sample_weight`, repeats it Poisson(1) times. Then the model draws,
    and has quantiles and intervals:

        draw                  what a replica predicts, drawn for each row and action; where actions
                              have features, for each row
        quantile(q)           over the replicas
        interval(radius)      the quantiles of Phi(-radius) and Phi(radius), of a normal
                              distribution: never wider than the replicas differ

    A prediction is the mean of their scores. Draws and quantiles are scores.

    Args:
        estimator: a classifier or a regressor, with `fit` and `predict`; or its text, such as
            "LogisticRegression(C=0.1)" or "module:name", as `make_estimator` reads it. Each model
            is a copy. A `random_state` that is None becomes a generator, seeded from the policy's.
        num_replicas: how many estimators are in the place of each, from 1 to 10,000.
        memory_size: of how many of the last rows models are fitted anew; 0 to learn each row once,
            through `partial_fit`.
        refit_after: a model is fitted anew when its new rows are this share of those of its last
            fit, at least 0; 0 for each time that it has new rows.
        min_rewards: how many rewards a model must have seen, at least 1.
        prior: the two parameters of the Beta prior, above 0; or a number, for prior / log2(K) and 4
            with K actions.

    Source: Cortes, Adapting Multi-Armed Bandits Policies to Contextual Bandits Scenarios (2018),
    whose prior is 3.0 for upper quantiles and else 2.0; Osband & Van Roy, Bootstrapped Thompson
    Sampling and Deep Exploration (2015).

    >>> Estimators("LogisticRegression(C=0.1)", num_replicas=10).reward_range
    (0.0, 1.0)
    """

    estimator: Any
    num_replicas: int = 1
    memory_size: int = 10_000
    refit_after: float = 0.1
    min_rewards: int = 1
    prior: float | Sequence[float] = 2.0

    is_random: ClassVar[bool] = True
    draws_are_scaled: ClassVar[bool] = False
    made_of_text: ClassVar[Mapping[str, Callable[[str], Any]]] = {"estimator": make_estimator}

    def __post_init__(self) -> None:
        check_integer("num_replicas", self.num_replicas, 1, MAX_REPLICAS)
        check_integer("memory_size", self.memory_size, 0, MAX_MEMORY)
        check_number("refit_after", self.refit_after, 0.0, 1e6)
        check_integer("min_rewards", self.min_rewards, minimum=1)
        object.__setattr__(self, "prior", _check_prior(self.prior))
        if self._estimator.is_classifier:
            object.__setattr__(self, "reward_range", (0.0, 1.0))

    @functools.cached_property
    def _estimator(self) -> RewardEstimator:
        """What the models are copies of."""
        return RewardEstimator(self.estimator, is_online=self.memory_size == 0)

    @functools.cached_property
    def _fitting(self) -> Fitting:
        """The way to fit the models."""
        if self.memory_size == 0:
            return OnlineFitting(self._estimator, self.num_replicas)
        return MemoryFitting(
            self._estimator,
            self.num_replicas,
            size=self.memory_size,
            refit_after=self.refit_after,
            min_rewards=self.min_rewards,
        )

    def abilities(self) -> frozenset[str]:
        return super().abilities() if self.num_replicas > 1 else frozenset({"means"})

    def advice(self, ability: str) -> str:
        is_missing = ability in super().abilities() - self.abilities()
        return "num_replicas of 2 or more" if is_missing else ""

    def initial(self, sizes: ModelSizes, rng: Rng) -> Models:
        return self._fitting.initial(rng, sizes.num_outputs, sizes.num_features)

    def add_actions(self, learned: Models, initial: Models, known: int, num_actions: int) -> Models:
        estimators = learned.estimators + initial.estimators[len(learned.estimators) :]
        arrays = super().add_actions(
            learned._replace(estimators=[]), initial._replace(estimators=[]), known, num_actions
        )
        grown: Models = arrays._replace(estimators=estimators)
        return grown

    def check_rewards(self, rewards: Array) -> Array:
        return self._estimator.check_rewards(rewards)

    def learn(self, learned: Models, rows: TrainingRows) -> Models:
        seen = Rows(rows.features, np.asarray(rows.reward, np.float64))
        with _trusting(learned):
            return self._fitting.learn(learned, rows.output, seen)

    def means(self, learned: Models, inputs: Inputs) -> Floats:
        return self._estimator.means_of(self.scores(learned, inputs))

    def scores(self, learned: Models, inputs: Inputs) -> Floats:
        found = self._predict(learned, inputs)
        prior = self._prior(found).quantile(learned.sums, OPTIMISM)
        return self._known_or(found, found.of_replicas.mean(axis=0), prior)

    def quantile(self, learned: Models, inputs: Inputs, level: float) -> Floats:
        found = self._predict(learned, inputs)
        prior = self._prior(found).quantile(learned.sums, level)
        return self._known_or(found, np.quantile(found.of_replicas, level, axis=0), prior)

    def interval(self, learned: Models, inputs: Inputs, radius: Any) -> tuple[Floats, Floats]:
        found = self._predict(learned, inputs)
        special = import_extra("scipy.special", EXTRA)
        ordered = np.sort(found.of_replicas, axis=0)
        bounds = []
        for level in (special.ndtr(-radius), special.ndtr(radius)):
            prior = self._prior(found).quantile(learned.sums, level)
            scores = self._known_or(found, _interpolate(ordered, level), prior)
            bounds.append(self._estimator.means_of(scores))
        lower, upper = bounds
        return lower, upper

    def draw(self, rng: Rng, learned: Models, inputs: Inputs, scale: float) -> Floats:
        found = self._predict(learned, inputs)
        num_replicas, size, num_actions = found.of_replicas.shape
        replica = rng.integers(num_replicas, size=(size, len(learned.is_fitted)))
        prior = self._prior(found).draw(rng, learned.sums, size)
        rows = np.arange(size)[:, np.newaxis]
        drawn = found.of_replicas[replica, rows, np.arange(num_actions)]
        return self._known_or(found, drawn, prior)

    def _predict(self, learned: Models, inputs: Inputs) -> Scores:
        """Returns what all replicas predict."""
        features = inputs.features()
        num_models = len(learned.is_fitted)
        are_of_actions = isinstance(inputs, Items)
        num_actions = features.shape[1] if are_of_actions else num_models
        scores = np.zeros((self.num_replicas, len(features), num_actions))
        is_known = np.zeros(num_actions, np.bool_)
        is_ready = self._estimator.have_seen(learned.sums, self.min_rewards)
        is_ready &= learned.is_fitted.all(axis=1)
        flat = features.reshape(-1, features.shape[-1])
        with _trusting(learned):
            for model in np.flatnonzero(is_ready).tolist():
                columns = slice(None) if are_of_actions else slice(model, model + 1)
                is_known[columns] = True
                for number, table in enumerate(scores):
                    estimator = learned.replica(model, number).estimator
                    with advise_to_wait(learned.sums, model):
                        predicted = self._estimator.predict(estimator, flat)
                    table[:, columns] = predicted.reshape(len(features), -1)
        return Scores(scores, is_known)

    def _known_or(self, found: Scores, scores: Floats, prior: Floats) -> Floats:
        """Returns scores [B, K], with those of mean rewards [..., M] where too little was seen."""
        return np.where(found.is_known, scores, self._estimator.scores_of(prior))

    def _prior(self, found: Scores) -> Prior:
        """Returns what is believed of the mean reward of a model that has seen too little."""
        if not self._estimator.is_classifier:
            return NormalPrior()
        if isinstance(self.prior, Sequence):
            return BetaPrior(*self.prior)
        num_actions = len(found.is_known)
        return BetaPrior(self.prior / max(math.log2(num_actions), 1.0), FAILURES)


def _check_prior(prior: Any) -> float | tuple[float, float]:
    """Returns the parameter or the two parameters of the Beta prior, which are above 0."""
    if np.ndim(prior) == 0:
        return check_positive("prior", prior, maximum=MAX_PARAMETER)
    given = check_numbers("prior", prior, ndim=1).astype(np.float64)
    if given.shape != (2,) or not (given > 0.0).all():
        raise ValueError(f"prior is {short_repr(prior)}; expected one or two numbers above 0")
    successes, failures = given.tolist()
    return successes, failures


def _interpolate(ordered: Floats, level: Any) -> Floats:
    """Returns quantiles of ordered numbers [N, B, K] at a level, or one for each row: [B, K]."""
    place = np.broadcast_to(level * (len(ordered) - 1), (ordered.shape[1], 1))
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    share = place - below
    rows = np.arange(ordered.shape[1])[:, np.newaxis]
    columns = np.arange(ordered.shape[2])
    return np.asarray(
        (1.0 - share) * ordered[below, rows, columns] + share * ordered[above, rows, columns]
    )


def _trusting(models: Models) -> Any:
    """Returns a context in which scikit-learn does not check again what is known to be right.

    Features have no NaN, and the first model that was fitted has the parameters of all.
    """
    sklearn = import_extra("sklearn", EXTRA)
    skips = bool(models.is_fitted.any())
    return sklearn.config_context(assume_finite=True, skip_parameter_validation=skips)
