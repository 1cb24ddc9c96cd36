"""Arrays in files: threads do not disturb their reader, and damage is what their bytes say."""

import ast
import contextlib
import io
import signal
import sys
import threading
import time
import zipfile

import numpy as np
import pytest

from bandit_envs import KArmedTestbed, load_state, save_state
from bandit_envs.base.archives import (
    MAX_HEADER,
    decode_archive,
    encode_archive,
    open_arrays,
    read_array,
)
from bandit_envs.studies.running.checkpoints import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:Passing in a parenthesized single number")


class Cycle:
    """Garbage, whose collection lets other threads run."""

    def __init__(self):
        self.me = self

    def __del__(self):
        sum(range(50))


@pytest.fixture
def short_turns():
    """Lets threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def saved(tmp_path):
    """A file of a state."""
    env = KArmedTestbed(k=3, seed=0)
    env.reset()
    save_state(tmp_path / "state.npz", env.get_state())
    return tmp_path / "state.npz"


def load_arrays(path):
    """Loads arrays as other libraries do."""
    with np.load(path) as archive:
        return dict(archive)


def parse_code(path):
    """Parses code as other libraries do."""
    return ast.parse("f(x, y)[1:2] + g([1, 2, 3])")


@pytest.mark.slow
@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("other", [load_state, load_arrays, parse_code])
def test_four_threads_load_a_file_1600_times_whatever_another_does(saved, other):
    """The other thread may fail: Python 3.11 has a fault in `ast`."""

    def call_often(function, errors):
        for _ in range(400):
            for _ in range(20):
                Cycle()
            try:
                function(saved)
            except Exception as error:
                errors.append(error)

    errors = []
    jobs = [(load_state, errors)] * 4 + [(other, [])]
    threads = [threading.Thread(target=call_often, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


class TimeIsUpError(Exception):
    """An error of the application."""


@contextlib.contextmanager
def interrupt_at(place):
    """Raises an error of the application at a line of the package, counted from 0 as they run."""
    left = [place]

    def trace(frame, event, argument):
        if event == "line" and frame.f_globals["__name__"].startswith("bandit_envs."):
            left[0] -= 1
            if left[0] < 0:
                raise TimeIsUpError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def set_loaded(path):
    """Loads a file, and sets the state."""
    KArmedTestbed(k=3, seed=1).set_state(load_state(path))


def load_checkpoint(path):
    """Loads a file as the checkpoint of a task."""
    return Checkpoint(path, {}).load()


@pytest.mark.parametrize(
    ("load", "apart"),
    [
        (load_state, 13),
        pytest.param(load_state, 3, marks=pytest.mark.slow),
        pytest.param(set_loaded, 13, marks=pytest.mark.slow),
        (load_checkpoint, 13),
    ],
)
def test_an_error_of_the_application_passes_wherever_it_stops_a_reader(saved, load, apart):
    place = 0
    while True:
        try:
            with interrupt_at(place):
                load(saved)
            break
        except TimeIsUpError:
            place += apart
    assert place > 50


def load_for(seconds, path):
    """Loads a file until a signal comes. Python loses one of many, in a `__del__`."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    end = time.monotonic() + 0.2  # the longest of these times is 1 ms
    while time.monotonic() < end:
        load_state(path)


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of zipfile
def test_an_error_of_a_signal_handler_passes_while_a_file_is_loaded(saved):
    def stop(number, frame):
        raise TimeIsUpError

    before = signal.signal(signal.SIGALRM, stop)
    interrupts = 0
    try:
        for number in range(40):
            try:
                load_for(2.5e-5 * (number + 1), saved)
            except TimeIsUpError:
                interrupts += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupts > 35


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3)),
        np.array(2.5),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(["é", "bc"]),
        np.zeros(2, [("größe", "<f8"), ("π", "<i4", (2,))]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.arange(300_000),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_arrays_come_back_as_they_were_and_can_be_written_to(array):
    _, arrays = decode_archive(encode_archive({}, {"x": array}), "it")
    found = arrays["x"]
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes("A") == array.tobytes("A")
    assert found.flags.f_contiguous == array.flags.f_contiguous
    assert found.flags.writeable
    assert found.flags.owndata


def npy(text, values=b"", version=(1, 0)):
    """Returns an array in a file whose header is a text."""
    size = len(text).to_bytes(2 if version == (1, 0) else 4, "little")
    return b"\x93NUMPY" + bytes(version) + size + text.encode("latin-1") + values


def with_shape(shape, values=bytes(8), descr="'<f8'", order="False"):
    """Returns an array of numbers that says it has a shape."""
    return npy(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}\n", values)


def zipped(*members, compression=zipfile.ZIP_STORED):
    """Returns an archive of some named contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def with_array(content):
    """Returns an archive of a header, and of the content of an array."""
    text = np.frombuffer(b"{}", np.uint8)
    buffer = io.BytesIO()
    np.save(buffer, text)
    return zipped(("header.npy", buffer.getvalue()), ("x.npy", content))


def encrypted(content):
    """Returns an archive that says in its directory that its parts are encrypted."""
    place = content.index(b"PK\x01\x02") + 8
    return content[:place] + b"\x01" + content[place + 1 :]


def overlapping(content):
    """Returns an archive whose directory lists a part several times."""
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entries = content[start:end] * 50
    last = bytearray(content[end:])
    last[8:10] = last[10:12] = (100).to_bytes(2, "little")
    last[12:16] = len(entries).to_bytes(4, "little")
    return content[:start] + entries + last


GOOD = with_array(with_shape("(1,)"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        GOOD[:-30],
        GOOD.replace(b"<f8", b"<i8"),
        encrypted(GOOD),
        overlapping(GOOD),
        zipped(("x.npy", with_shape("(1,)"))),
        zipped(("header.npy", with_shape("(1,)"))),
        zipped(("header.npy", npy("")), compression=zipfile.ZIP_DEFLATED),
        with_array(b""),
        with_array(b"not an array"),
        with_array(npy("{}")),
        with_array(npy("f(")),
        with_array(npy("-" * 9_000 + "1")),
        with_array(npy("[" * 9_000)),
        with_array(npy(" " * (MAX_HEADER + 1))),
        with_array(npy("{}", version=(4, 0))),
        with_array(npy("\xff", version=(3, 0))),
        with_array(npy("{}", version=(2, 0))[:9]),
        with_array(with_shape("(2,)")),
        with_array(with_shape("(0,)")),
        with_array(with_shape("(-1,)")),
        with_array(with_shape("(-1, -1)")),
        with_array(with_shape("(10**30,)")),
        with_array(with_shape("(0, 1000000000000000000000)", b"")),
        with_array(with_shape("(1.0,)")),
        with_array(with_shape("1")),
        with_array(with_shape("(1,)", order="1")),
        with_array(with_shape("(1,)", descr="'O'")),
        with_array(with_shape("(1,)", descr="'|V8,('")),
        with_array(with_shape("(1,)", descr="'no'")),
        with_array(with_shape("(1,)", descr="'(1 2)f8,i4'")),
        with_array(with_shape("(1,)", descr="()")),
        with_array(with_shape("(1,)", descr="[1]")),
        with_array(with_shape("(1,)", descr="[('a', 'O')]")),
        with_array(with_shape("(1,)", descr="{1: 2}")),
    ],
)
def test_content_of_every_kind_that_is_damaged_is_called_so(content):
    with pytest.raises(ValueError, match="it is damaged, or not a file of bandit_envs"):
        decode_archive(content, "it")


def test_a_header_that_is_no_json_or_nested_too_deeply_is_damage():
    for text in (b"{", b"\xff", b"[" * 100_000):
        content = io.BytesIO()
        np.savez(content, header=np.frombuffer(text, np.uint8))
        with pytest.raises(ValueError, match="it is damaged"):
            decode_archive(content.getvalue(), "it")
    assert decode_archive(GOOD, "it") == ({}, {"x": np.zeros(1)})


class FailingFile(io.BytesIO):
    """A file on a disk that fails, once it is half read."""

    def read(self, size=-1):
        if self.tell() > 100 and size > 1_000:
            raise OSError(5, "Input/output error")
        return super().read(size)


def test_an_error_of_the_disk_and_a_lack_of_memory_are_no_damage(monkeypatch):
    content = encode_archive({}, {"x": np.zeros(10_000)})
    with pytest.raises(OSError, match="Input/output"), open_arrays(FailingFile(content)) as archive:
        read_array(archive, "x")

    def fail(*arguments):
        raise MemoryError

    monkeypatch.setattr(np, "empty", fail)
    with pytest.raises(MemoryError):
        decode_archive(content, "it")
