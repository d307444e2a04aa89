"""Reshapes of padded tensors: free where elements stay where they are, else each is moved."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import SSAValue

from lamina.dialects.loop import ReadOp, ReshapeOp
from lamina.dialects.loop.body_ops import element_type
from lamina.dialects.records import record
from lamina.dialects.sizes import Extent, Size
from lamina.lowering.bound_nests.bodies import BoundBody, computed
from lamina.lowering.bound_nests.reads import before
from lamina.lowering.bound_nests.size_tensors import bound
from lamina.lowering.bound_nests.values import Shape, Values
from lamina.passes.refusal import unsupported


@record
class Group:
    """Dimensions of the source, and those of the result, that have the same elements."""

    source: range
    result: range


def bound_reshape(op: ReshapeOp, shape: Shape, values: Values) -> list[SSAValue]:
    """A reshape of what is padded to a shape of sizes. Raises UnsupportedError for complex numbers
    that would have to be moved."""
    padded = TensorType(element_type(op.result.type), list(map(bound, shape)))
    source = values.shape(op.source)
    groups = _groups(_parts(op.source, source), _parts(op.result, shape))
    if all(_stays(group, _parts(op.source, source), _parts(op.result, shape)) for group in groups):
        made = ReshapeOp(op.source, padded)
        made.location = op.location
        return [before(op, made)]
    if any(isinstance(element_type(kind), ComplexType) for kind in (op.source.type, padded)):
        raise unsupported(op, "it joins complex numbers along open sizes", "their parts")
    return [_moved(op, groups, shape, values)]


def _parts(value: SSAValue, shape: Shape) -> Shape:
    """A shape in floats: complex numbers are two each."""
    return (*shape, 2) if isinstance(element_type(value.type), ComplexType) else shape


def _groups(source: Shape, result: Shape) -> list[Group]:
    """The dimensions that are joined or split, together; the last ones have all that is left."""
    found: list[Group] = []
    first, begin = 0, 0
    of_source, of_result = _products(source), _products(result)
    for last in range(1, len(source)):
        for end in range(begin + 1, len(result)):
            if of_source[last] == of_result[end]:
                found.append(Group(range(first, last), range(begin, end)))
                first, begin = last, end
                break
    return [*found, Group(range(first, len(source)), range(begin, len(result)))]


def _products(shape: Shape) -> list[Extent]:
    found: list[Extent] = [1]
    for extent in shape:
        found.append(found[-1] * extent)
    return found


def _stays(group: Group, source: Shape, result: Shape) -> bool:
    """Whether padded elements of a group stand where a free reshape has them."""
    own, made = [source[d] for d in group.source], [result[d] for d in group.result]
    return (
        prod(map(bound, own)) == prod(map(bound, made))
        and _is_open_outside(own)
        and _is_open_outside(made)
    )


def _is_open_outside(extents: Sequence[Extent]) -> bool:
    wide = [extent for extent in extents if extent != 1]
    return not any(isinstance(extent, Size) for extent in wide[1:])


def _moved(op: ReshapeOp, groups: Sequence[Group], shape: Shape, values: Values) -> SSAValue:
    """A nest that looks each element up where it stands."""
    source = values.shape(op.source)

    def looked_up(body: BoundBody) -> SSAValue:
        table = body.add_source(op.source)
        places: list[SSAValue] = []
        limits: list[SSAValue | None] = []
        for group in groups:
            for place, limit in _places(body, group, source, shape):
                places.append(place)
                limits.append(limit)
        return body.add(ReadOp(table, places, limits))

    element = element_type(op.source.type)
    made = computed(shape, element, "reshape", values.tensors, looked_up)
    made.location = op.location
    return before(op, made)


def _places(
    body: BoundBody, group: Group, source: Shape, shape: Shape
) -> list[tuple[SSAValue, SSAValue | None]]:
    """The indices of a group of the source, and below which sizes they are: the digits of the row-
    major number of an element. Padding has places that there are."""
    if len(group.source) == 1 and len(group.result) == 1:
        return [(body.position(group.result[0]), None)]
    number: SSAValue | None = None
    for dim in group.result:
        if shape[dim] == 1:
            continue
        position = body.position(dim)
        if number is not None:
            scaled = body.add(arith.MuliOp(number, body.index(shape[dim])))
            position = body.add(arith.AddiOp(scaled, position))
        number = position
    rest = body.index(0) if number is None else number
    found: list[tuple[SSAValue, SSAValue | None]] = []
    for dim in reversed(group.source[1:]):
        extent = source[dim]
        if extent == 1:
            found.append((body.index(0), None))
            continue
        divisor = body.index(extent)
        if isinstance(extent, Size):
            divisor = body.add(arith.MaxSIOp(divisor, body.index(1)))
        found.append((body.add(arith.RemSIOp(rest, divisor)), _limit(body, extent)))
        rest = body.add(arith.DivSIOp(rest, divisor))
    for dim in group.source[:1]:
        last = body.add(arith.SubiOp(body.index(source[dim]), body.index(1)))
        least = body.add(arith.MinSIOp(rest, last))
        place = body.add(arith.MaxSIOp(least, body.index(0)))
        found.append((place, _limit(body, source[dim])))
    return found[::-1]


def _limit(body: BoundBody, extent: Extent) -> SSAValue | None:
    return body.index(extent) if isinstance(extent, Size) else None
