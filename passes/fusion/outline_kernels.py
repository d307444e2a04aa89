"""`outline-kernels`: each `loop.kernel` becomes a call of a private function, equal ones the same.

Kernels are equal when they are the same up to value names and locations; twelve equal layers of a
model then cost one schedule and one piece of machine code. Nests that no pass has put in a kernel,
as where a pipeline does without `fuse-kernels`, are a kernel each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import (
    UNSTRUCTURED_OPS,
    ExternOp,
    GenericOp,
    KernelOp,
    before_reshapes,
)
from lamina.dialects.loop.kernel_contract import KernelFault, verify_kernel
from lamina.dialects.loop.kernel_nests import copied_of, live_rows_of, taken_of
from lamina.dialects.loop.labels import names_of
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.op_disposal import replace
from lamina.dialects.op_list import instances_under, list_ops, ops_of
from lamina.dialects.plain_ops import plain_op
from lamina.passes.defined_functions import defined_functions
from lamina.passes.fusion.fusion_reasons import explain_rest, reason_texts, set_reason_texts
from lamina.passes.refusal import invalid

KERNEL = "lamina.kernel"
"""Attribute of a function that is one kernel."""

MAKERS = (func.CallOp, ExternOp, RegionOp)
"""What makes the values of an entry, once nests stand in kernels."""


_COUNTS = (TensorType(i64, []), MemRefType(i64, []))


def kernel_functions(module: ModuleOp) -> list[func.FuncOp]:
    """The kernels of a module, in order."""
    functions = (op for op in block_ops(module.body.block) if isinstance(op, func.FuncOp))
    return [function for function in functions if KERNEL in function.attributes]


def kernel_calls(module: ModuleOp) -> dict[func.FuncOp, list[func.CallOp]]:
    """The kernels of a module, in order, with all calls of each, wherever they stand.

    Kernels call nothing.
    """
    found: dict[func.FuncOp, list[func.CallOp]] = {k: [] for k in kernel_functions(module)}
    by_name = {kernel.sym_name.data: calls for kernel, calls in found.items()}
    for holder in block_ops(module.body.block):
        if KERNEL not in holder.attributes:
            for op in ops_of(holder, func.CallOp):
                by_name.get(op.callee.string_value(), []).append(op)
    return found


def verify_kernel_function(function: func.FuncOp) -> None:
    """Raises InputError, naming the nest, for nests that cannot share a kernel as noted.

    So it does for results that no nest of the kernel makes, and for one that is returned twice:
    each has a buffer of its own, which its nest writes. Nests stand in one block.
    """
    if len(function.body.blocks) > 1 and instances_under(function, GenericOp):
        reason = f"has {len(function.body.blocks)} blocks; nests of a kernel stand in one"
        raise invalid(function, f"@{function.sym_name.data} {reason}")
    try:
        verify_kernel(list_ops(function))
    except KernelFault as fault:
        raise invalid(fault.op, fault.reason) from fault
    _verify_counts(function)
    # Branches between blocks are of explicit loops, whose results are buffers.
    end = function.body.block.last_op if len(function.body.blocks) == 1 else None
    if isinstance(end, func.ReturnOp):
        returned: set[SSAValue] = set()
        for number, value in enumerate(end.operands):
            if isinstance(value, BlockArgument):
                raise invalid(end, f"result {number} of a kernel is an argument; copy it in a nest")
            if value in returned:
                raise invalid(end, f"result {number} of a kernel is another result, too")
            returned.add(value)


def verify_results(function: func.FuncOp) -> None:
    """Raises InputError for results of an entry that no kernel makes, or that share memory.

    Each has a buffer of its own, into which the call of a kernel writes it.
    """
    end = function.body.block.last_op
    if not isinstance(end, func.ReturnOp):
        return
    returned: set[SSAValue] = set()
    for number, value in enumerate(end.operands):
        root = before_reshapes(value)
        if isinstance(root, BlockArgument):
            raise invalid(end, f"result {number} of an entry is an argument; copy it in a kernel")
        if not isinstance(root.owner, MAKERS):
            raise invalid(end, f"result {number} of an entry is made by no kernel")
        if root in returned:
            reason = "is another result, too, or a view of one; copy it in a kernel"
            raise invalid(end, f"result {number} of an entry {reason}")
        returned.add(root)


def _verify_counts(function: func.FuncOp) -> None:
    """Live rows end at arguments that hold a number."""
    given = function.function_type.inputs.data
    for nest in instances_under(function, (GenericOp, *UNSTRUCTURED_OPS)):
        said = {"live": live_rows_of(nest), "copied": copied_of(nest), "taken": taken_of(nest)}
        for name, digits in said.items():
            for number in () if digits is None else digits.counts:
                if number >= len(given) or given[number] not in _COUNTS:
                    raise invalid(
                        nest, f"{name}: arg{number} of its kernel is no tensor or memref of i64"
                    )


class OutlineKernelsPass(ModulePass):
    """Move kernels into private functions, one for each structure."""

    name = "outline-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels: list[KernelOp] = []
        for function in defined_functions(op):
            _put_loose_nests_in_kernels(function)
            explain_rest(function.body.block)
            kernels += [
                inner for inner in block_ops(function.body.block) if isinstance(inner, KernelOp)
            ]
        # Most walk domains that no other kernel walks: their structure needs no comparing.
        domains = {kernel: _domains(kernel) for kernel in kernels}
        count = Counter(domains.values())
        functions: dict[Hashable, func.FuncOp] = {}
        for kernel in kernels:
            key = kernel if count[domains[kernel]] == 1 else structure(kernel)
            _outline(op, kernel, key, functions)


def _domains(kernel: KernelOp) -> Hashable:
    """What the ops of a kernel are, and the domains of nests."""
    return tuple(
        [op.extents if isinstance(op, GenericOp) else op.name for op in block_ops(kernel.block)]
    )


def _put_loose_nests_in_kernels(function: func.FuncOp) -> None:
    block = function.body.block
    kinds = (GenericOp, *UNSTRUCTURED_OPS)
    if KERNEL in function.attributes or not any(isinstance(op, kinds) for op in block_ops(block)):
        return
    # Few programs need it.
    from lamina.passes.fusion.fuse_kernels import materialize_returns
    from lamina.passes.fusion.kernel_merging import form_kernel

    materialize_returns(function)
    for op in [op for op in block.ops if isinstance(op, kinds)]:
        form_kernel([op])


def _outline(
    module: ModuleOp, kernel: KernelOp, key: Hashable, functions: dict[Hashable, func.FuncOp]
) -> None:
    target = functions.get(key)
    if target is None:
        target = _function(kernel, f"kernel_{len(functions)}")
        module.body.block.add_op(target)
        functions[key] = target
    else:
        _explain_too(target, kernel)
    callee = SymbolRefAttr(target.sym_name)
    call = plain_op(func.CallOp, kernel.inputs, kernel.res.types, {"callee": callee})
    call.location = kernel.location
    replace(kernel, call)


def _explain_too(target: func.FuncOp, kernel: KernelOp) -> None:
    """Keep what was said of a kernel that is equal to one that is outlined already."""
    said = dict.fromkeys((*reason_texts(target), *reason_texts(kernel)))
    set_reason_texts(target, list(said))


def _function(kernel: KernelOp, name: str) -> func.FuncOp:
    body = kernel.detach_region(kernel.body)
    block = body.block
    terminator = block.last_op
    assert terminator is not None
    Rewriter.replace_op(terminator, func.ReturnOp.create(operands=terminator.operands))
    function = func.FuncOp(
        name,
        FunctionType.from_lists([a.type for a in block.args], [r.type for r in kernel.res]),
        body,
        visibility="private",
    )
    function.location = kernel.location
    function.attributes[KERNEL] = UnitAttr()
    _explain_too(function, kernel)
    function.attributes["lamina.ops"] = ArrayAttr(
        [StringAttr(name) for part in block_ops(block) for name in names_of(part)]
    )
    kernel.add_region(Region(Block()))
    return function


class _Known:
    """An attribute among the parts of a structure: hashed once, not wherever it stands."""

    __slots__ = ("attribute", "hashed")

    def __init__(self, attribute: Attribute) -> None:
        self.attribute, self.hashed = attribute, hash(attribute)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.attribute == other.attribute


@once_an_object
def known_attribute(attribute: Attribute) -> Hashable:
    """A key that is equal for equal attributes, and hashed once."""
    return _Known(attribute)


def structure(op: Operation) -> Hashable:
    """A key that is equal for ops equal up to value names, locations and outer operands."""
    numbered = _Numbered()
    return tuple([numbered.block(block) for region in op.regions for block in region.blocks])


class _Numbered:
    """Keys of blocks and ops, with values by the order in which they are seen."""

    def __init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {}

    def block(self, block: Block) -> Hashable:
        """Arguments and ops."""
        arguments = tuple([(self._number(a), known_attribute(a.type)) for a in block.args])
        return arguments, tuple([self._op(op) for op in block_ops(block)])

    def _op(self, op: Operation) -> Hashable:
        return (
            op.name,
            tuple([self._number(o) for o in operands_of(op)]),
            tuple([(self._number(r), known_attribute(r.type)) for r in op.results]),
            tuple([(n, known_attribute(op.properties[n])) for n in sorted(op.properties)]),
            tuple([(n, known_attribute(op.attributes[n])) for n in sorted(op.attributes)]),
            tuple([self.block(block) for region in op.regions for block in region.blocks]),
        )

    def _number(self, value: SSAValue) -> int:
        return self._numbers.setdefault(value, len(self._numbers))
