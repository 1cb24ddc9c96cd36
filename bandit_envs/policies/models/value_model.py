"""The interface of models that predict the rewards of actions."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from bandit_envs.arrays import Array, Floats, Rng
from bandit_envs.base.checks import MAX_REWARD
from bandit_envs.base.made_with import Parameters
from bandit_envs.policies.learned import add_actions
from bandit_envs.policies.models.inputs import Inputs, ModelSizes, TrainingRows

NEVER = -MAX_REWARD
"""The score of an action of which a fixed model knows nothing: below those of all others."""

ABILITIES = ("means", "interval", "quantile", "draw", "members")
"""What a rule may need of a model. A model has an ability if its class defines the method."""


class Model(Parameters, abc.ABC):
    """What a `ContextualPolicy` predicts rewards by: a `ValueModel`, or one of mapped features."""

    made_of_text: ClassVar[Mapping[str, Callable[[str], Any]]] = {}
    """The parameters that may be a text that names code, such as "module:name", and what makes them
    of it. Files hold what was made, as reading them imports nothing that they name."""

    is_linear: ClassVar[bool] = False
    """Whether it orders actions by a linear function of features."""

    @property
    def needs_constant(self) -> bool:
        """Whether it learns the mean of rewards only if features have a constant."""
        return False

    @property
    @abc.abstractmethod
    def predictor(self) -> ValueModel:
        """The model that learns and predicts."""

    def map_sizes(self, sizes: ModelSizes) -> ModelSizes:
        """Returns of how many features the predictor is, for those of an observation."""
        return sizes

    def map_inputs(self, inputs: Inputs) -> Inputs:
        """Returns what the predictor predicts from."""
        return inputs

    def map_rows(self, rows: TrainingRows) -> TrainingRows:
        """Returns what the predictor learns from."""
        return rows

    def for_actions(self, num_actions: int) -> Model:
        """Returns a model for more actions: itself, unless its parameters are of single actions.

        Raises:
            ValueError: it cannot have more.
        """
        return self


class ValueModel(Model):
    """Predicts the reward of every action; a rule of `bandit_envs.policies.rules` chooses by that.

    A model holds its parameters only. What it has learned is passed in, as to the hooks of
    `Policy`:

        initial(sizes, rng)                -> learned     before the first reward
        learn(learned, rows)               -> learned     new, or updated in place
        means(learned, inputs)             -> [B, K]      predicted rewards
        scores(learned, inputs)            -> [B, K]      order actions; default: the means
        interval(learned, inputs, radius)  -> two [B, K]  if it knows how uncertain it is
        quantile(learned, inputs, level)   -> [B, K]      if it knows the law of a mean
        draw(rng, learned, inputs, scale)  -> [B, K]      draws of scores, if it has a posterior
        members(learned, inputs)           -> [N, B, K]   if it is an ensemble of N models

    Write a model as a frozen dataclass of its parameters: then it has a repr, can be compared, and
    is written to files. `learned` is a nest of arrays and numbers; only `learn` may write into it.

    >>> import dataclasses
    >>> import numpy as np
    >>> @dataclasses.dataclass(frozen=True)
    ... class Averages(ValueModel):  # without features
    ...     def initial(self, sizes, rng):
    ...         return np.zeros((2, sizes.num_actions))
    ...     def learn(self, learned, rows):
    ...         np.add.at(learned, (0, rows.action), rows.reward)
    ...         np.add.at(learned, (1, rows.action), 1.0)
    ...         return learned
    ...     def means(self, learned, inputs):
    ...         return np.tile(learned[0] / np.maximum(learned[1], 1.0), (len(inputs.context), 1))
    """

    reward_range: tuple[float, float] = (-MAX_REWARD, MAX_REWARD)
    """The smallest and the largest reward that it takes."""

    log_rows: int = 1024
    """How many decisions of a log it learns at a time."""

    learns: ClassVar[bool] = True
    """Whether it learns from rewards; else it is fixed."""

    can_have_rows: ClassVar[bool] = False
    """Whether `learned` may hold models for each of R rows, which are problems of their own."""

    has_own_weights: ClassVar[bool] = False
    """Whether each action has parameters of its own, by its number, even if it has features."""

    is_random: ClassVar[bool] = False
    """Whether it draws in `initial` or `learn`: then `rng` is its own, and part of `learned`."""

    draws_are_scaled: ClassVar[bool] = True
    """Whether `draw` multiplies deviations from the mean by `scale`; else that must be 1."""

    @property
    def predictor(self) -> ValueModel:
        """The model itself."""
        return self

    @abc.abstractmethod
    def initial(self, sizes: ModelSizes, rng: Rng) -> Any:
        """Returns what the model knows before the first reward.

        Raises:
            ValueError: the model is not for inputs of these sizes.
        """

    def check_rewards(self, rewards: Array) -> Array:
        """Returns rewards [n] in its `reward_range`; ValueError if it cannot learn from them."""
        return rewards

    @abc.abstractmethod
    def learn(self, learned: Any, rows: TrainingRows) -> Any:
        """Returns what the model knows after n more rewards: new, or `learned` updated in place."""

    @abc.abstractmethod
    def means(self, learned: Any, inputs: Inputs) -> Floats:
        """Returns the predicted reward of every action: [B, K]."""

    def scores(self, learned: Any, inputs: Inputs) -> Floats:
        """Returns numbers that order actions as the means do, such as log-odds: [B, K]."""
        return self.means(learned, inputs)

    def interval(self, learned: Any, inputs: Inputs, radius: Any) -> tuple[Floats, Floats]:
        """Returns bounds of the mean reward of every action: two [B, K].

        Args:
            learned: what the model knows.
            inputs: of B rows.
            radius: how many standard deviations they are from the prediction: a number, or [B, 1].
        """
        raise NotImplementedError(f"{type(self).__name__} does not know how uncertain it is")

    def quantile(self, learned: Any, inputs: Inputs, level: float) -> Floats:
        """Returns the quantile of the mean reward of every action: [B, K].

        Args:
            learned: what the model knows.
            inputs: of B rows.
            level: from 0 to 1.
        """
        raise NotImplementedError(f"{type(self).__name__} does not know quantiles")

    def draw(self, rng: Rng, learned: Any, inputs: Inputs, scale: float) -> Floats:
        """Returns a draw of every action from the posterior: [B, K].

        It is of the mean reward, or of what `scores` returns: it orders the actions alike.

        Args:
            rng: draws.
            learned: what the model knows.
            inputs: of B rows.
            scale: multiplies the standard deviations.
        """
        raise NotImplementedError(f"{type(self).__name__} has no posterior")

    def members(self, learned: Any, inputs: Inputs) -> Floats:
        """Returns what each of N equally likely models predicts: [N, B, K]."""
        raise NotImplementedError(f"{type(self).__name__} is not an ensemble")

    def add_actions(self, learned: Any, initial: Any, known: int, num_actions: int) -> Any:
        """Returns what is known of the first `known` actions as what is known of K.

        Args:
            learned: what the model knows of them.
            initial: what `initial` returns for K actions.
            known: how many actions are known.
            num_actions: K, more than that.

        Raises:
            ValueError: what is known cannot grow.
        """
        return add_actions(learned, initial, known, num_actions)

    def can_start_warm(self, are_of_actions: bool) -> bool:
        """Returns whether new actions may start with the mean of the weights of others.

        Args:
            are_of_actions: whether actions have features.
        """
        return False

    def start_warm(self, learned: Any, known: int) -> Any:
        """Returns `learned`, where the prior of actions from `known` on has the mean of others."""
        raise NotImplementedError(f"{type(self).__name__} does not start actions warm")

    def abilities(self) -> frozenset[str]:
        """Returns which of `ABILITIES` the model has."""
        kind = type(self)
        return frozenset(
            name for name in ABILITIES if getattr(kind, name) is not getattr(ValueModel, name)
        )

    def advice(self, ability: str) -> str:
        """Returns how a model of this class has an ability that it lacks, for messages, or ""."""
        return ""


class FixedModel(ValueModel):
    """Base of models that do not learn, such as those that learners of logs return."""

    learns: ClassVar[bool] = False

    def learn(self, learned: Any, rows: TrainingRows) -> Any:
        return learned
