"""Held-out questions, controls, copies, shards, the card and the Hub."""

import collections
import itertools
import json
import re

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty import store
from difficulty.errors import RunError, SettingsError
from difficulty.export.card import safe
from difficulty.export.push import push_export
from difficulty.export.split import heldout_places
from difficulty.run import stages
from difficulty.schema import Question, Selection
from difficulty.settings.run import SelectionSpec, ServerSpec
from tests.cli.test_cli import difficulty, one_line
from tests.conftest import make_spec, sum_answer, with_change


@pytest.fixture
def exported(write_rows, tmp_path, live, serve):
    """A run of sixty sums of two sources, one of them three times in the dataset; exports it."""
    rows = [
        {
            "question": f"What is {n} + {n}?",
            "answer": str(2 * n),
            "source": "a|b" if n % 3 else "c",
            **({"license": "CC-BY-4.0"} if n % 3 else {}),
        }
        for n in range(60)
    ]
    dataset = write_rows([*rows, rows[20], rows[20]])
    url, _ = serve(answer=sum_answer(lambda n: n / 59))
    run = store.RunFolder(tmp_path / "run")
    spec = make_spec(dataset, server=ServerSpec(endpoints=(url,)))
    store.save_spec(run, spec)
    for stage in stages.STAGES[:5]:
        stage.run(run, spec, live)

    def export(trainer="trl", **values):
        changed = with_change(run, {"export": {"trainers": (trainer,), **values}})
        stages.export(run, changed, live)
        return run

    export.run = run
    return export


def rows_of(folder, split="train"):
    return [
        row for path in sorted(folder.glob(f"{split}-*")) for row in pq.read_table(path).to_pylist()
    ]


def ids(rows):
    return [row["question_id"] for row in rows]


def kept_of(run):
    rows = [row for row in store.read_rows(run.selection, Selection) if row.keep]
    return [row.question_id for row in sorted(rows, key=lambda row: row.position)]


def test_held_out_questions_are_whole_levels_share_and_in_no_training_file(exported):
    run = exported(holdout=0.25)
    train, heldout = (rows_of(run.exports / "trl", split) for split in ("train", "heldout"))
    kept = kept_of(run)
    assert sorted(ids(train) + ids(heldout)) == sorted(kept)
    assert len(heldout) == (len(kept) + 2) // 4  # halves up
    assert ids(train) == [key for key in kept if key in set(ids(train))]
    for rows in (train, heldout):
        assert [row["position"] for row in rows] == list(range(len(rows)))
    levels = collections.Counter(row["level"] for row in train + heldout)
    for level, count in collections.Counter(row["level"] for row in heldout).items():
        assert abs(count - levels[level] * len(heldout) / len(kept)) < 1


def test_the_same_questions_are_held_out_for_every_trainer_and_in_another_run_of_it(exported):
    run = exported(holdout=0.2)
    first = ids(rows_of(run.exports / "trl", "heldout"))
    exported("ms-swift", holdout=0.2)
    assert ids(rows_of(run.exports / "ms-swift", "heldout")) == first
    exported("verl", holdout=0.2)
    rows = rows_of(run.exports / "verl", "heldout")
    assert [row["extra_info"]["question_id"] for row in rows] == first
    assert {row["extra_info"]["split"] for row in rows} == {"heldout"}


def test_near_duplicates_are_never_held_out(exported, monkeypatch):
    from difficulty.schema import NearDuplicate

    run = exported()
    kept = kept_of(run)
    twins = kept[: len(kept) - 4]
    pairs = [
        NearDuplicate(question_id=a, other_id=b, similarity=0.9, same_gold=True, cluster=a)
        for a, b in itertools.pairwise(twins)
    ]
    stamp = store.read_stamp(run.near_duplicates)
    schema = store.table_schema(NearDuplicate)
    with store.TableWriter(run.near_duplicates, schema, stamp) as table:
        table.write_rows(pairs)
    exported(holdout=0.5)
    found = ids(rows_of(run.exports / "trl", "heldout"))
    assert found
    assert not set(found) & set(twins)


@given(st.dictionaries(st.sampled_from(["L2", "L3", "L4", "L5"]), st.integers(1, 400), min_size=1),
       st.sampled_from([0.02, 0.1, 0.5]))  # fmt: skip
def test_the_held_out_share_is_spread_over_levels(counts, share):
    total = sum(counts.values())
    wanted = int(share * total + 0.5)
    if not 0 < wanted < total:
        with pytest.raises(SettingsError, match="of .* kept questions is"):
            heldout_places(counts, share)
        return
    places = heldout_places(counts, share)
    assert sum(places.values()) == wanted
    assert all(0 <= places[level] <= counts[level] for level in counts)


