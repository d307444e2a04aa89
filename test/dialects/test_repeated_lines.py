"""Lines that a text had before are read as if they were new."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def
from xdsl.utils.exceptions import ParseError

from lamina.dialects.context import Context
from lamina.dialects.repeated_lines import RepeatedLines
from lamina.dialects.source import SourceParser

TEXTS = sorted(Path(__file__).parents[1].rglob("*.mlir"))


@irdl_op_definition
class BackwardsOp(IRDLOperation):
    """An op whose text names its operands from the last to the first."""

    name = "test.backwards"
    a = operand_def(f32)
    b = operand_def(f32)
    assembly_format = "$b `,` $a attr-dict"


def read(text: str, monkeypatch: pytest.MonkeyPatch, repeats: bool) -> ModuleOp | str:
    """A text with or without what is remembered of lines; the message of one that is no program."""
    with monkeypatch.context() as patch:
        if not repeats:
            patch.setattr(RepeatedLines, "line_at", lambda *_: None)
        context = Context()
        context.load_op(BackwardsOp)
        try:
            return SourceParser(context, text, "text").parse_module()
        except ParseError as error:
            return str(error)


def printed(module: ModuleOp) -> str:
    """The text; of programs that are not valid, as they were not verified, perhaps an error."""
    try:
        return str(module)
    except (ValueError, LookupError, AttributeError) as error:
        return repr(error)


def assert_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops, operands, types, attributes, hints of names, places, or the message."""
    new, old = (read(text, monkeypatch, repeats) for repeats in (True, False))
    if isinstance(new, str) or isinstance(old, str):
        assert str(new) == str(old)
        return
    assert printed(new) == printed(old)
    for one, other in zip_longest(new.walk(), old.walk()):
        assert type(one) is type(other)
        assert one.location == other.location
        assert [r.name_hint for r in one.results] == [r.name_hint for r in other.results]


@pytest.mark.parametrize("part", range(8))
def test_texts_of_tests(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text beside this one, its pieces twice over in one module where they allow it."""
    for file in TEXTS[part::8]:
        text = file.read_text()
        for piece in text.split("// -----"):
            assert_same(piece, monkeypatch)


ORDER = """
func.func @main(%a: memref<4xf32>, %b: f32, %c: f32, %i: index) {{
  %0 = arith.subf %b, %b : f32
  %1 = arith.subf %b, %c : f32
  %2 = arith.subf %c, %b : f32
  {line}
  func.return
}}
"""


@pytest.mark.parametrize(
    "line",
    [
        "%3 = arith.subf %1, %2 : f32",
        "%3 = arith.subf %1, %2 : f32 // %1",
        '%3 = arith.subf %1, %2 : f32 loc("elsewhere":1:1)',
        "%3 = arith.subf %i, %2 : f32",
        "%3 = arith.subf %1, %later : f32\n  %later = arith.subf %1, %2 : f32",
        "%2 = arith.subf %1, %2 : f32",
        "%3 = arith.subf %1, %2 : f32 %4 = arith.subf %1, %2 : f32",
        "%3 = arith.subf %1, %2 : f32 }",
        "%3 = arith.subf %1, %2#1 : f32",
        "%3:2 = arith.subf %1, %2 : f32",
        "%3 = arith.subf %1 : f32",
        '%3 = "arith.subf"(%1, %2) : (f32, f32) -> f32\n'
        '  %4 = "arith.subf"(%2, %1) : (f32, f32) -> f32',
        '%3 = "arith.subf"(%1, %2) {s = "%1"} : (f32, f32) -> f32\n'
        '  %4 = "arith.subf"(%2, %1) {s = "%1"} : (f32, f32) -> f32\n'
        '  %5 = "arith.subf"(%2, %1) {s = "%2"} : (f32, f32) -> f32',
        "test.backwards %1, %1\n  test.backwards %1, %2\n  test.backwards %2, %1",
        "memref.store %1, %a[%i] : memref<4xf32>\n  memref.store %2, %a[%i] : memref<4xf32>",
    ],
)
def test_lines(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in a line that nearly is one that was there."""
    assert_same(ORDER.format(line=line), monkeypatch)


def test_short_names_mean_what_is_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """`yield` of one dialect does not become that of another."""
    text = """
func.func @main(%c: i1, %x: f32) -> f32 {
  %0 = scf.if %c -> (f32) {
    yield %x : f32
  } else {
    yield %x : f32
  }
  return %0 : f32
}
func.func @other(%x: f32) -> f32 {
  return %x : f32
}
"""
    assert_same(text, monkeypatch)
