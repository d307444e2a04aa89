"""Kernels whose nests stand in loops: every state computes the same, interpreted and natively."""

from __future__ import annotations

import re

import numpy as np
import pytest
from schedule_programs import PROGRAMS
from xdsl.dialects.builtin import ModuleOp

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import run_pipeline
from lamina.runtime.compile import compile_module
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse

pytestmark = pytest.mark.one_in(3)

SCHEDULES = {
    "chosen": "",
    "rows on threads": "parallel",
    "parts": "parallel, tile = 32",
    "columns": "inner = [0], tile = 16",
    "jam": "jam = 4",
}


def _arguments(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"rows": [(64, 70)] * 2, "transpose": [(37, 70), (70, 37)]}
    return [rng.standard_normal(s, np.float32) for s in shapes.get(name, [(37, 70)] * 2)]


def _bufferized(name: str, clauses: str) -> ModuleOp:
    module = parse(PROGRAMS[name])
    lower(module, "aten", "bufferized", Target.host())
    if clauses:
        given = re.sub(r"\[#loop.rows<[^>]*>\]", f"[#loop.rows<{clauses}>]", str(module))
        module = parse(given)
    return module


@pytest.mark.parametrize("clauses", SCHEDULES.values(), ids=list(SCHEDULES))
@pytest.mark.parametrize("name", PROGRAMS)
def test_states_agree(name: str, clauses: str) -> None:
    module, args = _bufferized(name, clauses), _arguments(name)
    wanted = run_module(module, [*args])[0]
    try:
        run_pipeline(module, ["parallelize"], Context())
    except InputError as refusal:  # the words of refusals are tested in parallelize.mlir
        assert "lamina.schedule" in str(refusal)
        return
    assert "slice(" in str(module)
    text = str(module)
    np.testing.assert_allclose(run_module(parse(text), [*args])[0], wanted, 1e-5, 1e-5)
    try:
        compiled = compile_module(parse(text), target=Target.host())
        run_pipeline(module, ["vectorize"], Context())
    except InputError as refusal:
        assert "lamina.schedule" in str(refusal)
        return
    np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)
    assert "loop.generic" not in str(module) and "loop.reshape" in str(module)
    np.testing.assert_allclose(run_module(parse(str(module)), [*args])[0], wanted, 1e-5, 1e-5)
    compiled = compile_module(parse(str(module)), target=Target.host())
    np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_state_in_between_changes_nothing(name: str) -> None:
    texts: list[str] = []
    for passes in (["apply-schedule"], ["parallelize", "apply-schedule"]):
        module = parse(str(_bufferized(name, "")))
        run_pipeline(module, passes, Context())
        left_out = re.compile(r"^ *(%\S+ = arith.constant|func.func private).*\n", re.MULTILINE)
        texts.append(re.sub(r"%[\w.]+", "%", left_out.sub("", str(module))))
    assert sorted(texts[0].splitlines()) == sorted(texts[1].splitlines())


MAIN = """
func.func @main(%x: {x}, %y: {y} {{lamina.kind = "output"}}) attributes {{lamina.entry}} {{
  func.call @kernel(%x, %y) : ({x}, {y}) -> ()
  func.return
}}"""
KERNEL = """
func.func private @kernel(%x: {x}, %y: {y}) attributes {{lamina.kernel}} {{
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[i, j, k] : {x})
      writes([{write}] {combiner} into %y : {y})
      attributes {{lamina.nest = #loop.nest<rows = [d0]>,
                  lamina.schedule = #loop.schedule<{clauses}>}} {{
  ^bb0(%v: f32):
    %s = arith.mulf %v, %v : f32
    loop.yield %s : f32
  }}
  func.return
}}"""
STEPS = {
    "tile": ("8x45x12xf32", "i, j, k", "store", "tile = d1 x 16, vectorize = d2 x 4"),
    "tile vectors": ("8x45x12xf32", "i, j, k", "store", "tile = d2 x 8, vectorize = d2 x 4"),
    "tile columns": ("8x12xf32", "i, k", "add", "tile = d2 x 4, vectorize = d2 x 4"),
    "jam": ("8x12xf32", "i, k", "add", "jam = d2 x 4"),
    "jam rows": ("8x45xf32", "i, j", "max", "jam = d1 x 4, vectorize = d2 x 4"),
    "jam stores": (
        "8x45x12xf32",
        "i, j, k",
        "store",
        "jam = d1 x 2, vectorize = d2 x 8, unroll = 2",
    ),
    "jam and tile": ("8x45xf32", "i, j", "add", "jam = d1 x 2, tile = d1 x 5, vectorize = d2 x 4"),
    "split sum": ("8x12xf32", "i, k", "add", "rfactor = d1 x 5"),
    "split row": ("8x45xf32", "i, j", "add", "rfactor = d2 x 3, vectorize = d2 x 4"),
    "split all": ("8xf32", "i", "max", "rfactor = d1 x 9, vectorize = d2 x 4"),
    "copy": ("8x45xf32", "i, j", "add", "cache_read = [0], vectorize = d2 x 4"),
    "copy and tile": ("8x45x12xf32", "i, j, k", "store", "cache_read = [0], tile = d1 x 16"),
}