def test_the_control_has_the_size_and_source_mix_of_the_training_set_and_other_levels(exported):
    run = exported(control="random", holdout=0.1)
    train, control = (rows_of(run.exports / name) for name in ("trl", "trl-control"))
    sources = [collections.Counter(row["source"] for row in rows) for rows in (train, control)]
    assert sources[0] == sources[1]
    assert {row["level"] for row in control} & {"L1", "L6"}
    assert not set(ids(control)) & set(ids(rows_of(run.exports / "trl", "heldout")))
    assert len(set(ids(control))) == len(control)
    rates = [row["pass_rate"] for row in control]
    assert rates == sorted(rates, reverse=True)
    text = (run.exports / "trl-control" / "README.md").read_text()
    assert "This is the **control**" in text
    assert "holds a control, drawn from everything profiled" in text
    assert str((run.exports / "trl-control" / "train-00000.parquet").resolve()) in text
    names = {question.question_id for question in store.read_rows(run.questions, Question)}
    assert set(ids(control)) < names


def test_a_control_has_no_question_of_an_evaluation_set(exported, tmp_path, live):
    run = exported(control="random")
    control = rows_of(run.exports / "trl-control")
    prompts = {q.question_id: q.prompt for q in store.read_rows(run.questions, Question)}
    held = tmp_path / "held.jsonl"
    held.write_text(
        "".join(json.dumps({"question": prompts[key]}) + "\n" for key in ids(control)[:5])
    )
    spec = with_change(run, {"selection": {"against": (str(held),)}})
    stages.refresh(run, spec, live, "select")
    again = ids(rows_of(run.exports / "trl-control"))
    assert again
    assert not set(again) & set(ids(control)[:5])


def test_copies_are_repeated_only_on_request(exported):
    run = exported()
    once = ids(rows_of(run.exports / "trl"))
    assert len(set(once)) == len(once)
    exported(copies=True)
    rows = rows_of(run.exports / "trl")
    assert [row["position"] for row in rows] == list(range(len(once) + 2))
    (triple,) = [key for key, count in collections.Counter(ids(rows)).items() if count > 1]
    at = ids(rows).index(triple)
    assert ids(rows)[at : at + 3] == [triple] * 3


