"""Logged bandit data: logs, their files, replay and off-policy estimators."""

from bandit_envs.logged.estimators import (
    DirectMethod,
    DoublyRobust,
    DRWithOptimisticShrinkage,
    Estimate,
    Estimator,
    InversePropensityScoring,
    ReplayMethod,
    SelfNormalizedDR,
    SelfNormalizedIPS,
    SubGaussianDR,
    SubGaussianIPS,
    SwitchDR,
    tuned,
)
from bandit_envs.logged.feedback import (
    from_obp,
    read_dsjson,
    read_open_bandit_dataset,
    read_vw,
    to_obp,
    write_dsjson,
    write_vw,
)
from bandit_envs.logged.files import from_frame, read_log, to_frame, write_log
from bandit_envs.logged.log import BanditLog, concatenate
from bandit_envs.logged.models import RewardRegression, RidgeRegression, probabilities_of
from bandit_envs.logged.recorder import LogRecorder
from bandit_envs.logged.replay import (
    MatchedRows,
    ReplayEnvironment,
    ReplayResult,
    evaluate_by_replay,
)

__all__ = [
    "BanditLog",
    "DRWithOptimisticShrinkage",
    "DirectMethod",
    "DoublyRobust",
    "Estimate",
    "Estimator",
    "InversePropensityScoring",
    "LogRecorder",
    "MatchedRows",
    "ReplayEnvironment",
    "ReplayMethod",
    "ReplayResult",
    "RewardRegression",
    "RidgeRegression",
    "SelfNormalizedDR",
    "SelfNormalizedIPS",
    "SubGaussianDR",
    "SubGaussianIPS",
    "SwitchDR",
    "concatenate",
    "evaluate_by_replay",
    "from_frame",
    "from_obp",
    "probabilities_of",
    "read_dsjson",
    "read_log",
    "read_open_bandit_dataset",
    "read_vw",
    "to_frame",
    "to_obp",
    "tuned",
    "write_dsjson",
    "write_log",
    "write_vw",
]
