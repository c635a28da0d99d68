"""Whether a mathematical answer is the gold: the gold's form picks the one comparison used.

A set is compared as a set, a pair as a pair; what does not fit the gold's form is wrong. Runs in a
worker, as the value of an expression may take time.
"""

from __future__ import annotations

import re

from difficulty.grading.equal.algebra import (
    TooLargeError,
    proportional,
    same_value,
)
from difficulty.grading.equal.expression import Node, UnreadableError, read_expression
from difficulty.grading.equal.forms import Form, form_of, signs_opened, words_key
from difficulty.grading.equal.latex import squeeze
from difficulty.grading.words.units import same_unit, split_unit, without_letter

MAX_ITEMS = 30

_BASE = re.compile(r"([0-9A-Fa-f]+)\s*_\s*\{?\s*(?:\\text\s*\{)?\s*(\d+|[a-z]+)\s*\}?\}?")
_LABEL = re.compile(
    r"(?:\\text\s*\{[^{}]*\}|[A-Za-z][a-z]*(?:_\{?\w+\}?)?'?(?:\([A-Za-z\d, |]{1,9}\))?|"
    r"\\[a-z]+(?:_\{?\w+\}?)?|[A-Z]{2,3}|\\angle\s*[A-Z]{1,3})"
)


def math_same(gold: str, answer: str) -> bool:
    """Whether an answer equals the gold, both in the common spelling.

    Raises:
        UnreadableError: the gold is not readable; never a free point.
        TooLargeError: the answer is too large to evaluate.
    """
    gold_form = form_of(gold)
    if squeeze(gold) == squeeze(answer):
        return True
    return _same(gold_form, gold, answer)


def _same(gold: Form, gold_text: str, answer_text: str) -> bool:
    if gold.kind == "text":
        return words_key(gold_text) == words_key(answer_text) != ""
    answer = form_of(answer_text)
    if gold.kind == "expression":
        return _same_expression(gold.parts[0], answer)
    if gold.kind in {"list", "set"}:
        return _same_items(gold, answer)
    if gold.kind == "matrix":
        return _same_matrix(gold, answer)
    if gold.kind == "equation":
        return _same_equation(gold, answer)
    return _same_region(gold, answer)


def _same_expression(gold: str, answer: Form) -> bool:
    """Equal values, and units that do not differ; ``x = 5`` answers 5."""
    gold_value, gold_unit = split_unit(gold)
    if answer.kind == "equation":
        value = _right_side(answer)
        if value is None:
            return False
    elif answer.kind == "expression" or (answer.kind in {"set", "list"} and len(answer.parts) == 1):
        value = answer.parts[0]
    elif answer.kind == "text":
        return words_key(gold) == words_key(answer.parts[0])
    else:
        return False
    answer_value, answer_unit = split_unit(value)
    if gold_unit and not answer_unit:
        answer_value, answer_unit = without_letter(answer_value, gold_unit)
    if answer_unit and not gold_unit:
        gold_value, gold_unit = without_letter(gold_value, answer_unit)
    if not same_unit(gold_unit, answer_unit):
        return False
    return _same_scalar(gold_value, answer_value)


def _same_scalar(gold: str, answer: str) -> bool:
    if squeeze(gold) == squeeze(answer):
        return True
    based = _BASE.fullmatch(gold.strip())
    if based:
        other = _BASE.fullmatch(answer.strip())
        return (
            (other[1] == based[1] and other[2] == based[2]) if other else answer.strip() == based[1]
        )
    if _BASE.fullmatch(answer.strip()) and answer.strip()[0].isdigit():
        return False
    gold_node = read_expression(gold)
    try:
        answer_node = read_expression(answer)
    except UnreadableError:
        return False
    return same_value(gold_node, answer_node)


def _right_side(answer: Form) -> str | None:
    r"""The value that ``x = 5`` or ``6 \cdot 7 = 42`` gives; null for a true equation in x."""
    left, right = answer.parts[0], answer.parts[-1]
    if not right:
        return None
    if _is_label(left):
        return right
    if _ANGLE.search(left) and _holds(left, split_unit(right)[0]):
        return right
    return right if _holds(split_unit(left)[0], split_unit(right)[0]) else None


