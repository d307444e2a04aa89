"""Tables whose number of rows comes with the call: what is looked up ends there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import ExecutionError
from lamina.codegen.target import Target
from lamina.passes.contracts.argument_numbers import LIMITS
from lamina.passes.contracts.declared import arguments_of
from lamina.passes.memory.bufferize import ENTRY
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

pytestmark = pytest.mark.one_in(2)

torch: Any = pytest.importorskip("torch")
F = torch.nn.functional

ROWS, PLACES, WIDTH = 1024, 64, 24
T = R = f"tensor<?x{WIDTH}xf32>"
P = "tensor<?xi64>"
PROGRAMS: dict[str, tuple[str, str, str, str, Callable[[Any, Any], Any]]] = {
    "embedding": (f"embedding.default(%t, %i) : ({T}, {P}) -> {R}", T, P, R,
                  lambda t, i: F.embedding(i, t)),
    "index select": (f"index_select.default(%t, 0, %i) : ({T}, {P}) -> {R}", T, P, R,
                     lambda t, i: t.index_select(0, i)),
    "index": (f"index.Tensor(%t, [%i]) : ({T}, {P}) -> {R}", T, P, R, lambda t, i: t[i]),
    "gather": (f"gather.default(%t, 0, %i) : ({T}, tensor<?x{WIDTH}xi64>) -> {R}",
               T, f"tensor<?x{WIDTH}xi64>", R, lambda t, i: t.gather(0, i)),
    "take": ("take.default(%t, %i) : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>",
             "tensor<?xf32>", P, "tensor<?xf32>", torch.take),
    "embedding of i32": (f"embedding.default(%t, %i) : ({T}, tensor<?xi32>) -> {R}",
                         T, "tensor<?xi32>", R, lambda t, i: F.embedding(i, t)),
}  # fmt: skip


def _text(name: str) -> str:
    call, table, places, result, _ = PROGRAMS[name]
    return f"""
