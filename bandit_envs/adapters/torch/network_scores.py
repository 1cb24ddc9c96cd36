"""A network of PyTorch as fixed scores of actions, and a learner that finds it in a log."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from bandit_envs.adapters.torch.network import Network, by_action, find_network, import_networks
from bandit_envs.arrays import Floats, Rng
from bandit_envs.base.checks import check_integer, check_number, check_positive
from bandit_envs.base.extras import import_extra
from bandit_envs.logged.estimators.single_actions import Estimator, InversePropensityScoring
from bandit_envs.logged.features import features_of
from bandit_envs.logged.learners.fits.objectives import Objective
from bandit_envs.logged.learners.fits.policies import policy_of
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import require_numbered_actions, require_rows
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models.inputs import Inputs, ModelSizes
from bandit_envs.policies.models.value_model import FixedModel
from bandit_envs.policies.rules import Softmax
from bandit_envs.seeding import Seed

MAX_SEED = 2**63


@dataclasses.dataclass(frozen=True)
class NetworkScores(FixedModel):
    """Scores of a network of scaled features, such as `NetworkGradientLearner` finds.

        score_a(x) = f((x - m) / s)[a]    of a context x
        score_a(x) = f((x_a - m) / s)     of features x_a of each action

    It does not learn.

    Args:
        network: as for `Network`.
        width: as for `Network`.
        depth: as for `Network`.
        device: of PyTorch, such as "cpu" or "cuda".

    >>> NetworkScores(width=20).learns
    False
    """

    network: Any = None
    _: dataclasses.KW_ONLY
    width: int = 50
    depth: int = 1
    device: str = "cpu"

    is_random: ClassVar[bool] = True
    made_of_text = Network.made_of_text

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1)
        check_integer("depth", self.depth, 0)

    def initial(self, sizes: ModelSizes, rng: Rng) -> Any:
        """Returns a new network, whose features are not scaled.

        Raises:
            ModuleNotFoundError: PyTorch is not installed.
            TypeError, ValueError: `network` makes no network for inputs of these sizes.
        """
        return import_networks().make_networks(
            network=self._make_network,
            num_networks=1,
            num_inputs=sizes.num_features,
            num_outputs=sizes.num_outputs,
            optimizer=None,
            learning_rate=1.0,  # it is not used
            device=self.device,
            seed=int(rng.integers(MAX_SEED)),
        )

    def means(self, learned: Any, inputs: Inputs) -> Floats:
        return by_action(inputs, learned.predict(inputs.features()))

    def _make_network(self, num_inputs: int, num_outputs: int) -> Any:
        networks = import_networks()
        given = find_network(self.network)
        if given is None:
            given = networks.make_perceptron(num_inputs, num_outputs, self.width, self.depth)
        return networks.make_scaled(given, num_inputs, num_outputs)


class NetworkGradientLearner(Learner):
    """Climbs the estimated value of a softmax policy whose scores are those of a network.

        pi(a | x) proportional to exp(f(x)[a])

    It is `PolicyGradientLearner` with a network in the place of linear scores, and steps of Adam;
    of contexts, or of features of actions.

    Args:
        objective: as for `PolicyGradientLearner`.
        scores: the network.
        num_steps: of the ascent, each of the whole log.
        learning_rate: of Adam, above 0.
        penalty: of the squared weights, the weight decay of Adam; at least 0.
        model: of the rewards, as for `PolicyGradientLearner`.
        baseline: as for `PolicyGradientLearner`.
        variance_penalty: as for `PolicyGradientLearner`.

    Source: Joachims, Swaminathan & de Rijke, Deep learning with logged bandit feedback (2018).

    >>> NetworkGradientLearner(scores=NetworkScores(width=20)).streams
    False
    """

    def __init__(
        self,
        objective: Estimator | None = None,
        *,
        scores: NetworkScores | None = None,
        num_steps: int = 300,
        learning_rate: float = 0.01,
        penalty: float = 1e-4,
        model: object = None,
        baseline: float = 0.0,
        variance_penalty: float = 0.0,
    ) -> None:
        estimator = InversePropensityScoring() if objective is None else objective
        self._objective = Objective(estimator, variance_penalty)
        self._scores = NetworkScores() if scores is None else scores
        self._num_steps = check_integer("num_steps", num_steps, minimum=1)
        self._learning_rate = check_positive("learning_rate", learning_rate)
        self._penalty = check_number("penalty", penalty, 0.0)
        self._model = model
        self._baseline = check_number("baseline", baseline)

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        rule = Softmax(temperature=1.0, cooling=1.0)
        known = require_numbered_actions(require_rows(log))
        policy = policy_of(self._scores, rule, known, batch_size, seed)
        state = policy.get_state()
        self._climb(state.content.learned.model.modules[0], log)
        policy.set_state(state)
        return policy

    def _climb(self, network: Any, log: BanditLog) -> None:
        """Changes the parameters of a network so that the objective rises."""
        torch = import_extra("torch", "torch")
        climbed = self._objective.of_log(log, self._model, self._baseline)
        features = features_of(log)
        flat = features.reshape(-1, features.shape[-1])
        inputs = import_networks().scale_features(network, flat)
        shape = (len(log), log.num_actions)
        optimizer = torch.optim.Adam(
            network.parameters(), lr=self._learning_rate, weight_decay=self._penalty
        )
        for _ in range(self._num_steps):
            optimizer.zero_grad()
            outputs = network(inputs)
            scores = outputs.detach().cpu().numpy().astype(np.float64).reshape(shape)
            _, by_score = climbed(scores)
            downhill = torch.from_numpy(-by_score).to(outputs)
            outputs.backward(downhill.reshape(outputs.shape))
            optimizer.step()
        optimizer.zero_grad()


def make_network_gradient(
    objective: str = "ips",
    *,
    network: str | None = None,
    width: int = 50,
    depth: int = 1,
    num_steps: int = 300,
    learning_rate: float = 0.01,
    penalty: float = 1e-4,
    baseline: float = 0.0,
    variance_penalty: float = 0.0,
) -> NetworkGradientLearner:
    """Climbs the estimated value of a softmax policy with a network of PyTorch."""
    from bandit_envs.logged.registry import make_named_estimator  # noqa: PLC0415

    return NetworkGradientLearner(
        make_named_estimator(objective),
        scores=NetworkScores(network, width=width, depth=depth),
        num_steps=num_steps,
        learning_rate=learning_rate,
        penalty=penalty,
        baseline=baseline,
        variance_penalty=variance_penalty,
    )
