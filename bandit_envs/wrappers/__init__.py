"""Environment wrappers. Each changes one thing: observations, rewards or the available actions."""

from bandit_envs.wrappers.budget import Budget as Budget
from bandit_envs.wrappers.delays import DelayedRewards as DelayedRewards
from bandit_envs.wrappers.masks import ExtraDisabledActions as ExtraDisabledActions
from bandit_envs.wrappers.masks import RandomActionMask as RandomActionMask
from bandit_envs.wrappers.observation_wrappers import AddActionMask as AddActionMask
from bandit_envs.wrappers.observation_wrappers import TransformObservation as TransformObservation
from bandit_envs.wrappers.reward_wrappers import AffineReward as AffineReward
from bandit_envs.wrappers.reward_wrappers import ClipReward as ClipReward
from bandit_envs.wrappers.reward_wrappers import RescaleReward as RescaleReward
from bandit_envs.wrappers.scalarizations import ChebyshevScalarization as ChebyshevScalarization
from bandit_envs.wrappers.scalarizations import HypervolumeScalarization as HypervolumeScalarization
from bandit_envs.wrappers.scalarizations import LinearScalarization as LinearScalarization
from bandit_envs.wrappers.wrapper import Wrapper as Wrapper
