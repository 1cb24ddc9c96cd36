"""Constants of linear models that no penalty shrinks: features are measured from their means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices, Mask
from bandit_envs.policies.models.inputs import CentredContexts, Inputs, Items, ModelSizes
from bandit_envs.policies.models.ridge_models import start_with_mean

NOTHING = 1e-300
"""The weight below which a model has no rows: its constant has the deviation 1e150."""


class Centres(NamedTuple):
    """Where the constants of R M models are known best: in the mean of the rows of each.

        f(x) = level + theta . (x - centre)

    The level is the prediction in the centre, and has the variance 1 / weight. Theta does not
    change the prediction there. So theta is penalised, and the constant, which is
    level - theta . centre, is not.

    Of squared errors, the weight is that of the rows, n, and the level the mean of their rewards.
    A row (x, r) teaches theta the row sqrt(g) (x - centre, r - level) with g = n / (n + 1). That is
    the limit of a constant feature with a penalty that vanishes.

    Fields:
        weights: [R, M].
        features: the centres, [R, M, D].
        levels: [R, M].
    """

    weights: Floats
    features: Floats
    levels: Floats

    @classmethod
    def initial(cls, sizes: ModelSizes, level: float, weight: float = 0.0) -> Centres:
        """Returns the centres of models without rows.

        Args:
            sizes: of the models.
            level: what they predict.
            weight: of this prediction; 0 if the first row replaces it.
        """
        shape = (sizes.num_rows, sizes.num_outputs)
        features = np.zeros((*shape, sizes.num_features))
        return cls(np.full(shape, weight), features, np.full(shape, level))

    @property
    def are_new(self) -> Mask:
        """Which models have no rows: [R, M]."""
        return self.weights < NOTHING

    def flat(self) -> Centres:
        """Returns the same centres, numbered from 0 to R M - 1."""
        features = self.features.reshape(self.weights.size, self.features.shape[-1])
        return Centres(self.weights.reshape(-1), features, self.levels.reshape(-1))

    def add(
        self, model: Indices, features: Floats, rewards: Array, gamma: float
    ) -> tuple[Floats, Floats]:
        """Adds n rows, in place, and returns what they teach theta: [n, D] and [n].

        Rows of one model count one after another. Those of different models do not meet, not even
        by rounding.

        Args:
            model: of each row, [n].
            features: [n, D].
            rewards: [n].
            gamma: what the weights of earlier rows are multiplied by.
        """
        flat = self.flat()
        if gamma < 1.0:
            flat.weights[...] *= gamma
        if len(model) == 1:  # the common kind
            return flat._add_one_each(model, features, rewards)
        centred = np.empty(features.shape)
        errors = np.empty(len(rewards))
        order = model.argsort(kind="stable")
        models, first, counts = np.unique(model[order], return_index=True, return_counts=True)
        is_single = counts == 1
        rows = order[first[is_single]]
        centred[rows], errors[rows] = flat._add_one_each(model[rows], features[rows], rewards[rows])
        for one, start, count in zip(models[~is_single], first[~is_single], counts[~is_single]):
            rows = order[start : start + count]
            centred[rows], errors[rows] = flat._add_several(one, features[rows], rewards[rows])
        return centred, errors

    def start_warm(self, known: int, weight: float = NOTHING) -> Mask:
        """Sets the models from `known` on to the mean of those before that have rows.

        Args:
            known: how many models come before.
            weight: which those have at least that have rows.

        Returns:
            Which of those have rows: [R, known].
        """
        has_learned = self.weights[:, :known] > weight
        start_with_mean(self.features, has_learned)
        start_with_mean(self.levels[..., np.newaxis], has_learned)
        return has_learned

    def centred(self, inputs: Inputs) -> Items | CentredContexts:
        """Returns x - centre of every action."""
        if not isinstance(inputs, Items):
            return CentredContexts(inputs.context, self.features, inputs.are_problems)
        dim = inputs.context.shape[1]
        (centres,) = np.swapaxes(self.features, 0, 1)  # of the only model of each row
        return inputs._replace(
            context=inputs.context - centres[:, :dim],
            actions=inputs.actions - centres[:, np.newaxis, dim:],
        )

    def lengthened(self, lengths: Floats) -> Floats:
        """Returns deviations [B, K] of theta . (x - centre) as those of f(x)."""
        return np.hypot(lengths, 1.0 / np.sqrt(np.maximum(self.weights, NOTHING)))

    def new_first(self, draws: Floats, bounds: Floats) -> Floats:
        """Returns draws [B, K], with upper bounds [B, K] in their place for models without rows."""
        return np.where(self.are_new, bounds, draws)

    def mean_level(self) -> Floats:
        """Returns the mean reward of the rows of all models, or 0 if there are none: [R, 1]."""
        total = self.weights.sum(axis=1, keepdims=True)
        paid = (self.weights * self.levels).sum(axis=1, keepdims=True)
        return np.asarray(paid / np.maximum(total, NOTHING))

    def _add_one_each(
        self, model: Indices, features: Floats, rewards: Array
    ) -> tuple[Floats, Floats]:
        """Adds row i to model `model[i]`, all different, as `add`."""
        weights = self.weights[model]
        differences = features - self.features[model]
        errors = rewards - self.levels[model]
        after = weights + 1.0
        scales = np.sqrt(weights / after)
        self.weights[model] = after
        self.features[model] += differences / after[:, np.newaxis]
        self.levels[model] += errors / after
        is_first = weights < NOTHING  # differences from nothing would round
        self.features[model[is_first]] = features[is_first]
        self.levels[model[is_first]] = rewards[is_first]
        return differences * scales[:, np.newaxis], errors * scales

    def _add_several(self, model: int, features: Floats, rewards: Array) -> tuple[Floats, Floats]:
        """Adds rows [n, D] to one model, as `add`."""
        weight = float(self.weights[model])
        is_new = weight < NOTHING
        centre = features[0].copy() if is_new else self.features[model].copy()
        level = float(rewards[0] if is_new else self.levels[model])
        before = weight + np.arange(len(rewards))  # the weights before each row
        after = before + 1.0
        steps = features - centre
        surprises = rewards - level
        totals = steps.cumsum(axis=0)
        paid = surprises.cumsum()
        shares = 1.0 / np.maximum(before, NOTHING)
        differences = steps.copy()
        differences[1:] -= totals[:-1] * shares[1:, np.newaxis]
        errors = surprises.copy()
        errors[1:] -= paid[:-1] * shares[1:]
        self.weights[model] = after[-1]
        self.features[model] = centre + totals[-1] / after[-1]
        self.levels[model] = level + paid[-1] / after[-1]
        scales = np.sqrt(before / after)
        return differences * scales[:, np.newaxis], errors * scales
