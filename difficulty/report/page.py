"""The HTML page of a run: one file, no scripts, nothing fetched, everything escaped."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from difficulty import store
from difficulty.audit import checks
from difficulty.report import outlook
from difficulty.report.summary import Summary
from difficulty.report.terminal import kept_cell, kept_note, rate, span

TEMPLATE = Path(__file__).with_name("page.html")


def write_page(run: store.RunFolder, summary: Summary) -> None:
    """Write report.html whole or not at all."""
    store.write_text(run.report, render(summary))


def render(summary: Summary) -> str:
    """The page's text; model output and dataset text are escaped by the template engine."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["rate"] = rate
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        span=span,
        outlook=outlook,
        kept_cell=kept_cell,
        kept_note=kept_note,
        percent=checks.percent,
        percent_span=checks.percent_span,
        audit_rates=checks.rates,
        pass_rate_words=checks.pass_rate_words,
        **_shallow(summary),
    )


def _shallow(summary: Summary) -> dict[str, object]:
    return {field.name: getattr(summary, field.name) for field in dataclasses.fields(summary)}
