"""Models of products of the features of contexts and of actions."""

from __future__ import annotations

import dataclasses

import numpy as np

from bandit_envs.arrays import Floats
from bandit_envs.base.checks import short_repr
from bandit_envs.policies.models.inputs import Inputs, Items, ModelSizes, TrainingRows
from bandit_envs.policies.models.ridge import Ridge
from bandit_envs.policies.models.value_model import Model, ValueModel


@dataclasses.dataclass(frozen=True)
class Interactions(Model):
    """A model of the features [x, z, x (x) z] of actions in place of [x, z].

        x = global [G],    z = per_arm of the action [P],    x (x) z [G P], all products x_i z_j

    A linear model of [x, z] ranks actions alike in every context, as w . x is the same for all of
    them. With products, what a feature of an action is worth depends on the context. Observations
    must have features of actions.

    Args:
        model: learns from these features.

    Source: Li et al., A Contextual-Bandit Approach to Personalized News Article Recommendation
    (2010), section 5.2; Vowpal Wabbit's `--interactions`.

    >>> Interactions(Ridge(intercept=True)).predictor.intercept
    True
    """

    model: Model = Ridge()  # noqa: RUF009  # it is frozen

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise TypeError(f"model is {short_repr(self.model)}; expected a Model")

    @property
    def needs_constant(self) -> bool:
        return self.model.needs_constant

    @property
    def predictor(self) -> ValueModel:
        """The model that learns from the products."""
        return self.model.predictor

    def for_actions(self, num_actions: int) -> Interactions:
        return dataclasses.replace(self, model=self.model.for_actions(num_actions))

    def map_sizes(self, sizes: ModelSizes) -> ModelSizes:
        if sizes.action_dim is None:
            found = "observation_spec has no features of actions"
            raise ValueError(f"{found}; Interactions expects global (G,) and per_arm (K, P)")
        action_dim = sizes.action_dim * (1 + sizes.context_dim)
        return self.model.map_sizes(sizes._replace(action_dim=action_dim))

    def map_inputs(self, inputs: Inputs) -> Inputs:
        assert isinstance(inputs, Items)
        context = inputs.context[:, np.newaxis]
        return self.model.map_inputs(
            inputs._replace(actions=_with_products(context, inputs.actions))
        )

    def map_rows(self, rows: TrainingRows) -> TrainingRows:
        actions = _with_products(rows.context, rows.actions)
        features = np.concatenate((rows.context, actions), axis=1)
        return self.model.map_rows(rows._replace(features=features))


def _with_products(context: Floats, actions: Floats) -> Floats:
    """Returns [z, x (x) z] of contexts x [..., G] and actions z [..., P]: [..., P + G P]."""
    products = context[..., :, np.newaxis] * actions[..., np.newaxis, :]
    flat = products.reshape(*actions.shape[:-1], context.shape[-1] * actions.shape[-1])
    return np.concatenate((actions, flat), axis=-1)
