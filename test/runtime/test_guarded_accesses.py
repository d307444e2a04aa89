"""Scheduled code that comes in as text leaves its buffers with an error, and nothing else.

Numbers of code that the compiler made are changed one by one: a call gives a result or an error
that names the access. A process that ends fails the run.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ExecutionError, InputError

pytestmark = pytest.mark.one_in(2)

_PROGRAMS = {
    "rows": """
func.func @main(%x: tensor<37x19xf32>, %y: tensor<19xf32>) -> tensor<37x19xf32> {
  %0 = aten.add.Tensor(%x, %y) : (tensor<37x19xf32>, tensor<19xf32>) -> tensor<37x19xf32>
  %1 = aten.softmax.int(%0, dim = 1) : (tensor<37x19xf32>) -> tensor<37x19xf32>
  func.return %1 : tensor<37x19xf32>
}""",
    "product": """
func.func @main(%x: tensor<13x21xf32>, %y: tensor<21x35xf32>) -> tensor<13x35xf32> {
  %0 = aten.mm.default(%x, %y) : (tensor<13x21xf32>, tensor<21x35xf32>) -> tensor<13x35xf32>
  func.return %0 : tensor<13x35xf32>
}""",
    "transpose": """
func.func @main(%x: tensor<18x21xf32>) -> tensor<21x18xf32> {
  %0 = aten.t.default(%x) : (tensor<18x21xf32>) -> tensor<21x18xf32>
  %1 = aten.relu.default(%0) : (tensor<21x18xf32>) -> tensor<21x18xf32>
  func.return %1 : tensor<21x18xf32>
}""",
    "lookup": """
func.func @main(%x: tensor<30x7xf32>, %i: tensor<9xi64>) -> tensor<9x7xf32> {
  %0 = aten.index_select.default(%x, 0, %i) : (tensor<30x7xf32>, tensor<9xi64>) -> tensor<9x7xf32>
  func.return %0 : tensor<9x7xf32>
}""",
}
_CONSTANT = re.compile(r"(%\w+) = arith.constant (-?\d+) : index")
_MOST_CHANGES = 12
"""Of each program, spread over its text: each is a compilation."""


def _arguments(name: str) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    shapes = re.findall(r"%\w: tensor<(\d+(?:x\d+)*)x(f32|i64)>", _PROGRAMS[name])
    return [
        random.standard_normal([int(e) for e in shape.split("x")]).astype(np.float32)
        if kind == "f32"
        else random.integers(0, 30, [int(e) for e in shape.split("x")])
        for shape, kind in shapes
    ]


def _changed(text: str) -> list[str]:
    """The text with one number changed: ends of loops by little, as these take their time."""
    bounds = {name for found in re.findall(r"scf.for.* = (.*) \{", text) for name in _names(found)}
    bounds |= {n for found in re.findall(r'"scf.parallel"\((.*?)\)', text) for n in _names(found)}
    changes = [
        text[: found.start(2)] + number + text[found.end(2) :]
        for found in _CONSTANT.finditer(text)
        for number in (("64",) if found[1] in bounds else ("-1", "100000"))
    ]
    return changes[:: -(-len(changes) // _MOST_CHANGES)]


def _names(text: str) -> list[str]:
    return re.findall(r"%\w+", text)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_what_the_compiler_made_means_the_same_as_text(name: str) -> None:
    arguments = _arguments(name)
    compiled = lamina.compile(_PROGRAMS[name])
    again = lamina.compile(compiled.ir("scheduled"))
    np.testing.assert_array_equal(again(*arguments), compiled(*arguments))


@pytest.mark.parametrize("name", _PROGRAMS)
def test_no_changed_number_ends_the_process(name: str) -> None:
    arguments = _arguments(name)
    text = lamina.compile(_PROGRAMS[name]).ir("scheduled")
    messages = set[str]()
    for changed in _changed(text):
        try:
            lamina.compile(changed)(*arguments)
        except (ExecutionError, InputError) as error:
            messages.add(str(error))
    outside = [message for message in messages if "outside of its buffer" in message]
    assert outside, "no change led out of a buffer"
    assert all(re.match(r"<text>:\d+:\d+: \S+: outside of its buffer", m) for m in outside)


_VECTOR = "vector<16xf32>"
_MASK = "vector<16xi1>"
_X = "memref<40xf32>"


def _kernel(body: str, size: int = 40) -> str:
    x, i, y = f"memref<{size}xf32>", "memref<4xi64>", "memref<16xf32>"
    named = f'%x: {x} {{lamina.name = "x"}}, %i: {i} {{lamina.name = "i"}}'
    made = f'%y: {y} {{lamina.kind = "output"}}, %arena: memref<0xi8> {{lamina.kind = "arena"}}'
    return f"""
