"""Sorts by a comparator: its keys are found, and sorted by prims.sort, the last key first."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i8
from xdsl.ir import Block, Operation, SSAValue

from lamina.dialects.records import record
from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering import scalar
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.stablehlo_to_prims.scalar_bodies import scalar_body, yielded
from lamina.lowering.stablehlo_to_prims.scalar_functions import total_order
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers, result_element
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    rank_of,
    shape_of,
)


@record
class Key:
    """What one comparison of a comparator sorts by: a value of its region, made of the left
    arguments."""

    value: SSAValue
    descending: bool
    is_total: bool


@lowers("sort")
def sort(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """Stable, whether asked for or not."""
    values, rank = list(op.operands), rank_of(op.operands[0])
    dim = op.int("dimension", -1)
    if not -rank <= dim < max(rank, 1):
        raise ValueError(f"there is no dimension {dim} in {values[0].type}")
    if not rank:
        return values
    dim %= rank
    block = op.regions[0].block
    keys = _keys(block, yielded(block)[0])
    if keys is None:
        raise b.refuse(
            "a comparator that is no order by keys",
            "comparisons LT or GT of one value of both sides, joined by and, or, EQ",
        )
    order: SSAValue | None = None
    for key in reversed(keys):
        made = _key_tensor(b, block, values, key)
        if order is not None:
            made = b("gather", made, order, dim)
        ordered = b.op("sort", made, dim, key.descending)
        if len(keys) == len(values) == 1 and made is values[0]:
            return [ordered.results[0]]
        places = ordered.results[1]
        order = places if order is None else b("gather", order, places, dim)
    assert order is not None
    return [_picked(b, value, order, dim) for value in values]


def _picked(b: HloBuilder, value: SSAValue, order: SSAValue, dim: int) -> SSAValue:
    if is_complex(element_of(value)):
        parts = [b("gather", b(part, value), order, dim) for part in ("real", "imag")]
        return b("complex", *parts)
    return b("gather", value, order, dim)


def _key_tensor(b: HloBuilder, block: Block, values: list[SSAValue], key: Key) -> SSAValue:
    """What a key is of each element, in a type whose order is that of the comparison."""
    kind = element_of(key.value)
    plain = next(
        (v for v, arg in zip(values, block.args[::2], strict=True) if arg is key.value), None
    )
    total = key.is_total and is_float(kind)
    if plain is not None and not total and not is_bool(kind):
        return plain
    if is_complex(kind):
        raise b.refuse("sorts by complex numbers", "their parts")
    element = IntegerType(kind.bitwidth) if total else i8 if is_bool(kind) else kind  # pyright: ignore

    def body(inner: Body, args: list[SSAValue]) -> SSAValue:
        both = [arg for arg in args for _ in "lr"]
        (made,) = scalar_body(inner, block, both, wanted=[key.value])
        if total:
            return total_order(inner, made)
        return scalar.convert(inner, made, element)

    return b.loop_of_parts.pointwise(values, element, body)


def _keys(block: Block, value: SSAValue) -> list[Key] | None:
    """The keys of an order, most important first; None for what is no such order."""
    op = value.owner
    if not isinstance(op, HloOp):
        return None
    name = op.name.partition(".")[2]
    if name == "compare":
        return _compared(block, op)
    if name == "or":
        for first, second in (op.operands, tuple(reversed(op.operands))):
            found = _lexicographic(block, first, second)
            if found is not None:
                return found
    return None


def _lexicographic(block: Block, first: SSAValue, second: SSAValue) -> list[Key] | None:
    """`a < b or (a == b and rest)`."""
    before, rest = _keys(block, first), second.owner
    if before is None or len(before) != 1 or not isinstance(rest, HloOp):
        return None
    if rest.name != "stablehlo.and":
        return None
    for equal, behind in (rest.operands, tuple(reversed(rest.operands))):
        same = equal.owner
        if not isinstance(same, HloOp) or same.name != "stablehlo.compare":
            continue
        left, right = same.operands
        about = {left, right}
        is_equal = word(same.attr("comparison_direction")) == "EQ"
        if is_equal and before[0].value in about and _mirrored(block, left, right):
            keys = _keys(block, behind)
            return None if keys is None else [*before, *keys]
    return None


def _compared(block: Block, op: HloOp) -> list[Key] | None:
    direction = word(op.attr("comparison_direction"))
    left, right = op.operands
    is_total = word(op.attr("compare_type")) == "TOTALORDER"
    if direction not in ("LT", "GT"):
        return None
    descending = direction == "GT"
    if _side(block, left) == 1:
        left, right, descending = right, left, not descending
    if not _mirrored(block, left, right):
        return None
    return [Key(left, descending, is_total)]


def _side(block: Block, value: SSAValue) -> int | None:
    """0 for a value made of left arguments, 1 for one of right arguments; None for neither."""
    args: list[SSAValue] = list(block.args)
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        at = waiting.pop()
        if at in args:
            seen.add(args.index(at) % 2)
        elif isinstance(at.owner, Operation) and at.owner.parent is block:
            waiting += at.owner.operands
    return seen.pop() if len(seen) == 1 else None


def _mirrored(block: Block, left: SSAValue, right: SSAValue) -> bool:
    """Whether two values are the same of the left arguments and of the right ones, or reversed."""
    sides = _side(block, left), _side(block, right)
    return None not in sides and sides[0] != sides[1] and _alike(block, left, right)


def _alike(block: Block, left: SSAValue, right: SSAValue) -> bool:
    args: list[SSAValue] = list(block.args)
    if left in args or right in args:
        return left in args and right in args and args.index(left) // 2 == args.index(right) // 2
    one, other = left.owner, right.owner
    if not isinstance(one, Operation) or not isinstance(other, Operation):
        return left is right
    return one is other or (
        (one.name, one.properties, one.attributes)
        == (other.name, other.properties, other.attributes)
        and len(one.operands) == len(other.operands)
        and all(_alike(block, x, y) for x, y in zip(one.operands, other.operands, strict=True))
    )


@lowers("top_k")
def top_k(op: HloOp, b: HloBuilder) -> Sequence[SSAValue]:
    """prims.topk of the last dimension."""
    x, count = op.operands[0], op.int("k")
    rank = rank_of(x)
    if not rank or not 0 <= count <= shape_of(x)[-1]:
        raise ValueError(f"k = {count} of {x.type}")
    made = b.op("topk", x, rank - 1, count, True)
    return [made.results[0], b.convert(made.results[1], result_element(op, 1))]
