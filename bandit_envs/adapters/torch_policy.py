"""The base of all policies with networks of PyTorch, which is imported when one is made."""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bandit_envs.adapters.torch_memory import Memory
from bandit_envs.arrays import Floats, Indices, Rng
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.datasets.tables import import_extra
from bandit_envs.nests import Nest
from bandit_envs.policies.named_models import ModelEntry, find_users
from bandit_envs.policies.policy import Policy, PolicyOptions
from bandit_envs.seeding import generator
from bandit_envs.trajectories import TimeStep, Trajectory

if typing.TYPE_CHECKING:
    from bandit_envs.adapters.torch_networks import Networks

MAX_SEED = 2**63


class NetworkOptions(PolicyOptions, total=False):
    """The keyword arguments of `NeuralPolicy` that have one default for all of its subclasses."""

    network: Any
    width: int
    depth: int
    optimizer: Callable[..., Any] | None
    learning_rate: float
    learning_rate_decay: float
    max_gradient_norm: float
    minibatch_size: int
    memory_size: int
    initial_pulls: int
    device: str
    observation_spec: Nest


class NeuralOptions(NetworkOptions, total=False):
    """The keyword arguments of `NeuralPolicy`, which subclasses pass on."""

    train_every: int
    train_steps: int


class NeuralState(NamedTuple):
    """What a policy with networks knows."""

    networks: Networks
    memory: Memory
    counts: Indices  # [O], the rows learned of each output
    steps: int  # trajectories learned
    rng: Rng  # of all draws of learning
    extra: Nest  # what a subclass keeps


