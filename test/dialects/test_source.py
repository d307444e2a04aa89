"""Reading text: whatever is wrong with it, the answer is an `InputError` that fits a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.dialects.nearest_ops import nearest, nearest_ops
from lamina.dialects.source import decode_source, parse_module

PROGRAMS = (
    """func.func @main(%a: tensor<2x3xf32> {lamina.name = "a"},
                %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%a, %b, alpha = 2) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.cat.default([%0, %a], dim = -1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = aten.slice.Tensor(%1, dim = 1, start = 0, end = 3) : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %3 = aten._to_copy.default(%2, dtype = f64) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  func.return %2 : tensor<2x3xf32>
}
""",
    """func.func @main(%a: tensor<4x8xf32>, %x: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %r = loop.generic (d0, d1, d2) in [4, 8, 8]
         reads(%a[d0, d2] : tensor<4x8xf32>, %x[d1, d2 - 1] pad 0.0 : f32 : tensor<8x8xf32>)
         writes([d0, d1] add : tensor<4x8xf32>) {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x8xf32>
}
""",
    """func.func @main(%x: memref<64xf32>, %n: index) attributes {lamina.entry} {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %n step %n {
    %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
    vector.store %v, %x[%i] : memref<64xf32>, vector<8xf32>
    scf.yield
  }
  func.return
}
""",
)
WORDS = """
% ( ) [ ] { } < > , : = -> - " ? x 0 -1 1e999 99999999999999999999 none true é / // @ \\ %a ^bb0
#map !t loc( f32 i1 d0 dense<1> tensor<?xf32> aten.relu.default loop.yield
"""
PIECES = st.sampled_from(WORDS.split())


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_valid_to_begin_with(program: str) -> None:
    module = parse_module(Context(), program)
    assert str(parse_module(Context(), str(module))) == str(module)


@given(
    program=st.sampled_from(PROGRAMS),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES | st.just("")), min_size=1, max_size=3
    ),
)
def test_edited_programs_parse_or_are_refused(
    program: str, edits: list[tuple[float, int, str]]
) -> None:
    text = program
    for place, removed, piece in edits:
        start = int(place * len(text))
        text = text[:start] + piece + text[start + removed :]
    try:
        parse_module(Context(), text, "edited.mlir")
    except InputError as error:
        message = str(error)
        assert message.startswith(("edited.mlir:", "error:")), message
        assert len(message.splitlines()) < 20


@given(data=st.binary(max_size=200))
def test_any_bytes_parse_or_are_refused(data: bytes) -> None:
    try:
        parse_module(Context(), data, "bytes.mlir")
    except InputError as error:
        assert str(error).startswith("bytes.mlir:")


def test_place_of_a_byte_that_is_no_text() -> None:
    with pytest.raises(InputError, match=r"^f\.mlir:2:3: error: not UTF-8 text \(byte 0xff\)"):
        decode_source(b"ab\ncd\xff", "f.mlir")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten.gelu", "aten.gelu.default"),
        ("aten.gleu.default", "aten.gelu.default"),
        ("nothing_like_it", None),
    ],
)
def test_nearest(name: str, expected: str | None) -> None:
    names = ["aten.add.Tensor", "aten.gelu.out", "aten.gelu.default"]
    assert next(iter(nearest(name, names)), None) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("foo.add", ["aten.add.Tensor", "core_aten.add.Tensor", "prims.add"]),
        ("relu", ["aten.relu.default", "core_aten.relu.default"]),
        ("torch.aten.relu", ["aten.relu.default", "aten.relu.out", "core_aten.relu.default"]),
        ("aten.Gelu", ["aten.gelu.default", "core_aten.gelu.default"]),
        ("core_aten.silu.default", ["aten.silu.default"]),
        ("loops.generic", ["loop.generic"]),
        ("func.retrun", ["func.return"]),
        ("linalg.zzz", []),
        ("nothing.like.it", []),
    ],
)
def test_nearest_ops_exist_and_are_of_programs(name: str, expected: list[str]) -> None:
    found = nearest_ops(Context(), name)
    assert found[: len(expected)] == expected and (expected or not found)
    for near in found:
        assert Context().get_optional_op(near) is not None


LOOP = """"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "loop.generic"(%x) <{domain = array<i64: 4>, input_maps = [affine_map<(d0) -> (d0)>],
      pads = [unit], output_maps = [affine_map<(d0) -> (d0)>], combiners = ["store"],
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> ({
    ^bb1(%a: f32):
      "loop.yield"(%a) : (f32) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("array<i32: 1, 0, 0, 0, 0>", "array<i32: 1, 0>", "loop.generic does not verify"),
        (
            "array<i32: 1, 0, 0, 0, 0>",
            "array<i32: 7, -6, 0, 0, 0>",
            "loop.generic: a negative number",
        ),
        (
            "array<i32: 1, 0, 0, 0, 0>",
            "array<i65: 1, 0, 0, 0, 0>",
            "malformed text here: Format not",
        ),
        ("array<i64: 4>", "array<i32: 4>", "loop.generic does not verify"),
        ("array<i64: 4>", "array<i128: 4>", "malformed text here: Format not"),
        ("array<i64: 4>", "array<f80: 4.0>", ""),
        ("array<i64: 4>", "4.0 : f80", "no number of f80 can be held, the widest is f64"),
        ("array<i64: 4>", "dense<4> : tensor<1xi64>", "loop.generic does not verify"),
        (", function_type = (tensor<4xf32>) -> tensor<4xf32>", "", "function_type"),
        ("pads = [unit]", "pads = []", "loop.generic does not verify"),
        ("^bb1(%a: f32):", "^bb1(%a: f32):\n^bb2(%b: f32):", "loop.generic does not verify"),
    ],
)
def test_malformed_generic_forms_are_refused_by_op(old: str, new: str, message: str) -> None:
    parse_module(Context(), LOOP, "given.mlir")
    assert old in LOOP
    with pytest.raises(InputError, match=rf"(?s)^given.mlir:\d+:\d+: error: .*{message}"):
        parse_module(Context(), LOOP.replace(old, new), "given.mlir")


@pytest.mark.parametrize("value", ["5.0", "0", '"0x00000000"'])
@pytest.mark.parametrize("shape", ["300000000", "65536x65536", "9223372036854775807"])
def test_constants_are_counted_before_they_are_made(value: str, shape: str) -> None:
    text = f"func.func @f() {{\n  %0 = arith.constant dense<{value}> : tensor<{shape}xf32>\n}}"
    with pytest.raises(InputError, match=r"a constant of \d+ elements holds each of them"):
        parse_module(Context(), text)


def test_a_constant_of_one_value_may_be_large() -> None:
    text = "%0 = arith.constant dense<5.0> : tensor<1048576xf32>"
    assert "dense<5.000000e+00> : tensor<1048576xf32>" in str(parse_module(Context(), text))


@pytest.mark.parametrize("text", [3, None, ["func.func @f()"]])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(InputError, match=r"cannot parse a (int|NoneType|list): pass textual IR"):
        lamina.parse(text)  # pyright: ignore[reportArgumentType]


def test_one_value_of_a_constant_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    normalized = IntegerType.get_normalized_value

    def noted(kind: IntegerType, value: int) -> int:
        looked_at.append(value)
        return normalized(kind, value)

    monkeypatch.setattr(IntegerType, "get_normalized_value", noted)
    text = "%0 = arith.constant dense<-5> : vector<1048576xi8>"
    assert "dense<-5> : vector<1048576xi8>" in str(parse_module(Context(), text))
    assert looked_at == [-5]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%1 = memref.load %m[] : memref<5xi32>", "expected an index for each dimension"),
        (
            '%1 = "arith.cmpi"(%a, %a) <{predicate = 10 : i64}> : (i32, i32) -> i1',
            "arith.cmpi: there is no predicate 10",
        ),
        (
            '%1 = "arith.cmpf"(%f, %f) <{predicate = -1 : i64}> : (f32, f32) -> i1',
            "arith.cmpf: there is no predicate -1",
        ),
    ],
)
def test_what_xdsl_does_not_verify_is_refused_where_it_stands(body: str, message: str) -> None:
    text = f"func.func @f(%m: memref<5xi32>, %a: i32, %f: f32) {{\n  {body}\n  return\n}}"
    with pytest.raises(InputError, match=f"^given.mlir:2:3: error: .*{message}"):
        parse_module(Context(), text, "given.mlir")
