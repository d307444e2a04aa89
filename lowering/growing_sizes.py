"""Sizes that grow from call to call: a cache is given back with some positions more."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp, ReturnOp

from lamina.dialects.sizes import Extent, Size
from lamina.passes.contracts.loop_shapes import Shape
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes


def growing_sizes(function: FuncOp, known: SymbolicShapes) -> frozenset[str]:
    """The sizes of which a result has a known number of positions more than an argument, whose
    shape is the result's otherwise; `known` has the shapes of values."""
    end = function.body.block.last_op
    if not isinstance(end, ReturnOp):
        return frozenset()
    arguments = {shape for v in function.body.block.args if (shape := known.shapes.get(v))}
    results = {shape for v in end.operands if (shape := known.shapes.get(v))}
    return frozenset(
        name
        for result in results
        for argument in arguments
        if (name := _grown(argument, result)) is not None
    )


def _grown(argument: Shape, result: Shape) -> str | None:
    """The one size by which two shapes differ, if the second has more of it."""
    if len(argument) != len(result):
        return None
    differ = [(old, new) for old, new in zip(argument, result, strict=True) if old != new]
    return _name(*differ[0]) if len(differ) == 1 else None


def _name(old: Extent, new: Extent) -> str | None:
    if not isinstance(old, Size) or not old.is_name or not isinstance(new, Size):
        return None
    (name,) = old.names
    more = dict(new.terms)
    is_more = more.pop((name,), 0) == 1 and more.keys() == {()} and more[()] > 0
    return name.text if is_more else None
