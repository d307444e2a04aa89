"""The table of how ops on dynamic shapes are bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from xdsl.ir import Operation

from lamina.dialects.modifications import is_new, register
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Grouped, Number

FAMILIES = (
    "adaptive_pooling",
    "along",
    "attention",
    "bags",
    "batches",
    "convolution",
    "creation",
    "distance",
    "edges",
    "einsum",
    "gradients",
    "indexing",
    "joining",
    "loss",
    "masked_writes",
    "numbers",
    "ordering",
    "pointwise",
    "pooling",
    "product",
    "rearranging",
    "reduction",
    "resampling",
    "rolling",
    "row_gradients",
    "rowwise",
    "sample_norms",
    "samples",
    "scattering",
    "selecting",
    "slicing",
    "uniqueness",
    "windows",
    "writing",
)

Result: TypeAlias = Bounded | Grouped | Number
Results: TypeAlias = Result | Sequence[Result] | None
Bounding: TypeAlias = Callable[[Any, BoundBuilder], Results]
"""Makes static ops for one on dynamic tensors; gives what its results have become."""

_TABLE: dict[str, Bounding] = {}
TAKE_GROUPS: set[Bounding] = set()
"""Those that take operands in groups; others get them moved together."""


def bounds(*names: str) -> Callable[[Bounding], Bounding]:
    """Decorator: register how these ops are bounded; `.default` may be left out."""

    def decorate(function: Bounding) -> Bounding:
        for short in names:
            name = short if "." in short else f"{short}.default"
            assert is_new(_TABLE, name, function), f"{name} is bounded twice"
            register(_TABLE, name, function)
        return function

    return decorate


def takes_groups(function: Bounding) -> Bounding:
    """Decorator: operands may be in groups (`BoundBuilder.grouped`)."""
    TAKE_GROUPS.add(function)
    return function


def table() -> dict[str, Bounding]:
    """All entries, by overload name of `aten` or by full name of `arith`."""
    _load_families()
    return _TABLE


@cache
def _load_families() -> None:
    for family in FAMILIES:
        import_module(f"lamina.lowering.bound_dynamic_shapes.{family}")


def bounding_of(op: Operation) -> Bounding | None:
    """The entry of an op; ops that torch tags as pointwise share one."""
    found = table().get(op.name.removeprefix("aten."))
    if found is None and isinstance(op, SchemaOp) and "pointwise" in op.schema.tags:
        from lamina.lowering.bound_dynamic_shapes.pointwise import pointwise

        return pointwise
    return found
