"""Differences between policies: intervals, p-values and their correction."""

import dataclasses
import importlib
import time

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("rich")
pytest.importorskip("pandas")
pytest.importorskip("scipy")

from bandit_envs.metrics.holm import holm
from bandit_envs.policies import Policy
from bandit_envs.showing.latex import escape
from bandit_envs.studies import Study, load, run
from bandit_envs.studies.definition.row_names import RowNames
from bandit_envs.studies.results import differences
from bandit_envs.studies.results.differences import PairDifference
from tests import command_line

stats = importlib.import_module("scipy.stats")

POLICIES = ["greedy", "ucb:c=1", "epsilon_greedy:epsilon=0", "epsilon_greedy:epsilon=0.1"]
VALUES = {
    "title": "Differences",
    "runs": 40,
    "steps": 30,
    "environment": ["testbed:k=3", "testbed:k=5"],
    "policy": POLICIES,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differences")
    run(Study.from_dict(VALUES), folder)
    return folder


def of_runs(found, environment, policy, baseline):
    table = found.runs[found.runs.environment == environment]
    means = table.pivot(index="run", columns="policy", values="mean_reward")
    return means[policy] - means[baseline]


def test_p_values_are_those_of_scipy_for_paired_runs(folder):
    found = load(folder)
    for row in found.differences("ucb:c=1").itertuples():
        if row.quantity == "mean_reward":
            runs = of_runs(found, row.environment, row.policy, "ucb:c=1")
            assert row.p_t == pytest.approx(stats.ttest_1samp(runs, 0).pvalue)
            assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(runs).pvalue)
            assert row.low < row.difference < row.high
            assert row.bootstrap_low < row.difference < row.bootstrap_high


@pytest.mark.parametrize("runs", [12, 80])
def test_many_differences_are_tested_as_each_one_alone(runs, monkeypatch):
    monkeypatch.setattr(differences, "AT_ONCE", 3)
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=runs).round(digits) for digits in (0, 9, 0, 9, 9, 1, 9)]
    found = [PairDifference(None, {"reward": table, "regret": -table}) for table in tables]
    for table, p_values in zip(tables, differences._test_all(found)):
        assert p_values["reward"].t == pytest.approx(stats.ttest_1samp(table, 0).pvalue)
        assert p_values["reward"].wilcoxon == pytest.approx(stats.wilcoxon(table).pvalue)
        assert p_values["regret"] == pytest.approx(p_values["reward"])


def test_holm_corrects_over_the_policies_of_an_environment(folder):
    frame = load(folder).differences()
    for _, group in frame.groupby(["environment", "quantity"]):
        assert len(group) == 3
        np.testing.assert_allclose(group.p_t_holm, holm(group.p_t))
        assert (group.p_t_holm >= group.p_t).all()


def test_holms_correction_is_that_of_his_paper():
    assert holm([0.005, 0.011, 0.02, 0.04, 0.13]) == pytest.approx([0.025, 0.044, 0.06, 0.08, 0.13])
    assert holm([0.4, 0.3]) == [0.6, 0.6]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_chance_makes_some_of_many_corrected_p_values_small_in_five_of_a_hundred_studies():
    p_values = np.random.default_rng(0).random((2000, 20))
    share = np.mean([min(holm(each)) < 0.05 for each in p_values])
    assert 0.035 < share < 0.065


def test_policies_that_do_the_same_do_not_differ(tmp_path):
    values = {**VALUES, "policy": ["tests.studies.mine:Always:action=0", "constant:number=0"]}
    frame = run(Study.from_dict(values), tmp_path).differences()
    assert (frame[["difference", "bootstrap_low", "bootstrap_high"]] == 0.0).all(axis=None)
    assert (frame[["p_t", "p_wilcoxon", "p_t_holm"]] == 1.0).all(axis=None)


class Turns(Policy):
    """Takes all actions in turn, up or down."""

    def __init__(self, down=False, **options):
        self._down = down
        super().__init__(**options)

    def _initial(self):
        return np.zeros(self.batch_size, np.intp)

    def _select(self, rng, learned, time_step):
        action = learned % self.num_actions
        return self.num_actions - 1 - action if self._down else action

    def _learn(self, learned, trajectory):
        return learned + 1


