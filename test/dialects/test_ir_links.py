"""Links of xDSL's IR that are changed without its methods: what is left is as they leave it."""

import pytest
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Block

from lamina.dialects.ir_links import erase_arguments, insert_op


def test_arguments_are_erased_together_as_one_by_one() -> None:
    kinds = (f32, i1, i32, i64, f32)
    one, other = Block(arg_types=kinds), Block(arg_types=kinds)
    erase_arguments(one, [one.args[1], one.args[4], one.args[0]])
    for number in (4, 1, 0):
        other.erase_arg(other.args[number])
    assert [a.type for a in one.args] == [a.type for a in other.args] == [i32, i64]
    assert [a.index for a in one.args] == [a.index for a in other.args] == [0, 1]
    assert all(argument.block is one for argument in one.args)


def test_an_argument_that_is_used_is_not_erased() -> None:
    block = Block(arg_types=(f32,))
    block.add_op(TestOp(operands=[block.args[0]]))
    with pytest.raises(ValueError, match="still has uses"):
        erase_arguments(block, [block.args[0]])


def test_ops_are_inserted_as_by_the_block() -> None:
    one, other = Block([TestOp(), TestOp()]), Block([TestOp(), TestOp()])
    made = [TestOp(), TestOp(), TestOp()]
    also = [TestOp(), TestOp(), TestOp()]
    for op, twin, place in zip(made, also, (0, 1, 3), strict=True):
        insert_op(op, list(one.ops)[place])
        other.insert_op_before(twin, list(other.ops)[place])
    assert [op in made for op in one.ops] == [op in also for op in other.ops]
    assert [op in made for op in reversed(one.ops)] == [op in also for op in reversed(other.ops)]
    assert all(op.parent is one for op in one.ops)


def test_an_op_that_stands_in_a_block_is_not_inserted() -> None:
    block = Block([TestOp(), TestOp()])
    first, last = block.ops
    with pytest.raises(ValueError, match="stands in a block already"):
        insert_op(last, first)
    with pytest.raises(ValueError, match="in none"):
        insert_op(TestOp(), TestOp())
