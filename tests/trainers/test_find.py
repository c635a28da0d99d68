"""One file a trainer: what each says it offers, and that no other place lists them."""

import importlib
import re
import sys
import tomllib
from fnmatch import fnmatch

import pytest

from difficulty import trainers
from difficulty.settings.run import ExportSpec
from difficulty.trainers import find, setup_text
from difficulty.trainers.config import NAMES
from difficulty.trainers.find import CONFIGS, EXPORTERS, RESAMPLINGS, TRAINERS
from difficulty.trainers.resampling import REDRAWS
from difficulty.trainers.trainer import OFFERS
from tests.cli.test_cli import difficulty
from tests.conftest import ROOT

FOLDER = ROOT / "difficulty" / "trainers"
PLACEHOLDERS = set(re.findall(r"``([A-Z_]+)``", setup_text.__doc__))


def declared(file):
    return importlib.import_module(f"difficulty.trainers.{file}").TRAINERS


@pytest.mark.parametrize("file", find.trainer_files())
def test_every_trainers_file_says_what_it_offers_under_its_own_name(file):
    first, *others = declared(file)
    assert first.name.replace("-", "_") == file
    assert all(other.name.startswith(f"{first.name}-") for other in others)
    for trainer in (first, *others):
        assert trainer.offers
        assert set(trainer.offers) <= set(OFFERS)
        for part in (trainer.export, trainer.forecast):
            assert part is None or part.name == trainer.name


def test_a_file_of_the_folder_is_a_trainers_or_shared_by_all():
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert files == find.SHARED | set(find.trainer_files())
    assert not find.SHARED & set(find.trainer_files())


def test_the_one_list_holds_every_name_once_and_each_verbs_names_come_from_it():
    names = [trainer.name for file in find.trainer_files() for trainer in declared(file)]
    assert sorted(names) == sorted(TRAINERS)
    for offer, parts in (("export", EXPORTERS), ("forecast", RESAMPLINGS), ("like", CONFIGS)):
        assert [*parts] == [n for n, trainer in TRAINERS.items() if offer in trainer.offers]
    assert set(ExportSpec().trainers) <= EXPORTERS.keys()


def test_a_file_that_is_put_into_the_folder_is_found_without_being_named_anywhere(tmp_path):
    (tmp_path / "new_one.py").write_text(
        "from difficulty.trainers.resampling import Resampling\n"
        "from difficulty.trainers.trainer import Trainer\n"
        "RULE = Resampling(name='new-one', kind='once', switch=None, at_limit='goes on')\n"
        "TRAINERS = (Trainer(name='new-one', forecast=RULE),)\n"
    )
    trainers.__path__.append(str(tmp_path))
    try:
        found = [trainer.name for trainer in find._found()]
    finally:
        trainers.__path__.remove(str(tmp_path))
        sys.modules.pop("difficulty.trainers.new_one")
    assert found == [*TRAINERS, "new-one"]


def test_each_exporter_has_a_template_of_its_sections_and_no_template_lacks_its_exporter():
    templates = {path.name for path in (FOLDER / "templates").iterdir()}
    assert templates == {setup_text.template_name(name) for name in EXPORTERS}
    for name, exporter in EXPORTERS.items():
        native = [] if exporter.native is None else ["native reward"]
        assert [*setup_text.sections(name)] == ["our reward", "own reward", *native]


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_template_calls_the_reward_function_of_ours_that_its_trainer_names(name):
    module, _, function = EXPORTERS[name].reward.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))
    assert re.search(rf"\b{function}\b", EXPORTERS[name].setup)
    assert module in EXPORTERS[name].setup


def test_a_template_has_no_placeholder_that_nothing_fills():
    assert {"FILE", "FOLDER", "OWN_REWARD", "OWN_NAMES"} <= PLACEHOLDERS
    for name in EXPORTERS:
        words = re.findall(r"\b[A-Z]+_[A-Z]+\b", "".join(setup_text.sections(name).values()))
        assert set(words) <= PLACEHOLDERS, name


@pytest.mark.parametrize("name", RESAMPLINGS)
def test_a_resampling_rule_names_its_switch_its_cap_and_what_its_metric_says(name):
    rule = RESAMPLINGS[name]
    assert rule.switch or "has no dynamic sampling" in rule.at_limit
    assert rule.redraw in REDRAWS
    assert (rule.kind == "rounds") == (rule.max_rounds is not None) == bool(rule.rounds_name)
    assert bool(rule.metric) == bool(rule.metric_says) == (rule.reading != "none")


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_keys_and_defaults_are_of_settings_that_are_compared(name):
    keys = CONFIGS[name]
    assert {*keys.keys, *keys.defaults} <= set(NAMES)
    assert not keys.marks & keys.last_marks


@pytest.mark.parametrize(("verb", "names"), [("export", EXPORTERS), ("forecast", RESAMPLINGS)])
def test_the_help_of_a_verb_names_every_trainer_that_it_takes(verb, names):
    text = " ".join(difficulty(verb, "--help").stdout.replace("│", " ").split())
    assert [name for name in names if name not in text] == []


def test_the_readme_names_every_trainer():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in TRAINERS if f"`{name}`" not in readme] == []


def test_an_installed_package_holds_every_file_that_is_no_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    globs = project["tool"]["setuptools"]["package-data"]["difficulty"]
    package = ROOT / "difficulty"
    others = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert [path for path in others if not any(fnmatch(path, glob) for glob in globs)] == []
