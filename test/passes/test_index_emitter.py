"""`IndexEmitter`: what a block computes of indices stands in it once."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Block

from lamina.dialects.ir_links import block_ops
from lamina.passes.schedule.emitter import INDEX, Emitter


def arithmetic(block: Block) -> list[str]:
    """Names of the ops of a block, constants left out."""
    return [op.name for op in block_ops(block) if not isinstance(op, arith.ConstantOp)]


def test_sums_and_products_of_the_same_indices_are_one_op() -> None:
    block = Block(arg_types=[INDEX, INDEX])
    emit, (row, column) = Emitter(block), block.args
    first = emit.plus(emit.times(row, 64), column)
    assert emit.plus(emit.times(row, 64), column) is first
    assert arithmetic(block) == ["arith.muli", "arith.addi"]
    assert emit.divisor(emit.times(row, 64)) == 64


def test_others_are_ops_of_their_own() -> None:
    block = Block(arg_types=[INDEX, INDEX])
    emit, (row, column) = Emitter(block), block.args
    made = [emit.times(row, 64), emit.times(row, 32), emit.times(column, 64)]
    made += [emit.plus(row, 64), emit.plus(row, column), emit.plus(column, row)]
    assert len(set(made)) == len(made)


def test_a_block_does_not_know_what_another_has_computed() -> None:
    """What stands in a branch or a loop has no value behind it, nor in another one."""
    block = Block(arg_types=[INDEX])
    emit, (row,) = Emitter(block), block.args
    one, other = Block(), Block()
    inner = emit.inside(one).times(row, 64)
    assert emit.inside(other).times(row, 64) is not inner
    assert emit.times(row, 64) is not inner
    assert [arithmetic(b) for b in (one, other, block)] == [["arith.muli"]] * 3
