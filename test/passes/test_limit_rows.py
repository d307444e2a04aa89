"""Kernels whose loops end at a size of the call: live rows are right, others are not run."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

pytestmark = pytest.mark.one_in(2)

BOUND = 64
PROGRAMS = {
    "pieces": (
        "%0 = aten.unsqueeze.default(%x, 2) : (tensor<?x48xf32>) -> tensor<?x48x1xf32>\n"
        "%2 = aten.expand.default(%0, [-1, 48, 64]) : (tensor<?x48x1xf32>) -> tensor<?x48x64xf32>\n"
        "%1 = aten.sigmoid.default(%2) : (tensor<?x48x64xf32>) -> tensor<?x48x64xf32>",
        "?x48x64",
    ),
    "rows": ("%1 = aten.softmax.int(%x, -1) : (tensor<?x48xf32>) -> tensor<?x48xf32>", "?x48"),
    "product": (
        "%1 = aten.linear.default(%x, %w) : (tensor<?x48xf32>, tensor<96x48xf32>) -> "
        "tensor<?x96xf32>",
        "?x96",
    ),
    "product and softmax": (
        "%0 = aten.linear.default(%x, %w) : (tensor<?x48xf32>, tensor<96x48xf32>) -> "
        "tensor<?x96xf32>\n"
        "%1 = aten.softmax.int(%0, -1) : (tensor<?x96xf32>) -> tensor<?x96xf32>",
        "?x96",
    ),
    "heads": (
        "%0 = aten.view.default(%x, [-1, 4, 12]) : (tensor<?x48xf32>) -> tensor<?x4x12xf32>\n"
        "%2 = aten.transpose.int(%0, 0, 1) : (tensor<?x4x12xf32>) -> tensor<4x?x12xf32>\n"
        "%1 = aten.softmax.int(%2, -1) : (tensor<4x?x12xf32>) -> tensor<4x?x12xf32>",
        "4x?x12",
    ),
}


def _text(name: str) -> str:
    ops, result = PROGRAMS[name]
    return f"""
