"""Hybrid ridge regression: weights that all actions share, and weights of each action."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    MAX_REWARD,
    MIN_STD,
    check_bool,
    check_number,
    check_positive,
)
from bandit_envs.policies.models.centres import Centres
from bandit_envs.policies.models.inputs import (
    CentredContexts,
    Contexts,
    Inputs,
    Items,
    ModelSizes,
    TrainingRows,
)
from bandit_envs.policies.models.ridge_models import RidgeModels, differs, start_with_mean
from bandit_envs.policies.models.value_model import ValueModel


class HybridModels(NamedTuple):
    """What `HybridRidge` has learned.

    Fields:
        shared: beta, [R, P], and the root of its covariance, [R, P, P].
        own: A_a^-1 b_a, [R, K, G], and the roots of A_a^-1, [R, K, G, G].
        crossed: A_a^-1 B_a, [R, K, G, P].
        centres: `Centres` of [x, z] of each action if models have an intercept, and else ().
    """

    shared: RidgeModels
    own: RidgeModels
    crossed: Floats
    centres: Any = ()


@dataclasses.dataclass(frozen=True)
class HybridRidge(ValueModel):
    """Ridge regression with weights that all actions share, and weights of each action.

        r ~ v0 + beta . z_a + theta_a . x,    x = global, z_a = per_arm of the action

    It is one ridge regression on z_a and on x in the place of action a. Two updates of the square
    roots of small matrices learn a row: of A_a^-1, and of the covariance of beta, which gets
    w = z - B_a^T A_a^-1 x. Observations must have features of actions. A constant in x gives each
    action a mean of its own; so does an `intercept`, which is not penalised: then x, z and rewards
    are measured from their means of the rows of each action, as in `Ridge`.

    Args:
        shared_weight: the L2 regularisation of beta, from 1e-37 to 1e37.
        own_weight: that of theta_a.
        initial_value: v0, the reward that is predicted before anything was seen.
        intercept: whether a constant of each action is added, without a penalty.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), algorithm 2.

    >>> HybridRidge(shared_weight=2.0).own_weight
    1.0
    """

    shared_weight: float = 1.0
    own_weight: float = 1.0
    initial_value: float = 0.0
    intercept: bool = dataclasses.field(default=False, kw_only=True)

    can_have_rows: ClassVar[bool] = True
    has_own_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("shared_weight", self.shared_weight, MIN_STD, MAX_PARAMETER)
        check_positive("own_weight", self.own_weight, MIN_STD, MAX_PARAMETER)
        check_number("initial_value", self.initial_value, -MAX_REWARD, MAX_REWARD)
        check_bool("intercept", self.intercept)

    @property
    def needs_constant(self) -> bool:
        return not self.intercept

    def initial(self, sizes: ModelSizes, rng: Rng) -> HybridModels:
        if sizes.action_dim is None:
            found = "observation_spec has no features of actions"
            raise ValueError(f"{found}; HybridRidge expects global (G,) and per_arm (K, P)")
        num_models = sizes.num_rows * sizes.num_actions
        own = RidgeModels.initial(num_models, sizes.context_dim, self.own_weight)
        shape = (sizes.num_rows, sizes.num_actions, sizes.context_dim, sizes.action_dim)
        centres: Any = ()
        if self.intercept:
            of_actions = sizes._replace(context_dim=sizes.num_features, action_dim=None)
            centres = Centres.initial(of_actions, self.initial_value)
        return HybridModels(
            shared=RidgeModels.initial(sizes.num_rows, sizes.action_dim, self.shared_weight),
            own=own.reshaped(sizes.num_rows, sizes.num_actions),
            crossed=np.zeros(shape),
            centres=centres,
        )

    def learn(self, learned: HybridModels, rows: TrainingRows) -> HybridModels:
        num_rows, num_actions = learned.crossed.shape[:2]
        flat = HybridModels(
            shared=learned.shared,
            own=learned.own.reshaped(num_rows * num_actions),
            crossed=learned.crossed.reshape(num_rows * num_actions, *learned.crossed.shape[2:]),
        )
        size = len(rows.action)
        problem = np.arange(size) if rows.are_problems else np.zeros(size, np.intp)
        model = problem * num_actions + rows.action
        if self.intercept:
            features, errors = learned.centres.add(model, rows.features, rows.reward, 1.0)
            rows = rows._replace(features=features, reward=errors)
        if rows.are_problems:
            self._add(flat, rows, problem, model)
        else:  # each row meets what the rows before it have taught
            for row in range(size):
                places = np.arange(row, row + 1)
                self._add(flat, rows, problem[places], model[places], places)
        return HybridModels(
            shared=flat.shared,
            own=flat.own.reshaped(num_rows, num_actions),
            crossed=flat.crossed.reshape(learned.crossed.shape),
            centres=learned.centres,
        )

    def can_start_warm(self, are_of_actions: bool) -> bool:
        return True

    def start_warm(self, learned: HybridModels, known: int) -> HybridModels:
        """The weights of an action are A_a^-1 b_a - A_a^-1 B_a beta; of a new one, B_a is 0."""
        if self.intercept:
            has_learned = learned.centres.start_warm(known)
        else:
            has_learned = differs(learned.own.whitening[:, :known], 1.0 / np.sqrt(self.own_weight))
        shared = learned.shared.theta[:, np.newaxis, :, np.newaxis]
        weights = learned.own.theta - (learned.crossed @ shared)[..., 0]
        start_with_mean(weights, has_learned)
        learned.own.theta[:, known:] = weights[:, known:]
        return learned

    def means(self, learned: HybridModels, inputs: Inputs) -> Floats:
        context, differences = self._divided(learned, inputs)
        return self._means(learned, context, differences)

    def interval(self, learned: HybridModels, inputs: Inputs, radius: Any) -> tuple[Floats, Floats]:
        context, differences = self._divided(learned, inputs)
        of_own = context.lengths(learned.own.whitening)
        of_shared = differences.lengths(learned.shared.whitening[:, np.newaxis])
        means = self._means(learned, context, differences)
        widths = radius * self._lengthened(learned, np.hypot(of_own, of_shared))
        return means - widths, means + widths

    def draw(self, rng: Rng, learned: HybridModels, inputs: Inputs, scale: float) -> Floats:
        context, differences = self._divided(learned, inputs)
        size = len(context.context)
        roots = learned.shared.whitening
        noise = rng.standard_normal((size, 1, roots.shape[1])) @ roots
        beta = learned.shared.theta + scale * noise[:, 0]
        values = np.asarray(self._levels(learned) + context.products(learned.own.theta))
        values += differences.products(beta[:, np.newaxis])
        deviations = scale * self._lengthened(learned, context.lengths(learned.own.whitening))
        draws = values + deviations * rng.standard_normal(values.shape)
        return learned.centres.new_first(draws, values + deviations) if self.intercept else draws

    def _add(
        self, flat: HybridModels, rows: TrainingRows, problem: Any, model: Any, places: Any = None
    ) -> None:
        """Adds rows to different models, in place.

        Args:
            flat: models with the actions of all problems below each other.
            rows: to learn from.
            problem: [m], the number of each row's problem.
            model: [m], the number of each row's own model.
            places: [m], which of the rows; None for all.
        """
        chosen = slice(None) if places is None else places
        x = rows.context[chosen]
        z = rows.actions[chosen]
        reward = rows.reward[chosen]
        if not self.intercept:
            reward = reward - self.initial_value
        whitening = flat.own.whitening[model]
        white = (whitening @ x[:, :, np.newaxis])[..., 0]
        gains = (white[:, np.newaxis] @ whitening)[:, 0]
        spreads = 1.0 + np.square(white).sum(axis=1)
        scales = np.sqrt(spreads)
        errors = reward - (flat.own.theta[model] * x).sum(axis=1)
        differences = z - (x[:, np.newaxis] @ flat.crossed[model])[:, 0]
        flat.shared.learn(
            model=problem,
            features=differences / scales[:, np.newaxis],
            rewards=errors / scales,
            gamma=1.0,
            tikhonov_weight=self.shared_weight,
            are_problems=True,
        )
        steps = gains / spreads[:, np.newaxis]
        flat.crossed[model] += steps[:, :, np.newaxis] * differences[:, np.newaxis]
        flat.own.learn(
            model=model,
            features=x,
            rewards=reward,
            gamma=1.0,
            tikhonov_weight=self.own_weight,
            are_problems=True,
        )

    def _means(
        self, learned: HybridModels, context: Contexts | CentredContexts, differences: Items
    ) -> Floats:
        """Returns the predicted reward of every action: [B, K]."""
        of_own = context.products(learned.own.theta)
        of_shared = differences.products(learned.shared.theta[:, np.newaxis])
        return np.asarray(self._levels(learned) + of_own + of_shared)

    def _levels(self, learned: HybridModels) -> float | Floats:
        """Returns what predictions are beside those of x and z: a number, or [R, K]."""
        levels: float | Floats = self.initial_value
        if self.intercept:
            levels = learned.centres.levels
        return levels

    def _lengthened(self, learned: HybridModels, lengths: Floats) -> Floats:
        """Returns deviations [B, K] with those of intercepts."""
        return learned.centres.lengthened(lengths) if self.intercept else lengths

    def _divided(
        self, learned: HybridModels, inputs: Inputs
    ) -> tuple[Contexts | CentredContexts, Items]:
        """Returns x, and w = z - B_a^T A_a^-1 x of every action."""
        assert isinstance(inputs, Items)
        context, actions, are_problems = inputs
        nothing = context[:, :0]
        if not self.intercept:
            predicted = (context[:, np.newaxis, np.newaxis] @ learned.crossed)[:, :, 0]
            differences = Items(nothing, actions - predicted, are_problems)
            return Contexts(context, are_problems), differences
        dim = context.shape[1]
        centres = learned.centres.features
        own = context[:, np.newaxis] - centres[..., :dim]
        predicted = (own[:, :, np.newaxis] @ learned.crossed)[:, :, 0]
        differences = Items(nothing, actions - centres[..., dim:] - predicted, are_problems)
        return CentredContexts(context, centres[..., :dim], are_problems), differences
