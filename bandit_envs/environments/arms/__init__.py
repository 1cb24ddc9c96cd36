"""Environments without contexts: every arm pays by itself."""

from bandit_envs.environments.arms.adversarial import AdversarialBandit
from bandit_envs.environments.arms.bernoulli import BernoulliPyEnvironment
from bandit_envs.environments.arms.delayed_bernoulli import DelayedBernoulliBandit
from bandit_envs.environments.arms.k_armed_bandit import KArmedBandit
from bandit_envs.environments.arms.k_armed_testbed import KArmedTestbed
from bandit_envs.environments.arms.knapsack import KnapsackBandit
from bandit_envs.environments.arms.piecewise_bernoulli import PiecewiseBernoulliPyEnvironment
from bandit_envs.environments.arms.rested import RestedBandit, rising, rotting
from bandit_envs.environments.arms.restless_markov import RestlessMarkovBandit

__all__ = [
    "AdversarialBandit",
    "BernoulliPyEnvironment",
    "DelayedBernoulliBandit",
    "KArmedBandit",
    "KArmedTestbed",
    "KnapsackBandit",
    "PiecewiseBernoulliPyEnvironment",
    "RestedBandit",
    "RestlessMarkovBandit",
    "rising",
    "rotting",
]
