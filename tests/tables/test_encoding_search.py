"""How tables become numbers, whether they are data frames or files."""

import pickle

import pytest

from bandit_envs.logged import concatenate, from_frame, scan_log
from bandit_envs.tables.encoding_search import EncodingSearch
from bandit_envs.tables.parts import FramePart, Parts

pandas = pytest.importorskip("pandas")


def frame(**columns):
    own = {"country": ["DE", "FR"] * 5, "action": [0, 1] * 5, "reward": 1.0, "propensity": 0.5}
    return pandas.DataFrame({**own, **columns})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_texts_are_found_though_the_number_of_actions_is_given(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    if suffix == ".csv":
        frame().to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame().to_parquet(path)
    scan = scan_log(path, num_actions=3)
    assert scan.encoding.labels() == ["country=DE", "country=FR"]
    assert concatenate(list(scan)) == from_frame(frame(), num_actions=3)


def test_a_data_frame_is_refused_as_its_file_is(tmp_path):
    frame(action=[5000, 0] * 5).to_csv(tmp_path / "a.csv", index=False)
    for read in (lambda: from_frame(frame(action=[5000, 0] * 5)), lambda: scan_log(tmp_path)):
        with pytest.raises(ValueError, match="has the action 5000, and 10 rows; number the act"):
            read()
    with pytest.raises(ValueError, match="the log has no rows in frame"):
        from_frame(frame()[:0])


def test_several_columns_of_actions_share_their_names():
    table = pandas.DataFrame({"top": ["a", "b"], "below": ["c", 7]})
    search = EncodingSearch(Parts([FramePart(table)]), ["top", "below"], [], batch_rows=9)
    encoding, number = search.find(None)
    assert (encoding.actions, number) == (("7", "a", "b", "c"), 4)


def test_workers_can_be_sent_the_parts_of_a_scan(tmp_path):
    frame().to_csv(tmp_path / "a.csv", index=False)
    scan = scan_log(tmp_path)
    (batches,) = pickle.loads(pickle.dumps(scan.cut(by_workers=True)))
    assert concatenate(list(batches)) == concatenate(list(scan))
