"""`python -m bandit_envs` is the command `bandit-envs`."""

import sys

from bandit_envs.cli import main

sys.exit(main())
