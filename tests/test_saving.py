"""States on disk: whole runs go on from them bit for bit, and no damage passes for a state."""

import collections
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bandit_envs import KArmedTestbed, LinUCBPolicy, UCBPolicy, load_state, save_state
from bandit_envs.base.saving import FORMAT, decode_archive, encode_archive, encode_state
from bandit_envs.specs import ArraySpec
from tests.saved_runs import ENVIRONMENTS, RUNS, B, continue_run, make_run
from tests.strategies import texts

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "tests" / "reference"


class Pair(NamedTuple):
    left: object
    right: object


class Changed(NamedTuple):
    left: object


def assert_same(left, right):
    """Requires two tokens to be equal in every type, dtype, byte and order of memory."""
    assert type(left) is type(right)
    if isinstance(left, (np.ndarray, np.generic)):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()
        if isinstance(left, np.ndarray):
            assert left.flags.f_contiguous == right.flags.f_contiguous
    elif isinstance(left, np.random.Generator):
        assert_same(left.bit_generator.state, right.bit_generator.state)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        assert_same(list(left.values()), list(right.values()))
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right)
        for one, other in zip(left, right):
            assert_same(one, other)
    else:
        assert repr(left) == repr(right)  # so that NaN is NaN, and -0.0 not 0.0


def test_an_object_is_written_as_its_state_is_and_without_a_copy(tmp_path):
    spec = ArraySpec((200,), np.float64)
    policy = LinUCBPolicy(observation_spec=spec, num_actions=200, seed=0)  # of 64 MB
    peaks = []
    for name, get in (("copied", policy.get_state), ("shared", lambda: policy)):
        tracemalloc.start()
        save_state(tmp_path / name, get())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] > 64e6
    assert peaks[1] < 24e6  # NumPy writes 16 MB at a time
    assert (tmp_path / "copied").read_bytes() == (tmp_path / "shared").read_bytes()


@pytest.mark.parametrize(("environment", "policy"), RUNS)
def test_a_driver_and_its_parts_are_written_as_their_states_are(environment, policy):
    driver = make_run(environment, policy, seed=1)
    driver.run()
    for each in (driver, *driver._parts):
        assert encode_state((3, each)) == encode_state((3, each.get_state()))


def saved(path, token):
    """Returns a token after it has been on disk."""
    save_state(path / "token.npz", token)
    return load_state(path / "token.npz")


@pytest.mark.parametrize("steps", [0, 1, 9])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_goes_on_bit_for_bit_in_another_one(tmp_path, name, steps):
    env, other = ENVIRONMENTS[name](1), ENVIRONMENTS[name](2)
    for _ in range(steps):
        env.step(np.zeros(B, np.int32))
    token = env.get_state()
    loaded = saved(tmp_path, token)
    assert_same(loaded, token)
    other.set_state(loaded)
    for _ in range(12):
        assert_same(env.step(np.zeros(B, np.int32)), other.step(np.zeros(B, np.int32)))
    assert_same(env.get_state(), other.get_state())


@pytest.mark.parametrize(("environment", "policy"), RUNS)
def test_a_whole_run_goes_on_bit_for_bit(tmp_path, environment, policy):
    driver = make_run(environment, policy, seed=1)
    driver.run()
    save_state(tmp_path / "before.npz", driver.get_state())
    driver.run()
    continue_run(environment, policy, tmp_path / "before.npz", tmp_path / "after.npz")
    assert_same(load_state(tmp_path / "after.npz"), driver.get_state())


@pytest.mark.slow
def test_whole_runs_go_on_bit_for_bit_in_another_process(tmp_path):
    drivers, arguments = [], []
    for number, (environment, policy) in enumerate(RUNS):
        driver = make_run(environment, policy, seed=number)
        driver.run()
        files = [str(tmp_path / f"{number}-{name}.npz") for name in ("before", "after")]
        save_state(files[0], driver.get_state())
        drivers.append((driver, files[1]))
        arguments += [environment, policy, *files]
    subprocess.run([sys.executable, "-m", "tests.saved_runs", *arguments], cwd=ROOT, check=True)
    for driver, after in drivers:
        driver.run()
        assert_same(load_state(after), driver.get_state())


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_every_bit_generator_goes_on_and_spawns_as_before(tmp_path, name):
    make = getattr(np.random, name)
    for seed in (0, np.random.SeedSequence([2, 3], spawn_key=(4,)), None):
        generator = np.random.Generator(make(seed))
        generator.random(5, np.float32)  # an odd number of 32-bit draws: one half is kept back
        generator.bit_generator._seed_seq.spawn(2)  # without the underscore from NumPy 1.25 on
        loaded = saved(tmp_path, generator)
        assert type(loaded.bit_generator) is make
        assert_same(loaded, generator)
        assert loaded.random(3, np.float32).tobytes() == generator.random(3, np.float32).tobytes()
        assert loaded.normal(size=9).tobytes() == generator.normal(size=9).tobytes()
        (left,), (right,) = (of.bit_generator._seed_seq.spawn(1) for of in (loaded, generator))
        assert left.generate_state(4).tolist() == right.generate_state(4).tolist()


