"""Tables with names of actions, texts, dates and gaps: one encoding up to the policy."""

import datetime
import functools
import warnings

import numpy as np
import pytest

from bandit_envs import LinUCBPolicy
from bandit_envs.datasets import read_dataset
from bandit_envs.evaluations import evaluate, learn
from bandit_envs.logged import (
    BanditLog,
    DirectMethodLearner,
    DoublyRobust,
    DoublyRobustLearner,
    InversePropensityScoring,
    PolicyGradientLearner,
    actions_of,
    concatenate,
    estimate_batches,
    estimate_propensities,
    evaluate_by_replay,
    from_frame,
    learn_from_log,
    probabilities_of,
    read_log,
    read_policy,
    scan_log,
    to_frame,
    write_log,
    write_policy,
)
from bandit_envs.logged.features import spec_of_rows
from bandit_envs.logged.summary import LogSummary
from bandit_envs.policies import ContinuousPolicy, RowByRowPolicy
from bandit_envs.specs import BoundedArraySpec
from bandit_envs.tables.encoding import NumberColumn, TableEncoding, TextColumn, TimeColumn

pandas = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings(
    "ignore:the policy has learned from rows of this log",
    "ignore:the policy does not know the actions",
    "ignore:the policy has not learned from country",
)

ROLES = {"action": "item", "reward": "paid", "propensity": "p"}
ITEMS = ("boots", "hats", "shoes")


def shop(size=600, seed=0, items=ITEMS, countries=("DE", "FR", "IT")):
    """A table of a shop, where the country decides what is bought."""
    rng = np.random.default_rng(seed)
    item = rng.choice(items, size)
    country = rng.choice(countries, size)
    time = np.datetime64("2024-03-01") + np.arange(size) * np.timedelta64(37, "m")
    means = np.where((country == "DE") == (item == "shoes"), 0.8, 0.2)
    frame = pandas.DataFrame({"time": time, "age": rng.integers(18, 80, size)})
    frame["country"] = country
    frame["item"] = item
    frame["paid"] = (rng.random(size) < means).astype(float)
    frame["p"] = 1.0 / len(items)
    return frame


def write(frame, path):
    """Writes a table to a CSV or Parquet file."""
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_all_readers_make_the_same_of_a_table(suffix, batch_rows, tmp_path):
    frame = shop()
    path = write(frame, tmp_path / f"shop{suffix}")
    log = from_frame(frame, **ROLES)
    assert log.encoding.actions == ITEMS
    assert log.encoding.names == ["time", "age", "country"]
    assert log.observation.shape == (600, 5 + 1 + 3)
    assert [ITEMS[action] for action in log.action] == frame["item"].tolist()
    for read in (read_log(path, **ROLES), concatenate(list(scan_log(path, batch_rows, **ROLES)))):
        assert read == log
        assert read.encoding == log.encoding


def test_a_data_set_and_a_log_have_the_same_features(tmp_path):
    path = write(shop().drop(columns=["p", "item"]), tmp_path / "shop.csv")
    log = from_frame(shop(), **ROLES)
    found = read_dataset(path, "paid")
    assert np.allclose(found.contexts, log.observation.astype(np.float32))


def test_columns_without_a_name_are_no_features_unless_they_are_named(tmp_path):
    frame = shop()
    expected = from_frame(frame, **ROLES)
    frame.to_csv(tmp_path / "shop.csv")  # with the index
    scan = scan_log(tmp_path / "shop.csv", **ROLES)
    assert scan.encoding == expected.encoding
    found = evaluate(scan, "random", "ips")
    assert "columns without a name, such as an index, are not features: 'Unnamed: 0'" in found.title
    with pytest.warns(UserWarning, match="are not features: 'Unnamed: 0'"):
        assert read_log(tmp_path / "shop.csv", **ROLES) == expected
    with pytest.warns(UserWarning, match="are not features: 'Unnamed: 0'"):
        assert from_frame(pandas.read_csv(tmp_path / "shop.csv"), **ROLES) == expected
    whole = read_dataset(write(shop(), tmp_path / "named.csv"), "item")
    with pytest.warns(UserWarning, match="are not features: 'Unnamed: 0'"):
        data = read_dataset(tmp_path / "shop.csv", "item")
    assert data.contexts.shape == whole.contexts.shape
    named = scan_log(tmp_path / "shop.csv", features=["Unnamed: 0", "age"], **ROLES)
    assert named.encoding.names == ["Unnamed: 0", "age"]


