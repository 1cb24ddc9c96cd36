"""Evaluations of policies that choose numbers, on logs of numbers."""

import dataclasses
import warnings

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import BanditLog, KernelIPS, actions_of
from bandit_envs.policies import GaussianPolicy
from bandit_envs.specs import ArraySpec, BoundedArraySpec
from bandit_envs.tables.encoding import NumberColumn, TableEncoding

pytestmark = pytest.mark.filterwarnings("ignore:the estimate moves with the bandwidth")

WIDE = "gaussian:std=0.01,coefficients=[1.5]"


def priced(size=20_000, seed=0, peak=40.0):
    """A log of prices from 0 to 2, which earn most at 1.5."""
    rng = np.random.default_rng(seed)
    price = rng.uniform(0.0, 2.0, size)
    reward = np.exp(-peak * (price - 1.5) ** 2) + rng.normal(0.0, 0.1, size)
    return BanditLog(rng.normal(size=(size, 1)), price, reward, np.full(size, 0.5), 0)


def kernels(*bandwidths):
    """Texts of both estimators with each bandwidth."""
    return [
        f"{name}:bandwidth={bandwidth}"
        for name in ("kernel_ips", "kernel_snips")
        for bandwidth in bandwidths
    ]


def test_batches_and_the_whole_log_have_the_same_estimates():
    log = priced(3000)
    policy = GaussianPolicy(
        1e-9,
        [1.5],
        observation_spec=ArraySpec((1,), np.float64),
        action_spec=BoundedArraySpec((), np.float64, 0.0, 2.0),
        seed=0,
    )
    logged, *whole = evaluate(log, {"it": policy}, kernels(0.1)).rows
    _, *parts = evaluate([log[:700], log[700:]], {"it": policy}, kernels(0.1)).rows
    assert logged.value == pytest.approx(log.reward.mean())
    assert [row.estimator for row in whole] == [
        "kernel_ips:bandwidth=0.1",
        "kernel_snips:bandwidth=0.1",
    ]
    for one, other in zip(whole, parts):
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-9)
        assert one.gain == pytest.approx(one.value - logged.value)
        assert (one.gain_low, one.gain_high) == pytest.approx((other.gain_low, other.gain_high))
    columns = (log.reward, log.propensity, log.action, actions_of(policy, log))
    for row, is_normalised in zip(whole, (False, True)):
        expected = KernelIPS(0.1, self_normalized=is_normalised).estimate(*columns)
        assert row.value == pytest.approx(expected.value, abs=1e-12)
        assert row.standard_error == pytest.approx(expected.standard_error, abs=1e-12)
        assert (row.low, row.high) == pytest.approx(expected.interval(), abs=1e-12)


def test_a_bandwidth_with_which_the_estimate_moves_is_told():
    large = evaluate(priced(), WIDE, kernels(0.4)).rows[1:]
    assert large[0].value < 0.7
    for row in large:
        assert "the estimate moves with the bandwidth" in row.warnings
        assert row.low < row.value < 0.8 < row.high  # it has all of what both extrapolate
    small = evaluate(priced(), WIDE, kernels(0.03)).rows[1:]
    assert abs(small[0].value - 1.0) < 0.1
    assert small[0].warnings == small[1].warnings == ""


def test_slope_chooses_among_bandwidths_and_says_which():
    widths = [0.4, 0.1, 0.05]
    given = evaluate(priced(), WIDE, kernels(*widths, "slope"))
    assert [row.estimator for row in given.rows[1:5]] == [
        *(f"kernel_ips:bandwidth={width}" for width in widths),
        "kernel_ips:bandwidth=slope",
    ]
    chosen = given.rows[4]
    assert abs(chosen.value - 1.0) < 0.1
    (row,) = [row for row in given.rows[1:4] if row.value == chosen.value]
    assert row._replace(estimator=chosen.estimator) == chosen._replace(p_value=row.p_value)
    width = row.estimator.partition("=")[2]
    assert f"{WIDE} has bandwidth={width} for kernel_ips:bandwidth=slope and" in given.notes[0]


def test_slope_follows_the_spread_of_the_actions_if_no_bandwidths_are_given():
    _, *rows = evaluate(priced(), WIDE, kernels("slope")).rows
    assert [row.estimator for row in rows] == [
        "kernel_ips:bandwidth=slope",
        "kernel_snips:bandwidth=slope",
    ]
    assert all(abs(row.value - 1.0) < 0.1 for row in rows)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, "best"])
def test_bandwidths_are_numbers_above_0_or_how_they_are_found(bandwidth):
    with pytest.raises(ValueError, match=r"estimator kernel_ips.*: bandwidth is"):
        evaluate(priced(100), WIDE, f"kernel_ips:bandwidth={bandwidth}")


def test_the_rule_of_the_bandwidth_follows_the_spread_of_the_actions():
    (_, row, *_) = evaluate(priced(peak=0.5), WIDE).rows
    bandwidth = float(row.estimator.partition("=")[2])
    assert bandwidth == pytest.approx(2.34 * 2 / np.sqrt(12) * 20_000**-0.2, rel=0.02)
    assert abs(row.value - 1.0) < 0.05


