"""The interface of rules, which choose actions by what a model predicts."""

from __future__ import annotations

import abc
import sys
import types
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bandit_envs.arrays import Floats, Mask, Rng, check_array
from bandit_envs.base.checks import short_repr
from bandit_envs.base.made_with import Parameters
from bandit_envs.policies.draws import (
    argmax_random_ties,
    available_only,
    check_exploration,
    draw_indices,
    explore,
    hope_for_best,
    index_probabilities,
)
from bandit_envs.policies.models.inputs import Inputs, Items
from bandit_envs.policies.models.value_model import ValueModel
from bandit_envs.policies.policy import Actions


class Predictions(NamedTuple):
    """What a model predicts in a step. It computes only what a rule asks for.

    Fields:
        model: that predicts.
        learned: what the model knows.
        inputs: of B rows.
        num_rewards: from how many rewards the model has learned: a number; or [B], if rows are
            problems with models of their own.
        state: of the rule, as its `initial` and `after` return it.
        shape: (B, K).
        available: [B, K], which actions may be chosen; None for all, or if nothing is drawn.
    """

    model: ValueModel
    learned: Any
    inputs: Inputs
    num_rewards: float | Floats
    state: Any
    shape: tuple[int, int]
    available: Mask | None = None

    def means(self) -> Floats:
        """Returns the predicted reward of every action: [B, K]."""
        return self.checked("means", self.model.means(self.learned, self.inputs))

    def scores(self) -> Floats:
        """Returns numbers that order the actions, at least as finely as means: [B, K]."""
        return self.checked("scores", self.model.scores(self.learned, self.inputs))

    def interval(self, radius: float | Floats) -> tuple[Floats, Floats]:
        """Returns bounds, `radius` standard deviations from the prediction: two [B, K].

        Args:
            radius: a number, or one for each row, [B].
        """
        if isinstance(radius, np.ndarray):
            radius = radius[:, np.newaxis]
        lower, upper = self.model.interval(self.learned, self.inputs, radius)
        return self.checked("interval", lower), self.checked("interval", upper)

    def quantile(self, level: float) -> Floats:
        """Returns a quantile of the mean reward of every action: [B, K]."""
        return self.checked("quantile", self.model.quantile(self.learned, self.inputs, level))

    def draw(self, rng: Rng, scale: float = 1.0) -> Floats:
        """Returns a draw of the scores of every action from the posterior: [B, K].

        Nothing is drawn for places behind the last item of all rows, so that draws do not depend on
        how many places there are.
        """
        num_places = self.num_places
        inputs = self.inputs
        if isinstance(inputs, Items):
            inputs = inputs._replace(actions=inputs.actions[:, :num_places])
        drawn = self.model.draw(rng, self.learned, inputs, scale)
        table = self.checked("draw", drawn, (self.shape[0], num_places))
        missing = self.shape[1] - num_places
        return np.pad(table, ((0, 0), (0, missing))) if missing else table

    @property
    def num_places(self) -> int:
        """Up to which place some row has an item that is available; K if places are actions."""
        num_actions = self.shape[1]
        are_places = isinstance(self.inputs, Items) and not self.model.has_own_weights
        if self.available is None or not are_places:
            return num_actions
        shown = np.flatnonzero(self.available.any(axis=0))
        return int(shown[-1]) + 1

    def members(self) -> Floats:
        """Returns what each of N equally likely models predicts: [N, B, K]."""
        tables = self.model.members(self.learned, self.inputs)
        for table in tables:
            self.checked("members", table)
        return tables

    def checked(
        self, method: str, table: Floats, expected: tuple[int, int] | None = None
    ) -> Floats:
        """Returns a table; ValueError if a user's model or rule returned one of another shape.

        Args:
            method: that returned it.
            table: that was returned.
            expected: its shape; None for [B, K].
        """
        wanted = self.shape if expected is None else expected
        if isinstance(table, np.ndarray) and table.shape == wanted:
            return table
        shape = np.shape(table)
        found = short_repr(table) if shape == wanted else f"shape {shape}"
        raise ValueError(f"{method} returned {found}; expected an array of shape {wanted}")


