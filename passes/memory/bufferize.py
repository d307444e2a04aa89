"""`bufferize`: tensors become memrefs, results become trailing arguments.

Kernel functions get one memref argument for each result and allocate what stays inside them; entry
functions allocate what goes from kernel to kernel. Arguments say what they are by `lamina.kind`
(input, parameter, prepared, output, mutation) and `lamina.name`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i8,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    UNSTRUCTURED_OPS,
    ExternOp,
    FourierOp,
    GenericOp,
    ReshapeOp,
    SortOp,
    before_reshapes,
)
from lamina.dialects.loop.memory_ops import ALIGNMENT
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.row import RowOp
from lamina.dialects.loop.segments import SEGMENTS, integer64, segment_sizes
from lamina.dialects.op_disposal import replace
from lamina.dialects.plain_ops import plain_op
from lamina.dialects.records import mutable_record
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.outline_kernels import KERNEL, MAKERS, verify_results
from lamina.passes.memory.region_buffers import RegionBufferizer
from lamina.passes.refusal import unsupported

ENTRY = "lamina.entry"
"""Attribute of a function that the host calls."""

POLL = StringAttr("poll")
"""Kind of the argument that loops of unknown length ask whether to stop."""


class BufferizePass(ModulePass):
    """Put every value of outlined programs in memory, in destination-passing style."""

    name = "bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            if KERNEL in function.attributes:
                _bufferize_kernel(function)
            else:
                _bufferize_entry(function)


@lru_cache(maxsize=1024)
def _buffer_type(value_type: Attribute) -> MemRefType | None:
    """The contiguous memref of a statically shaped tensor type; None for any other type."""
    if not isinstance(value_type, TensorType) or not value_type.has_static_shape():
        return None
    return MemRefType(value_type.element_type, value_type.get_shape())


def _buffer_of(value: SSAValue) -> MemRefType:
    """The memref that holds a tensor. Raises UnsupportedError with the op that makes the value."""
    made = _buffer_type(value.type)
    if made is None:
        owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
        assert owner is not None
        reason = f"{value.type} cannot be put in memory"
        raise unsupported(owner, reason, nearest="tensors of static shape")
    return made


def _retype_arguments(function: func.FuncOp) -> None:
    for argument in function.body.block.args:
        argument._type = _buffer_of(argument)  # pyright: ignore[reportPrivateUsage]


def _allocate(value: SSAValue) -> memref.AllocOp:
    properties = {"alignment": integer64(ALIGNMENT), SEGMENTS: segment_sizes(0, 0)}
    return plain_op(memref.AllocOp, (), [_buffer_of(value)], properties)


def _destinations(block: Block) -> dict[SSAValue, BlockArgument]:
    """Append an argument for each returned value, which is returned once."""
    terminator = block.last_op
    assert isinstance(terminator, func.ReturnOp)
    owners: dict[SSAValue, BlockArgument] = {}
    for value in terminator.operands:
        argument = block.insert_arg(_buffer_of(value), len(block.args))
        argument.name_hint = "out"
        owners[value] = argument
    Rewriter.replace_op(terminator, func.ReturnOp.create())
    return owners


def _bufferize_kernel(function: func.FuncOp) -> None:
    block = function.body.block
    _retype_arguments(function)
    owners = _destinations(block)
    for op in block_ops(block):
        if isinstance(op, (GenericOp, *UNSTRUCTURED_OPS)):
            outs: list[SSAValue] = []
            for result in op.results:
                destination = owners.get(result)
                if destination is None:
                    allocation = _allocate(result)
                    block.insert_op_before(allocation, op)
                    destination = allocation.memref
                outs.append(destination)
            _write_into(op, outs)
    function.update_function_type()


def _write_into(op: GenericOp | OrderedNest | SortOp | FourierOp, outs: list[SSAValue]) -> None:
    if isinstance(op, SortOp):
        new = SortOp(op.input, descending=op.descending is not None, taken=op.window, outs=outs)
    elif isinstance(op, FourierOp):
        new = op.into_memory(outs[0])
    elif isinstance(op, OrderedNest):
        new = op.into_memory(outs, _body_on_buffers(op))
    else:
        monoids = op.monoids
        new = GenericOp(
            op.extents,
            list(op.inputs),
            op.read_maps,
            op.write_maps,
            op.combiner_names,
            [],
            _body_on_buffers(op),
            sources=list(op.sources),
            outs=outs,
            pads=op.pad_values,
            monoids=monoids,
        )
    new.attributes.update(op.attributes)
    new.location = op.location
    replace(op, new, outs)


def _body_on_buffers(op: GenericOp | OrderedNest) -> Region:
    body = op.detach_region(op.body)
    for argument in body.block.args:
        if isinstance(argument.type, TensorType):
            Rewriter.replace_value_with_new_type(argument, _buffer_of(argument))
    return body


def _bufferize_entry(function: func.FuncOp) -> None:
    verify_results(function)
    block = function.body.block
    attributes = _argument_attributes(function)
    _retype_arguments(function)
    owners = _destinations(block)
    _Entry(block, attributes).run(block, list(owners.items()))
    for op in reversed(list(block.walk())):
        if isinstance(op, ReshapeOp) and not op.result.uses:
            Rewriter.erase_op(op)
    function.attributes[ENTRY] = UnitAttr()
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    function.properties.pop("res_attrs", None)
    function.update_function_type()


@mutable_record
class _Entry:
    """An entry function's own block, and what is known of its arguments."""

    block: Block
    attributes: list[DictionaryAttr]

    def run(self, block: Block, owners: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """Put a block's ops in memory; `owners` says where the values that leave it go."""
        targets = _targets_before_reshapes(block, owners)
        for op in block_ops(block):
            if isinstance(op, RegionOp):
                RegionBufferizer(_allocate_before, self.run, self.poll).replace(op, targets)
            elif isinstance(op, func.CallOp | ExternOp):
                self._write(block, op, targets)
            elif isinstance(op, ReshapeOp) and isinstance(op.result.type, TensorType):
                new = ReshapeOp(op.source, _buffer_of(op.result))
                Rewriter.replace_op(op, new)

    def poll(self) -> SSAValue:
        """The argument that says whether a loop should stop."""
        kinds = [entry.data.get("lamina.kind") for entry in self.attributes]
        if POLL in kinds:
            return self.block.args[kinds.index(POLL)]
        argument = self.block.insert_arg(MemRefType(i8, [1]), len(self.block.args))
        argument.name_hint = "poll"
        self.attributes.append(DictionaryAttr({"lamina.kind": POLL}))
        return argument

    def _write(
        self, block: Block, op: func.CallOp | ExternOp, targets: dict[SSAValue, SSAValue]
    ) -> None:
        outs = [targets.get(r) or _allocate_before(r, op) for r in op.res]
        if isinstance(op, func.CallOp):
            operands, callee = [*op.operands, *outs], {"callee": op.callee}
            call = plain_op(func.CallOp, operands, (), callee)
        else:
            call = _extern_call(self.block, op, outs, self.attributes)
        call.location = op.location
        replace(op, call, outs)


def _allocate_before(value: SSAValue, op: Operation) -> SSAValue:
    """A buffer for a tensor, made in front of an op."""
    allocation = _allocate(value)
    block = op.parent
    assert block is not None
    block.insert_op_before(allocation, op)
    return allocation.memref


def _extern_call(
    block: Block, op: ExternOp, outs: list[SSAValue], attributes: list[DictionaryAttr]
) -> ExternOp:
    """The call on memory; the kernel's address becomes an argument, one for equal signatures."""
    signature = StringAttr(op.signature)
    described = [entry.data.get("lamina.signature") for entry in attributes]
    if signature in described:
        callee = block.args[described.index(signature)]
    else:
        callee = block.insert_arg(MemRefType(i8, [1]), len(block.args))
        callee.name_hint = "extern"
        kind = {"lamina.kind": StringAttr("extern"), "lamina.signature": signature}
        attributes.append(DictionaryAttr(kind))
    return ExternOp(op.kernel.data, list(op.inputs), [], op.options.data, outs=outs, callee=callee)


def _targets_before_reshapes(
    block: Block, owners: Sequence[tuple[SSAValue, SSAValue]]
) -> dict[SSAValue, SSAValue]:
    """Where what leaves a block is made: at its destination, under the shape it is made in."""
    targets: dict[SSAValue, SSAValue] = {}
    first = next(op for op in block_ops(block) if not isinstance(op, RowOp | memref.AllocOp))
    for value, destination in owners:
        root = before_reshapes(value)
        if not isinstance(root.owner, MAKERS) or root in targets:
            around = block.parent_op()
            assert around is not None
            raise unsupported(
                around,
                "a value that leaves a region is not the only view of one kernel's result",
                nearest="a program behind outline-kernels, where each nest is in a kernel",
            )
        if root is value:
            targets[root] = destination
        else:
            view = ReshapeOp(destination, _buffer_of(root))
            block.insert_op_before(view, first)
            targets[root] = view.result
    return targets


def _argument_attributes(function: func.FuncOp) -> list[DictionaryAttr]:
    inputs = function.arg_attrs
    results = function.res_attrs
    given = len(function.function_type.inputs.data)
    count = len(function.function_type.outputs.data)
    attributes = list(inputs.data) if inputs else [DictionaryAttr({})] * given
    for index in range(count):
        entry = dict(results.data[index].data) if results else {}
        entry.setdefault("lamina.kind", StringAttr("output"))
        attributes.append(DictionaryAttr(entry))
    return attributes