def test_the_same_regrets_in_another_order_do_not_differ(tmp_path):
    names = [f"tests.studies.test_differences:Turns:down={down}" for down in ("false", "true")]
    environment = "bernoulli:means=[0.13,0.29,0.37]"
    values = {"title": "Turns", "environment": [environment], "policy": names, "runs": 20}
    frame = run(Study.from_dict({**values, "steps": 300}), tmp_path).differences()
    (row,) = frame[frame.quantity == "cumulative_regret"].itertuples()
    assert (row.difference, row.low, row.high) == (0.0, 0.0, 0.0)
    assert (row.bootstrap_low, row.bootstrap_high) == (0.0, 0.0)
    assert (row.p_t, row.p_wilcoxon, row.p_t_holm, row.p_wilcoxon_holm) == (1.0, 1.0, 1.0, 1.0)


def test_rounding_of_regrets_breaks_no_tie():
    rng = np.random.default_rng(0)
    ours = rng.integers(100, 130, 200) * 1.0
    theirs = rng.integers(100, 130, 200) * 1.0
    noise = 1.0 + 1e-15 * rng.normal(size=200)
    found = differences._subtract(ours * noise, theirs / noise)
    expected = stats.wilcoxon(ours - theirs).pvalue
    assert differences._test(found[:, np.newaxis])[1] == pytest.approx(expected)


@pytest.mark.parametrize("runs", [2, 3, 7, 12, 13])
def test_few_differences_with_ties_have_the_p_values_of_all_signs(runs):
    rng = np.random.default_rng(runs)
    for digits in (0, 0, 1):
        values = rng.normal(size=runs).round(digits)
        values[0] = -values[1] or 0.5
        values[-1] = 0.0
        (p_value,) = differences._test(values[:, np.newaxis])[1]
        assert p_value == pytest.approx(stats.wilcoxon(values).pvalue, abs=1e-12)


def test_ties_in_few_runs_take_no_time():
    values = np.random.default_rng(0).normal(size=(13, 400)).round(1)
    start = time.process_time()
    differences._test(values)
    assert time.process_time() - start < 2.0  # all signs of one column take 0.3 s


def test_bootstrap_intervals_repeat_and_are_near_those_of_students_t(folder):
    first = load(folder).differences(resamples=4000)
    assert first.equals(load(folder).differences(resamples=4000))
    widths = (first.bootstrap_high - first.bootstrap_low) / (first.high - first.low)
    assert widths.dropna().between(0.8, 1.25).all()


def test_a_wrong_baseline_confidence_or_number_of_resamples_is_refused(folder):
    found = load(folder)
    with pytest.raises(ValueError, match="baseline is random; expected one of greedy"):
        found.differences("random")
    with pytest.raises(ValueError, match="confidence is 1"):
        found.differences(confidence=1)
    with pytest.raises(ValueError, match="resamples is 0"):
        found.differences(resamples=0)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("ucb", "ucb:c=1"),
        ("UCB, c=1", "ucb:c=1"),
        ("costs $5", "epsilon_greedy:epsilon=0.1"),
        ("epsilon_greedy:epsilon=0.0", "epsilon_greedy:epsilon=0"),
        ("greedy", "greedy"),
    ],
)
def test_a_baseline_may_be_an_id_or_a_label_that_one_policy_has(folder, text, policy):
    found = load(folder, labels={"epsilon_greedy:epsilon=0.1": "costs $5"})
    assert str(found.find_policy(text)) == policy


def test_frames_have_the_labels_that_figures_show(folder):
    labels = {"greedy": "cautious", "ucb:c=1": "ours", "epsilon_greedy:epsilon=0.1": "ours"}
    found = load(folder, labels={**labels, "testbed:k=3": "three arms"})
    differences = found.differences("epsilon_greedy:epsilon=0", resamples=10)
    names = {"cautious", "ours, c=1", "ours, ε=0.1"}
    assert {*differences.policy} == names
    assert {*found.summary.policy} == {*found.runs.policy} == names | {"epsilon_greedy:epsilon=0"}
    assert {*found.summary.environment} == {"three arms", "testbed:k=5"}