def test_numbers_and_numbered_actions_do_not_meet():
    numbered = BanditLog(np.ones((40, 1)), [0, 1] * 20, [1.0] * 40, [0.5] * 40)
    with pytest.raises(ValueError, match="bandwidth=1 is not for actions that are single actions"):
        evaluate(numbered, "random", "kernel_ips:bandwidth=1")
    with pytest.raises(ValueError, match="estimator dr is not for actions that are numbers"):
        evaluate(priced(100), WIDE, "dr")
    with pytest.raises(ValueError, match="all actions of the log are the same"):
        evaluate(BanditLog(np.ones((9, 1)), [1.5] * 9, [1.0] * 9, [1.0] * 9, 0), WIDE)


def test_weights_that_are_all_0_have_a_figure_without_a_warning(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.undo()  # so that figures are drawn
    found = evaluate(priced(200), WIDE, kernels(1e-12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.plot_weights().axes


def test_a_named_policy_of_numbered_actions_is_told_what_is_expected():
    with pytest.raises(
        ValueError, match=r"policy random: it chooses no numbers.* such as gaussian"
    ):
        evaluate(priced(500), "random")


def test_actions_whose_squares_overflow_are_refused():
    with pytest.raises(
        ValueError, match=r"action is 1e\+300 in row 0; expected .* of at most 1e\+100"
    ):
        BanditLog(np.ones((9, 1)), [1e300] * 9, [1.0] * 9, [1.0] * 9, 0)


def test_the_command_evaluates_a_table_of_prices(tmp_path):
    pandas = pytest.importorskip("pandas")
    for package in ("joblib", "filelock", "matplotlib", "rich"):
        pytest.importorskip(package)
    from tests.command_line import run  # noqa: PLC0415 - needs packages of the command

    log = priced(2000)
    frame = pandas.DataFrame({"x": log.observation[:, 0], "price": log.action})
    frame.assign(paid=log.reward, density=0.5).to_csv(tmp_path / "a.csv", index=False)
    roles = ("--action", "price", "--reward", "paid", "--propensity", "density")
    command = ("evaluate", tmp_path / "a.csv", *roles, "--output", tmp_path / "out")
    large = ("--policy", WIDE, "--estimator", "kernel_snips:bandwidth=0.4")
    code, out, err = run(*command, *large)
    assert code == 0, err
    assert "actions from 0.0" in out
    assert "the estimate moves with the bandwidth" in out
    slope = ("--estimator", "kernel_snips:bandwidth=slope")
    code, out, err = run(*command, *large, *slope, "--overwrite")
    assert code == 0, err
    assert "kernel_snips:bandwidth=slope" in out
    assert f"{WIDE} has bandwidth=" in out
    code, _, err = run(*command, "--policy", "random", "--overwrite")
    assert (code, "policy random: it chooses no numbers" in err) == (2, True)
    for option in (("--train", "x=1"), ("--baseline", WIDE), ("--num-actions", 3)):
        code, _, err = run(*command, "--policy", WIDE, *option, "--overwrite")
        assert code == 2
        assert err


def test_gains_and_segments_are_those_of_the_rows_alone():
    log = priced(2000)
    half = dataclasses.replace(log, observation=np.arange(2000.0)[:, np.newaxis] % 2)
    named = dataclasses.replace(half, encoding=TableEncoding((), (NumberColumn("new"),)))
    found = evaluate(named, {"it": WIDE}, kernels(0.1, 0.05), by="new")
    assert list(found.segments) == ["0", "1"]
    for name, rows in found.segments.items():
        part = named[named.observation[:, 0] == int(name)]
        alone = evaluate(part, {"it": WIDE}, kernels(0.1, 0.05)).rows
        assert [row.rows for row in rows] == [1000] * 5
        assert rows[0].value == pytest.approx(alone[0].value)
        assert rows[1].gain == pytest.approx(rows[1].value - rows[0].value)
        assert all(0.0 <= row.p_value <= 1.0 for row in rows[1:])


def test_slope_chooses_one_bandwidth_for_all_segments_of_a_policy():
    log = dataclasses.replace(priced(4000), observation=np.arange(4000.0)[:, np.newaxis] % 2)
    named = dataclasses.replace(log, encoding=TableEncoding((), (NumberColumn("new"),)))
    estimators = ["kernel_ips:bandwidth=slope", *kernels(0.4, 0.1)[:2]]
    found = evaluate(named, "gaussian:std=0.01,coefficients=[1.5]", estimators, by="new")
    width = found.notes[0].split()[2].removeprefix("bandwidth=")
    for rows in found.segments.values():
        values = {row.estimator: row.value for row in rows}
        chosen = values[f"kernel_ips:bandwidth={width}"]
        assert values["kernel_ips:bandwidth=slope"] == chosen


def test_whole_numbers_are_numbers_if_the_log_says_so():
    log = priced(3000)
    whole = BanditLog(log.observation, np.round(log.action * 10), log.reward, log.propensity, 0)
    assert [row.estimator.partition(":")[0] for row in evaluate(whole, WIDE).rows] == [
        "mean",
        "kernel_ips",
        "kernel_snips",
    ]


def test_slope_does_not_choose_a_bandwidth_that_leaves_no_rows():
    log = priced(3000)
    found = evaluate(log, WIDE, kernels(1e-12, 0.2, "slope"))
    rows = {row.estimator: row for row in found.rows[1:]}
    for kind in ("kernel_ips", "kernel_snips"):
        chosen = [
            row for name, row in rows.items() if name.startswith(f"{kind}:") and "slope" in name
        ]
        assert [row.value for row in chosen] == [rows[f"{kind}:bandwidth=0.2"].value]
