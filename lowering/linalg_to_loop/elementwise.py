"""Functions of elements: named ops, `linalg.map` and `linalg.reduce`, `arith` and `math` on
tensors and on numbers outside of bodies, and named ops that only move elements."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.linalg import StructuredOp, YieldOp
from lamina.dialects.linalg.named_ops_table import BINARY, UNARY
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.bodies import held_number, scalar_op
from lamina.lowering.linalg_to_loop.linalg_number_arguments import tensor_behind
from lamina.lowering.linalg_to_loop.products import cast
from lamina.lowering.linalg_to_loop.structured import Structured
from lamina.lowering.linalg_to_loop.table import LinalgBuilder, lowers
from lamina.lowering.prims_to_loop.table import Body, Map
from lamina.lowering.tensor_types import element_of, is_float, shape_of

_FLOAT: dict[str, type[Operation]] = {
    "abs": math.AbsFOp,
    "ceil": math.CeilOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "negf": arith.NegfOp,
    "round": math.RoundOp,
    "rsqrt": math.RsqrtOp,
    "sqrt": math.SqrtOp,
    "tanh": math.TanhOp,
    "powf": math.PowFOp,
}

_BINARY: dict[str, Callable[[Body, SSAValue, SSAValue], SSAValue]] = {
    "add": scalar.add,
    "sub": scalar.sub,
    "mul": scalar.mul,
    "max": scalar.maximum,
    "min": scalar.minimum,
    "max_signed": scalar.maximum,
    "min_signed": scalar.minimum,
    "max_unsigned": lambda b, x, y: b.add(arith.MaxUIOp(x, y)),
    "min_unsigned": lambda b, x, y: b.add(arith.MinUIOp(x, y)),
    "div_unsigned": lambda b, x, y: b.add(arith.DivUIOp(x, y)),
}


def _function(b: LinalgBuilder, name: str, inner: Body, args: list[SSAValue]) -> SSAValue:
    """A named function of elements that are of one type."""
    kind = args[-1].type
    if name in ("copy", "fill"):
        return args[0]
    if name == "select":
        return scalar.select(inner, args[0], args[1], args[2])
    if name == "square":
        return scalar.mul(inner, args[0], args[0])
    if name == "div":
        op = arith.DivfOp if is_float(kind) else arith.DivSIOp
        return inner.add(op(args[0], args[1]))
    if name == "reciprocal" and is_float(kind):
        return inner.add(arith.DivfOp(inner.constant(1, kind), args[0]))
    if name in _BINARY:
        return _BINARY[name](inner, *args)
    if name == "abs" and isinstance(kind, IntegerType):
        return inner.add(math.AbsIOp(args[0]))
    if name in _FLOAT and is_float(kind):
        wide = [scalar.widen(inner, arg) for arg in args]
        return scalar.narrow(inner, inner.add(_FLOAT[name](*wide)), kind)
    raise b.refuse(f"'{name}' of {kind} is not known")


@lowers(*(f"linalg.{name}" for name in (*UNARY, *BINARY, "copy", "select", "fill", "elementwise")))
def _named(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    name = op.name.partition(".")[2]
    if name == "elementwise":
        if op.kind is None:
            raise b.refuse("needs a kind")
        name = op.kind.word.data
    out = op.outputs[0]
    rank = len(shape_of(out))
    identity = AffineMap.identity(rank)
    given = [
        identity if isinstance(value.type, TensorType) else AffineMap(rank, 0, ())
        for value in op.operands
    ]
    for value, index_map in zip(op.operands, op.maps or given, strict=True):
        if isinstance(value.type, TensorType) and len(index_map.results) != len(shape_of(value)):
            raise b.refuse(f"an operand of {value.type} where the result is {out.type}")
    kinds = [element_of(v) if isinstance(v.type, TensorType) else v.type for v in op.operands]
    block = Block(arg_types=kinds)
    inner = Body(block)
    unsigned = op.cast is not None and op.cast.word.data == "cast_unsigned"
    args = [
        value if name == "select" and n == 0 else cast(inner, value, kinds[-1], unsigned)
        for n, value in enumerate(block.args[:-1])
    ]
    block.add_op(YieldOp(_function(b, name, inner, args)))
    maps = op.maps or given
    return Structured(
        b, list(op.inputs), list(op.outputs), maps, ["parallel"] * rank, block
    ).lowered()


@lowers("linalg.map")
def _map(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    rank = len(shape_of(op.outputs[0]))
    block = op.block
    assert block is not None
    if len(block.args) == len(op.inputs):  # older MLIR gives the body no outs
        block.insert_arg(element_of(op.outputs[0]), len(block.args))
    maps = [AffineMap.identity(rank)] * len(op.operands)
    kinds = ["parallel"] * rank
    return Structured(b, list(op.inputs), list(op.outputs), maps, kinds, block).lowered()


@lowers("linalg.reduce")
def _reduce(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    rank = len(shape_of(op.inputs[0]))
    dims = op.numbers("dimensions") or []
    if not all(0 <= dim < rank for dim in dims) or op.block is None:
        raise b.refuse(f"dimensions = {dims} of {rank}")
    exprs = tuple(AffineExpr.dimension(n) for n in range(rank) if n not in dims)
    maps = [AffineMap.identity(rank)] * len(op.inputs)
    maps += [AffineMap(rank, 0, exprs)] * len(op.outputs)
    kinds = ["reduction" if n in dims else "parallel" for n in range(rank)]
    return Structured(b, list(op.inputs), list(op.outputs), maps, kinds, op.block).lowered()


@lowers("linalg.transpose")
def _transpose(op: StructuredOp, b: LinalgBuilder) -> SSAValue:
    permutation = op.numbers("permutation") or []
    rank = len(shape_of(op.inputs[0]))
    if sorted(permutation) != list(range(rank)):
        raise b.refuse(f"permutation = {permutation} of {rank} dimensions")
    exprs: Map = [AffineExpr.dimension(permutation.index(axis)) for axis in range(rank)]
    return _moved(op, b, exprs)


@lowers("linalg.broadcast")
def _broadcast(op: StructuredOp, b: LinalgBuilder) -> SSAValue:
    dims = op.numbers("dimensions") or []
    rank = len(shape_of(op.outputs[0]))
    return _moved(op, b, [AffineExpr.dimension(n) for n in range(rank) if n not in dims])


def _moved(op: StructuredOp, b: LinalgBuilder, exprs: Map) -> SSAValue:
    source, shape = op.inputs[0], shape_of(op.outputs[0])
    given = [shape[e.position] for e in exprs or () if not isinstance(e, int)]  # pyright: ignore
    if given != shape_of(source):
        raise b.refuse(f"{source.type} does not become {op.outputs[0].type}")
    return b.copy(source, exprs, shape)


@lowers("arith.*", "math.*")
def _scalars(op: Operation, b: LinalgBuilder) -> list[SSAValue]:
    """An op on tensors at each element; on numbers, as one of tensors of rank 0."""
    if op.regions:
        raise b.refuse("has a region")
    on_tensors = isinstance(op.results[0].type, TensorType)
    shape = shape_of(op.results[0]) if on_tensors else []
    rank = len(shape)
    reads: list[tuple[SSAValue, Map]] = []
    slots: list[int | arith.ConstantOp] = []
    for operand in op.operands:
        if isinstance(operand.type, TensorType):
            if shape_of(operand) != shape:
                raise b.refuse(f"an operand of {operand.type} beside {op.results[0].type}")
            source, exprs = operand, [AffineExpr.dimension(n) for n in range(rank)]
        elif isinstance(operand.owner, arith.ConstantOp):
            slots.append(operand.owner)
            continue
        else:
            source, exprs = tensor_behind(operand), []
        if source is None:
            raise b.refuse(f"reads a number of {operand.type} from elsewhere")
        slots.append(len(reads))
        reads.append((source, exprs))
    kinds = [_scalar(result.type) for result in op.results]

    def body(inner: Body, args: list[SSAValue]) -> list[SSAValue]:
        operands: list[SSAValue] = []
        for slot, operand in zip(slots, op.operands, strict=True):
            if isinstance(slot, int):
                given = args[slot]
                is_index = isinstance(_scalar(operand.type), IndexType)
                operands.append(inner.as_index(given) if is_index else given)
            else:
                operands.append(inner.add(slot.clone()))
        return [held_number(inner, value) for value in scalar_op(inner, op, operands)]

    writes = [(None, "store", shape, i64 if isinstance(k, IndexType) else k) for k in kinds]
    made = b.generic(shape, reads, writes, body).res
    if on_tensors:
        return list(made)
    return [b.as_scalar(v, result.type) for v, result in zip(made, op.results, strict=True)]


def _scalar(kind: Attribute) -> Attribute:
    return kind.element_type if isinstance(kind, TensorType) else kind
