"""The registry of policies: from here the command, studies and docs know them.

Experimental: these names may change in any minor version.

A policy is one file, one entry here and one test of its rule. A user's own class needs no entry:
`module:Class` stands wherever an id does, and so does `module:function`: a function that takes an
environment `env` and a `seed`, and returns a policy.
"""

import dataclasses
import inspect
import types
from collections.abc import Mapping
from typing import Any, Literal

from bandit_envs import policies
from bandit_envs.base.checks import short_repr
from bandit_envs.base.py_environment import PyEnvironment
from bandit_envs.names.registry import Entry, Importable, signature
from bandit_envs.policies import models, rules
from bandit_envs.policies.contextual import ContextualPolicy
from bandit_envs.policies.models import Model
from bandit_envs.policies.parts.registry import (
    Columns,
    complete,
    make_linear,
    make_model,
    make_rule,
    name_pairs,
    parameters_of,
)
from bandit_envs.policies.rules import FirstPulls, Rule, ThompsonSampling
from bandit_envs.seeding import Seed

__all__ = [
    "POLICIES",
    "ContextualEntry",
    "PolicyEntry",
    "ignores_contexts",
]


FORMER_IDS = {
    "disjoint_lin_ucb": "lin_ucb",
    "disjoint_linear_epsilon_greedy": "linear_epsilon_greedy",
    "disjoint_linear_thompson": "linear_thompson",
}
"""Ids that an error explains, with what stands in their place."""


@dataclasses.dataclass(frozen=True)
class PolicyEntry(Entry):
    """A policy under an id."""

    what = "policy"
    kinds = (policies.Policy,)
    former = FORMER_IDS

    context: Literal["ignored", "any", "items"] | None = "ignored"
    """Which contexts it uses: none of them, whatever there is, or features of the actions, which it
    needs; None if unknown."""

    slates: bool = False
    """Whether its actions are always slates."""

    @classmethod
    def of_class(cls, name: str, found: type) -> "PolicyEntry":
        return cls(id=name, title=found.__name__, make=found, context=None)

    @classmethod
    def of_name(cls, name: str) -> "PolicyEntry":
        title = name.rpartition(":")[2].rpartition(".")[2]
        return cls(id=name, title=title, make=name, context=None)

    @classmethod
    def of_users(cls, name: str, found: object) -> "PolicyEntry":
        if not isinstance(found, types.FunctionType):
            return super().of_users(name, found)
        if not inspect.signature(found).parameters.keys() >= {"env", "seed"}:
            raise TypeError("it is a function; expected one that takes env and seed")
        return cls(id=name, title=found.__name__, make=found, context=None)

    @classmethod
    def similar(cls, name: str, table: Mapping[str, Entry]) -> list[str]:
        return [*super().similar(name, table), *name_pairs(name)]

    def make_for(self, env: PyEnvironment, arguments: Mapping[str, Any], seed: Seed) -> Any:
        """Returns a new policy that fits `env`, with the arguments that users may give."""
        if isinstance(self.make, type):
            found = self.make.arguments_for(env)  # type: ignore[attr-defined]
            given = complete(signature(self.make).parameters, arguments, columns_of(env))
            return self.make(**{**self.fixed, **found, **given}, seed=seed)
        policy = self.make(**arguments, env=env, seed=seed)
        if not isinstance(policy, policies.Policy):
            raise TypeError(f"{self.id} returned {short_repr(policy)}; expected a Policy")
        return policy

    @property
    def supplied(self) -> frozenset[str]:
        if not isinstance(self.make, type):
            return frozenset({"env", "seed"})
        sizes = {"num_actions", "num_items", "num_slots", "batch_size"}
        found = sizes | {"observation_spec", "action_spec", "seed"}
        if not getattr(self.make, "can_count_pending", False):
            found.add("count_pending")
        return frozenset(found)

    def _all_parameters(self) -> Mapping[str, inspect.Parameter]:
        """Returns also what the class may pass on: its bases' keyword-only options with a default.

        So a family of policies that share many options writes them out once.
        """
        found = dict(super()._all_parameters())
        bases = self.make.__mro__[1:] if isinstance(self.make, type) else ()
        for base in bases:
            for name, parameter in signature(base).parameters.items():
                is_optional = parameter.default is not parameter.empty
                if parameter.kind is parameter.KEYWORD_ONLY and is_optional:
                    found.setdefault(name, parameter)
        return found


