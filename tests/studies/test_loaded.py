"""Studies in Python."""

import csv
import importlib
import io
import math
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("filelock")
pytest.importorskip("joblib")
pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("pandas")

from bandit_envs.studies import Study, load, run
from tests.command_line import TINY, finished_tasks, forget_tasks, sweep
from tests.studies.test_run import STUMBLING
from tests.studies.test_study import parse

pandas = importlib.import_module("pandas")
QUANTILES = TINY.replace("steps = 5", "steps = 5\nquantiles = [0.1, 0.9]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which `run` has left its results."""
    folder = tmp_path_factory.mktemp("python")
    run(parse(QUANTILES), folder)
    return folder


def test_a_study_run_in_python_is_one_that_the_command_has_finished(folder, tmp_path):
    outcome = sweep(tmp_path, QUANTILES, output=folder)
    assert outcome.code == 0
    assert "nothing to run" in outcome.err


def test_frames_hold_what_the_files_hold(folder):
    sweep(folder, QUANTILES, output=folder)
    loaded = load(folder)
    loaded.write_tables()
    for name in ("summary", "runs"):
        frame = getattr(loaded, name)
        file = folder / f"{name}.csv"
        pandas.testing.assert_frame_equal(frame, pandas.read_csv(file), rtol=1e-9)
    array = np.load(folder / "curves.npy")
    assert len(array) == len(loaded.summary)
    for name in array.dtype.names:
        np.testing.assert_allclose(loaded.curves[name], array[name].ravel(), rtol=1e-6)
    assert loaded.num_missing == 0


def test_differences_are_those_of_paired_runs_to_any_policy(folder):
    loaded = load(folder)
    baseline = "epsilon_greedy:epsilon=0.5"
    found = loaded.differences(baseline)
    assert set(found.policy) == {str(policy) for policy in loaded.study.policy} - {baseline}
    means = loaded.runs.pivot(index="run", columns="policy", values="mean_reward")
    for row in found.itertuples():
        differences = means[row.policy] - means[baseline]
        assert row.difference == pytest.approx(differences.mean())
        assert (row.low + row.high) / 2 == pytest.approx(row.difference)
    assert "random" not in set(loaded.differences().policy)
    with pytest.raises(ValueError, match="baseline is greedy; expected one of random"):
        loaded.differences("greedy")


def test_a_figure_is_matplotlibs_and_shows_other_panels_and_quantiles(folder):
    loaded = load(folder)
    figure = loaded.plot(panels=["reward"], quantiles=[0.25, 0.75])
    assert "25% and 75% quantiles" in figure.texts[0].get_text()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(file, format="pdf")
    assert file.getvalue().startswith(b"%PDF")
    with pytest.raises(ValueError, match="panels is"):
        loaded.plot(panels=["regret"])
    with pytest.raises(ValueError, match="arms"):
        loaded.plot(panels=["arms"])


def test_tasks_that_fail_are_told_and_the_others_are_kept(tmp_path):
    with pytest.raises(RuntimeError, match=r"tasks have failed, such as .*Stumbling.*no luck"):
        run(parse(STUMBLING), tmp_path)
    loaded = load(tmp_path)
    assert 0 < loaded.num_missing == 12 - len(finished_tasks(tmp_path)) < 6
    assert set(loaded.summary.policy) == {"random"}
    with pytest.raises(ValueError, match="run with quantiles"):
        loaded.plot(quantiles=[0.1, 0.9])


def test_a_comparison_goes_with_the_expected_values_of_the_study(tmp_path):
    item = '{policy = "random", metric = "mean_reward", value = 0, source = "exact"}'
    run(
        parse(TINY.replace("steps = 5", f"steps = 5\nexpected = [{item}]")), tmp_path
    ).write_tables()
    assert (tmp_path / "comparison.csv").exists()
    run(parse(TINY), tmp_path).write_tables()
    assert not (tmp_path / "comparison.csv").exists()


def test_nothing_finished_is_an_empty_frame(tmp_path):
    run(parse(TINY), tmp_path)
    forget_tasks(tmp_path, range(20))
    loaded = load(tmp_path)
    assert len(loaded.summary) == len(loaded.differences()) == 0
    assert loaded.num_missing == 20
    (axis,) = loaded.plot().axes
    assert len(axis.lines) == 0


@pytest.mark.parametrize("label", ["=1+2", "+1+2", "-2+3+cmd|' /C calc'!A0", "@SUM(1,2)"])
def test_no_text_of_a_study_is_a_formula_of_a_spreadsheet(label, tmp_path):
    expected = [
        {"policy": "random", "metric": "mean_reward", "value": -9.5, "source": "exact"},
        {"policy": "random", "metric": "reward", "at_most": -1.0, "source": "published: =1"},
    ]
    study = Study.from_dict({**parse(TINY).to_dict(), "expected": expected})
    run(study, tmp_path)
    load(tmp_path, labels={"random": label}).write_tables()

    for file in tmp_path.glob("*.csv"):
        for row in csv.reader(file.read_text("utf-8").splitlines()):
            for cell in row:
                assert not cell.startswith(("=", "+", "@"))
                assert not cell.startswith("-") or math.isfinite(float(cell.partition(" ")[0]))
    with (tmp_path / "comparison.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["policy"] == f"'{label}"
    assert f"'{label}" in (tmp_path / "summary.csv").read_text("utf-8")
    assert rows[0]["expected"].startswith("-9.5")


def test_without_matplotlib_figures_name_the_extra(folder, tmp_path, monkeypatch):
    loaded = load(folder)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (loaded.plot, lambda: loaded.write_figure(tmp_path / "figure.png")):
        with pytest.raises(ModuleNotFoundError, match=r"matplotlib is not installed; .*\[cli\]"):
            draw()


def test_a_study_may_show_some_policies_in_another_order(folder):
    loaded = load(folder)
    names = [str(policy) for policy in reversed(loaded.study.policy)][:2]
    part = loaded.only(names)
    assert [str(policy) for policy in part.study.policy] == names
    assert list(part.summary.policy[:2]) == names
    assert set(part.differences().policy) == {names[1]}
    (axes, *_) = part.plot(panels=["reward"]).axes
    assert len(axes.get_lines()) == 2
    whole = loaded.summary.set_index(["environment", "policy"])
    shown = part.summary.set_index(["environment", "policy"])
    pandas.testing.assert_frame_equal(shown, whole.loc[shown.index])
    assert loaded.to_latex().count("random") > part.only(names[:1]).to_latex().count("random") == 0


def test_p_values_are_corrected_for_the_policies_that_are_shown(folder):
    part = load(folder).only(["epsilon_greedy:epsilon=0.5", "random"])
    found = part.differences()
    pandas.testing.assert_series_equal(found.p_t_holm, found.p_t, check_names=False)


def test_some_policies_are_named_as_a_baseline_is(folder):
    loaded = load(folder)
    assert repr(loaded.only(["random"])).endswith("policies=1, environments=1, runs=4, steps=5)")
    with pytest.raises(ValueError, match="policy is thompson; expected one of random"):
        loaded.only(["thompson"])
    with pytest.raises(ValueError, match=r"expected one of random \(by chance\), "):
        loaded.shown(labels={"random": "by chance"}).only(["thompson"])
    with pytest.raises(ValueError, match="policies is empty"):
        loaded.only([])


def test_some_policies_leave_out_what_is_expected_of_others(tmp_path):
    value = 'metric = "reward"\nsince = 2\nvalue = 0.0\nsource = "exact: none"\n'
    others = '[[expected]]\npolicy = "random"\n' + value
    own = '[[expected]]\npolicy = "greedy"\n' + value
    arms = 'environment = ["testbed:k=2"]\npolicy = ["random", "greedy"]\npanels = ["reward"]\n'
    found = run(parse(f'title = ""\nruns = 2\nsteps = 4\n{arms}{others}{own}'), tmp_path)
    part = found.only(["greedy"])
    assert [row.policy for row in found.compare()] == ["random", "greedy"]
    assert part.compare() == found.compare()[1:]
    assert sum(line.get_marker() == "x" for line in part.plot().axes[0].lines) == 1


def test_some_policies_tell_what_has_not_finished_of_the_whole_study(tmp_path):
    run(parse(TINY), tmp_path)
    forget_tasks(tmp_path, {1})
    loaded = load(tmp_path)
    part = loaded.only(["random"])
    assert part.unfinished == loaded.unfinished
    assert part.shown(title="Another").unfinished == loaded.unfinished


def test_a_paired_study_has_no_policies_to_choose_from(tmp_path):
    text = 'paired = true\nenvironment = ["testbed:k=2"]\npolicy = ["random"]\n'
    run(parse('title = ""\nruns = 2\nsteps = 3\n' + text), tmp_path)
    with pytest.raises(ValueError, match="the study is paired"):
        load(tmp_path).only(["random"])


def test_a_policy_has_the_same_numbers_by_itself_as_among_others(tmp_path, folder):
    text = QUANTILES.replace("[0, 0.25, 0.5, 1]", "0.5")
    alone = text.replace('[[policy]]\nname = "random"\n', "")
    found = run(parse(alone), tmp_path).runs
    among = load(folder).only(["epsilon_greedy:epsilon=0.5"]).runs
    pandas.testing.assert_frame_equal(found, among, check_exact=True)
