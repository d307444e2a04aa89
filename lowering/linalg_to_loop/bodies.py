"""Bodies of `linalg` ops: what they take from around them, and copies of them in nests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from xdsl.dialects import affine, arith, tensor
from xdsl.dialects.builtin import IndexType, TensorType, f32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from lamina.dialects.linalg import IndexOp
from lamina.dialects.linalg.elementwise_bools import PLAIN
from lamina.dialects.linalg.structured_text import element_of
from lamina.dialects.loop.rounding import is_half
from lamina.dialects.records import mutable_record
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.linalg_number_arguments import tensor_behind
from lamina.lowering.linalg_to_loop.table import LinalgBuilder
from lamina.lowering.prims_to_loop.table import Body
from lamina.passes.refusal import unsupported


def indices_of(op: tensor.ExtractOp | tensor.InsertOp) -> Sequence[SSAValue]:
    """Where it reads or writes an element: xDSL does not count the indices."""
    kind = (op.tensor if isinstance(op, tensor.ExtractOp) else op.dest).type
    assert isinstance(kind, TensorType)
    rank = len(kind.get_shape())
    if len(op.indices) != rank:
        raise unsupported(op, f"{len(op.indices)} indices of a tensor of rank {rank}")
    return op.indices


@mutable_record
class Captured:
    """What a body takes from around it, but constants: numbers, with what holds them, tensors."""

    numbers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    tensors: list[SSAValue] = field(default_factory=list[SSAValue])


def captured_by(b: LinalgBuilder, block: Block) -> Captured:
    """Raises UnsupportedError for a value that no op of a program's own makes."""
    found = Captured()
    for op in block.ops:
        for operand in op.operands:
            owner = operand.owner
            inside = owner is block or (isinstance(owner, Operation) and owner.parent is block)
            if inside or (isinstance(owner, arith.ConstantOp) and not _is_tensor(operand)):
                continue
            if _is_tensor(operand):
                if operand not in found.tensors:
                    found.tensors.append(operand)
                continue
            held = tensor_behind(operand)
            if held is None:
                raise b.refuse(f"its body reads a number of {operand.type} from elsewhere")
            found.numbers[operand] = held
    return found


def _is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def needed_for(block: Block, values: Iterable[SSAValue]) -> list[Operation]:
    """The ops of a block that these values are made of, in order."""
    wanted = {value.owner for value in values}
    needed: list[Operation] = []
    for op in reversed(list(block.ops)):
        if op in wanted:
            needed.append(op)
            wanted.update(operand.owner for operand in op.operands)
    return needed[::-1]


def held_number(inner: Body, value: SSAValue) -> SSAValue:
    """A number as tensors hold it: positions are i64."""
    if isinstance(value.type, IndexType):
        return inner.add(arith.IndexCastOp(value, i64))
    return value


def scalar_op(inner: Body, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """An op of arith or math on these numbers; functions of half floats are computed in f32."""
    kinds = [element_of(result.type) for result in op.results]
    if op.name == "arith.remf":
        wide_operands = [scalar.widen(inner, operand) for operand in operands]
        rest = scalar.truncated_remainder(inner, *wide_operands)
        return [scalar.narrow(inner, rest, kinds[0])]
    if op.name.startswith("math.") and any(map(is_half, kinds)):
        operands = [scalar.widen(inner, operand) for operand in operands]
        wide = [f32 if is_half(kind) else kind for kind in kinds]
    else:
        wide = kinds
    kind = PLAIN.get(op.name, type(op))
    copied = kind.create(operands=operands, result_types=wide, properties=dict(op.properties))
    inner.block.add_op(copied)
    return [
        scalar.narrow(inner, value, kind) for value, kind in zip(copied.results, kinds, strict=True)
    ]


@mutable_record
class BodyCopy:
    """Copies ops of a body into a nest: `values` says what its values have become."""

    b: LinalgBuilder
    inner: Body
    values: dict[SSAValue, SSAValue]
    position: Callable[[Body, int], SSAValue] = Body.index

    def copy(self, ops: Sequence[Operation]) -> None:
        """Copy these ops, in order."""
        for op in ops:
            self._copy_one(op)

    def __call__(self, value: SSAValue) -> SSAValue:
        """What a value of the body has become; constants around it are copied."""
        if value not in self.values:
            owner = value.owner
            assert isinstance(owner, arith.ConstantOp), "captured values are known"
            self.values[value] = self.inner.add(owner.clone())
        return self.values[value]

    def _copy_one(self, op: Operation) -> None:
        dialect = op.name.partition(".")[0]
        if isinstance(op, IndexOp):
            made = self.position(self.inner, op.dim.value.data)
        elif isinstance(op, tensor.ExtractOp):
            made = self.inner.read(self(op.tensor), [self(index) for index in indices_of(op)])
        elif isinstance(op, affine.ApplyOp):
            operands = [self(operand) for operand in op.operands]
            made = self._affine(op.map.data.results[0], operands)
        elif dialect in ("arith", "math") and not op.regions:
            made = scalar_op(self.inner, op, [self(operand) for operand in op.operands])
            self.values.update(zip(op.results, made, strict=True))
            return
        else:
            from lamina.passes.refusal import unsupported

            raise unsupported(
                op, f"stands in the body of {self.b.anchor.name}", "ops of arith and math there"
            )
        self.values[op.results[0]] = made

    def _affine(self, expr: AffineExpr, operands: list[SSAValue]) -> SSAValue:
        index = IndexType()
        if isinstance(expr, AffineConstantExpr):
            return self.inner.constant(expr.value, index)
        if isinstance(expr, AffineDimExpr):
            return operands[expr.position]
        if not isinstance(expr, AffineBinaryOpExpr):
            raise self.b.refuse("its body has an affine map with symbols")
        left, right = self._affine(expr.lhs, operands), self._affine(expr.rhs, operands)
        kinds = {
            AffineBinaryOpKind.Add: arith.AddiOp,
            AffineBinaryOpKind.Mul: arith.MuliOp,
            AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
            AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
        }
        if expr.kind in kinds:
            return self.inner.add(kinds[expr.kind](left, right))
        quotient = self.inner.add(arith.FloorDivSIOp(left, right))
        whole = self.inner.add(arith.MuliOp(quotient, right))
        return self.inner.add(arith.SubiOp(left, whole))
