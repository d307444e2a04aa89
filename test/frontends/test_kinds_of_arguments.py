"""What public functions are given of a wrong type is an error that names the argument."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import LaminaError

PROGRAM = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2.5,
    float("nan"),
    1j,
    "",
    "x",
    "\ud800",
    b"x",
    [],
    [1],
    (),
    {},
    {1: 2},
    {None: "x"},
    {"x": None},
    object(),
    print,
    np.zeros(3),
    np.array(["a"]),
    np.array(None, dtype=object),
)
OPTIONS = [name for name in inspect.signature(lamina.compile).parameters if name != "program"]


def tried(call: Any, *args: Any, **kwargs: Any) -> str:
    """The message of a refusal, or nothing; what else is raised is a fault."""
    try:
        call(*args, **kwargs)
    except LaminaError as error:
        assert len(str(error)) > 15
        return str(error)
    return ""


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_compile(name: str) -> None:
    for value in ODD:
        if name != "tune" or not isinstance(value, int | float):  # which would be measured
            tried(lamina.compile, PROGRAM, **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("constants", [1], "constants: it takes a mapping from names to arrays, not a list"),
        ("constants", {1: 2}, "constants: .*; one name is a int"),
        ("schedules", "x", "schedules: it takes a mapping from names of kernels to texts"),
        ("sizes", True, "sizes: it takes a mapping from names of sizes to integers, not a bool"),
        ("tune", "x", "tune: it takes a number of seconds, not a str"),
        ("cache", "no", "cache: it takes a bool, not a str"),
        ("rounding", np.zeros(2), "rounding: it takes a name, such as 'kernel', not a ndarray"),
        ("versions", None, "versions: it takes a name, such as 'auto', not a NoneType"),
        ("pipeline", "cse", "pipeline: it takes a lamina.Pipeline, not a str"),
    ],
)
def test_messages_name_the_option(name: str, value: Any, said: str) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(lamina.InputError, match=said):
        lamina.compile(PROGRAM, **options)


@pytest.mark.parametrize(
    "function",
    [
        lamina.compile,
        lamina.parse,
        lambda value: lamina.parse(PROGRAM, context=value),
        lamina.load,
        lamina.import_exported_program,
        lamina.lowerings,
        lambda value: lamina.pipeline(start=value),
        lambda value: lamina.pipeline(rounding=value),
        lambda value: lamina.Pipeline().before(value, "cse"),
        lambda value: lamina.Pipeline().after("fuse-kernels", value),
        lambda value: lamina.Pipeline().drop(value),
        lambda value: lamina.Pipeline().run(value),
        lambda value: lamina.Pipeline().run(lamina.parse(PROGRAM), until=value),
        lambda value: lamina.compile(PROGRAM).ir(value),
    ],
)
def test_of_functions(function: Any) -> None:
    for value in ODD:
        tried(function, value)


def test_a_file_descriptor_is_no_path() -> None:
    with pytest.raises(lamina.InputError, match="cannot load a int: pass the path of a file"):
        lamina.load(1)  # pyright: ignore[reportArgumentType]


def test_repeats_of_a_measurement_are_an_integer() -> None:
    compiled = lamina.compile(PROGRAM)
    for repeats in (2.5, "3", None, 0):
        with pytest.raises(lamina.ArgumentError, match="it takes at least one run"):
            compiled.measure(np.zeros(2, np.float32), repeats=repeats)  # pyright: ignore
