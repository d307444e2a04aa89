"""Split sums of exponentials below a maximum that is split as well: one walk for each part.

A part's exponentials are taken below the maximum of that part alone, so that its kernel walks it
while it is in a cache. Maximum m and sum s are one monoid: of two parts, the sum below the larger
maximum is s exp(m - larger) + s' exp(m' - larger), as in an online softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, YieldOp
from lamina.dialects.loop.access import is_copy
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.monoid import COMBINE, Monoid, join_body
from lamina.dialects.loop.same_values import is_same_value
from lamina.dialects.loop.scalar_ops import compare_op, constant_op, select_op
from lamina.dialects.records import record
from lamina.passes.loop.body_folding import constant_of
from lamina.passes.loop.loop_rewriting import rebuild

OEQ = "oeq"


@record
class _Split:
    """A partial sum of exponentials below a maximum that is split in the same way."""

    largest: GenericOp
    """The partial maxima."""
    total: GenericOp
    join: GenericOp
    """What adds up the partial sums."""
    read: int
    """The read of the maximum in `total`."""
    is_finite: bool
    """Whether it is 0 in the place of an infinite one there."""


def join_softmax(join: GenericOp) -> None:
    """Where `join` adds up such sums: let each part have its own maximum, in place."""
    found = _match(join)
    if found is None:
        return
    largest, total = found.largest, found.total
    below = _pointwise(
        [largest.res[0]], total, lambda b, a: _finite(b, a[0], either=found.is_finite)
    )
    inputs, maps = list(total.inputs), list(total.read_maps)
    inputs[found.read], maps[found.read] = below.res[0], largest.write_maps[0]
    total = rebuild(total, inputs=inputs, input_maps=maps)
    element = _element(total)
    made = GenericOp(
        join.extents,
        [largest.res[0], total.res[0]],
        [join.read_maps[0]] * 2,
        [join.write_maps[0]] * 2,
        [COMBINE] * 2,
        [join.res[0].type] * 2,
        join_body([element] * 2),
        monoids=[softmax_monoid(element)],
    )
    made.attributes.update(join.attributes)
    made.location = join.location
    block = join.parent_block()
    assert block is not None
    block.insert_op_before(made, join)
    result = made.res[1]
    if not found.is_finite:
        # Of nothing but -inf, exponentials below the maximum are NaN.
        result = _pointwise(list(made.res), join, _nan_of_nothing).res[0]
    result.name_hint = join.res[0].name_hint
    join.res[0].replace_all_uses_with(result)
    block.erase_op(join)


def _match(join: GenericOp) -> _Split | None:
    total = join.inputs[0].owner if len(join.inputs) == 1 else None
    if not isinstance(total, GenericOp) or not _is_join(join, "add"):
        return None
    if total.combiner_names != ("add",) or total.sources or not total.res[0].has_one_use():
        return None
    raised = total.yielded[0].owner
    if not isinstance(raised, math.ExpOp) or not isinstance(raised.operand.owner, arith.SubfOp):
        return None
    value, below = raised.operand.owner.operands
    if not isinstance(_element(total), Float32Type | Float64Type):
        return None
    if not isinstance(below, BlockArgument) or total.pad_values[below.index] is not None:
        return None
    joined = total.inputs[below.index].owner
    is_finite = isinstance(joined, GenericOp) and _is_finite_or_zero(joined)
    if is_finite:
        assert isinstance(joined, GenericOp)
        joined = joined.inputs[0].owner
    if not isinstance(joined, GenericOp) or not _is_join(joined, "max"):
        return None
    largest = joined.inputs[0].owner
    if not isinstance(largest, GenericOp) or largest.combiner_names != ("max",):
        return None
    place, part = total.read_maps[below.index], largest.write_maps[0]
    if (
        largest.extents != total.extents
        or part != total.write_maps[0]
        or place.results != part.results[:-1]
        or (joined.extents, joined.write_maps) != (join.extents, join.write_maps)
        or joined.write_maps[0].results != joined.read_maps[0].results[:-1]
        or not is_same_value(total, value, largest, largest.yielded[0])
    ):
        return None
    return _Split(largest, total, join, below.index, is_finite)


def _is_join(nest: GenericOp, combiner: str) -> bool:
    return (
        nest.combiner_names == (combiner,)
        and len(nest.inputs) == 1
        and nest.yielded == tuple(nest.block.args)
        and nest.read_maps[0] == AffineMap.identity(len(nest.extents))
    )


def _is_finite_or_zero(nest: GenericOp) -> bool:
    """Whether a nest copies numbers, but 0 for infinite ones."""
    if not nest.is_pointwise or len(nest.inputs) != 1 or nest.read_maps != nest.write_maps:
        return False
    if nest.sources or nest.pad_values != (None,) or is_copy(nest):
        return False
    (argument,), chosen = nest.block.args, nest.yielded[0].owner
    if not isinstance(chosen, arith.SelectOp) or chosen.rhs is not argument:
        return False
    found = chosen.cond.owner
    if not isinstance(found, arith.CmpfOp) or found.predicate.value.data != 1:  # oeq
        return False
    size = found.lhs.owner
    is_size = isinstance(size, math.AbsFOp) and size.operand is argument
    return is_size and _is_number(found.rhs, inf) and _is_number(chosen.lhs, 0)


def _is_number(value: SSAValue, number: float) -> bool:
    found = constant_of(value)
    return isinstance(found, FloatAttr) and found.value.data == number


def _element(nest: GenericOp) -> Attribute:
    kind = nest.res[0].type
    assert isinstance(kind, TensorType)
    return kind.element_type


Add = Callable[[Operation], SSAValue]


def _pointwise(
    operands: list[SSAValue],
    before: GenericOp,
    compute: Callable[[Add, list[SSAValue]], SSAValue],
) -> GenericOp:
    """A nest in front of another that computes a number at each position of tensors of one type."""
    kind = operands[0].type
    assert isinstance(kind, TensorType)
    shape, element = list(kind.get_shape()), kind.element_type
    body = Block(arg_types=[element] * len(operands))
    value = compute(_adds_to(body), list(body.args))
    body.add_op(YieldOp([value]))
    everywhere = AffineMap.identity(len(shape))
    maps = [everywhere] * len(operands)
    nest = GenericOp(shape, operands, maps, [everywhere], ["store"], [kind], Region(body))
    set_names(nest, ["part"])
    nest.location = before.location
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(nest, before)
    return nest


def _adds_to(block: Block) -> Add:
    def add(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    return add


def _number(add: Add, value: float, like: SSAValue) -> SSAValue:
    return add(constant_op(FloatAttr(value, like.type)))  # pyright: ignore - a float type


def _finite(add: Add, value: SSAValue, *, either: bool) -> SSAValue:
    """0 in the place of -inf, below which nothing is; with `either` in that of inf as well."""
    size = add(math.AbsFOp(value)) if either else value
    infinite = _number(add, inf if either else -inf, value)
    found = add(compare_op(size, infinite, OEQ))
    return add(select_op(found, _number(add, 0, value), value))


def _nan_of_nothing(add: Add, pair: list[SSAValue]) -> SSAValue:
    largest, total = pair
    nothing = add(compare_op(largest, _number(add, -inf, largest), OEQ))
    return add(select_op(nothing, _number(add, nan, total), total))


def softmax_monoid(element: Attribute) -> Monoid:
    """Of two (maximum, sum of exponentials below it) that of both; sums of nothing are 0."""
    block = Block(arg_types=[element] * 4)
    add = _adds_to(block)
    one, sum_one, other, sum_other = block.args
    largest = add(arith.MaximumfOp(one, other))

    def below(maximum: SSAValue, total: SSAValue) -> SSAValue:
        # The larger one, which may be infinite, stays as it is.
        same = add(compare_op(maximum, largest, OEQ))
        factor = add(math.ExpOp(add(arith.SubfOp(maximum, largest))))
        chosen = add(select_op(same, _number(add, 1, total), factor))
        return add(arith.MulfOp(total, chosen))

    both = add(arith.AddfOp(below(one, sum_one), below(other, sum_other)))
    block.add_op(YieldOp([largest, both]))
    neutral = FloatAttr(-inf, element), FloatAttr(0.0, element)  # pyright: ignore - a float type
    return Monoid(neutral, Region(block))
