"""What users write of policies and environments."""

import pytest

from bandit_envs.names.notation import parse_choice


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("number=offer-07", {"number": "offer-07"}),
        ("number=café ☕,c=0.5", {"number": "café ☕", "c": 0.5}),
        ("number=靴", {"number": "靴"}),
        (
            "path=C:\\logs,is_good=true,most=inf",
            {"path": "C:\\logs", "is_good": True, "most": 1e999},
        ),
        ("""x='q=u-r,v',y="a=b-c",z=d-e""", {"x": "q=u-r,v", "y": "a=b-c", "z": "d-e"}),
        ("x=[1, 2],y=b-c", {"x": [1, 2], "y": "b-c"}),
    ],
)
def test_a_text_that_begins_with_a_letter_needs_no_quotes(values, expected):
    assert parse_choice("policy", f"constant:{values}", {"constant"}) == ("constant", expected)
