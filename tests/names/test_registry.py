"""Entries of registries."""

import dataclasses
import pickle

import pytest

from bandit_envs import RandomPolicy
from bandit_envs.policies.registry import PolicyEntry


def entry_of(make):
    return PolicyEntry(id="mine", title="mine", make=make, context="ignored")


def test_an_entry_imports_a_class_that_it_names_when_it_is_first_asked_for():
    entry = entry_of("bandit_envs.policies:RandomPolicy")
    assert "RandomPolicy" in str(vars(entry)["make"])
    copies = pickle.loads(pickle.dumps(entry)), dataclasses.replace(entry, title="other")
    assert [each.make for each in (*copies, entry)] == 3 * [RandomPolicy]


def test_an_entry_needs_what_it_makes():
    with pytest.raises(TypeError, match="make"):
        PolicyEntry(id="mine", title="mine", context="ignored")
