"""Golds as public sets store them, brought into the one form that the grader compares with."""

from __future__ import annotations

import re

from difficulty.errors import InputError
from difficulty.grading.equal.latex import balanced, normalize_math, static_limit, strip_delimiters
from difficulty.grading.normalize import plain
from difficulty.grading.read.multi import ordered_set
from difficulty.grading.read.numbers import parse_number
from difficulty.grading.read.options import Options, option_key, options_of
from difficulty.grading.words.joints import AND, OR
from difficulty.grading.words.units import is_quantity
from difficulty.schema import Choice, Completion, Kind, Question

_EITHER = re.compile(rf"\s+(?:{OR.west})\s+|\s*(?:{OR.east})\s*", re.IGNORECASE)
_LABELLED = re.compile(r"[(\[{<]?\s*([A-Za-z0-9])\s*[)\]}>.:、.]")
_LABEL_SEPARATOR = re.compile(
    rf"[\s,、,;;・·/&+()\[\]{{}}]+|\b(?:{AND.west})\b|{AND.east}", re.IGNORECASE
)
_HASHES = re.compile(r"####\s*([^\n]+)\s*$")
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
_LATEX = re.compile(r"\\[A-Za-z%!,;:]|\$|[_^{}]")
_ALGEBRAIC = re.compile(r"[\d\s+\-*/^=().,<>a-zA-Z\[\]|!]*")


def clean_gold(
    kind: str, choices: tuple[Choice, ...] | None, raw: object
) -> tuple[str, tuple[str, ...]]:
    """The gold as (answer, aliases) in canonical form.

    Args:
        kind: one of ``KINDS``.
        choices: the question's options; needed for choice and multi.
        raw: as stored: ``"a or d"`` (either), ``"ac"`` or ``["a", "c"]`` (both), an option's words,
            ``"1,234"``, a worked solution ending in ``#### 1,234`` or in a box.

    Raises:
        InputError: ``no_gold``, ``gold_not_among_options``, ``gold_names_several`` or
            ``gold_unparsable``, then what was found.
    """
    if raw is None or (isinstance(raw, str | list | tuple) and not raw):
        raise InputError("no_gold: found nothing. Give the answer or set the row aside")
    if isinstance(raw, str) and not raw.strip():
        raise InputError("no_gold: found an empty text. Give the answer or set the row aside")
    if kind in {"choice", "multi"}:
        return _clean_labels(kind, options_of(choices or ()), _as_list(raw))
    texts = [str(item) for item in raw] if isinstance(raw, list | tuple) else [str(raw)]
    clean = {"numeric": _clean_number, "math": _clean_math}.get(kind, _clean_text)
    golds = list(dict.fromkeys(clean(text) for text in texts))
    return golds[0], tuple(golds[1:])


def infer_kind(choices: tuple[Choice, ...] | None, raw: object) -> Kind:
    """The kind of a question whose dataset does not say: by its options and its gold's form."""
    if choices:
        try:
            clean_gold("choice", choices, raw)
        except InputError as error:
            return "multi" if str(error).startswith("gold_names_several") else "choice"
        return "choice"
    text = str(raw[0] if isinstance(raw, list | tuple) and raw else raw).strip()
    if _HASHES.search(text):
        return "numeric"
    inner = _last_box(text)
    candidate = plain(strip_delimiters(inner if inner is not None else text))
    if parse_number(_bare_number(candidate)) is not None and "\\" not in candidate:
        return "numeric"
    if _LATEX.search(text) or is_quantity(candidate):
        return "math"
    algebraic = _ALGEBRAIC.fullmatch(candidate) and re.search(r"\d|=", candidate)
    return "math" if algebraic and not re.search(r"[a-zA-Z]{3,}", candidate) else "text"


def check_gold(question: Question) -> str | None:
    """Why the question's gold does not grade itself correct; null if it does.

    A gold that cannot be read would never be a free point, but it makes every answer ungradable.
    """
    from difficulty.grading.grade import grade

    if question.kind == "math":
        unreadable = _unreadable(question.answer)
        if unreadable is not None:
            return f"gold_unparsable: {unreadable}"
    text = (
        f"\\boxed{{{question.answer}}}" if question.kind == "math" else f"Answer: {question.answer}"
    )
    completion = Completion(
        question_id=question.question_id, sample_index=0, text=text, reasoning=None,
        num_tokens=None, finish_reason="stop", attempt=1, max_tokens=1, server=None, error=None,
    )  # fmt: skip
    found = grade(question, completion)
    return None if found.outcome == "correct" else f"gold_{found.outcome}: {found.reason}"


