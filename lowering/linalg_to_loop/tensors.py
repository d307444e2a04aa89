"""Ops of `tensor` that make, reshape and read tensors."""

from __future__ import annotations

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType, UnrealizedConversionCastOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from lamina.dialects.linalg.tensor_ops import BitcastOp, GenerateOp
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.bodies import BodyCopy, captured_by, held_number, indices_of
from lamina.lowering.linalg_to_loop.linalg_number_arguments import tensor_behind
from lamina.lowering.linalg_to_loop.table import LinalgBuilder, lowers
from lamina.lowering.prims_to_loop.table import Body, Map
from lamina.lowering.tensor_types import element_of, shape_of


@lowers("tensor.empty")
def _empty(op: tensor.EmptyOp, b: LinalgBuilder) -> SSAValue:
    """Zeros, which cost nothing where nobody reads them."""
    element = element_of(op.tensor)
    return b.pointwise([], element, lambda i, _: i.constant(0, element), shape_of(op.tensor))


@lowers("tensor.collapse_shape", "tensor.expand_shape", "tensor.reshape")
def _reshape(op: tensor.CollapseShapeOp, b: LinalgBuilder) -> SSAValue:
    return b.reshape(op.operands[0], shape_of(op.results[0]))


@lowers("tensor.cast")
def _cast(op: tensor.CastOp, b: LinalgBuilder) -> SSAValue:
    if op.source.type != op.dest.type:
        raise b.refuse(f"to {op.dest.type}", "a cast between tensors of the same shape")
    return op.source


@lowers("tensor.bitcast")
def _bitcast(op: BitcastOp, b: LinalgBuilder) -> SSAValue:
    element = element_of(op.dest)
    return b.pointwise([op.source], element, lambda i, a: i.add(arith.BitcastOp(a[0], element)))


@lowers("tensor.dim")
def _dim(op: tensor.DimOp, b: LinalgBuilder) -> SSAValue:
    axis = b.number_of(op.index)
    shape = shape_of(op.source)
    if axis is None or not 0 <= axis < len(shape):
        raise b.refuse("of a dimension that is not known when compiling")
    constant = arith.ConstantOp.from_int_and_width(shape[axis], IndexType())
    return b.insert(constant).results[0]


@lowers("tensor.splat")
def _splat(op: tensor.SplatOp, b: LinalgBuilder) -> SSAValue:
    return _of_numbers(b, [op.input], op.result)


@lowers("tensor.from_elements")
def _from_elements(op: tensor.FromElementsOp, b: LinalgBuilder) -> SSAValue:
    """A few numbers, each chosen by its place."""
    if len(op.elements) > 64:
        raise b.refuse(f"{len(op.elements)} elements", "arith.constant dense<...>, or at most 64")
    return _of_numbers(b, list(op.elements), op.result)


def _of_numbers(b: LinalgBuilder, numbers: list[SSAValue], result: SSAValue) -> SSAValue:
    shape, element = shape_of(result), element_of(result)
    if not numbers:
        return b.pointwise([], element, lambda i, _: i.constant(0, element), shape)
    reads: list[tuple[SSAValue, Map]] = []
    slots: list[int | arith.ConstantOp] = []
    for number in numbers:
        held = tensor_behind(number)
        if held is not None:
            slots.append(len(reads))
            reads.append((held, []))
        elif isinstance(number.owner, arith.ConstantOp):
            slots.append(number.owner)
        else:
            raise b.refuse(f"reads a number of {number.type} from elsewhere")

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        values = [args[s] if isinstance(s, int) else inner.add(s.clone()) for s in slots]
        values = [held_number(inner, value) for value in values]
        if len(values) == 1:
            return values
        place = _flat_place(inner, shape)
        chosen = values[-1]
        for number in range(len(values) - 2, -1, -1):
            here = scalar.compare(inner, "eq", place, inner.constant(number, IndexType()))
            chosen = scalar.select(inner, here, values[number], chosen)
        return [chosen]

    return b.generic(shape, reads, [(None, "store", shape, element)], body).res[0]


def _flat_place(inner: Body, shape: list[int]) -> SSAValue:
    place = inner.constant(0, IndexType())
    for dim, extent in enumerate(shape):
        scaled = inner.add(arith.MuliOp(place, inner.constant(extent, IndexType())))
        place = inner.add(arith.AddiOp(scaled, inner.index(dim)))
    return place


