"""The parts of pages: what docstrings and signatures become as Markdown."""

import textwrap

import pytest

griffe = pytest.importorskip("griffe")

from colab.pages import docstrings, markdown, signatures  # noqa: E402


@pytest.fixture
def source(tmp_path):
    """Returns a function that reads a module from its source."""

    def read(text):
        (tmp_path / "mine.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return griffe.load("mine", search_paths=[str(tmp_path)])

    return read


def test_indented_lines_and_doctests_of_a_docstring_become_blocks_of_code():
    text = markdown.prose("What it is.\n\n    a = b\n\n    c = d\n\nMore.\n\n>>> 1 + 1\n2")
    blocks = [
        "What it is.",
        "```text\na = b\n\nc = d\n```",
        "More.",
        "```python\n>>> 1 + 1\n2\n```",
    ]
    assert text == "\n\n".join(blocks)


def test_the_first_sentence_ends_before_the_next_one():
    assert (
        markdown.first_sentence("Is 0.5,\nas in `a.b`. More.\n\nStill more.")
        == "Is 0.5, as in `a.b`."
    )


def test_a_cell_of_a_table_may_have_a_bar():
    assert markdown.table(("a",), [("p(a | x)",)]).splitlines()[-1] == r"| p(a \| x) |"


def test_sections_of_a_docstring_become_lists_with_titles(source):
    module = source(
        '''
        def draw(rng, size):
            """Draws.

            Args:
                rng: a generator,
                    of any kind.
                size: how many.

            Shapes:
                B: the size.

            Raises:
                ValueError: `size` is negative.

            Source: a book.
            """
        '''
    )
    assert docstrings.body(module["draw"]).split("\n\n") == [
        "Draws.",
        "**Args**",
        "- `rng`: a generator,\n  of any kind.\n- `size`: how many.",
        "**Shapes**",
        "- `B`: the size.",
        "**Raises**",
        "- `ValueError`: `size` is negative.",
        "Source: a book.",
    ]


def test_a_signature_shows_types_defaults_and_which_arguments_need_their_name(source):
    module = source(
        """
        import typing

        class Mine:
            def __init__(self, a: int, /, b="x", *, c: float = 0.5, **options: typing.Unpack[Any]):
                pass
        """
    )
    assert (
        signatures.call_of(module["Mine"])
        == "Mine(a: int, /, b = 'x', *, c: float = 0.5, **options)"
    )


def test_a_named_tuple_is_called_with_its_fields(source):
    module = source(
        """
        from typing import NamedTuple

        class Pair(NamedTuple):
            first: int
            second: int = 2
        """
    )
    assert signatures.call_of(module["Pair"]) == "Pair(first: int, second: int = 2)"


def test_a_long_signature_has_a_line_for_each_parameter(source):
    module = source(f"def mine({', '.join(f'parameter_{n}: int' for n in range(6))}) -> int: ...")
    lines = signatures.call_of(module["mine"], returns=True).splitlines()
    assert lines == ["mine(", *(f"    parameter_{n}: int," for n in range(6)), ") -> int"]
