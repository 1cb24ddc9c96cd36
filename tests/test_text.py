"""Bandits as text: what prompts tell, how answers are read, and agents that follow them."""

import contextlib
import dataclasses
import importlib
import itertools
import multiprocessing
import re
import sqlite3
import time
from typing import NamedTuple

import numpy as np
import pytest

from bandit_envs import (
    BernoulliPyEnvironment,
    KArmedTestbed,
    OutcomeStream,
    Policy,
    RegretMetric,
    StepDriver,
    text,
)
from bandit_envs.testing import PolicyContract
from bandit_envs.text.answers import parse_answer
from bandit_envs.text.calls import Usage

NAMES = ("blue", "green", "red")


def first_offered(prompts):
    """Answers with the first action that a prompt offers."""
    answers = []
    for prompt in prompts:
        only = re.search(r"^Only these are available now: (\w+)", prompt, re.MULTILINE)
        answers.append(only[1] if only else "blue")
    return answers


def make_policy(env, complete=first_offered, **options):
    return text.TextPolicy(complete, **text.TextPolicy.arguments_for(env), **options)


class TestTextPolicy(PolicyContract):
    num_choices = 0

    def make_policy(self, env, seed):
        return make_policy(env, seed=seed)


class TestTextPolicyOfRounds(PolicyContract):
    num_choices = 0

    def make_policy(self, env, seed):
        return make_policy(env, history=text.LastRounds(5), seed=seed)


def told_probabilities(prompts):
    """Answers with equal probabilities of the actions that a prompt offers."""
    answers = []
    for prompt in prompts:
        lists = re.findall(r"(?:available now|buttons): ([\w, ]+)\.", prompt)
        names = lists[-1].split(", ")
        told = ", ".join(f"{name}: {1 / len(names)}" for name in names)
        answers.append(f"<Answer>{told}</Answer>")
    return answers


class TestTextPolicyOfProbabilities(PolicyContract):
    num_choices = 0

    def make_policy(self, env, seed):
        answer_format = text.ActionProbabilities()
        return make_policy(env, told_probabilities, answer_format=answer_format, seed=seed)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("<Answer>green</Answer>", 1),
        ("blue or green? <answer> RED </answer>", 2),
        ("I press the red button.", 2),
        ("<Answer>blue</Answer> No: <Answer>green</Answer>", 1),
    ],
)
def test_an_answer_names_an_action(answer, action):
    assert parse_answer(answer, NAMES) == action


@pytest.mark.parametrize(
    "answer", ["", "yellow", "blue or green", "<Answer></Answer>", "bluegreen"]
)
def test_what_cannot_be_read_is_refused(answer):
    with pytest.raises(text.UnreadableAnswerError):
        parse_answer(answer, NAMES)


def test_told_probabilities_are_read():
    read = text.ActionProbabilities().read
    assert read("<Answer>red: 25%, BLUE: 75%</Answer>", NAMES).tolist() == [0.75, 0.0, 0.25]
    assert read("blue: 0.33; green: 0.33; red: 0.33", NAMES) == pytest.approx([1 / 3] * 3)
    assert read("<Answer>\nblue: 0.25,\nred: 0.75\n</Answer>", NAMES).tolist() == [0.25, 0, 0.75]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "sum to 0"),
        ("blue", "expected one of"),
        ("yellow: 1", "'yellow: 1'"),
        ("blue: 0.5, blue: 0.5", "each once"),
        ("blue: 0, blue: 1", "each once"),
        ("blue: 0.5, red: 0.2", "sum to 0.7"),
        ("blue: half, red: 0.5", "'half'; expected a probability"),
        ("blue: nan", "expected a probability"),
        ("blue: 1.5", "expected a probability"),
    ],
)
def test_other_probabilities_are_refused(answer, message):
    with pytest.raises(text.UnreadableAnswerError, match=message):
        text.ActionProbabilities().read(f"<Answer>{answer}</Answer>", NAMES)


