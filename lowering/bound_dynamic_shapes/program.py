"""Functions with dynamic shapes: the walk over their ops, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from lamina.dialects.control import RegionOp, RepeatOp
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.ir_links import block_ops, erase_op
from lamina.dialects.op_list import list_ops
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.bound_dynamic_shapes.arguments import bound_arguments
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.grouping import move_together, moved_together
from lamina.lowering.bound_dynamic_shapes.limits import limits_of
from lamina.lowering.bound_dynamic_shapes.number_operands import expand_number_operands
from lamina.lowering.bound_dynamic_shapes.regions import RegionBounding
from lamina.lowering.bound_dynamic_shapes.table import TAKE_GROUPS, Result, bounding_of
from lamina.lowering.bound_dynamic_shapes.values import (
    Bounded,
    Grouped,
    Number,
    State,
    is_dynamic,
    is_number,
)
from lamina.lowering.core_aten_to_prims.table import limitations
from lamina.lowering.tensor_types import element_of, is_bool
from lamina.passes.contracts.argument_numbers import COUNTS
from lamina.passes.contracts.argument_sizes import DIMS, has_open_sizes
from lamina.passes.refusal import unsupported
from lamina.passes.regions.unroll_layers import unroll_in

_ASSERTIONS = frozenset(
    {"aten._assert_async.default", "aten._assert_async.msg", "aten._assert_scalar.default"}
)

_MADE_HERE = frozenset(
    {"aten.combinations.default", "aten.tensor_split.tensor_indices_or_sections"}
)
"""Ops that nothing further down takes, though the program may give all sizes."""

_SUPPORTED = (
    "pointwise ops, reductions, indexing, views, concatenations, sorts and products "
    "(docs/data_dependent_shapes.md)"
)


def bound_function(function: FuncOp, state: State | None = None) -> None:
    """Bound every dynamic shape of a function of one block, in place.

    A `state` that is given says afterwards how far this came.

    Raises UnsupportedError for ops without an entry in the table, for dynamic arguments, and where
    values of unknown size reach a region or another function than `@main`.
    """
    block = function.body.block
    expand_number_operands(function)
    concerned = _concerned(function)
    if not concerned and not has_open_sizes(function):
        return
    if any(isinstance(op, RepeatOp) for op in concerned):
        unroll_in(block)  # steps may have sizes of their own
        concerned = _concerned(function)
    state = state or State()
    state.limits, state.concerned = limits_of(block), concerned
    bound_arguments(function, state)
    _bound_block(block, state, lambda op: _return(function, op, state))
    open_sizes = [a for a in block.args if is_dynamic(a.type) or a in state.numbers]
    for argument in open_sizes:
        block.erase_arg(argument)
    function.update_function_type()


def _bound_block(block: Block, state: State, end: Callable[[Operation], None]) -> None:
    """Bound the ops of a block; `end` does its last one."""
    replaced: list[Operation] = []
    for op in block_ops(block):
        state.at = op
        if op is block.last_op:
            end(op)
        elif op.regions:
            if _bound_regions(op, state):
                replaced.append(op)
        elif op in state.concerned or any(_is_bounded(operand, state) for operand in op.operands):
            _bound(op, state)
            replaced.append(op)
    for op in reversed(replaced):
        used = next((result for result in op.results if result.first_use is not None), None)
        if used is not None and used.first_use is not None:
            raise unsupported(
                used.first_use.operation,
                f"reads what {op.name} gives outside of its region",
                "regions that take what they read as arguments, as those of control do",
            )
        erase_op(op)


def _bound_regions(op: Operation, state: State) -> bool:
    """Bound what stands in branches and loops; whether another op does what this one did.

    Checks of sizes have no way out of a region.
    """
    values = (*op.operands, *op.results)
    if any(_is_bounded(v, state) or is_dynamic(v.type) or is_number(v.type) for v in values):
        if not isinstance(op, RegionOp):
            raise unsupported(op, "a size that depends on data goes into it", "static shapes")
        results = RegionBounding(op, state, _bound_block).results
        b = BoundBuilder(op, state)
        for old, new in zip(op.results, results, strict=True):
            _give(old, new, b)
        return True
    for region in op.regions:
        for block in region.blocks:
            if state.concerned.isdisjoint(block.ops):
                continue
            inner = State(limits=limits_of(block), concerned=state.concerned)
            _bound_block(block, inner, lambda last, inner=inner: _static_end(last, inner))
            if inner.checks:
                raise unsupported(
                    op,
                    f"a check inside control flow: {inner.checks[0][1]}",
                    "the check in front of it, or static shapes in it",
                )
    return False


def _static_end(op: Operation, state: State) -> None:
    """The end of a region, which hands on tensors of known sizes."""
    if any(_is_bounded(v, state) or is_dynamic(v.type) or is_number(v.type) for v in op.operands):
        raise unsupported(
            op,
            "a size that depends on data comes out of control flow",
            "static shapes at the edges of branches and loops",
        )


def _concerned(function: FuncOp) -> set[Operation]:
    """The ops of a function that concern sizes, and those that hold such ops, in linear time."""
    found: set[Operation] = set()
    for op in list_ops(function):
        if op.regions or not isinstance(op.parent_op(), FuncOp | RegionOp) or not _concerns(op):
            continue  # what stands in the body of a nest computes elements, not sizes
        holder: Operation | None = op
        while holder is not None and holder is not function and holder not in found:
            found.add(holder)
            holder = holder.parent_op()
    return found


def _concerns(op: Operation) -> bool:
    if isinstance(op, ReturnOp):
        return False
    if any(is_dynamic(v.type) or is_number(v.type) for v in (*op.operands, *op.results)):
        return True
    return op.name in _ASSERTIONS or op.name in _MADE_HERE or _chooses(op)


def _chooses(op: Operation) -> bool:
    """Whether an op chooses by data, though the program gives a size (as that of no elements)."""
    if not isinstance(op, SchemaOp) or "dynamic_output_shape" not in op.schema.tags:
        return False
    packet = op.overload_name.partition(".")[0]
    if packet == "index":
        return any(is_bool(element_of(index)) for index in op.operands[1:])
    return packet != "repeat_interleave"


def _is_bounded(value: SSAValue, state: State) -> bool:
    return state.concerns(value)


def _bound(op: Operation, state: State) -> None:
    bounding = bounding_of(op)
    if bounding is None:
        raise missing(op)
    b = BoundBuilder(op, state)
    if bounding not in TAKE_GROUPS:
        move_together(op, b)
    try:
        made = bounding(op, b)
    except ValueError as error:  # result rules say so of padded operands that do not fit
        raise b.refuse(f"padded to its bound, it does not fit: {error}") from None
    given: Sequence[Result] = (
        () if made is None else [made] if isinstance(made, Bounded | Grouped | Number) else made
    )
    assert len(given) == len(op.results), f"{op.name}: {len(given)} results"
    for old, new in zip(op.results, given, strict=True):
        _give(old, new, b)


def missing(op: Operation) -> UnsupportedError:
    """The error for an op that has no entry in the table: the recorded reason if there is one."""
    name = op.name.partition(".")[2]
    recorded = DECOMPOSITIONS.limitations().get(name) or limitations().get(name)
    if recorded is not None:
        return unsupported(op, recorded)
    return unsupported(op, "cannot compute on sizes that depend on data", _SUPPORTED)


def _give(old: SSAValue, new: Result, b: BoundBuilder) -> None:
    if isinstance(new, Number):
        b.state.numbers[old] = new
    else:
        _replace(old, new, b)


def _replace(old: SSAValue, new: Bounded | Grouped, b: BoundBuilder) -> None:
    """Note or replace a result; dimensions that the program says to be static become so."""
    kind = old.type
    if isinstance(new, Grouped):
        if isinstance(kind, TensorType) and _fits(new, kind):
            b.state.grouped[old] = new
            return
        new = moved_together(new, b)
    if not isinstance(kind, TensorType):
        raise b.refuse(f"gives {new.value.type} where the program says {kind}")
    new = Bounded(b.converted(new.value, kind.element_type), new.sizes)
    shape = list(kind.get_shape())
    if len(shape) != new.rank:
        raise b.refuse(f"gives {new.value.type} where the program says {kind}")
    for dim, extent in enumerate(shape):
        if extent >= 0 and new.sizes[dim] is not None:
            new = b.static_size(new, dim, extent)
    if is_dynamic(kind):
        b.state.tensors[old] = new
        return
    if new.value.type != kind:
        raise b.refuse(f"gives {new.value.type} where the program says {kind}")
    if new.value.name_hint is None:
        new.value.name_hint = old.name_hint
    old.replace_all_uses_with(new.value)


def _fits(grouped: Grouped, kind: TensorType[Attribute]) -> bool:
    """Whether the dimensions that a type gives a number are alone in their groups and have it."""
    tensor, shape = grouped.tensor, kind.get_shape()
    return (
        element_of(tensor.value) == kind.element_type
        and len(shape) == len(grouped.groups)
        and all(
            extent < 0
            or (len(dims) == 1 and tensor.is_known(dims[0]) and tensor.shape[dims[0]] == extent)
            for extent, dims in zip(shape, grouped.dims, strict=True)
        )
    )


# Results


def _require_as_written(op: Operation, target: Attribute, tensor: Bounded, b: BoundBuilder) -> None:
    """What is written to an argument is padded as it is, and has its sizes."""
    assert isinstance(target, StringAttr)
    argument = b.state.arguments.get(target.data)
    if argument is None or argument.shape != tensor.shape:
        raise unsupported(op, f"writes {tensor.value.type}, of unknown size, to '{target.data}'")
    for dim in range(tensor.rank):
        message = f"dimension {dim} is not that of '{target.data}', to which it is written"
        b.require_equal(b.size(tensor, dim), b.size(argument, dim), message)


def _return(function: FuncOp, op: Operation, state: State) -> None:
    b = BoundBuilder(op, state)
    move_together(op, b)
    values: list[SSAValue] = []
    counts: dict[SSAValue, int] = {}
    attributes: list[dict[str, Attribute]] = (
        [dict(entry.data) for entry in function.res_attrs.data if isinstance(entry, DictionaryAttr)]
        if function.res_attrs is not None
        else [{} for _ in op.operands]
    )
    for entry, operand in zip(attributes, op.operands, strict=True):
        if operand in state.numbers:
            element = operand.type
            values.append(b.as_tensor(state.numbers[operand], element))
            entry["lamina.number"] = UnitAttr()
            continue
        tensor = b.tensor(operand)
        values.append(tensor.value)
        entry.pop(DIMS, None)
        if tensor.is_static:
            continue
        if entry.get("lamina.kind") == StringAttr("mutation"):
            _require_as_written(op, entry["lamina.target"], tensor, b)
        entry["lamina.sizes"] = ArrayAttr(
            IntegerAttr(-1 if size is None else counts.setdefault(size, len(counts)), i64)
            for size in tensor.sizes
        )
        # Of what follows from inputs, `lamina.sizes` alone knows.
        told = ["" if size is None else state.inputs.get(size, "") for size in tensor.sizes]
        if any(size is not None for size in tensor.sizes[1:]):
            entry[COUNTS] = ArrayAttr(map(StringAttr, told))
    if function.sym_name.data != "main" and (counts or state.checks):
        raise unsupported(op, "a size that depends on data outside of @main")
    for count in counts:
        values.append(count)
        attributes.append({"lamina.kind": StringAttr("size")})
    for condition, message in state.checks:
        values.append(condition)
        attributes.append(
            {"lamina.kind": StringAttr("check"), "lamina.target": StringAttr(message)}
        )
    op.operands = values
    if any(attributes):
        function.properties["res_attrs"] = ArrayAttr(
            [DictionaryAttr(entry) for entry in attributes]
        )
