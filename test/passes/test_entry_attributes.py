"""Kinds and names of arguments and results are checked on every road that text takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.source import parse_module
from lamina.passes.contracts.entry_attributes import verify_entries
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

PROGRAM = """func.func @main(%x: tensor<5xf32>{argument}) -> (tensor<5xf32>{result}) {{
  %0 = aten.relu.default(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}}"""

ARGUMENT_KINDS = "kinds of arguments at the aten layer are input, parameter, buffer, constant"
RESULT_KINDS = "kinds of results at the aten layer are output, mutation, size, check"
WRONG = [
    ('{lamina.kind = "seed"}', "", ARGUMENT_KINDS),
    ('{lamina.kind = "output"}', "", ARGUMENT_KINDS),
    ('{lamina.kind = "arena"}', "", ARGUMENT_KINDS),
    ('{lamina.kind = "prepared"}', "", ARGUMENT_KINDS),
    ('{lamina.kind = "zz"}', "", ARGUMENT_KINDS),
    ("{lamina.kind = 3 : i64}", "", "lamina.kind is a string, not 3"),
    ("{lamina.name = 3 : i64}", "", "lamina.name is a string, not 3"),
    ('{lamina.name = ""}', "", "lamina.name is a string"),
    ("", '{lamina.kind = "foo"}', RESULT_KINDS),
    ("", '{lamina.kind = "seed"}', RESULT_KINDS),
    ("", '{lamina.kind = "size"}', "it needs tensor<i64>, not tensor<5xf32>"),
    ("", '{lamina.kind = "check"}', "it needs tensor<i1>, not tensor<5xf32>"),
    ("", '{lamina.kind = "mutation"}', "it needs lamina.target; the arguments are arg0"),
    ("", '{lamina.kind = "mutation", lamina.target = "y"}', "has lamina.target 'y'"),
    ("", "{lamina.number}", "lamina.number marks a 0-d result, not tensor<5xf32>"),
    (
        "{lamina.least = 2 : i64}",
        "",
        "lamina.least is of a size, a number of i64, not of tensor<5xf32>",
    ),
    ("{lamina.limits = [0]}", "", "lamina.limits is for inputs and outputs in memory"),
    ("{lamina.touched = [1]}", "", "lamina.touched is for inputs with lamina.limits, and has"),
    ("", "{lamina.sizes = [0]}", "has 1 numbers of results of kind size (0 here), or -1"),
]


def _text(argument: str, result: str) -> str:
    return PROGRAM.format(argument=" " + argument, result=" " + result)


@pytest.mark.parametrize(("argument", "result", "message"), WRONG)
def test_wrong_attributes_are_refused_before_anything_runs(
    argument: str, result: str, message: str
) -> None:
    text = _text(argument, result)
    with pytest.raises(InputError) as compiled:
        lamina.compile(text)
    with pytest.raises(InputError) as interpreted:
        run_module(parse(text, name="p.mlir"), [np.ones(5, np.float32)])
    assert message in str(compiled.value)
    assert message in str(interpreted.value)
    assert str(interpreted.value).startswith("p.mlir:1:1: error: func.func: ")


@pytest.mark.parametrize("key", ["limits", "extents"])
@pytest.mark.parametrize("limits", ["[0]", "[2]", "[3]", "[-2]", "[1, 1]", "1", '["n"]'])
def test_accesses_end_at_sizes_that_calls_bring(limits: str, key: str) -> None:
    text = f"""func.func @main(%x: memref<4xf32> {{lamina.{key} = {limits}}},
    %n: memref<i64> {{lamina.kind = "input"}}, %m: memref<i64> {{lamina.kind = "size"}})
    attributes {{lamina.entry}} {{
  func.return
}}"""
    with pytest.raises(InputError) as refused:
        lamina.compile(text)
    said = f"argument 0 of @main: lamina.{key} has 1 numbers of arguments that are sizes"
    assert said in str(refused.value)
    assert "memref<i64> of kind input (1 here), or -1: not " in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "formula", "message"),
    [
        (
            "size",
            "#lamina.formula<arg0>",
            "its arguments are inputs that are sizes, memref<i64> (1",
        ),
        ("size", "#lamina.formula<arg1 + arg2>", "its arguments are inputs that are sizes"),
        ("size", "#lamina.formula<arg1 + arg7>", "its arguments are inputs that are sizes"),
        ("size", "3", "lamina.derived is a #lamina.formula, not 3"),
        ("output", "#lamina.formula<arg1>", "lamina.derived is for sizes in memory"),
        ("input", "#lamina.formula<arg1>", "lamina.derived is for sizes in memory"),
    ],
)
def test_sizes_follow_from_inputs(kind: str, formula: str, message: str) -> None:
    text = f"""func.func @main(%x: memref<4xf32>, %n: memref<i64> {{lamina.kind = "input"}},
    %m: memref<i64> {{lamina.kind = "{kind}", lamina.derived = {formula}}})
    attributes {{lamina.entry}} {{
  func.return
}}"""
    with pytest.raises(InputError) as refused:
        lamina.compile(text)
    assert f"argument 2 of @main: {message}" in str(refused.value).replace(
        f"lamina.derived = {formula}: ", ""
    )


@pytest.mark.parametrize("least", ["-1 : i64", "1 : i32", '"n"'])
def test_least_of_a_size_is_a_number(least: str) -> None:
    text = f"""func.func @main(%x: tensor<i64> {{lamina.least = {least}}}) -> tensor<i64> {{
  func.return %x : tensor<i64>
}}"""
    with pytest.raises(InputError, match=r"lamina\.least is an i64 from 0 on, not"):
        lamina.compile(text)


@pytest.mark.parametrize("counts", ['["m", "n"]', '["n"]', "[0, 1]", "1", '["", "", ""]'])
def test_what_counts_is_told_by_inputs(counts: str) -> None:
    text = f"""func.func @main(%x: tensor<4x5xf32> {{lamina.counts = {counts}}},
    %n: tensor<i64> {{lamina.name = "n"}}, %m: tensor<f32> {{lamina.name = "m"}})
    -> tensor<4x5xf32> {{
  func.return %x : tensor<4x5xf32>
}}"""
    with pytest.raises(InputError) as refused:
        lamina.compile(text)
    assert "argument 0 of @main: lamina.counts has" in str(refused.value)
    assert "names of inputs that are sizes (n here)" in str(refused.value)


@pytest.mark.parametrize("tool", ["lamina_run", "lamina_opt"])
def test_tools_refuse_what_would_crash(tool: str, tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text(_text("", '{lamina.kind = "foo"}'))
    options = ["--to", "scheduled"] if tool == "lamina_opt" else []
    command = [sys.executable, "-m", f"lamina.tools.{tool}", str(file), *options]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 1
    assert f"{file}:1:1: error: func.func: result 0 of @main" in ran.stderr


def test_a_mutation_of_another_size_is_refused() -> None:
    text = """func.func @main(%x: tensor<5xf32> {lamina.name = "a"}, %y: tensor<99xf32>)
    -> (tensor<99xf32> {lamina.kind = "mutation", lamina.target = "a"}) {
  func.return %y : tensor<99xf32>
}"""
    with pytest.raises(InputError, match="it is tensor<99xf32>, and 'a', which it is written to"):
        lamina.compile(text)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ('"output"', "", "lamina.in_place marks arguments of kind mutation"),
        ('"mutation", lamina.target = "a"', "memref.copy", "nothing is read or written"),
    ],
)
def test_only_mutations_that_nothing_touches_are_in_place(kind: str, body: str, said: str) -> None:
    copy = '"memref.copy"(%x, %y) : (memref<5xf32>, memref<5xf32>) -> ()' if body else ""
    text = f"""func.func @main(%x: memref<5xf32> {{lamina.name = "a"}},
    %y: memref<5xf32> {{lamina.kind = {kind}, lamina.in_place}}) attributes {{lamina.entry}} {{
  {copy}
  func.return
}}"""
    with pytest.raises(InputError, match=said):
        lamina.compile(text)


@pytest.mark.parametrize("second", ['{lamina.name = "arg0"}', '{lamina.name = "a"}'])
def test_arguments_do_not_share_a_name(second: str) -> None:
    first = "" if "arg0" in second else '{lamina.name = "a"}'
    text = f"""func.func @main(%x: tensor<3xf32> {first}, %y: tensor<3xf32> {second})
    -> tensor<3xf32> {{
  %0 = aten.sub.Tensor(%x, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}}"""
    with pytest.raises(InputError, match="argument 1 of @main: its name is 'a"):
        lamina.compile(text)


def test_two_functions_of_one_name_are_refused_with_their_line() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }"""
    with pytest.raises(InputError, match=r'^p:2:1: error: .*Redefinition of symbol "main"'):
        parse(text, name="p")


PREPARED = """
func.func @setup(%w: tensor<{setup}xf32> {{lamina.kind = "parameter", lamina.name = "w"}}) -> (
    tensor<{made}xf32> {{lamina.kind = "{kind}", lamina.name = "prepared0"}}) {{
  func.return %w : tensor<{setup}xf32>
}}
func.func @main(%w: tensor<3xf32> {{lamina.kind = "parameter", lamina.name = "w"}},
    %p: tensor<3xf32> {{lamina.kind = "prepared", lamina.name = "{taken}"}}) -> tensor<3xf32> {{
  func.return %p : tensor<3xf32>
}}"""


@pytest.mark.parametrize(
    ("setup", "made", "kind", "taken", "message"),
    [
        (3, 3, "prepared", "prepared0", None),
        (3, 3, "prepared", "prepared1", "no @setup makes 'prepared1'"),
        (3, 3, "output", "prepared0", "kinds of results at the loop layer are prepared"),
        (9, 9, "prepared", "prepared0", "'w' is tensor<3xf32>, in @setup tensor<9xf32>"),
        (3, 9, "prepared", "prepared0", "'prepared0' is tensor<3xf32>, in @setup tensor<9xf32>"),
    ],
)
def test_main_takes_what_setup_makes(
    setup: int, made: int, kind: str, taken: str, message: str | None
) -> None:
    text = PREPARED.format(setup=setup, made=made, kind=kind, taken=taken)
    module = parse_module(Context(), text, verify=False)
    if message is None:
        verify_entries(module, "loop")
    else:
        with pytest.raises(InputError) as refused:
            verify_entries(module, "loop")
        assert message in str(refused.value)


def test_unnamed_constants_keep_their_arrays_when_some_are_prepared() -> None:
    """The second is called `parameter1` by its number, also once the first is no argument."""
    text = """func.func @main(%x: tensor<2x2xf32>, %v: tensor<4xf32> {lamina.kind = "parameter"},
    %w: tensor<2x2xf32> {lamina.kind = "parameter"}) -> tensor<2x2xf32> {
  %0 = aten.mul.Tensor(%v, %v) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.sum.default(%0) : (tensor<4xf32>) -> tensor<f32>
  %2 = aten.add.Tensor(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = aten.mul.Tensor(%2, %1) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}"""
    v, w = np.arange(4, dtype=np.float32), np.full((2, 2), 10, np.float32)
    x = np.ones((2, 2), np.float32)
    compiled = lamina.compile(text, constants={"parameter0": v, "parameter1": w})
    np.testing.assert_array_equal(compiled(x), (x + w) * 14)


def test_what_is_written_is_found_beside_unnamed_constants() -> None:
    text = """func.func @main(%w: tensor<3xf32> {lamina.kind = "parameter"}, %x: tensor<3xf32>)
    -> tensor<3xf32> {
  %0 = aten.add_.Tensor(%x, %w) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}"""
    x, w = np.ones(3, np.float32), np.full(3, 2, np.float32)
    result = lamina.compile(text, constants={"parameter0": w})(x)
    np.testing.assert_array_equal(result, [3, 3, 3])
    np.testing.assert_array_equal(x, [3, 3, 3])
