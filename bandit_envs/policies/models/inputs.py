"""What a model of rewards is given: a context, or the features of each action with it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bandit_envs.arrays import Array, Floats, Indices
from bandit_envs.nests import Nest
from bandit_envs.policies.models.feature_readers import (
    ContextReader,
    ItemReader,
    item_products,
    shows_items,
)
from bandit_envs.policies.models.single_precision import in_dtype

SCRATCH = 2**21
"""How many numbers W x may have of several models at a time."""


class ModelSizes(NamedTuple):
    """How many models there are, and of what.

    Where actions have features, one model predicts for all of them; elsewhere each action has a
    model of its own. Where rows are independent problems, each row has its own of these.

    Fields:
        num_rows: R, the rows with models of their own; 1 if all rows share the models.
        num_actions: K.
        context_dim: how many features a context has, G.
        action_dim: how many features each action has, P; None if actions have none.
    """

    num_rows: int
    num_actions: int
    context_dim: int
    action_dim: int | None

    @property
    def num_outputs(self) -> int:
        """M, the models of a row: one for each action; 1 if actions have features."""
        return self.num_actions if self.action_dim is None else 1

    @property
    def num_features(self) -> int:
        """D, the features of a model: those of the context, and those of an action with them."""
        return self.context_dim + (self.action_dim or 0)


class Contexts(NamedTuple):
    """The contexts of B rows. Each action has a model.

    Fields:
        context: [B, D].
        are_problems: whether each row has models of its own.
    """

    context: Floats
    are_problems: bool

    def features(self) -> Floats:
        """Returns what a model gets: [B, D]."""
        return self.context

    def like(self, weights: Floats) -> Contexts:
        """Returns the inputs in the dtype of weights."""
        return self._replace(context=like(self.context, weights))

    def squared(self) -> Contexts:
        """Returns the squares of all features."""
        return self._replace(context=np.square(self.context))

    def products(self, weights: Floats) -> Floats:
        """Returns w . x of every action, with weights [R, K, D]: [B, K]."""
        context = like(self.context, weights)
        if self.are_problems:
            return np.asarray((weights @ context[:, :, np.newaxis])[..., 0], np.float64)
        return np.asarray(context @ weights[0].T, np.float64)

    def lengths(self, roots: Floats) -> Floats:
        """Returns the length of W x of every action: [B, K].

        Args:
            roots: the matrices W [R, K, D, D], or their diagonals [R, K, D].
        """
        if roots.ndim == 3:
            return _lengths_of_diagonals(self, roots)
        context = like(self.context, roots)
        size, dim = context.shape
        if self.are_problems:
            num_models = roots.shape[1]
            stacked = roots.reshape(size, num_models * dim, dim)  # faster than one by one
            found = (stacked @ context[:, :, np.newaxis]).reshape(size, num_models, dim)
            return np.asarray(np.sqrt(np.einsum("bkd,bkd->bk", found, found)), np.float64)
        (matrices,) = roots
        squares = np.empty((size, len(matrices)))
        step = max(1, SCRATCH // max(1, context.size))
        for start in range(0, len(matrices), step):
            several = matrices[start : start + step]
            found = context @ several.reshape(len(several) * dim, dim).T
            found = found.reshape(size, len(several), dim)
            squares[:, start : start + step] = np.einsum("bkd,bkd->bk", found, found)
        return np.sqrt(squares)


class Items(NamedTuple):
    """The features x = [context, action] of K actions in B rows. One model predicts for all.

    Fields:
        context: [B, G].
        actions: [B, K, P].
        are_problems: whether each row has a model of its own.
    """

    context: Floats
    actions: Floats
    are_problems: bool

    def features(self) -> Floats:
        """Returns what a model gets: [B, K, G + P]."""
        repeated = np.repeat(self.context[:, np.newaxis], self.actions.shape[1], axis=1)
        return np.concatenate((repeated, self.actions), axis=2)

    def like(self, weights: Floats) -> Items:
        """Returns the inputs in the dtype of weights."""
        context = like(self.context, weights)
        return self._replace(context=context, actions=like(self.actions, weights))

    def squared(self) -> Items:
        """Returns the squares of all features."""
        return self._replace(context=np.square(self.context), actions=np.square(self.actions))

    def products(self, weights: Floats) -> Floats:
        """Returns w . x of every action, with weights [R, 1, D]: [B, K]."""
        context = like(self.context, weights)
        found = item_products(weights[:, 0], context, like(self.actions, weights))
        return np.asarray(found, np.float64)

    def lengths(self, roots: Floats) -> Floats:
        """Returns the length of W x of every action: [B, K].

        Args:
            roots: the matrices W [R, 1, D, D], or their diagonals [R, 1, D].
        """
        if roots.ndim == 3:
            return _lengths_of_diagonals(self, roots)
        context = like(self.context, roots)
        actions = like(self.actions, roots)
        dim = context.shape[1]
        size, num_actions, arm_dim = actions.shape
        if self.are_problems:
            matrices = roots[:, 0]
            found = actions @ np.swapaxes(matrices[:, :, dim:], 1, 2)
            of_context = (matrices[:, :, :dim] @ context[:, :, np.newaxis])[..., 0]
        else:
            (matrix,) = roots[0]
            flat = actions.reshape(size * num_actions, arm_dim)
            found = (flat @ matrix[:, dim:].T).reshape(size, num_actions, len(matrix))
            of_context = context @ matrix[:, :dim].T
        found += of_context[:, np.newaxis]
        return np.asarray(np.sqrt(np.einsum("bkd,bkd->bk", found, found)), np.float64)


Inputs = Contexts | Items


def like(features: Floats, weights: Floats) -> Floats:
    """Returns features in the dtype of weights; ValueError if they are too large for it."""
    return features if weights.dtype == features.dtype else in_dtype(features, weights.dtype)


def _lengths_of_diagonals(inputs: Inputs, roots: Floats) -> Floats:
    """Returns the length of W x of every action, with the diagonals of W [R, M, D]: [B, K]."""
    squares = inputs.like(roots).squared()
    return np.sqrt(squares.products(np.square(roots)))


class CentredContexts(NamedTuple):
    """The contexts of B rows, measured from a centre for each action. Each action has a model.

    Fields:
        context: [B, D].
        centres: [R, K, D].
        are_problems: whether each row has models, and centres, of its own.
    """

    context: Floats
    centres: Floats
    are_problems: bool

    def products(self, weights: Floats) -> Floats:
        """Returns w . (x - centre) of every action, with weights [R, K, D]: [B, K]."""
        found = np.empty((len(self.context), self.centres.shape[1]))
        for several in self._blocks():
            differences = self._differences(several, weights)
            found[:, several] = np.einsum("bkd,bkd->bk", differences, weights[:, several])
        return found

    def lengths(self, roots: Floats) -> Floats:
        """Returns the length of W (x - centre) of every action: [B, K].

        Args:
            roots: the matrices W [R, K, D, D], or their diagonals [R, K, D].
        """
        squares = np.empty((len(self.context), self.centres.shape[1]))
        for several in self._blocks():
            white = self._times(roots[:, several], self._differences(several, roots))
            squares[:, several] = np.einsum("bkd,bkd->bk", white, white)
        return np.sqrt(squares)

    def _times(self, roots: Floats, differences: Floats) -> Floats:
        """Returns W x of some actions, with x [B, k, D]: [B, k, D]."""
        if roots.ndim == 3:
            return np.asarray(differences * roots)
        if self.are_problems:
            return np.asarray((roots @ differences[..., np.newaxis])[..., 0])
        by_action = np.swapaxes(differences, 0, 1) @ np.swapaxes(roots[0], 1, 2)
        return np.swapaxes(by_action, 0, 1)

    def _differences(self, several: slice, weights: Floats) -> Floats:
        """Returns x - centre of some actions in the dtype of weights: [B, k, D]."""
        return like(self.context[:, np.newaxis] - self.centres[:, several], weights)

    def _blocks(self) -> Iterator[slice]:
        """Yields actions whose differences fit into memory."""
        step = max(1, SCRATCH // max(1, self.context.size))
        for start in range(0, self.centres.shape[1], step):
            yield slice(start, start + step)


class TrainingRows(NamedTuple):
    """n rows to learn from: actions that were chosen, and what they paid.

    Fields:
        features: [n, D], what the model of each action gets.
        action: [n].
        output: [n], which of the M models of its row each action has.
        reward: [n].
        context_dim: how many features are those of the context; the others are of the action.
        are_problems: whether row i is of problem i, which has models of its own.
    """

    features: Floats
    action: Indices
    output: Indices
    reward: Array
    context_dim: int
    are_problems: bool

    @property
    def context(self) -> Floats:
        """The features of the context: [n, G]."""
        return self.features[:, : self.context_dim]

    @property
    def actions(self) -> Floats:
        """The features of the chosen actions: [n, P]."""
        return self.features[:, self.context_dim :]

    def models(self, num_outputs: int) -> Indices:
        """Returns the number of each row's model among all R M models, for M outputs: [n]."""
        if not self.are_problems:
            return self.output
        return np.arange(len(self.output)) * num_outputs + self.output


