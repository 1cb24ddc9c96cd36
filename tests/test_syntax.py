"""Python's syntax trees."""

import ast
import concurrent.futures
import gc
import time

import pytest

from bandit_envs.names.notation import parse_expression, parse_literal, parse_module, undisturbed

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


class Failing:
    """Fails with some errors, one call after the other, before it returns its argument."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def __call__(self, *arguments, **options):
        if self.errors:
            raise self.errors.pop()
        return arguments


MISMATCH = SystemError("AST constructor recursion depth mismatch (before=84, after=82)")


def test_what_another_thread_has_disturbed_is_made_again(monkeypatch):
    assert undisturbed(Failing(*[MISMATCH] * 50)) == ()
    parse = ast.parse
    failing = Failing(*[MISMATCH] * 50)
    monkeypatch.setattr(ast, "parse", lambda *given, **options: parse(*failing(*given), **options))
    assert parse_literal("(1, 2)") == (1, 2)
    assert failing.errors == []


@pytest.mark.parametrize("error", [SystemError("of the application"), KeyError("x")])
def test_other_errors_are_not_tried_again(error):
    with pytest.raises(type(error), match=error.args[0]):
        undisturbed(Failing(error))


def test_a_disturbance_that_never_ends_is_an_error():
    with pytest.raises(SystemError, match="mismatch"):
        undisturbed(Failing(*[MISMATCH] * 10_000))


def test_a_literal_is_a_value_and_nothing_else():
    assert parse_literal(" {'a': [1, None]}") == {"a": [1, None]}
    assert parse_expression("f(1)").func.id == "f"
    with pytest.raises(ValueError, match="malformed"):
        parse_literal("f(1)")
    for text in ("(", "{[]: 1}", "(" * 9_999, "-" * 9_999 + "1", "\0"):
        with pytest.raises(ValueError):
            parse_literal(text)
