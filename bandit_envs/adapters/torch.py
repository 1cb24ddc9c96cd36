"""Policies whose models of the rewards are networks of PyTorch."""

from __future__ import annotations

import typing

import numpy as np

from bandit_envs.adapters.torch_policy import (
    NetworkOptions,
    NeuralOptions,
    NeuralPolicy,
    NeuralState,
    import_networks,
)
from bandit_envs.arrays import Floats, Indices, Rng
from bandit_envs.base.checks import (
    MAX_PARAMETER,
    MIN_STD,
    check_integer,
    check_number,
    check_positive,
)
from bandit_envs.policies.draws import draw_normal, largest_values, uniform
from bandit_envs.policies.full_posterior import LinearPosteriors
from bandit_envs.policies.index_policy import IndexPolicy
from bandit_envs.policies.thompson import ThompsonSamplingPolicy
from bandit_envs.trajectories import TimeStep

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch_networks import Networks


class NeuralEpsilonGreedyPolicy(IndexPolicy, NeuralPolicy):
    """Chooses the action whose reward a network predicts largest, or with probability epsilon any.

        argmax_a  f(x)[a]    with probability 1 - epsilon

    Args:
        epsilon: the probability of choosing any action, all equally likely; from 0 to 1.
        **options: of `NeuralPolicy`, such as `network`, and of `Policy`.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), there called RMS.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> NeuralEpsilonGreedyPolicy(0.1, observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(self, epsilon: float, **options: typing.Unpack[NeuralOptions]) -> None:
        self._epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        super().__init__(**options)

    def _scores(self, learned: NeuralState, time_step: TimeStep) -> Floats:
        return self._untried_first(learned, self._predictions(learned, time_step))


class NeuralGradientPolicy(NeuralPolicy):
    """A policy that knows how uncertain predictions are by the gradients of its network.

        variance(a) = sum_p g_p(a)^2 / u_p,    g(a) = gradient of f(x)[a] by the parameters

        u_p = tikhonov_weight + sum over learned rows of g_p(A)^2

    That is the variance of LinUCB with gradients as features, and only the diagonal of its matrix.
    The gradient of a row is the one when it is learned; what is trained later does not change u.

    A subclass says how to choose. It asks `_predictions_and_deviations`.

    Args:
        alpha: how far to explore, in standard deviations; at least 0.
        tikhonov_weight: the weight of the regularisation, from 1e-37 to 1e37.
        **options: of `NeuralPolicy`, such as `network`, and of `Policy`.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        tikhonov_weight: float = 0.01,
        **options: typing.Unpack[NeuralOptions],
    ) -> None:
        self._alpha = check_number("alpha", alpha, 0.0, MAX_PARAMETER)
        self._tikhonov_weight = check_positive(
            "tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER
        )
        super().__init__(**options)

    def _initial_extra(self, networks: Networks) -> Floats:
        """Returns u: [P]."""
        return np.full(networks.num_parameters(), self._tikhonov_weight)

    def _extra_after_rows(
        self, learned: NeuralState, inputs: Floats, output: Indices, reward: Floats
    ) -> Floats:
        return np.add(learned.extra, learned.networks.squared_gradients(inputs, output))

    def _predictions_and_deviations(
        self, learned: NeuralState, time_step: TimeStep
    ) -> tuple[Floats, Floats]:
        """Returns the predicted reward of every action and its standard deviation: [B, K] each."""
        inputs = self._read(time_step)
        predictions = self._by_action(learned.networks.predict(inputs))
        variances = self._by_action(learned.networks.variances(inputs, learned.extra))
        return predictions, np.sqrt(variances)


