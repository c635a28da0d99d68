import dataclasses

import pytest

from difficulty.cli.options import SECTIONS
from difficulty.errors import SettingsError
from difficulty.sampling.draw import requests_in_flight
from difficulty.selection.orders import ORDERS
from difficulty.settings.run import (
    BucketSpec,
    FewShotTurn,
    SelectionSpec,
    ServerSpec,
    differences,
    settings_through,
)
from difficulty.settings.selection import ORDERINGS, parse_band, parse_quota
from difficulty.settings.setting import check_section, declared
from difficulty.settings.toml import from_toml, to_toml
from tests.conftest import make_spec

SAID_BY_ARGUMENTS = {"dataset", "sha256", "model", "grader"}


@pytest.mark.parametrize("kind", SECTIONS.values(), ids=list(SECTIONS))
def test_every_setting_is_declared_with_its_help(kind):
    names = {field.name for field in dataclasses.fields(kind)} - SAID_BY_ARGUMENTS
    assert set(declared(kind)) == names
    assert all(one.setting.help for one in declared(kind).values())


@pytest.mark.parametrize("kind", SECTIONS.values(), ids=list(SECTIONS))
def test_a_number_out_of_its_range_and_a_word_that_is_no_choice_are_refused(kind):
    needed = dict.fromkeys(SAID_BY_ARGUMENTS & set(kind.__dataclass_fields__), "x")
    check_section(kind(**needed))
    for one in declared(kind).values():
        setting = one.setting
        outside = ["nonsense"] if one.choices else []
        outside += [setting.least - 1] if setting.least is not None else []
        outside += [setting.most + 1] if setting.most is not None else []
        outside += [end for end in (setting.above, setting.below) if end is not None]
        for value in outside:
            with pytest.raises(SettingsError, match=f"{one.label}.*: "):
                check_section(kind(**needed, **{one.name: value}))


def test_a_spec_survives_run_toml():
    turns = (
        FewShotTurn(role="user", content='say "hi"\n'),
        FewShotTurn(role="assistant", content="hi"),
    )
    spec = make_spec(
        source={"columns": ("answer=KEY",), "limit": 3},
        sampling={"few_shot": turns, "stop": ("\n", "###"), "temperature": 0.7},
        selection=SelectionSpec(keep="L1,L3-L4", quotas=("a=3",)),
        server=ServerSpec(endpoints=("http://127.0.0.1:1/v1",)),
    )
    assert from_toml(to_toml(spec), name="run.toml") == spec


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"k": 0}, "k is too small: 0"),
        ({"temperature": 0.0}, "all answers would be identical"),
        ({"temperature": -1.0}, "temperature is out of range"),
        ({"top_p": 0.0}, "top_p is out of range"),
        ({"max_tokens": 0}, "max_tokens is too small"),
        ({"template": "nope"}, "unknown template"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_starts(sampling, message):
    with pytest.raises(SettingsError, match=message):
        make_spec(sampling=sampling)


@pytest.mark.parametrize("url", ["http://me:hunter2@host:1", "http://host:1/v1?key=hunter2"])
def test_an_endpoint_that_carries_a_secret_is_refused_before_it_can_be_stored(url):
    with pytest.raises(SettingsError, match="endpoint carries a user name") as error:
        make_spec(server=ServerSpec(endpoints=(url,)))
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"order": "random"}, "unknown order: 'random'. Choose one of easy-to-hard"),
        ({"max_questions": 0}, "max-questions is too small"),
        ({"quotas": ("a",)}, "quota cannot be read"),
        ({"group_size": 1}, "group size is too small: 1"),
        ({"keep": "L7"}, "keep rule cannot be read"),
    ],
)
def test_a_selection_that_cannot_work_never_reaches_run_toml(selection, message):
    with pytest.raises(SettingsError, match=message):
        make_spec(selection=SelectionSpec(**selection))


def test_every_order_that_is_allowed_has_its_sort_key():
    assert set(ORDERS) == set(ORDERINGS)


@pytest.mark.parametrize("argument", ["--hf-token=abc", "--api-key=abc", "--api-key"])
def test_a_vllm_argument_that_carries_a_secret_is_refused(argument):
    with pytest.raises(SettingsError, match="vllm-arg carries a secret") as error:
        make_spec(server=ServerSpec(vllm_args=(argument,)))
    assert "abc" not in str(error.value)