def test_an_environment_seeded_by_a_random_state_goes_on(tmp_path):
    env, other = (KArmedTestbed(batch_size=B, seed=np.random.RandomState(n)) for n in (1, 2))
    env.reset()
    other.set_state(saved(tmp_path, env.get_state()))
    assert_same(env.step([0, 1, 2]), other.step([0, 1, 2]))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    texts,
    hnp.arrays(
        st.one_of(
            hnp.boolean_dtypes(),
            hnp.integer_dtypes(),
            hnp.floating_dtypes(),
            hnp.complex_number_dtypes(),
            hnp.datetime64_dtypes(),
        ),
        hnp.array_shapes(min_dims=0, min_side=0, max_side=3),
    ),
)
NESTS = st.recursive(
    LEAVES,
    lambda nests: st.one_of(
        st.lists(nests, max_size=3),
        st.lists(nests, max_size=3).map(tuple),
        st.dictionaries(texts, nests, max_size=3),
        st.builds(Pair, nests, nests),
    ),
    max_leaves=8,
)


@given(token=NESTS)
def test_every_nest_comes_back_as_it_was(tmp_path_factory, token):
    assert_same(saved(tmp_path_factory.getbasetemp(), token), token)


def test_arrays_keep_their_order_in_memory_and_scalars_their_dtype(tmp_path):
    grid = np.arange(6.0).reshape(2, 3)
    token = [grid, grid.T, np.asfortranarray(grid), np.float32(0.1), np.int8(3), np.bool_(True)]
    token += [np.array("text"), np.array([(1, 2.0)], [("a", np.int8), ("b", ">f8")])]
    assert_same(saved(tmp_path, token), token)


class Subclass(np.ndarray):
    pass


def local_named_tuple():
    return collections.namedtuple("Local", "field")(1)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1: "a key that is not a string"},
        {1, 2},
        b"bytes",
        1j,
        np.array([object()]),
        np.ma.masked_array([1.0], [True]),
        np.zeros(2).view(Subclass),
        collections.OrderedDict(a=1),
        collections.deque(),
        local_named_tuple(),
        np.random.RandomState(0),
        lambda: None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_as_it_was_is_refused(tmp_path, value):
    (tmp_path / "state.npz").write_bytes(b"as before")
    with pytest.raises(TypeError, match=r"(?s)state holds a .*; expected arrays, NumPy's"):
        save_state(tmp_path / "state.npz", [value])
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"as before"]


@pytest.fixture(scope="module")
def small():
    """A token with an array, a generator, a named tuple and numbers."""
    policy = UCBPolicy(2.0, num_actions=2, seed=0)
    return {"policy": policy.get_state(), "numbers": [1, 0.1, np.float32(3), None, "text"]}


@pytest.fixture(scope="module")
def content(small, tmp_path_factory):
    """The bytes of its file."""
    path = tmp_path_factory.mktemp("content") / "state.npz"
    save_state(path, small)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("bits", "apart"),
    [(0x01, 7), *(pytest.param(bits, 1, marks=pytest.mark.slow) for bits in (0x01, 0xFF))],
)
def test_whichever_byte_is_flipped_it_is_refused_or_changes_nothing(
    tmp_path, small, content, bits, apart
):
    """Some bytes of a zip file say nothing, such as when it was written."""
    path, refused = tmp_path / "state.npz", 0
    positions = range(0, len(content), apart)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= bits
        path.write_bytes(damaged)
        try:
            loaded = load_state(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
            refused += 1
        else:
            assert_same(loaded, small)
    assert refused > 0.8 * len(positions)


def test_wherever_a_file_is_cut_off_it_is_refused(tmp_path, content):
    path = tmp_path / "state.npz"
    for size in range(0, len(content), 3):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="is damaged, or not a file of bandit_envs"):
            load_state(path)


