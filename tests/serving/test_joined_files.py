"""A folder of several files of services is one log."""

import shutil

import numpy as np
import pytest

from bandit_envs.evaluations import evaluate
from bandit_envs.logged import SelfNormalizedIPS, probabilities_of, read_log, scan_log
from bandit_envs.logged.learners import DirectMethodLearner
from bandit_envs.policies.models import Ridge
from bandit_envs.policies.rules import EpsilonGreedy
from bandit_envs.serving import DecisionService
from tests.drawing import no_figures
from tests.serving.services import (
    CONTEXT,
    FEATURES,
    ITEMS,
    NAMES,
    contextual,
    of_items,
    open_offers,
    open_shop,
)

__all__ = ["no_figures"]

LIKED = {"DE": "red", "FR": "black"}


def serve(service, size, seed):
    """Serves users, most of whom reward what those of their country like."""
    rng = np.random.default_rng(seed)
    for user in range(size):
        country = "DE" if user % 2 else "FR"
        decision = service.decide({"age": float(rng.random()), "country": country})
        if user % 10:
            chance = 0.8 if LIKED[country] == decision.action else 0.2
            service.reward(decision.id, float(rng.random() < chance))


def open_second(folder):
    """The service of a new policy, with other actions."""
    policy = contextual(EpsilonGreedy(0.6))
    names = ["black", "red", "green"]
    options = {"features": FEATURES, "seed": 2, "synchronous": "off"}
    return DecisionService(folder / "2026-02.sqlite", policy, names, **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files of an old policy and of a new one."""
    made = tmp_path_factory.mktemp("files")
    with open_shop(made, epsilon=0.5) as service:
        serve(service, 60, seed=0)
        service.retire_action("blue")
        serve(service, 20, seed=1)
    (made / "shop.sqlite").rename(made / "2026-01.sqlite")
    with open_second(made) as service:
        serve(service, 70, seed=3)
    return made


@pytest.fixture
def folder(files, tmp_path):
    """A copy of the files, the second of which is open and has new rows."""
    for file in files.glob("*.sqlite"):
        shutil.copy(file, tmp_path)
    with open_second(tmp_path) as service:
        serve(service, 10, seed=4)
        yield tmp_path


def test_actions_and_propensities_are_those_of_each_file(folder):
    old = read_log(folder / "2026-01.sqlite")
    new = read_log(folder / "2026-02.sqlite")
    log = read_log(folder)
    assert log.action_names == ("red", "green", "blue", "black")
    for name, part in {"old": old, "new": new}.items():
        rows = slice(0, len(old)) if name == "old" else slice(len(old), None)
        names = np.array(log.action_names)[log.action[rows]]
        assert names.tolist() == np.array(part.action_names)[part.action].tolist()
        np.testing.assert_array_equal(log.propensity[rows], part.propensity)
        np.testing.assert_array_equal(log.reward[rows], part.reward)
        np.testing.assert_array_equal(log.observation[rows], part.observation)
    offered = {tuple(row) for row in log.available.astype(int).tolist()}
    assert offered == {(1, 1, 1, 0), (1, 1, 0, 0), (1, 1, 0, 1)}
    batches = list(scan_log(folder, batch_rows=37))
    assert {batch.num_actions for batch in batches} == {4}
    assert sum(map(len, batches)) == len(log)


@pytest.mark.filterwarnings("ignore:.*the estimate is unreliable")
def test_a_policy_of_the_new_actions_is_evaluated_on_all_rows(folder):
    pytest.importorskip("joblib")  # starts the workers
    log = read_log(folder)
    uniform = log.available / log.available.sum(axis=1, keepdims=True)
    known = SelfNormalizedIPS().estimate(log, uniform)
    found = evaluate(folder, {"even": "random"}, [SelfNormalizedIPS()])
    row = next(each for each in found.rows if each.policy == "even")
    assert row.value == pytest.approx(known.value, abs=1e-12)
    by_workers = evaluate(
        folder, {"even": "random"}, [SelfNormalizedIPS()], workers=2, backend="threading"
    )
    assert by_workers.rows[0].value == found.rows[0].value


def test_what_learns_from_a_folder_knows_all_actions(folder):
    log = read_log(folder)
    policy = DirectMethodLearner().fit(log[:80])
    assert policy.encoding.actions == log.action_names
    table = probabilities_of(policy, log[80:])
    assert (table[~log.available[80:]] == 0.0).all()


def test_levels_of_texts_join(tmp_path):
    with open_shop(tmp_path) as service:
        service.reward(service.decide(CONTEXT).id, 1.0)
    (tmp_path / "shop.sqlite").rename(tmp_path / "a.sqlite")
    features = {"country": ["AT", "DE"], "age": "number"}
    with DecisionService(tmp_path / "b.db", contextual(), NAMES, features=features) as service:
        service.reward(service.decide({"age": 2.0, "country": "AT"}).id, 0.0)
    log = read_log(tmp_path)
    assert log.encoding.labels() == ["age", "country=DE", "country=FR", "country=AT"]
    assert log.observation.tolist() == [[0.5, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 1.0]]
    assert log.available is None


def test_items_join_by_name_and_rows_by_the_widest(tmp_path):
    with open_offers(tmp_path) as service:
        first = service.decide(CONTEXT, actions={"offer-2": ITEMS["offer-2"]})
        service.reward(first.id, 1.0)
    (tmp_path / "shop.sqlite").rename(tmp_path / "a.sqlite")
    with open_offers(tmp_path, of_items(model=Ridge())) as service:
        second = service.decide(CONTEXT, actions=ITEMS)
        service.reward(second.id, 0.0)
    log = read_log(tmp_path)
    assert log.encoding.items == ("offer-2", "offer-1", "offer-3")
    assert log.item.tolist() == [[0, -1, -1], [1, 0, 2]]
    assert log.observation["mask"].tolist() == [[True, False, False], [True, True, True]]
    chosen = log.item[np.arange(2), log.action]
    assert [log.encoding.items[number] for number in chosen] == ["offer-2", second.action]


def test_an_older_file_comes_first_whatever_its_name_is(folder):
    expected = read_log(folder)
    (folder / "2026-01.sqlite").rename(folder / "old.sqlite")
    log = read_log(folder)
    assert log.action_names == expected.action_names
    np.testing.assert_array_equal(log.reward, expected.reward)
    (dated,) = scan_log(folder / "2026-02.sqlite").with_dates("")
    middle = str(np.datetime64(int(dated.time.min() * 1e6), "us"))
    earlier, later = scan_log(folder, time="time").split(middle)
    assert (len(earlier), len(later)) == (72, 72)


def test_times_cut_a_folder(folder):
    earlier, later = scan_log(folder, time="time").split("2000-01-01")
    assert (len(earlier), len(later)) == (0, 144)


def test_other_columns_are_refused_with_the_file(tmp_path):
    open_shop(tmp_path).close()
    (tmp_path / "shop.sqlite").rename(tmp_path / "a.sqlite")
    features = {"age": "number", "city": ["Rome", "Oslo"]}
    DecisionService(tmp_path / "b.sqlite", contextual(), NAMES, features=features).close()
    with pytest.raises(ValueError, match=r"b\.sqlite.*city.*expected \['age', 'country'\]"):
        scan_log(tmp_path)


def test_a_copy_of_a_file_does_not_count_twice(folder):
    shutil.copy(folder / "2026-01.sqlite", folder / "copy.sqlite")
    with pytest.raises(ValueError, match="begin with the same decision"):
        scan_log(folder)
    assert len(read_log(folder, only="2026*")) == 144


def test_the_command_reads_a_folder(folder, monkeypatch, capsys, tmp_path_factory):
    pytest.importorskip("rich")
    from bandit_envs.cli import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    main(["evaluate", str(folder), "--policy", "random"])
    text = " ".join(capsys.readouterr().out.split())
    assert "4 actions (red, green, blue, black)" in text
    assert "16 of 160 decisions have no reward" in text
