"""Settings of all tests."""

from hypothesis import settings

# The same examples in every run: a failure can be repeated, and a passing run stays one.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("repeatable")
