"""Models and rules of contextual policies: the package's, two of users, and how they are taught."""

import dataclasses

import numpy as np

from bandit_envs import ContextualPolicy, StationaryStochasticPerArmPyEnvironment
from bandit_envs.environments import logistic_context
from bandit_envs.nests import map_structure
from bandit_envs.policies.models import (
    BayesianRidge,
    FourierFeatures,
    HybridRidge,
    Interactions,
    Logistic,
    Ridge,
    ValueModel,
)
from bandit_envs.policies.rules import (
    AdaptiveGreedy,
    EliminationRegCB,
    EliminationSquareCB,
    EpsilonGreedy,
    FirstPulls,
    Greedy,
    IndexRule,
    Mixed,
    OptimisticRegCB,
    Softmax,
    SquareCB,
    ThompsonSampling,
    UpperBound,
)
from bandit_envs.rewards import LogisticReward
from bandit_envs.sampling import Normal
from bandit_envs.specs import ArraySpec
from bandit_envs.trajectories import Trajectory, restart, termination

G, P, K, B = 3, 4, 5, 6  # features of the context and of actions, actions, rows
D = G + P

CONTEXT = ArraySpec((D,), np.float64)
ITEMS = {"global": ArraySpec((G,), np.float64), "per_arm": ArraySpec((K, P), np.float64)}

MODELS = {
    "ridge": Ridge(),
    "forgetting ridge": Ridge(gamma=0.9),
    "ridge from the mean": Ridge(gamma=0.95, initial_value="mean"),
    "ridge from 0.7": Ridge(initial_value=0.7),
    "ridge without memory": Ridge(gamma=0.0),
    "diagonal ridge": Ridge(gamma=0.99, initial_value=0.7, diagonal=True),
    "ridge of float32": Ridge(gamma=0.9, dtype="float32"),
    "ridge with an intercept": Ridge(gamma=0.9, intercept=True),
    "diagonal ridge with an intercept": Ridge(
        initial_value="mean", diagonal=True, dtype="float32", intercept=True
    ),
    "logistic": Logistic(initial_value=0.2),
    "logistic with an intercept": Logistic(intercept=True),
    "logistic of float32": Logistic(dtype="float32"),
    "bayesian ridge": BayesianRidge(initial_value=0.5),
    "diagonal bayesian ridge of float32": BayesianRidge(diagonal=True, dtype="float32"),
    "hybrid ridge": HybridRidge(initial_value=0.3),
    "hybrid ridge with an intercept": HybridRidge(intercept=True),
    "products": Interactions(Ridge(0.9, intercept=True)),
    "fourier ridge": FourierFeatures(Ridge(0.9), num_features=16),
    "fourier logistic": FourierFeatures(Logistic(), num_features=16, smoothness=1.5),
}
"""Every model of the package that needs NumPy alone and learns."""

RULES = {
    "greedy": Greedy(),
    "epsilon greedy": EpsilonGreedy(0.2, decay=0.99, smallest_epsilon=0.1),
    "upper bound": UpperBound(),
    "thompson sampling": ThompsonSampling(),
    "softmax": Softmax(),
    "square cb": SquareCB(),
    "elimination square cb": EliminationSquareCB(),
    "optimistic reg cb": OptimisticRegCB(),
    "elimination reg cb": EliminationRegCB(),
    "adaptive greedy": AdaptiveGreedy(window=7),
    "first pulls": FirstPulls(Softmax(), 3),
    "mixed": Mixed(FirstPulls(SquareCB(gamma_exponent=0.3), 2), 0.1),
}
"""Every rule of the package that such models can serve."""


@dataclasses.dataclass(frozen=True)
class UsersModel(ValueModel):
    """A user's: the mean reward of the rows with the same signs of features, in each problem."""

    weight: float = 1.0

    can_have_rows = True

    def initial(self, sizes, rng):
        cells = np.zeros((sizes.num_rows, sizes.num_outputs, 2**sizes.num_features))
        return {"counts": cells, "totals": cells.copy()}

    def learn(self, learned, rows):
        row = np.arange(len(rows.action)) if rows.are_problems else 0
        place = (row, rows.output, self._cell(rows.features))
        np.add.at(learned["counts"], place, 1.0)
        np.add.at(learned["totals"], place, rows.reward)
        return learned

    def means(self, learned, inputs):
        totals = self._of(learned["totals"], inputs)
        return totals / (self._of(learned["counts"], inputs) + self.weight)

    def interval(self, learned, inputs, radius):
        means = self.means(learned, inputs)
        widths = radius / np.sqrt(self._of(learned["counts"], inputs) + self.weight)
        return means - widths, means + widths

    def draw(self, rng, learned, inputs, scale):
        lower, upper = self.interval(learned, inputs, scale)
        return rng.normal(0.5 * (lower + upper), 0.5 * (upper - lower))

    def _of(self, table, inputs):
        cell = self._cell(inputs.features()).reshape(len(inputs.context), -1)
        row = np.arange(len(cell))[:, None] if inputs.are_problems else 0
        return table[row, np.arange(table.shape[1]), cell]

    def _cell(self, features):
        return (features > 0) @ 2 ** np.arange(features.shape[-1])