@pytest.mark.parametrize("step", STEPS)
def test_steps_agree(step: str) -> None:
    result, write, combiner, clauses = STEPS[step]
    types = {"x": "memref<8x45x12xf32>", "y": f"memref<{result}>"}
    text = (MAIN + KERNEL).format(**types, write=write, combiner=combiner, clauses=clauses)
    args = [np.random.default_rng(0).standard_normal((8, 45, 12), np.float32)]
    module = parse(text)
    wanted = run_module(module, [*args])[0]
    for name in ("parallelize", "cache-read", "rfactor", "jam", "tile-nests"):
        before = str(module)
        run_pipeline(module, [name], Context())
        module = parse(str(module))
        assert name in ("parallelize", *_passes(clauses)) or str(module) == before
        np.testing.assert_allclose(run_module(module, [*args])[0], wanted, 1e-5, 1e-5)
    run_pipeline(module, ["verify-bufferized"], Context())
    assert not any(word in str(module) for word in ("jam", "rfactor", "tile", "cache_read"))
    compiled = compile_module(parse(str(module)), target=Target.host())
    np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("step", ["tile", "tile vectors", "tile columns", "copy", "copy and tile"])
def test_schedules_take_the_same_steps(step: str) -> None:
    result, write, combiner, clauses = STEPS[step]
    types = {"x": "memref<8x45x12xf32>", "y": f"memref<{result}>"}
    text = (MAIN + KERNEL).format(**types, write=write, combiner=combiner, clauses=clauses)
    args = [np.random.default_rng(0).standard_normal((8, 45, 12), np.float32)]
    wanted = run_module(parse(text), [*args])[0]
    compiled = compile_module(parse(text), target=Target.host())
    np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


def _passes(clauses: str) -> list[str]:
    names = {"tile": "tile-nests", "cache_read": "cache-read"}
    return [names.get(clause.split(" ")[0], clause.split(" ")[0]) for clause in clauses.split(", ")]


SUMS = """
func.func private @kernel(%x: {x}, %y: {y}) attributes {{lamina.kernel, lamina.schedule = [#loop.rows<{tasks}>]}} {{
  %e = memref.alloc() : memref<8x45x12xf32>
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[i, j, k] : {x})
      writes([i, j, k] store into %e : memref<8x45x12xf32>)
      attributes {{lamina.nest = #loop.nest<rows = [d0, d1]>}} {{
  ^bb0(%v: f32):
    %s = math.sin %v : f32
    loop.yield %s : f32
  }}
  loop.generic (i, j, k) in [8, 45, 12] reads(%e[i, j, k] : memref<8x45x12xf32>)
      writes([{write}] {combiner} into %y : {y})
      attributes {{lamina.nest = #loop.nest<rows = [d0, d1]>,
                  lamina.schedule = #loop.schedule<{clauses}>}} {{
  ^bb0(%v: f32):
    loop.yield %v : f32
  }}
  func.return
}}"""  # noqa: E501 - an op on one line