_ANGLE = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)[^=]*\\degree\s*$")
"""A degree sign at the end that belongs to an angle and is no unit of the side."""


def _holds(left: str, right: str) -> bool:
    """Whether both sides can be read and are equal."""
    try:
        return same_value(read_expression(left), read_expression(right))
    except UnreadableError:
        return False


def _is_label(text: str) -> bool:
    r"""Whether a left side only names what the right side is: ``x``, ``f(x)``, ``\text{Area}``."""
    return _LABEL.fullmatch(text.strip()) is not None


def _is_place(text: str) -> bool:
    """Whether a left side names what the right side is, as in ``(x, y) = (2, 3)``."""
    return (
        _is_label(text) or re.fullmatch(r"\(\s*[a-z](?:\s*,\s*[a-z]){1,3}\s*\)", text) is not None
    )


def _items(form: Form) -> list[tuple[str, str]]:
    """The items of a list or set as (variable, value); the variable is empty if none is named."""
    items: list[tuple[str, str]] = []
    parts = [part for part in form.parts if part]
    if form.kind == "equation" and _is_label(form.parts[0]):
        parts = [form.parts[0] + "=" + form.parts[-1]]
        inner = form_of(form.parts[-1])
        if inner.kind in {"set", "list"}:
            return [(form.parts[0].strip(), value) for _, value in _items(inner)]
    for part in parts:
        for value in signs_opened(part) if "\\pm" in part else [part]:
            sides = value.split("=")
            named = len(sides) == 2 and _is_label(sides[0])
            items.append((sides[0].strip(), sides[1].strip()) if named else ("", value.strip()))
    return items


def _same_items(gold: Form, answer: Form) -> bool:
    """The same items; order is ignored, but not which variable has which value."""
    if answer.kind not in {"list", "set", "expression", "equation"}:
        return False
    golds, answers = _items(gold), _items(answer)
    if len(golds) != len(answers) or len(golds) > MAX_ITEMS:
        return False
    named = len({name for name, _ in golds if name}) > 1
    if named and not all(name for name, _ in answers):
        return all(_same_item(g, a) for g, a in zip(golds, answers, strict=True))
    return _matches(golds, answers)


def _matches(golds: list[tuple[str, str]], answers: list[tuple[str, str]]) -> bool:
    rest = list(answers)
    for gold in golds:
        found = next((item for item in rest if _same_item(gold, item)), None)
        if found is None:
            return False
        rest.remove(found)
    return True


def _same_item(gold: tuple[str, str], answer: tuple[str, str]) -> bool:
    if gold[0] and answer[0] and squeeze(gold[0]) != squeeze(answer[0]):
        return False
    if squeeze(gold[1]) == squeeze(answer[1]):
        return True
    inner = form_of(gold[1])
    if inner.kind == "expression":
        return _same_expression(gold[1], form_of(answer[1]))
    return _same(inner, gold[1], answer[1])


def _same_matrix(gold: Form, answer: Form) -> bool:
    if answer.kind == "equation":
        answer = form_of(answer.parts[-1])
    if answer.kind != "matrix" or len(gold.parts) != len(answer.parts):
        return False
    for gold_row, answer_row in zip(gold.parts, answer.parts, strict=True):
        golds, answers = gold_row.split("&"), answer_row.split("&")
        if len(golds) != len(answers):
            return False
        if not all(_same_scalar(g.strip(), a.strip()) for g, a in zip(golds, answers, strict=True)):
            return False
    return True


def _same_equation(gold: Form, answer: Form) -> bool:
    """Proportional differences of the two sides; ``y = 2x`` is also answered by ``2x``."""
    if answer.kind != "equation":
        named = len(gold.parts) == 2 and _is_label(gold.parts[0])
        return named and _same_expression(gold.parts[1], answer)
    if len(gold.parts) != 2 or len(answer.parts) != 2:
        return False
    inner = form_of(gold.parts[1])
    if inner.kind not in {"expression", "text"}:
        same_name = squeeze(gold.parts[0]) == squeeze(answer.parts[0])
        return same_name and _same(inner, gold.parts[1], answer.parts[1])
    first = _difference(gold.parts)
    try:
        second = _difference(answer.parts)
    except UnreadableError:
        return False
    return proportional(first, second)


