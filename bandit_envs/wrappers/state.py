"""What a wrapper remembers, and what it returns to be saved."""

from __future__ import annotations

from typing import Any, NamedTuple

from bandit_envs.trajectories import TimeStep, read_only_time_step


class WrapperState(NamedTuple):
    """All that changes in a wrapper, apart from the environment that it wraps.

    Fields:
        made_by: which wrapper it belongs to, so that no other takes it.
        time_step: what the last `reset` or `step` returned; None before the first.
        hidden: what the wrapper's own hooks need besides.

    A copy, a pickled one too, hands out as little that can be written as the original.
    """

    made_by: str
    time_step: TimeStep | None
    hidden: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied_state, tuple(self)


class WrapperToken(NamedTuple):
    """What a wrapper's `get_state` returns.

    Fields:
        own: the wrapper's state.
        wrapped: the token of the wrapped environment.
    """

    own: WrapperState
    wrapped: Any


def _copied_state(*fields: Any) -> WrapperState:
    state = WrapperState(*fields)
    if state.time_step is None:
        return state
    return state._replace(time_step=read_only_time_step(state.time_step))
