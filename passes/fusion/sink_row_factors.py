"""`sink-row-factors`: a softmax divides the product of its exponentials, not each of its weights.

sum_j (e_j / s) v_j = (sum_j e_j v_j) / s: a row has fewer columns than keys, and its sum need not
be known before the product. That holds of sums of numbers; exponentials less their maximum are at
most 1, so that only products by elements near the largest number there is are infinite for it.
Weights that are rounded for matrix tiles are exponentials then, which are rounded as well.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.access import forms_of, map_of, shape_of, substitute
from lamina.dialects.loop.bounds import BOUNDS, STREAM
from lamina.dialects.loop.contraction import Contraction
from lamina.dialects.loop.kernel_nests import NEST, rows_of, set_rows
from lamina.dialects.loop.labels import set_names
from lamina.dialects.loop.linear import Linear
from lamina.dialects.loop.rounding import is_implicit
from lamina.dialects.loop.same_values import is_reduced_by, is_same_along
from lamina.dialects.loop.streamed_dims import is_zero
from lamina.passes.kernel_passes import KernelPass


class SinkRowFactorsPass(KernelPass):
    """Move what softmax weights of a kernel are multiplied by in each row behind the product."""

    name = "sink-row-factors"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        nests = [nest for nest in block_ops(kernel.body.block) if isinstance(nest, GenericOp)]
        if any(BOUNDS in nest.attributes or STREAM in nest.attributes for nest in nests):
            return  # decided for the kernel as it stands
        for nest in nests:
            _sink(nest)


def _sink(product: GenericOp) -> None:
    shape = Contraction.of(product)
    if shape is None or len(shape.summed) != 1:
        return
    weights = product.inputs[shape.a]
    scaled = weights.owner
    if not isinstance(scaled, GenericOp) or not weights.has_one_use() or len(scaled.res) != 1:
        return
    number = _factored(scaled)
    if number is None or shape.size(shape.columns) >= shape.size(shape.summed):
        return
    terms = scaled.inputs[number]
    if shape_of(terms) != shape_of(weights) or scaled.read_maps[number] != scaled.write_maps[0]:
        return
    if not _are_exponentials(terms):
        return
    block = product.parent_block()
    assert block is not None
    if _rounding(scaled) is None:
        product.operands[shape.a] = terms
    else:
        rounded = _rounded(scaled, terms)
        block.insert_op_before(rounded, product)
        product.operands[shape.a] = rounded.res[0]
    after = _scaling(scaled, number, product)
    block.insert_op_after(after, product)
    product.res[0].replace_uses_with_if(after.res[0], lambda use: use.operation is not after)
    after.res[0].name_hint = product.res[0].name_hint
    Rewriter.erase_op(scaled)


def _factored(nest: GenericOp) -> int | None:
    """The read that a nest multiplies, divides or sets to 0 by what is the same in its row."""
    inner = [d for d in range(len(nest.extents)) if d not in rows_of(nest)]
    if not nest.is_pointwise or nest.sources or len(inner) != 1:
        return None
    rounding = _rounding(nest)
    product = value = nest.yielded[0] if rounding is None else rounding.input
    while not isinstance(value, BlockArgument):
        owner = value.owner
        assert isinstance(owner, Operation)
        rows = [is_same_along(nest, operand, inner[0]) for operand in owner.operands]
        match owner:
            case arith.MulfOp() if rows[0] != rows[1]:
                value = owner.operands[rows.index(False)]
            case arith.DivfOp() if not rows[0] and rows[1]:
                value = owner.lhs
            case arith.SelectOp() if rows[0] and is_zero(owner.lhs):
                value = owner.rhs
            case arith.SelectOp() if rows[0] and is_zero(owner.rhs):
                value = owner.lhs
            case _:
                return None
    return None if value is product or not value.has_one_use() else value.index


def _rounding(nest: GenericOp) -> arith.TruncFOp | None:
    """What rounds the result of a nest to a half float unasked, if anything does."""
    owner = nest.yielded[0].owner
    return owner if isinstance(owner, arith.TruncFOp) and is_implicit(owner) else None


def _rounded(scaled: GenericOp, terms: SSAValue) -> GenericOp:
    """A nest that gives `terms` in the type of the result of `scaled`."""
    assert isinstance(terms.type, TensorType) and isinstance(scaled.res[0].type, TensorType)
    body = Block(arg_types=[terms.type.element_type])
    rounding = arith.TruncFOp(body.args[0], scaled.res[0].type.element_type)  # pyright: ignore
    asked = _rounding(scaled)
    assert asked is not None
    rounding.attributes |= asked.attributes
    body.add_ops([rounding, YieldOp([rounding.result])])
    (place,) = scaled.write_maps
    kind = scaled.res[0].type
    new = GenericOp(scaled.extents, [terms], [place], [place], ["store"], [kind], Region(body))
    new.attributes[NEST] = scaled.attributes[NEST]
    set_names(new, ["round"])
    new.location = scaled.location
    return new


def _are_exponentials(terms: SSAValue) -> bool:
    """Whether a nest of the same kernel makes exp(x - m) of x and its row's maximum m."""
    nest = terms.owner
    if not isinstance(nest, GenericOp) or not nest.is_pointwise or len(nest.res) != 1:
        return False
    raised = nest.yielded[0].owner
    if not isinstance(raised, math.ExpOp) or not isinstance(raised.operand.owner, arith.SubfOp):
        return False
    less = raised.operand.owner
    if not isinstance(less.rhs, BlockArgument) or less.rhs.index >= len(nest.inputs):
        return False
    largest = nest.inputs[less.rhs.index].owner
    if not isinstance(largest, GenericOp) or largest.combiner_names != ("max",):
        return False
    inner = [d for d in range(len(largest.extents)) if d not in rows_of(largest)]
    return len(inner) == 1 and is_reduced_by(nest, less.lhs, largest, 0, inner[0])