@dataclasses.dataclass(frozen=True)
class UsersRule(IndexRule):
    """A user's: the best prediction, and any action with a probability that decays."""

    decay: float = 0.01

    def index(self, seen):
        return seen.means()

    def exploration(self, seen):
        return 1.0 / (1.0 + self.decay * seen.num_rewards)


def needs_items(model):
    """Returns whether a model is for features of actions alone."""
    return isinstance(model, (HybridRidge, Interactions))


def kinds_of_context(model):
    """Returns the specs of observations that a model can read, by their names."""
    return {"items": ITEMS} if needs_items(model) else {"context": CONTEXT, "items": ITEMS}


def make_clicks(items, batch_size, seed):
    """Returns an environment with contexts, or with features of actions, and rewards of 0 and 1."""
    sizes = {"batch_size": batch_size, "seed": seed}
    if not items:
        return logistic_context(num_actions=4, context_dim=3, **sizes)
    clicks = LogisticReward(np.linspace(-2.0, 2.0, 5))
    return StationaryStochasticPerArmPyEnvironment(Normal(2), Normal(3), 4, clicks, **sizes)


def make_policy(model, rule, spec=CONTEXT, batch_size=B, **options):
    """Returns a policy of K actions."""
    sizes = {"observation_spec": spec, "num_actions": K, "batch_size": batch_size}
    return ContextualPolicy(model, rule, **{**sizes, "seed": 0, **options})


def observe(rng, spec, batch_size=B):
    """Returns a random observation; of the actions in a mask, about half are available."""

    def draw(leaf):
        shape = (batch_size, *leaf.shape)
        if leaf.dtype != np.bool_:
            return rng.normal(size=shape)
        mask = rng.random(shape) < 0.5
        mask[:, 0] |= ~mask.any(axis=1)
        return mask

    return map_structure(draw, spec)


def features_of(observation):
    """Returns x of every action: [B, K, D]."""
    if not isinstance(observation, dict):
        return np.repeat(observation[:, np.newaxis], K, axis=1)
    repeated = np.repeat(observation["global"][:, np.newaxis], K, axis=1)
    return np.concatenate((repeated, observation["per_arm"]), axis=2)


def teach(policy, observation, action, reward, rows=None):
    """Lets a policy learn from a step."""
    before = restart(observation, len(action))
    after = termination(observation, reward, np.float64)
    policy.learn(Trajectory.from_transition(before, np.asarray(action), after), rows)


class Lessons:
    """Random steps that a policy was taught, and those of them that each of its models learned.

    Args:
        policy: that is taught.
        spec: of its observations.
        steps: how many.
    """

    def __init__(self, policy, spec, steps=20, seed=1, binary=False):
        rng = np.random.default_rng(seed)
        self.items = isinstance(spec, dict)
        features, actions, rewards = [], [], []
        for _ in range(steps):
            observation = observe(rng, spec, policy.batch_size)
            action = rng.integers(K, size=policy.batch_size)
            reward = rng.random(policy.batch_size)
            if binary:
                reward = np.round(reward)
            teach(policy, observation, action, reward)
            features.append(features_of(observation)[np.arange(policy.batch_size), action])
            actions.append(action)
            rewards.append(reward)
        self.features = np.concatenate(features)  # [n, D]
        self.actions = np.concatenate(actions)
        self.rewards = np.concatenate(rewards)
        self.ages = np.repeat(np.arange(steps)[::-1], policy.batch_size)

    def of(self, action):
        """Returns x, r and ages of the rows that the model of an action has learned from."""
        chosen = np.full(len(self.actions), True) if self.items else self.actions == action
        return self.features[chosen], self.rewards[chosen], self.ages[chosen]


def ridge(x, rewards, weights=1.0, penalty=1.0):
    """Returns theta and A^-1 of a ridge regression of weighted rows, by normal equations."""
    weights = np.broadcast_to(weights, len(x))
    matrix = penalty * np.eye(x.shape[1])
    moments = np.zeros(x.shape[1])
    for row, reward, weight in zip(x, rewards, weights):
        matrix += weight * np.outer(row, row)
        moments += weight * reward * row
    inverse = np.linalg.inv(matrix)
    return inverse @ moments, inverse


def state_of(policy):
    """Returns what a policy has learned: of its model, of its rule, and from how many rewards."""
    return policy.get_state().content.learned