def _difference(sides: tuple[str, ...]) -> Node:
    left, right = (read_expression(split_unit(side)[0]) for side in sides)
    return Node("add", (left, Node("neg", (right,))))


def _same_region(gold: Form, answer: Form) -> bool:
    """Tuples, intervals, inequalities and unions of them: same brackets, same ends, in order."""
    if gold.kind == "brackets" and answer.kind == "equation" and _is_place(answer.parts[0]):
        answer = form_of(answer.parts[-1])
    if gold.kind == "brackets" and answer.kind == "brackets":
        return _same_brackets(gold, answer)
    gold_variable, golds = _intervals(gold)
    answer_variable, answers = _intervals(answer)
    if not golds or len(golds) != len(answers):
        return False
    if gold_variable and answer_variable and gold_variable != answer_variable:
        return False
    rest = list(answers)
    for interval in golds:
        found = next((other for other in rest if _same_brackets(interval, other)), None)
        if found is None:
            return False
        rest.remove(found)
    return True


def _same_brackets(gold: Form, answer: Form) -> bool:
    if gold.marks != answer.marks or len(gold.parts) != len(answer.parts):
        return False
    return all(_same_item(("", g), ("", a)) for g, a in zip(gold.parts, answer.parts, strict=True))


def _intervals(form: Form) -> tuple[str, list[Form]]:
    """The variable, if named, and the intervals of a region; none if it is no region."""
    if form.kind == "brackets" and len(form.parts) == 2 and "\\" not in form.marks:
        return "", [form]
    if form.kind == "relation":
        return _from_inequality(form)
    if form.kind in {"union", "list"}:
        each = [_intervals(form_of(part)) for part in form.parts]
        if all(len(intervals) == 1 for _, intervals in each):
            names = {name for name, _ in each}
            return (names.pop() if len(names) == 1 else "?"), [item[0] for _, item in each]
    return "", []


def _from_inequality(form: Form) -> tuple[str, list[Form]]:
    """``-1 <= x < 4`` is [-1, 4); ``x > 3`` is (3, infinity)."""
    signs, parts = form.marks.split(), list(form.parts)
    if signs and all(sign in {">", ">="} for sign in signs):
        signs = [{">": "<", ">=": "<="}[sign] for sign in reversed(signs)]
        parts = parts[::-1]
    if not signs or not all(sign in {"<", "<="} for sign in signs):
        return "", []
    if len(parts) == 3 and _is_label(parts[1]):
        marks = ("(" if signs[0] == "<" else "[") + (")" if signs[1] == "<" else "]")
        return squeeze(parts[1]), [Form("brackets", (parts[0], parts[2]), marks)]
    if len(parts) == 2 and _is_label(parts[0]):
        marks = "(" + (")" if signs[0] == "<" else "]")
        return squeeze(parts[0]), [Form("brackets", ("-\\infty", parts[1]), marks)]
    if len(parts) == 2 and _is_label(parts[1]):
        marks = ("(" if signs[0] == "<" else "[") + ")"
        return squeeze(parts[1]), [Form("brackets", (parts[0], "\\infty"), marks)]
    return "", []


def readable(gold: str) -> str | None:
    """Why a gold cannot be compared with anything; null if it can."""
    try:
        _same(form_of(gold), gold, "\\text{no such answer}")
        form = form_of(gold)
        if form.kind != "text":
            _same(form, gold, gold + " ")
            for part in _leaves(form):
                read_expression(split_unit(part)[0])
    except (UnreadableError, TooLargeError) as error:
        return str(error)
    return None


def _leaves(form: Form) -> list[str]:
    if form.kind == "matrix":
        return [cell for row in form.parts for cell in row.split("&")]
    if form.kind == "expression":
        based = _BASE.fullmatch(form.parts[0].strip())
        return [] if based else list(form.parts)
    leaves: list[str] = []
    for part in form.parts:
        inner = form_of(part)
        if inner.kind == "text":
            continue
        leaves.extend(
            _leaves(inner) if inner.parts != (part,) else _leaves(Form("expression", (part,)))
        )
    return leaves
