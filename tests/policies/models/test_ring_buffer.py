"""The last rows that a model remembers."""

import numpy as np

from bandit_envs.policies.models.ring_buffer import RingBuffer
from tests.cases import for_each

C = 4


@for_each("sizes", [[1] * 9, [3, 3, 3], [9], [2, 7], [4, 4, 1]])
def test_it_holds_the_last_rows_and_row_t_is_at_t_modulo_its_length(sizes):
    values = np.arange(1.0, 10.0)
    buffer = RingBuffer({"value": np.zeros(C), "pair": np.zeros((C, 2))}, seen=0)
    for stop, size in zip(np.cumsum(sizes), sizes):
        new = values[stop - size : stop]
        buffer = buffer.add({"value": new, "pair": np.stack([new, -new], axis=1)})
    assert (buffer.seen, buffer.size) == (9, C)
    assert buffer.rows["value"].tolist() == [9.0, 6.0, 7.0, 8.0]
    taken = buffer.take(np.array([1, 0]))
    assert taken["pair"].tolist() == [[6.0, -6.0], [9.0, -9.0]]


def test_it_has_no_more_rows_than_were_added():
    buffer = RingBuffer(np.zeros(C), seen=0).add(np.ones(3))
    assert buffer.size == 3
