"""Models of other libraries in a state: how they are copied, and what a file holds of them."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

from bandit_envs.nests import Nest, flatten, map_structure

__all__ = [
    "EncodedModel",
    "ForeignModel",
]


@dataclasses.dataclass(frozen=True)
class EncodedModel:
    """What a file says of a `ForeignModel`, until `set_state` makes a model of it."""

    content: Nest

    trusted: tuple[str, ...] = ()
    """What the reader of the file trusts, beside what the model does. No file says it."""


class ForeignModel(abc.ABC):
    """A model of another library, as a leaf of a state.

    `copy.deepcopy` copies it, and the copy shares nothing that changes. It can be pickled.
    `save_state` writes what `encode` returns. `set_state` takes the leaf in the same place of the
    object's initial state, and calls its `decode`. So this leaf decides what a file may hold.
    """

    @abc.abstractmethod
    def encode(self) -> Nest:
        """Returns the model as a nest of what `save_state` writes, such as arrays.

        Raises:
            TypeError: the model cannot be written.
        """

    def layout(self) -> str:
        """Returns in words what a model must share with another one to stand in its place."""
        return type(self).__name__

    @abc.abstractmethod
    def decode(self, content: Nest, trusted: Sequence[str] = ()) -> ForeignModel:
        """Returns a new model, like this one, of what `encode` of another one returned.

        Args:
            content: may be from a file. It must not say what is called.
            trusted: names of classes and functions that `content` may hold all the same, as the
                user says who reads the file.

        Raises:
            TypeError, ValueError: `content` does not fit.
        """


def decode_models(found: Nest, initial: Nest) -> Nest:
    """Returns a nest with models in place of what a file says of them.

    Args:
        found: of a state that may be from a file.
        initial: a nest of the same structure, with the models that say how to decode others.
    """
    if not any(isinstance(leaf, ForeignModel) for leaf in flatten(initial)):
        return found

    def decode(like: Any, leaf: Any) -> Any:
        is_encoded = isinstance(like, ForeignModel) and isinstance(leaf, EncodedModel)
        return like.decode(leaf.content, leaf.trusted) if is_encoded else leaf

    return map_structure(decode, initial, found)
