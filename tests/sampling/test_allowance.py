"""How much memory a server is given, and how much less after it ran out of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difficulty.errors import ServerError
from difficulty.sampling.servers import allowance as allowance_module
from difficulty.sampling.servers.allowance import (
    Allowance,
    cache_share,
    cpu_allowance,
    gpu_allowance,
    planned_cache,
    stated_cache,
    step_back,
    step_back_words,
    too_long_words,
)
from difficulty.sampling.servers.engine_memory import NodeMemory
from difficulty.sampling.servers.model_shape import ModelShape, argument, model_shape
from difficulty.sampling.servers.server_log import (
    OutOfMemory,
    context_too_long,
    last_words,
    out_of_memory,
)
from difficulty.settings.run import ServerSpec
from tests.conftest import make_spec

GIB = 2**30
SMOLLM2 = ModelShape(weights=538_000_000, token_bytes=46_080, context=1024)
TOO_MUCH_FOR_KV = (
    "ValueError: Available memory on node 0 (5.0/7.46 GiB) on kv cache allocation is less than "
    "requested memory for kv (5.0 GiB). Decrease --kv-cache-memory-bytes\n"
)


def spec_of(model="org/model", **server):
    return make_spec(sampling={"model": str(model), "max_tokens": 24}, server=ServerSpec(**server))


def nodes_of(*available):
    return {
        number: NodeMemory(node=number, total=64 * GIB, available=int(gib * GIB))
        for number, gib in enumerate(available)
    }


def write_config(folder, **config):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


# --- the model ---


def test_the_demos_model_takes_46_kb_a_token_and_its_context_as_set(tmp_path):
    llama = {
        "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
        "hidden_size": 576, "max_position_embeddings": 8192, "dtype": "bfloat16",
    }  # fmt: skip
    folder = write_config(tmp_path / "m", **llama)
    (folder / "model.safetensors").write_bytes(b"0" * 1000)
    shape = model_shape(str(folder), ServerSpec())
    assert shape == ModelShape(weights=2000, token_bytes=46_080, context=8192)
    assert shape.floor == (8192 // 128 + 1) * 128 * 46_080
    assert model_shape(str(folder), ServerSpec(max_model_len=1000)).context == 1000
    given = ServerSpec(vllm_args=("--max_model_len=512", "--dtype", "bfloat16"))
    assert model_shape(str(folder), given) == ModelShape(
        weights=1000, token_bytes=23_040, context=512
    )


def test_ranks_divide_the_heads_and_never_below_one(tmp_path):
    folder = write_config(
        tmp_path / "m", num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
        hidden_size=64,
    )  # fmt: skip
    sizes = [
        model_shape(str(folder), ServerSpec(tensor_parallel_size=size)).token_bytes
        for size in (1, 2, 4)
    ]
    assert sizes == [2 * 2 * 2 * 8 * 4, 2 * 2 * 1 * 8 * 4, 2 * 2 * 1 * 8 * 4]


@pytest.mark.parametrize(
    "more",
    [
        {"kv_lora_rank": 512},
        {"sliding_window": 4096},
        {"layer_types": ["linear_attention", "full_attention"]},
        {"num_hidden_layers": None},
        {"hidden_size": "large"},
    ],
)
def test_attention_that_we_do_not_know_is_unknown_not_guessed(tmp_path, more):
    plain = {"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 64}
    folder = write_config(tmp_path / "m", **{**plain, **more})
    assert model_shape(str(folder), ServerSpec()).token_bytes is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"text_config": 3}'])
def test_a_config_that_cannot_be_read_is_unknown(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert model_shape(str(tmp_path), ServerSpec()) == ModelShape()
    assert model_shape("org/not-here", ServerSpec()) == ModelShape()
    assert model_shape("no such/name/at all", ServerSpec()) == ModelShape()


def test_the_last_of_the_users_arguments_counts():
    words = ("--max-num-seqs", "4", "--max-num-seqs=8", "--enforce-eager")
    assert argument(words, "--max-num-seqs") == "8"
    assert argument(words, "--enforce-eager") is None
    assert argument((), "--max-num-seqs") is None


# --- the plan ---


def test_two_servers_on_one_node_share_what_is_left_after_both_are_loaded():
    one = cache_share([[0]], 0, SMOLLM2, nodes_of(10), None)
    two = [cache_share([[0], [0]], number, SMOLLM2, nodes_of(10), None) for number in (0, 1)]
    loaded = 3 * int(0.7 * GIB) + SMOLLM2.weights
    assert one == 10 * GIB - loaded
    assert two == [(10 * GIB - 2 * loaded) // 2] * 2


def test_servers_on_two_nodes_do_not_share():
    layout = [[0], [1]]
    shares = [cache_share(layout, number, SMOLLM2, nodes_of(10, 5), None) for number in (0, 1)]
    assert shares[0] - shares[1] == 5 * GIB


def test_the_tightest_node_of_a_server_decides_for_all_its_ranks():
    spread = cache_share([[0, 1]], 0, SMOLLM2, nodes_of(50, 4), None)
    assert spread == 4 * GIB - int(0.7 * GIB) - SMOLLM2.weights // 2


def test_a_child_cgroup_of_4_gb_decides_where_the_node_has_60():
    share = cache_share([[0]], 0, SMOLLM2, nodes_of(60), 4 * GIB)
    assert share == 4 * GIB - 3 * int(0.7 * GIB) - SMOLLM2.weights
    assert planned_cache(share, SMOLLM2, 16_800) < 1.3 * GIB


def test_the_cache_is_what_the_run_needs_and_no_more():
    """Sixteen requests of the demo: five answers of 24 tokens each after 290 of prompt."""
    tokens = 16 * (290 + 5 * (24 + 128))
    assert 0.7 * GIB < planned_cache(60 * GIB, SMOLLM2, tokens) < 1 * GIB


def test_an_unknown_model_takes_8_gib_at_the_most():
    assert planned_cache(60 * GIB, ModelShape(), 10_000) == 8 * GIB
    assert planned_cache(2 * GIB, ModelShape(), None) == int(1.8 * GIB)


@given(
    available=st.lists(st.floats(0, 100), min_size=1, max_size=3),
    headroom=st.none() | st.integers(0, 100 * GIB),
    servers=st.integers(1, 4),
    size=st.integers(1, 3),
    tokens=st.none() | st.integers(0, 10**7),
    data=st.data(),
)
def test_what_all_servers_are_given_fits_beside_what_they_load(
    available, headroom, servers, size, tokens, data
):
    """Unless it is the floor: then the engine has the word, and says how much there is."""
    node = st.integers(0, len(available) - 1)
    layout = data.draw(
        st.lists(st.lists(node, min_size=size, max_size=size), min_size=servers, max_size=servers)
    )
    nodes = nodes_of(*available)
    caches = [
        planned_cache(cache_share(layout, number, SMOLLM2, nodes, headroom), SMOLLM2, tokens)
        for number in range(servers)
    ]
    assert min(caches) >= SMOLLM2.floor
    used = dict.fromkeys(nodes, 0)
    for ranks, cache in zip(layout, caches, strict=True):
        for rank in ranks:
            used[rank] += cache + SMOLLM2.weights // size if cache > SMOLLM2.floor else 0
    assert all(used[number] <= each.available for number, each in nodes.items())
    if headroom is not None:
        assert sum(used.values()) <= headroom


def test_what_the_user_set_is_taken_as_it_is(monkeypatch):
    monkeypatch.setattr(allowance_module, "engine_nodes", lambda: nodes_of(1))
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "64")
    found = cpu_allowance(spec_of(), model="org/model", layout=[[0]], number=0, tokens=10)
    assert (found.cache, found.stated) == (64 * GIB, "VLLM_CPU_KVCACHE_SPACE=64")
    assert found.arguments() == ["--kv-cache-memory-bytes", str(64 * GIB)]


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ((), {}, None),
        ((), {"VLLM_CPU_KVCACHE_SPACE": ""}, None),
        ((), {"VLLM_CPU_KVCACHE_SPACE": "0"}, None),
        (("--kv-cache-memory-bytes", "2G"), {}, 2 * GIB),
        (("--kv_cache_memory_bytes=1.5g",), {}, 1_500_000_000),
        (("--kv-cache-memory-bytes", "12345678"), {}, 12_345_678),
        (("--kv-cache-memory-bytes", "2G"), {"VLLM_CPU_KVCACHE_SPACE": "3"}, 3 * GIB),
    ],
)
def test_a_size_is_read_as_vllm_reads_it(words, environment, expected):
    found = stated_cache(words, environment)
    assert (found and found[0]) == expected


@pytest.mark.parametrize(
    ("words", "environment"),
    [((), {"VLLM_CPU_KVCACHE_SPACE": "4GB"}), (("--kv-cache-memory-bytes", "much"), {})],
)
def test_a_size_that_is_no_number_is_refused_before_the_engine_starts(words, environment):
    with pytest.raises(ServerError, match=r"found '(4GB|much)'"):
        stated_cache(words, environment)


# --- the log ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOO_MUCH_FOR_KV, OutOfMemory(node=0, available=5 * GIB, total=int(7.46 * GIB))),
        (
            "ValueError: Free memory on device cuda:0 (10.5/79.0 GiB) on startup is less than "
            "desired GPU memory utilization (0.9, 71.1 GiB).\n",
            OutOfMemory(available=int(10.5 * GIB), total=79 * GIB),
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n", OutOfMemory()),
        (
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory\n",
            OutOfMemory(),
        ),
        ("OSError: [Errno 12] Cannot allocate memory\n", OutOfMemory()),
        ("MemoryError\n", OutOfMemory()),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", OutOfMemory()),
        ("ValueError: No available memory for the cache blocks.\n", OutOfMemory(nothing_left=True)),
        ("ended by signal 9\n", OutOfMemory(killed=True)),
        (
            "ERROR Worker proc VllmWorker-0 died unexpectedly (exit code: None), shutting down\n",
            OutOfMemory(killed=True),
        ),
        ("RuntimeError: Failed core proc(s): {}\n", OutOfMemory(killed=True)),
        ("RuntimeError: Failed core proc(s): {'EngineCore_0': -9}\n", OutOfMemory(killed=True)),
        ("RuntimeError: Failed core proc(s): {'EngineCore_0': 1}\n", None),
        ("Fatal Python error: Segmentation fault\nFailed core proc(s): {}\n", None),
        ("ended by signal 11\n", None),
        (
            "(EngineCore pid=9) ERROR 11-30 [core.py:1] RuntimeError: Insufficient space in /dev\n"
            "RuntimeError: Engine core initialization failed. Failed core proc(s): {}\n",
            None,
        ),
        (
            "(pid=1) WARNING limit may cause errors like `OSError: [Errno 24] Too many`.\n"
            "ERROR Worker proc VllmWorker-0 died unexpectedly (exit code: None), shutting down\n"
            "(EngineCore pid=9) ERROR 11-30 [core.py:1510] RuntimeError: cancelled\n",
            OutOfMemory(killed=True),
        ),
        ("ValueError: unknown architecture\n", None),
        ("", None),
    ],
)
def test_running_out_of_memory_is_told_from_other_ends(tmp_path, text, expected):
    log = tmp_path / "server.log"
    log.write_text(text)
    assert out_of_memory(log) == expected
    assert out_of_memory(tmp_path / "none") is None


def test_a_kill_while_running_may_be_anybodys(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("ended by signal 9\n")
    assert out_of_memory(log, starting=False) is None
    log.write_text("ended by signal 9\n" + TOO_MUCH_FOR_KV)
    assert out_of_memory(log, starting=False) is not None


def test_what_an_earlier_night_left_in_the_log_is_not_read_again(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(TOO_MUCH_FOR_KV)
    begin = log.stat().st_size
    with log.open("a") as file:
        file.write("KeyError: x\n")
    assert out_of_memory(log) is not None
    assert out_of_memory(log, begin) is None
    assert last_words(log, begin) == "KeyError: x"


def test_a_context_that_the_cache_does_not_hold_says_what_would_do(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "ValueError: To serve at least one request with the model's max seq len (8192), (0.36 GiB "
        "KV cache is needed, which is larger than the available KV cache memory (0.12 GiB). Based "
        "on the available memory, the estimated maximum model length is 2688. Try increasing\n"
    )
    words = too_long_words(context_too_long(log))
    assert "one sequence of 8,192 tokens takes a cache of 0.36 GiB, 0.12 GiB can be had" in words
    assert "Use --max-model-len 2688 or less" in words
    log.write_text(TOO_MUCH_FOR_KV)
    assert context_too_long(log) is None


# --- the step back ---


def server(cache, *, shape=SMOLLM2, **more):
    """An allowance of one rank on node 0."""
    return Allowance(cache=cache, shape=shape, nodes=(0,), **more)


def found(gib, node=0):
    return OutOfMemory(node=node, available=int(gib * GIB), total=8 * GIB)


def test_the_figure_of_the_error_is_taken_less_a_margin():
    after = step_back(server(64 * GIB), found(5), [0])
    assert after.cache == int(0.9 * 5 * GIB)


def test_ranks_that_still_wait_share_the_figure():
    assert step_back(server(64 * GIB), found(6), [0, 0, 1]).cache == int(0.9 * 3 * GIB)


def test_without_a_figure_it_is_halved_down_to_one_whole_sequence():
    killed, sizes = OutOfMemory(killed=True), [1 * GIB]
    while sizes[-1] > SMOLLM2.floor:
        sizes.append(step_back(server(sizes[-1]), killed, [0]).cache)
    assert sizes[1] == GIB // 2
    assert sizes[-1] == SMOLLM2.floor
    with pytest.raises(
        ServerError, match="even with a cache of 0.05 GiB, and takes about 2.60 GiB beside it. Free"
    ):
        step_back(server(sizes[-1]), killed, [0])


def test_below_one_sequence_it_says_what_is_too_small_and_what_would_do():
    shape = ModelShape(token_bytes=100_000, context=131_072)
    with pytest.raises(ServerError) as raised:
        step_back(server(shape.floor, shape=shape, max_tokens=2048), found(3.45), [0])
    words = str(raised.value)
    assert "one sequence of 131,072 tokens takes a cache of 12.2 GiB" in words
    assert "3.10 GiB can be had. Use --max-model-len 33152 or less, free memory" in words
    fits = ModelShape(token_bytes=100_000, context=33_152)
    assert fits.floor <= 0.9 * 3.45 * GIB < ModelShape(token_bytes=100_000, context=33_281).floor


def test_a_context_too_short_for_an_answer_is_no_way_out():
    with pytest.raises(ServerError, match="can be had. Free memory, or use a smaller model"):
        step_back(server(2 * GIB, max_tokens=4096), found(0.05), [0])


def test_the_users_own_value_is_stepped_back_too_with_a_word():
    before = server(64 * GIB, stated="VLLM_CPU_KVCACHE_SPACE=64")
    after = step_back(before, found(5), [0])
    assert step_back_words(before, after, found(5)) == (
        "asked for a cache of 64.0 GiB (VLLM_CPU_KVCACHE_SPACE=64), but node 0 has 5.00 GiB left; "
        "trying with 4.50 GiB"
    )
    killed = OutOfMemory(killed=True)
    assert "was killed while starting" in step_back_words(before, after, killed)
    assert "ran out of memory" in step_back_words(before, after, OutOfMemory())


@given(
    cache=st.integers(1, 2**40),
    ends=st.lists(
        st.builds(
            lambda size, killed: OutOfMemory(
                node=0 if size is not None else None, available=size, total=2**40, killed=killed
            ),
            st.none() | st.integers(0, 2**41),
            st.booleans(),
        ),
        max_size=60,
    ),
    waiting=st.lists(st.integers(0, 1), max_size=4),
)
def test_every_step_is_down_and_ends_at_the_floor(cache, ends, waiting):
    now = server(cache)
    for end in ends:
        try:
            after = step_back(now, end, waiting)
        except ServerError:
            return
        assert SMOLLM2.floor <= after.cache < now.cache
        now = after


# --- GPUs ---


def test_a_gpu_steps_back_from_what_the_user_set():
    words = ("--gpu-memory-utilization=0.95", "--max-num-seqs", "32")
    before = gpu_allowance(spec_of(vllm_args=words))
    after = step_back(before, OutOfMemory(), [])
    assert after.arguments() == ["--gpu-memory-utilization", "0.85", "--max-num-seqs", "16"]
    assert gpu_allowance(spec_of()).arguments() == []


@pytest.mark.parametrize("share", ["0.955", ".9", "1", "1.2.3", "most"])
def test_what_the_user_gave_a_gpu_is_handed_on_as_it_is_or_left_to_vllm(share):
    told = gpu_allowance(spec_of(vllm_args=("--gpu-memory-utilization", share))).arguments()
    assert [float(value) for value in told[1::2]] == (
        [float(share)] if share in ("0.955", ".9", "1") else []
    )


def test_a_gpu_that_somebody_shares_is_taken_as_far_as_it_is_free():
    end = OutOfMemory(available=40 * GIB, total=80 * GIB)
    after = step_back(Allowance(), end, [])
    assert after.arguments() == ["--gpu-memory-utilization", "0.48"]
    with pytest.raises(ServerError, match="too little free memory.*nvidia-smi"):
        step_back(Allowance(), OutOfMemory(available=8 * GIB, total=80 * GIB), [])


def test_where_nothing_is_left_for_the_cache_a_smaller_share_would_not_help():
    now, seqs = Allowance(), []
    for _ in range(4):
        now = step_back(now, OutOfMemory(nothing_left=True), [])
        seqs.append(now.num_seqs)
    assert seqs == [128, 64, 32, 16]
    with pytest.raises(ServerError, match="no memory left for a cache"):
        step_back(now, OutOfMemory(nothing_left=True), [])
    assert now.gpu_share is None


def test_a_gpu_that_never_fits_ends_with_words():
    now = Allowance()
    for _ in range(6):
        now = step_back(now, OutOfMemory(), [])
    assert now.num_seqs == 4
    with pytest.raises(ServerError, match="too little free memory: a share of 0.20"):
        step_back(now, OutOfMemory(), [])
