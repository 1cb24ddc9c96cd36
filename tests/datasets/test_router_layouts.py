"""Small copies of published tables, in the layouts of RouterBench and RouterArena."""

import json
import pickle

import numpy as np
import pytest

from bandit_envs import OutcomeTableBandit, datasets

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")


def lengths(texts):
    return np.array([[len(text)] for text in texts])


def routerbench():
    """The columns of RouterBench, with three prompts and two models."""
    return pandas.DataFrame(
        {
            "sample_id": ["grade-school-math.val.7", "mmlu-law.val.1", "mtbench.3"],
            "prompt": ["['say yes', 'or no']", "['say no']", "say maybe"],
            "eval_name": ["grade-school-math", "mmlu-law", "mtbench"],
            "gpt-x": [1.0, 0.0, 0.7],
            "lab/tiny-chat": [0.25, 1.0, 0.1],
            "gpt-x|model_response": ["['yes']", "['yes']", "['well, 1, 2']"],
            "lab/tiny-chat|model_response": ["['perhaps']", "['no']", "['?']"],
            "gpt-x|total_cost": [0.01, 0.02, 0.03],
            "lab/tiny-chat|total_cost": [1e-5, 2e-5, 3e-5],
            "oracle_model_to_route_to": ["gpt-x", "lab/tiny-chat", "gpt-x"],
        }
    )