@pytest.mark.parametrize("argument", ["--host=0.0.0.0", "--port", "--model=x"])
def test_a_vllm_argument_that_is_ours_to_set_is_refused(argument):
    with pytest.raises(SettingsError, match="is set by this tool"):
        make_spec(server=ServerSpec(vllm_args=(argument,)))


@pytest.mark.parametrize("name", ["servers", "tensor_parallel_size", "max_model_len"])
def test_servers_of_no_size_are_refused_before_they_are_kept(name):
    flag = f"--{name.replace('_', '-')}"
    with pytest.raises(SettingsError, match=f"{flag} is too small: 0. Use 1 or more"):
        make_spec(server=ServerSpec(**{name: 0}))


@pytest.mark.parametrize("concurrency", [0, -4])
def test_a_concurrency_that_sends_nothing_is_refused(concurrency):
    with pytest.raises(SettingsError, match="concurrency is too small"):
        make_spec(server=ServerSpec(concurrency=concurrency))


@pytest.mark.parametrize(("k", "requests"), [(2, 64), (5, 64), (10, 32), (32, 10), (1000, 2)])
def test_the_more_answers_a_request_has_the_fewer_are_in_flight(k, requests):
    spec = make_spec(sampling={"k": k}, server=ServerSpec(endpoints=("http://host:80",)))
    assert requests_in_flight(spec) == requests
    few = make_spec(sampling={"k": k}, server=ServerSpec(concurrency=7))
    assert requests_in_flight(few) == 7


def test_vllm_arguments_that_only_sound_like_a_secret_are_fine():
    spec = make_spec(server=ServerSpec(vllm_args=("--tokenizer-mode=auto", "--max-num-seqs=8")))
    assert len(spec.server.vllm_args) == 2


@pytest.mark.parametrize("url", ["host:8000", "ftp://host", "http://", ""])
def test_an_endpoint_that_is_no_address_is_refused(url):
    with pytest.raises(SettingsError, match="endpoint is no http address"):
        make_spec(server=ServerSpec(endpoints=(url,)))


def test_temperature_zero_is_fine_for_a_single_answer():
    assert (
        make_spec(
            sampling={"k": 1, "temperature": 0.0}, selection=SelectionSpec(keep="L1")
        ).sampling.k
        == 1
    )


def test_a_keep_rule_that_no_level_can_meet_is_refused():
    with pytest.raises(SettingsError, match=r"L3 can keep nothing: k = 4 reaches only L1-L2,L4-L6"):
        make_spec(sampling={"k": 4}, selection=SelectionSpec(keep="L3"))


def test_a_lower_minimum_makes_more_levels_reachable():
    spec = make_spec(
        sampling={"k": 4}, selection=SelectionSpec(keep="L3"), bucket=BucketSpec(min_graded=3)
    )
    assert spec.bucket.min_graded == 3  # 2 of 3 is above 0.5 and at most 0.7


@pytest.mark.parametrize("text", ["0.8-0.2", "a-b", "0.5", "0-2", ""])
def test_a_band_that_is_none_is_refused(text):
    with pytest.raises(SettingsError, match="pass-rate band cannot be read"):
        parse_band(text)


@pytest.mark.parametrize("text", ["medqa", "=3", "a=-1", "a=x"])
def test_a_quota_that_is_none_is_refused(text):
    with pytest.raises(SettingsError, match="quota cannot be read"):
        parse_quota(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not valid TOML"),
        ("[source]\n", "misses a section"),
        ("[surprise]\n", "unknown section"),
        (
            '[source]\ndataset="a"\n[sampling]\nmodel="m"\n[grading]\ngrader="1"\n',
            "misses a setting: sha256",
        ),
        (
            '[source]\ndataset=1\nsha256="a"\n[sampling]\nmodel="m"\n[grading]\ngrader="1"\n',
            "another type",
        ),
    ],
)
def test_a_broken_run_toml_is_one_line_that_names_the_fault(text, message):
    with pytest.raises(SettingsError, match=message) as error:
        from_toml(text, name="run.toml")
    assert "\n" not in str(error.value)


def test_a_level_cut_leaves_the_settings_of_the_samples_alone():
    spec = make_spec()
    changed = dataclasses.replace(spec, bucket=BucketSpec(min_graded=3))
    through = settings_through
    assert through(spec, "sampling") == through(changed, "sampling")
    assert differences(through(spec, "bucket"), through(changed, "bucket")) == ["bucket.min_graded"]
