"""Whatever arguments an op gets, its result rule answers or refuses them; it never breaks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    IntegerType,
    Signedness,
    TensorType,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import SSAValue

from lamina.dialects.aten import Aten
from lamina.dialects.core_aten import CoreAten
from lamina.dialects.prims import Prims
from lamina.dialects.schema.grammar import Arg, Kind
from lamina.dialects.schema.names import BindError
from lamina.dialects.schema.op import SchemaOp

DIALECTS = {"aten": Aten, "core_aten": CoreAten, "prims": Prims}
ELEMENTS = (f32, f32, f64, i64, i1, f16, i32, ComplexType(f32), IntegerType(8, Signedness.UNSIGNED))
SHAPES = (
    *((), (0,), (1,), (2,), (2, 3), (1, 3), (3, 3), (2, 3, 4), (1, 3, 8, 8), (4, 3, 3, 3)),
    *((2, 2, 2, 2, 2), (DYNAMIC_INDEX,), (DYNAMIC_INDEX, 3)),
)
CONSTANTS: dict[Kind, tuple[Any, ...]] = {
    Kind.SYMINT: (-3, -1, 0, 1, 2, 100),
    Kind.INT: (-3, -1, 0, 1, 2, 100),
    Kind.FLOAT: (0.0, 1.0, -2.5),
    Kind.BOOL: (True, False),
    Kind.SCALAR: (0, 1, -1, 2.5, True, 1j),
    Kind.STR: ("mean", "none", "max", "ij,jk->ik", ""),
    Kind.DTYPE: ELEMENTS,
    Kind.WORD: ("cpu",),
}
TRIALS = 3


def tensors(rng: random.Random) -> Iterator[SSAValue]:
    while True:
        kind = TensorType(rng.choice(ELEMENTS), rng.choice(SHAPES))
        yield xdsl_test.TestOp(result_types=[kind]).results[0]


def sample(arg: Arg, rng: random.Random, source: Iterator[SSAValue], number: SSAValue) -> Any:
    if arg.type.optional and rng.random() < 0.5:
        return None
    length = rng.choice((0, 1, 2, 3, arg.type.size or 2))
    if arg.type.kind is Kind.TENSOR:
        return [next(source) for _ in range(length)] if arg.type.is_list else next(source)
    if arg.type.may_hold_values and rng.random() < 0.2:
        return [number, 1] if arg.type.is_list else number
    choices = CONSTANTS[arg.type.kind]
    return [rng.choice(choices) for _ in range(length)] if arg.type.is_list else rng.choice(choices)


def sample_op(op_class: type[SchemaOp], rng: random.Random) -> SchemaOp | None:
    source = tensors(rng)
    number = xdsl_test.TestOp(result_types=[i64]).results[0]
    given = {
        arg.name: sample(arg, rng, source, number)
        for arg in op_class.schema.args
        if arg.required or rng.random() < 0.4
    }
    try:
        return op_class(**given, result_types=[])
    except BindError:
        return None  # a list of a length that the schema forbids


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_answer_or_refuse(dialect: str) -> None:
    rng = random.Random(2)
    answered = refused = 0
    for name in DIALECTS[dialect].names:
        for _ in range(TRIALS):
            op = sample_op(DIALECTS[dialect].op(name), rng)
            if op is None:
                continue
            try:
                answered += op.infer_result_types() is not None
            except ValueError as error:
                assert str(error), op.name
                refused += 1
            except Exception as error:
                error.add_note(f"by the result rule of {op}")
                raise
    assert answered and refused