def test_a_policy_is_not_written_with_names_that_are_not_texts(tmp_path):
    frame = shop(50).rename(columns={"age": 0})
    log = from_frame(frame, features=[0], **ROLES)
    policy = learn_from_log(
        LinUCBPolicy(observation_spec=spec_of_rows(log.observation), num_actions=log.num_actions),
        log,
    )
    with pytest.raises(TypeError, match=r"named 0; expected texts, as frame.columns.map\(str\)"):
        write_policy(tmp_path / "policy.npz", policy)
    assert not (tmp_path / "policy.npz").exists()


def test_an_index_that_was_written_twice_or_to_parquet_is_no_feature(tmp_path):
    frame = shop()
    expected = from_frame(frame, **ROLES)
    frame.to_csv(tmp_path / "once.csv")
    pandas.read_csv(tmp_path / "once.csv").to_csv(tmp_path / "twice.csv")
    with pytest.warns(UserWarning, match="'Unnamed: 0.1', 'Unnamed: 0'"):
        assert from_frame(pandas.read_csv(tmp_path / "twice.csv"), **ROLES) == expected
    with pytest.warns(UserWarning, match="are not features: 'Unnamed: 0'$"):
        assert read_log(tmp_path / "twice.csv", **ROLES) == expected
    cheap = frame[frame["age"] > frame["age"].min()]  # whose index is no range
    cheap.to_parquet(tmp_path / "cheap.parquet")
    with pytest.warns(UserWarning, match="are not features: '__index_level_0__'"):
        assert read_log(tmp_path / "cheap.parquet", **ROLES) == from_frame(cheap, **ROLES)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%y", "%Y/%m/%d", "%d-%m-%Y %H:%M"])
def test_dates_in_another_form_are_told(form, tmp_path):
    frame = shop(100)
    frame["time"] = frame["time"].dt.strftime(form)
    with pytest.warns(UserWarning, match="column 'time' is of texts, as .*written as 2024-12-31"):
        from_frame(frame, **ROLES)
    found = evaluate(scan_log(write(frame, tmp_path / "shop.csv"), **ROLES), "random", "ips")
    assert "column 'time' is of texts, as" in found.title
    frame["time"] = "2." + frame["age"].astype(str) + ".1"  # versions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_frame(frame, **ROLES)