class Rule(Parameters, abc.ABC):
    """Chooses actions by what a model predicts: it defines `probabilities`, or else `select`.

        select(rng, seen, available)         -> [B]       default: drawn from the probabilities
        probabilities(seen, available)       -> [B, K]    default: unknown
        rank(rng, seen)                      -> [B, K]    default: none, so no slates
        initial(num_rows, num_actions)       -> state     default: none
        after(seen, available, action)       -> state     once for each row that is learned

    `seen` is `Predictions`; `available` [B, K] says which actions may be chosen, None for all.
    Write a rule as a frozen dataclass of its parameters, as a model.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class ProbabilityMatching(Rule):
    ...     def probabilities(self, seen, available):
    ...         weights = np.maximum(seen.means(), 1e-6)
    ...         return weights / weights.sum(axis=1, keepdims=True)
    """

    needs: ClassVar[str] = "means"
    """The ability that it needs of a model: "means", "interval", "quantile" or "draw"."""

    reward_range: tuple[float, float] | None = None
    """The smallest and the largest reward that it takes, if that matters to the rule."""

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        """Returns an available action for every row: [B]."""
        table = seen.checked("probabilities", self.probabilities(seen, available))
        check_array("probabilities returned", table, seen.shape)  # no NaN
        return draw_indices(rng, available_only(table, available))

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        """Returns the probability of every action: [B, K]. Those not available do not count."""
        raise NotImplementedError(f"{type(self).__name__} has no closed form")

    def rank(self, rng: Rng, seen: Predictions) -> Floats:
        """Returns numbers that order actions, available or not: [B, K]. A slate has the largest."""
        raise NotImplementedError(f"{type(self).__name__} has no index of actions")

    def scores(self, seen: Predictions) -> Floats:
        """Returns what orders the actions without a draw: [B, K]; by default, the means."""
        return seen.means()

    def initial(self, num_rows: int, num_actions: int) -> Any:
        """Returns what the rule keeps, before the first reward: a nest of arrays [R, ...].

        Args:
            num_rows: R, the rows that are problems of their own; 1 if all rows share the models.
            num_actions: K.
        """
        return ()

    def after(self, seen: Predictions, available: Mask | None, action: Actions) -> Any:
        """Returns what the rule keeps after n rows were paid, before the model learns from them.

        Args:
            seen: the predictions for these rows.
            available: [n, K].
            action: [n], what was chosen.
        """
        return seen.state

    @property
    def keeps_state(self) -> bool:
        """Whether `after` does anything."""
        return type(self).after is not Rule.after

    @property
    def counts_rewards(self) -> bool:
        """Whether the number of rewards matters: then they count for fixed models, too."""
        return False

    def knows_probabilities(self, model: ValueModel) -> bool:
        """Returns whether the probabilities have a closed form with this model."""
        return type(self).probabilities is not Rule.probabilities

    def check_rank(self) -> None:
        """Raises TypeError if the rule cannot order actions: then it chooses no slates."""
        if type(self).rank is not Rule.rank and not self.keeps_state:
            return
        advice = "UpperBound, ThompsonSampling, or another rule whose index orders actions"
        raise TypeError(f"{type(self).__name__} chooses no slates; use {advice}")

    def check(self, model: ValueModel) -> None:
        """Raises TypeError if the model cannot do what the rule needs."""
        if self.needs in model.abilities():
            return
        others = model.advice(self.needs) or ", ".join(_models_with(self.needs, model))
        advice = f"; use {others}" if others else ""
        abilities = ", ".join(sorted(model.abilities()))
        problem = f"{type(self).__name__} needs {self.needs} of a model"
        raise TypeError(f"{problem}; {type(model).__name__} has {abilities}{advice}")


class IndexRule(Rule):
    """Chooses an available action with the largest index; ties are broken uniformly at random.

    An action of which a model knows nothing has an index above all rewards, as of 1e150. It ties
    with the best of the others. An infinite index comes first.

    A subclass implements `index`. If it overrides `exploration`, it chooses any available action,
    all equally likely, with that probability; or, where slates are shown, any slate.
    """

    @abc.abstractmethod
    def index(self, seen: Predictions) -> Floats:
        """Returns the index of every action, available or not: [B, K], above -inf."""

    def exploration(self, seen: Predictions) -> float | Floats:
        """Returns the probability of choosing any action: a number, or one for each row, [B]."""
        return 0.0

    def select(self, rng: Rng, seen: Predictions, available: Mask | None) -> Actions:
        index = hope_for_best(seen.checked("index", self.index(seen)), available)
        best = argmax_random_ties(rng, index, available)
        epsilon = check_exploration("exploration", self.exploration(seen), len(index))
        if isinstance(epsilon, float) and epsilon == 0.0:
            return best
        return explore(rng, best, epsilon, available, index.shape[1])

    def scores(self, seen: Predictions) -> Floats:
        return self.index(seen)

    def rank(self, rng: Rng, seen: Predictions) -> Floats:
        index = self.index(seen)
        epsilon = check_exploration("exploration", self.exploration(seen), len(index))
        if isinstance(epsilon, float) and epsilon == 0.0:
            return index
        explores = rng.random(len(index)) < epsilon
        return np.where(explores[:, np.newaxis], 0.0, index)  # all of a row are ties

    def probabilities(self, seen: Predictions, available: Mask | None) -> Floats:
        index = hope_for_best(seen.checked("index", self.index(seen)), available)
        epsilon = check_exploration("exploration", self.exploration(seen), len(index))
        return index_probabilities(index, epsilon, available)


def _models_with(ability: str, model: ValueModel) -> list[str]:
    """Returns the names of models with an ability: beside a model, or among those of NumPy.

    A class whose parameters decide which abilities it has, such as `Estimators`, is not named.
    """
    own = type(model).__module__
    found: dict[str, None] = {}
    for module in (own, own.rpartition(".")[0], "bandit_envs.policies.models"):
        members = vars(sys.modules[module]) if module in sys.modules else {}
        for name, member in members.items():
            if not _is_model(member) or member.abilities is not ValueModel.abilities:
                continue
            if getattr(member, ability) is not getattr(ValueModel, ability):
                found[name] = None
    return list(found)


def _is_model(value: Any) -> bool:
    """Returns whether a value is a class of models. To Python 3.10, `list[int]` is a class, too."""
    is_class = isinstance(value, type) and not isinstance(value, types.GenericAlias)
    return is_class and issubclass(value, ValueModel)
