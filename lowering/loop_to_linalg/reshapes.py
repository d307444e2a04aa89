"""Reshapes, as MLIR has them: dimensions collapsed, then expanded."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Operation, SSAValue

from lamina.dialects.linalg.tensor_ops import CollapseShapeOp, ExpandShapeOp
from lamina.dialects.loop import ReshapeOp
from lamina.passes.refusal import unsupported

Groups = list[list[int]]


def reshape_as_tensor_ops(op: ReshapeOp) -> list[SSAValue]:
    """Ops in front of the reshape; its value."""
    given, wanted = op.source.type, op.result.type
    assert isinstance(given, TensorType) and isinstance(wanted, TensorType)
    if given.element_type != wanted.element_type or isinstance(wanted.element_type, ComplexType):
        raise unsupported(op, "complex numbers as pairs of floats", "tensors of floats")
    return [reshaped(op, op.source, list(wanted.get_shape()))]


def reshaped(anchor: Operation, source: SSAValue, shape: Sequence[int]) -> SSAValue:
    """`source` under another shape, made in front of `anchor`."""
    kind = source.type
    assert isinstance(kind, TensorType)
    given = list(kind.get_shape())
    if given == list(shape):
        return source
    if (groups := grouped(given, shape)) is not None and len(given) > len(shape):
        return _collapsed(anchor, source, shape, groups)
    if (groups := grouped(shape, given)) is not None and len(shape) > len(given):
        return _expanded(anchor, source, shape, groups)
    flat = [prod(given)]
    source = _collapsed(anchor, source, flat, [list(range(len(given)))])
    return _expanded(anchor, source, shape, [list(range(len(shape)))])


def grouped(long: Sequence[int], short: Sequence[int]) -> Groups | None:
    """Which neighbouring dimensions of `long` make each of `short`; None if they do not."""
    if not short:
        return [] if prod(long) == 1 else None
    groups: Groups = [[] for _ in short]
    place = 0
    for number, extent in enumerate(short):
        size = 1
        while place < len(long) and (not groups[number] or size != extent):
            size *= long[place]
            groups[number].append(place)
            place += 1
        if size != extent or not groups[number]:
            return None
    if any(extent != 1 for extent in long[place:]):
        return None
    groups[-1] += range(place, len(long))
    return groups


def _attribute(groups: Groups) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in group]) for group in groups])


def _collapsed(
    anchor: Operation, source: SSAValue, shape: Sequence[int], groups: Groups
) -> SSAValue:
    kind = TensorType(source.type.element_type, shape)  # pyright: ignore
    return _insert(
        anchor,
        CollapseShapeOp.build(
            operands=[source],
            result_types=[kind],
            properties={"reassociation": _attribute(groups)},
        ),
    )


def _expanded(
    anchor: Operation, source: SSAValue, shape: Sequence[int], groups: Groups
) -> SSAValue:
    kind = TensorType(source.type.element_type, shape)  # pyright: ignore
    return _insert(
        anchor,
        ExpandShapeOp.build(
            operands=[source, []],
            result_types=[kind],
            properties={
                "reassociation": _attribute(groups),
                "static_output_shape": DenseArrayBase.from_list(i64, list(shape)),
            },
        ),
    )


def _insert(anchor: Operation, op: Operation) -> SSAValue:
    op.location = anchor.location
    block = anchor.parent
    assert block is not None
    block.insert_op_before(op, anchor)
    return op.results[0]
