"""Multinomial logistic regression of actions, by Newton's method on sums that merge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandit_envs.arrays import Floats
from bandit_envs.logged.features import flat_features_of
from bandit_envs.logged.joining import check_encodings
from bandit_envs.logged.log import BanditLog
from bandit_envs.policies.draws import softmax

MAX_WEIGHTS = 4096
"""A regression has at most so many weights, as Newton's method needs the square of them."""

MAX_STEPS = 100
CONVERGED = 1e-12  # of the squared Newton decrement
ADVICE = "scale the features, or give a larger penalty"
NUMBERS = 2**21  # of a table of all weights in some rows


@dataclasses.dataclass(frozen=True)
class MultinomialRegression:
    """The probabilities of actions in contexts x: proportional to exp(w_a . [1, x]).

    Args:
        actions: those that were logged; others have probability 0.
        weights: [A, 1 + d] of these actions.
        num_actions: K.
    """

    actions: NDArray[np.int64]
    weights: Floats
    num_actions: int

    def probabilities(self, log: BanditLog) -> Floats:
        """Returns the probabilities of all actions in the rows of a log: [n, K]."""
        table = np.zeros((len(log), self.num_actions))
        table[:, self.actions] = self._probabilities(log, _inputs(log))
        return table

    def sums(self, log: BanditLog) -> _Sums:
        """Returns the sums of the loss at the weights over the rows of a log."""
        size = self.weights.size
        found = _Sums(0.0, np.zeros(size), np.zeros((size, size)))
        rows = max(1, NUMBERS // size)
        for start in range(0, len(log), rows):
            found = found.merge(self._sums(log[start : start + rows]))
        return found

    def _probabilities(self, log: BanditLog, inputs: Floats) -> Floats:
        """Returns the probabilities of the logged actions: [n, A]."""
        scores = inputs @ self.weights.T
        if log.available is not None:
            scores[~log.available[:, self.actions]] = -np.inf
        return softmax(scores)

    def _sums(self, log: BanditLog) -> _Sums:
        inputs = _inputs(log)
        chances = self._probabilities(log, inputs)
        places = np.searchsorted(self.actions, log.action)
        taken = np.eye(len(self.actions))[places]
        outer = (chances[:, :, np.newaxis] * inputs[:, np.newaxis, :]).reshape(len(log), -1)
        hessian = -outer.T @ outer
        width = inputs.shape[1]
        for place in range(len(self.actions)):
            own = slice(place * width, (place + 1) * width)
            hessian[own, own] += (inputs * chances[:, place : place + 1]).T @ inputs
        return _Sums(
            loss=-float(np.log(chances[np.arange(len(log)), places]).sum()),
            gradient=((chances - taken).T @ inputs).reshape(-1),
            hessian=hessian,
        )


@dataclasses.dataclass(frozen=True)
class _Sums:
    """The loss of some rows, its gradient and its second derivatives. Those of parts merge."""

    loss: float
    gradient: Floats
    hessian: Floats

    def merge(self, other: _Sums) -> _Sums:
        """Returns the sums of the rows of both."""
        gradient = self.gradient + other.gradient
        return _Sums(self.loss + other.loss, gradient, self.hessian + other.hessian)

    def penalise(self, weights: Floats, penalty: float) -> _Sums:
        """Returns the sums with `penalty / 2` times the squared weights, but those of intercepts.

        A number that all intercepts share changes nothing. It is held where it is, by what is added
        to the second derivatives, so that these can be inverted.
        """
        shrunk = weights.copy()
        shrunk[:, 0] = 0.0
        is_intercept = np.zeros_like(weights)
        is_intercept[:, 0] = 1.0
        of_intercepts = is_intercept.reshape(-1)
        curvature = np.diag(penalty * (1.0 - of_intercepts))
        curvature += np.outer(of_intercepts, of_intercepts)
        return _Sums(
            loss=self.loss + 0.5 * penalty * float((shrunk**2).sum()),
            gradient=self.gradient + penalty * shrunk.reshape(-1),
            hessian=self.hessian + curvature,
        )


def fit_multinomial(batches: Iterable[BanditLog], penalty: float) -> MultinomialRegression:
    """Returns the regression of the actions of a log; each step takes a pass over its batches.

    It minimises the sum of -ln p(a_i | x_i), and `penalty / 2` times the squared weights but those
    of the intercepts.

    Raises:
        ValueError: there are no rows, or too many weights; or it has no unique weights, or does not
            converge.
    """
    model = _start(batches)
    step: NDArray[Any] = np.zeros_like(model.weights)
    last = np.inf
    for _ in range(MAX_STEPS):
        there = dataclasses.replace(model, weights=model.weights + step)
        sums = _Sums(0.0, np.zeros(step.size), np.zeros((step.size, step.size)))
        for batch in batches:
            sums = sums.merge(there.sums(batch))
        sums = sums.penalise(there.weights, penalty)
        if not sums.loss <= last + 1e-9 * abs(last if np.isfinite(last) else 0.0):
            step = 0.5 * step
            continue
        model = there
        last = sums.loss
        try:
            direction = np.linalg.solve(sums.hessian, -sums.gradient)
        except np.linalg.LinAlgError as error:
            problem = "propensities have no unique weights, as features are sums of others"
            raise ValueError(f"{problem}, or of very different sizes; {ADVICE}") from error
        step = direction.reshape(step.shape)
        if -float(sums.gradient @ direction) <= CONVERGED:
            return dataclasses.replace(model, weights=model.weights + step)
    raise ValueError(f"propensities have not converged in {MAX_STEPS} steps; {ADVICE}")


def _start(batches: Iterable[BanditLog]) -> MultinomialRegression:
    """Returns a regression of the logged actions whose weights are 0."""
    counts: NDArray[Any] = np.zeros(0, np.int64)
    width = 0
    for batch in check_encodings(batches):
        more = np.bincount(batch.action, minlength=batch.num_actions)
        counts = more if not len(counts) else counts + more
        width = _inputs(batch[:1]).shape[1] if len(batch) else width
    actions = np.flatnonzero(counts)
    if not len(actions):
        raise ValueError("the log has 0 rows; expected at least one")
    if len(actions) * width > MAX_WEIGHTS:
        found = f"{len(actions)} actions and {width - 1} features need {len(actions) * width}"
        advice = "expected fewer features, or a classifier of scikit-learn as the model"
        raise ValueError(f"{found} weights, more than {MAX_WEIGHTS}; {advice}")
    return MultinomialRegression(actions, np.zeros((len(actions), width)), len(counts))


def _inputs(log: BanditLog) -> Floats:
    """Returns 1 and the features of the rows: [n, 1 + d]."""
    return np.column_stack([np.ones(len(log)), flat_features_of(log)])
