"""The table of lowerings from `linalg` to `loop`, and the builder of nests that they use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    MemRefType,
    ModuleOp,
    TensorType,
    UnrealizedConversionCastOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from lamina.dialects.control import RegionOp
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.body_ops import yielded_by
from lamina.dialects.source_layers import is_source_op
from lamina.lowering.conversion import Conversion, Lowering
from lamina.lowering.linalg_to_loop.control_flow import structure_control
from lamina.lowering.linalg_to_loop.linalg_number_arguments import held_numbers
from lamina.lowering.prims_to_loop.table import LoopBuilder
from lamina.passes.refusal import invalid, unsupported


class LinalgBuilder(LoopBuilder):
    """Makes loop nests in front of the op being replaced."""

    def _check(self, kind: Attribute) -> None:
        if isinstance(kind, MemRefType | VectorType):
            raise self.refuse(f"works on {kind}", "tensors, as before bufferization")
        if not isinstance(kind, TensorType):
            return
        if DYNAMIC_INDEX in kind.get_shape():
            raise self.refuse(
                f"{kind} has a size `?` that is not known when compiling",
                "static shapes: a program for each size",
            )
        if isinstance(kind.element_type, ComplexType):
            raise self.refuse(f"{kind} has complex elements, which nests do not compute")

    def as_scalar(self, tensor: SSAValue, kind: Attribute) -> SSAValue:
        """A tensor of rank 0 where the program has a number."""
        cast = UnrealizedConversionCastOp.get([tensor], [kind])
        return self.insert(cast).results[0]

    def number_of(self, value: SSAValue) -> int | None:
        """The value of an integer that is constant, or None."""
        found = constant_of(value)
        held: Any = getattr(found, "value", None)
        return held.data if isinstance(getattr(held, "data", None), int) else None


def constant_of(value: SSAValue) -> Attribute | None:
    """The number that a value, or each element of a tensor, is known to be."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        held: Any = owner.value
        if not isinstance(value.type, TensorType):
            return held
        if not hasattr(held, "is_splat") or not held.is_splat():
            return None
        return next(iter(held.iter_attrs()))
    if isinstance(owner, GenericOp) and not owner.inputs and not owner.sources:
        (made, *others) = yielded_by(owner.block)
        return None if others else constant_of(made)
    if isinstance(owner, UnrealizedConversionCastOp):
        return constant_of(owner.operands[0])
    return None


class LinalgConversion(Conversion):
    """Replaces ops of several dialects in the functions of a program, but not in bodies."""

    def find(self, op: Operation) -> Lowering | None:
        """The lowering by the op's full name; ops on numbers and tensors by their dialect."""
        found = self.table().get(op.name)
        return found or self.table().get(op.name.partition(".")[0] + ".*")

    def convert(self, root: Operation, keep: Iterable[str] = ()) -> None:
        """Replace the ops of all functions under `root`."""
        if isinstance(root, ModuleOp):
            held_numbers(root)
        for function in list(root.walk()):
            if isinstance(function, func.FuncOp) and function.body.blocks:
                for block in function.body.blocks:
                    structure_control(block)
                    self.convert_block(block)
                function.update_function_type()
        if isinstance(root, ModuleOp):
            _drop_unused_globals(root)

    def convert_block(self, block: Block) -> None:
        """Replace the ops of a block in order, and drop what is not needed any more."""
        for op in list(block.ops):
            if is_source_op(op):
                _refuse_missing_results(op)
                self.apply(op)
            elif isinstance(op, RegionOp):
                for region in op.regions:
                    self.convert_block(region.block)
        for op in reversed(list(block.ops)):
            if any(result.uses for result in op.results) or op.has_trait(IsTerminator):
                continue
            if isinstance(op, UnrealizedConversionCastOp | arith.ConstantOp | GenericOp):
                op.detach()
                op.erase()

    def missing(self, op: Operation) -> UnsupportedError:
        """The error for an op without a lowering: the nearest names."""
        from lamina.dialects.nearest_ops import nearest

        near = nearest(op.name, [name for name in self.table() if not name.endswith("*")])
        return unsupported(op, "no lowering from linalg yet", ", ".join(near) or None)


def _refuse_missing_results(op: Operation) -> None:
    """xDSL's verifiers let ops of `linalg` on tensors have fewer results than outs."""
    outs: Sequence[SSAValue] = getattr(op, "outputs", ())
    if len(op.results) != len(outs) and any(isinstance(v.type, TensorType) for v in outs):
        raise invalid(op, f"on tensors it gives a result for each of its {len(outs)} outs")


def _drop_unused_globals(module: ModuleOp) -> None:
    """Globals that compilers declare for programs that may draw random numbers."""
    names = ("ml_program.global", "memref.global")
    for op in list(module.body.block.ops):
        if op.name in names:
            op.detach()
            op.erase()


LOWERINGS = LinalgConversion(
    source="linalg",
    package=__package__,
    families=("structured", "products", "elementwise", "tensors", "slices", "softmax"),
    builder=LinalgBuilder,
    target="loop",
)

lowers = LOWERINGS.lowers
"""Decorator: register a lowering for ops by full name; `arith.*` is for all of a dialect."""
