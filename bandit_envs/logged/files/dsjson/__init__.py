"""Logs in Vowpal Wabbit's dsjson: one JSON document a decision."""
