"""`unroll-layers`: each step of a `control.repeat` is written out, one after the other.

It undoes what `roll-layers` did; in between, the region has become calls of kernels. One that takes
the same in each step, such as a mask's, stands there once. So does a check of sizes that all steps
make: an entry returns it once.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from lamina.dialects.control import RegionOp, RepeatOp, YieldOp
from lamina.dialects.ir_links import block_ops
from lamina.dialects.op_effects import is_free_of_effects
from lamina.passes.defined_functions import defined_functions

_CHECK = StringAttr("check")


class UnrollLayersPass(ModulePass):
    """Write the steps of repeats out, also within other regions."""

    name = "unroll-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for block in function.body.blocks:
                unroll_in(block)
            _return_checks_once(function)


def _return_checks_once(function: func.FuncOp) -> None:
    """Leave out results that check what another one does."""
    end = None if function.is_declaration else function.body.blocks[-1].last_op
    if not isinstance(end, func.ReturnOp) or function.res_attrs is None:
        return
    entries, returned = function.res_attrs.data, list(end.operands)
    kept: list[int] = []
    checked: set[SSAValue] = set()
    for number, (entry, value) in enumerate(zip(entries, returned, strict=True)):
        if not _is_check(entry):
            kept.append(number)
        elif value not in checked:
            kept.append(number)
            checked.add(value)
    if len(kept) < len(returned):
        end.operands = [returned[number] for number in kept]
        function.res_attrs = ArrayAttr([entries[number] for number in kept])
        function.update_function_type()


def _is_check(entry: Attribute) -> bool:
    return isinstance(entry, DictionaryAttr) and entry.data.get("lamina.kind") == _CHECK


def unroll_in(block: Block) -> None:
    """Write the repeats of a block out, and those in regions of its ops."""
    for op in block_ops(block):
        if isinstance(op, RegionOp):
            for inner in op.blocks:
                unroll_in(inner)
        if isinstance(op, RepeatOp):
            _unroll(op)


def _unroll(op: RepeatOp) -> None:
    body, carried = op.body_region.block, list(op.starts)
    end = body.last_op
    assert isinstance(end, YieldOp)
    given: list[SSAValue] = []
    first: dict[SSAValue, SSAValue] = {}  # what values of the region are in the first step
    for own in op.own_operands:
        outside = [*carried, *own, *op.inputs]
        known: dict[SSAValue, SSAValue] = dict(zip(body.args, outside, strict=True))
        first = first or known
        for inner in block_ops(body):
            if inner is not end:
                _write_out(inner, known, first, op)
        results = [known[value] for value in end.values]
        carried = results[: len(carried)]
        given += results[len(carried) :]
    Rewriter.replace_op(op, [], [*carried, *given])


def _write_out(
    inner: Operation, known: dict[SSAValue, SSAValue], first: dict[SSAValue, SSAValue], op: RepeatOp
) -> None:
    """A step's copy of an op, or what the first step has made of the same."""
    is_same = known is not first and all(known[v] is first[v] for v in inner.operands)
    if is_same and (isinstance(inner, func.CallOp) or is_free_of_effects(inner)):
        known.update((result, first[result]) for result in inner.results)
        return
    assert op.parent is not None
    op.parent.insert_op_before(inner.clone(known), op)
