"""Values of steps as elements of one tensor: what reads all of them in order reads the tensor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from lamina.dialects import aten
from lamina.dialects.schema.op import SchemaOp


def inserted(name: str, before: Operation, *args: Any) -> SSAValue:
    """The result of an `aten` op that is put in front of another one."""
    op_class: Any = aten.op(name)
    op = op_class(*args, location=before.location)
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
    return op.results[0]


def moved(value: SSAValue, start: int, to: int, before: Operation) -> SSAValue:
    """The tensor with a dimension in another place, the others in their order."""
    if start == to:
        return value
    dims = [d for d in range(_rank(value)) if d != start]
    dims.insert(to, start)
    return inserted("permute.default", before, value, dims)


def read_whole(values: Sequence[SSAValue], whole: SSAValue, without: Collection[Operation]) -> None:
    """Ops that stack or concatenate all `values`, elements of `whole` along its first dimension, or
    each of them with a dimension more, read the whole at once; but for ops `without`."""
    users = {use.operation: None for value in values for use in value.uses}
    for user in list(users):
        if user not in without:
            _read_whole(user, values, whole)


def read_elements(
    values: Sequence[SSAValue], whole: SSAValue, without: Collection[Operation]
) -> None:
    """What else reads one of `values` takes an element of `whole`; but for ops `without`."""
    for number, value in enumerate(values):
        if all(use.operation in without for use in value.uses):
            continue
        element = inserted("select.int", _first_behind(whole), whole, 0, number)
        value.replace_uses_with_if(element, lambda use: use.operation not in without)


def _first_behind(whole: SSAValue) -> Operation:
    assert isinstance(whole.owner, Operation)
    behind = whole.owner.next_op
    assert behind is not None
    return behind


def _read_whole(user: Operation, values: Sequence[SSAValue], whole: SSAValue) -> None:
    if user.parent is None or not isinstance(user, SchemaOp):
        return
    if user.name == "aten.unsqueeze.default":
        dim = user.arg("dim") % _rank(user.results[0])
        for use in list(user.results[0].uses):
            _concatenate(use.operation, values, whole, unsqueezed=dim)
    elif user.name == "aten.stack.default":
        order = _order(list(user.operands), values)
        if order:
            dim = user.arg("dim") % _rank(user.results[0])
            _replace(user, moved(_ordered(whole, order, user), 0, dim, user))
    else:
        _concatenate(user, values, whole)


def _concatenate(
    user: Operation, values: Sequence[SSAValue], whole: SSAValue, unsqueezed: int | None = None
) -> None:
    """A concatenation of all values, or of them with a dimension of extent 1 at that place."""
    if user.parent is None or not isinstance(user, SchemaOp) or user.name != "aten.cat.default":
        return
    given, dim = list(user.operands), user.arg("dim") % _rank(user.results[0])
    if unsqueezed is not None:
        ops = [value.owner for value in given]
        if dim != unsqueezed or not all(_unsqueezes(op, dim) for op in ops):
            return
        given = [op.operands[0] for op in ops if isinstance(op, Operation)]
    order = _order(given, values)
    if not order:
        return
    made = moved(_ordered(whole, order, user), 0, dim, user)
    if unsqueezed is None:
        shape = list(user.results[0].type.get_shape())  # pyright: ignore
        made = inserted("reshape.default", user, made, shape)
    _replace(user, made)


def _unsqueezes(op: object, dim: int) -> bool:
    if not isinstance(op, SchemaOp) or op.name != "aten.unsqueeze.default":
        return False
    return op.arg("dim") % _rank(op.results[0]) == dim


def _order(given: Sequence[SSAValue], values: Sequence[SSAValue]) -> int:
    """1 if these are the values, -1 if the last one is the first; else 0."""
    if len(given) != len(values):
        return 0
    if all(one is other for one, other in zip(given, values, strict=True)):
        return 1
    backward = zip(given, reversed(values), strict=True)
    return -1 if all(one is other for one, other in backward) else 0


def _ordered(whole: SSAValue, order: int, before: Operation) -> SSAValue:
    return whole if order > 0 else inserted("flip.default", before, whole, [0])


def _replace(user: SchemaOp, made: SSAValue) -> None:
    user.results[0].replace_all_uses_with(made)
    read = [value.owner for value in user.operands]
    user.detach()
    user.erase()
    for op in read:
        if isinstance(op, SchemaOp) and op.name == "aten.unsqueeze.default" and op.parent:
            erase_unread(op)


def erase_unread(op: Operation) -> bool:
    """Whether nothing reads an op, which is erased then."""
    if any(result.uses for result in op.results):
        return False
    op.detach()
    op.erase()
    return True


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape())  # pyright: ignore[reportAttributeAccessIssue]
