import json

import pytest

from difficulty.errors import InputError, SettingsError
from difficulty.settings.run import SelectionSpec
from difficulty.trainers.config import NAMES
from difficulty.trainers.like import check_like, compare, read_trainer_config
from tests.conftest import make_spec

SAMPLING = {"model": "org/base-1b", "max_tokens": 512}

TRL_YAML = """
model_name_or_path: org/base-1b
dataset_name: org/sums
temperature: 0.8
top_k: 50
num_generations: 16
max_completion_length: 256
chat_template_kwargs: '{"enable_thinking": false}'
"""

VERL_YAML = """
data:
  max_prompt_length: 1024
  max_response_length: 256
  apply_chat_template_kwargs: {enable_thinking: false}
actor_rollout_ref:
  model: {path: org/base-1b}
  rollout:
    temperature: 0.8
    top_k: 50
    n: 16
    response_length: ${oc.select:data.max_response_length,512}
algorithm:
  adv_estimator: grpo
"""

VERL_SCRIPT = """#!/bin/bash
set -x
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_files="$HOME/train.parquet" \\
    data.max_prompt_length=1024 data.max_response_length=256 \\
    +data.apply_chat_template_kwargs.enable_thinking=False \\
    actor_rollout_ref.model.path=org/base-1b \\
    'actor_rollout_ref.rollout.temperature=0.8' \\
    actor_rollout_ref.rollout.top_k=50  # as in the paper
    actor_rollout_ref.rollout.n=16 $@
"""

SWIFT_YAML = """
rlhf_type: grpo
model: org/base-1b
dataset: [org/sums]
temperature: 0.8
top_k: 50
num_generations: 16
max_completion_length: 256
enable_thinking: false
system: Think first.
"""


def to_json(text):
    import yaml

    return json.dumps(yaml.safe_load(text), indent="\t")


