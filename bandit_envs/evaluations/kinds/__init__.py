"""Kinds of actions that a log may have, and what an evaluation asks of each."""
