"""Slates in tables, one row a slate and one row a slot, become the same log."""

import numpy as np
import pytest

from bandit_envs import RandomSlatePolicy, SlatePolicy
from bandit_envs.logged import PseudoInverse, RewardInteractionIPS, SlateStandardIPS
from bandit_envs.logged.estimators.slate_estimators import SlateMoments
from bandit_envs.logged.files import read_slates
from bandit_envs.logged.rows.units import as_units

pandas = pytest.importorskip("pandas")
ITEMS = np.array(["boots", "hats", "scarfs", "shoes"])
S = 2
PLACES = ["top", "below"]
WIDE = {
    "action": ["top", "below"],
    "reward": ["click_top", "click_below"],
    "prefix_propensity": ["p_top", "p_below"],
}
LONG = {
    "action": "item",
    "reward": "click",
    "prefix_propensity": "p",
    "decision": "shown",
    "slot": "place",
}


def wide(size=400, seed=0):
    """One row a slate, of a random policy; visitors from DE click on shoes."""
    rng = np.random.default_rng(seed)
    items = np.argsort(rng.random((size, 4)), axis=1)[:, :S]
    country = rng.choice(["DE", "FR"], size)
    means = np.where((country == "DE")[:, np.newaxis] == (items == 3), 0.8, 0.1)
    clicks = (rng.random((size, S)) < means).astype(float)
    frame = pandas.DataFrame({"country": country})
    for slot, name in enumerate(PLACES):
        frame[name] = ITEMS[items[:, slot]]
        frame[f"click_{name}"] = clicks[:, slot]
        frame[f"p_{name}"] = [1 / 4, 1 / 12][slot]
    return frame


def long(frame, seed=1):
    """The same with one row a slot, in any order but for each first row of a slate."""
    parts = []
    for slot, name in enumerate(PLACES):
        part = pandas.DataFrame({"shown": [f"s{row}" for row in range(len(frame))]})
        part["place"] = slot + 9  # as text, 10 would come first
        part["country"] = frame["country"]
        part["item"] = frame[name]
        part["click"] = frame[f"click_{name}"]
        part["p"] = frame[f"p_{name}"]
        parts.append(part)
    rest = parts[1].sample(frac=1.0, random_state=seed)
    return pandas.concat([parts[0], rest], ignore_index=True)


def are_equal(left, right):
    pairs = [(left.observation, right.observation), (left.action, right.action)]
    pairs += [(left.reward, right.reward), *zip(left.propensity, right.propensity)]
    same = [one is other is None or np.array_equal(one, other) for one, other in pairs]
    return all(same) and left.encoding == right.encoding and left.num_actions == right.num_actions


class ShoesFirst(SlatePolicy):
    """Shows shoes above boots to visitors from DE, and else boots above shoes."""

    def _scores(self, learned, time_step):
        is_german = time_step.observation[:, :1] == 1.0
        return np.where(is_german, [[1.0, 0.0, 0.0, 2.0]], [[2.0, 0.0, 0.0, 1.0]])


def test_one_row_a_slate_and_one_row_a_slot_are_the_same_log():
    frame = wide()
    log = read_slates(frame, **WIDE)
    assert are_equal(log, read_slates(long(frame), **LONG))
    assert (len(log), log.num_slots, log.num_actions) == (400, S, 4)
    assert log.encoding.actions == tuple(ITEMS)
    assert log.encoding.labels() == ["country=DE", "country=FR"]
    np.testing.assert_array_equal(ITEMS[log.action[:, 0]], frame["top"])
    np.testing.assert_array_equal(log.propensity.slate, frame["p_below"])


def test_a_column_says_whose_a_slate_is():
    frame = wide(40).assign(user=[f"user-{row % 7}" for row in range(40)])
    log = read_slates(frame, **WIDE, unit="user")
    assert log.encoding.names == ["country"]
    assert log.unit.tolist() == as_units(frame["user"].to_numpy()).tolist()
    table = long(frame).merge(
        frame.assign(shown=[f"s{row}" for row in range(40)])[["shown", "user"]]
    )
    again = read_slates(table, **LONG, unit="user")
    assert again.unit.tolist() == log.unit.tolist()
    assert again[3:5].unit.tolist() == log.unit[3:5].tolist()
    table.loc[0, "user"] = "user-8"
    with pytest.raises(ValueError, match="the same value in all rows of a slate"):
        read_slates(table, **LONG, unit="user")