STENCIL = """
func.func private @kernel(%x: {x}, %y: {y}) attributes {{lamina.kernel}} {{
  %e = memref.alloc() : memref<8x45x12xf32>
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[i, j, k] : {x})
      writes([i, j, k] store into %e : memref<8x45x12xf32>)
      attributes {{lamina.nest = #loop.nest<rows = [d0]>,
                  lamina.schedule = #loop.schedule<{clauses}>}} {{
  ^bb0(%v: f32):
    %s = math.sin %v : f32
    loop.yield %s : f32
  }}
  loop.generic (i, j, k, l) in [8, 20, 12, 5] reads(%e[i, (j * 2) + l, k] : memref<8x45x12xf32>)
      writes([i, j, k] add into %y : {y})
      attributes {{lamina.nest = #loop.nest<rows = [d0]>,
                  lamina.schedule = #loop.schedule<{tile}>}} {{
  ^bb0(%v: f32):
    loop.yield %v : f32
  }}
  func.return
}}"""


@pytest.mark.parametrize("rows", ["[d0]", "[]"])
@pytest.mark.parametrize("vectors", ["", ", vectorize = d2 x 4"])
@pytest.mark.parametrize(
    ("clauses", "tile", "kept"),
    [
        ("compute_at = d1", "tile = d1 x 7", 17 * 12),
        ("compute_at = d1", "tile = d1 x 19", 41 * 12),
        ("compute_at = d2", "tile = d2 x 5", 45 * 5),
        ("compute_at = d2", "tile = d2 x 1", 45),
    ],
)
def test_producers_in_loops_of_consumers_agree(
    clauses: str, tile: str, kept: int, vectors: str, rows: str
) -> None:
    types = {"x": "memref<8x45x12xf32>", "y": "memref<8x20x12xf32>"}
    given = {"clauses": clauses + vectors, "tile": tile + vectors}
    text = (MAIN + STENCIL).format(**types, **given).replace("rows = [d0]", f"rows = {rows}")
    kept *= 1 if rows == "[d0]" else 8
    args = [np.random.default_rng(0).standard_normal((8, 45, 12), np.float32)]
    module = parse(text)
    wanted = run_module(module, [*args])[0]
    for name in ("parallelize", "tile-nests", "compute-at", "vectorize"):
        run_pipeline(module, [name], Context())
        module = parse(str(module))
        np.testing.assert_allclose(run_module(module, [*args])[0], wanted, 1e-5, 1e-5)
    assert "compute_at" not in str(module) and "loop.generic" not in str(module)
    for state in (str(module), text):  # step by step, and by `apply-schedule`
        compiled = compile_module(parse(state), target=Target.host())
        assert f"memref<{kept}xf32>" in compiled.ir("scheduled")
        np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


ONE_TASK = """
func.func private @kernel(%x: {x}, %y: {y}) attributes {{lamina.kernel, lamina.schedule = [#loop.rows<{tasks}>]}} {{
  %t = memref.alloc() : memref<37xf32>
  %m = memref.alloc() : memref<37xf32>
  loop.generic (i, j) in [45, 37] reads(%x[i, j] : {x}) writes([j] max into %t : memref<37xf32>)
      attributes {{lamina.nest = #loop.nest<rows = {rows}>, lamina.schedule = #loop.schedule<{0}>}} {{
  ^bb0(%v: f32):
    loop.yield %v : f32
  }}
  loop.generic (j) in [37] reads(%t[j] : memref<37xf32>) writes([j] store into %m : memref<37xf32>)
      attributes {{lamina.nest = #loop.nest<rows = {row}>, lamina.schedule = #loop.schedule<{1}>}} {{
  ^bb0(%v: f32):
    %s = arith.mulf %v, %v : f32
    loop.yield %s : f32
  }}
  loop.generic (i, j) in [45, 37] reads(%x[i, j] : {x}, %m[j] : memref<37xf32>)
      writes([i, j] store into %y : {y})
      attributes {{lamina.nest = #loop.nest<rows = {rows}>, lamina.schedule = #loop.schedule<{2}>}} {{
  ^bb0(%v: f32, %w: f32):
    %s = arith.subf %v, %w : f32
    loop.yield %s : f32
  }}
  func.return
}}"""  # noqa: E501 - an op on one line