@dataclasses.dataclass(frozen=True)
class ContextualEntry(PolicyEntry):
    """A `ContextualPolicy` of a model and a rule. Its parameters are those of both."""

    make: Any = ContextualPolicy
    context: Literal["ignored", "any", "items"] | None = "any"
    _: dataclasses.KW_ONLY
    model: Importable = Importable()  # noqa: RUF009  # a field without a default
    """The class of the model, or a function of plain values that returns one."""
    rule: Importable = Importable()  # noqa: RUF009
    """The class of the rule, or a function of plain values that returns one."""

    def make_for(self, env: PyEnvironment, arguments: Mapping[str, Any], seed: Seed) -> Any:
        """Returns a new policy that fits `env`, with the arguments that users may give."""
        kind = env.action_kind
        if self.slates and not kind.is_slate:
            raise ValueError(f"{env.name} takes {kind}; expected an environment of slates")
        given = complete(parameters_of(self.model), arguments, columns_of(env))
        return _contextual(*self.make_parts(given), env, seed)

    def make_parts(self, arguments: Mapping[str, Any]) -> tuple[Model, Rule]:
        """Returns the model and the rule with arguments that users may give."""
        values = {**self.fixed, **arguments}
        of_model = parameters_of(self.model)
        model = make_linear(self.model, {name: values[name] for name in values if name in of_model})
        rule = self.rule(**{name: values[name] for name in values if name not in of_model})
        return model, rule

    @property
    def summary(self) -> str:
        model = (inspect.getdoc(self.model) or "").partition("\n")[0]
        rule = (inspect.getdoc(self.rule) or "").partition("\n")[0]
        return f"{rule} The model: {model}"

    def _all_parameters(self) -> Mapping[str, inspect.Parameter]:
        return {**signature(self.rule).parameters, **parameters_of(self.model)}


def first_thompson(alpha: float = 1.0, initial_pulls: int = 2) -> Rule:
    """Draws from the posterior, once each action was chosen `initial_pulls` times."""
    return FirstPulls(ThompsonSampling(alpha), initial_pulls)


