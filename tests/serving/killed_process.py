"""Serves users from a file, until it is done or killed.

The workload is a pure function of the number of users. It keeps its own notes of what was answered
beside the file, as a client would.
"""

import warnings

import numpy as np

from bandit_envs import KLUCBPolicy
from bandit_envs.base.saving import encode_state
from bandit_envs.policies.models import BayesianRidge, Ridge
from bandit_envs.policies.rules import Mixed, Softmax, ThompsonSampling
from bandit_envs.serving import DecisionService
from tests.serving.services import FEATURES, ITEM_FEATURES, NAMES, contextual, of_items

BATCH = 10
NEW_ACTION = 250  # an action is added before this user
RETIRED_ACTION = 380  # an action is retired before this user
UPGRADE = 300  # the next policy, if there is one, replaces the first before this user

POLICIES = {
    "pending": lambda: KLUCBPolicy(num_actions=3, seed=0),  # counts choices without rewards
    "sampled": lambda: contextual(Mixed(ThompsonSampling(), 0.1), BayesianRidge()),
    "items": of_items,
    "upgraded": contextual,
    "upgraded to count": contextual,
}
NEXT_POLICIES = {
    "upgraded": lambda: contextual(Softmax(0.5), Ridge(intercept=True)),
    "upgraded to count": lambda: KLUCBPolicy(num_actions=3, seed=0),
}


def open_service(folder, name):
    """The service of the workload, with the policy that is at work."""
    try:
        return open_with(folder, name, POLICIES[name]())
    except ValueError as error:
        if "was upgraded to" not in str(error):
            raise
        return open_with(folder, name, NEXT_POLICIES[name]())


def open_with(folder, name, policy):
    """A service that learns from rewards in batches of three."""
    of_kind = {"item_features": ITEM_FEATURES} if name == "items" else {"actions": NAMES}
    return DecisionService(
        folder / "shop.sqlite",
        policy,
        **of_kind,
        features=FEATURES,
        seed=5,
        learn_every=3,
        synchronous="off",
    )


def context_of(user):
    """The context of a user."""
    return {"age": (user * 37 % 101) / 101, "country": "FR" if user % 3 else "DE"}


def items_for(user):
    """The items that a user may get, of which new ones come with time: other ones each time."""
    numbers = [user // 100 + (user * step) % 37 for step in range(1, 2 + user % 9)]
    return {
        f"offer-{number}": {"price": number % 7 / 3, "kind": "news" if number % 2 else "sport"}
        for number in numbers
    }


def serve_quietly(folder, users, name, ready):
    """Serves users in a process of its own, which says when it is ready."""
    warnings.simplefilter("ignore")  # of choices that were certain
    serve(folder, users, name, lambda: ready.send("ready"))


def serve(folder, users, name, tell_ready=lambda: None):
    """Serves the users in order; what was answered before is asked again."""
    done = find_start(folder)
    if name in NEXT_POLICIES and done <= UPGRADE < users:
        serve_part(folder, name, range(done, UPGRADE), tell_ready)
        DecisionService.upgrade(folder / "shop.sqlite", NEXT_POLICIES[name]())
        done = UPGRADE
    serve_part(folder, name, range(done, users), tell_ready)


def serve_part(folder, name, users, tell_ready):
    """Serves some users by the policy that is at work."""
    with open_service(folder, name) as service:
        tell_ready()
        known = read_answers(folder)
        with (folder / "answers.txt").open("a", encoding="utf-8") as answers:
            for first in users[::BATCH]:
                batch = range(first, min(first + BATCH, users.stop))
                if name != "items":
                    change_actions(service, first)
                decide(
                    service, answers, [user for user in batch if not is_gone(service, known, user)]
                )
                late = [user - 7 for user in batch if user >= 7 and user % 4]
                service.reward_many([(f"user-{user}", reward_of(user)) for user in late])


def upgrade_for_ever(folder, name, ready):
    """Puts two policies to work in turn, until the process is killed, and says when one is."""
    while True:
        for make in (NEXT_POLICIES[name], POLICIES[name]):
            if DecisionService.upgrade(folder / "shop.sqlite", make()):
                ready.send("upgraded")


def change_actions(service, user):
    """Does before a user what was not done yet."""
    if user == NEW_ACTION and "black" not in service.actions:
        service.add_action("black")
    if user == RETIRED_ACTION and "red" in service.open_actions:
        service.retire_action("red")


def is_gone(service, known, user):
    """Whether a user was answered before by an action that was retired since."""
    action = known.get(user, "").split(" ")[0]
    return action in service.actions and action not in service.open_actions


def decide(service, answers, users):
    """Decides for users, the first of them alone, and notes the answers."""
    if not users:
        return
    offered = [items_for(user) for user in users] if not service.actions else [None] * len(users)
    found = [service.decide(context_of(users[0]), id=f"user-{users[0]}", actions=offered[0])]
    found += service.decide_many(
        [context_of(user) for user in users[1:]],
        ids=[f"user-{user}" for user in users[1:]],
        actions=offered[1:] if offered[0] else None,
    )
    lines = [f"{user} {each.action} {each.probability!r}\n" for user, each in zip(users, found)]
    answers.write("".join(lines))
    answers.flush()


def read_answers(folder):
    """What each user was answered, who was never answered otherwise."""
    file = folder / "answers.txt"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    found = {}
    for line in lines:
        user, answer = line.split(" ", 1)
        assert found.setdefault(int(user), answer) == answer
    return found


def find_start(folder):
    """The first user of the last batch that was answered: its rewards may not have been sent."""
    answered = max(read_answers(folder), default=-1) + 1
    return max(0, answered // BATCH - 1) * BATCH


def reward_of(user):
    """What a user pays."""
    return float(np.random.default_rng(user).random() < 0.3)


def results(folder, name):
    """All that must not depend on kills: decisions, rewards, and the state of the policy."""
    with open_service(folder, name) as service:
        log = service.log()
        state = encode_state(service.policy.get_state())
    return log, state, read_answers(folder)