@pytest.mark.parametrize("tiled", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("tasks", ["", "inner = [0]"], ids=["no rows", "columns"])
def test_loops_between_the_nests_of_one_task(tasks: str, tiled: tuple[int, ...]) -> None:
    """What one of them hands on is read in full: before its loop, in it, and after it."""
    types = {"x": "memref<45x37xf32>", "y": "memref<45x37xf32>"}
    tiles = ["tile = d1 x 12, vectorize = d1 x 4", "tile = d0 x 5", "tile = d0 x 7"]
    clauses = [tile if n in tiled else "" for n, tile in enumerate(tiles)]
    rows = {"rows": "[d1]", "row": "[d0]"} if tasks else {"rows": "[]", "row": "[]"}
    text = (MAIN + ONE_TASK).format(*clauses, **types, **rows, tasks=tasks)
    args = [np.random.default_rng(0).standard_normal((45, 37), np.float32)]
    module = parse(text)
    wanted = run_module(module, [*args])[0]
    for name in ("parallelize", "tile-nests", "verify-bufferized", "vectorize"):
        run_pipeline(module, [name], Context())
        module = parse(str(module))
        np.testing.assert_allclose(run_module(module, [*args])[0], wanted, 1e-5, 1e-5)
    for state in (str(module), text):  # step by step, and by `apply-schedule`
        compiled = compile_module(parse(state), target=Target.host(), cache=False)
        np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize("clauses", ["", "vectorize = d2 x 4", "prefetch_rows = 2"])
@pytest.mark.parametrize(
    ("result", "write", "combiner"),
    [("8x12xf32", "i, k", "add"), ("12xf32", "k", "add"), ("8x12xf32", "i, k", "max")],
)
def test_sums_over_rows_agree(result: str, write: str, combiner: str, clauses: str) -> None:
    types = {"x": "memref<8x45x12xf32>", "y": f"memref<{result}>"}
    types["tasks"] = "parallel" if "i" in write else ""
    text = (MAIN + SUMS).format(**types, write=write, combiner=combiner, clauses=clauses)
    args = [np.random.default_rng(0).standard_normal((8, 45, 12), np.float32)]
    module = parse(text)
    wanted = run_module(module, [*args])[0]
    run_pipeline(module, ["parallelize"], Context())
    assert "slice(" in str(module) and "scf.for" in str(module)
    np.testing.assert_allclose(run_module(parse(str(module)), [*args])[0], wanted, 1e-5, 1e-5)
    compiled = compile_module(parse(str(module)), target=Target.host())
    np.testing.assert_allclose(compiled(*args), wanted, 1e-5, 1e-5)


@pytest.mark.parametrize(
    ("loops", "starts"),
    [
        ("scf.for %n = %c3 to %c45 step %c1 {{ {nest} }}", "slice(j = %n)"),
        ("scf.for %n = %c0 to %c45 step %c3 {{ {nest} }}", "slice(j = %n x 3)"),
        ("{nest}", "slice(i = %c3)"),
        (
            "scf.for %n = %c0 to %c8 step %c1 {{ scf.for %m = %c0 to %c45 step %c1 {{ {nest} }} }}",
            "slice(j = %m, i = %n)",
        ),
    ],
)
def test_sums_over_rows_in_other_loops_are_refused(loops: str, starts: str) -> None:
    nest = f"""loop.generic (i, j, k) in [8, 45, 12] {starts}
        reads(%x[i, j, k] : memref<8x45x12xf32>) writes([i, k] add into %y : memref<8x12xf32>)
        attributes {{lamina.nest = #loop.nest<rows = [d0, d1]>}} {{
    ^bb0(%v: f32):
      loop.yield %v : f32
    }}"""
    types = {"x": "memref<8x45x12xf32>", "y": "memref<8x12xf32>"}
    numbers = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 3, 8, 45))
    text = f"""{MAIN.format(**types)}
    func.func private @kernel(%x: {types["x"]}, %y: {types["y"]}) attributes {{lamina.kernel}} {{
      {numbers} {loops.format(nest=nest)}
      func.return
    }}"""
    with pytest.raises(InputError, match="sum"):
        compile_module(parse(text), target=Target.host())