def test_actions_are_drawn_by_the_told_probabilities():
    env = KArmedTestbed(k=3, batch_size=2000)
    answer = "<Answer>blue: 0.2, green: 0.8</Answer>"
    answer_format = text.ActionProbabilities()
    policy = make_policy(env, lambda prompts: [answer] * 2000, answer_format=answer_format, seed=0)
    counts = np.bincount(policy.action(env.reset()), minlength=3)
    assert counts / 2000 == pytest.approx([0.2, 0.8, 0.0], abs=0.04)


def test_there_are_32_designs_of_prompts():
    stories = [text.BUTTONS, text.ADVERTS]
    stories += [dataclasses.replace(story, advice="") for story in stories]
    histories = [text.LastRounds(), text.Summary()]
    formats = [
        kind(instructions)
        for kind in (text.OneAction, text.ActionProbabilities)
        for instructions in (text.ANSWER_ONLY, text.STEP_BY_STEP)
    ]
    env = KArmedTestbed(k=3)
    time_step = env.reset()
    prompts = set()
    for story, history, answer_format in itertools.product(stories, histories, formats):
        policy = make_policy(env, scenario=story, history=history, answer_format=answer_format)
        prompts.update(policy.prompts(time_step))
    assert len(prompts) == 32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"introduction": "Choose {arm}."}, "introduction is 'Choose {arm}.'"),
        ({"introduction": "Choose {"}, "introduction"),
        ({"names": ("left", "Left")}, "different names"),
        ({"names": ()}, "different names"),
    ],
)
def test_bad_scenarios_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(text.BUTTONS, **change)


def test_a_name_that_is_part_of_another_is_told_apart():
    names = text.ADVERTS.names_of(12)
    assert parse_answer("<Answer>advert 1</Answer>", names) == 0
    assert parse_answer("Show advert 11 now", names) == 10


def test_prompts_tell_what_was_played():
    env = BernoulliPyEnvironment([0.0, 1.0, 1.0], batch_size=2, seed=0)
    policy = make_policy(env, lambda prompts: ["green"] * len(prompts))
    StepDriver(env, policy, [policy], num_steps=3).run()
    for prompt in policy.prompts(env.current_time_step()):
        assert "You have played 3 rounds:" in prompt
        assert "blue: pressed 0 times\ngreen: pressed 3 times, average reward 1\n" in prompt


def test_prompts_may_tell_the_last_rounds_with_contexts():
    env = OutcomeStream(np.arange(8.0).reshape(4, 2), np.arange(8.0).reshape(4, 2))
    history = text.LastRounds(2)
    policy = make_policy(
        env, scenario=text.ADVERTS, history=history, complete=lambda _: ["advert 2"]
    )
    StepDriver(env, policy, [policy], num_steps=3).run()
    (prompt,) = policy.prompts(env.current_time_step())
    assert "x1=2, x2=3: shown advert 2, reward 3\nx1=4, x2=5: shown advert 2, reward 5" in prompt
    assert "Now: x1=6, x2=7." in prompt
    assert "reward 1" not in prompt


def test_a_history_has_at_least_one_round():
    with pytest.raises(ValueError, match="count is 0"):
        text.LastRounds(0)


def test_prompts_offer_what_is_available():
    available = np.array([[True, False, True]])
    env = OutcomeStream(np.ones((1, 1)), np.ones((1, 3)), available=available)
    policy = make_policy(env, lambda prompts: ["red"])
    (prompt,) = policy.prompts(env.reset())
    assert "Only these are available now: blue, red." in prompt
    assert policy.action(env.reset()) == [2]
    with pytest.raises(text.UnreadableAnswerError, match="row 0"):
        make_policy(env, lambda prompts: ["green"]).action(env.reset())


def test_only_rows_with_unreadable_answers_are_asked_again():
    calls = []

    def complete(prompts):
        calls.append(len(prompts))
        return ["red", *["I cannot say"] * (len(prompts) - 1)]

    env = KArmedTestbed(k=3, batch_size=3)
    assert make_policy(env, complete).action(env.reset()).tolist() == [2, 2, 2]
    assert calls == [3, 2, 1]