def test_an_array_that_says_it_is_shorter_than_it_is_is_refused(tmp_path):
    save_state(tmp_path / "state.npz", np.arange(13.0))
    content = (tmp_path / "state.npz").read_bytes()
    assert content.count(b"'shape': (13,), ") == 1
    shorter = content.replace(b"'shape': (13,), ", b"'shape': (12,), ")
    (tmp_path / "state.npz").write_bytes(shorter)
    with pytest.raises(ValueError, match="is damaged"):
        load_state(tmp_path / "state.npz")


class Bomb:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return open, (str(self.mark), "w")


def test_nothing_is_unpickled(tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "state.npz"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(ValueError, match="is damaged, or not a file of bandit_envs"):
        load_state(path)
    np.savez(path, header=np.array([Bomb(mark)], object))
    with pytest.raises(ValueError, match="is damaged, or not a file of bandit_envs"):
        load_state(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{}",
        '{"format": "bandit_envs state 3"}',
        '{"format": "bandit_envs state 3", "state": []}',
        '{"format": "bandit_envs state 3", "state": ["array"]}',
        '{"format": "bandit_envs state 3", "state": ["array", "array_7"]}',
        '{"format": "bandit_envs state 3", "state": ["os:system", {}]}',
        '{"format": "bandit_envs state 3", "state": ["no:such", {}]}',
        '{"format": "bandit_envs state 3", "state": ["ast:Name", {"id": 1, "ctx": 2}]}',
        '{"format": "bandit_envs state 3", "state": ["builtins:eval", {"source": "1"}]}',
        '{"format": "bandit_envs state 3", "state": ["subprocess:Popen", {"args": "ls"}]}',
        '{"format": "bandit_envs state 3", "state": [1, 2]}',
        '{"format": "bandit_envs state 3", "state": ["generator", {"state": 1}, null]}',
    ],
)
def test_a_sound_file_of_something_else_is_refused(tmp_path, header):
    path = tmp_path / "state.npz"
    np.savez(path, header=np.frombuffer(header.encode(), np.uint8), array_0=np.zeros(1))
    with pytest.raises(ValueError, match="does not hold a state"):
        load_state(path)


@pytest.mark.parametrize(("number", "age"), [(2, "an older"), (4, "a newer")])
def test_a_state_of_another_version_is_refused_with_the_formats(tmp_path, number, age):
    path = tmp_path / "state.npz"
    header = f'{{"format": "bandit_envs state {number}", "state": null}}'
    np.savez(path, header=np.frombuffer(header.encode(), np.uint8))
    found = f"{age} version of bandit_envs, in format {number}; this version reads format 3"
    with pytest.raises(ValueError, match=rf"state\.npz holds a state of {found}"):
        load_state(path)


@pytest.mark.parametrize(
    "header", ['{"format": "bandit_envs state ²"}', '{"format": 3}', "3", "{}"]
)
def test_a_file_that_names_no_format_of_states_is_refused(tmp_path, header):
    path = tmp_path / "state.npz"
    np.savez(path, header=np.frombuffer(header.encode(), np.uint8))
    with pytest.raises(ValueError, match=r"state\.npz does not hold a state"):
        load_state(path)


def test_a_class_that_has_changed_its_fields_is_refused(tmp_path, monkeypatch):
    save_state(tmp_path / "state.npz", Pair(1, 2))
    monkeypatch.setattr(sys.modules[__name__], "Pair", Changed)
    with pytest.raises(ValueError, match="Pair is not a named tuple of left, right"):
        load_state(tmp_path / "state.npz")


def test_a_field_that_is_new_and_has_a_default_has_it(tmp_path, monkeypatch):
    class Grown(NamedTuple):
        left: object
        right: object
        third: object = 3

    save_state(tmp_path / "state.npz", Pair(1, 2))
    monkeypatch.setattr(sys.modules[__name__], "Pair", Grown)
    assert load_state(tmp_path / "state.npz") == Grown(1, 2, 3)


def test_a_file_that_cannot_be_read_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_state(tmp_path / "nothing.npz")
    with pytest.raises(OSError):
        load_state(tmp_path)


@pytest.mark.posix
def test_a_pipe_is_no_file_to_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(OSError, match=r"pipe\.npz is not a regular file"):
        load_state(tmp_path / "pipe.npz")


def test_a_file_that_cannot_be_written_is_an_os_error_and_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "no" / "folder.npz", tmp_path / "folder"):
        with pytest.raises(OSError):
            save_state(path, 1)
    assert [file.name for file in tmp_path.rglob("*")] == ["folder"]


def test_a_state_is_the_same_file_whenever_it_is_saved(tmp_path, small):
    for name in ("one", "other"):
        save_state(tmp_path / name, small)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize("numpy", ["1.26", "2.4"])
