"""Tests of variants from tables: what is compared with what, and when they stop."""

import numpy as np
import pytest

from bandit_envs.policies import compare_variants
from bandit_envs.policies.split_tests.split_looks import report_of
from bandit_envs.policies.split_tests.split_rule import SplitRule
from bandit_envs.policies.split_tests.split_sums import SplitSums, Stratum
from tests.cases import for_each

pandas = pytest.importorskip("pandas")

RATES = {"A": 0.05, "B": 0.06, "C": 0.12, "D": 0.06, "E": 0.06}


def make_users(days=14, size=800, rates=RATES, joins=8.5, leaves=12.0):
    """Users of a test in which A is retired, and E joins at noon; weekends pay more."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.random(days * size)) * days
    names = np.array(sorted(rates))
    is_open = np.ones((len(times), len(names)), np.bool_)
    is_open[:, 0] = times < leaves
    is_open[:, -1] = times >= joins
    chosen = np.where(is_open, rng.random(is_open.shape), -1.0).argmax(axis=1)
    weekend = np.where(times % 7 >= 5, 1.6, 1.0)
    chances = np.array([rates[name] for name in names])[chosen] * weekend
    bought = (rng.random(len(times)) < chances).astype(int)
    return pandas.DataFrame(
        {
            "time": pandas.Timestamp("2024-03-04") + pandas.to_timedelta(times, "D").round("s"),
            "day": np.floor(times).astype(int),
            "variant": names[chosen],
            "bought": bought,
            "minutes": rng.exponential(3.0, len(times)),
        }
    )


def test_the_report_says_who_won_and_when_and_by_how_much():
    report = compare_variants(make_users(), reward="bought", time="time", planned=5)
    assert report.winner == "C"
    assert "2024-03-04" < report.stopped_at <= "2024-03-17"
    assert str(report).startswith(f"stopped at the end of {report.stopped_at}; best: C")
    gains = {row.second: row for row in report.differences if row.first == "C"}
    assert gains.keys() == {"A", "B", "D", "E"}
    assert all(row.low < 0.08 and row.high > 0.06 for row in gains.values())
    assert not report.is_split_wrong


def test_a_variant_is_compared_with_users_of_its_own_days_alone():
    users = make_users()
    report = compare_variants(users, reward="bought", time="time")
    (row,) = (each for each in report.differences if {each.first, each.second} == {"A", "E"})
    both = users[users["time"].between(*window(users))]
    assert row.users == int(both["variant"].isin(["A", "E"]).sum())


def window(users):
    """From the first user of E to the last one of A."""
    first = users.loc[users["variant"] == "E", "time"].min()
    return first, users.loc[users["variant"] == "A", "time"].max()


def test_equal_variants_of_which_one_joins_on_a_weekend_are_not_told_apart():
    rates = dict.fromkeys("ABCDE", 0.1)
    users = make_users(rates=rates, joins=5.0, leaves=99.0, days=7, size=2000)
    report = compare_variants(users, reward="bought", time="day")
    pooled = users.groupby("variant")["bought"].mean()
    assert pooled["E"] > 1.15 * pooled.drop("E").max()
    assert not report.has_stopped
    assert all(row.low < 0.0 < row.high for row in report.differences)


@for_each("threshold", ["practical", "proven"])
def test_parts_of_a_table_merge_to_the_whole(threshold):
    rng = np.random.default_rng(0)
    rule = SplitRule(threshold=threshold)
    whole = SplitSums(rule, "ab", ["clicks", "minutes"])
    parts = []
    for day in range(4):
        part = SplitSums(rule, "ab", ["clicks", "minutes"])
        actions = rng.integers(0, 2, 300)
        clicks = rng.random(300) < 0.2 + 0.2 * actions
        rewards = np.stack([clicks, rng.random(300)]).astype(np.float64)
        for sums in (whole, part):
            sums.add(Stratum(day, str(day)), np.ones(2, np.bool_), actions, rewards)
        parts.append(part)
    merged = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    report = report_of(merged)
    expected = report_of(whole)
    assert report.differences == expected.differences
    assert report.periods == expected.periods
    assert report.winner == expected.winner == "b"


def test_files_of_days_are_the_same_as_one_table(tmp_path):
    users = make_users()
    users.to_csv(tmp_path / "all.csv", index=False)
    (tmp_path / "days").mkdir()
    for day, part in users.groupby("day"):
        part.to_csv(tmp_path / "days" / f"{day:02d}.csv", index=False)
    options = {"reward": ["bought", "minutes"], "time": "time"}
    one = compare_variants(tmp_path / "all.csv", **options)
    assert str(compare_variants(tmp_path / "days", **options)) == str(one)
    assert str(compare_variants(users.sample(frac=1.0, random_state=0), **options)) == str(one)


def test_times_with_and_without_a_zone_are_not_mixed():
    users = make_users()
    users["time"] = users["time"].astype(str)
    users.loc[users.index[-1], "time"] += "+01:00"
    with pytest.raises(ValueError, match=r"without a zone, and some in '\+0100'"):
        compare_variants(users, reward="bought", time="time")


def test_other_rewards_have_intervals_and_decide_nothing():
    users = make_users()
    alone = compare_variants(users, reward="bought", time="time")
    both = compare_variants(users, reward=["bought", "minutes"], time="time")
    assert both.stopped_at == alone.stopped_at
    assert [row for row in both.differences if row.metric == "bought"] == [*alone.differences]
    minutes = [row for row in both.differences if row.metric == "minutes"]
    assert all(row.low < 0.0 < row.high for row in minutes)


def test_differences_to_a_control_are_narrower_than_those_of_all_pairs():
    users = make_users()
    every = compare_variants(users, reward="bought", time="time", planned=5)
    control = compare_variants(users, reward="bought", time="time", planned=5, control="B")
    assert [row.second for row in control.differences] == ["B"] * 4
    (one,) = (row for row in control.differences if row.first == "C")
    (other,) = (row for row in every.differences if (row.first, row.second) == ("C", "B"))
    assert one.difference == other.difference
    assert one.high - one.low < other.high - other.low


def test_a_wrong_split_is_told():
    users = make_users()
    lost = (users["variant"] == "B") & (np.arange(len(users)) % 3 == 0)
    report = compare_variants(users[~lost], reward="bought", time="time")
    assert report.is_split_wrong
    assert "NOT split" in str(report)
    shares = {"A": 3.0, "B": 2.0, "C": 3.0, "D": 3.0, "E": 3.0}
    options = {"reward": "bought", "time": "time", "shares": shares}
    assert not compare_variants(users[~lost], **options).is_split_wrong


def test_a_variant_open_in_evenings_alone_is_compared_with_evenings():
    rng = np.random.default_rng(0)
    evening = rng.random(20_000) < 0.5
    seen = np.where(evening, rng.integers(0, 3, 20_000), rng.integers(0, 2, 20_000))
    users = pandas.DataFrame(
        {
            "day": np.arange(20_000) // 2000,
            "part": np.where(evening, "evening", "day"),
            "variant": np.array(["a", "b", "evenings"])[seen],
            "reward": (rng.random(20_000) < np.where(evening, 0.2, 0.1)).astype(int),
        }
    )
    assert compare_variants(users, time="day").winner == "evenings"
    assert not compare_variants(users, time="day", period="part").has_stopped


def test_a_retired_variant_is_said_to_be_closed_and_what_that_assumes():
    report = compare_variants(make_users(), reward="bought", time="time")
    assert "A (closed)" in str(report)
    assert any("give closes_by_results" in note for note in report.notes)
    options = {"reward": "bought", "time": "time", "closes_by_results": True}
    assert not compare_variants(make_users(), **options).notes


def test_amounts_wait_for_payers():
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 2, 2000)
    paid = np.where(rng.random(2000) < 0.002 + 0.018 * seen, 50.0, 0.0)
    users = pandas.DataFrame({"variant": seen, "reward": paid, "day": 0})
    report = compare_variants(users, time="day", delta=0.5)
    assert not report.has_stopped
    assert any(note.startswith("Amounts:") for note in report.notes)


def test_one_reward_that_is_larger_than_all_others_is_told():
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 2, 300)
    paid = rng.integers(1, 11, 300).astype(float)
    note = "large: one reward, of size 1e+09, is larger than all others of this variant together"
    for is_large in (False, True):
        paid[np.flatnonzero(seen)[-1]] = 1e9 if is_large else 10.0
        users = pandas.DataFrame({"variant": np.array(["small", "large"])[seen], "reward": paid})
        report = compare_variants(users)
        assert any(each.startswith(note) for each in report.notes) == is_large
        both = compare_variants(users.assign(bought=1), reward=["bought", "reward"])
        named = note.replace("large:", "large, reward:")
        assert any(each.startswith(named) for each in both.notes) == is_large


def test_variants_whose_names_differ_in_case_or_white_space_alone_are_told():
    users = pandas.DataFrame({"variant": ["a", "b", "B "] * 3, "reward": [0.0, 1.0, 1.0] * 3})
    assert "'B ' and 'b' differ in case or white space alone" in str(compare_variants(users))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": "nothing"}, "the table has no column 'nothing'"),
        ({"period": "bought"}, "column 'bought' has two roles, reward and period"),
        (
            {"variant": "day", "time": "variant"},
            "column 'variant' is 'B' in line 2; expected a time",
        ),
        ({"control": "Z"}, "control is 'Z'; expected one of"),
        ({"shares": {"A": 1.0}}, "expected a number above 0 for each variant"),
        ({"opened": {"E": "2024-03-16"}}, "shows 'E' before it opened"),
        ({"closed": {"C": "2024-03-05"}}, "shows 'C' after it was closed"),
        ({"opened": {"E": 3}}, "opened is 3; expected a time"),
        ({"planned": 4}, "planned is 4; expected at least 5"),
        ({"reward": "minutes", "threshold": "proven"}, "expected a number from 0 to 1"),
        ({"threshold": "bold"}, "threshold is 'bold'; expected one of practical, proven"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(tmp_path, options, message):
    file = tmp_path / "users.csv"
    make_users().to_csv(file, index=False)
    with pytest.raises(ValueError, match=message):
        compare_variants(file, **{"reward": "bought", "time": "time", **options})


def test_the_page_has_what_the_text_has(tmp_path):
    users = make_users()
    users["variant"] = users["variant"].replace({"C": "<b>C</b>"})
    report = compare_variants(users, reward="bought", time="time")
    report.write_page(tmp_path / "test.html")
    page = (tmp_path / "test.html").read_text()
    assert "<b>C</b>" not in page
    assert "&lt;b&gt;C&lt;/b&gt;" in page
    for row in report.variants_table()[1:]:
        assert all(f">{cell}<" in page for cell in row[1:])


def test_rows_of_differences_make_a_frame():
    report = compare_variants(make_users(), reward="bought", time="time")
    frame = pandas.DataFrame(report.differences)
    assert [*frame] == ["metric", "first", "second", "difference", "low", "high", "users"]


def test_a_variant_that_joins_or_leaves_is_noted_if_times_are_days_alone():
    users = make_users()
    users["date"] = users["time"].dt.date
    options = {"reward": "bought", "closes_by_results": True}
    joined, left = compare_variants(users, time="date", **options).notes
    assert joined.startswith("E joined on 2024-03-12: times are days alone.")
    assert left.startswith("A left on 2024-03-15: times are days alone.")
    joined, left = compare_variants(users, time="day", **options).notes
    assert joined.startswith("E joined on 8:")
    assert left.startswith("A left on 11:")
    (joined,) = compare_variants(users, time="day", closed={"A": 12}, **options).notes
    assert joined.startswith("E joined on 8:")
    assert not compare_variants(users, time="time", **options).notes


@for_each("period", [None, "part"])
def test_a_variant_that_few_rows_of_the_last_day_lack_by_chance_counts_as_open(period):
    rng = np.random.default_rng(1)
    seen = rng.choice(["A", "B", "C"], 6000)
    rates = {"A": 0.16, "B": 0.15, "C": 0.05}
    bought = rng.random(6000) < np.vectorize(rates.get)(seen)
    table = {"variant": seen, "reward": bought, "time": np.arange(6000) / 1000}
    users = pandas.DataFrame(table)
    for missing in "AB":
        others = [name for name in rates if name != missing]
        morning = pandas.DataFrame({"variant": others, "reward": 0, "time": [6.01, 6.02]})
        both = pandas.concat([users, morning])
        both["part"] = np.where(both["time"] % 1 < 0.5, "am", "pm")
        report = compare_variants(both, time="time", period=period)
        assert all(report.open)
        assert report.winner is None
        assert any(
            note.startswith(f"{missing} has no row on the last day") for note in report.notes
        )
    left = users[(users["variant"] != "C") | (users["time"] < 4.5)]
    assert compare_variants(left, time="time", period=None).open == (True, True, False)


def test_a_variant_that_left_today_is_no_wrong_split():
    users = make_users(days=7, joins=0.0, leaves=6.3)
    report = compare_variants(users, reward="bought", time="time")
    assert not report.is_split_wrong


@for_each(("shift", "factor"), [(1e8, 1.0), (-1e8, 1.0), (0.0, 1e8), (0.0, 1e-8)])
def test_a_shift_of_all_rewards_and_their_scale_change_a_report_by_rounding_alone(shift, factor):
    users = make_users()
    minutes = users["minutes"]
    columns = {"time": "time", "reward": ["minutes", "other"]}
    plain = compare_variants(users.assign(other=minutes), **columns)
    moved = users.assign(minutes=factor * (minutes + shift), other=shift - minutes)
    report = compare_variants(moved, **columns)
    assert (report.winner, report.stopped_at) == (plain.winner, plain.stopped_at)
    sign = {"minutes": factor, "other": -1.0}
    for row, expected in zip(report.differences, plain.differences, strict=True):
        if (row.first, row.second) == (expected.first, expected.second):
            ends = np.array([row.difference, row.low, row.high]) / sign[row.metric]
            wanted = [expected.difference, expected.low, expected.high]
            np.testing.assert_allclose(np.sort(ends), np.sort(wanted), atol=1e-6)
    means = np.array(report.means) / factor - shift
    np.testing.assert_allclose(means, plain.means, atol=1e-6)


def test_a_split_that_loses_some_users_on_all_days_is_told_and_by_whom():
    users = make_users(days=21, size=3000)
    lost = (users["variant"] == "C") & (np.arange(len(users)) % 10 == 0)
    report = compare_variants(users[~lost], reward="bought", time="time")
    assert report.is_split_wrong
    expected = report.expected_users[report.names.index("C")]
    assert f"most of all C with {report.counts[2]:,.0f} in place of {expected:,.0f}" in str(report)
    assert not compare_variants(users, reward="bought", time="time").is_split_wrong


def test_a_split_that_is_wrong_on_one_day_is_told():
    users = make_users(days=21, size=3000)
    lost = (users["variant"] == "C") & (users["day"] == 4) & (np.arange(len(users)) % 3 == 0)
    assert compare_variants(users[~lost], reward="bought", time="time").is_split_wrong


def test_equal_shares_are_seldom_called_wrong():
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        days = np.repeat(np.arange(10), 300)
        users = pandas.DataFrame({"variant": rng.choice(list("ABC"), 3000), "reward": 0})
        users["time"] = days
        alarms += compare_variants(users, time="time").is_split_wrong
    assert alarms <= 2


def test_days_without_rows_and_days_that_came_twice_are_told():
    users = make_users()
    report = compare_variants(users, reward="bought", time="time")
    assert not any("rows on" in note or "Each row" in note for note in report.notes)
    gap = compare_variants(users[users["day"] != 3], reward="bought", time="time")
    assert "No rows on 2024-03-07." in gap.notes
    twice = pandas.concat([users, users[users["day"] == 3]])
    report = compare_variants(twice, reward="bought", time="time")
    assert (
        "Each row of 2024-03-07 is there more than once: perhaps a file was read twice."
        in report.notes
    )


def test_a_table_whose_variants_joined_says_what_is_wrong_without_times():
    report = compare_variants(make_users(), reward="bought")
    assert report.is_split_wrong
    assert "Without times, all variants count as open for all users." in report.notes


def test_too_few_planned_variants_are_told_with_the_number_that_there_were():
    with pytest.raises(ValueError, match="planned is 3; expected at least 5, as many as column"):
        compare_variants(make_users(), reward="bought", time="time", planned=3)


def test_the_summary_has_the_smallest_difference_of_the_winner_to_an_open_variant():
    report = compare_variants(make_users(), reward="bought", time="time", planned=5)
    assert report.winner == "C"
    rows = [row for row in report.differences if row.first == "C" and row.second != "A"]
    nearest = min(rows, key=lambda row: row.difference)
    headline, line = report.summary()
    assert headline == report.headline()
    assert line.startswith(f"bought of C - {nearest.second}, the smallest difference: +0.0")
    assert f"interval {nearest.low:+.4f} to {nearest.high:+.4f}" in line
    early = compare_variants(make_users(days=1), reward="bought", time="time")
    assert not early.has_stopped
    assert early.summary() == [early.headline()]


def test_the_summary_has_the_difference_to_a_control():
    options = {"reward": "bought", "time": "time", "planned": 5}
    report = compare_variants(make_users(), control="B", **options)
    assert report.summary()[1].startswith("bought of C - B: +0.0")
    assert len(compare_variants(make_users(), control="C", **options).summary()) == 1
