"""Control ops between `outline-regions` and `inline-regions`: changing what their regions take.

Each region then holds a call of its own function with all region arguments, and a yield of all that
the call gives. That shape is kept: an operand that is added reaches every region's function.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.control import CondOp, RegionOp, RepeatOp, ScanOp, YieldOp
from lamina.dialects.control.scan import stacked
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, ReshapeOp, before_reshapes
from lamina.dialects.loop.access import is_copy
from lamina.dialects.op_accessors import operands_of
from lamina.dialects.records import mutable_record
from lamina.passes.contracts.entry_attributes import constants_of
from lamina.passes.defined_functions import defined_functions
from lamina.passes.regions.outline_regions import REGION


@mutable_record
class Outlined:
    """A control op and the functions of its regions."""

    op: RegionOp
    functions: list[func.FuncOp]

    @property
    def bodies(self) -> list[Block]:
        """The functions' bodies."""
        return [function.body.block for function in self.functions]

    @property
    def fixed(self) -> int:
        """The number of the first region argument that stays the same in all rounds."""
        return 0 if isinstance(self.op, CondOp) else len(self.steps[0]) - len(self.op.groups[-1])

    @property
    def steps(self) -> list[list[SSAValue]]:
        """What the arguments of a region are, of a repeat for each step: carried values stand for
        where they start, what a scan walks for its elements."""
        op = self.op
        if isinstance(op, RepeatOp):
            return [[*op.starts, *own, *op.inputs] for own in op.own_operands]
        first = 1 if isinstance(op, CondOp) else 0  # a branch is not given its predicate
        return [[value for group in op.groups[first:] for value in group]]

    def add_fixed(self, value: SSAValue) -> list[BlockArgument]:
        """Give every region one more operand; the argument of each function for it."""
        groups = [list(group) for group in self.op.groups]
        groups[-1].append(value)
        self._rebuild(groups, [r.type for r in self.op.results])
        place = len(self.bodies[0].args)
        return [self._add_argument(n, place, value.type) for n in range(len(self.functions))]

    def add_own(self, values: Sequence[SSAValue]) -> BlockArgument:
        """Give each step of a repeat one of these; the argument of its function for it."""
        op, place = self.op, self.fixed
        assert isinstance(op, RepeatOp)
        steps = zip(op.own_operands, values, strict=True)
        own = [value for step, added in steps for value in (*step, added)]
        self._rebuild([op.starts, own, op.inputs], [r.type for r in op.results])
        return self._add_argument(0, place, values[0].type)

    def add_sequence(self, value: SSAValue, element: Attribute) -> BlockArgument:
        """Let a scan walk over one more tensor; the argument of its function for an element."""
        starts, sequences, inputs = (list(group) for group in self.op.groups)
        sequences.append(value)
        self._rebuild([starts, sequences, inputs], [r.type for r in self.op.results])
        return self._add_argument(0, len(starts) + len(sequences) - 1, element)

    def change_results(
        self, dropped: Sequence[int], added: Sequence[SSAValue], length: int
    ) -> Sequence[SSAValue]:
        """Take away stacked results of a scan, and stack these values of its function instead.

        Gives the new results, of `length` elements each.
        """
        kept = [n for n in range(len(self.op.results)) if n not in dropped]
        (body,) = self.bodies
        end = body.last_op
        assert isinstance(end, func.ReturnOp)
        end.operands = [*(end.operands[n] for n in kept), *added]
        self.functions[0].update_function_type()
        types = [self.op.results[n].type for n in kept]
        types += [stacked(value.type, length) for value in added]
        self._call_anew(0)
        self._rebuild([list(group) for group in self.op.groups], types, kept)
        return list(self.op.results)[len(kept) :]

    def drop_unused(self) -> None:
        """Take away operands that no region uses; a scan keeps one tensor to walk over."""
        first = self.fixed
        inputs = self.op.groups[-1]
        unused = [
            first + n
            for n in range(len(inputs))
            if not any(body.args[first + n].uses for body in self.bodies)
        ]
        groups = [list(group) for group in self.op.groups]
        groups[-1] = [v for n, v in enumerate(inputs) if first + n not in unused]
        if isinstance(self.op, ScanOp):
            carried = len(self.op.starts)
            walked = [n for n in range(carried, first) if not self.bodies[0].args[n].uses]
            walked = walked[: len(self.op.sequences) - 1]
            groups[1] = [v for n, v in enumerate(groups[1], carried) if n not in walked]
            unused = walked + unused
        elif isinstance(self.op, RepeatOp):
            carried = len(self.op.starts)
            own = [n for n in range(carried, first) if not self.bodies[0].args[n].uses]
            steps = (enumerate(step, carried) for step in self.op.own_operands)
            groups[1] = [v for step in steps for n, v in step if n not in own]
            unused = own + unused
        if not unused:
            return
        for region, body in enumerate(self.bodies):
            for number in reversed(unused):
                body.erase_arg(body.args[number])
                block = self.op.blocks[region]
                block.erase_arg(block.args[number], safe_erase=False)
            self.functions[region].update_function_type()
            self._call_anew(region)
        self._rebuild(groups, [r.type for r in self.op.results])

    def _call_anew(self, region: int) -> None:
        """The region's call and yield as its function now is."""
        block, function = self.op.blocks[region], self.functions[region]
        call, end = block.first_op, block.last_op
        assert isinstance(call, func.CallOp) and isinstance(end, YieldOp)
        made = func.CallOp(call.callee, list(block.args), list(function.function_type.outputs))
        made.location = call.location
        block.insert_op_before(made, call)
        Rewriter.replace_op(end, YieldOp(made.res))
        block.erase_op(call)

    def _add_argument(self, region: int, place: int, kind: Attribute) -> BlockArgument:
        function = self.functions[region]
        argument = function.body.block.insert_arg(kind, place)
        function.update_function_type()
        block = self.op.blocks[region]
        block.insert_arg(kind, place)
        call = block.first_op
        assert isinstance(call, func.CallOp)
        call.operands = list(block.args)
        return argument

    def _rebuild(
        self,
        groups: Sequence[Sequence[SSAValue]],
        types: Sequence[Attribute],
        kept: Sequence[int] | None = None,
    ) -> None:
        """The op with other operands and fewer results, its regions moved into it."""
        old = self.op
        regions = [old.detach_region(region) for region in list(old.regions)]
        new = old.build_from(groups, types, regions)
        new.attributes.update(old.attributes)
        new.location = old.location
        numbers = range(len(old.results)) if kept is None else kept
        values: list[SSAValue | None] = [None] * len(old.results)
        for number, result in zip(numbers, new.results, strict=False):
            result.name_hint = old.results[number].name_hint
            values[number] = result
        Rewriter.replace_op(old, new, values)
        self.op = new


