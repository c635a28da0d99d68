"""The runner of the trainers' own code (bench/trainers); the trainers themselves need `make`."""

import dataclasses
import json
import subprocess
import sys

import pytest

from bench.trainers import __main__ as runner
from bench.trainers import environments, material, proof
from difficulty.export import EXPORTERS
from tests.conftest import ROOT


def test_each_trainer_that_is_said_to_have_run_has_an_environment_and_a_file():
    tried = {name for name, trainer in EXPORTERS.items() if trainer.loader_ran}
    assert {environment.name for environment in environments.ENVIRONMENTS} == tried
    for environment in environments.ENVIRONMENTS:
        file = ROOT / f"{environment.module.replace('.', '/')}.py"
        assert "def try_it(material: Material) -> str:" in file.read_text()
        assert all("==" in package for package in environment.alone)


def test_the_version_tried_is_the_version_that_an_export_names():
    pins = {e.name: " ".join((*e.packages, *e.alone)) for e in environments.ENVIRONMENTS}
    for name, pinned in pins.items():
        version = EXPORTERS[name].release.split()[-1]
        assert f"{name}=={version}" in pinned


@pytest.mark.parametrize(
    ("output", "code", "found"),
    [
        ("noise\noutcome: 3 rows (x 1)\n", 0, (True, "3 rows (x 1)")),
        ("outcome: 3 rows\nboom\n", 1, (False, "exit code 1: boom")),
        ("all is well\n", 0, (False, "exit code 0: all is well")),
        ("", -9, (False, "exit code -9: no output")),
    ],
)
def test_only_an_outcome_and_a_good_exit_count_as_passed(output, code, found):
    assert runner.read_outcome(output, code) == found


def test_a_trainer_that_fails_does_not_stop_the_next_and_fails_the_whole(
    monkeypatch, capsys, tmp_path
):
    def make(environment):
        if environment.name == "trl":
            raise subprocess.CalledProcessError(1, "pip")

    def run(command, *, stdout, **_):
        stdout.write("outcome: 88 rows\n" if command[2] == "bench.trainers.verl" else "boom\n")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(runner, "make", make)
    monkeypatch.setattr(runner, "make_material", lambda work, run: (88, 440))
    monkeypatch.setattr(runner, "PLACE", tmp_path)
    monkeypatch.setattr(runner.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["bench.trainers", "areal", "trl", "verl"])
    with pytest.raises(SystemExit, match="2 failed"):
        runner.main()
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == [["trl", "FAILED"], ["verl", "ok"], ["areal", "FAILED"]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    work = tmp_path_factory.mktemp("material")
    return work, material.make_material(work, None)


def test_the_material_is_an_export_for_each_trainer_and_replies_of_every_kind(made):
    work, (questions, replies) = made
    assert {path.parent.name for path in work.glob("exports/*/train-00000.parquet")} == set(
        material.TRAINERS_TRIED
    )
    found = [json.loads(line) for line in (work / "replies.jsonl").read_text().splitlines()]
    assert (questions, replies) == (88, len(found)) == (88, 440)
    stopped = [reply for reply in found if reply["finish_reason"] == "stop"]
    assert len(stopped) >= 50
    assert {reply["outcome"] for reply in stopped} == {"correct", "wrong", "no_answer"}
    assert "truncated" in {reply["outcome"] for reply in found}


def test_a_reward_that_is_not_the_profiles_fails_a_proof(made, monkeypatch):
    work, _ = made
    read = []
    monkeypatch.setattr(sys, "argv", ["trl", str(work)])
    proof.prove("trl", [], lambda material: read.append(material) or "read")
    replies = read[0].stopped
    rewards = [reply.reward for reply in replies]
    assert proof.same_rewards(rewards, replies, unknown=0.0) == len(rewards)
    with pytest.raises(AssertionError, match="is not the profile's"):
        proof.same_rewards([1.0 - rewards[0], *rewards[1:]], replies, unknown=0.0)
    with pytest.raises(ValueError, match="zip"):
        proof.same_rewards(rewards[:-1], replies, unknown=0.0)
    unknown = [dataclasses.replace(replies[0], reward=None), *replies[1:]]
    assert proof.same_rewards([float("nan"), *rewards[1:]], unknown, unknown=None)
