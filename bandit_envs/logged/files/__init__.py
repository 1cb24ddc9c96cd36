"""Logs in files and folders, and as other libraries write them."""

from bandit_envs.logged.files.dsjson.dsjson_scan import read_dsjson
from bandit_envs.logged.files.dsjson.writing import write_dsjson
from bandit_envs.logged.files.frames import from_frame, to_frame
from bandit_envs.logged.files.log_files import write_log
from bandit_envs.logged.files.log_readers import read_log, scan_log
from bandit_envs.logged.files.obp import from_obp, to_obp
from bandit_envs.logged.files.reward_table import RewardTable
from bandit_envs.logged.files.slate_tables import read_slates

__all__ = [
    "RewardTable",
    "from_frame",
    "from_obp",
    "read_dsjson",
    "read_log",
    "read_slates",
    "scan_log",
    "to_frame",
    "to_obp",
    "write_dsjson",
    "write_log",
]
