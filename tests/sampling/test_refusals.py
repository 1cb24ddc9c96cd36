"""What samplers refuse, and how they say so."""

import numpy as np
import pytest

from bandit_envs.sampling import (
    BatchFunction,
    Catalog,
    Integers,
    Normal,
    RowFunction,
    Threaded,
    Uniform,
    as_sampler,
)
from tests.cases import for_each

TABLE = np.arange(12.0).reshape(6, 2)
RNG = np.random.default_rng(0)


def of_two_arguments(rng, size):
    return rng.random((*size, 3))


def two_features(rng, size):
    return np.zeros((*size, 2))


REFUSALS = [
    (Normal, (-1,), ValueError, "dim is -1"),
    (Normal, (2.0,), TypeError, "dim is 2.0"),
    (Normal, (2, 0.0, -1.0), ValueError, "scale is -1"),
    (Normal, (2, np.nan), ValueError, "loc is nan"),
    (Normal, (2, 0.0, 1e38), ValueError, "scale is 1e[+]38"),
    (Normal, (2, 0.0, 1.0, np.int32), TypeError, "dtype is int32; expected float32 or float64"),
    (Uniform, (2, 1.0, 0.0), ValueError, "high is 0"),
    (Uniform, (2, -1e38, 0.0), ValueError, "low is -1e[+]38"),
    (Integers, (2, 3, 3), ValueError, "high is 3; expected at least 4"),
    (Integers, (2, 0, 2**31 + 1), ValueError, "high is 2147483649"),
    (Integers, (2, 0.5, 3), TypeError, "low is 0.5"),
    (Catalog, (np.zeros((2, 3, 4)),), ValueError, r"features has shape \(2, 3, 4\)"),
    (Catalog, (np.zeros(3),), ValueError, r"features has shape \(3,\)"),
    (Catalog, ([[0.0, 1.0], [0.0, np.nan]],), ValueError, "features has NaN for row 1"),
    (Catalog, ([["a"]],), TypeError, "features is <U1: .*; expected real numbers"),
    (Catalog, ([[1], [1, 2]],), ValueError, "features is "),
    (Catalog(TABLE).sample, (RNG, (2, 7)), ValueError, "6 items; expected at least 7"),
    (BatchFunction, (np.zeros, 2, object), TypeError, "dtype is object"),
    (
        as_sampler,
        ("fn", of_two_arguments, (1,)),
        TypeError,
        r"fn is .* BatchFunction\(function, dim\)",
    ),
    (
        as_sampler,
        ("fn", BatchFunction(two_features, dim=3), (1,)),
        ValueError,
        r"fn returned shape \(1, 2\); expected \(1, 3\)",
    ),
    *(
        (
            as_sampler,
            ("fn", function, (1,)),
            TypeError,
            "fn is .*; expected a ContextSampler or a function",
        )
        for function in (None, np.zeros(3), "normal")
    ),
    (Threaded, (3,), TypeError, "sampler is 3"),
    (Threaded, (of_two_arguments,), TypeError, "sampler is "),
    (Threaded, (RowFunction(lambda: 1.0),), TypeError, "sampler is "),
    (Threaded, (Normal(2), 0), ValueError, "threads is 0"),
    (Threaded, (Normal(2), 1.5), TypeError, "threads is 1.5"),
]


@for_each(("function", "arguments", "error", "message"), REFUSALS)
def test_it_is_refused_by_name(function, arguments, error, message):
    with pytest.raises(error, match=message):
        function(*arguments)
