"""Logs of actions that are real numbers."""

import numpy as np
import pytest

from bandit_envs import StepDriver
from bandit_envs.environments import ContinuousBandit
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    InversePropensityScoring,
    KernelDR,
    KernelIPS,
    LogRecorder,
    RewardRegression,
    actions_of,
    concatenate,
    from_frame,
    read_log,
    scan_log,
    write_log,
)
from bandit_envs.policies import GaussianPolicy, RandomNumberPolicy
from bandit_envs.trajectories import restart

B = 200


def record(policy_class, steps=100, folder=None, **arguments):
    """Returns a log, and what makes another policy for the same environment."""
    env = ContinuousBandit(batch_size=B, seed=0)
    found = policy_class.arguments_for(env)
    policy = policy_class(seed=1, **arguments, **found)
    recorder = LogRecorder(0, folder=folder, chunk_rows=1000)
    StepDriver(env, policy, [recorder], steps, emit_log_probability=True).run()
    return recorder.log(), GaussianPolicy.arguments_for(env)


@pytest.mark.parametrize(
    ("logger", "arguments"), [(RandomNumberPolicy, {}), (GaussianPolicy, {"std": 0.4})]
)
def test_kernel_estimators_find_the_value_of_another_policy_from_a_log(logger, arguments):
    log, sizes = record(logger, **arguments)
    candidate = GaussianPolicy(0.02, [0.5, 0.1, -0.05], seed=2, **sizes)
    action = actions_of(candidate, log)
    optimum = np.clip(0.5 + log.observation @ [0.2, -0.1], 0.0, 1.0)
    values = 1.0 - (action - optimum) ** 2
    columns = (log.reward, log.propensity, log.action, action)
    estimates = [
        KernelIPS(0.1).estimate(*columns),
        KernelIPS(0.1, self_normalized=True).estimate(*columns),
        KernelDR(0.1).estimate(*columns, values),
    ]
    for estimate in estimates:
        assert abs(estimate.value - values.mean()) < 4.0 * estimate.standard_error + 0.1**2 / 5.0
    assert estimates[2].standard_error < estimates[1].standard_error < 0.01


def test_propensities_are_the_densities_of_the_logger():
    log, _ = record(RandomNumberPolicy, steps=3)
    assert (log.num_actions, log.action_kind.is_number) == (0, True)
    np.testing.assert_allclose(log.propensity, 1.0)
    assert log.action.dtype == np.float64
    assert repr(log).startswith("BanditLog(600 rows, real actions, mean reward")


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_files_keep_a_log(tmp_path, suffix):
    if suffix != ".npz":
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
    log, _ = record(GaussianPolicy, steps=5, std=0.05)
    write_log(tmp_path / f"log{suffix}", log)
    assert read_log(tmp_path / f"log{suffix}") == log
    assert concatenate(list(scan_log(tmp_path, batch_rows=300))) == log


def test_a_recorder_writes_parts(tmp_path):
    log, _ = record(RandomNumberPolicy, steps=20, folder=tmp_path / "log")
    assert len(list((tmp_path / "log").iterdir())) == 4
    assert log == record(RandomNumberPolicy, steps=20)[0]


def test_actions_of_a_policy_repeat_and_leave_it_as_it_is():
    log, sizes = record(RandomNumberPolicy, steps=7)
    policy = GaussianPolicy(0.1, seed=2, **sizes)
    expected = GaussianPolicy(0.1, seed=2, **sizes).action(restart(np.zeros((B, 2)), B))
    first = actions_of(policy, log)
    assert first.shape == (7 * B,)
    np.testing.assert_array_equal(first, actions_of(policy, log))
    np.testing.assert_array_equal(policy.action(restart(np.zeros((B, 2)), B)), expected)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"action": [0.5, np.inf]}, "action is inf in row 1; expected a finite number"),
        ({"propensity": [2.0, 0.0]}, "propensity is 0.0 in row 1; expected a density"),
        ({"available": np.ones((2, 0), bool)}, "available is of numbered actions"),
    ],
)
def test_bad_columns_are_refused(changes, match):
    columns = {"action": [0.5, 0.7], "propensity": [2.0, 1.0], **changes}
    with pytest.raises(ValueError, match=match):
        BanditLog(np.ones((2, 1)), reward=[0.0, 1.0], num_actions=0, **columns)


