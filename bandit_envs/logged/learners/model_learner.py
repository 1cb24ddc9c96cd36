"""A learner of any model of rewards, for any rule.

Experimental: these names may change in any minor version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.learners.learner import Learner
from bandit_envs.logged.learners.log_learning import learn_from_log
from bandit_envs.logged.log import BanditLog
from bandit_envs.logged.log_checks import check_repeatable, require_numbered_actions, require_rows
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.parts.registry import Columns
from bandit_envs.policies.rules import Greedy, Rule
from bandit_envs.seeding import Seed


class ModelLearner(Learner):
    """Chooses by a rule from what a model predicts that has learned from the log.

    Experimental: it may change in any minor version.

        pi(. | x) = rule(f(x, .)),    f(x, a) is what the model predicts

    It is `DirectMethodLearner` with models that learn online: logistic regression, Fourier
    features, any estimator of scikit-learn, networks of PyTorch; of contexts, or of features of
    actions. The model learns the rows in their order, as `learn_from_log` shows them, a batch at a
    time: what it remembers of them is all that is kept. The policy can go on learning online.

    Args:
        model: of the rewards, such as `Logistic()`.
        rule: how to choose; by default the largest prediction.
        named: returns what takes the place of the model for the columns of a log whose features
            have names; None for the same.

    Raises:
        TypeError: the rule needs what the model cannot do, or the model does not learn.

    Source: Beygelzimer & Langford, The offset tree (2009), the regression approach.

    >>> import numpy as np
    >>> from bandit_envs.policies.models import Ridge
    >>> log = BanditLog(np.ones((4, 1)), [0, 1, 0, 1], [1.0, 2.0, 1.0, 2.0], [0.5] * 4)
    >>> ModelLearner(Ridge()).fit(log).num_actions
    2
    """

    def __init__(
        self,
        model: Model,
        rule: Rule | None = None,
        *,
        named: Callable[[Columns], Model] | None = None,
    ) -> None:
        self._rule = Greedy() if rule is None else rule
        if not isinstance(self._rule, Rule):
            raise TypeError(f"rule is {rule!r}; expected a Rule, such as Greedy()")
        self._model = self._check_model(model)
        self._named = named

    def _check_model(self, model: Model) -> Model:
        """Returns a model that learns, and can do what the rule needs; TypeError for others."""
        if not isinstance(model, Model) or not model.predictor.learns:
            raise TypeError(f"model is {model!r}; expected one that learns, such as Ridge()")
        self._rule.check(model.predictor)
        return model

    @property
    def keeps_rows(self) -> bool:
        return False

    def fit_batches(
        self, batches: Iterable[BanditLog], batch_size: int = 1, seed: Seed = None
    ) -> ContextualPolicy:
        first = next(iter(check_repeatable(batches)), None)
        if first is None:
            raise ValueError("the log has 0 rows; expected at least one")
        return self._learn(first, batches, batch_size, seed)

    def _fit(self, log: BanditLog, batch_size: int, seed: Seed) -> ContextualPolicy:
        return self._learn(log, [log], batch_size, seed)

    def _learn(
        self, sample: BanditLog, batches: Iterable[BanditLog], batch_size: int, seed: Seed
    ) -> ContextualPolicy:
        """Returns a policy that has learned from batches, of which `sample` is the first."""
        spec = spec_of_rows(require_numbered_actions(require_rows(sample)).seen())
        model = self._model
        if self._named is not None and sample.names_features:
            model = self._check_model(self._named(Columns.of(spec, have_names=True)))
        policy = ContextualPolicy(
            model,
            self._rule,
            observation_spec=spec,
            num_actions=sample.num_actions,
            batch_size=batch_size,
            seed=seed,
        )
        learned = learn_from_log(policy, batches)
        assert isinstance(learned, ContextualPolicy)
        return learned
