"""Accessors of xDSL that are written anew answer as xDSL's own do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import xdsl
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import Float32Type, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, SSAValues, Use, core

import lamina
from lamina.dialects import xdsl_accessors
from lamina.dialects.xdsl_accessors import ORIGINALS, replace_accessors

TEXT = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %sum = aten.add.Tensor(%x, %y) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %soft = aten.softmax.int(%sum, -1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %soft : tensor<4x8xf32>
}
"""
INDEX, F32 = IndexType(), Float32Type()


@contextmanager
def _originals() -> Iterator[None]:
    """xDSL as it is without Lamina."""
    ours = {(owner, name): vars(owner)[name] for owner, name in ORIGINALS}
    try:
        for (owner, name), value in ORIGINALS.items():
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name), value in ours.items():
            setattr(owner, name, value)


def _both(ask: Callable[[], Any]) -> tuple[Any, Any]:
    found = ask()
    with _originals():
        return found, ask()


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    """A scheduled program: loops in functions, ops with named operands and results."""
    text = lamina.compile(TEXT, cache=False).ir("scheduled")
    return lamina.parse(text)


def test_they_are_replaced_for_the_version_that_is_installed() -> None:
    assert str(xdsl.__version__) in xdsl_accessors.KNOWN_VERSIONS
    assert replace_accessors() and ORIGINALS
    assert vars(SSAValue)["__hash__"] is object.__hash__


def test_another_version_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xdsl_accessors, "KNOWN_VERSIONS", ())
    assert not replace_accessors()


def test_walks(module: ModuleOp) -> None:
    region = module.body
    for root in (module, region, region.block):
        for options in ({}, {"reverse": True}, {"region_first": True}):
            ours, theirs = _both(lambda root=root, options=options: [*root.walk(**options)])
            assert len(ours) > 20 or root is not module
            assert ours == theirs
    ours, theirs = _both(lambda: [*region.block.ops])
    assert ours == theirs
    assert len(region.block.ops) == len(theirs)


def _links(module: ModuleOp) -> list[Any]:
    found: list[Any] = []
    for op in module.walk():
        found += [op.next_op, op.prev_op, op.parent_node, *op.operands[1:], *op.results]
        for value in (*op.operands, *op.results):
            found += [value.type, value.owner]
            found += [(use.operation, use.index) for use in value.uses]
        for region in op.regions:
            found += [region.parent_node, region.first_block, region.last_block]
            for block in region.blocks:
                found += [block.parent_node, block.first_op, block.last_op, block.next_block]
                found += [argument.owner for argument in block.args]
        names = [name for name, _ in op.get_irdl_definition().operands]  # pyright: ignore
        names += [name for name, _ in op.get_irdl_definition().results]  # pyright: ignore
        names += [name for name, _ in op.get_irdl_definition().regions]  # pyright: ignore
        found += [getattr(op, name) for name in names]
    return found


def test_links_and_named_operands(module: ModuleOp) -> None:
    ours, theirs = _both(lambda: _links(module))
    assert len(ours) > 500
    assert ours == theirs


def test_slices_of_values_are_values(module: ModuleOp) -> None:
    op = next(op for op in module.walk() if len(op.operands) > 1)
    part = op._operands[1:]
    assert type(part) is SSAValues and part.types == tuple(v.type for v in op.operands[1:])
    assert op._operands[-1] is part[-1]


def test_values_and_ops_are_themselves_alone(module: ModuleOp) -> None:
    ops = [*module.walk()]
    values = [result for op in ops for result in op.results]
    for things in (ops, values):
        assert len({*things}) == len(things)
        assert things[0] == things[0] and things[0] != things[1]
    uses = [use for value in values for use in value.uses]
    assert len({*uses}) == len(uses) and isinstance(uses[0], Use)


def _loop() -> tuple[Block, scf.ForOp, list[Operation]]:
    low, high, step = (arith.ConstantOp(IntegerAttr(n, INDEX)) for n in (0, 8, 1))
    inner: list[Operation] = [arith.ConstantOp(IntegerAttr(n, INDEX)) for n in range(4)]
    body = Block([*inner, scf.YieldOp()], arg_types=[INDEX])
    loop = scf.ForOp(low, high, step, [], body)
    return Block([low, high, step, loop]), loop, inner


def _walk_that_erases() -> list[str]:
    block, loop, inner = _loop()
    seen: list[str] = []
    for op in block.walk():
        seen.append(op.name)
        if op in inner:
            op.detach()
            op.erase()
    return [*seen, *(op.name for op in loop.body.block.ops)]