def _unreadable(gold: str) -> str | None:
    from difficulty.grading.equal.compare import readable
    from difficulty.grading.equal.forms import form_of
    from difficulty.grading.shared import shared_math_equal

    text = normalize_math(gold)
    refused = static_limit(text) or readable(text)
    if refused is None or static_limit(text) is not None or form_of(text).kind != "expression":
        return refused
    by_library = shared_math_equal(text, "1")
    return refused if by_library.equal is None else None


def _as_list(raw: object) -> list[str]:
    """A stored list, also one that was written as text: ``["a", "c"]``."""
    if isinstance(raw, list | tuple):
        return [str(item).strip() for item in raw]
    text = str(raw).strip()
    if text[:1] == "[" and text[-1:] == "]":
        items = [item.strip(" \"'") for item in text[1:-1].split(",")]
        return [item for item in items if item]
    return [text]


def _clean_labels(kind: str, options: Options, items: list[str]) -> tuple[str, tuple[str, ...]]:
    if len(items) == 1:
        parts = [items[0]] if _whole_option(items[0], options) else _EITHER.split(items[0])
        sets = [_labels_in(part, options) for part in parts]
    else:
        sets = [[label for item in items for label in _labels_in(item, options)]]
    if kind == "choice" and any(len(set(labels)) != 1 for labels in sets):
        found = " / ".join(",".join(labels) for labels in sets)
        raise InputError(
            f"gold_names_several: found {found}. Use kind multi, or 'a or d' for either"
        )
    golds = list(dict.fromkeys(ordered_set(labels, options.labels) for labels in sets))
    return golds[0], tuple(golds[1:])


def _whole_option(text: str, options: Options) -> str | None:
    """The label of the option whose own words a text is."""
    return options.texts.get(option_key(plain(text)))


def _labels_in(text: str, options: Options) -> list[str]:
    """The labels that one stored gold names: a label, an option's words, or several labels."""
    normal = plain(text).strip()
    if len(normal) == 1 and options.label_of(normal):
        return [options.label_of(normal) or ""]
    whole = _whole_option(text, options)
    if whole is not None:
        return [whole]
    labelled = _LABELLED.match(normal)
    if (
        labelled
        and options.label_of(labelled[1])
        and _own_rest(normal[labelled.end() :], labelled[1], options)
    ):
        return [options.label_of(labelled[1]) or ""]
    pieces = [piece for piece in _LABEL_SEPARATOR.split(normal) if piece]
    labels = [options.label_of(char) for piece in pieces for char in piece]
    named = [label for label in labels if label is not None]
    if not named or len(named) != len(labels) or len(set(named)) != len(named):
        raise InputError(
            f"gold_not_among_options: found {text!r}, options are {', '.join(options.labels)}. "
            "Give a label or an option's own words"
        )
    return named


def _own_rest(rest: str, char: str, options: Options) -> bool:
    """Whether what follows ``C.`` is nothing or that option's own words."""
    rest = " ".join(rest.lower().split()).strip(" .;,。$\"'`*)]")
    own = options.own_words(options.label_of(char) or "")
    return not rest or rest == own or (len(own) > 3 and rest.startswith(own))


def _bare_number(text: str) -> str:
    text = text.strip().rstrip(".").strip()
    text = re.sub(r"^\\?[$€£¥]\s*", "", text)
    return re.sub(r"\s*\\?%$", "", text).strip()


def _clean_number(text: str) -> str:
    """A number without separators, currency and % sign, its decimals as stored."""
    hashes = _HASHES.search(text.strip())
    boxed = _last_box(text)
    body = hashes[1] if hashes else boxed if boxed is not None else text
    body = _bare_number(plain(strip_delimiters(body)))
    if parse_number(body) is None:
        raise InputError(f"gold_unparsable: found {text[-80:]!r}. Give a number, or use kind math")
    return re.sub(r"(?<=\d)(?:,|\{,\}|\\,|\\!|_)(?=\d{3})", "", body)


def _clean_math(text: str) -> str:
    """LaTeX without delimiters and box; of a worked solution its last box."""
    boxed = _last_box(text)
    hashes = _HASHES.search(text.strip())
    body = boxed if boxed is not None else hashes[1] if hashes else text
    body = strip_delimiters(body.strip())
    if not body or not balanced(body) or "\n\n" in body or len(body) > 2000:
        raise InputError(f"gold_unparsable: found {text[-80:]!r}. Give the final answer in LaTeX")
    return body


def _clean_text(text: str) -> str:
    return text.strip()


def _last_box(text: str) -> str | None:
    """The content of the last box with matching braces; null if there is none."""
    for found in reversed(list(_BOX.finditer(text))):
        depth = 1
        for brace in re.finditer(r"\\.|[{}]", text[found.end() :], re.DOTALL):
            depth += {"{": 1, "}": -1}.get(brace.group(), 0)
            if depth == 0:
                return text[found.end() : found.end() + brace.start()].strip()
    return None
