"""`python -m bandit_envs` is the command `bandit-envs`."""

import sys

from bandit_envs.cli import command

if __name__ == "__main__":
    sys.exit(command())