def test_a_label_that_would_name_two_rows_is_no_name(folder):
    swapped = {"greedy": "ucb:c=1", "ucb:c=1": "greedy"}
    shared = dict.fromkeys(VALUES["environment"], "arms")
    found = load(folder, labels={**swapped, **shared}).summary
    assert found[["environment", "policy"]].equals(load(folder).summary[["environment", "policy"]])


def test_a_policy_that_has_failed_keeps_its_label(folder):
    study = dataclasses.replace(load(folder).study, failed={"mine:Bad": "it fails"})
    assert RowNames.of(study).policies["mine:Bad"] == "mine:Bad"
    assert RowNames.of(study.shown(labels={"mine:Bad": "bad"})).policies["mine:Bad"] == "bad"


def test_a_baseline_that_several_policies_have_names_them(folder):
    expected = "epsilon_greedy:epsilon=0, epsilon_greedy:epsilon=0.1$"
    with pytest.raises(ValueError, match=f"epsilon_greedy; expected one of {expected}"):
        load(folder).find_policy("epsilon_greedy")


@pytest.mark.parametrize(
    "wrong",
    [
        ("--baseline", "thompson"),
        ("--latex", "t.txt"),
    ],
)
def test_a_report_refuses_what_is_wrong_before_it_writes_or_shows(folder, tmp_path, wrong):
    figure = tmp_path / "figure.png"
    code, out, _ = command_line.run("report", folder, "--figure", figure, *wrong)
    assert (code, out, figure.exists()) == (2, "", False)


def test_the_report_compares_with_any_policy_and_tells_p_values(folder):
    outcome = command_line.run("report", folder, "--baseline", "ucb:c=1")
    assert outcome.code == 0
    shown = outcome.out.partition("Differences to UCB, c=1")[2]
    assert shown.count("ε-greedy, ε=0.1") == 2
    assert "corrected by Holm for the number of policies in an environment" in " ".join(
        shown.split()
    )
    row = load(folder).differences("ucb:c=1").iloc[0]
    assert f"p {row.p_t_holm:.2g}, {row.p_wilcoxon_holm:.2g}" in shown
    code, _, err = command_line.run("report", folder, "--baseline", "thompson")
    assert code == 2
    assert "baseline is thompson; expected one of greedy" in err


def test_a_report_that_shows_some_rows_corrects_for_all_policies(folder, monkeypatch):
    monkeypatch.setattr(
        "bandit_envs.cli.printed_tables.MAX_ROWS", 4
    )  # 3 of an environment, 1 of the next
    shown = command_line.run("report", folder).out.partition("Differences to")[2]
    frame = load(folder).differences()
    rows = frame[frame.quantity == frame.quantity[0]].iloc[:4]
    found = [line.split()[1:3] for line in shown.splitlines() if line.split()[:1] == ["p"]]
    expected = [[f"{row.p_t_holm:.2g},", f"{row.p_wilcoxon_holm:.2g}"] for row in rows.itertuples()]
    assert found == expected


def test_a_table_of_latex_has_every_policy_by_environment(folder):
    found = load(folder)
    lines = found.to_latex(["mean_reward"]).splitlines()
    place = lines.index(r"\begin{tabular}{lrr}")
    assert lines[place + 2] == r"policy & k-armed testbed, k=3 & k-armed testbed, k=5 \\"
    assert lines.count(r"\midrule") == 1
    first = found.summary.iloc[0]
    (cell,) = [line.split(" & ")[1] for line in lines if line.startswith("greedy")][:1]
    mean, error = cell.strip("$").split(r" \pm ")
    assert float(mean) == pytest.approx(first.mean_reward, abs=first.mean_reward_se / 10)
    assert float(error) == pytest.approx(first.mean_reward_se, rel=0.05)
    assert found.to_latex().count("&") > found.to_latex(["mean_reward"]).count("&")
    with pytest.raises(ValueError, match="quantities has 'loss'; expected some of reward"):
        found.to_latex(["loss"])


def test_latex_gets_no_signs_of_its_own():
    assert escape("costs $5") == r"costs \$5"
    assert escape("50% of a_b & {c} ~ #1^2") == (
        r"50\% of a\_b \& \{c\} \textasciitilde{} \#1\textasciicircum{}2"
    )