@lowers("tensor.extract")
def _extract(op: tensor.ExtractOp, b: LinalgBuilder) -> SSAValue:
    """One element, as a tensor of rank 0."""
    source, element = op.tensor, element_of(op.tensor)
    known = [b.number_of(index) for index in indices_of(op)]
    if all(n is not None and 0 <= n < e for n, e in zip(known, shape_of(source), strict=True)):
        exprs: Map = [AffineExpr.constant(n or 0) for n in known]
        return b.as_scalar(b.copy(source, exprs, []), op.result.type)
    held = [_index_tensor(b, index) for index in indices_of(op)]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        indices = [
            inner.as_index(args[n]) if isinstance(n, int) else inner.add(n.clone())
            for n in _slots(held)
        ]
        return [inner.read(args[-1], indices)]

    reads: list[tuple[SSAValue, Map]] = [(h, []) for h in held if isinstance(h, SSAValue)]
    write = (None, "store", [], element)
    made = b.generic([], reads, [write], body, sources=[source]).res[0]
    return b.as_scalar(made, op.result.type)


def _index_tensor(b: LinalgBuilder, index: SSAValue) -> SSAValue | arith.ConstantOp:
    held = tensor_behind(index)
    if held is not None:
        return held
    if isinstance(index.owner, arith.ConstantOp):
        return index.owner
    raise b.refuse("an index that no op here makes")


def _slots(held: list[SSAValue | arith.ConstantOp]) -> list[int | arith.ConstantOp]:
    slots: list[int | arith.ConstantOp] = []
    for one in held:
        slots.append(sum(isinstance(s, int) for s in slots) if isinstance(one, SSAValue) else one)
    return slots


@lowers("tensor.insert")
def _insert(op: tensor.InsertOp, b: LinalgBuilder) -> SSAValue:
    """A copy with one element replaced."""
    shape, element = shape_of(op.dest), element_of(op.dest)
    known = [b.number_of(index) for index in indices_of(op)]
    if any(n is None or not 0 <= n < e for n, e in zip(known, shape, strict=True)):
        raise b.refuse("at a place that is not known when compiling")
    value = tensor_behind(op.scalar)
    constant = op.scalar.owner
    if value is None and not isinstance(constant, arith.ConstantOp):
        raise b.refuse("a number that no op here makes")
    reads: list[tuple[SSAValue, Map]] = [(op.dest, None)]
    if value is not None:
        reads.append((value, []))

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        new = args[1] if value is not None else inner.add(constant.clone())  # pyright: ignore
        for dim, place in enumerate(known):
            here = inner.constant(place or 0, IndexType())
            same = scalar.compare(inner, "eq", inner.index(dim), here)
            new = scalar.select(inner, same, new, args[0])
        return [new]

    return b.generic(shape, reads, [(None, "store", shape, element)], body).res[0]


@lowers("tensor.generate")
def _generate(op: GenerateOp, b: LinalgBuilder) -> SSAValue:
    shape, element = shape_of(op.result), element_of(op.result)
    block = op.body.block
    captured = captured_by(b, block)
    end = block.last_op
    assert end is not None
    reads: list[tuple[SSAValue, Map]] = [(held, []) for held in captured.numbers.values()]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        values: dict[SSAValue, SSAValue] = {
            argument: inner.index(dim) for dim, argument in enumerate(block.args)
        }
        for number, value in zip(captured.numbers, args, strict=False):
            is_index = isinstance(number.type, IndexType)
            values[number] = inner.as_index(value) if is_index else value
        values.update(zip(captured.tensors, args[len(reads) :], strict=True))
        copy = BodyCopy(b, inner, values)
        copy.copy([inside for inside in block.ops if inside is not end])
        return [copy(end.operands[0])]

    write = (None, "store", shape, element)
    return b.generic(shape, reads, [write], body, sources=captured.tensors).res[0]


@lowers("builtin.unrealized_conversion_cast")
def _held(op: UnrealizedConversionCastOp, b: LinalgBuilder) -> SSAValue:
    """The tensor that holds a number."""
    number, kind = op.operands[0], op.results[0].type
    held = tensor_behind(number)
    if held is not None and held.type == kind:
        return held
    assert isinstance(kind, TensorType)
    return _of_numbers(b, [number], op.results[0])