def test_what_a_walk_gives_may_be_erased() -> None:
    ours, theirs = _both(_walk_that_erases)
    assert ours == theirs
    assert ours.count("arith.constant") == 7


def _replaced_uses() -> list[Any]:
    block = Block(arg_types=[INDEX, INDEX])
    one, other = block.args
    one.name_hint = "one"
    add = arith.AddiOp(one, one)
    mul = arith.MuliOp(other, one)
    block.add_ops([add, mul])
    one.replace_all_uses_with(other)
    uses = [(use.operation.name, use.index) for use in other.uses]
    return [uses, other.name_hint, [v is other for v in (*add.operands, *mul.operands)]]


def test_uses_that_are_replaced() -> None:
    ours, theirs = _both(_replaced_uses)
    assert ours == theirs
    assert ours[2] == [True] * 4 and len(ours[0]) == 4


def _refused() -> list[str]:
    block, loop, inner = _loop()
    said: list[str] = []
    for op, where in ((inner[0], block), (loop, loop.body.block)):
        loop.detach() if op is loop else None
        with pytest.raises(ValueError) as error:
            where.add_op(op)
        said.append(str(error.value))
    return said


def test_ops_that_stand_elsewhere_are_refused() -> None:
    ours, theirs = _both(_refused)
    assert ours == theirs
    assert "already attached" in ours[0] and "contained in" in ours[1]


def _made() -> list[Any]:
    block = Block(arg_types=[INDEX])
    value = block.args[0]
    region = Region(Block())
    op = core.Operation.__new__(scf.ForOp)
    Operation.__init__(
        op, operands=[value, value], result_types=[INDEX], properties={}, regions=[region]
    )
    fields = [op.operands[0] is value, len(op.results), op.properties, op.attributes]
    links = [op.results[0].owner is op, region.parent is op, [use.index for use in value.uses]]
    return [*fields, *links, str(op.location), [*op.successors]]


def test_ops_are_made_alike() -> None:
    ours, theirs = _both(_made)
    assert ours == theirs
    assert ours[:2] == [True, 1]


def _built() -> list[Any]:
    block = Block(arg_types=[INDEX, INDEX])
    left, right = block.args
    add = arith.AddiOp(left, right)
    said = [*add.operands] == [left, right], [v.type for v in add.results], add.properties
    mul = arith.MuliOp(add, right)  # an op stands for its result
    both = mul.operands[0] is add.result, [use.index for use in right.uses]
    call = func.CallOp("f", [left, right], [INDEX])
    made = arith.AddiOp.build(operands=[left, [right]], result_types=[INDEX])
    refused: list[str] = []
    for operands, kinds in (([left], [INDEX]), ([left, None], [INDEX]), ([left, right], [])):
        with pytest.raises(ValueError) as error:
            arith.AddiOp.build(operands=operands, result_types=kinds)
        refused.append(str(error.value))
    return [*said, *both, len(call.operands), len(made.operands), refused]


def test_ops_are_built_alike() -> None:
    ours, theirs = _both(_built)
    assert ours == theirs
    assert ours[0] and ours[3] and len(ours[-1]) == 3


def _default_properties() -> list[Any]:
    block = Block(arg_types=[F32, F32])
    given = arith.FastMathFlagsAttr("fast")
    left, right = block.args
    plain, fast = arith.AddfOp(left, right), arith.AddfOp(left, right, flags=given)
    made = [arith.AddfOp.create(operands=block.args, result_types=[F32], properties={})]
    return [op.properties for op in (plain, fast, *made)]


def test_properties_that_are_not_given() -> None:
    ours, theirs = _both(_default_properties)
    assert ours == theirs
    assert "fastmath" in ours[2]


def _built_implicitly() -> list[str]:
    block = Block()
    with ImplicitBuilder(block):
        arith.ConstantOp(IntegerAttr(1, INDEX))
    return [op.name for op in block.ops]


def test_builders_that_ops_put_themselves_into() -> None:
    ours, theirs = _both(_built_implicitly)
    assert ours == theirs == ["arith.constant"]


class _Neither(Attribute):
    name = "test.neither"


def test_attributes_of_no_kind_are_refused() -> None:
    def refused() -> str:
        with pytest.raises(TypeError) as error:
            _Neither()
        return str(error.value)

    ours, theirs = _both(refused)
    assert ours == theirs and "Data or ParametrizedAttribute" in ours
    assert _both(lambda: IntegerAttr(3, INDEX)) == (IntegerAttr(3, INDEX),) * 2
