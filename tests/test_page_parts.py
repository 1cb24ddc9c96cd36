"""The parts of pages, and what the site makes of docstrings and of names."""

import pytest

from colab.pages import docstrings, markdown
from colab.pages.words import path_of


def test_the_first_sentence_ends_before_the_next_one():
    assert (
        markdown.first_sentence("Is 0.5,\nas in `a.b`. More.\n\nStill more.")
        == "Is 0.5, as in `a.b`."
    )


def test_a_cell_of_a_table_may_have_a_bar():
    assert markdown.table(("a",), [("p(a | x)",)]).splitlines()[-1] == r"| p(a \| x) |"


def test_indented_lines_of_a_docstring_become_one_block_of_code():
    text = docstrings.as_rest("What it is.\n\n    a = b\n\n    c = d\n\nMore.\n\n>>> 1 + 1\n2")
    assert text == "What it is.\n\n::\n\n    a = b\n\n    c = d\n\nMore.\n\n>>> 1 + 1\n2"


def test_code_in_a_docstring_keeps_its_signs_and_the_text_around_it_has_none_that_mean_more():
    text = docstrings.as_rest("Args:\n    **options: `a * b`, not x* or c_\n        or |S|.")
    assert text == "Args:\n    **options: ``a * b``, not x\\* or c\\_\n        or \\|S\\|."


def test_an_empty_docstring_stays_empty():
    assert docstrings.as_rest("") == ""


PATHS = {
    "UCBPolicy": "bandit_envs.UCBPolicy",
    "UCBPolicy(c=2.0)": "bandit_envs.UCBPolicy",
    "policies.UCBPolicy": "bandit_envs.UCBPolicy",
    "bandit_envs.policies.arms.UCBPolicy": "bandit_envs.UCBPolicy",
    "policies.rules.Greedy()": "bandit_envs.policies.rules.Greedy",
    "StepDriver.run": "bandit_envs.StepDriver.run",
    "help(PolicyContract)": "bandit_envs.testing.PolicyContract",
    "WheelPyEnvironment": "bandit_envs.WheelPyEnvironment",
    "adapters.tf_agents.WheelPyEnvironment": "bandit_envs.adapters.tf_agents.WheelPyEnvironment",
    "studies.run": "bandit_envs.studies.run",
    "environments.rising(...)": "bandit_envs.environments.rising",
    "bandit_envs.wrappers": "bandit_envs.wrappers",
    "run": "",
    "rising": "",
    "ucb:c=2": "",
}


@pytest.mark.parametrize("text", PATHS)
def test_a_word_of_code_names_the_entry_that_a_reader_means(text):
    assert path_of(text) == PATHS[text]
