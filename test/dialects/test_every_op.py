"""Every row of every table makes an op class, and ops that print, read back and verify."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from lamina.dialects.aten import Aten
from lamina.dialects.context import Context
from lamina.dialects.core_aten import CoreAten
from lamina.dialects.prims import Prims
from lamina.dialects.schema.dialect import TableDialect
from lamina.dialects.schema.grammar import Arg, Kind, Schema
from lamina.dialects.schema.op import SchemaOp

DIALECTS = {"aten": Aten, "core_aten": CoreAten, "prims": Prims}
TENSOR = TensorType(f32, [2, 3])

CONSTANTS: dict[Kind, Any] = {
    Kind.SYMINT: 5,
    Kind.INT: -2,
    Kind.FLOAT: 1e-05,
    Kind.BOOL: True,
    Kind.SCALAR: complex(0.5, -2.0),
    Kind.STR: 'a "quoted" \\ text\n',
    Kind.DTYPE: f64,
    Kind.WORD: "cpu",
}
RESULTS: dict[str, Attribute] = {"int": i64, "SymInt": i64, "float": f64, "bool": i1, "SymBool": i1}


def constant(arg: Arg) -> Any:
    value = CONSTANTS[arg.type.kind]
    return [value] * (arg.type.size or 2) if arg.type.is_list else value


def minimal(arg: Arg, tensors: Iterator[SSAValue], _number: SSAValue) -> Any:
    """What must be given; absent where None is allowed."""
    if arg.type.optional:
        return None
    if arg.type.kind is Kind.TENSOR:
        return [] if arg.type.is_list else next(tensors)
    return constant(arg)


def maximal(arg: Arg, tensors: Iterator[SSAValue], number: SSAValue) -> Any:
    """Everything that the schema allows, with numbers known only at run time."""
    if arg.type.kind is Kind.TENSOR:
        if not arg.type.is_list:
            return next(tensors)
        return [next(tensors), None if arg.type.optional_elements else next(tensors)]
    if arg.type.may_hold_values:
        return [7, *[number] * ((arg.type.size or 2) - 1)] if arg.type.is_list else number
    return constant(arg)


def result_types(schema: Schema) -> list[Attribute]:
    return [
        kind
        for result in schema.results
        for kind in [RESULTS.get(result.type.base, f64 if result.type.base == "Scalar" else TENSOR)]
        for _ in range(2 if result.type.is_list else 1)
    ]


def build(op_class: type[SchemaOp], choose: Any, source: xdsl_test.TestOp) -> SchemaOp:
    *tensors, number = source.results
    remaining = iter(tensors)
    given = {arg.name: choose(arg, remaining, number) for arg in op_class.schema.args}
    required = {
        name: value
        for name, value in given.items()
        if choose is maximal or op_class.schema.arg(name).required  # pyright: ignore
    }
    return op_class(**required, result_types=result_types(op_class.schema))


def text_of(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def program(dialect: TableDialect, choose: Any) -> ModuleOp:
    source = xdsl_test.TestOp(result_types=[*[TENSOR] * 60, i64])
    ops = [build(dialect.op(name), choose, source) for name in dialect.names]
    return ModuleOp([source, *ops])


@pytest.mark.parametrize("choose", [minimal, maximal])
@pytest.mark.parametrize("name", DIALECTS)
def test_every_op_round_trips(name: str, choose: Any) -> None:
    module = program(DIALECTS[name], choose)
    for generic in (False, True):
        text = text_of(module, generic)
        again = Parser(Context(), text).parse_module()
        for ours, theirs in zip(module.ops, again.ops, strict=True):
            assert ours.name == theirs.name
            assert ours.properties == theirs.properties, ours.name
        assert text_of(again, generic) == text


@pytest.mark.parametrize("choose", [minimal, maximal])
@pytest.mark.parametrize("name", DIALECTS)
def test_every_op_verifies(name: str, choose: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against its schema; what result rules say is tested beside torch."""
    monkeypatch.setattr(SchemaOp, "infer_result_types", lambda op: None)
    program(DIALECTS[name], choose).verify()


@pytest.mark.parametrize("name", DIALECTS)
def test_arguments_read_back(name: str) -> None:
    module = program(DIALECTS[name], maximal)
    source, *ops = module.ops
    for op in ops:
        assert isinstance(op, SchemaOp)
        *tensors, number = source.results
        remaining = iter(tensors)
        for arg in op.schema.args:
            assert op.arg(arg.name) == maximal(arg, remaining, number), f"{op.name} {arg.name}"


@pytest.mark.parametrize("name", DIALECTS)
def test_every_op_has_an_irdl_definition(name: str) -> None:
    for row in DIALECTS[name].names:
        op_class = DIALECTS[name].op(row)
        definition = op_class.get_irdl_definition()
        assert definition.name == f"{name}.{row}" == op_class.name
        held = {operand for operand, _ in definition.operands} | set(definition.properties)
        assert held >= set(op_class.slots.by_name)