class NeuralPolicy(Policy):
    """A policy with a network that predicts the rewards, and learns again from what it remembers.

        r ~ f(x)[a]           of a context x [D]: an output for each action
        r ~ f(x_a)            of [global, per_arm] features x_a of each action: one output

    All rows teach the same network. The policy remembers the last `memory_size` rows. After every
    `train_every` trajectories, it takes `train_steps` steps of the optimizer, each with
    `minibatch_size` rows that are drawn from the memory with replacement:

        loss = mean over rows of (f(x)[a] - r)^2

    A subclass says how to choose. It asks `_predictions` for predicted rewards, and
    `_untried_first` to put actions first that were hardly tried.

    Args:
        network: a `torch.nn.Module` from inputs [n, D] to outputs [n, O], which is copied; or a
            function of D and O that returns one, such as the class of a module, so that each seed
            has other first parameters; or the "module:name" of one of these, as studies write it.
            None for a perceptron with rectified linear units.
        width: the units of each hidden layer of that perceptron.
        depth: the number of its hidden layers.
        optimizer: called with the parameters and `lr`, such as `torch.optim.Adam`; None for
            RMSProp with a decay of 0.9.
        learning_rate: of the optimizer.
        learning_rate_decay: step i = 0, 1, ... of a training has the learning rate divided by
            1 + learning_rate_decay * i.
        max_gradient_norm: longer gradients are shortened to this length.
        minibatch_size: rows of a step of the optimizer.
        train_every: trajectories from one training to the next.
        train_steps: steps of the optimizer in a training.
        memory_size: the rows to remember.
        initial_pulls: how many rows choose an action before its predictions count. Actions with
            features of their own have none.
        device: of PyTorch, such as "cpu" or "cuda".
        observation_spec: of the environment.
        **options: `num_actions`, `batch_size` and `seed`, as in `Policy`.

    Raises:
        ModuleNotFoundError: PyTorch is not installed.

    Source: Riquelme, Tucker & Snoek, Deep Bayesian Bandits Showdown (2018).
    """

    learns_by_row = False
    log_rows = 8  # with more, a log of a thousand decisions would train a network hardly at all
    _num_networks = 1

    def __init__(
        self,
        *,
        network: Any = None,
        width: int = 50,
        depth: int = 1,
        optimizer: Callable[..., Any] | None = None,
        learning_rate: float = 0.001,
        learning_rate_decay: float = 0.0,
        max_gradient_norm: float = 5.0,
        minibatch_size: int = 128,
        train_every: int = 1,
        train_steps: int = 1,
        memory_size: int = 10_000,
        initial_pulls: int = 2,
        device: str = "cpu",
        observation_spec: Nest,
        num_actions: int,
        batch_size: int = 1,
        seed: Any = None,
    ) -> None:
        self._network = _find_network(network)
        self._width = check_integer("width", width, 1)
        self._depth = check_integer("depth", depth, 0)
        self._optimizer = optimizer
        self._learning_rate = check_positive("learning_rate", learning_rate)
        self._decay = check_number("learning_rate_decay", learning_rate_decay, 0.0)
        self._max_gradient_norm = check_positive("max_gradient_norm", max_gradient_norm)
        self._minibatch_size = check_integer("minibatch_size", minibatch_size, 1)
        self._train_every = check_integer("train_every", train_every, 1)
        self._train_steps = check_integer("train_steps", train_steps, 1)
        self._memory_size = check_integer("memory_size", memory_size, 1)
        self._device = device
        num_actions = check_integer("num_actions", num_actions, minimum=1)
        self._features = ActionFeatures(observation_spec, num_actions)
        pulls = check_integer("initial_pulls", initial_pulls, 0)
        self._initial_pulls = 0 if self._features.are_of_actions else pulls
        rng = generator(seed)
        self._network_seed = int(rng.integers(MAX_SEED))
        super().__init__(num_actions=num_actions, batch_size=batch_size, seed=rng)

    @classmethod
    def arguments_for(cls, env: Any) -> dict[str, Any]:
        return {**super().arguments_for(env), "observation_spec": env.observation_spec()}

    def _state_key(self) -> dict[str, int | None]:
        networks: Networks = self._state.learned.networks
        return {**super()._state_key(), "num_parameters": networks.num_parameters()}

    def _initial(self) -> NeuralState:
        rng = np.random.default_rng(self._network_seed)
        networks = self._make_networks(int(rng.integers(MAX_SEED)))
        dim = self._features.dim
        return NeuralState(
            networks=networks,
            memory=Memory.empty(self._memory_size, dim, self._num_networks),
            counts=np.zeros(self._features.num_outputs, np.intp),
            steps=0,
            rng=rng,
            extra=self._initial_extra(networks),
        )

    def _learn(self, learned: NeuralState, trajectory: Trajectory) -> NeuralState:
        inputs, output = self._features.read_chosen(trajectory.observation, trajectory.action)
        reward = trajectory.reward.astype(np.float64)
        weight = self._draw_weights(learned.rng, len(reward))
        learned.counts[:] += np.bincount(output, minlength=len(learned.counts))
        after = learned._replace(
            memory=learned.memory.add(inputs, output, reward, weight),
            steps=learned.steps + 1,
            extra=self._extra_after_rows(learned, inputs, output, reward),
        )
        if after.steps % self._train_every != 0:
            return after
        self._train(after)
        return after._replace(extra=self._extra_after_training(after))

    def _train(self, learned: NeuralState) -> None:
        """Takes the steps of the optimizer of one training."""
        networks = import_networks()
        memory = learned.memory
        minibatches = []
        for _ in range(self._train_steps):
            places = memory.draw(learned.rng, self._minibatch_size)
            minibatch = networks.Minibatch(
                inputs=memory.inputs[places],
                output=memory.output[places],
                reward=memory.reward[places],
                weight=memory.weight[places],
            )
            minibatches.append(minibatch)
        learned.networks.train(
            minibatches=minibatches,
            decay=self._decay,
            max_gradient_norm=self._max_gradient_norm,
            seed=int(learned.rng.integers(MAX_SEED)),
        )

    def _make_networks(self, seed: int) -> Networks:
        """Returns new networks with an optimizer."""
        found: Networks = import_networks().make_networks(
            network=self._make_network if self._network is None else self._network,
            num_networks=self._num_networks,
            num_inputs=self._features.dim,
            num_outputs=self._features.num_outputs,
            optimizer=self._optimizer,
            learning_rate=self._learning_rate,
            device=self._device,
            seed=seed,
        )
        return found

    def _make_network(self, num_inputs: int, num_outputs: int) -> Any:
        """Returns the network that is used if none is given."""
        networks = import_networks()
        return networks.make_perceptron(num_inputs, num_outputs, self._width, self._depth)

    def _draw_weights(self, rng: Rng, size: int) -> Floats:
        """Returns the weights of new rows for each network: [size, Q]."""
        return np.ones((size, self._num_networks))

    def _initial_extra(self, networks: Networks) -> Nest:
        """Returns what a subclass keeps besides, before the first trajectory."""
        return ()

    def _extra_after_rows(
        self, learned: NeuralState, inputs: Floats, output: Indices, reward: Floats
    ) -> Nest:
        """Returns what a subclass keeps after rows with inputs [n, D], outputs [n], rewards [n]."""
        return learned.extra

    def _extra_after_training(self, learned: NeuralState) -> Nest:
        """Returns what a subclass keeps after the networks were trained."""
        return learned.extra

    def _read(self, time_step: TimeStep) -> Floats:
        """Returns the inputs of all rows: [B, D], or [B, K, D] with features of the actions."""
        return self._features.read(time_step.observation, self.batch_size)

    def _by_action(self, outputs: Floats) -> Floats:
        """Returns the outputs of a network, [B, O] or [B, K, 1], by action: [B, K]."""
        return outputs[..., 0] if self._features.are_of_actions else outputs

    def _untried_first(self, learned: NeuralState, values: Floats) -> Floats:
        """Returns values [B, K], infinite for actions that too few rows chose: `initial_pulls`."""
        if self._initial_pulls == 0:
            return values
        return np.where(learned.counts < self._initial_pulls, np.inf, values)

    def _predictions(self, learned: NeuralState, time_step: TimeStep) -> Floats:
        """Returns the predicted reward of every action: [B, K]."""
        return self._by_action(learned.networks.predict(self._read(time_step)))


class NetworkEntry(ModelEntry):
    """A class of networks, or a function that makes one."""

    what = "network"


def _find_network(network: Any) -> Any:
    """Returns what a `module:name` is; of all else, the network itself."""
    if isinstance(network, str) and ":" in network:
        return find_users(NetworkEntry, network).make
    return network


def import_networks() -> ModuleType:
    """Returns the module that needs PyTorch, or raises an error that names the extra with it."""
    import_extra("torch", "torch")
    from bandit_envs.adapters import torch_networks  # noqa: PLC0415

    return torch_networks