def test_files_of_every_numpy_can_be_read(numpy):
    """Two runs, and a generator of each kind, written by one NumPy and by another."""
    loaded = load_state(REFERENCE / f"states_numpy_{numpy}.npz")
    assert_same(loaded, load_state(REFERENCE / "states_numpy_1.26.npz"))
    for environment, policy in (("testbed", "ucb"), ("per-arm", "lin-ucb")):
        driver = make_run(environment, policy, seed=3)
        driver.set_state(loaded["runs"][policy])
        driver.run()
    for name, generator in loaded["generators"].items():
        assert type(generator.bit_generator).__name__ == name
        assert 0.0 <= generator.random() < 1.0


def edited(path, state, change):
    """Writes the state of a generator with a changed header."""
    save_state(path, state)
    header, arrays = decode_archive(path.read_bytes(), str(path))
    _, *parts = header["state"]
    change(*parts)
    path.write_bytes(encode_archive(header, arrays))


@pytest.mark.parametrize("position", [-1, 625, 1_900_000_000])
def test_a_position_outside_of_a_mersenne_twister_is_refused(tmp_path, position):
    def change(state, sequence):
        state["state"]["pos"] = position

    path = tmp_path / "state.npz"
    edited(path, np.random.Generator(np.random.MT19937(0)), change)
    with pytest.raises(ValueError, match=r"state.npz.*position"):
        load_state(path)


@pytest.mark.parametrize("position", [-1_900_000_000, -1, 5])
def test_a_position_outside_of_the_buffer_of_philox_is_refused(tmp_path, position):
    def change(state, sequence):
        state["buffer_pos"] = position

    path = tmp_path / "state.npz"
    edited(path, np.random.Generator(np.random.Philox(0)), change)
    with pytest.raises(ValueError, match=r"state.npz.*position"):
        load_state(path)


def test_a_huge_pool_of_entropy_is_refused(tmp_path):
    def change(state, sequence):
        sequence["pool_size"] = 200_000

    path = tmp_path / "state.npz"
    edited(path, np.random.default_rng(0), change)
    with pytest.raises(ValueError, match=r"state.npz.*pool_size"):
        load_state(path)


def test_a_compressed_file_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    np.savez_compressed(path, header=np.zeros(10**6, np.uint8))
    with pytest.raises(ValueError, match=r"state.npz.*compressed"):
        load_state(path)


def test_a_class_is_not_looked_up_through_the_getattr_of_a_module(tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(encode_archive({"format": FORMAT, "state": ["numpy:f2py.x", {}]}, {}))
    with pytest.raises(ValueError, match=r"state.npz"):
        load_state(path)


def test_deeply_nested_files_and_states_are_refused(tmp_path):
    path, nest = tmp_path / "state.npz", None
    for _ in range(3000):
        nest = [nest]
    with pytest.raises(TypeError, match="nested too deeply"):
        save_state(path, nest)
    nested = '["list", ' * 3000 + "1" + "]" * 3000
    text = f'{{"format": "{FORMAT}", "state": {nested}}}'
    np.savez(path, header=np.frombuffer(text.encode(), np.uint8))
    with pytest.raises(ValueError, match=r"state.npz"):
        load_state(path)


def test_an_array_that_is_shared_is_written_once_and_stays_shared(tmp_path):
    shared = np.zeros(10_000)
    save_state(tmp_path / "state.npz", {"a": shared, "b": [shared, shared]})
    assert (tmp_path / "state.npz").stat().st_size < 2 * shared.nbytes
    loaded = load_state(tmp_path / "state.npz")
    assert loaded["a"] is loaded["b"][1]


@pytest.mark.posix
def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        save_state(tmp_path / "pipe", 1)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.posix
@pytest.mark.parametrize("exists", [True, False])
def test_no_file_is_written_through_a_link(tmp_path, exists):
    file = tmp_path / "other"
    if exists:
        file.write_text("text", "utf-8")
    (tmp_path / "state.npz").symlink_to(file)
    with pytest.raises(OSError, match="is a link; expected a regular file"):
        save_state(tmp_path / "state.npz", 1)
    assert file.read_text("utf-8") == "text" if exists else not file.exists()


@pytest.mark.posix
def test_a_folder_may_be_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    save_state(tmp_path / "link" / "state.npz", 1)
    assert load_state(tmp_path / "folder" / "state.npz") == 1


@pytest.mark.posix
def test_a_file_may_have_the_longest_name_there_is(tmp_path):
    path = tmp_path / ("x" * 255)
    save_state(path, 1)
    assert load_state(path) == 1
