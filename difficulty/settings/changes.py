"""What a user stated of a run's settings; all else keeps the run's value, or its default."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from difficulty.settings.run import (
    BucketSpec,
    ExportSpec,
    ForecastSpec,
    GradingSpec,
    RunSpec,
    SamplingSpec,
    SelectionSpec,
    ServerSpec,
    SourceSpec,
)
from difficulty.settings.stated import Stated


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What was stated of each section of a run."""

    source: Stated[SourceSpec] = field(default=Stated(SourceSpec))
    sampling: Stated[SamplingSpec] = field(default=Stated(SamplingSpec))
    grading: Stated[GradingSpec] = field(default=Stated(GradingSpec))
    bucket: Stated[BucketSpec] = field(default=Stated(BucketSpec))
    selection: Stated[SelectionSpec] = field(default=Stated(SelectionSpec))
    forecast: Stated[ForecastSpec] = field(default=Stated(ForecastSpec))
    export: Stated[ExportSpec] = field(default=Stated(ExportSpec))
    server: Stated[ServerSpec] = field(default=Stated(ServerSpec))

    def over(self, spec: RunSpec, *, grading: GradingSpec) -> RunSpec:
        """``spec`` with what was stated; of a reward more depends, so it is settled before.

        Raises:
            SettingsError: settings that cannot work.
        """
        return RunSpec(
            source=self.source.over(spec.source),
            sampling=self.sampling.over(spec.sampling),
            grading=grading,
            bucket=self.bucket.over(spec.bucket),
            selection=self.selection.over(spec.selection),
            forecast=self.forecast.over(spec.forecast),
            export=self.export.over(spec.export),
            server=self.server.over(spec.server),
        )

    def __bool__(self) -> bool:
        """Whether anything was stated."""
        return any(getattr(self, one.name) for one in dataclasses.fields(self))
