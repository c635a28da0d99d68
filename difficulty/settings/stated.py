"""What a user stated of one section of the settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")


@dataclass(frozen=True)
class Stated(Generic[S]):
    """What was stated of one section; ``over`` makes a whole section of it."""

    section: Callable[..., S]
    values: Mapping[str, Any] = field(default_factory=dict)

    def over(self, section: S) -> S:
        """``section`` with what was stated in place of its own."""
        return dataclasses.replace(section, **self.values)  # type: ignore[type-var]

    def states(self, name: str) -> bool:
        """Whether this setting was stated."""
        return name in self.values

    def without(self, name: str) -> Stated[S]:
        """The same, but not this setting."""
        left = {key: value for key, value in self.values.items() if key != name}
        return Stated(self.section, left)

    def then(self, later: Stated[S]) -> Stated[S]:
        """Both; of a setting that both state, the later value."""
        return Stated(self.section, {**self.values, **later.values})

    def __bool__(self) -> bool:
        """Whether anything was stated."""
        return bool(self.values)


def stating(section: Callable[P, S], *_: P.args, **values: P.kwargs) -> Stated[S]:
    """``stating(BucketSpec, min_graded=4)``: names and types are those of the section's fields."""
    return Stated(section, values)


def stating_all(section: S) -> Stated[S]:
    """Every setting of a section as it stands there."""
    names = [one.name for one in dataclasses.fields(section)]  # type: ignore[arg-type]
    return Stated(type(section), {name: getattr(section, name) for name in names})