def make_contextual(model: str, rule: str, *, env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Chooses by any rule from what any model predicts.

        pi(. | x) = rule(f(x, .)),    f(x, a) is what the model predicts

    Args:
        model: with its parameters, such as "ridge:gamma=0.99" or "mine:Model".
        rule: with its parameters, such as "square_cb:gamma_scale=10" or "mine:Rule".
        env: whose observations it reads.
        seed: of the policy.
    """
    return _contextual(make_model(model, columns_of(env)), make_rule(rule), env, seed)


def columns_of(env: PyEnvironment) -> Columns:
    """Returns what is known of the columns of the observations of an environment."""
    have_names = bool(getattr(env.unwrapped, "names_features", False))
    return Columns.of(env.observation_spec(), have_names)


def _contextual(model: Model, rule: Rule, env: PyEnvironment, seed: Seed) -> ContextualPolicy:
    """Returns a policy for an environment.

    Where rows are problems and a model cannot have rows, the rows share it. A study runs such a
    policy a row at a time.
    """
    found = ContextualPolicy.arguments_for(env)
    if not model.predictor.can_have_rows:
        found["independent_rows"] = False
    return ContextualPolicy(model, rule, **found, seed=seed)


_ENTRIES = (
    PolicyEntry("random", "random", policies.RandomPolicy),
    PolicyEntry("constant", "one action", policies.ConstantPolicy),
    PolicyEntry("first", "first action", policies.FirstPolicy),
    PolicyEntry("popular", "most popular item", policies.PopularPolicy),
    PolicyEntry("greedy", "greedy", policies.EpsilonGreedyPolicy, fixed={"epsilon": 0.0}),
    PolicyEntry("epsilon_greedy", "ε-greedy", policies.EpsilonGreedyPolicy),
    PolicyEntry("ucb", "UCB", policies.UCBPolicy),
    PolicyEntry("gradient", "gradient bandit", policies.GradientBanditPolicy),
    PolicyEntry("thompson", "Thompson sampling", policies.GaussianThompsonSamplingPolicy),
    PolicyEntry("beta_greedy", "Beta greedy", policies.BetaGreedyPolicy),
    PolicyEntry("beta_thompson", "Beta Thompson sampling", policies.BetaThompsonSamplingPolicy),
    PolicyEntry("kl_ucb", "KL-UCB", policies.KLUCBPolicy),
    PolicyEntry("ucb1_tuned", "UCB1-tuned", policies.UCB1TunedPolicy),
    PolicyEntry("moss", "MOSS", policies.MOSSPolicy),
    PolicyEntry("explore_then_commit", "explore-then-commit", policies.ExploreThenCommitPolicy),
    PolicyEntry(
        "decaying_epsilon_greedy", "decaying ε-greedy", policies.DecayingEpsilonGreedyPolicy
    ),
    PolicyEntry("discounted_ucb", "discounted UCB", policies.DiscountedUCBPolicy),
    PolicyEntry("sliding_window_ucb", "sliding-window UCB", policies.SlidingWindowUCBPolicy),
    PolicyEntry("exp3", "Exp3", policies.Exp3Policy),
    PolicyEntry("exp3_s", "Exp3.S", policies.Exp3SPolicy),
    PolicyEntry("tsallis_inf", "Tsallis-INF", policies.TsallisINFPolicy),
    PolicyEntry(
        "tsallis_inf_rv", "Tsallis-INF, reduced variance", policies.ReducedVarianceTsallisINFPolicy
    ),
    PolicyEntry("bayes_ucb", "Bayes-UCB", policies.BayesUCBPolicy),
    PolicyEntry("imed", "IMED", policies.IMEDPolicy),
    PolicyEntry(
        "discounted_thompson",
        "discounted Thompson sampling",
        policies.DiscountedThompsonSamplingPolicy,
    ),
    PolicyEntry("boltzmann", "Boltzmann", policies.BoltzmannPolicy),
    PolicyEntry(
        "successive_elimination", "successive elimination", policies.SuccessiveEliminationPolicy
    ),
    PolicyEntry("uniform_allocation", "uniform allocation", policies.UniformAllocationPolicy),
    PolicyEntry("ucb_e", "UCB-E", policies.UCBEPolicy),
    PolicyEntry("successive_rejects", "successive rejects", policies.SuccessiveRejectsPolicy),
    PolicyEntry("sequential_halving", "sequential halving", policies.SequentialHalvingPolicy),
    PolicyEntry("lucb", "LUCB", policies.LUCBPolicy),
    PolicyEntry("kl_lucb", "KL-LUCB", policies.KLLUCBPolicy),
    PolicyEntry(
        "likelihood_ratio_test", "likelihood ratio test", policies.LikelihoodRatioTestPolicy
    ),
    PolicyEntry("split_test", "test of variants on a random split", policies.SplitTestPolicy),
    PolicyEntry("track_and_stop", "Track-and-Stop", policies.TrackAndStopPolicy),
    PolicyEntry("c_tracking", "Track-and-Stop, C-tracking", policies.CTrackingPolicy),
    PolicyEntry(
        "top_two_thompson", "top-two Thompson sampling", policies.TopTwoThompsonSamplingPolicy
    ),
    PolicyEntry(
        "budgeted_thompson", "budgeted Thompson sampling", policies.BudgetedThompsonSamplingPolicy
    ),
    PolicyEntry("primal_dual", "primal-dual, with a budget", policies.PrimalDualPolicy),
    PolicyEntry("g_optimal", "G-optimal design", policies.GOptimalPolicy),
    ContextualEntry("lin_ucb", "LinUCB", model=models.Ridge, rule=rules.UpperBound),
    ContextualEntry(
        "linear_thompson",
        "linear Thompson sampling",
        model=models.Ridge,
        rule=rules.ThompsonSampling,
    ),
    ContextualEntry(
        "linear_epsilon_greedy", "linear ε-greedy", model=models.Ridge, rule=rules.EpsilonGreedy
    ),
    ContextualEntry("linear_square_cb", "linear SquareCB", model=models.Ridge, rule=rules.SquareCB),
    ContextualEntry(
        "linear_optimistic_reg_cb",
        "linear optimistic RegCB",
        model=models.Ridge,
        rule=rules.OptimisticRegCB,
    ),
    ContextualEntry(
        "lin_full_posterior",
        "linear full posterior",
        model=models.BayesianRidge,
        rule=first_thompson,
    ),
    ContextualEntry(
        "neural_epsilon_greedy",
        "neural ε-greedy",
        model="bandit_envs.adapters.torch:Network",
        rule="bandit_envs.adapters.torch.presets:first_greedy",
    ),
    ContextualEntry(
        "neural_linear",
        "neural linear",
        model="bandit_envs.adapters.torch:NeuralLinear",
        rule="bandit_envs.adapters.torch.presets:first_draws",
    ),
    ContextualEntry(
        "neural_ucb",
        "NeuralUCB",
        model="bandit_envs.adapters.torch:GradientNetwork",
        rule="bandit_envs.adapters.torch.presets:first_upper_bound",
    ),
    ContextualEntry(
        "neural_thompson",
        "neural Thompson sampling",
        model="bandit_envs.adapters.torch:GradientNetwork",
        rule="bandit_envs.adapters.torch.presets:first_scaled_draws",
    ),
    ContextualEntry(
        "neural_ensemble",
        "ensemble of networks",
        model="bandit_envs.adapters.torch:Ensemble",
        rule="bandit_envs.adapters.torch.presets:first_draws",
    ),
    ContextualEntry(
        "neural_dropout",
        "dropout",
        model="bandit_envs.adapters.torch:Dropout",
        rule="bandit_envs.adapters.torch.presets:first_draws",
    ),
    ContextualEntry(
        "sklearn_epsilon_greedy",
        "ε-greedy, scikit-learn",
        fixed={"num_replicas": 1},
        model="bandit_envs.policies.scikit_learn:Estimators",
        rule=rules.EpsilonGreedy,
    ),
    ContextualEntry(
        "sklearn_softmax",
        "softmax, scikit-learn",
        fixed={"num_replicas": 1},
        model="bandit_envs.policies.scikit_learn:Estimators",
        rule=rules.Softmax,
    ),
    ContextualEntry(
        "sklearn_adaptive_greedy",
        "adaptive greedy, scikit-learn",
        fixed={"num_replicas": 1},
        model="bandit_envs.policies.scikit_learn:Estimators",
        rule=rules.AdaptiveGreedy,
    ),
    ContextualEntry(
        "sklearn_square_cb",
        "SquareCB, scikit-learn",
        fixed={"num_replicas": 1},
        model="bandit_envs.policies.scikit_learn:Estimators",
        rule=rules.SquareCB,
    ),
    ContextualEntry(
        "sklearn_thompson",
        "Thompson sampling, scikit-learn",
        model="bandit_envs.policies.scikit_learn.presets:replicated_estimators",
        rule="bandit_envs.policies.scikit_learn.presets:replica_draws",
    ),
    ContextualEntry(
        "sklearn_ucb",
        "UCB, scikit-learn",
        model="bandit_envs.policies.scikit_learn.presets:optimistic_estimators",
        rule=rules.UpperQuantile,
    ),
    PolicyEntry("contextual", "contextual", make_contextual, context="any"),
    PolicyEntry(
        "warm_start", "warm start", "bandit_envs.logged.learners:warm_start", context="any"
    ),
    PolicyEntry("random_slate", "random slates", policies.RandomSlatePolicy, slates=True),
    PolicyEntry("cascade_ucb", "CascadeUCB", policies.CascadeUCBPolicy, slates=True),
    PolicyEntry("pbm_ucb", "PBM-UCB", policies.PBMUCBPolicy, slates=True),
    ContextualEntry(
        "top_k_lin_ucb",
        "top-k LinUCB",
        context="items",
        slates=True,
        model=models.Ridge,
        rule=rules.UpperBound,
    ),
    PolicyEntry("random_number", "random numbers", policies.RandomNumberPolicy),
    PolicyEntry("gaussian", "Gaussian", policies.GaussianPolicy, context="any"),
)

POLICIES: dict[str, PolicyEntry] = {entry.id: entry for entry in _ENTRIES}
"""All policies of the package, by id."""


def ignores_contexts(policy: policies.Policy) -> bool:
    """Returns whether a policy ignores contexts, except for which actions are available.

    Of a user's class, this is not known: it returns False.
    """
    entries = [entry for entry in _ENTRIES if entry.context == "ignored"]
    return any(type(policy) is entry.make for entry in entries)
