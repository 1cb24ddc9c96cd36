"""Models that predict the rewards of actions: one part of a `ContextualPolicy`."""

from bandit_envs.policies.models.bayesian_ridge import BayesianRidge as BayesianRidge
from bandit_envs.policies.models.fitted_estimators import FittedClassifier as FittedClassifier
from bandit_envs.policies.models.fitted_estimators import FittedRegressions as FittedRegressions
from bandit_envs.policies.models.fourier_features import FourierFeatures as FourierFeatures
from bandit_envs.policies.models.hybrid_ridge import HybridRidge as HybridRidge
from bandit_envs.policies.models.inputs import Contexts as Contexts
from bandit_envs.policies.models.inputs import Items as Items
from bandit_envs.policies.models.inputs import LearnedRows as LearnedRows
from bandit_envs.policies.models.inputs import ModelSizes as ModelSizes
from bandit_envs.policies.models.linear_scores import LinearScores as LinearScores
from bandit_envs.policies.models.logistic import Logistic as Logistic
from bandit_envs.policies.models.ridge import Ridge as Ridge
from bandit_envs.policies.models.value_model import ValueModel as ValueModel
