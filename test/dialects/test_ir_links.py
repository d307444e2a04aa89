"""Links of xDSL's IR that are changed without its methods: what is left is as they leave it."""

import pytest
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Block

from lamina.dialects.ir_links import erase_arguments


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
