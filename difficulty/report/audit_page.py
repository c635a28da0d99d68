"""The audit sheet as a page: one file, nothing fetched, everything foreign escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from difficulty import store
from difficulty.audit.cells import visible
from difficulty.audit.draw import Detail, Sample
from difficulty.audit.sheet import choices_text, gold_text

TEMPLATE = Path(__file__).with_name("audit.html")
LONG = 1_500
"""Characters from which on a reply is shown in part first."""
AROUND = 400
"""Characters shown on either side of the extracted answer of a long reply."""


def write_audit_page(run: store.RunFolder, sample: Sample, rows: Iterable[Detail]) -> None:
    """Write audit.html whole or not at all."""
    store.write_text(run.audit_page, render_audit(str(run), sample, rows))


def render_audit(name: str, sample: Sample, rows: Iterable[Detail]) -> str:
    """The page's text. Its only script is its own, allowed by its hash."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = TEMPLATE.read_text(encoding="utf-8")
    return environment.from_string(source).render(
        run=visible(name),
        sample=sample,
        script_hash=_script_hash(source),
        sheet=f"{sample.grades[:16]}-{sample.seed}-{len(sample.rows)}",
        rows=[_shown(row) for row in rows],
    )


def _script_hash(source: str) -> str:
    script = re.search(r"<script>(.*?)</script>", source, re.DOTALL)
    assert script is not None
    digest = hashlib.sha256(script[1].encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _shown(row: Detail) -> dict[str, Any]:
    question, grade, completion = row.question, row.grade, row.completion
    text = completion.text or ""
    start, end = (0, 0) if grade.span is None else (grade.span.start, grade.span.end)
    start = min(max(start, 0), len(text))
    end = min(max(end, start), len(text))
    return {
        "position": row.position,
        "question_id": question.question_id,
        "sample_index": grade.sample_index,
        "kind": question.kind,
        "prompt": visible(question.prompt),
        "system_prompt": visible(question.system_prompt or ""),
        "choices": visible(choices_text(question)),
        "gold": visible(gold_text(question)),
        "outcome": grade.outcome,
        "reason": visible(grade.reason),
        "extracted": None if grade.extracted_answer is None else visible(grade.extracted_answer),
        "cut": completion.finish_reason == "length",
        "thoughts": len(completion.reasoning or ""),
        "length": len(text),
        "whole": _pieces(text, start, end),
        "part": _part(text, start, end) if len(text) > LONG else None,
    }


def _pieces(text: str, start: int, end: int) -> tuple[str, str, str]:
    """Before, inside and behind the extracted answer."""
    return visible(text[:start]), visible(text[start:end]), visible(text[end:])


def _part(text: str, start: int, end: int) -> tuple[str, str, str]:
    """What stands around the extracted answer; the end where nothing was extracted."""
    if start == end:
        return "… " + visible(text[-2 * AROUND :]), "", ""
    before = ("… " if start > AROUND else "") + visible(text[max(start - AROUND, 0) : start])
    inside = text[start:end]
    if len(inside) > 2 * AROUND:
        inside = f"{inside[:AROUND]} … {inside[-AROUND:]}"
    behind = visible(text[end : end + AROUND]) + (" …" if len(text) > end + AROUND else "")
    return before, visible(inside), behind
