"""Programs built op by op in Python."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i64

import lamina
from lamina.frontends.builder import ProgramBuilder


def test_a_built_program_compiles_and_runs() -> None:
    program = ProgramBuilder()
    x = program.input("x", (2, 3))
    w = program.parameter("w", (4, 3))
    program.output(program.op("relu.default", program.op("linear.default", x, w)))
    weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    compiled = lamina.compile(program.module(), constants={"w": weights}, cache=False)
    np.testing.assert_allclose(compiled(array), np.maximum(array @ weights.T, 0), rtol=1e-5)


def test_arguments_by_name_several_results_and_dynamic_sizes() -> None:
    program = ProgramBuilder()
    x = program.input("x", (None, 3))
    values, indices = program.op("max.dim", x, dim=1)
    program.output(values, indices)
    text = str(program.module())
    assert "%x: tensor<?x3xf32>" in text
    assert "-> (tensor<?xf32>" in text and "tensor<?xi64>" in text


def test_element_types() -> None:
    program = ProgramBuilder()
    program.output(program.op("add.Scalar", program.input("n", (2,), i64), 1))
    assert "tensor<2xi64>" in str(program.module())


def test_wrong_arguments_are_named() -> None:
    program = ProgramBuilder()
    x = program.input("x", (2, 3))
    with pytest.raises(TypeError, match="has no argument 'axis'"):
        program.op("sum.dim_IntList", x, axis=1)
    with pytest.raises(lamina.InputError, match=r"rellu.*nearest"):
        program.op("rellu.default", x)
