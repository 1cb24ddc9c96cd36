"""TF-Agents' modules of bandit environments, with this package's environments in place of its own.

A module has the name of one of `tf_agents.bandits.environments`, and all of its public names. What
this package does not replace is TF-Agents' own.
"""