def test_too_few_answers_are_refused():
    env = KArmedTestbed(k=3, batch_size=3)
    with pytest.raises(ValueError, match="2 answers; expected a list of 3"):
        make_policy(env, lambda prompts: ["red", "red"]).action(env.reset())


def test_a_cache_repeats_a_run_without_calls(tmp_path):
    rng = np.random.default_rng(0)

    def guess(prompts):
        return rng.choice(NAMES, len(prompts)).tolist()

    def refuse(prompts):
        raise AssertionError("asked")

    def run(complete):
        env = KArmedTestbed(k=3, batch_size=4, seed=0)
        cache = text.AnswerCache(complete, tmp_path / "answers.sqlite")
        policy = make_policy(env, cache, seed=1)
        rewards = []
        StepDriver(env, policy, [policy, lambda step: rewards.append(step.reward)], 5).run()
        return np.array(rewards)

    first = run(guess)
    assert (run(refuse) == first).all()


def test_a_cache_asks_for_an_answer_once(tmp_path):
    asked = []
    cache = text.AnswerCache(
        lambda prompts: asked.extend(prompts) or list("abc")[: len(prompts)], tmp_path / "answers"
    )
    assert cache(["x", "y", "x"]) == ["a", "b", "a"]
    assert asked == ["x", "y"]
    assert cache.answer(["x", "x"], [1, 2]) == ["a", "b"]


@pytest.mark.parametrize("content", [b'{"key": "a"}\n' * 100, b"SQLite format 3\x00 and nothing"])
def test_a_file_of_something_else_is_refused(tmp_path, content):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"answers\.sqlite holds no answers"):
        text.AnswerCache(first_offered, path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "shop.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE answers (key TEXT)")
    with pytest.raises(ValueError, match="database of something else"):
        text.AnswerCache(first_offered, path)


FOREIGN = [
    "PRAGMA application_id = 77",
    "CREATE TRIGGER eat AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
    "CREATE TABLE users (name TEXT)",
    "DROP TABLE answers; CREATE VIEW answers AS SELECT 'a' AS key, 'b' AS prompt, 'c' AS answer",
]


@pytest.mark.parametrize("script", FOREIGN)
def test_a_database_that_does_more_than_keep_answers_is_refused_and_kept(tmp_path, script):
    path = tmp_path / "answers.sqlite"
    text.AnswerCache(first_offered, path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="database of something else"):
        text.AnswerCache(first_offered, path)
    assert path.read_bytes() == before


def test_an_answer_in_the_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "answers.sqlite"
    cache = text.AnswerCache(lambda prompts: ["red"], path)
    cache(["a prompt"])
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE answers SET answer = x'ff'")
    with pytest.raises(ValueError, match="is not text"):
        cache(["a prompt"])


def test_a_cache_that_is_locked_by_another_program_still_answers_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("bandit_envs.text.calls.PATIENCE", 0.1)
    path = tmp_path / "answers.sqlite"
    text.AnswerCache(lambda prompts: ["red"], path)(["a prompt"])
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("BEGIN IMMEDIATE")  # nobody else may write
        cache = text.AnswerCache(lambda prompts: ["blue"], path)
        assert cache(["a prompt"]) == ["red"]
        with pytest.raises(OSError, match="database is locked"):
            cache(["another prompt"])


def ask_again_and_again(path, number):
    """Asks a cache for answers that other processes ask for, too, and for others."""

    def answer(prompts):
        return [f"{number} {'word ' * 2000}" for _ in prompts]

    cache = text.AnswerCache(answer, path)
    for round_number in range(20):
        cache([f"shared {round_number}", f"own {number} {round_number}"])


@pytest.mark.slow
def test_processes_that_share_a_cache_lose_no_answer(tmp_path):
    path = tmp_path / "answers.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=ask_again_and_again, args=(path, n)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    prompts = [f"own {number} {step}" for number in range(2) for step in range(20)]
    prompts += [f"shared {step}" for step in range(20)]
    cache = text.AnswerCache(lambda prompts: pytest.fail(f"asked {prompts}"), path)
    assert len(cache(prompts)) == len(prompts)


