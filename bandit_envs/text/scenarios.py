"""The stories in which bandits are told to agents that read."""

from __future__ import annotations

import dataclasses

from bandit_envs.base.checks import check_integer, short_repr

MAX_ACTIONS = 50

COLOURS = (
    "blue green red yellow purple orange pink brown black white grey teal gold silver violet cyan "
    "maroon olive navy beige crimson turquoise lavender coral ivory indigo amber jade ruby pearl "
    "emerald scarlet khaki salmon plum peach mint lime bronze copper lilac mustard charcoal cream "
    "magenta azure rust sand cobalt burgundy"
)


@dataclasses.dataclass(frozen=True)
class Scenario:
    """The story in which a bandit is told.

    In `introduction`, {number} stands for the number of actions, and {actions} for their names.
    """

    introduction: str
    """What the agent is, and what it should achieve."""

    question: str
    """Asks for the next action. An answer format, such as `OneAction`, adds how to write it."""

    action: str
    """What an action is called, such as "button"."""

    chosen: str
    """How an action was taken, such as "pressed"."""

    names: tuple[str, ...]
    """The names of the actions, as many as there may be."""

    advice: str = ""
    """What a prompt suggests, after the introduction. A neutral prompt has none."""

    def __post_init__(self) -> None:
        different = {name.lower() for name in self.names}
        if not different or len(different) < len(self.names):
            raise ValueError(f"names is {short_repr(self.names)}; expected different names")
        try:
            self.introduce(min(len(self.names), MAX_ACTIONS))
        except (LookupError, ValueError) as error:
            found = short_repr(self.introduction)
            expected = "expected {number}, {actions} or no braces"
            raise ValueError(f"introduction is {found}; {expected}") from error

    def introduce(self, num_actions: int) -> str:
        """Returns how a prompt begins."""
        names = self.names_of(num_actions)
        introduction = self.introduction.format(number=num_actions, actions=", ".join(names))
        return f"{introduction} {self.advice}".strip()

    def names_of(self, num_actions: int) -> tuple[str, ...]:
        """Returns the names of K actions; ValueError if there are too few."""
        check_integer("num_actions", num_actions, 1, min(MAX_ACTIONS, len(self.names)))
        return self.names[:num_actions]


BUTTONS = Scenario(
    introduction=(
        "You are in a room with {number} buttons: {actions}. Pressing a button pays a reward that "
        "is drawn at random, with a mean of its own. Press buttons so that the sum of your "
        "rewards becomes as large as possible."
    ),
    question="Which button do you press next?",
    action="button",
    chosen="pressed",
    names=tuple(COLOURS.split()),
    advice="Balance exploring and exploiting.",
)
"""Buttons of different colours."""

ADVERTS = Scenario(
    introduction=(
        "You choose which of {number} adverts each visitor of a website sees: {actions}. A visitor "
        "clicks with a probability that depends on the advert. Choose adverts so that you get as "
        "many clicks as possible."
    ),
    question="Which advert do you show next?",
    action="advert",
    chosen="shown",
    names=tuple(f"advert {number}" for number in range(1, MAX_ACTIONS + 1)),
    advice="Balance exploring and exploiting.",
)
"""Adverts, which visitors of a website click or not."""
