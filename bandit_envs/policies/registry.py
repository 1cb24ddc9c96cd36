"""The registry of policies: from here the command, studies and docs know them.

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
from bandit_envs.base.registry import Entry, signature
from bandit_envs.policies.slates import SlatePolicy
from bandit_envs.seeding import Seed


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyEntry(Entry):
    """A policy under an id."""

    what = "policy"
    kinds = (policies.Policy,)

    context: Literal["ignored", "any", "items"] | None
    """Which contexts it uses: none of them, whatever there is, or features of the actions, which it
    needs; None if unknown."""

    slates: bool
    """Whether its actions are slates."""

    @classmethod
    def of_class(cls, name: str, found: type) -> "PolicyEntry":
        slates = issubclass(found, SlatePolicy)
        return cls(id=name, title=found.__name__, make=found, context=None, slates=slates)

    @classmethod
    def of_name(cls, name: str) -> "PolicyEntry":
        title = name.rpartition(":")[2].rpartition(".")[2]
        return cls(id=name, title=title, make=name, context=None, slates=False)

    @classmethod
    def of_users(cls, name: str, found: object) -> "PolicyEntry":
        if not isinstance(found, types.FunctionType):
            return super().of_users(name, found)
        if not inspect.signature(found).parameters.keys() >= {"env", "seed"}:
            raise TypeError("it is a function; expected one that takes env and seed")
        return cls(id=name, title=found.__name__, make=found, context=None, slates=False)

    def make_for(self, env: PyEnvironment, arguments: Mapping[str, Any], seed: Seed) -> Any:
        """Returns a new policy that fits `env`, with the arguments that users may give."""
        if isinstance(self.make, type):
            found = self.make.arguments_for(env)  # type: ignore[attr-defined]
            return self.make(**{**self.fixed, **found, **arguments}, seed=seed)
        policy = self.make(**arguments, env=env, seed=seed)
        if not isinstance(policy, policies.Policy):
            raise TypeError(f"{self.id} returned {short_repr(policy)}; expected a Policy")
        return policy

    @property
    def supplied(self) -> frozenset[str]:
        if not isinstance(self.make, type):
            return frozenset({"env", "seed"})
        sizes = {"num_actions", "num_slots", "batch_size"}
        return frozenset(sizes | {"observation_spec", "action_spec", "seed"})

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


_ENTRIES = (
    PolicyEntry(
        id="random",
        title="random",
        make=policies.RandomPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="constant",
        title="one action",
        make=policies.ConstantPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="greedy",
        title="greedy",
        make=policies.EpsilonGreedyPolicy,
        fixed={"epsilon": 0.0},
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="epsilon_greedy",
        title="ε-greedy",
        make=policies.EpsilonGreedyPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="ucb",
        title="UCB",
        make=policies.UCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="gradient",
        title="gradient bandit",
        make=policies.GradientBanditPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="thompson",
        title="Thompson sampling",
        make=policies.GaussianThompsonSamplingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="beta_greedy",
        title="Beta greedy",
        make=policies.BetaGreedyPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="beta_thompson",
        title="Beta Thompson sampling",
        make=policies.BetaThompsonSamplingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="kl_ucb",
        title="KL-UCB",
        make=policies.KLUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="ucb1_tuned",
        title="UCB1-tuned",
        make=policies.UCB1TunedPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="moss",
        title="MOSS",
        make=policies.MOSSPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="explore_then_commit",
        title="explore-then-commit",
        make=policies.ExploreThenCommitPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="decaying_epsilon_greedy",
        title="decaying ε-greedy",
        make=policies.DecayingEpsilonGreedyPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="discounted_ucb",
        title="discounted UCB",
        make=policies.DiscountedUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="sliding_window_ucb",
        title="sliding-window UCB",
        make=policies.SlidingWindowUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="exp3",
        title="Exp3",
        make=policies.Exp3Policy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="exp3_s",
        title="Exp3.S",
        make=policies.Exp3SPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="tsallis_inf",
        title="Tsallis-INF",
        make=policies.TsallisINFPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="tsallis_inf_rv",
        title="Tsallis-INF, reduced variance",
        make=policies.ReducedVarianceTsallisINFPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="bayes_ucb",
        title="Bayes-UCB",
        make=policies.BayesUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="imed",
        title="IMED",
        make=policies.IMEDPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="discounted_thompson",
        title="discounted Thompson sampling",
        make=policies.DiscountedThompsonSamplingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="boltzmann",
        title="Boltzmann",
        make=policies.BoltzmannPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="successive_elimination",
        title="successive elimination",
        make=policies.SuccessiveEliminationPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="uniform_allocation",
        title="uniform allocation",
        make=policies.UniformAllocationPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="ucb_e",
        title="UCB-E",
        make=policies.UCBEPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="successive_rejects",
        title="successive rejects",
        make=policies.SuccessiveRejectsPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="sequential_halving",
        title="sequential halving",
        make=policies.SequentialHalvingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="lucb",
        title="LUCB",
        make=policies.LUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="kl_lucb",
        title="KL-LUCB",
        make=policies.KLLUCBPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="likelihood_ratio_test",
        title="likelihood ratio test",
        make=policies.LikelihoodRatioTestPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="track_and_stop",
        title="Track-and-Stop",
        make=policies.TrackAndStopPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="c_tracking",
        title="Track-and-Stop, C-tracking",
        make=policies.CTrackingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="top_two_thompson",
        title="top-two Thompson sampling",
        make=policies.TopTwoThompsonSamplingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="budgeted_thompson",
        title="budgeted Thompson sampling",
        make=policies.BudgetedThompsonSamplingPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="primal_dual",
        title="primal-dual, with a budget",
        make=policies.PrimalDualPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="g_optimal",
        title="G-optimal design",
        make=policies.GOptimalPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="lin_ucb",
        title="LinUCB",
        make=policies.LinUCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="linear_thompson",
        title="linear Thompson sampling",
        make=policies.LinearThompsonSamplingPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="linear_epsilon_greedy",
        title="linear ε-greedy",
        make=policies.LinearEpsilonGreedyPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_lin_ucb",
        title="disjoint LinUCB",
        make=policies.DisjointLinUCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_linear_thompson",
        title="disjoint linear Thompson sampling",
        make=policies.DisjointLinearThompsonSamplingPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_linear_epsilon_greedy",
        title="disjoint linear ε-greedy",
        make=policies.DisjointLinearEpsilonGreedyPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="lin_full_posterior",
        title="linear full posterior",
        make=policies.LinearFullPosteriorPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="logistic_thompson",
        title="logistic Thompson sampling",
        make=policies.LogisticThompsonSamplingPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="linear_square_cb",
        title="linear SquareCB",
        make=policies.LinearSquareCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_linear_square_cb",
        title="disjoint linear SquareCB",
        make=policies.DisjointLinearSquareCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="logistic_square_cb",
        title="logistic SquareCB",
        make=policies.LogisticSquareCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_logistic_square_cb",
        title="disjoint logistic SquareCB",
        make=policies.DisjointLogisticSquareCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="linear_optimistic_reg_cb",
        title="linear optimistic RegCB",
        make=policies.LinearOptimisticRegCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_linear_optimistic_reg_cb",
        title="disjoint linear optimistic RegCB",
        make=policies.DisjointLinearOptimisticRegCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="logistic_optimistic_reg_cb",
        title="logistic optimistic RegCB",
        make=policies.LogisticOptimisticRegCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_logistic_optimistic_reg_cb",
        title="disjoint logistic optimistic RegCB",
        make=policies.DisjointLogisticOptimisticRegCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="linear_elimination_reg_cb",
        title="linear RegCB by elimination",
        make=policies.LinearEliminationRegCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_linear_elimination_reg_cb",
        title="disjoint linear RegCB by elimination",
        make=policies.DisjointLinearEliminationRegCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="logistic_elimination_reg_cb",
        title="logistic RegCB by elimination",
        make=policies.LogisticEliminationRegCBPolicy,
        context="items",
        slates=False,
    ),
    PolicyEntry(
        id="disjoint_logistic_elimination_reg_cb",
        title="disjoint logistic RegCB by elimination",
        make=policies.DisjointLogisticEliminationRegCBPolicy,
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_epsilon_greedy",
        title="neural ε-greedy",
        make="bandit_envs.adapters.torch:NeuralEpsilonGreedyPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_linear",
        title="neural linear",
        make="bandit_envs.adapters.torch:NeuralLinearPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_ucb",
        title="NeuralUCB",
        make="bandit_envs.adapters.torch:NeuralUCBPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_thompson",
        title="neural Thompson sampling",
        make="bandit_envs.adapters.torch:NeuralThompsonSamplingPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_ensemble",
        title="ensemble of networks",
        make="bandit_envs.adapters.torch:EnsemblePolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="neural_dropout",
        title="dropout",
        make="bandit_envs.adapters.torch:DropoutPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_epsilon_greedy",
        title="ε-greedy, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnEpsilonGreedyPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_softmax",
        title="softmax, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnSoftmaxPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_adaptive_greedy",
        title="adaptive greedy, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnAdaptiveGreedyPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_square_cb",
        title="SquareCB, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnSquareCBPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_thompson",
        title="Thompson sampling, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnThompsonSamplingPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="sklearn_ucb",
        title="UCB, scikit-learn",
        make="bandit_envs.adapters.scikit_learn:SklearnUCBPolicy",
        context="any",
        slates=False,
    ),
    PolicyEntry(
        id="random_slate",
        title="random slates",
        make=policies.RandomSlatePolicy,
        context="ignored",
        slates=True,
    ),
    PolicyEntry(
        id="cascade_ucb",
        title="CascadeUCB",
        make=policies.CascadeUCBPolicy,
        context="ignored",
        slates=True,
    ),
    PolicyEntry(
        id="pbm_ucb",
        title="PBM-UCB",
        make=policies.PBMUCBPolicy,
        context="ignored",
        slates=True,
    ),
    PolicyEntry(
        id="top_k_lin_ucb",
        title="top-k LinUCB",
        make=policies.TopKLinUCBPolicy,
        context="items",
        slates=True,
    ),
    PolicyEntry(
        id="random_number",
        title="random numbers",
        make=policies.RandomNumberPolicy,
        context="ignored",
        slates=False,
    ),
    PolicyEntry(
        id="gaussian",
        title="Gaussian",
        make=policies.GaussianPolicy,
        context="any",
        slates=False,
    ),
)

POLICIES = {entry.id: entry for entry in _ENTRIES}
"""All policies of the package, by id."""