def _scaling(scaled: GenericOp, number: int, product: GenericOp) -> GenericOp:
    """The body of `scaled` for each result of the product, in the place of read `number`."""
    written = forms_of(product.write_maps[0], product.extents)
    assert written is not None
    kept = [d for d in range(len(product.extents)) if d not in product.reduction_dims]
    place = {d: Linear.dim(p) for p, d in enumerate(kept)}
    out = tuple(
        substitute(f, [place.get(d, Linear(())) for d in range(len(product.extents))])
        for f in written
    )
    rows = dict(zip(rows_of(scaled), rows_of(product), strict=True))
    moved = [place[rows[d]] if d in rows else Linear(()) for d in range(len(scaled.extents))]
    write = map_of(out, len(kept))
    maps = []
    for index, index_map in enumerate(scaled.read_maps):
        forms = forms_of(index_map, scaled.extents)
        assert forms is not None
        own = map_of(tuple(substitute(f, moved) for f in forms), len(kept))
        maps.append(write if index == number else own)
    inputs = [product.res[0] if n == number else v for n, v in enumerate(scaled.inputs)]
    body = scaled.body.clone()
    last = body.block.last_op
    assert last is not None
    rounding = last.operands[0].owner
    if isinstance(rounding, arith.TruncFOp) and is_implicit(rounding):
        last.operands[0] = rounding.operands[0]
        Rewriter.erase_op(rounding)
    for op in body.block.ops:
        if isinstance(op, IndexOp):
            ((dim, _),) = moved[op.dim.value.data].terms
            op.properties["dim"] = IndexOp(dim).dim
    new = GenericOp(
        [product.extents[d] for d in kept],
        inputs,
        maps,
        [write],
        ["store"],
        [product.res[0].type],
        body,
        pads=scaled.pad_values,
    )
    new.attributes.update(scaled.attributes)
    numbers = [kept.index(d) for d in rows_of(product)]
    set_rows(new, numbers)
    new.location = scaled.location
    return new
