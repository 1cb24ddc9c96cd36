"""Policies that choose by fitted estimators of scikit-learn, such as a learner makes from a log."""

from __future__ import annotations

import numbers
import typing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import MAX_REWARD, check_integer, check_number, short_repr
from bandit_envs.nests import Nest
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.models.features import ContextReader
from bandit_envs.policies.policy import BatchOptions
from bandit_envs.policies.scikit_learn_model import (
    ScikitLearnModel,
    check_classifier,
    check_estimator,
    copy_unseeded,
    predict_means,
    score_classes,
)
from bandit_envs.trajectories import TimeStep

NEVER = -MAX_REWARD
"""The score of an action of which nothing is known: below those of all others."""


class ClassifierGreedyPolicy(IndexPolicy):
    """Chooses the action that a fitted classifier of contexts finds most probable.

        argmax_a  P(a | x)

    Actions that are not among its classes are chosen only where no other action is available.

    Args:
        classifier: of scikit-learn, fitted to contexts [n, d] and actions [n], integers from 0.
        num_actions: the number of actions, K.
        observation_spec: of the environment or log: a context without features of the actions.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Beygelzimer & Langford, The offset tree (2009), for classifiers as policies.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from bandit_envs.specs import ArraySpec
    >>> from bandit_envs.trajectories import restart
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [2, 0])
    >>> policy = ClassifierGreedyPolicy(tree, 3, observation_spec=ArraySpec((1,), np.float64))
    >>> policy.action(restart(np.zeros((1, 1)), 1))
    array([2], dtype=int32)
    """

    learns_by_row = False

    def __init__(
        self,
        classifier: Any,
        num_actions: int,
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._context = ContextReader(observation_spec)
        check_features("classifier", check_classifier("classifier", classifier), self._context.dim)
        self._model = ScikitLearnModel(copy_unseeded(classifier))
        classes = np.asarray(classifier.classes_)
        largest = check_integer("num_actions", num_actions, minimum=1) - 1
        if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() > largest:
            expected = f"actions from 0 to {largest}"
            raise ValueError(
                f"classifier has the classes {short_repr(classes)}; expected {expected}"
            )
        super().__init__(num_actions=num_actions, **options)

    def _initial(self) -> ScikitLearnModel:
        return self._model

    def _scores(self, learned: ScikitLearnModel, time_step: TimeStep) -> Floats:
        context = self._context.read(time_step.observation, self.batch_size)
        scores = np.full((self.batch_size, self.num_actions), NEVER)
        scores[:, learned.estimator.classes_] = score_classes(learned.estimator, context)
        return scores


class Regressions(NamedTuple):
    """What predicts the rewards of K actions."""

    models: tuple[ScikitLearnModel | None, ...]  # [K]
    constants: Floats  # [K], the predictions for actions without a model


class RegressionGreedyPolicy(IndexPolicy):
    """Chooses the action with the largest prediction, by a fitted estimator for each action.

        argmax_a  q_a(x)

    Args:
        models: [K], fitted to contexts [n, d]: regressors of scikit-learn, classifiers whose
            classes are rewards, or numbers, which are the predictions themselves.
        observation_spec: of the environment or log: a context without features of the actions.
        **options: `batch_size` and `seed`, as in `Policy`.

    Source: Beygelzimer & Langford, The offset tree (2009), for policies by predicted rewards.

    >>> from bandit_envs.logged import RidgeRegression
    >>> from bandit_envs.specs import ArraySpec
    >>> from bandit_envs.trajectories import restart
    >>> model = RidgeRegression().fit(np.array([[-1.0], [1.0]]), np.array([0.0, 6.0]))
    >>> policy = RegressionGreedyPolicy([2.0, model], observation_spec=ArraySpec((1,), np.float64))
    >>> policy.action(restart(np.zeros((1, 1)), 1))
    array([1], dtype=int32)
    """

    learns_by_row = False

    def __init__(
        self,
        models: Sequence[Any],
        *,
        observation_spec: Nest,
        **options: typing.Unpack[BatchOptions],
    ) -> None:
        self._context = ContextReader(observation_spec)
        constants = np.zeros(len(models))
        leaves: list[ScikitLearnModel | None] = []
        for action, model in enumerate(models):
            name = f"models[{action}]"
            if isinstance(model, numbers.Real):
                constants[action] = check_number(name, model)
                leaves.append(None)
            else:
                check_features(name, check_estimator(name, model), self._context.dim)
                leaves.append(ScikitLearnModel(copy_unseeded(model)))
        self._regressions = Regressions(tuple(leaves), constants)
        super().__init__(num_actions=len(models), **options)

    def _initial(self) -> Regressions:
        return self._regressions

    def _scores(self, learned: Regressions, time_step: TimeStep) -> Floats:
        context = self._context.read(time_step.observation, self.batch_size)
        scores = np.tile(learned.constants, (self.batch_size, 1))
        for action, model in enumerate(learned.models):
            if model is not None:
                scores[:, action] = predict_means(model.estimator, context)
        return scores


def check_features(name: str, estimator: Any, dim: int) -> None:
    """Raises ValueError if an estimator was fitted to another number of features than `dim`.

    An estimator that does not tell this number passes.
    """
    found = getattr(estimator, "n_features_in_", dim)
    if found != dim:
        raise ValueError(f"{name} was fitted to {found} features; observation_spec has {dim}")