class NeuralUCBPolicy(IndexPolicy, NeuralGradientPolicy):
    """Chooses the action with the largest upper confidence bound of a network's prediction.

        argmax_a  f(x)[a] + alpha * sqrt(sum_p g_p(a)^2 / u_p)

    with the gradients g and the sums u of `NeuralGradientPolicy`. In the paper's notation, alpha is
    gamma and tikhonov_weight is lambda times the width m. In that of the authors' code, alpha is
    sqrt(lambda * nu) and tikhonov_weight is lambda.

    Args:
        alpha: how far to explore, in standard deviations; at least 0.
        tikhonov_weight: the weight of the regularisation, from 1e-37 to 1e37.
        **options: of `NeuralPolicy`, such as `network`, and of `Policy`.

    Source: Zhou, Li & Gu, Neural Contextual Bandits with UCB-based Exploration (2020), algorithm 1
    with a diagonal matrix, as in the authors' code.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> NeuralUCBPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def _scores(self, learned: NeuralState, time_step: TimeStep) -> Floats:
        predictions, deviations = self._predictions_and_deviations(learned, time_step)
        return self._untried_first(learned, predictions + self._alpha * deviations)


class NeuralThompsonSamplingPolicy(ThompsonSamplingPolicy, NeuralGradientPolicy):
    """Draws a reward of every action around a network's prediction and chooses the largest.

        argmax_a  v[a],    v[a] ~ N(f(x)[a], alpha^2 sum_p g_p(a)^2 / u_p)

    with the gradients g and the sums u of `NeuralGradientPolicy`.

    Args:
        alpha: the scale of the standard deviations, at least 0; 0 is greedy.
        tikhonov_weight: the weight of the regularisation, from 1e-37 to 1e37.
        **options: of `NeuralPolicy`, such as `network`, and of `Policy`.

    Source: Zhang, Zhou, Li & Gu, Neural Thompson Sampling (2021), algorithm 1 with a diagonal
    matrix.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> NeuralThompsonSamplingPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def _draw_values(self, rng: Rng, learned: NeuralState, time_step: TimeStep) -> Floats:
        predictions, deviations = self._predictions_and_deviations(learned, time_step)
        values = draw_normal(rng, predictions, self._alpha * deviations)
        return self._untried_first(learned, values)


class NeuralLinearPolicy(ThompsonSamplingPolicy, NeuralPolicy):
    """Draws a linear model of the network's last hidden layer, and chooses what it predicts best.

        argmax_a  beta[a] . z(x),    z(x) = what the last linear layer of f gets

        sigma^2[a] ~ InvGamma(a0 + n / 2, b0 + loss / 2),    beta[a] ~ N(mu, sigma^2[a] A^-1)

        A = sum z z^T + tikhonov_weight I,    mu = A^-1 sum r z
        loss = sum (r - mu . z)^2 + tikhonov_weight |mu|^2

    with the sums over the n rows of the action. Every row and action has a draw of its own. If
    actions have features, there is one model, beta . z(x_a), and a draw for every row. After each
    training of the network, the sums start anew from all rows in the memory.

    Args:
        a0: the shape of the variance's prior, above 0.
        b0: its scale, above 0.
        tikhonov_weight: the precision of the coefficients' prior, in units of 1 / sigma^2.
        train_every: trajectories from one training to the next.
        train_steps: steps of the optimizer in a training.
        **options: of `NeuralPolicy`, and of `Policy`. A `network` must end in a `torch.nn.Linear`.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), NeuralLinear.

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> NeuralLinearPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        a0: float = 6.0,
        b0: float = 6.0,
        tikhonov_weight: float = 0.25,
        *,
        train_every: int = 50,
        train_steps: int = 50,
        **options: typing.Unpack[NetworkOptions],
    ) -> None:
        self._a0 = check_positive("a0", a0, MIN_STD, MAX_PARAMETER)
        self._b0 = check_positive("b0", b0, MIN_STD, MAX_PARAMETER)
        self._tikhonov_weight = check_positive(
            "tikhonov_weight", tikhonov_weight, MIN_STD, MAX_PARAMETER
        )
        super().__init__(train_every=train_every, train_steps=train_steps, **options)

    def _initial_extra(self, networks: Networks) -> LinearPosteriors:
        dim = networks.represent(np.zeros((1, self._features.dim))).shape[1]
        num_models = self._features.num_outputs
        return LinearPosteriors.initial(num_models, dim, self._tikhonov_weight)

    def _extra_after_rows(
        self, learned: NeuralState, inputs: Floats, output: Indices, reward: Floats
    ) -> LinearPosteriors:
        posteriors: LinearPosteriors = learned.extra
        hidden = learned.networks.represent(inputs)
        posteriors.update(output, hidden, reward, self._tikhonov_weight)
        return posteriors

    def _extra_after_training(self, learned: NeuralState) -> LinearPosteriors:
        memory = learned.memory
        posteriors = self._initial_extra(learned.networks)
        hidden = learned.networks.represent(memory.inputs[: memory.size])
        output = memory.output[: memory.size].astype(np.intp)
        reward = memory.reward[: memory.size].astype(np.float64)
        posteriors.update(output, hidden, reward, self._tikhonov_weight)
        return posteriors

    def _draw_values(self, rng: Rng, learned: NeuralState, time_step: TimeStep) -> Floats:
        posteriors: LinearPosteriors = learned.extra
        hidden = learned.networks.represent(self._read(time_step))
        if self._features.are_of_actions:
            return posteriors.draw_shared(rng, hidden, self._a0, self._b0)
        return self._untried_first(learned, posteriors.draw(rng, hidden, self._a0, self._b0))


class EnsemblePolicy(NeuralPolicy):
    """Draws one of several networks for every row, and chooses the action that it predicts best.

        argmax_a  f_i(x)[a],    i uniform in 1..num_networks

    Each network learns from a sample of its own: from a row with probability `row_probability`. So
    the probability of an action is the share of the networks that it is best for.

    Args:
        num_networks: how many networks.
        row_probability: the probability that a network learns from a row, above 0 and at most 1.
        **options: of `NeuralPolicy`, and of `Policy`. A `network` must be a function that returns
            modules, as the networks must differ.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018), BootRMS; Osband et al.,
    Deep Exploration via Bootstrapped DQN (2016).

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> EnsemblePolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(
        self,
        num_networks: int = 3,
        row_probability: float = 0.95,
        **options: typing.Unpack[NeuralOptions],
    ) -> None:
        self._num_networks = check_integer("num_networks", num_networks, 1)
        self._row_probability = check_positive("row_probability", row_probability, maximum=1.0)
        super().__init__(**options)

    def _draw_weights(self, rng: Rng, size: int) -> Floats:
        drawn = rng.random((size, self._num_networks))
        return (drawn < self._row_probability).astype(np.float64)

    def _probabilities(self, learned: NeuralState, time_step: TimeStep) -> Floats:
        inputs = self._read(time_step)
        available = self._available(time_step.observation)
        table = np.zeros(self._table_shape)
        for index in range(self._num_networks):
            predictions = self._by_action(learned.networks.predict(inputs, index))
            values = self._untried_first(learned, predictions)
            if available is not None:
                values = np.where(available, values, -np.inf)
            _, largest = largest_values(values)
            table += uniform(values == largest)
        return table / self._num_networks