def test_a_time_is_years_and_places_in_the_day_and_the_week():
    monday = datetime.datetime(2000, 1, 3, 6)
    for cells in (
        np.array([np.datetime64(monday)]),
        np.array(["2000-01-03T06:00:00+09:00"], object),
        np.array([monday.replace(tzinfo=datetime.timezone.utc)], object),
    ):
        (found,) = TimeColumn("when").encode(cells)
        angle = 2 * np.pi * 0.25 / 7
        assert found == pytest.approx(
            [2.25 / 365.2425, 1.0, 0.0, np.sin(angle), np.cos(angle)], abs=1e-12
        )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_files_of_logs_keep_names(suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    log = from_frame(shop(), **ROLES)
    write_log(tmp_path / f"log{suffix}", log)
    read = read_log(tmp_path / f"log{suffix}")
    assert read == log
    assert read.encoding == log.encoding
    assert from_frame(to_frame(log)).encoding == log.encoding


def test_a_number_among_names_is_a_name_in_any_batch(tmp_path):
    lines = ["item,paid,p", *["007,1,0.5"] * 4, *["7,1,0.5"] * 4, *["red,0,0.5"] * 9]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    for rows in (3, 100):
        log = concatenate(list(scan_log(tmp_path / "a.csv", rows, **ROLES)))
        assert log.encoding.actions == ("007", "7", "red")
        assert np.bincount(log.action).tolist() == [4, 4, 9]


def test_texts_that_are_nearly_all_numbers_are_mistakes(tmp_path):
    frame = shop(100)
    frame["age"] = frame["age"].astype(object)
    frame.loc[50, "age"] = "old"
    path = write(frame, tmp_path / "shop.csv")
    for read in (lambda: from_frame(frame, **ROLES), lambda: read_log(path, **ROLES)):
        with pytest.raises(ValueError, match=r"column 'age' is 'old' in .*; expected a number"):
            read()
    frame = shop(100).astype({"time": str})
    frame.loc[50, "time"] = "soon"
    with pytest.raises(ValueError, match="'time' is 'soon' in row 50; expected a date or a time"):
        from_frame(frame, **ROLES)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_table_with_other_separators_is_told_so(tmp_path, separator):
    shop(40).to_csv(tmp_path / "shop.csv", index=False, sep=separator)
    for features in (None, ["age"]):
        with pytest.raises(ValueError, match=r"has no column .*; commas separate columns"):
            read_log(tmp_path / "shop.csv", features=features, **ROLES)


def test_too_many_texts_are_refused_by_name(tmp_path):
    frame = shop(400)
    frame["user"] = [f"u{row}" for row in range(400)]
    path = write(frame, tmp_path / "shop.csv")
    assert len(set(from_frame(frame, unit="user", **ROLES).unit.tolist())) == 400
    for read in (lambda: from_frame(frame, **ROLES), lambda: scan_log(path, 50, **ROLES)):
        with pytest.raises(
            ValueError,
            match="'user' has more than 256 different texts; users of a log are units: --unit",
        ):
            read()
    assert len(read_log(path, features=["age"], **ROLES)) == 400


def test_a_file_may_have_more_names_of_actions_than_levels_of_texts(tmp_path):
    names = [f"item {number}" for number in range(300)]
    frame = shop(900, items=names)
    write(frame, tmp_path / "log.csv")
    scan = scan_log(tmp_path / "log.csv", batch_rows=100, **ROLES)
    assert scan.encoding == from_frame(frame, *ROLES.values()).encoding


@pytest.mark.parametrize(
    "do",
    [
        DirectMethodLearner().fit_batches,
        DoublyRobustLearner().fit_batches,
        PolicyGradientLearner().fit_batches,
        estimate_propensities,
        lambda batches: estimate_batches(
            DoublyRobust(), batches, lambda batch: np.full((len(batch), 2), 0.5)
        ),
    ],
    ids=["direct_method", "doubly_robust", "gradient", "propensities", "estimate"],
)
def test_tables_that_were_read_apart_are_no_batches_of_one_log(do):
    frames = [shop(items=("hats", "shoes")), shop(items=("boots", "hats"))]
    apart = [from_frame(frame, *ROLES.values()) for frame in frames]
    with pytest.raises(ValueError, match="read them as one table"):
        do(apart)


def test_rows_with_gaps_are_dropped_everywhere_or_counted(tmp_path):
    frame = shop(50)
    frame.loc[3, "country"] = None
    frame.loc[5, "item"] = None
    frame.loc[7, "time"] = None
    path = write(frame, tmp_path / "shop.csv")
    for read in (
        lambda **more: from_frame(frame, **ROLES, **more),
        functools.partial(read_log, path, **ROLES),
    ):
        with pytest.raises(ValueError, match=r"3 of 50 rows miss .*'country' 1, first in"):
            read()
        assert read(drop_missing=True) == from_frame(frame.dropna(), **ROLES)


def test_the_time_by_which_a_log_is_cut_is_no_feature_unless_it_is_named(tmp_path):
    path = write(shop(), tmp_path / "shop.csv")
    for scan in (scan_log(path, **ROLES).with_time("time"), scan_log(path, time="time", **ROLES)):
        assert scan.encoding.names == ["age", "country"]
        earlier, later = scan.split("2024-03-05")
        assert len(earlier) + len(later) == 600
        assert next(iter(later)).encoding == scan.encoding
    assert scan_log(path, features="time", time="time", **ROLES).encoding.names == ["time"]


@pytest.mark.parametrize("batch_rows", [50, 10_000])
def test_estimates_of_streams_are_those_of_memory(batch_rows, tmp_path):
    frame = shop()
    path = write(frame, tmp_path / "shop.csv")
    log = from_frame(frame, **ROLES)
    policy = DirectMethodLearner().fit(from_frame(shop(300, seed=1), **ROLES))
    scan = scan_log(path, batch_rows, **ROLES)
    for estimator in (InversePropensityScoring(), DoublyRobust()):
        streamed = estimate_batches(estimator, scan, functools.partial(probabilities_of, policy))
        whole = estimate_batches(estimator, [log], functools.partial(probabilities_of, policy))
        assert abs(streamed.value - whole.value) < 1e-12


def test_a_policy_finds_actions_and_texts_of_a_later_table_by_their_names(tmp_path):
    earlier = from_frame(shop(), features=["age", "country"], **ROLES)
    learner = DirectMethodLearner()
    policy = learner.fit(earlier)
    expected = probabilities_of(learner.fit(earlier, seed=1), earlier[:300].add_actions([])[::-1])
    frame = shop()[::-1].iloc[300:]
    frame["country"] = frame["country"].replace({"DE": "AT"})  # which shifts the levels
    frame = frame.replace({"item": {"hats": "shawls", "boots": "zori"}})
    later = from_frame(frame, features=["country", "age"], **ROLES)
    with pytest.raises(ValueError, match="has the actions 'boots', 'hats', which log lacks"):
        probabilities_of(policy, later)
    wide = later.add_actions(policy.encoding.actions)
    assert wide.encoding.actions == ("shawls", "shoes", "zori", "boots", "hats")
    with (
        pytest.warns(UserWarning, match="has not learned from country 'AT'"),
        pytest.warns(UserWarning, match="not know the actions 'shawls', 'zori', and never"),
    ):
        found = probabilities_of(policy, wide)
    known = (frame["country"] != "AT").to_numpy()
    assert np.array_equal(found[known][:, [3, 4, 1]], expected[known])
    assert (found[:, [0, 2]] == 0.0).all()


def test_rows_with_a_policy_each_keep_the_names_of_their_table():
    first = from_frame(shop(), *ROLES.values())
    spec = spec_of_rows(first.observation)
    policy = learn_from_log(LinUCBPolicy(0.0, observation_spec=spec, num_actions=3), first)
    later = shop(seed=1)
    turned = from_frame(later[later.columns[::-1]], *ROLES.values())
    both = RowByRowPolicy([policy.replicate(1), policy.replicate(1)])
    np.testing.assert_allclose(
        probabilities_of(both, turned), probabilities_of(policy.replicate(1), turned)
    )
    other = policy.replicate(1)
    other.encoding = from_frame(shop(items=("a", "b", "c")), *ROLES.values()).encoding
    with pytest.raises(ValueError, match="encoding"):
        RowByRowPolicy([policy, other])


def test_replay_finds_actions_and_texts_by_their_names():
    first = from_frame(shop(900), *ROLES.values())
    later = shop(900, seed=1)
    turned = later[later.columns[::-1]].replace({"item": {"boots": "shoes 2"}})
    spec = spec_of_rows(first.observation)
    policy = LinUCBPolicy(0.0, observation_spec=spec, num_actions=3)
    learned = learn_from_log(policy, first).replicate(1)
    same = turned[turned["item"] != "shoes 2"]
    found = evaluate_by_replay(learned, from_frame(same, *ROLES.values()), seed=0)
    assert found.value > 0.6
    with pytest.raises(ValueError, match="the action 'shoes 2'"):
        evaluate_by_replay(learned, from_frame(turned, *ROLES.values()))


def test_numbers_of_a_policy_are_drawn_for_columns_by_their_names():
    class FirstFeature(ContinuousPolicy):
        def _select(self, rng, learned, time_step):
            return np.asarray(time_step.observation)[:, 0]

    frame = pandas.DataFrame({"age": [1.0, 2.0], "size": [5.0, 6.0]})
    frame = frame.assign(action=[0.5, 0.7], reward=1.0, propensity=0.5)
    policy = FirstFeature(action_spec=BoundedArraySpec((), np.float64, minimum=0.0, maximum=9.0))
    policy.encoding = from_frame(frame, num_actions=0).encoding
    turned = from_frame(frame[frame.columns[::-1]], num_actions=0)
    np.testing.assert_array_equal(actions_of(policy, turned), [1.0, 2.0])


def test_a_policy_that_goes_on_learning_keeps_its_names():
    first = from_frame(shop(), features=["age", "country"], **ROLES)
    policy = LinUCBPolicy(observation_spec=spec_of_rows(first.observation), num_actions=3)
    learned = learn_from_log(policy, first)
    assert policy.encoding is None
    assert learned.encoding == first.encoding
    frame = shop(200, seed=1, items=ITEMS[1:], countries=("FR", "AT"))
    again = learn_from_log(learned, from_frame(frame, features=["country", "age"], **ROLES))
    assert again.encoding == first.encoding
    frame.loc[0, "item"] = "zori"
    with pytest.raises(ValueError, match="the action 'zori', which the policy does not know"):
        learn_from_log(learned, from_frame(frame, features=["country", "age"], **ROLES))


@pytest.mark.parametrize("learner", [DirectMethodLearner(), PolicyGradientLearner(num_steps=3)])
def test_files_of_policies_keep_names(learner, tmp_path):
    log = from_frame(shop(), **ROLES)
    policy = learner.fit(log)
    write_policy(tmp_path / "policy.npz", policy, learned_from=log)
    saved = read_policy(tmp_path / "policy.npz")
    assert saved.encoding == log.encoding
    assert saved.features == log.encoding.names
    made = saved.make(spec_of_rows(log.observation))
    later = from_frame(shop(100, seed=2), **ROLES)
    assert np.array_equal(probabilities_of(made, later), probabilities_of(policy, later))


def test_a_file_of_a_policy_chooses_for_a_table_of_new_customers_by_names(tmp_path):
    log = from_frame(shop(), features=["age", "country"], **ROLES)
    write_policy(tmp_path / "policy.npz", DirectMethodLearner().fit(log))
    saved = read_policy(tmp_path / "policy.npz")
    customers = shop(3000, seed=1)[["country", "time", "age"]]
    chosen = saved.choose(customers)
    is_german = (customers["country"] == "DE").to_numpy()
    assert (chosen[is_german] == "shoes").all()
    assert {*chosen[~is_german]} <= {"boots", "hats"}
    assert saved.choose(customers[:0]).shape == (0,)
    new = customers.replace({"country": {"FR": "AT"}})
    with pytest.warns(UserWarning, match="first 'AT' in row 0: the features of such texts are 0"):
        found = saved.choose(new)
    known = (new["country"] != "AT").to_numpy()
    assert np.array_equal(found[known], chosen[known])


def test_a_file_of_a_policy_refuses_tables_that_do_not_fit(tmp_path):
    log = from_frame(shop(), features=["age", "country"], **ROLES)
    write_policy(tmp_path / "policy.npz", DirectMethodLearner().fit(log))
    saved = read_policy(tmp_path / "policy.npz")
    customers = shop(10)[["country", "age"]].astype({"age": object})
    with pytest.raises(ValueError, match="table has no column 'age'"):
        saved.choose(customers.drop(columns="age"))
    gap = customers.copy()
    gap.loc[3, "age"] = None
    with pytest.raises(ValueError, match="1 of 10 decisions miss values: 'age' 1, first in row 3"):
        saved.choose(gap)
    customers.loc[2, "age"] = "old"
    with pytest.raises(ValueError, match="column 'age' is 'old' in row 2; expected a number"):
        saved.choose(customers)
    numbers = BanditLog(np.ones((20, 2)), [0, 1] * 10, [0.0, 1.0] * 10, [0.5] * 20)
    write_policy(tmp_path / "numbers.npz", DirectMethodLearner().fit(numbers))
    with pytest.raises(ValueError, match=r"learned from no table.*; `read_policy\(path\)\.make"):
        read_policy(tmp_path / "numbers.npz").choose(customers)


def test_a_policy_that_draws_chooses_by_its_probabilities(tmp_path):
    log = from_frame(shop(), features=["country"], **ROLES)
    policy = PolicyGradientLearner().fit(log)
    write_policy(tmp_path / "policy.npz", policy)
    customers = pandas.DataFrame({"country": ["DE"] * 20_000})
    chosen = read_policy(tmp_path / "policy.npz").choose(customers, seed=0)
    expected = probabilities_of(policy, log[(log.observation[:, 0] == 1.0).nonzero()[0]])[0]
    shares = [(chosen == item).mean() for item in ITEMS]
    assert np.allclose(shares, expected, atol=5.0 * np.sqrt(0.25 / 20_000))
    again = read_policy(tmp_path / "policy.npz").choose(customers, seed=0)
    assert np.array_equal(again, chosen)


def test_a_later_log_is_evaluated_by_names(tmp_path):
    found = learn(scan_log(write(shop(), tmp_path / "a.csv"), **ROLES), "direct_method", train=1)
    found.write(tmp_path / "policy.npz")
    later = shop(1500, seed=3, items=("hats", "shoes", "zori"), countries=("AT", "DE", "FR"))
    path = write(later, tmp_path / "b.csv")
    named = evaluate(scan_log(path, **ROLES), tmp_path / "policy.npz", "ips")
    text = "\n".join([named.title, *named.notes, *(row.warnings for row in named.rows)])
    assert "4 actions (hats, shoes, zori, boots)" in text
    assert "features: time (time), age, country (3 levels)" in text
    assert "has not learned from country 'AT': features of such texts are 0" in text
    assert "does not know the actions 'zori', and never takes them" in text
    assert "takes actions that were never logged: ['boots']" in text
    given = evaluate(from_frame(later, **ROLES), {"it": found.policy}, "ips")
    assert given.rows[1].value == pytest.approx(named.rows[1].value, abs=1e-12)


def test_a_log_that_grows_by_a_name_is_still_known(tmp_path):
    frame = shop()
    found = learn(from_frame(frame, **ROLES), "direct_method", train=1)
    found.write(tmp_path / "policy.npz")
    more = shop(300, seed=4, items=("boots", "caps", "hats"))  # caps stands among the others
    grown = from_frame(pandas.concat([frame, more]), **ROLES)
    (_, row) = evaluate(grown, tmp_path / "policy.npz", "ips").rows
    assert row.rows == 300


def test_names_and_numbers_of_actions_do_not_meet():
    named = from_frame(shop(), **ROLES)
    numbered = from_frame(shop().assign(item=np.arange(600) % 3), **ROLES)
    policy = DirectMethodLearner().fit(named)
    with pytest.raises(
        ValueError, match="from the actions 'boots', 'hats', 'shoes', and the other"
    ):
        probabilities_of(policy, numbered)
    with pytest.raises(ValueError, match="logs differ in their encoding"):
        concatenate([named, numbered])
    with pytest.raises(ValueError, match="there is no column 'age'"):
        probabilities_of(policy, from_frame(shop(), features="time", **ROLES))
    with pytest.raises(ValueError, match="column 'country' is of the kind number; expected text"):
        probabilities_of(policy, from_frame(shop().assign(country=1.0), **ROLES))


def test_logs_of_numbers_are_as_without_names():
    frame = shop().assign(item=np.random.default_rng(0).integers(3, size=600))
    log = from_frame(frame, features="age", **ROLES)
    plain = BanditLog(frame[["age"]].astype(float), frame["item"], frame["paid"], frame["p"])
    assert log == plain
    assert concatenate([log, plain]).encoding is None
    identity = LogSummary.from_batches([plain]).identify()
    assert LogSummary.from_batches([log]).identify() == identity
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probabilities_of(DirectMethodLearner().fit(log[:300]), plain[300:])


@pytest.mark.parametrize(
    "plain",
    [
        None,
        {},
        {"actions": ["a", "a"], "features": []},
        {"actions": [1], "features": []},
        {"actions": [], "features": {}},
        {"actions": [], "features": [{"name": "x", "kind": "code"}]},
        {"actions": [], "features": [{"name": "x", "kind": "text"}]},
        {"actions": [], "features": [{"name": "x", "kind": ["text"], "levels": []}]},
        {"actions": [], "features": [{"name": "x", "kind": "text", "levels": ["a", 1]}]},
        {"actions": [], "features": [{"name": "x", "kind": "number", "levels": []}]},
    ],
)
def test_a_forged_encoding_is_refused(plain):
    with pytest.raises(ValueError, match=r"encoding|names|levels"):
        TableEncoding.from_plain(plain)


def test_a_text_is_not_taken_for_a_column_of_the_name_of_its_feature():
    text = TextColumn("x", ("a",))
    first = TableEncoding((), (text, NumberColumn("x=a")))
    other = TableEncoding((), (NumberColumn("x=a"), text))
    assert first.translate(np.array([[7.0, 1.0]]), other).tolist() == [[1.0, 7.0]]


def test_an_encoding_is_plain_values():
    encoding = TableEncoding(("a", "b"), (TextColumn("x", ("u", "v")), TimeColumn("t")))
    assert TableEncoding.from_plain(encoding.plain()) == encoding
