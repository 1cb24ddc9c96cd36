"""Logs in files and folders, and as other libraries write them."""

from bandit_envs.logged.files.dsjson import read_dsjson, write_dsjson
from bandit_envs.logged.files.frames import from_frame, to_frame
from bandit_envs.logged.files.log_files import write_log
from bandit_envs.logged.files.obp import from_obp, to_obp
from bandit_envs.logged.files.scan import read_log, scan_log
from bandit_envs.logged.files.slates import read_slates, slates_from_frame

__all__ = [
    "from_frame",
    "from_obp",
    "read_dsjson",
    "read_log",
    "read_slates",
    "scan_log",
    "slates_from_frame",
    "to_frame",
    "to_obp",
    "write_dsjson",
    "write_log",
]
