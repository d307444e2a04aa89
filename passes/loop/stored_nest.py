"""Nests that store one value at each point, made with their bodies: what several passes build."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, TensorType, f32, f64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from lamina.dialects.ir_links import append_op
from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import Forms, map_of
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.loop.scalar_ops import constant_op, scalar_op


@cache
def _float(value: float, element: Attribute) -> FloatAttr:
    return FloatAttr(value, element)  # pyright: ignore[reportCallIssue, reportArgumentType]


class NestBody:
    """The body of a nest, appended to: scalars that are computed in one type of floats."""

    def __init__(self, kinds: Sequence[Attribute], element: Attribute) -> None:
        """`kinds` are the element types of what is read, `element` that of what is computed."""
        self.block = Block(arg_types=kinds)
        self.element = element

    def add(self, op: Operation) -> SSAValue:
        """Append an op; gives its result."""
        append_op(self.block, op)
        return op.results[0]

    def number(self, value: float) -> SSAValue:
        """A constant."""
        return self.add(constant_op(_float(value, self.element)))

    def widened(self, value: SSAValue) -> SSAValue:
        """A scalar that was read, in the type that is computed in, which is as wide or wider."""
        if value.type == self.element:
            return value
        return self.add(scalar_op(arith.ExtFOp, value, result=self.element))

    def rounded(self, value: SSAValue, element: Attribute) -> SSAValue:
        """What was computed, in a type that is as narrow or narrower.

        Of f64, half floats are rounded twice, as a conversion of the program is.
        """
        steps = [f32, element] if self.element == f64 and is_half(element) else [element]
        for step in steps:
            if value.type != step:
                value = self.add(scalar_op(arith.TruncFOp, value, result=step))
        return value

    def region(self, result: SSAValue) -> Region:
        """The finished body."""
        self.block.add_op(YieldOp([result]))
        return Region(self.block)


def stored_nest(
    op: Operation,
    name: str,
    domain: Sequence[int],
    reads: Sequence[tuple[SSAValue, Forms]],
    kind: TensorType,
    body: Region,
    written: Forms | None = None,
) -> GenericOp:
    """A nest for `op`, from its line, called `name`: it stores what `body` makes of `reads`.

    The result is a tensor of type `kind`, written in the order of `domain` if `written` is None.
    """
    rank = len(domain)
    writes = written or tuple(Linear.dim(d) for d in range(rank))
    made = GenericOp(
        domain,
        [value for value, _ in reads],
        [map_of(forms, rank) for _, forms in reads],
        [map_of(writes, rank)],
        ["store"],
        [kind],
        body,
    )
    set_names(made, [name])
    made.location = op.location
    return made