class InputReader:
    """Reads what a model of rewards is given, whatever kind of context there is.

    An observation with the keys `global` [B, G] and `per_arm` [B, K, P] has features of actions.
    Then a model predicts the reward of each action from both, x = [global, per_arm]. Any other
    observation is a context [B, D], or has one in its entry `observation` beside a mask. Then each
    action has a model of its own. Nests of arrays are flattened and joined in their order.

    Args:
        observation_spec: of the environment.
        num_actions: the number of actions, K; None if the features of actions tell it.

    Raises:
        ValueError: the observation is not of numbers, or has features of another number of actions.

    >>> from bandit_envs import ArraySpec
    >>> spec = {"global": ArraySpec((2,), np.float32), "per_arm": ArraySpec((4, 3), np.float32)}
    >>> InputReader(spec).sizes(num_rows=1).num_features
    5
    """

    def __init__(self, observation_spec: Nest, num_actions: int | None = None) -> None:
        self.are_of_actions = shows_items(observation_spec)
        """Whether each action has features."""
        if not self.are_of_actions:
            if num_actions is None:
                raise ValueError("num_actions is None; expected the number of actions")
            self.num_actions = num_actions  #: K
            self._context = ContextReader(observation_spec)
            return
        self._items = ItemReader(observation_spec)
        self.num_actions = self._items.num_actions
        if num_actions not in (None, self.num_actions):
            expected = f"expected {self.num_actions}, as many as have features in the observation"
            raise ValueError(f"num_actions is {num_actions}; {expected}")

    def sizes(self, num_rows: int) -> ModelSizes:
        """Returns how many models there are, and of how many features."""
        if not self.are_of_actions:
            return ModelSizes(num_rows, self.num_actions, self._context.dim, None)
        items = self._items
        return ModelSizes(num_rows, self.num_actions, items.global_dim, items.arm_dim)

    def with_actions(self, num_actions: int) -> InputReader:
        """Returns a reader for so many actions."""
        copied = copy.copy(self)
        copied.num_actions = num_actions
        if self.are_of_actions:
            copied._items = self._items.with_actions(num_actions)
        return copied

    def read(self, observation: Nest, size: int, are_problems: bool = False) -> Inputs:
        """Returns the inputs of `size` rows.

        Raises:
            ValueError: the observation does not fit its spec, or has a number that is not finite.
        """
        if not self.are_of_actions:
            return Contexts(self._context.read(observation, size), are_problems)
        context, actions = self._items.read(observation, size)
        return Items(context, actions, are_problems)

    def read_chosen(
        self, observation: Nest, action: Indices, reward: Array, are_problems: bool = False
    ) -> TrainingRows:
        """Returns rows whose actions [n], or slates [n, S], were chosen and paid."""
        if not self.are_of_actions:
            features = self._context.read(observation, len(action))
            if action.ndim == 2:
                features = np.repeat(features, action.shape[1], axis=0)
            action = action.reshape(-1)
            output = action
            context_dim = self._context.dim
        else:
            features = self._items.read_chosen(observation, action)
            action = action.reshape(-1)
            output = np.zeros(len(action), np.intp)
            context_dim = self._items.global_dim
        return TrainingRows(features, action, output, reward.reshape(-1), context_dim, are_problems)
