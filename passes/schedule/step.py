"""Where the code of a sweep is: a stage at one vector of its inner dimension."""

from __future__ import annotations

from xdsl.ir import SSAValue

from lamina.dialects.records import record
from lamina.passes.schedule.body import Body, Lane
from lamina.passes.schedule.memory import Env
from lamina.passes.schedule.stages import Stage


@record
class Step:
    """A stage at one vector: what its body has so far, position, and what stages before it made."""

    stage: Stage
    body: Body
    env: Env
    dim: int | None
    """The dimension that vectors run along."""
    mask: SSAValue | None
    made: dict[SSAValue, Lane]
    any_of_them: SSAValue | None = None
    """Whether any lane is wanted, where it is known of all lanes at once that none may be."""


__all__ = ["Step"]
