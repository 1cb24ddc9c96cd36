"""Python's syntax trees."""

import concurrent.futures
import gc
import time

import pytest

from bandit_envs.names.notation import parse_expression, parse_literal, parse_module

SOURCE = b"\n".join(b"f(%d, [x for x in y], (a + b) * c)" % number for number in range(50))


def let_others_run(phase, info):
    time.sleep(0.0)


@pytest.fixture
def gc_callback():
    """Lets other threads run while one makes a tree, as callbacks of libraries may."""
    gc.callbacks.append(let_others_run)
    yield
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("gc_callback")
def test_threads_may_want_trees_at_the_same_time():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parse_module, [SOURCE] * 40))
    assert {len(tree.body) for tree in trees} == {50}


def test_a_literal_is_a_value_and_nothing_else():
    assert parse_literal(" {'a': [1, None]}") == {"a": [1, None]}
    assert parse_expression("f(1)").func.id == "f"
    with pytest.raises(ValueError, match="malformed"):
        parse_literal("f(1)")
