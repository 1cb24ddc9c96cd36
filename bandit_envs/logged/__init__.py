"""Logged bandit data: logs, replay and off-policy estimators."""