@pytest.mark.parametrize("name", ["bench.csv", "bench.parquet"])
def test_routerbench_has_a_score_and_a_cost_of_each_model(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        routerbench().to_parquet(tmp_path / name)
    else:
        routerbench().to_csv(tmp_path / name, index=False)
    table = datasets.read_outcomes(tmp_path / name, text_features=lengths, layout="routerbench")
    assert table.actions == ["gpt-x", "lab/tiny-chat"]
    assert table.rewards.tolist() == [[1.0, 0.25], [0.0, 1.0], [0.7, 0.1]]
    assert table.costs.tolist() == [[0.01, 1e-5], [0.02, 2e-5], [0.03, 3e-5]]
    assert table.contexts.tolist() == [[len("say yes\nor no")], [len("say no")], [len("say maybe")]]


def test_what_is_not_routerbench_is_refused(tmp_path):
    routerbench().drop(columns="prompt").to_csv(tmp_path / "bench.csv", index=False)
    with pytest.raises(ValueError, match=r"bench.csv .*no column 'prompt'"):
        datasets.read_outcomes(tmp_path / "bench.csv", layout="routerbench")
    routerbench()[["prompt", "gpt-x"]].to_csv(tmp_path / "bench.csv", index=False)
    with pytest.raises(ValueError, match="no column ends in"):
        datasets.read_outcomes(tmp_path / "bench.csv", layout="routerbench")
    with pytest.raises(ValueError, match="pickle"):
        datasets.read_outcomes(tmp_path / "bench.pkl", layout="routerbench")


class Bomb:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a file ran code",)


@pytest.mark.parametrize("name", ["b.pkl", "b.PKL", "b.pkl.gz", "b.csv", "b.parquet", "b.pq", "b"])
def test_a_pickle_of_any_name_is_not_opened_as_one(name, tmp_path):
    (tmp_path / name).write_bytes(pickle.dumps(pandas.DataFrame({"a": [Bomb()]})))
    with pytest.raises((ValueError, ModuleNotFoundError)):
        datasets.read_outcomes(tmp_path / name, layout="routerbench")


@pytest.mark.parametrize("prompt", ["[__import__('pytest').fail('ran')]", "-" * 99_999, "[" * 999])
def test_a_prompt_that_is_code_is_a_text(prompt, tmp_path):
    frame = pandas.DataFrame({"prompt": [prompt], "b": [1.0], "b|total_cost": [0.3]})
    frame.to_csv(tmp_path / "bench.csv", index=False)
    table = datasets.read_outcomes(
        tmp_path / "bench.csv", text_features=lengths, layout="routerbench"
    )
    assert table.contexts.tolist() == [[len(prompt)]]


def answer(index, model, score, cost, **changes):
    """A line of RouterArena's cached results."""
    grade = {
        "extracted_answer": "\\boxed{A}",
        "ground_truth": "A",
        "score": score,
        "metric": "mcq_accuracy",
        "inference_cost": cost,
    }
    line = {
        "global_index": index,
        "question": f"Please answer {index}.\nOptions:\nA. yes\nB. no",
        "llm_selected": model,
        "generated_answer": "\\boxed{A}",
        "token_usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
        "success": True,
        "provider": "somebody",
        "error": None,
        "evaluation_result": grade,
        "run_number": 1,
    }
    return {**line, **changes}


def write_arena(folder, **files):
    """Writes a folder of cached results: a file for each model."""
    folder.mkdir(exist_ok=True)
    for name, answers in files.items():
        text = "".join(json.dumps(each) + "\n" for each in answers)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_routerarena_has_a_file_for_each_model(tmp_path):
    folder = write_arena(
        tmp_path / "cached_results",
        big=[answer("AIME_112", "lab/big", 1.0, 0.002), answer("ArcMMLU_6", "lab/big", 1.0, 0.001)],
        tiny=[answer("ArcMMLU_6", "tiny", 0.0, 1e-5), answer("AIME_112", "tiny", 0.5, 3e-5)],
    )
    table = datasets.read_outcomes(folder, text_features=lengths, layout="routerarena")
    assert table.actions == ["lab/big", "tiny"]
    assert table.rewards.tolist() == [[1.0, 0.5], [1.0, 0.0]]
    assert table.costs.tolist() == [[0.002, 3e-5], [0.001, 1e-5]]
    assert table.available is None
    assert len(table.contexts) == 2


def test_models_are_not_available_where_their_answers_have_no_evaluation(tmp_path):
    failed = answer("AIME_112", "tiny", 0.0, 0.0, success=False, evaluation_result=None)
    folder = write_arena(
        tmp_path / "cached_results",
        big=[answer("AIME_112", "big", 1.0, 0.002), answer("ArcMMLU_6", "big", 0.5, 0.001)],
        tiny=[failed, answer("ArcMMLU_6", "tiny", 0.0, 1e-5)],
    )
    with pytest.warns(UserWarning, match="1 of 4 answers have no evaluation"):
        table = datasets.read_outcomes(folder, layout="routerarena")
    assert table.available.tolist() == [[True, False], [True, True]]
    env = OutcomeTableBandit(table.contexts, table.rewards, available=table.available, batch_size=2)
    assert env.reset().observation["mask"].shape == (2, 2)


def test_several_answers_to_a_question_count_with_their_means(tmp_path):
    answers = [answer("AIME_1", "m", score, cost) for score, cost in ((1.0, 0.3), (0.5, 0.1))]
    answers[1]["question"] = "Another wording"
    table = datasets.read_outcomes(
        write_arena(tmp_path, m=answers), text_features=lengths, layout="routerarena"
    )
    assert table.rewards.tolist() == [[0.75]]
    assert table.costs.tolist() == [[0.2]]
    assert table.contexts.tolist() == [[len(answers[0]["question"])]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1, 2]", r"m.jsonl cannot be read: line 2: it is \[1, 2\]; expected"),
        ("{", "m.jsonl cannot be read: line 2 is not JSON; expected an answer as JSON"),
        ("[" * 99_999, "m.jsonl cannot be read: line 2"),
        (json.dumps({"question": "?"}), "line 2: there is no 'global_index'"),
        (json.dumps(answer("a", 3, 1.0, 0.1)), "llm_selected is 3; expected a text"),
        (json.dumps(answer("a", "m", "good", 0.1)), "line 2 of m.jsonl, column score is 'good'"),
        (json.dumps(answer("a", "m", 1.0, -0.1)), "column inference_cost is '-0.1'"),
        (json.dumps(answer("a", "m", 1.0, 0.1, evaluation_result=3)), "evaluation_result is 3"),
        (json.dumps(answer("a", "m", 1, 1, evaluation_result={"score": 1})), "inference_cost"),
    ],
    ids=range(9),
)
def test_a_line_that_is_no_answer_is_named(tmp_path, line, message):
    folder = write_arena(tmp_path / "cached", m=[answer("AIME_1", "m", 1.0, 0.1)])
    with (folder / "m.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=message):
        datasets.read_outcomes(folder, layout="routerarena")


def test_a_file_of_other_bytes_is_named(tmp_path):
    (tmp_path / "m.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"m.jsonl cannot be read: .*codec"):
        datasets.read_outcomes(tmp_path, layout="routerarena")


def test_only_files_of_answers_are_read(tmp_path):
    folder = write_arena(tmp_path / "cached", m=[answer("AIME_1", "m", 1.0, 0.1)])
    (folder / "README.md").write_text("about")
    with pytest.raises(ValueError, match=r"README.md"):
        datasets.read_outcomes(folder, layout="routerarena")
    assert len(datasets.read_outcomes(folder, only="*.jsonl", layout="routerarena").rewards) == 1
    nothing = answer("AIME_1", "m", 0.0, 0.0, evaluation_result=None)
    with pytest.raises(ValueError, match="no answer with an evaluation_result"):
        datasets.read_outcomes(write_arena(tmp_path / "empty", m=[nothing]), layout="routerarena")


def test_a_layout_names_all_columns_and_is_known(tmp_path):
    with pytest.raises(ValueError, match="layout is 'bench'; expected one of routerbench, routera"):
        datasets.read_outcomes(tmp_path, layout="bench")
    with pytest.raises(ValueError, match="layout 'routerarena' names the columns; expected no oth"):
        datasets.read_outcomes(tmp_path, "question", layout="routerarena")
    with pytest.raises(TypeError, match="table is of type DataFrame; expected the path of a fold"):
        datasets.read_outcomes(routerbench(), layout="routerarena")
    table = datasets.read_outcomes(routerbench(), layout="routerbench", text_features=lengths)
    assert len(table.actions) == 2