func.func @main(%t: {table} {{lamina.dims = [#lamina.size<n in [0, {ROWS}]>]}},
                %i: {places} {{lamina.dims = [#lamina.size<k in [0, {PLACES}]>]}}) -> {result} {{
  %r = aten.{call}
  func.return %r : {result}
}}"""


def _table(name: str, rows: int, random: np.random.Generator) -> np.ndarray:
    wide = WIDTH if "x24" in PROGRAMS[name][1] else 1
    made = random.standard_normal((rows, wide)).astype(np.float32)
    return made if wide > 1 else made[:, 0]


def _places(name: str, low: int, rows: int, count: int, random: np.random.Generator) -> np.ndarray:
    kind = PROGRAMS[name][2]
    shape = (count, WIDTH) if "x24" in kind else (count,)
    return random.integers(low, max(rows, 1), shape, np.int32 if "i32" in kind else np.int64)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_of_any_length(name: str) -> None:
    compiled = lamina.compile(_text(name), versions="padded")
    random = np.random.default_rng(0)
    wraps = name in ("index", "take")
    for rows, count in ((9, 5), (ROWS, PLACES), (700, 33), (1, 4), (3, 0), (0, 0)):
        table = _table(name, rows, random)
        places = _places(name, -rows if wraps else 0, rows, count, random)
        wanted = PROGRAMS[name][-1](torch.from_numpy(table), torch.from_numpy(places))
        np.testing.assert_array_equal(compiled(table, places), wanted.numpy())


@pytest.mark.parametrize("name", PROGRAMS)
def test_places_behind_the_rows_of_a_call_are_errors(name: str) -> None:
    """As in eager mode, though the version has room for more rows."""
    compiled = lamina.compile(_text(name), versions="padded")
    random = np.random.default_rng(0)
    outside = {"index": -10, "take": -10}.get(name, -1)
    said = "index out of range: must be at least 0 and below the size that the call gives"
    for rows, wrong in ((9, 9), (9, 500), (9, ROWS), (9, ROWS + 1), (9, outside), (1, 1), (0, 0)):
        table, places = _table(name, rows, random), _places(name, 0, rows, 7, random)
        places[-2] = wrong
        with pytest.raises((IndexError, RuntimeError)):
            PROGRAMS[name][-1](torch.from_numpy(table), torch.from_numpy(places))
        with pytest.raises(ExecutionError, match=said):
            compiled(table, places)
    table, places = _table(name, 9, random), _places(name, 0, 9, 7, random)
    wanted = PROGRAMS[name][-1](torch.from_numpy(table), torch.from_numpy(places))
    np.testing.assert_array_equal(compiled(table, places), wanted.numpy())


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreters_agree(name: str) -> None:
    """Before and behind each layer, of padding as well."""
    random = np.random.default_rng(0)
    sizes = {"n": ROWS, "k": PLACES}
    table, places = _table(name, ROWS, random), _places(name, 0, 9, PLACES, random)
    inputs = [table, places, np.array(9), np.array(5)]
    module = padded_program(parse(_text(name)), sizes)
    [wanted, *_] = run_module(module, inputs)
    for layer in ("prims", "loop", "fused"):
        lowered = module.clone()
        lower(lowered, "functional", layer, Target.host())
        [found, *_] = run_module(lowered, inputs)
        np.testing.assert_array_equal(found[:5], wanted[:5])
        if layer == "prims":
            continue
        places[2] += 9
        with pytest.raises(ExecutionError, match="index out of range"):
            run_module(lowered, inputs)
        places[2] -= 9


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_are_passed_as_they_are(name: str) -> None:
    module = padded_program(parse(_text(name)), {"n": ROWS, "k": PLACES})
    lower(module, "functional", "bufferized", Target.host())
    entry: Any = next(op for op in module.body.block.ops if ENTRY in op.attributes)
    limits: list[Any] = [declared.entries[LIMITS] for declared in arguments_of(entry)[:2]]
    assert [limit.data[0].value.data for limit in limits] == [2, 3]


SCRIPT = """
import ctypes, mmap
from math import prod
import numpy as np
import lamina

def ending(shape, dtype, behind):
    # an array that ends at memory which may not be touched
    size = prod(shape) * np.dtype(dtype).itemsize
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + behind)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    whole = np.frombuffer(memory, np.uint8)
    assert protect(whole.ctypes.data + room, behind, 0) == 0
    return whole[room - size :][:size].view(dtype).reshape(shape)

def look_up(compiled, table, places, expected):
    given = ending(places.shape, places.dtype, 1 << 20)
    given[...] = places
    np.testing.assert_allclose(compiled(table, given), expected, 1e-5, 1e-5)
    given[-1] = len(table)
    try:
        compiled(table, given)
    except lamina.ExecutionError:
        return
    raise AssertionError("a place behind the table")

"""

LOOK_UPS = """
rows, width, text, kind = {rows}, {width}, '''{text}''', np.dtype('{kind}')
compiled = lamina.compile(text, versions="padded")
table = ending((rows, width) if width > 1 else (rows,), np.float32, 1 << 20)
table[...] = np.arange(rows * width).reshape(table.shape)
for k in (1, 7, 64):
    places = np.arange(k, dtype=kind) * 37 % rows
    wanted = table[places]
    if '{name}' == 'gather':
        places = np.repeat(places[:, None], width, 1)
    look_up(compiled, table, places, wanted)
print("looked up what counts")
"""

FAR = """
# A table that no cache holds: rows to come are fetched ahead.
compiled = lamina.compile('''
func.func @main(%t: tensor<?x512xf32> {lamina.dims = [#lamina.size<n>]},
                %i: tensor<?xi64> {lamina.dims = [#lamina.size<k>]}) -> tensor<?x512xf32> {
  %0 = aten.embedding.default(%t, %i) : (tensor<?x512xf32>, tensor<?xi64>) -> tensor<?x512xf32>
  %1 = aten.layer_norm.default(%0, [512]) : (tensor<?x512xf32>) -> tensor<?x512xf32>
  func.return %1 : tensor<?x512xf32>
}''', versions="padded")
table = ending((40000, 512), np.float32, 1 << 26)
for k in (1, 3, 1000):
    places = np.arange(k) * 397 % len(table)
    made = np.random.default_rng(0).standard_normal((k, 512)).astype(np.float32)
    table[places] = made
    mean, variance = made.mean(1, keepdims=True), made.var(1, keepdims=True)
    look_up(compiled, table, places, (made - mean) / np.sqrt(variance + 1e-5))
print("looked up what counts")
"""


def _run(script: str) -> None:
    """In a process of its own, which ends if it touches what is protected."""
    command = [sys.executable, "-c", SCRIPT + script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, re.sub(r"\s+", " ", done.stderr)[-500:]
    assert "looked up what counts" in done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_behind_a_table_need_not_be_there(name: str) -> None:
    width = WIDTH if "x24" in PROGRAMS[name][1] else 1
    text = _text(name).replace(f"n in [0, {ROWS}]", f"n in [0, {4 * ROWS}]")
    kind = "int32" if "i32" in PROGRAMS[name][2] else "int64"
    _run(LOOK_UPS.format(rows=700, width=width, text=text, name=name, kind=kind))


def test_rows_to_come_need_not_be_there() -> None:
    _run(FAR)


def test_gradients_of_tables_of_any_length() -> None:
    compiled = lamina.compile(
        f"""
func.func @main(%g: {R} {{lamina.dims = [#lamina.size<k in [0, {PLACES}]>]}},
                %i: {P} {{lamina.dims = [#lamina.size<k>]}},
                %n: i64 {{lamina.dims = [#lamina.size<n in [0, {ROWS}]>]}}) -> {T} {{
  %r = aten.embedding_dense_backward.default(%g, %i, %n, 2, false) : ({R}, {P}, i64) -> {T}
  func.return %r : {T}
}}""",
        versions="padded",
    )
    random = np.random.default_rng(0)
    for rows, count in ((9, 5), (ROWS, PLACES), (700, 33), (1, 4), (3, 0)):
        gradient = random.standard_normal((count, WIDTH)).astype(np.float32)
        places = random.integers(0, rows, count)
        given = torch.from_numpy(gradient), torch.from_numpy(places)
        wanted = torch.ops.aten.embedding_dense_backward(*given, rows, 2, False)
        found: Any = compiled(gradient, places, rows)
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=1e-6)
    for wrong in (9, 500, ROWS + 2):
        with pytest.raises(ExecutionError, match="index out of range"):
            compiled(np.ones((2, WIDTH), np.float32), np.array([3, wrong]), 9)


def test_tables_that_are_made_of_open_rows() -> None:
    """They are made as far as the rows of the call go."""
    compiled = lamina.compile(
        f"""
func.func @main(%t: {T} {{lamina.dims = [#lamina.size<n in [0, {ROWS}]>]}},
                %i: {P} {{lamina.dims = [#lamina.size<k in [0, {PLACES}]>]}}) -> ({R}, {R}) {{
  %0 = aten.softmax.int(%t, 1) : ({T}) -> {T}
  %1 = aten.cumsum.default(%0, 0) : ({T}) -> {T}
  %2 = aten.embedding.default(%0, %i) : ({T}, {P}) -> {R}
  %3 = aten.index.Tensor(%1, [%i]) : ({T}, {P}) -> {R}
  func.return %2, %3 : {R}, {R}
}}""",
        versions="padded",
    )
    random = np.random.default_rng(0)
    for rows, count in ((9, 5), (ROWS, PLACES), (700, 33), (1, 4), (3, 0), (0, 0)):
        table = random.standard_normal((rows, WIDTH)).astype(np.float32)
        places = random.integers(0, max(rows, 1), count)
        given = torch.from_numpy(table).softmax(1)
        for found, made in zip(compiled(table, places), (given, given.cumsum(0)), strict=True):
            np.testing.assert_allclose(found, made[places].numpy(), rtol=1e-4, atol=1e-5)
    for wrong in (9, 500):
        with pytest.raises(ExecutionError, match="index out of range"):
            compiled(np.ones((9, WIDTH), np.float32), np.array([3, wrong]))


@pytest.mark.parametrize(
    "look",
    [
        lambda x, i: x.flatten().gather(0, i),
        lambda x, i: x[i],
        lambda x, i: x.index_select(0, i).sum(0),
        lambda x, i: torch.nn.functional.embedding(i, x),
    ],
)
def test_a_table_of_no_rows_has_no_memory(look: Any) -> None:
    """Torch gives it no address: whatever is looked up there is an error."""
    compiled = torch.compile(look, backend="lamina")
    table, places = torch.empty(0, 40), torch.zeros(33, dtype=torch.int64)
    assert table.data_ptr() == 0
    with pytest.raises(lamina.ExecutionError, match="index out of range"):
        compiled(table, places)