@pytest.mark.parametrize("answers", [None, [None], "red", iter(["red"]), [b"red"]])
def test_what_is_no_text_is_refused_and_not_kept(tmp_path, answers):
    cache = text.AnswerCache(lambda prompts: answers, tmp_path / "answers.sqlite")
    with pytest.raises(TypeError, match="complete returned"):
        cache(["a prompt"])
    good = text.AnswerCache(lambda prompts: ["red"], tmp_path / "answers.sqlite")
    assert good(["a prompt"]) == ["red"]


def test_an_answer_that_cannot_be_read_is_asked_again_by_the_next_call(tmp_path):
    said = ["what?"]
    cache = text.AnswerCache(lambda prompts: said * len(prompts), tmp_path / "answers.sqlite")
    env = KArmedTestbed(k=3, batch_size=2, seed=0)
    policy = make_policy(env, cache, seed=1)
    with pytest.raises(text.UnreadableAnswerError):
        policy.action(env.reset())
    said[:] = [NAMES[1]]
    assert policy.action(env.current_time_step()).tolist() == [1, 1]


def test_a_call_that_fails_leaves_the_policy_as_it_was():
    failures = [ConnectionError("offline")]

    def answer(prompts):
        if failures:
            raise failures.pop()
        return ["blue: 20%, green: 30%, red: 50%"] * 4

    def make(complete):
        env = KArmedTestbed(k=3, batch_size=4, seed=0)
        form = text.ActionProbabilities()
        return env.reset(), make_policy(env, complete, seed=1, answer_format=form)

    step, policy = make(answer)
    with pytest.raises(ConnectionError):
        policy.action(step)
    found = [policy.action(step).tolist() for _ in range(5)]
    step, undisturbed = make(answer)
    assert found == [undisturbed.action(step).tolist() for _ in range(5)]


def make_caches(folder, started, number):
    """Makes one cache after the other, each as soon as all processes are there."""
    for attempt in range(6):
        started.wait(timeout=60)
        path = folder / f"answers {attempt}.sqlite"
        text.AnswerCache(first_offered, path)([f"prompt {number}"])