class DropoutPolicy(ThompsonSamplingPolicy, NeuralPolicy):
    """Drops units of a network at random, also when it chooses the action that is predicted best.

        argmax_a  f'(x)[a],    f' = f without the units that were drawn

    Other units are dropped for each row, and for each action with features of its own.

    Args:
        dropout: the probability that a unit of the perceptron that is made without `network` is
            dropped; above 0 and below 1.
        **options: of `NeuralPolicy`, and of `Policy`. A `network` must have a layer such as
            `torch.nn.Dropout`.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018); Gal & Ghahramani,
    Dropout as a Bayesian Approximation (2016).

    >>> from bandit_envs import ArraySpec
    >>> spec = ArraySpec((3,), np.float32)
    >>> DropoutPolicy(observation_spec=spec, num_actions=4).num_actions
    4
    """

    def __init__(self, dropout: float = 0.2, **options: typing.Unpack[NeuralOptions]) -> None:
        self._dropout = check_positive("dropout", dropout, maximum=0.99)
        super().__init__(**options)

    def _make_network(self, num_inputs: int, num_outputs: int) -> typing.Any:
        make = import_networks().make_perceptron
        return make(num_inputs, num_outputs, self._width, self._depth, self._dropout)

    def _initial_extra(self, networks: Networks) -> tuple[()]:
        if not networks.has_dropout():
            raise ValueError("network has no layer such as torch.nn.Dropout; expected one")
        return ()

    def _draw_values(self, rng: Rng, learned: NeuralState, time_step: TimeStep) -> Floats:
        outputs = learned.networks.predict_with_dropout(rng, self._read(time_step))
        return self._untried_first(learned, self._by_action(outputs))