def test_shards_hold_the_rows_in_order_and_are_all_named(exported):
    run = exported()
    whole = rows_of(run.exports / "trl")
    exported(shard_rows=7)
    shards = sorted((run.exports / "trl").glob("train-*"))
    assert [path.name for path in shards] == [
        f"train-{number:05d}.parquet" for number in range(-(-len(whole) // 7))
    ]
    assert {pq.read_metadata(path).num_rows for path in shards[:-1]} == {7}
    assert rows_of(run.exports / "trl") == whole
    assert f"in {len(shards)} files" in (run.exports / "trl" / "README.md").read_text()
    metadata = pq.read_metadata(shards[0])
    assert metadata.row_group(0).column(0).compression == "ZSTD"
    assert set(metadata.metadata) <= {b"ARROW:schema", b"difficulty"}


def test_datasets_finds_the_splits_by_the_card(exported):
    import datasets

    run = exported(holdout=0.1, shard_rows=9)
    found = datasets.load_dataset(
        str(run.exports / "trl"), cache_dir=str(run.root / "cache"), verification_mode="no_checks"
    )
    assert set(found) == {"train", "heldout"}
    assert found["train"]["question_id"][:] == ids(rows_of(run.exports / "trl"))


def test_the_card_counts_what_the_files_hold_and_names_what_is_not_stated(exported):
    run = exported(holdout=0.1)
    text = (run.exports / "trl" / "README.md").read_text()
    train = rows_of(run.exports / "trl")
    section = text.partition("## Training rows")[2].partition("##")[0]
    levels = collections.Counter(row["level"] for row in train)
    cells = [str(levels.get(f"L{n}", 0)) for n in range(1, 7)]
    assert f"| all | {' | '.join(cells)} | {len(train)} |" in section
    assert "| a\\|b |" in section
    assert "| a\\|b | CC-BY-4.0 |" in text
    assert "| c | not stated |" in text
    assert "scripted" in text
    assert "temperature, top-p" in text
    forecast = json.loads(run.forecast.read_text())
    assert f"{forecast['kept']['acr']:.2f} | {forecast['kept']['low']:.2f} to" in text
    assert re.search(r"selected \| 20\d\d-", text)


def test_foreign_text_in_a_card_is_text():
    found = safe("<script>x</script>\n| ![a](b) `c` \x1b[31m")
    assert "<" not in found
    assert "\n" not in found
    assert "\x1b" not in found
    assert found.count("\\|") == 1
    assert "!\\[a" in found


def test_another_layout_makes_the_files_again_and_leaves_nothing_of_the_old(exported, live):
    run = exported(shard_rows=5, holdout=0.2)
    live.lines.clear()
    exported(shard_rows=0 or None, holdout=None)
    assert sorted(path.name for path in (run.exports / "trl").iterdir()) == [
        "README.md", "train-00000.parquet",
    ]  # fmt: skip
    assert any("it was made by other settings" in line for line in live.lines)
    before = {path: path.stat().st_mtime_ns for path in run.exports.rglob("*.parquet")}
    exported(holdout=None)
    assert {path: path.stat().st_mtime_ns for path in run.exports.rglob("*.parquet")} == before


def test_an_export_that_fails_half_way_leaves_nothing(exported, monkeypatch):
    from difficulty.export import write

    def fail(*arguments, **more):
        raise RunError("no disk space: writing failed. Free some")

    monkeypatch.setattr(write, "card", fail)
    with pytest.raises(RunError, match="no disk space"):
        exported(shard_rows=5, holdout=0.2)
    assert list((exported.run.exports / "trl").iterdir()) == []


def test_a_held_out_share_that_is_no_question_is_one_line(exported):
    with pytest.raises(SettingsError, match=r"holdout 0.001 of \d+ kept questions is 0"):
        exported(holdout=0.001)
    with pytest.raises(SettingsError, match="holdout is out of range: 1.5"):
        exported(holdout=1.5)
    with pytest.raises(SettingsError, match="shard-rows is too small: 0"):
        exported(shard_rows=0)
    with pytest.raises(SettingsError, match="unknown control: 'all'. Choose one of random, none"):
        exported(control="all")


def test_a_place_that_cannot_be_written_is_one_line(exported):
    run = exported()
    for path in run.exports.rglob("*"):
        if path.is_file():
            path.unlink()
    (run.exports / "trl").rmdir()
    (run.exports / "trl").write_text("a file")
    assert "cannot write" in one_line(difficulty("export", run.root, "--to", "trl"))


def test_a_foreign_file_among_the_exports_is_not_touched(exported):
    run = exported()
    foreign = run.exports / "mine" / "train-00000.parquet"
    foreign.parent.mkdir()
    pq.write_table(pq.read_table(run.selection), foreign)
    saved = foreign.read_bytes()
    assert "carries no stamp" in one_line(difficulty("export", run.root, "--to", "verl"))
    assert foreign.read_bytes() == saved
    assert not (run.exports / "verl").exists()


def test_the_command_writes_what_it_is_asked_for(exported):
    run = exported()
    done = difficulty(
        "export", run.root, "--to", "trl", "--holdout", 0.1, "--control", "random", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == len(rows_of(run.exports / "trl"))
    assert "as a control" in done.stderr
    assert "unknown trainer: 'axolotl'. Choose from trl, verl" in one_line(
        difficulty("export", run.root, "--to", "axolotl")
    )
    assert difficulty("export", run.root, "--public").returncode == 2


# The Hub


class FakeHub:
    """Remembers what the client was asked for."""

    public = False

    def __init__(self, token):
        self.calls = [("token", token)]
        FakeHub.last = self

    def create_repo(self, name, **more):
        self.calls.append(("create", name, more))
        return f"https://hub/datasets/{name}"

    def dataset_info(self, name):
        import types

        return types.SimpleNamespace(private=not self.public)

    def upload_folder(self, **more):
        self.calls.append(("folder", more))

    def upload_file(self, **more):
        self.calls.append(("file", more))


@pytest.fixture
def hub(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    FakeHub.public = False
    return FakeHub


def test_an_upload_is_private_and_only_of_our_files(exported, hub):
    place = exported(holdout=0.1).exports / "trl"
    assert push_export(place, "me/set", public=False) == "https://hub/datasets/me/set"
    calls = {call[0]: call[-1] for call in hub.last.calls}
    assert calls["token"] == "hf_secret"
    assert calls["create"]["private"] is True
    assert calls["folder"]["allow_patterns"] == ["train-*.parquet", "heldout-*.parquet"]
    text = calls["file"]["path_or_fileobj"].decode()
    assert str(place.resolve()) not in text
    assert "hf://datasets/me/set/train-00000.parquet" in text
    assert "hf_secret" not in text


def test_nothing_goes_into_a_public_dataset_unasked(exported, hub):
    place = exported().exports / "trl"
    hub.public = True
    with pytest.raises(RunError, match="me/set on the Hub is public. Choose another name"):
        push_export(place, "me/set", public=False)
    assert [call[0] for call in hub.last.calls] == ["token", "create"]
    push_export(place, "me/set", public=True)
    assert ("folder" in [call[0] for call in hub.last.calls]) is True


def test_without_a_token_in_the_environment_nothing_is_uploaded(exported, monkeypatch):
    run = exported()
    monkeypatch.delenv("HF_TOKEN", raising=False)
    line = one_line(difficulty("export", run.root, "--to", "trl", "--push-to-hub", "me/set"))
    assert "no token for the Hub: HF_TOKEN is not set" in line
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    line = one_line(difficulty("export", run.root, "--to", "trl,verl", "--push-to-hub", "me/set"))
    assert "one dataset holds the files of one trainer: found trl, verl" in line


def test_a_hub_that_refuses_is_one_line(exported, hub, monkeypatch):
    place = exported().exports / "trl"

    def refuse(self, name, **more):
        raise ConnectionError("offline\nmore")

    monkeypatch.setattr(FakeHub, "create_repo", refuse)
    with pytest.raises(RunError, match="the Hub refused me/set: offline. Check the name"):
        push_export(place, "me/set", public=False)


def test_a_selection_without_rules_of_its_own_stamps_as_before():
    from difficulty.settings.run import section_as_dict

    stated = section_as_dict(SelectionSpec())
    assert set(stated) == {"keep", "quotas", "order", "seed", "group_size"}