def outlined_ops(module: ModuleOp) -> list[Outlined]:
    """All control ops whose regions are outlined, inner ones first."""
    functions = {
        f.sym_name.data: f for f in block_ops(module.body.block) if isinstance(f, func.FuncOp)
    }
    found: list[Outlined] = []
    # Functions of inner regions stand in front of those of outer ones, and @main before all.
    main = [f for f in functions.values() if REGION not in f.attributes]
    inner = [f for f in functions.values() if REGION in f.attributes]
    for function in (*inner, *main):
        for block in function.body.blocks:
            for op in block.ops:
                if isinstance(op, RegionOp):
                    bodies = [_function_of(region, functions) for region in op.blocks]
                    if all(bodies):
                        found.append(Outlined(op, [b for b in bodies if b is not None]))
    return found


def _function_of(block: Block, functions: dict[str, func.FuncOp]) -> func.FuncOp | None:
    call, end = block.first_op, block.last_op
    if not isinstance(call, func.CallOp) or not isinstance(end, YieldOp) or call.next_op is not end:
        return None
    if list(call.operands) != list(block.args) or list(end.operands) != list(call.results):
        return None
    function = functions.get(call.callee.root_reference.data)
    return function if function is not None and REGION in function.attributes else None


def invariant_values(module: ModuleOp) -> set[SSAValue]:
    """Values that stay the same: constants of `@main`, what all rounds of a loop take, and what
    nests make of such alone, if `hoist-invariants` moves them or they only rearrange it.

    Of a branch, and of what is not carried through a repeat, it is those of the arguments whose
    operands are such values.
    """
    found: set[SSAValue] = set()
    for function in defined_functions(module):
        found.update(constants_of(function))
        _add_made(function.body.block, found)
    for outlined in reversed(outlined_ops(module)):
        steps = outlined.steps
        loops = not isinstance(outlined.op, CondOp | RepeatOp)
        first = len(outlined.op.starts) if isinstance(outlined.op, RepeatOp) else outlined.fixed
        for number in range(first, len(steps[0])):
            if loops or all(before_reshapes(step[number]) in found for step in steps):
                found.update(body.args[number] for body in outlined.bodies)
        for body in outlined.bodies:
            _add_made(body, found)
    return found


def _add_made(block: Block, found: set[SSAValue]) -> None:
    for op in block.ops:
        operands = operands_of(op)
        same = operands and all(operand in found for operand in operands)
        if same and (is_copy(op) or can_move(op)):  # readers take the place of most copies
            found.update(op.results)


def can_move(op: Operation) -> bool:
    """Whether an op on values that stay the same is computed before the loop or call: it does not
    grow its operands, and has no indirect reads, whose checks might fail for nothing. A copy that
    fills up panels of a product may grow them, to twice their size at most."""
    if isinstance(op, ReshapeOp):
        return True
    if not isinstance(op, GenericOp) or op.sources:
        return False
    fills_up = is_copy(op) and op.pad_values[0] is not None
    most = sum(map(_elements, op.operands)) * (2 if fills_up else 1)
    return sum(map(_elements, op.results)) <= most


def _elements(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return prod(value.type.get_shape())