func.func @main({named}, {made}) attributes {{lamina.entry}} {{
  func.call @kernel(%x, %i, %y) : ({x}, {i}, {y}) -> ()
  func.return
}}
func.func private @kernel(%x: {x}, %i: {i}, %y: {y}) attributes {{lamina.kernel}} {{
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  %word = memref.load %i[%c0] : memref<4xi64>
  %n = arith.index_cast %word : i64 to index
{body}
  func.return
}}"""


_ACCESSES = {
    "memref.load": """
  %e = memref.load %x[%n] : memref<40xf32>
  memref.store %e, %y[%c0] : memref<16xf32>""",
    "memref.store": """
  %e = memref.load %x[%c0] : memref<40xf32>
  memref.store %e, %y[%n] : memref<16xf32>""",
    "vector.load": """
  %v = vector.load %x[%n] : memref<40xf32>, vector<16xf32>
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>""",
    "vector.store": """
  %v = vector.load %x[%c0] : memref<40xf32>, vector<16xf32>
  vector.store %v, %y[%n] : memref<16xf32>, vector<16xf32>""",
    "vector.maskedload": f"""
  %c3 = arith.constant 3 : index
  %m = vector.create_mask %c3 : vector<16xi1>
  %v = vector.maskedload %x[%n], %m, %zeros : {_X}, {_MASK}, {_VECTOR} into {_VECTOR}
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>""",
    "vector.maskedstore": """
  %v = vector.load %x[%c0] : memref<40xf32>, vector<16xf32>
  %m = loop.cmpf %v, %v {predicate = 1 : i64} : vector<16xf32>, vector<16xf32> -> vector<16xi1>
  vector.maskedstore %y[%n], %m, %v : memref<16xf32>, vector<16xi1>, vector<16xf32>""",
    "loop.gather": f"""
  %v0 = vector.load %x[%c0] : memref<40xf32>, vector<16xf32>
  %m = loop.cmpf %v0, %v0 {{predicate = 1 : i64}} : vector<16xf32>, vector<16xf32> -> vector<16xi1>
  %o = vector.broadcast %word : i64 to vector<16xi64>
  %v = loop.gather %x[%c0][%o], %m, %zeros : {_X}, vector<16xi64>, {_MASK}, {_VECTOR} -> {_VECTOR}
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>""",
    "loop.row": """
  %rows = loop.reshape %x : memref<40xf32> -> memref<2x20xf32>
  %r = loop.row %rows[%n] : memref<2x20xf32> -> memref<20xf32>
  %v = vector.load %r[%c0] : memref<20xf32>, vector<16xf32>
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>""",
}
"""By op: what reads or writes at the number `%n` of the call."""


@pytest.mark.parametrize("op", _ACCESSES)
@pytest.mark.parametrize("place", [-1, 41, 1 << 40, -(1 << 63), (1 << 63) - 1])
def test_places_of_data(op: str, place: int) -> None:
    compiled = lamina.compile(_kernel(_ACCESSES[op]))
    x = np.arange(40, dtype=np.float32)
    inside, outside = np.zeros(4, np.int64), np.full(4, place)
    compiled(x, inside)
    with pytest.raises(
        ExecutionError, match=rf"<text>:\d+:\d+: {re.escape(op)}: outside of its buffer"
    ):
        compiled(x, outside)


def test_lanes_that_are_off_may_be_anywhere() -> None:
    body = f"""
  %m = vector.create_mask %c0 : vector<16xi1>
  %v = vector.maskedload %x[%n], %m, %zeros : {_X}, {_MASK}, {_VECTOR} into {_VECTOR}
  vector.store %v, %y[%c0] : memref<16xf32>, vector<16xf32>"""
    compiled = lamina.compile(_kernel(body))
    result = compiled(np.ones(40, np.float32), np.full(4, 1 << 40))
    np.testing.assert_array_equal(result, np.zeros(16, np.float32))


def test_a_vector_longer_than_its_buffer_is_refused() -> None:
    text = _kernel(_ACCESSES["vector.load"], size=8).replace("memref<40xf32>", "memref<8xf32>")
    with pytest.raises(InputError, match=r"vector\.load: takes 8 more than its buffer has"):
        lamina.compile(text)


def test_the_pass_may_be_left_out() -> None:
    text = lamina.compile(_PROGRAMS["product"]).ir("scheduled")
    whole = lamina.compile(text).ir("scheduled")
    trusted = lamina.compile(text, pipeline=lamina.Pipeline().drop("guard-accesses"))
    assert whole.count("cf.assert") > trusted.ir("scheduled").count("cf.assert")
