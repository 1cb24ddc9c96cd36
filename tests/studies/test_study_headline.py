"""The sentences of a study on who wins say what the tables of its differences say."""

import importlib
import re

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("scipy")

from bandit_envs.metrics.holm import holm
from bandit_envs.studies import Study
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.results.differences import PairDifference
from bandit_envs.studies.results.results import PairResult
from bandit_envs.studies.showing.study_headline import say_who_leads

stats = importlib.import_module("scipy.stats")

PLACES = [f"testbed:k={k}" for k in range(2, 7)]
RUNS = 12


@pytest.fixture(scope="module")
def study():
    """A study that is not tried, as that takes time."""
    values = Study.from_dict(
        {"title": "T", "runs": RUNS, "steps": 1, "environment": PLACES[:1], "policy": ["greedy"]}
    ).to_dict()
    values["environment"] = PLACES
    values["policy"] = ["greedy", "ucb:c=1", "ucb:c=2", "random"]
    values["labels"] = {"ucb:c=1": "A", "ucb:c=2": "B", "random": "C"}
    return Study.read(values, dict.fromkeys(PLACES, True))


def draw(study, rng, places):
    """Returns random differences to the first policy, some of which are large."""
    found = []
    for environment in study.environment[:places]:
        for policy in study.policy[1:]:
            mean = rng.choice([-1.5, -0.7, 0.0, 0.7, 1.5])
            values = rng.normal(mean, size=RUNS) * 10.0 ** rng.integers(-3, 4)
            runs = {"mean_reward": values * rng.integers(0, 2)}
            found.append(PairDifference(PairResult(environment, policy, RUNS, {}), runs))
    return found


def check(study, differences):
    """Compares the sentences on some differences with tests by SciPy."""
    sentences = say_who_leads(study, study.policy[0], differences)
    tables = []
    for start in range(0, len(differences), 3):
        columns = [each.runs["mean_reward"] for each in differences[start : start + 3]]
        p_values = holm(
            [stats.ttest_1samp(each, 0.0).pvalue if each.any() else 1.0 for each in columns]
        )
        means = [each.mean() for each in columns]
        signs = [np.sign(mean) * (p < 0.05) for mean, p in zip(means, p_values)]
        tables.append((means, p_values, signs))
    assert len(sentences) == (1 if len(tables) > 3 else len(tables))
    if len(tables) > 3:
        wins = sum(1 in signs for _, _, signs in tables)
        start = f"In {wins} of {len(tables)} environments, at least one policy is better than "
        assert sentences[0].startswith(start)
        return
    for place, sentence, (means, p_values, signs) in zip(PLACES, sentences, tables):
        assert f"k={place[-1]}" in sentence.partition(": ")[0]
        better = signs.count(1)
        if better:
            are = "is" if better == 1 else "are"
            assert f": {better} of 3 policies {are} better than greedy by mean reward" in sentence
        elif signs.count(-1) == 3:
            assert ": 3 of 3 policies are worse than greedy" in sentence
        else:
            assert ": The runs do not decide whether one of 3 policies is better" in sentence
        best = max(range(3), key=lambda each: (signs[each] == 1, means[each]))
        found = re.search(r"([ABC]): (?:difference )?(\S+) .*; p (\S+) by", sentence)
        own = "ABC".index(found[1])
        assert signs[own] == signs[best]
        assert means[own] == means[best]
        assert float(found[2]) == pytest.approx(means[own], rel=0.1, abs=6e-4)
        p_value = float(found[3].removeprefix("<"))
        assert p_value == pytest.approx(max(p_values[own], 1e-4), rel=0.06)


def test_the_sentences_of_a_few_studies_are_those_of_their_tables(study):
    for seed in range(8):
        check(study, draw(study, np.random.default_rng(seed), 1 + seed % 5))


@pytest.mark.slow
def test_no_sentence_of_random_studies_is_false(study):
    for seed in range(8, 200):
        check(study, draw(study, np.random.default_rng(seed), 1 + seed % 5))


def test_policies_and_environments_with_one_label_are_told_apart(study):
    differences = draw(study, np.random.default_rng(0), 2)
    alike = study.shown(labels={"random": "greedy", PLACES[0]: "arms", PLACES[1]: "arms"})
    sentences = say_who_leads(alike, alike.policy[0], differences)
    for place, sentence in zip(PLACES, sentences):
        assert sentence.startswith(f"In arms ({place}): ")
        assert "better than greedy (greedy) by mean reward" in sentence


def test_an_environment_or_a_policy_with_a_blank_label_has_its_id(study):
    differences = draw(study, np.random.default_rng(0), 2)
    blank = study.shown(labels={"greedy": "", "random": " ", PLACES[0]: "\n"})
    names = RowNames.of(blank)
    assert (names.policies["greedy"], names.policies["random"]) == ("greedy", "random")
    assert names.environments[PLACES[0]] == PLACES[0]
    sentence, _ = say_who_leads(blank, blank.policy[0], differences)
    assert "better than greedy by mean reward" in sentence
