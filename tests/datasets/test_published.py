"""Files as their publishers distribute them, in small."""

import hashlib
import http.server
import threading
import zipfile

import numpy as np
import pytest

from bandit_envs import ClassificationBandit, datasets

MUSHROOMS = [
    "p,x,s,n,t,p,f,c,n,k,e,e,s,s,w,w,p,w,o,p,k,s,u",
    "e,x,s,y,t,a,f,c,b,k,e,c,s,s,w,w,p,w,o,p,n,n,g",
    "e,b,s,w,t,l,f,c,b,n,e,?,s,s,w,w,p,w,o,p,n,n,m",
]
ADULTS = [
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K",
    "52, Self-emp, 209642, HS-grad, 9, Married, Exec-managerial, Husband, White, Male, "
    "0, 0, 45, ?, >50K",
    "",
]

DECISIONS = """,timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1,\
user-item_affinity_0,user-item_affinity_1
0,2019-11-24 00:00:00.1+00:00,1,3,0,0.5,aa,x,0.0,1.0
1,2019-11-24 00:00:01.2+00:00,0,1,1,0.25,bb,x,2.0,0.0
"""
ITEMS = """,item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3
0,1,-0.25,cc,e,g
1,0,0.75,dd,e,h
"""


def write(path, lines):
    pytest.importorskip("pandas")  # which reads it
    path.write_text("\n".join(lines) + "\n")
    return path


def test_mushrooms_are_edible_or_not(tmp_path):
    data = datasets.load_mushroom(write(tmp_path / "agaricus-lepiota.data", MUSHROOMS))
    assert data.labels.tolist() == [0, 1, 1]
    assert (data.contexts.sum(axis=1) == 22).all()


@pytest.mark.parametrize(("probability", "mean"), [(0.9, -31.0), (0.5, -15.0), (0.1, 1.0)])
def test_a_poisonous_mushroom_is_bad_with_the_probability_given(probability, mean):
    distribution = datasets.mushroom_rewards(prob_poison_bad=probability)
    assert distribution.mean == pytest.approx(np.array([[0.0, mean], [0.0, 5.0]]))
    env = ClassificationBandit([[0.0], [1.0]], [0, 1], distribution, batch_size=4, seed=0)
    env.reset()
    assert env.optimal_reward().max() == 5.0


def test_adults_have_numbers_and_categories(tmp_path):
    data = datasets.load_adult(write(tmp_path / "adult.data", ADULTS))
    assert data.labels.tolist() == [0, 1]
    assert data.contexts[:, 0].tolist() == [39, 52]  # age
    assert data.contexts[:, -2:].tolist() == [[0, 1], [1, 0]]  # the country is ?, United-States


def test_covertype_and_shuttle_have_labels_from_0(tmp_path):
    path = write(tmp_path / "covtype.data", [",".join(["5"] * 54 + ["7"])])
    assert datasets.load_covertype(path).labels.tolist() == [6]
    path = write(tmp_path / "shuttle.trn", ["50 21 77 0 28 0 27 48 22 2", "1 2 3 4 5 6 7 8 9 1"])
    data = datasets.load_statlog_shuttle(path)
    assert data.labels.tolist() == [1, 0]
    assert data.contexts.shape == (2, 9)


def test_movielens_is_read_from_the_table_and_from_the_archive(tmp_path):
    lines = ["196\t242\t3\t881250949", "186\t302\t5\t891717742"]
    expected = [[195.0, 241.0, 3.0], [185.0, 301.0, 5.0]]
    path = write(tmp_path / "u.data", lines)
    assert datasets.load_movielens(path).tolist() == expected
    with zipfile.ZipFile(tmp_path / "ml-100k.zip", "w") as archive:
        archive.write(path, "ml-100k/u.data")
    assert datasets.load_movielens(tmp_path / "ml-100k.zip").tolist() == expected


def test_the_open_bandit_dataset_has_features_of_users_and_items(tmp_path):
    path = write(tmp_path / "women.csv", DECISIONS.splitlines())
    data = datasets.load_open_bandit(path)
    observation = data.pop("observation")
    assert observation["global"].tolist() == [[1, 0, 1, 0, 1], [0, 1, 1, 1, 0]]
    assert observation["per_arm"].tolist() == [[[0], [1]], [[2], [0]]]
    assert data.pop("num_actions") == 2
    assert data.pop("encoding").actions == ("0", "1")
    found = {name: column.tolist() for name, column in data.items()}
    assert found == {"action": [1, 0], "reward": [0.0, 1.0], "propensity": [0.5, 0.25]}
    (tmp_path / "item_context.csv").write_text(ITEMS)
    items = [[0.75, 0, 1, 1, 0, 1], [-0.25, 1, 0, 1, 1, 0]]
    expected = [[[0, *items[0]], [1, *items[1]]], [[2, *items[0]], [0, *items[1]]]]
    assert datasets.load_open_bandit(path)["observation"]["per_arm"].tolist() == expected
    quoted = DECISIONS.strip().replace(",", '","').replace("\n", '"\n"')
    path.write_text(f'"{quoted}"\n', "utf-8-sig")
    assert datasets.load_open_bandit(path)["observation"]["per_arm"].tolist() == expected


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """Publishes files on this machine. Its `body` and `length` are those of the next answer."""
    pytest.importorskip("pandas")
    pooch = pytest.importorskip("pooch")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests += 1
            self.send_response(200)
            self.send_header("Content-Length", str(self.server.length))
            self.end_headers()
            self.wfile.write(self.server.body)

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.body = ("\n".join(MUSHROOMS) + "\n").encode()
    server.length = len(server.body)
    server.requests = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/agaricus-lepiota.data"
    sources = datasets.published.SOURCES
    checksum = hashlib.sha256(server.body).hexdigest()
    published_here = sources["mushroom"]._replace(url=url, sha256=checksum)
    monkeypatch.setitem(sources, "mushroom", published_here)
    server.cache = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda name: server.cache / name)
    yield server
    server.shutdown()
    server.server_close()


def test_a_file_is_downloaded_once_and_its_size_and_licence_are_printed(publisher, capsys):
    for printed in (1, 0):
        assert datasets.load_mushroom().labels.tolist() == [0, 1, 1]
        out = capsys.readouterr().out
        assert out.count("0.4 MB") == out.count("CC BY 4.0") == printed
    assert publisher.requests == 1


@pytest.mark.parametrize("what", ["another checksum", "a broken connection"])
def test_a_bad_download_leaves_nothing_behind(publisher, what):
    good = publisher.body
    if what == "another checksum":
        publisher.body = good.replace(b"n", b"m")
    else:
        publisher.body = good[:50]
    with pytest.raises((ValueError, OSError)):
        datasets.load_mushroom()
    assert not [path for path in publisher.cache.rglob("*") if path.is_file()]
    publisher.body = good
    assert datasets.load_mushroom().labels.tolist() == [0, 1, 1]
