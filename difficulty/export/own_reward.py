"""The settings of a trainer where the levels come from the user's own reward, not from ours.

Trainers call rewards in their own ways. Where the user's function has the trainer's own signature,
the settings name it; elsewhere they show a file of a few lines that calls it as the profile did.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from difficulty.settings.reward_code import Signature, signature_of
from difficulty.settings.rewards import GradingSpec, RewardSpec, is_builtin, threshold_of
from difficulty.settings.run import RunSpec
from difficulty.trainers.exporter import Exporter, Native

MESSAGES = '[{"role": "assistant", "content": text}]'


def own_setup(exporter: Exporter, spec: RunSpec, fill: Callable[[str], str]) -> str:
    """Markdown: the trainer's settings with the user's reward in them.

    ``fill`` puts the run's own values into a template; the user's names come after it, untouched.
    """
    parts = spec.grading.rewards or ()
    signatures = [signature_of(Path(part.file), part.name) for part in parts]
    if exporter.native is not None and _is_native(exporter.native, parts, signatures):
        text = fill(exporter.native_setup)
        text = _with_names(text, parts, signatures, builtin=exporter.native.builtin)
    else:
        text = fill(exporter.own_setup).replace("OWN_REWARD", _adapter(spec, signatures).strip())
    asynchronous = [p.name for p, s in zip(parts, signatures, strict=True) if s.is_async]
    note = f"\n`{asynchronous[0]}` is async: await it where it is called.\n" if asynchronous else ""
    return f"{text.replace('OWN_THRESHOLD', f'{threshold_of(spec.grading):g}')}{note}"


def graded_by(grading: GradingSpec) -> str:
    """What gave the verdicts: the built-in grader's version, or the user's functions."""
    if grading.rewards is None:
        return f"the built-in grader {grading.grader}"
    return ", ".join(
        f"{part.weight:g} x {'the built-in grader' if is_builtin(part) else part.name}"
        for part in grading.rewards
    )


def own_note(spec: RunSpec) -> str:
    """Which reward made the levels, and from which value on a reply counted as correct."""
    parts = [
        f"{part.weight:g} x the built-in grader"
        if is_builtin(part)
        else f"{part.weight:g} x `{part.file}:{part.name}`"
        for part in spec.grading.rewards or ()
    ]
    return (
        f"\n**This run was graded by a reward of your own**: {', '.join(parts)}. A reply counted "
        f"as correct from a reward of {threshold_of(spec.grading):g} on; levels, pass rates and "
        "forecast hold for that reward, so train with it, as shown here.\n"
    )


def _is_native(native: Native, parts: tuple[RewardSpec, ...], signatures: list[Signature]) -> bool:
    """Does the trainer call the functions as they are?"""
    if len(parts) > 1 and not native.several:
        return False
    return all(
        bool(native.builtin)
        if is_builtin(part)
        else signature.style == native.style and (native.classes or not signature.is_class)
        for part, signature in zip(parts, signatures, strict=True)
    )


def _with_names(
    text: str, parts: tuple[RewardSpec, ...], signatures: list[Signature], *, builtin: str
) -> str:
    names = [
        builtin if is_builtin(part) else _callee(part, signature)
        for part, signature in zip(parts, signatures, strict=True)
    ]
    text = text.replace("OWN_WEIGHTS", ", ".join(f"{part.weight:g}" for part in parts))
    text = text.replace("OWN_IMPORTS", _imports(parts, builtin))
    return text.replace("OWN_PATH", parts[0].file).replace("OWN_NAMES", ", ".join(names))


def _imports(parts: tuple[RewardSpec, ...], builtin: str) -> str:
    """Import lines of the functions, from wherever their files lie."""
    own = [part for part in parts if not is_builtin(part)]
    folders = dict.fromkeys(str(Path(part.file).parent) for part in own)
    lines = ["import sys", "", *(f"sys.path.insert(0, {folder!r})" for folder in folders), ""]
    lines += [f"from {Path(part.file).stem} import {part.name}" for part in own]
    if len(own) < len(parts):
        lines.append(f"from difficulty.rewards import {builtin}")
    return "\n".join(lines)


def _adapter(spec: RunSpec, signatures: list[Signature]) -> str:
    """Python: ``own_reward(text, gold, columns)``, the weighted sum that the levels came from."""
    parts = spec.grading.rewards or ()
    as_text = spec.grading.reward_completions == "text" or (
        spec.grading.reward_completions is None and spec.sampling.prompt_style == "plain"
    )
    terms = [
        f"        {part.weight:g} * number({_call(part, signature, as_text)}),"
        for part, signature in zip(parts, signatures, strict=True)
    ]
    return "\n".join(
        [
            _imports(parts, "reward"),
            "",
            "",
            "def number(found):",
            "    found = found[0] if isinstance(found, list) else found",
            '    return float(found["score"] if isinstance(found, dict) else found or 0.0)',
            "",
            "",
            "def own_reward(text, gold, columns, prompt=None):",
            '    """The reward of one reply, as the profile summed it up."""',
            '    row = {**columns, "solution": gold}',
            '    lists = {name: [value] for name, value in row.items() if name != "prompt"}',
            "    return sum((",
            *terms,
            "    ))",
        ]
    )


def _callee(part: RewardSpec, signature: Signature) -> str:
    return f"{part.name}()" if signature.is_class else part.name


def _call(part: RewardSpec, signature: Signature, as_text: bool) -> str:
    if is_builtin(part):
        return 'reward(text, row["grading_key"])'
    callee = _callee(part, signature)
    if signature.style == "verl":
        return (
            f'{callee}(data_source=row.get("source"), solution_str=text, '
            "ground_truth=gold, extra_info=row)"
        )
    prompts = "prompts=[prompt], " if signature.takes_prompts else ""
    completion = "text" if as_text else MESSAGES
    if signature.takes_all:
        return f"{callee}({prompts}completions=[{completion}], **lists)"
    given = ", ".join(f'{name}=lists["{name}"]' for name in signature.columns)
    return f"{callee}({prompts}completions=[{completion}]{', ' if given else ''}{given})"
