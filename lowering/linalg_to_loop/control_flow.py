"""`scf.for` and `scf.if` on tensors: short loops are unrolled, others are ops of `control`.

Regions of `control` ops see their arguments only: what a body takes from around it becomes one,
numbers as tensors of rank 0; constants are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from lamina.dialects.control import CondOp, WhileOp, YieldOp
from lamina.lowering.linalg_to_loop.linalg_number_arguments import held_type
from lamina.passes.refusal import unsupported

MOST_UNROLLED = 8
"""Steps of a loop whose bodies are written out: more would only make the program longer."""


def structure_control(block: Block) -> None:
    """Replace the loops and branches of a block by unrolled bodies and `control` ops."""
    for op in list(block.ops):
        if isinstance(op, scf.ForOp):
            steps = _steps(op)
            is_short = steps is not None and steps <= MOST_UNROLLED
            _replace(op, _unrolled(op) if is_short else _while(op))
        elif isinstance(op, scf.IfOp):
            _replace(op, _cond(op))
        elif op.name.startswith("scf."):
            raise unsupported(op, "no lowering from linalg", "scf.for and scf.if on tensors")


def _replace(op: Operation, values: Sequence[SSAValue]) -> None:
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    held = owner.value if isinstance(owner, arith.ConstantOp) else None
    number = getattr(getattr(held, "value", None), "data", None)
    return number if isinstance(number, int) else None


def _steps(op: scf.ForOp) -> int | None:
    low, high, step = map(_constant, (op.lb, op.ub, op.step))
    if low is None or high is None or step is None or step < 1:
        return None
    return max(0, -((low - high) // step))


def _insert(before: Operation, op: Operation) -> Operation:
    block = before.parent
    assert block is not None
    op.location = before.location
    block.insert_op_before(op, before)
    return op


def _copied(
    body: Block, into: Block, before: Operation | None, known: dict[SSAValue, SSAValue]
) -> list[SSAValue]:
    """The ops of a body, with these values in the place of others; what it yields."""
    *ops, end = body.ops
    for op in ops:
        made = op.clone(known)
        for old, new in zip(op.walk(), made.walk(), strict=True):
            new.location = old.location
        if before is None:
            into.add_op(made)
        else:
            into.insert_op_before(made, before)
    return [known.get(value, value) for value in end.operands]


def _unrolled(op: scf.ForOp) -> list[SSAValue]:
    block = op.parent
    steps, low, step = _steps(op), _constant(op.lb), _constant(op.step)
    assert block is not None and steps is not None and low is not None and step is not None
    place, *carried = op.body.block.args
    values: list[SSAValue] = list(op.iter_args)
    first = op.prev_op
    for number in range(steps):
        kind = op.lb.type
        at = arith.ConstantOp.from_int_and_width(low + number * step, kind)  # pyright: ignore
        _insert(op, at)
        known: dict[SSAValue, SSAValue] = {place: at.result}
        known.update(zip(carried, values, strict=True))
        values = _copied(op.body.block, block, op, known)
    _structure_between(first, op)
    return values


def _structure_between(first: Operation | None, last: Operation) -> None:
    """The loops in what was just copied."""
    block = last.parent
    assert block is not None
    op = block.first_op if first is None else first.next_op
    while op is not None and op is not last:
        following = op.next_op
        if isinstance(op, scf.ForOp | scf.IfOp):
            holder = Block()
            op.detach()
            holder.add_op(op)
            structure_control(holder)
            for inner in list(holder.ops):
                inner.detach()
                block.insert_op_before(inner, following or last)
        op = following


def _captured(bodies: Sequence[Block]) -> list[SSAValue]:
    """What bodies take from around them, but constants."""
    found: list[SSAValue] = []
    for body in bodies:
        defined: set[SSAValue] = set(body.args)
        for op in body.walk():
            defined.update(op.results)
            for region in op.regions:
                defined.update(a for b in region.blocks for a in b.args)
        for op in body.walk():
            for value in op.operands:
                is_constant = isinstance(value.owner, arith.ConstantOp)
                if value not in defined and value not in found and not is_constant:
                    found.append(value)
    return found


def _held(before: Operation, value: SSAValue) -> SSAValue:
    """A tensor for a number."""
    if isinstance(value.type, TensorType):
        return value
    cast = UnrealizedConversionCastOp.get([value], [held_type(value.type)])
    return _insert(before, cast).results[0]


def _number(before: Operation, value: SSAValue, kind: Attribute) -> SSAValue:
    """The number that a tensor holds."""
    if value.type == kind:
        return value
    return _insert(before, UnrealizedConversionCastOp.get([value], [kind])).results[0]


class _Region:
    """A region of a `control` op that is being made; its arguments stand for these values."""

    def __init__(self, meant: Sequence[SSAValue], anchor: Operation) -> None:
        kinds = [v.type if isinstance(v.type, TensorType) else held_type(v.type) for v in meant]
        self.block = Block(arg_types=kinds)
        self.anchor = anchor
        self.known: dict[SSAValue, SSAValue] = {}
        for value, argument in zip(meant, self.block.args, strict=True):
            self.known[value] = argument
            if argument.type != value.type:
                cast = UnrealizedConversionCastOp.get([argument], [value.type])
                self.known[value] = self.add(cast)

    def add(self, op: Operation) -> SSAValue:
        """Append an op; its first result."""
        op.location = self.anchor.location
        self.block.add_op(op)
        return op.results[0]

    def copy(self, body: Block) -> list[SSAValue]:
        """Append a body; constants of around it are copied first."""
        for op in body.walk():
            for value in op.operands:
                self.local(value)
        return _copied(body, self.block, None, self.known)

    def local(self, value: SSAValue) -> SSAValue:
        """A value as the region sees it."""
        owner = value.owner
        if value not in self.known and isinstance(owner, arith.ConstantOp):
            around = owner.parent
            if around is not None and not self._is_inside(owner):
                self.known[value] = self.add(owner.clone())
        return self.known.get(value, value)

    def _is_inside(self, op: Operation) -> bool:
        holder: Operation | None = op
        while holder is not None:
            if holder is self.anchor:
                return True
            holder = holder.parent_op()
        return False

    def end(self, values: Sequence[SSAValue]) -> Region:
        """End it with these values, numbers as tensors."""
        held = [
            value
            if isinstance(value.type, TensorType)
            else self.add(UnrealizedConversionCastOp.get([value], [held_type(value.type)]))
            for value in values
        ]
        end = YieldOp.build(operands=[held])
        end.location = self.anchor.location
        self.block.add_op(end)
        structure_control(self.block)
        return Region(self.block)


def _while(op: scf.ForOp) -> list[SSAValue]:
    body = op.body.block
    bounds = [v for v in (op.ub, op.step) if not isinstance(v.owner, arith.ConstantOp)]
    around = list(dict.fromkeys([*bounds, *_captured([body])]))
    meant = [*body.args, *around]
    starts = [_held(op, value) for value in (op.lb, *op.iter_args)]
    test = _Region(meant, op)
    place = test.known[body.args[0]]
    goes_on = test.add(arith.CmpiOp(place, test.local(op.ub), "slt"))
    do = _Region(meant, op)
    values = do.copy(body)
    following = do.add(arith.AddiOp(do.known[body.args[0]], do.local(op.step)))
    inputs = [_held(op, value) for value in around]
    loop = WhileOp(starts, inputs, test.end([goes_on]), do.end([following, *values]))
    _insert(op, loop)
    kinds = [result.type for result in op.results]
    pairs = zip(loop.res[1:], kinds, strict=True)
    return [_number(op, value, kind) for value, kind in pairs]


def _cond(op: scf.IfOp) -> list[SSAValue]:
    if not op.results:
        raise unsupported(op, "gives nothing", "a branch that yields tensors")
    bodies = [op.true_region.block, op.false_region.block]
    around = _captured(bodies)
    predicate = _held(op, op.cond)
    regions: list[Region] = []
    for body in bodies:
        region = _Region(around, op)
        values = region.copy(body)
        regions.append(region.end([region.local(value) for value in values]))
    kinds = [result.type for result in op.results]
    held = [kind if isinstance(kind, TensorType) else held_type(kind) for kind in kinds]
    inputs = [_held(op, value) for value in around]
    branch = CondOp(predicate, inputs, held, regions[0], regions[1])
    _insert(op, branch)
    return [_number(op, value, kind) for value, kind in zip(branch.res, kinds, strict=True)]
