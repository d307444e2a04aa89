"""Fields of ops that are read by place are those that xDSL's accessors give."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import StringAttr, f32, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from lamina.dialects.loop import YieldOp
from lamina.dialects.op_accessors import op_definition


def _classes() -> tuple[type[IRDLOperation], type[IRDLOperation]]:
    """The same op, defined by us and by xDSL."""
    members: dict[str, Any] = {
        "name": "test.fields",
        "first": operand_def(),
        "middle": var_operand_def(),
        "last": operand_def(),
        "made": result_def(),
        "others": var_result_def(),
        "label": prop_def(StringAttr),
        "note": opt_prop_def(StringAttr),
        "body": region_def(),
    }
    ours = op_definition(type("Ours", (IRDLOperation,), dict(members)))
    theirs = irdl_op_definition(type("Theirs", (IRDLOperation,), dict(members)))
    return ours, theirs


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fields_are_those_of_xdsl(count: int) -> None:
    """Operands, results, regions and properties, with as many in the middle as may be."""
    values = TestOp(result_types=[f32, f32, *[i32] * count]).results
    first, last, *middle = values
    read: list[list[object]] = []
    for kind in _classes():
        op: Any = kind.create(
            operands=[first, *middle, last],
            result_types=[f32, *[i64] * count],
            properties={"label": StringAttr("x")},
            regions=[Region(Block())],
        )
        assert op.body is op.regions[0] and op.made is op.results[0]
        assert op.others.types == (i64,) * count and op.middle.types == (i32,) * count
        read.append([op.first, op.middle, op.last, op.label, op.note])
    ours, theirs = read
    assert ours == theirs == [first, tuple(middle), last, StringAttr("x"), None]


def test_fields_are_set_as_those_of_xdsl() -> None:
    """Properties may be set; operands may not, by name."""
    (value,) = TestOp(result_types=[f32]).results
    for kind in _classes():
        op: Any = kind.create(operands=[value, value], result_types=[f32], regions=[Region()])
        op.label = StringAttr("y")
        assert op.properties["label"] == StringAttr("y") == op.label
        with pytest.raises(NotImplementedError):
            op.first = value


def test_constructors_serve_implicit_builders() -> None:
    """An op of ours that is made within xDSL's implicit builder stands in its block."""
    block = Block()
    with ImplicitBuilder(block):
        made = YieldOp([])
    assert list(block.ops) == [made]