def test_real_actions_must_be_asked_for():
    with pytest.raises(TypeError, match="action is"):
        BanditLog(np.ones((2, 1)), [0.0, 1.0], [1.0, 1.0], [0.5, 0.5])


def test_what_needs_numbered_actions_says_so():
    log, _ = record(RandomNumberPolicy, steps=2)
    match = "the actions of log are real numbers; expected integers from 0"
    with pytest.raises(ValueError, match=match):
        InversePropensityScoring().estimate(log, np.ones((2 * B, 1)))
    with pytest.raises(ValueError, match=match):
        RewardRegression().predict(log)
    with pytest.raises(ValueError, match=match):
        DirectMethodLearner().fit(log)
    with pytest.raises(ValueError, match="no table of expected rewards"):
        LogRecorder(0, ContinuousBandit())


def priced(size=3000, seed=0):
    """A table of prices, drawn uniformly from 0 to 2, and of what they earned."""
    rng = np.random.default_rng(seed)
    price = rng.uniform(0.0, 2.0, size)
    country = rng.choice(["DE", "FR"], size)
    paid = 1.0 - (price - np.where(country == "DE", 1.5, 0.5)) ** 2
    return {"country": country, "price": price, "paid": paid, "density": np.full(size, 0.5)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_prices_is_read_by_all_readers(suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(priced())
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "a.parquet", index=False)
    else:
        frame.to_csv(tmp_path / "a.csv", index=False)
    names = {"action": "price", "reward": "paid", "propensity": "density", "num_actions": 0}
    log = from_frame(frame, **names)
    assert log.action_kind.is_number
    assert log.encoding.labels() == ["country=DE", "country=FR"]
    assert read_log(tmp_path / f"a{suffix}", **names) == log
    assert concatenate(list(scan_log(tmp_path / f"a{suffix}", 700, **names))) == log
    policy = np.where(log.observation[:, 0] == 1.0, 1.5, 0.5)
    estimate = KernelIPS(0.1).estimate(log.reward, log.propensity, log.action, policy)
    assert abs(estimate.value - 1.0) < 0.1


def test_actions_are_real_numbers_if_most_are_not_whole_and_their_number_is_not_given(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(priced(50))
    names = {"reward": "paid", "propensity": "density"}
    expected = from_frame(frame, "price", num_actions=0, **names)
    assert from_frame(frame, "price", **names) == expected
    frame.loc[:23, "price"] = np.round(frame.loc[:23, "price"])
    frame.to_csv(tmp_path / "prices.csv", index=False)
    scan = scan_log(tmp_path / "prices.csv", 10, action="price", **names)
    assert [batch.num_actions for batch in scan] == [0] * 5


def test_an_action_that_is_not_whole_is_named_where_most_are(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(priced(50))
    names = {"reward": "paid", "propensity": "density"}
    frame["price"] = np.abs(np.round(frame["price"]))
    assert from_frame(frame, "price", **names).num_actions > 0
    frame.loc[49, "price"] = 0.5
    with pytest.raises(ValueError, match=r"column 'price' is 0\.5 in row 49; expected an integer"):
        from_frame(frame, "price", **names)


def test_a_price_that_is_none_is_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(priced(50))
    names = {"reward": "paid", "propensity": "density"}
    with pytest.raises(ValueError, match="expected an integer; num_actions=0 reads real numbers"):
        from_frame(frame, "price", num_actions=3, **names)
    frame.loc[7, "price"] = np.inf
    with pytest.raises(
        ValueError, match="column 'price' is inf in row 7; expected a finite number"
    ):
        from_frame(frame, "price", num_actions=0, **names)
