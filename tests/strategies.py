"""What hypothesis draws from, in more than one file."""

import numpy as np
from hypothesis import strategies as st

from bandit_envs import BoundedArraySpec

texts = st.text("aé漢😀 \n\x00\u2028,:=.[]{}\"'\\/", max_size=8)
"""Of letters that files treat in many ways. All of Unicode takes a second to look up."""

shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
integer_dtypes = st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]).map(np.dtype)
float_dtypes = st.sampled_from(["f2", "f4", "f8"]).map(np.dtype)
dtypes = integer_dtypes | float_dtypes | st.just(np.dtype(bool))


@st.composite
def bounded_specs(draw):
    shape, dtype = draw(shapes), draw(dtypes)
    if dtype.kind == "b":
        bounds = st.booleans()
    elif dtype.kind == "f":
        largest = float(np.finfo(dtype).max)
        bounds = st.floats(-largest, largest, width=8 * dtype.itemsize)
    else:
        bounds = st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = sorted([draw(bounds), draw(bounds)])
    return BoundedArraySpec(shape, dtype, low, high)
