"""Nests and ops that are not looked at twice, and those that must be."""

import pytest
from xdsl.dialects.builtin import f64
from xdsl.ir import ErasedSSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.identity_cache import KnownGroups
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.segments import array64, index_maps, words
from lamina.dialects.loop.valid_nests import nest_parts, valid_nests
from lamina.runtime.layers import parse

TEXT = """
func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %b = loop.generic (i) in [4] reads(%a[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}"""


def _nests() -> list[GenericOp]:
    module = parse(TEXT.encode())
    module.verify()
    return [op for op in module.walk() if isinstance(op, GenericOp)]


def test_a_nest_of_known_parts_is_known() -> None:
    for nest in _nests():
        parts = nest_parts(nest)
        assert parts is not None
        assert parts in valid_nests


def _other_argument(nest: GenericOp) -> None:
    block = nest.parent_block()
    assert block is not None
    nest.operands[0] = block.args[1]


@pytest.mark.parametrize(
    "broken",
    [
        lambda nest: nest.properties.update(combiners=words("what")),
        lambda nest: nest.properties.update(domain=array64(3)),
        lambda nest: nest.properties.update(output_maps=index_maps()),
        lambda nest: setattr(nest.block.args[0], "_type", f64),
        lambda nest: nest.attributes.update({"lamina.layout": words("what")}),
        _other_argument,
    ],
)
def test_other_parts_are_looked_at(broken) -> None:  # pyright: ignore
    nest = _nests()[1]
    broken(nest)
    with pytest.raises(VerifyException):
        nest.verify()


def test_erased_operands_are_found() -> None:
    nest = _nests()[0]
    old = nest.operands[0]
    nest.operands[0] = ErasedSSAValue(old.type, old)
    with pytest.raises(ValueError, match="Erased"):
        nest.verify()


def test_an_op_at_the_end_is_no_terminator() -> None:
    nest = _nests()[1]
    block = nest.parent_block()
    assert block is not None and block.last_op is not None
    block.last_op.detach()
    with pytest.raises(VerifyException, match="terminat"):
        nest.verify()


def test_groups_are_known_by_identity_and_order() -> None:
    known, (one, other) = KnownGroups(), ([1], [1])
    known.add((one, other))
    assert (one, other) in known
    assert (other, one) not in known
    assert (one, [1]) not in known