@pytest.mark.slow
def test_processes_that_make_the_file_at_the_same_time_share_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    started = context.Barrier(2)
    makers = [context.Process(target=make_caches, args=(tmp_path, started, n)) for n in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert [maker.exitcode for maker in makers] == [0] * 2


def test_a_folder_that_is_not_there_is_no_damaged_file(tmp_path):
    with pytest.raises(OSError, match="cannot be read or written: unable to open"):
        text.AnswerCache(first_offered, tmp_path / "nowhere" / "answers.sqlite")


def test_all_rows_that_could_not_be_read_are_asked_again(tmp_path):
    said = ["what?"]
    cache = text.AnswerCache(lambda prompts: said * len(prompts), tmp_path / "answers.sqlite")
    env = KArmedTestbed(k=3, batch_size=3, seed=0)
    policy = make_policy(env, cache, seed=1, retries=0)
    with pytest.raises(text.UnreadableAnswerError):
        policy.action(env.reset())
    said[:] = [NAMES[2]]
    assert policy.action(env.current_time_step()).tolist() == [2, 2, 2]


def test_a_model_that_repeats_itself_is_read_in_time():
    started = time.perf_counter()
    assert parse_answer("<Answer>" * 50_000 + "red</Answer>" + "<answer>" * 9, ["red"]) == 0
    assert time.perf_counter() - started < 5.0


def test_a_cache_keeps_a_batch_of_which_a_text_is_cut_within_a_character(tmp_path):
    cache = text.AnswerCache(lambda prompts: ["cut \ud83d", "whole"], tmp_path / "answers")
    assert cache(["first \ud83d", "second"]) == ["cut ?", "whole"]
    again = text.AnswerCache(lambda prompts: [], tmp_path / "answers")
    assert again(["first \ud83d", "second"]) == ["cut ?", "whole"]


def test_a_cache_refuses_too_few_answers(tmp_path):
    cache = text.AnswerCache(lambda prompts: ["red"], tmp_path / "answers.sqlite")
    with pytest.raises(ValueError, match="1 answers; expected a list of 2"):
        cache(["a prompt", "another"])


def test_probabilities_are_estimated_by_asking_again():
    rng = np.random.default_rng(0)
    env = KArmedTestbed(k=3)
    policy = make_policy(env, lambda prompts: [rng.choice(NAMES, p=[0.2, 0.3, 0.5])])
    found = policy.estimated_probabilities(env.reset(), 400, np.random.default_rng(1))
    assert found[0] == pytest.approx([0.2, 0.3, 0.5], abs=0.1)


def test_a_meter_counts_tokens():
    meter = text.Meter(lambda prompts: ["one two"] * len(prompts))
    meter(["a b c", "d"])
    assert meter.usage == Usage(calls=1, prompts=2, prompt_tokens=4, answer_tokens=4)


def upper_bounds(counts, means):
    bonus = np.sqrt(1.0 / np.maximum(counts, 1))
    return np.where(counts == 0, np.inf, means + bonus)


def follow_upper_bounds(prompts):
    """Reads the summary of each prompt, and answers with the largest upper confidence bound."""
    answers = []
    for prompt in prompts:
        lines = re.findall(r"^(\w+): pressed (\d+) times(?:, average reward (\S+))?$", prompt, re.M)
        counts = np.array([int(count) for _, count, _ in lines])
        means = np.array([float(mean or 0) for _, _, mean in lines])
        answers.append(lines[upper_bounds(counts, means).argmax()][0])
    return answers


class Seen(NamedTuple):
    """Counts and sums of rewards, [B, K]."""

    counts: np.ndarray
    sums: np.ndarray


class UpperBoundPolicy(Policy):
    """UCB with the bonus sqrt(1 / n); of several largest bounds, the first action."""

    def _initial(self):
        shape = self.batch_size, self.num_actions
        return Seen(np.zeros(shape), np.zeros(shape))

    def _select(self, rng, learned, time_step):
        means = learned.sums / np.maximum(learned.counts, 1)
        return upper_bounds(learned.counts, means).argmax(axis=1)

    def _learn(self, learned, trajectory):
        rows = np.arange(self.batch_size)
        learned.counts[rows, trajectory.action] += 1
        learned.sums[rows, trajectory.action] += trajectory.reward
        return learned


def test_an_agent_that_follows_upper_bounds_gets_their_regret_exactly():
    regrets = []
    for kind in (UpperBoundPolicy, text.TextPolicy):
        env = BernoulliPyEnvironment([0.4, 0.4, 0.6, 0.4, 0.4], batch_size=20, seed=3)
        arguments = kind.arguments_for(env)
        if kind is text.TextPolicy:
            arguments |= {"complete": follow_upper_bounds, "history": text.Summary(digits=17)}
        policy = kind(**arguments)
        regret = RegretMetric(env)
        StepDriver(env, policy, [policy, regret], 60).run()
        regrets.append(regret.totals)
    assert 0.0 < regrets[0].mean() < 60 * 0.16  # less than by chance
    assert (regrets[0] == regrets[1]).all()


def test_gymnasium_sees_text():
    check = pytest.importorskip("gymnasium.utils.env_checker")
    adapter = importlib.import_module("bandit_envs.adapters.text_gymnasium")
    env = adapter.TextEnv(KArmedTestbed(k=3, horizon=3))
    prompt, _ = env.reset(seed=0)
    with pytest.raises(text.UnreadableAnswerError):
        env.step("no idea")
    rewards = []
    for _ in range(3):
        prompt, reward, terminated, truncated, info = env.step("<Answer>green</Answer>")
        rewards.append(reward)
        assert info == {"action": 1}
        assert prompt in env.observation_space
    assert (terminated, truncated) == (False, True)
    assert "green: pressed 3 times" in prompt
    assert "pressed 0 times" in env.reset()[0].splitlines()[2]
    env.action_space.sample = lambda *_: "blue"
    check.check_env(env, skip_render_check=True)
