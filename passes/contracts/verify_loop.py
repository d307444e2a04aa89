"""`verify-loop`: the contract of the structured loop layer.

Functions hold loop nests, free reshapes, kernels and calls, on tensors of static shape. With the
option `buffers` the same holds for memrefs, after `bufferize`, and buffers may be allocated.
Functions whose arguments leave sizes open hold nests and reshapes, and compute with sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ComplexType,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    Signedness,
    TensorType,
    f32,
    f64,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from lamina.dialects.control import RegionOp
from lamina.dialects.control import YieldOp as ControlYieldOp
from lamina.dialects.loop import (
    UNSTRUCTURED_OPS,
    ExternOp,
    GenericOp,
    IndexOp,
    KernelOp,
    ReadOp,
    ReshapeOp,
    ReturnOp,
    SizeOp,
    SpecialOp,
    YieldOp,
)
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.op_list import list_ops
from lamina.dialects.schema.grammar import ELEMENT_NAMES, ELEMENT_TYPES
from lamina.dialects.sizes import quotients
from lamina.passes.contracts.argument_sizes import NUMBERS, has_open_sizes
from lamina.passes.contracts.contracts import verify_addressable
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.passes.contracts.loop_shapes import SIZED_OPS
from lamina.passes.contracts.size_numbers import SIZE_OPS
from lamina.passes.contracts.symbolic_shapes import UNKNOWN, SymbolicShapes, infer_shapes
from lamina.passes.contracts.verify_program import verify_between_ops
from lamina.passes.refusal import invalid, unsupported

BODY_DIALECTS = frozenset({"arith", "math"})
BODY_OPS = (IndexOp, ReadOp, SizeOp, SpecialOp, YieldOp)
TENSOR_OPS = (
    GenericOp,
    *UNSTRUCTURED_OPS,
    ExternOp,
    ReshapeOp,
    KernelOp,
    ReturnOp,
    RegionOp,
    ControlYieldOp,
    func.CallOp,
    func.ReturnOp,
)
COMPLEX_OPS = (
    ReshapeOp,
    ExternOp,
    RegionOp,
    ControlYieldOp,
    func.FuncOp,
    func.CallOp,
    func.ReturnOp,
)
"""Ops that hand complex numbers on; all computing is done on their parts."""

SCALARS = frozenset({*ELEMENT_TYPES, IndexType()} - {ComplexType(f32), ComplexType(f64)})
"""What a body computes with."""

MOST_POINTS = 2**50
"""Of one domain: at a point a nanosecond it takes thirteen days, and costs still fit an i64."""

BUFFER_OPS = (memref.AllocOp, memref.AllocaOp, memref.DeallocOp)


@dataclass(frozen=True)
class VerifyLoopPass(ModulePass):
    """Check that functions hold only loop ops on tensors (or memrefs, of static shape)."""

    name = "verify-loop"
    buffers: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.verify()
        verify_between_ops(op)
        verify_entries(op, "scheduled" if self.buffers else "loop")
        verify_addressable(list_ops(op))
        for function in op.body.block.ops:
            if not isinstance(function, func.FuncOp):
                raise invalid(function, "only functions may stand at module level")
            if not function.body.blocks:
                raise invalid(function, f"@{function.sym_name.data} is declared without a body")
            if not self.buffers and has_open_sizes(function):
                _check_open(function)
                continue
            self._check_types(function, *function.function_type.inputs)
            for block in function.body.blocks:
                self._check_block(block)

    def _check_block(self, block: Block) -> None:
        for op in block.ops:
            others = BUFFER_OPS if self.buffers else (arith.ConstantOp,)
            if not isinstance(op, TENSOR_OPS + others):
                raise invalid(op, "is not an op of the loop layer")
            self._check_types(op, *(v.type for v in (*op.operands, *op.results)))
            if isinstance(op, GenericOp | OrderedNest):
                verify_nest_body(op)
            elif isinstance(op, KernelOp):
                self._check_block(op.block)
            elif isinstance(op, RegionOp):
                for inner in op.blocks:
                    self._check_block(inner)

    def _check_types(self, op: Operation, *types: Attribute) -> None:
        allowed = (TensorType, MemRefType) if self.buffers else (TensorType,)
        kinds = "tensor or memref" if self.buffers else "tensor"
        for kind in types:
            if not isinstance(kind, allowed) or any(e < 0 for e in kind.get_shape()):
                raise invalid(op, f"{kind} is not a {kinds} of static shape")
            if kind.element_type not in ELEMENT_TYPES:
                known = ", ".join(ELEMENT_NAMES)
                raise invalid(op, f"{kind} has elements that no code is made for, only: {known}")
            if type(kind.element_type) is ComplexType and not isinstance(op, COMPLEX_OPS):
                raise invalid(op, f"{kind} has complex elements, which loop nests do not compute")


_OPEN_OPS = (*SIZED_OPS, ControlYieldOp, func.ReturnOp)
"""What stands in functions with open sizes, beside branches and loops, and ops that compute with
sizes."""


def _check_open(function: func.FuncOp) -> None:
    """A function whose sizes are open: its nests stay inside of tensors whatever they are."""
    with quotients():
        known = infer_shapes(function)
    _check_open_block(function.body.block, known)


def _check_open_block(block: Block, shapes: SymbolicShapes) -> None:
    for op in block.ops:
        if isinstance(op, GenericOp | OrderedNest):
            verify_nest_body(op)
        elif isinstance(op, RegionOp):
            given = [v for group in op.groups[:-1] for v in group]
            for value in (*given, *op.results):
                if not isinstance(value.type, TensorType):
                    raise unsupported(op, "carries a number", "tensors of one element")
                if UNKNOWN in shapes.shape(value):
                    reason = "sizes of what it gives do not follow from those of arguments"
                    raise unsupported(op, reason, NUMBERS)
            for inner in op.blocks:
                _check_open_block(inner, shapes)
        elif op.name not in SIZE_OPS and not isinstance(op, _OPEN_OPS):
            raise unsupported(op, "sizes of arguments are not followed through it", NUMBERS)
        hands_on = isinstance(op, COMPLEX_OPS) or op.name in SIZE_OPS
        known = ELEMENT_TYPES if hands_on else SCALARS
        for value in (*op.operands, *op.results):
            kind = value.type
            element = kind.element_type if isinstance(kind, TensorType) else kind
            if element not in known and element != IndexType():
                raise invalid(op, f"{kind} has elements that no code is made for")


def verify_nest_body(op: GenericOp | OrderedNest) -> None:
    """Raises InputError for a nest of too many points, and for ops that no body holds."""
    points = prod(extent for extent in op.extents if extent >= 0)
    if points > MOST_POINTS:
        raise invalid(op, f"a domain of {points} points takes days to walk, the most are 2^50")
    for inner in (inner for region in op.regions for inner in region.block.ops):
        for result in inner.results:
            if result.type not in SCALARS:
                raise invalid(inner, f"no code is made for numbers of {result.type}")
        if inner.name.partition(".")[0] not in BODY_DIALECTS and not isinstance(inner, BODY_OPS):
            only = "arith, math, loop.index, .size, .read and .special"
            raise invalid(inner, f"bodies hold only {only}")
        if inner.regions:
            raise invalid(inner, "ops of a body have no regions")
    if isinstance(op, OrderedNest):
        return
    for combiner, value in zip(op.combiner_names, op.yielded, strict=True):
        kind = value.type
        unsigned = isinstance(kind, IntegerType) and kind.signedness.data == Signedness.UNSIGNED
        if combiner in ("max", "min") and unsigned:
            raise invalid(op, f"combiner '{combiner}' compares signed numbers, not {kind}")