def test_slots_may_have_names_which_are_sorted():
    frame = long(wide(20)).replace({"place": {9: "a", 10: "b"}})
    assert are_equal(read_slates(frame, **LONG), read_slates(wide(20), **WIDE))


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_files_and_folders_are_read_as_frames_are(tmp_path, suffix):
    frame = long(wide(60))
    expected = read_slates(frame, **LONG)
    for part, rows in enumerate((frame[:70], frame[70:])):  # slates are in both
        path = tmp_path / f"part-{part}.{suffix}"
        if suffix == "parquet":
            pytest.importorskip("pyarrow")
            rows.to_parquet(path, index=False)
        else:
            rows.to_csv(path, index=False)
    assert are_equal(read_slates(tmp_path, **LONG), expected)
    with pytest.raises(ValueError, match="slate 's0' has 0 rows of slot 10;"):
        read_slates(tmp_path, only=f"part-0.{suffix}", **LONG)


def test_items_are_numbers_in_all_columns_or_names():
    frame = wide(30).replace({name: dict(zip(ITEMS, range(4))) for name in PLACES})
    log = read_slates(frame.infer_objects(), **WIDE, num_actions=7)
    assert (log.num_actions, log.encoding.actions) == (7, ())
    np.testing.assert_array_equal(log.action, frame[PLACES].to_numpy(int))


def test_whole_slates_may_have_one_reward_and_one_propensity():
    frame = wide(5000)
    frame["clicks"] = frame["click_top"] + frame["click_below"]
    frame["p"] = 1 / 12
    log = read_slates(frame, action=PLACES, reward="clicks", propensity="p", features=["country"])
    policy = ShoesFirst(S, num_actions=4)
    found = SlateStandardIPS().estimate(log.reward, log.propensity, log.probabilities_of(policy))
    truth = 0.5 * (0.8 + 0.1) + 0.5 * (0.8 + 0.1)
    assert abs(found.value - truth) < 5 * found.standard_error
    uniform = SlateMoments.of_slates(
        [[a, b] for a in range(4) for b in range(4) if a != b], np.full((1, 12), 1 / 12), 4
    )
    found = PseudoInverse().estimate(log.reward[:, 0], log.action, uniform, uniform)
    assert found.value == pytest.approx(frame["clicks"].mean())


def test_policies_that_know_their_probabilities_tell_them_and_others_draw():
    log = read_slates(wide(3000), **WIDE)
    same = log.probabilities_of(RandomSlatePolicy(S, num_actions=4))
    found = RewardInteractionIPS().estimate(log.reward, log.propensity, same)
    assert found.value == pytest.approx(log.reward.sum(axis=1).mean())
    shown = log.probabilities_of(ShoesFirst(S, num_actions=4))
    is_german = log.observation[:, 0] == 1.0
    np.testing.assert_array_equal(shown.slot[:, 0], log.action[:, 0] == np.where(is_german, 3, 0))
    part = log[100:200].probabilities_of(ShoesFirst(S, num_actions=4))
    np.testing.assert_array_equal(part.prefix, shown.prefix[100:200])


def test_slates_that_miss_a_value_are_counted_or_left_out_whole():
    frame = long(wide(20))
    frame.loc[[3, 25], "click"] = np.nan
    with pytest.raises(ValueError, match="2 of 40 rows miss values: 'click' 2, first in row 3"):
        read_slates(frame, **LONG)
    lacking = {frame["shown"][3], frame["shown"][25]}
    log = read_slates(frame, **LONG, drop_missing=True)
    assert len(log) == 20 - len(lacking)


@pytest.mark.parametrize(
    ("change", "roles", "message"),
    [
        ({}, {"slot": None}, "expected both"),
        ({}, {"prefix_propensity": ()}, "no column has propensities"),
        ({}, {"reward": "item"}, "'item' has two roles"),
        ({}, {"action": ["item", "other"]}, "action has 2 columns; expected one"),
        ({}, {"features": ["age"]}, "no column 'age'"),
        ({}, {"num_actions": 3}, "num_actions is 3, and the table names 4"),
        ({"place": 9}, {}, "slate 's0' has 2 rows of slot 9"),
        ({"country": "row"}, {}, "expected the same value in all rows of a slate"),
        ({"click": "often"}, {}, "column 'click' is 'often' in row 0; expected a number"),
        ({"p": 0.0}, {}, "column 'p' is 0.0 in row 0; expected above 0"),
    ],
)
def test_tables_that_cannot_be_slates_are_refused(change, roles, message):
    frame = long(wide(20))
    for name, value in change.items():
        frame[name] = [str(row) for row in range(40)] if value == "row" else value
    with pytest.raises(ValueError, match=message):
        read_slates(frame, **LONG | roles)


def test_reward_columns_are_one_for_each_slot():
    with pytest.raises(ValueError, match="slot_propensity has 1 columns; expected 2"):
        read_slates(wide(), **WIDE, slot_propensity="p")


def test_policies_of_other_sizes_are_refused():
    log = read_slates(wide(), **WIDE)
    with pytest.raises(ValueError, match="policy has 5 items; expected 4"):
        log.probabilities_of(RandomSlatePolicy(S, num_actions=5))
    with pytest.raises(ValueError, match="the slates of policy have"):
        log.probabilities_of(RandomSlatePolicy(3, num_actions=4))