func.func @main(%x: tensor<?x48xf32> {{lamina.dims = [#lamina.size<n in [1, {BOUND}]>]}},
                %w: tensor<96x48xf32>) -> tensor<{result}xf32> {{
  {ops}
  func.return %1 : tensor<{result}xf32>
}}"""


def _arguments(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BOUND, 48), np.float32)
    return [x, rng.standard_normal((96, 48), np.float32), np.array(count)]


def _uncut(text: str) -> str:
    """The program, whose result is not cut when the call ends."""
    return re.sub(r"lamina.sizes = \[[^]]*\]", "lamina.uncut", text)


def _by_itself(module: ModuleOp) -> ModuleOp:
    """The program, whose arguments lie in memory as their types say."""
    return parse(str(module).replace("lamina.compact", "lamina.by_itself"))


@pytest.mark.parametrize("count", [1, 5, 37, BOUND])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_behind_the_live_ones_are_not_run(name: str, count: int) -> None:
    module = _by_itself(padded_program(parse(_text(name)), {"n": BOUND}))
    lower(module, "functional", "bufferized", Target.host())
    module = parse(_uncut(str(module)))
    assert "live = [" in str(module)
    wanted = run_module(module, _arguments(count))[0]
    lower(module, "bufferized", "scheduled", Target.host())
    found = run_module(module, _arguments(count))[0]
    axis = 1 if name == "heads" else 0
    np.testing.assert_allclose(
        found.take(range(count), axis), wanted.take(range(count), axis), 1e-5, 1e-5
    )
    left = np.isnan(found.take(range(count, BOUND), axis))
    assert left.any() == (count < BOUND - 16)  # blocks of rows round up


@pytest.mark.parametrize("cores", [2, 5])
@pytest.mark.parametrize("name", ["product", "product and softmax"])
def test_threads_share_live_rows_evenly(name: str, cores: int) -> None:
    bound = 128
    text = _text(name).replace(f"[1, {BOUND}]", f"[1, {bound}]")
    module = padded_program(parse(text), {"n": bound})
    target = replace(Target.parse("x86-64-v4"), cores=cores)
    lower(module, "functional", "bufferized", target)
    lower(module, "bufferized", "scheduled", target)
    assert f"num_threads = {cores}" in str(module)
    assert "loop.num_threads" in str(module)
    team = str(module).replace("loop.num_threads : index", f"arith.constant {cores} : index")
    module = parse(_uncut(team))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((bound, 48), np.float32)
    w = rng.standard_normal((96, 48), np.float32)
    for count in (1, 14, 66, 127):
        found = run_module(module, [x, w, np.array(count)])[0][:count]
        wanted = (x @ w.T)[:count]
        if name != "product":
            wanted = np.exp(wanted) / np.exp(wanted).sum(1, keepdims=True)
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


@pytest.mark.parametrize(("bound", "columns"), [(20, 40), (300, 64)])
def test_few_live_rows_of_long_sums(bound: int, columns: int) -> None:
    """Sums in blocks wait in scratch, where a tile of one live row has its place as well."""
    terms = 16384
    text = f"""
func.func @main(%x: tensor<?x{terms}xf32> {{lamina.dims = [#lamina.size<n in [1, {bound}]>]}},
                %w: tensor<{terms}x{columns}xf32>) -> tensor<?x{columns}xf32> {{
  %1 = aten.mm.default(%x, %w)
      : (tensor<?x{terms}xf32>, tensor<{terms}x{columns}xf32>) -> tensor<?x{columns}xf32>
  func.return %1 : tensor<?x{columns}xf32>
}}"""
    module = padded_program(parse(text), {"n": bound})
    lower(module, "functional", "bufferized", Target.host())
    assert re.search(r"tail = \[4, 3, 2, 1\], .*terms = ", str(module))
    compiled = compile_module(parse(_uncut(str(module))))
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, s).astype(np.float32) for s in ((bound, terms), (terms, columns)))
    for count in (1, 3, 4, 17, bound):
        found = compiled(x, w, np.array(count))[:count]
        np.testing.assert_array_equal(found, (x @ w)[:count])


@pytest.mark.parametrize("block", [None, 20, 37])
def test_blocks_of_rows_in_pairs_begin_anywhere(block: int | None) -> None:
    """Tiles of rows that are packed in pairs begin in front of a block that begins within one."""
    bound, kind = 64, "tensor<?x48xbf16>"
    text = f"""
func.func @main(%x: tensor<?x48xf32> {{lamina.dims = [#lamina.size<n in [1, {bound}]>]}},
                %w: tensor<96x48xf32>) -> tensor<?x96xf32> {{
  %0 = aten._to_copy.default(%x, dtype = bf16) : (tensor<?x48xf32>) -> {kind}
  %1 = aten._to_copy.default(%w, dtype = bf16) : (tensor<96x48xf32>) -> tensor<96x48xbf16>
  %2 = aten.linear.default(%0, %1) : ({kind}, tensor<96x48xbf16>) -> tensor<?x96xbf16>
  %3 = aten._to_copy.default(%2, dtype = f32) : (tensor<?x96xbf16>) -> tensor<?x96xf32>
  func.return %3 : tensor<?x96xf32>
}}"""
    module = padded_program(parse(text), {"n": bound})
    target = replace(Target.parse("znver4"), cores=2)
    lower(module, "functional", "bufferized", target)
    made = _uncut(str(module))
    assert re.search(r"#loop.schedule<vectorize = d0 x 16, .*jam = d1 x 8", made)
    if block is not None:
        made = re.sub(r"block = \d+", f"block = {block}", made)
        made = re.sub(r"num_threads = \d+, ", "", made)
    module = parse(made)
    lower(module, "bufferized", "scheduled", target)
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((bound, 48), (96, 48)))
    for count in (33, bound):
        found = run_module(module, [x, w, np.array(count)])[0][:count]
        np.testing.assert_allclose(found, (x @ w.T)[:count], 2.0**-8)  # rounded to bf16


@pytest.mark.parametrize("sizes", [2, 9])
def test_calls_that_end_at_other_sizes_share_a_kernel(sizes: int) -> None:
    """Each gives it its own number."""
    kind = "tensor<?x600xf32>"
    given = [
        f"%x{n}: {kind} {{lamina.dims = [#lamina.size<s{n} in [1, 64]>]}}" for n in range(sizes)
    ]
    given.append(f"%last: {kind} {{lamina.dims = [#lamina.size<s0>]}}")
    names = [*(f"x{n}" for n in range(sizes)), "last"]
    ops = [f"%r_{x} = aten._softmax.default(%{x}, 1, false) : ({kind}) -> {kind}" for x in names]
    made, kinds = ", ".join(f"%r_{x}" for x in names), ", ".join([kind] * len(names))
    ops = [f"func.func @main({', '.join(given)}) -> ({kinds}) {{", *ops]
    text = "\n".join([*ops, f"func.return {made} : {kinds}", "}"])
    bounds = {f"s{n}": BOUND for n in range(sizes)}
    module = padded_program(parse(text), bounds)
    lower(module, "functional", "fused", Target.host())
    found = re.findall(r'func private @(\w+)\(.*lamina.ops = \[.*"prims.exp"', str(module))
    assert len(found) == 1
    assert "live = [" in str(module)
    compiled = lamina.compile(text, versions="padded")
    rng = np.random.default_rng(0)
    for first in (1, 31, BOUND):
        rows = [first, *(1 + 13 * n % BOUND for n in range(1, sizes)), first]
        arrays = [rng.standard_normal((n, 600), np.float32) for n in rows]
        for made, x in zip(compiled(*arrays), arrays, strict=True):
            powers = np.exp(x - x.max(1, keepdims=True), dtype=np.float64)
            np.testing.assert_allclose(made, powers / powers.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("count", [-3, 0, BOUND + 1, 1 << 40])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_count_out_of_range_stays_in_memory(name: str, count: int) -> None:
    module = _by_itself(padded_program(parse(_text(name)), {"n": BOUND}))
    lower(module, "functional", "bufferized", Target.host())
    compiled = compile_module(parse(_uncut(str(module))))
    made = compiled(*_arguments(count))
    wanted = compiled(*_arguments(BOUND if count > 0 else 1))
    live = slice(BOUND if count > 0 else 1)
    place = (slice(None), live) if name == "heads" else live
    np.testing.assert_array_equal(made[place], wanted[place])