@pytest.fixture
def write(tmp_path):
    def write(text, name="grpo.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def read(write):
    return lambda text, **more: read_trainer_config(write(text), **more)


def setting(config, name):
    found = config.settings[name]
    return found.value, found.origin


@pytest.mark.parametrize(
    ("trainer", "text"),
    [
        ("trl", TRL_YAML),
        ("trl", to_json(TRL_YAML)),
        ("verl", VERL_YAML),
        ("verl", to_json(VERL_YAML)),
        ("verl", VERL_SCRIPT),
        ("ms-swift", SWIFT_YAML),
        ("ms-swift", to_json(SWIFT_YAML)),
    ],
)
def test_each_trainer_is_told_by_its_keys_and_read_in_each_format(read, trainer, text):
    config = read(text)
    assert config.trainer == trainer
    assert tuple(config.settings) == NAMES
    assert setting(config, "model") == ("org/base-1b", "stated")
    assert setting(config, "temperature") == (0.8, "stated")
    assert setting(config, "top_k") == (50, "stated")
    assert setting(config, "group_size") == (16, "stated")
    assert setting(config, "max_tokens") == (256, "stated")
    assert setting(config, "template_arguments") == ({"enable_thinking": False}, "stated")


@pytest.mark.parametrize(
    ("text", "temperature", "group", "prompt"),
    [
        ("dataset_name: x", 1.0, 8, (None, "unknown")),
        ("actor_rollout_ref: {}", 1.0, 1, (512, "default")),
        ("rlhf_type: grpo", 0.9, 8, (None, "unknown")),
    ],
)
def test_what_the_file_leaves_out_is_the_trainers_own_default(
    read, text, temperature, group, prompt
):
    config = read(text)
    assert setting(config, "temperature") == (temperature, "default")
    assert setting(config, "group_size") == (group, "default")
    assert setting(config, "max_tokens") == (512, "default")
    assert setting(config, "max_prompt_tokens") == prompt
    assert setting(config, "top_k") == (-1, "default")
    assert setting(config, "system_prompt") == (None, "unknown")


def test_a_flat_file_without_any_model_is_trls(read):
    assert read("num_generations: 4\ntemperature: 1e-1").trainer == "trl"


def test_the_trainer_may_be_named(read):
    assert read("temperature: 0.9", trainer="ms-swift").trainer == "ms-swift"


def test_hydras_saved_list_of_overrides_is_read(read):
    config = read("- data.max_prompt_length=512\n- actor_rollout_ref.rollout.n=4\n")
    assert config.trainer == "verl"
    assert setting(config, "group_size") == (4, "stated")


def test_override_mappings_need_no_space_after_the_colon(read):
    config = read("++data.apply_chat_template_kwargs='{enable_thinking:false}'")
    assert setting(config, "template_arguments") == ({"enable_thinking": False}, "stated")


def test_the_last_override_of_a_key_wins(read):
    config = read("actor_rollout_ref.rollout.n=4\nactor_rollout_ref.rollout.n=8")
    assert setting(config, "group_size") == (8, "stated")


def test_trls_generation_kwargs_win_over_its_fields(read):
    config = read("temperature: 1.0\nnum_generations: 8\ngeneration_kwargs: {temperature: 0.6}")
    assert setting(config, "temperature") == (0.6, "stated")


def test_verl_samples_with_repetition_penalty_1_whatever_its_config_says(read):
    config = read("actor_rollout_ref: {rollout: {repetition_penalty: 1.2}}")
    assert setting(config, "repetition_penalty") == (1.0, "default")


def test_ms_swift_reads_its_system_prompt_from_a_text_file_beside_the_config(write):
    write("Think\nfirst.", "system.txt")
    config = read_trainer_config(write("rlhf_type: grpo\nsystem: system.txt"))
    assert setting(config, "system_prompt") == ("Think\nfirst.", "stated")


def test_a_saved_args_json_with_nulls_leaves_those_unknown(write):
    values = {"rlhf_type": "grpo", "enable_thinking": None, "system": None, "max_length": None}
    config = read_trainer_config(write(json.dumps(values), "args.json"))
    for name in ("template_arguments", "system_prompt", "max_prompt_tokens"):
        assert setting(config, name) == (None, "unknown")


@pytest.mark.parametrize("stated", ["-1", "0", "null"])
def test_all_ways_to_ask_for_no_top_k_are_one(write, stated):
    path = write(f"dataset_name: x\ntop_k: {stated}\ntop_p: null\nmin_p: null")
    for here in (-1, 0):
        assert check_like(path, make_spec(sampling={**SAMPLING, "top_k": here})) == []


@pytest.mark.parametrize("text", [TRL_YAML, VERL_YAML, VERL_SCRIPT])
def test_a_profile_with_the_trainers_values_passes(write, text):
    spec = make_spec(
        sampling={
            **SAMPLING, "temperature": 0.8, "top_k": 50, "max_tokens": 256,
            "template_args": ("enable_thinking=false",),
        },
        selection=SelectionSpec(group_size=16),
    )  # fmt: skip
    warnings = check_like(write(text), spec)
    assert [line.split(" differs")[0] for line in warnings] in ([], ["prompt length limit"])


def test_a_refusal_names_every_difference_in_one_line(write):
    path = write(SWIFT_YAML + "top_p: 0.95\nmin_p: 0.1\nrepetition_penalty: 1.1\n")
    spec = make_spec(sampling={**SAMPLING, "model": "org/other"})
    with pytest.raises(SettingsError) as caught:
        check_like(path, spec)
    assert str(caught.value) == (
        "profiled differently from how ms-swift trains: "
        "temperature 1.0 here, 0.8 in grpo.yaml; "
        "top_p 1.0 here, 0.95 in grpo.yaml; "
        "top_k no limit here, 50 in grpo.yaml; "
        "min_p 0.0 here, 0.1 in grpo.yaml; "
        "repetition penalty 1.0 here, 1.1 in grpo.yaml; "
        "template arguments none here, {'enable_thinking': False} in grpo.yaml; "
        'system prompt none here, "Think first." in grpo.yaml; '
        "model org/other here, org/base-1b in grpo.yaml. "
        "Give the trainer's values or drop --like"
    )


def test_a_default_that_differs_only_warns(write):
    path = write("rlhf_type: grpo\nmodel: org/base-1b")
    assert check_like(path, make_spec(sampling=SAMPLING)) == [
        "temperature may differ in training: 1.0 here, 0.9 by ms-swift's default. "
        "State it in grpo.yaml"
    ]


def test_the_same_value_stated_refuses(write):
    path = write("rlhf_type: grpo\nmodel: org/base-1b\ntemperature: 0.9")
    with pytest.raises(SettingsError, match="temperature 1.0 here, 0.9 in grpo.yaml. Give"):
        check_like(path, make_spec(sampling=SAMPLING))


def test_lengths_and_group_size_warn_even_where_stated(write):
    path = write("max_prompt_length: 128\nmax_completion_length: 256\nnum_generations: 4")
    warnings = check_like(path, make_spec(sampling=SAMPLING))
    assert [line.split(". ")[0] for line in warnings] == [
        "answer length limit differs in training: 512 here, 256 in grpo.yaml",
        "prompt length limit differs in training: no limit here, 128 in grpo.yaml",
        "group size differs in training: 8 here, 4 in grpo.yaml",
    ]


def test_a_setting_the_trainer_lacks_is_not_asked_for(read):
    config = read("actor_rollout_ref: {model: {path: org/base-1b}}")
    (found,) = [
        each
        for each in compare(config, make_spec(sampling={**SAMPLING, "min_p": 0.1}))
        if each.setting == "min_p"
    ]
    assert (found.profiled, found.trained, found.severity) == (0.1, 0.0, "warn")


def test_a_variable_is_named_not_guessed(write):
    path = write("actor_rollout_ref.model.path=org/base-1b actor_rollout_ref.rollout.n=8 "
                 "actor_rollout_ref.rollout.temperature=${temperature}")  # fmt: skip
    assert check_like(path, make_spec(sampling=SAMPLING))[0] == (
        "temperature is not compared: ${temperature} in grpo.yaml is a variable. "
        "Check that it is 1.0"
    )


def test_a_local_copy_of_the_hub_model_only_warns(write):
    spec = make_spec(sampling={**SAMPLING, "model": "/models/base-1b/"})
    assert check_like(write("model_name_or_path: org/base-1b"), spec) == [
        "model differs in training: /models/base-1b/ here, org/base-1b in grpo.yaml. "
        "Check that they are the same weights"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "temperature: !!python/object/apply:os.system ['touch gone']",
        "!!python/object/new:pathlib.Path [x]",
        "temperature: !!python/name:os.system",
    ],
)
def test_yaml_that_would_run_code_is_refused(read, text):
    with pytest.raises(InputError, match="could not determine a constructor for the tag") as caught:
        read(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "grpo.yaml is empty"),
        ("\n  # only a comment\n", "is not a mapping of settings"),
        ("- a\n- b\n", "is not a mapping of settings"),
        ("hello", "is not a mapping of settings"),
        ("a: [1", "cannot be read in line"),
        ("a: 1\n---\nb: 2", "cannot be read"),
        ("a: 2024-13-45", "cannot be read"),
        ("[" * 5000, "nested too deeply"),
        ("a: " + "[" * 5000, "nested too deeply"),
        ("learning_rate: 1", "unknown trainer: grpo.yaml has the keys of none"),
        ("model: x\ndataset_name: y", "has the keys of trl and of ms-swift"),
        ("num_generations: 4\ntemperature: hot", "temperature in grpo.yaml is no number: 'hot'"),
        ("num_generations: yes", "group_size in grpo.yaml is no number: True"),
        ("num_generations: .nan", "group_size in grpo.yaml is no number"),
        ("num_generations: 0x" + "f" * 9000, "group_size in grpo.yaml is no number"),
        ("model_name_or_path: 7", "model in grpo.yaml is no text: 7"),
        ("chat_template_kwargs: [1]", "template_arguments in grpo.yaml is no mapping"),
        ("dataset_name: " + "x" * 2**20, "file is too large for settings"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(read, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


BOMB = "\n".join(
    ["num_generations: 4", "a0: &a0 [x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
)


def test_aliases_that_multiply_cost_nothing(read, write):
    with pytest.raises(InputError, match="temperature in grpo.yaml is no number") as caught:
        read(BOMB + "\ntemperature: *a39")
    assert len(str(caught.value)) < 200
    path = write(BOMB + "\nchat_template_kwargs: {k: *a39}")
    with pytest.raises(SettingsError, match="template arguments none here") as caught:
        check_like(path, make_spec(sampling=SAMPLING))
    assert len(str(caught.value)) < 300


def test_a_missing_or_binary_file_and_an_unknown_trainer_are_refused(tmp_path, read):
    with pytest.raises(InputError, match="No such file"):
        read_trainer_config(tmp_path / "absent.yaml")
    with pytest.raises(InputError, match="Is a directory"):
        read_trainer_config(tmp_path)
    (tmp_path / "training_args.bin").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(InputError, match="file is not text"):
        read_trainer_config(tmp_path / "training_args.bin")
    with pytest.raises(InputError, match="unknown trainer: 'ppo'. Choose one of trl, verl"):
        read("num_generations: 4", trainer="ppo")
