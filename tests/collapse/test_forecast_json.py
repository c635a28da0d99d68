"""forecast.json: what is written is read back, and a file of earlier is the same bytes again."""

import json
import shutil

import pytest

from difficulty.collapse.forecast_json import from_json, is_whole, read_forecast, to_json
from difficulty.collapse.whole import Drifts, OfRun, SetRates, WholeForecast
from difficulty.errors import RunError
from difficulty.levels import LEVELS
from tests.conftest import ROOT

OLD = ROOT / "tests" / "runs" / "version-0.1" / "finished" / "forecast.json"
NOTHING = SetRates(
    acr=None, low=None, high=None, identified_low=None, identified_high=None, plug_in=None,
    num_questions=0, method=None,
)  # fmt: skip


def test_a_file_of_version_0_1_is_written_again_byte_for_byte():
    before = OLD.read_text(encoding="utf-8")
    stamp = json.loads(before)["stamp"]
    again = json.dumps({**to_json(read_forecast(OLD)), "stamp": stamp}, indent=1)
    assert again == before
    assert is_whole(OLD)


def test_a_forecast_of_nothing_is_null_throughout_and_is_read_back():
    whole = WholeForecast(
        group_size=8, keep=("L2", "L3"), pool=NOTHING, kept=NOTHING,
        levels=dict.fromkeys(LEVELS, NOTHING), law=None, rewards=None,
        drift=Drifts(pool=None, kept=None), trainer=None,
        of_run=OfRun(num_by_rules=0, missing=None), warnings=("nothing was graded",),
    )  # fmt: skip
    text = json.dumps(to_json(whole))
    assert from_json(json.loads(text)) == whole
    assert list(json.loads(text)) == [
        "group_size", "pool", "kept", "levels", "rewards", "drift", "warnings", "missing"
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["pool", "kept", "drift", "rewards", "warnings"])
def test_a_file_that_lacks_something_is_one_line_that_says_what_to_do(tmp_path, key):
    values = json.loads(OLD.read_text(encoding="utf-8"))
    del values[key]
    path = tmp_path / "forecast.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(RunError, match=f"cannot be read: KeyError.'{key}'.. Delete it"):
        read_forecast(path)


def test_a_file_that_is_no_forecast_is_one_line(tmp_path):
    path = shutil.copy(ROOT / "README.md", tmp_path / "forecast.json")
    with pytest.raises(RunError, match="cannot be read: JSONDecodeError"):
        read_forecast(path)
