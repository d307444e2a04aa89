"""`partition{backend=NAME}`: convex parts of a program become calls of what a back end makes of it.

The pass stands behind the contract of `core_aten` or `prims`, wherever a pipeline puts it. Ops that
the back end supports are grouped with the producers of what they read, and each group becomes one
`prims.extern` of the kernel `partition.NAME`, whose option is the group's text: the back end
compiles it when the program is compiled, and again where saved or cached code is loaded. What it
refuses stands in the module's attribute `lamina.refused`, with reason and place, and runs natively.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from lamina.dialects import prims
from lamina.dialects.extension_entries import Entry
from lamina.dialects.places import place_of
from lamina.dialects.records import record
from lamina.lowering.partition.backends import backend_entry, compiled_region
from lamina.lowering.partition.convex import convex_groups
from lamina.passes.contracts.contracts import FOREIGN
from lamina.passes.defined_functions import defined_functions

LIBRARY = "partition"
"""The library of the kernels; the back end's name follows."""

REFUSED = "lamina.refused"
"""Attribute of a module: what back ends do not take, an array of strings."""


@record
class PartitionPass(ModulePass):
    """Hand to a back end what it supports, in groups of `least` ops and more."""

    name = "partition"

    backend: str
    least: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        entry = backend_entry(self.backend)
        refused: list[str] = []
        for function in defined_functions(op):
            inner = [block for o in function.walk() for r in o.regions for block in r.blocks]
            for block in inner:
                refused += _Partition(self, entry).run(block)
        before = op.attributes.get(REFUSED)
        earlier = list(before.data) if isinstance(before, ArrayAttr) else []
        if refused:
            op.attributes[REFUSED] = ArrayAttr([*earlier, *map(StringAttr, refused)])


class _Partition:
    """One block of a program, of a function or of a branch or loop, and one back end."""

    def __init__(self, options: PartitionPass, entry: Entry) -> None:
        self._name, self._least, self._entry = options.backend, options.least, entry
        self._refused: list[str] = []

    def run(self, block: Block) -> list[str]:
        """Outlines the groups; gives what was refused, and why."""
        ops = [op for op in block.ops if op is not block.last_op]
        taken = [self._takes(op) for op in ops]
        groups, order = convex_groups(ops, taken.__getitem__)
        small = [group for group in groups if len(group) < self._least]
        for group in small:
            for number in group:
                self._refuse(ops[number], f"its group has {len(group)} ops, not {self._least}")
        end = block.last_op
        assert end is not None
        for numbers in order:
            members = [ops[number] for number in numbers]
            if taken[numbers[0]] and numbers not in small:
                self._outline(members, end)
                continue
            for op in members:
                op.detach()
                block.insert_op_before(op, end)
        return self._refused

    def _takes(self, op: Operation) -> bool:
        if op.name == FOREIGN or isinstance(op, arith.ConstantOp):
            return False
        reason = _unfit(op)
        if reason is None:
            try:
                said = self._entry.value.supports(op)
            except Exception as error:
                where = f"back end '{self._name}' raises on {_where(op)}:"
                raise self._entry.error(where, error) from error
            if said is True:
                return True
            if said is not False and not isinstance(said, str):
                raise self._entry.error(
                    f"back end '{self._name}' answers supports({_where(op)}) with a "
                    f"{type(said).__name__}, which is neither True nor a reason why not"
                )
            reason = said or "not supported"
        self._refuse(op, reason)
        return False

    def _refuse(self, op: Operation, reason: str) -> None:
        self._refused.append(f"{self._name}: {_where(op)}: {reason}")

    def _outline(self, members: Sequence[Operation], end: Operation) -> None:
        inside = set(members)
        numbers = [v for op in members for v in op.operands if not _is_tensor(v.type)]
        copied = {v.owner for v in numbers if isinstance(v.owner, arith.ConstantOp)}
        inputs = dict.fromkeys(
            value
            for op in members
            for value in op.operands
            if value.owner not in inside and value.owner not in copied
        )
        results = [
            result
            for op in members
            for result in op.results
            if any(use.operation not in inside for use in result.uses)
        ]
        if results:
            region = _region(members, list(inputs), results, copied)
            text = str(region)
            names = ", ".join(dict.fromkeys(op.name for op in members))
            what = f"{len(members)} ops from {_where(members[0])} on ({names})"
            compiled_region(self._name, text, region.clone, what)
            extern = prims.op("extern")
            call = extern(
                list(inputs),
                f"{LIBRARY}.{self._name}",
                json.dumps({"program": text}),
                result_types=[result.type for result in results],
                location=members[0].location,
            )
            block = end.parent
            assert block is not None
            block.insert_op_before(call, end)
            for result, made in zip(results, call.results, strict=True):
                made.name_hint = result.name_hint
                result.replace_all_uses_with(made)
        for op in reversed(members):
            op.detach()
            op.erase()


def _unfit(op: Operation) -> str | None:
    """Why no back end can have an op, or None."""
    if op.regions:
        return "the op itself stays; what is in its regions is asked for"
    for value in op.operands:
        if not _is_tensor(value.type) and not isinstance(value.owner, arith.ConstantOp):
            return f"an operand of type {value.type} is computed"
    for value in op.results:
        if not _is_tensor(value.type):
            return f"a result of type {value.type} is no tensor of a known size"
    return None


def _is_tensor(kind: Attribute) -> bool:
    return isinstance(kind, TensorType) and all(extent >= 0 for extent in kind.get_shape())


def _region(
    members: Sequence[Operation],
    inputs: Sequence[SSAValue],
    results: Sequence[SSAValue],
    copied: set[arith.ConstantOp],
) -> ModuleOp:
    """A module whose `@main` computes the results from the inputs."""
    block = Block(arg_types=[value.type for value in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in (*copied, *members):
        block.add_op(op.clone(values))
    block.add_op(func.ReturnOp(*(values[result] for result in results)))
    types = [value.type for value in inputs], [result.type for result in results]
    return ModuleOp([func.FuncOp("main", types, Region(block))])


def _where(op: Operation) -> str:
    place = place_of(op)
    return f"{op.name} (at {place})" if place else op.name
