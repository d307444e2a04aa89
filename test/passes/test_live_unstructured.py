"""Scans, sorts, segments, scatters and transforms whose rows end at a number: exactly these run.

Arrays hold the rows that count alone, and a page that may not be touched is behind them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from guarded_calls import guarded

from lamina.codegen.target import Target
from lamina.dialects.loop import UNSTRUCTURED_OPS
from lamina.passes.schedule.unstructured_ops import runs_live_rows_only
from lamina.runtime.compile import compile_module
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import OUTPUT_KINDS
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse

pytestmark = pytest.mark.one_in(3)

BOUND = 64
COUNTS = (1, 3, 17, 32, 63, BOUND)


@dataclass(frozen=True)
class Case:
    """One op in a kernel: what it reads, its text and the types of its results."""

    inputs: tuple[str, ...]
    op: str
    results: tuple[str, ...]
    schedule: str
    """What its schedule is to have, so that the case is the one that is meant."""
    work: tuple[str, ...] = ()
    """Types of more results, which are working memory."""

    @property
    def text(self) -> str:
        """The program; its last argument is the number of rows."""
        names = [f"x{number}" for number in range(len(self.inputs))]
        types = [f"tensor<{kind}>" for kind in self.inputs]
        given = ", ".join(f"%{n}: {t}" for n, t in zip(names, types, strict=True))
        passed = ", ".join(f"%{n}" for n in names)
        every = (*self.results, *self.work)
        made = [f"%r{number}" for number in range(len(every))]
        to = [f"tensor<{kind}>" for kind in every]
        kept, kinds = (", ".join(names[: len(self.results)]) for names in (made, to))
        return f"""
func.func @main({given}, %n: tensor<i64>) -> ({kinds}) {{
  {", ".join(made)} = func.call @kernel({passed}, %n)
      : ({", ".join(types)}, tensor<i64>) -> ({", ".join(to)})
  func.return {kept} : {kinds}
}}
func.func private @kernel({given}, %n: tensor<i64>) -> ({", ".join(to)})
    attributes {{lamina.kernel}} {{
  {self.op}
  func.return {", ".join(made)} : {", ".join(to)}
}}"""


def _nest(rows: str, live: str, more: str = "") -> str:
    return f"lamina.nest = #loop.nest<rows = [{rows}], live = [{live}]{more}>"


def _sum_so_far(shape: str, domain: str, along: int, live: str, names: str) -> str:
    return f"""%r0 = loop.scan ({names}) in [{domain}] along {along}
      reads(%x0[{names}] : tensor<{shape}xf32>) carries(0.0 : f64) gives(tensor<{shape}xf32>)
      attributes {{{_nest(names, live)}}} {{
    ^bb0(%v: f32, %sum: f64):
      %wide = arith.extf %v : f32 to f64
      %next = arith.addf %sum, %wide : f64
      %out = arith.truncf %next : f64 to f32
      loop.yield %next, %out : f64, f32
    }}"""


def _sort(
    algorithm: str, length: int, kind: str = "f32", taken: tuple[int, int] | None = None
) -> Case:
    kept, work = (length, length) if taken is None else (taken[1], length + taken[1])
    window = "" if taken is None else f", taken = array<i64: {taken[0]}, {taken[1]}>"
    types = [f"{BOUND}x{n}x{k}" for n in (kept, work) for k in (kind, "i64")]
    op = (
        f"%r0, %r1, %r2, %r3 = loop.sort %x0 {{{_nest('d0', f'arg1 of {BOUND}')}{window}}} : "
        f"tensor<{BOUND}x{length}x{kind}> -> {', '.join(f'tensor<{t}>' for t in types)}"
    )
    schedule = f"algorithm = {algorithm}"
    return Case((f"{BOUND}x{length}x{kind}",), op, tuple(types[:2]), schedule, tuple(types[2:]))


def _sorted_so_far(
    algorithm: str,
    length: int,
    kind: str = "f32",
    more: str = "",
    taken: tuple[int, int] | None = None,
) -> Case:
    case = _sort(algorithm, length, kind, taken)
    nest = _nest("d0", f"arg1 of {BOUND}")
    both = _nest("d0, d1", f"arg1 of {BOUND}, arg1 of {length}")
    op = case.op.replace(nest, both + more)
    return Case(case.inputs, op, case.results, case.schedule, case.work)


def _taken(
    algorithm: str, length: int, most: int, said: str = "", kind: str = "f32", more: str = ""
) -> Case:
    """The first elements of each row, as many as there are rows, of those that are asked for."""
    case = _sort(algorithm, length, kind, (0, most))
    nest = _nest("d0", f"arg1 of {BOUND}")
    taken = f", taken = [arg1 of {most}]"
    op = case.op.replace(nest, _nest("d0", f"arg1 of {BOUND}", taken) + more)
    return Case(case.inputs, op, case.results, case.schedule + said, case.work)


def _transform(columns: bool) -> Case:
    given, made = ("16x8", "9x8x2") if columns else ("16", "9x2")
    return Case(
        (f"{BOUND}x{given}xf32", "16x2xf32"),
        f"%r0 = loop.fourier %x0 by %x1 {{{_nest('d0', f'arg2 of {BOUND}')}, "
        f'kind = "r2c", scale = 1.0 : f64{", columns" if columns else ""}}} : '
        f"tensor<{BOUND}x{given}xf32>, tensor<16x2xf32> -> tensor<{BOUND}x{made}xf32>",
        (f"{BOUND}x{made}xf32",),
        "lanes = ",
    )


CASES = {
    "lines": Case(
        (f"{BOUND}x24xf32",),
        _sum_so_far(f"{BOUND}x24", f"{BOUND}, 24", 1, f"arg1 of {BOUND}, 24", "d0, d1"),
        (f"{BOUND}x24xf32",),
        "jam = 4",
    ),
    "lines side by side": Case(
        (f"{BOUND}x5x24xf32",),
        _sum_so_far(f"{BOUND}x5x24", f"{BOUND}, 5, 24", 1, f"arg1 of {BOUND}, 5, 24", "d0, d1, d2"),
        (f"{BOUND}x5x24xf32",),
        "jam = 8",
    ),
    "along": Case(
        (f"{BOUND}x32xf32",),
        _sum_so_far(f"{BOUND}x32", f"{BOUND}, 32", 0, f"arg1 of {BOUND}, 32", "d0, d1"),
        (f"{BOUND}x32xf32",),
        "jam = 2",
    ),
    "merged": _sort("merge", 300),
    "merged wide": _sort("merge", 70, "f64"),
    "rows in lanes": _sort("rows", 12),
    "kept": _sort("insertion", 5000, taken=(0, 5)),
    "ranked": _sort("rank", 150, "i64", (70, 1)),
    "selected": _sort("selection", 4000, taken=(0, 500)),
    "merged so far": _sorted_so_far("merge", 300),
    "merged so far, wide": _sorted_so_far("merge", 70, "f64", ", descending"),
    "merged so far, integers": _sorted_so_far("merge", 130, "i64"),
    "rows so far in lanes": _sorted_so_far("rows", 48, "i32"),
    "kept so far": _sorted_so_far("insertion", 5000, taken=(0, 5)),
    "kept so far in lanes": _sorted_so_far("rows", 20, more=", descending", taken=(0, 3)),
    "ranked so far": _sorted_so_far("rank", 100, "f64", taken=(0, 40)),
    "ranked so far, integers": _sorted_so_far("rank", 150, "i64", ", descending", (0, 50)),
    "selected so far": _sorted_so_far("selection", 900, "f32", ", descending", (0, 120)),
    "selected so far, integers": _sorted_so_far("selection", 1000, "i32", taken=(0, 30)),
    "taken by insertion": _taken("insertion", 9000, 6),
    "taken by ranks": _taken("rank", 130, 60, kind="i64"),
    "taken of few or many": _taken("selection", 900, 300, ", lanes = 16, few = "),
    "taken of doubles": _taken("selection", 700, 640, more=", descending", kind="f64"),
    "taken of all": _taken("selection", 270, 270, more=", descending"),
    "segments": Case(
        (f"{BOUND + 1}xi64", "50x24xf32"),
        f"""%r0 = loop.segment_reduce (d0, d1, d2) in [{BOUND}, 50, 24]
          offsets(%x0 : tensor<{BOUND + 1}xi64>) reads(%x1[d1, d2] : tensor<50x24xf32>)
          carries(0.0 : f32) gives(tensor<{BOUND}x24xf32>)
          attributes {{{_nest("d0", f"arg2 of {BOUND}")}}} {{
        ^bb0(%v: f32, %sum: f32):
          %next = arith.addf %sum, %v : f32
          loop.yield %next : f32
        }}""",
        (f"{BOUND}x24xf32",),
        "lanes = ",
    ),
    "places in rows": Case(
        (f"{BOUND}x30xf32", f"{BOUND}x7xi64", f"{BOUND}x7xf32"),
        f"""%r0 = loop.scatter (d0, d1) in [{BOUND}, 7]
          reads(%x1[d0, d1] : tensor<{BOUND}x7xi64>, %x2[d0, d1] : tensor<{BOUND}x7xf32>)
          into(%x0 : tensor<{BOUND}x30xf32>)
          attributes {{{
            _nest("d0, d1", f"arg3 of {BOUND}, 7", f", copied = [arg3 of {BOUND}, 30]")
        }}} {{
        ^bb0(%i: i64, %v: f32, %old: f32):
          %row = loop.index 0 : index
          %at = arith.index_cast %i : i64 to index
          %sum = arith.addf %old, %v : f32
          loop.yield %row, %at, %sum : index, index, f32
        }}""",
        (f"{BOUND}x30xf32",),
        "",
    ),
    "updates": Case(
        ("30x40xf32", f"{BOUND}xi64", f"{BOUND}x40xf32"),
        f"""%r0 = loop.scatter (d0, d1) in [{BOUND}, 40]
          reads(%x1[d0] : tensor<{BOUND}xi64>, %x2[d0, d1] : tensor<{BOUND}x40xf32>)
          into(%x0 : tensor<30x40xf32>) attributes {{{_nest("d0, d1", f"arg3 of {BOUND}, 40")}}} {{
        ^bb0(%i: i64, %v: f32, %old: f32):
          %column = loop.index 1 : index
          %at = arith.index_cast %i : i64 to index
          %sum = arith.addf %old, %v : f32
          loop.yield %at, %column, %sum : index, index, f32
        }}""",
        ("30x40xf32",),
        "lanes = ",
    ),
    "updates to rows that count": Case(
        (f"{BOUND}x40xf32", f"{BOUND}xi64", f"{BOUND}x40xf32"),
        f"""%r0 = loop.scatter (d0, d1) in [{BOUND}, 40]
          reads(%x1[d0] : tensor<{BOUND}xi64>, %x2[d0, d1] : tensor<{BOUND}x40xf32>)
          into(%x0 : tensor<{BOUND}x40xf32>)
          attributes {{{
            _nest("d0, d1", f"arg3 of {BOUND}, 40", f", copied = [arg3 of {BOUND}, 40]")
        }}} {{
        ^bb0(%i: i64, %v: f32, %old: f32):
          %column = loop.index 1 : index
          %at = arith.index_cast %i : i64 to index
          %sum = arith.addf %old, %v : f32
          %nine = arith.constant 9 : i64
          %on = arith.cmpi ne, %i, %nine : i64
          loop.yield %at, %column, %sum, %on : index, index, f32, i1
        }}""",
        (f"{BOUND}x40xf32",),
        "lanes = ",
    ),
    "single updates to rows that count": Case(
        (f"{BOUND}x3xf32", f"{BOUND}x3xi64", f"{BOUND}x3xf32"),
        f"""%r0 = loop.scatter (d0, d1) in [{BOUND}, 3]
          reads(%x1[d0, d1] : tensor<{BOUND}x3xi64>, %x2[d0, d1] : tensor<{BOUND}x3xf32>)
          into(%x0 : tensor<{BOUND}x3xf32>)
          attributes {{{
            _nest("d0, d1", f"arg3 of {BOUND}, 3", f", copied = [arg3 of {BOUND}, 3]")
        }}} {{
        ^bb0(%i: i64, %v: f32, %old: f32):
          %column = loop.index 1 : index
          %at = arith.index_cast %i : i64 to index
          %sum = arith.addf %old, %v : f32
          loop.yield %at, %column, %sum : index, index, f32
        }}""",
        (f"{BOUND}x3xf32",),
        "",
    ),
    "transforms": _transform(columns=False),
    "transforms of columns": _transform(columns=True),
}


def _arguments(case: Case, rng: np.random.Generator) -> list[np.ndarray]:
    made: list[np.ndarray] = []
    for kind in case.inputs:
        *shape, element = kind.split("x")
        sizes = [int(n) for n in shape]
        if sizes == [16, 2]:
            angles = -2 * np.pi * np.arange(16) / 16
            made.append(np.stack([np.cos(angles), np.sin(angles)], -1).astype(np.float32))
        elif element == "i64" and sizes == [BOUND + 1]:
            made.append(np.sort(rng.integers(0, 51, sizes)))
        elif element[0] == "i":
            made.append(rng.integers(0, 30, sizes).astype(f"i{int(element[1:]) // 8}"))
        else:
            made.append(rng.standard_normal(sizes).astype({"f32": "f4", "f64": "f8"}[element]))
    return made


def _call(compiled: Compiled, arrays: list[np.ndarray], count: int) -> list[np.ndarray]:
    """The results of a call whose arrays of so many rows end in front of a guard page."""
    pointers = [pointer or 0 for pointer in compiled._bound.template]
    given, held, found = iter(arrays), list[np.ndarray](), list[np.ndarray]()
    for number, slot in enumerate(compiled.program.main.slots):
        if slot.kind not in ("input", *OUTPUT_KINDS):
            continue
        shape = tuple(slot.shape)
        if shape[:1] == (BOUND,):
            shape = (count, *shape[1:])
        array = guarded(shape, slot.storage_dtype, at_end=True)
        if slot.kind == "input":
            value = next(given)
            array[...] = value[: shape[0]] if shape else value
        else:
            found.append(array)
        held.append(array)
        pointers[number] = array.ctypes.data
    assert compiled.program.code is not None
    compiled.program.code.call("main", pointers)
    return found


@pytest.mark.parametrize("name", CASES)
def test_no_row_behind_the_live_ones_is_touched(name: str) -> None:
    case = CASES[name]
    target = Target.host()
    module = parse(case.text)
    lower(module, "fused", "bufferized", target)
    assert case.schedule in str(module) and "live = [" in str(module)
    (op,) = (op for op in module.walk() if isinstance(op, UNSTRUCTURED_OPS))
    assert runs_live_rows_only(op)
    compiled = compile_module(parse(case.text))
    arrays = _arguments(case, np.random.default_rng(0))
    for count in COUNTS:
        made = _call(compiled, [*arrays, np.array(count)], count)
        cut = [a.copy() for a in arrays]
        if "updates" in name:  # the others would be added as well
            cut[2][count:] = 0
        length = count if "so far" in name or "taken" in name else None
        if "so far" in name:  # the others go last
            down, kind = "descending" in case.text, cut[0].dtype
            ends = (
                (-np.inf, np.nan) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
            )
            cut[0][:, length:] = ends[not down]
        wanted = run_module(parse(case.text), [*cut, np.array(count)])
        for one, other in zip(made, wanted, strict=True):
            one, other = one[:, :length] if length else one, np.asarray(other)[: len(one), :length]
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, 1e-5, 1e-5)
            else:
                np.testing.assert_array_equal(one, other.view(one.dtype))


@pytest.mark.parametrize("count", [-3, 0, BOUND + 1, 1 << 40])
@pytest.mark.parametrize("name", CASES)
def test_a_number_out_of_range_is_the_nearest_in_it(name: str, count: int) -> None:
    compiled = compile_module(parse(CASES[name].text))
    arrays = _arguments(CASES[name], np.random.default_rng(1))
    rows = 1 if count < 1 else BOUND
    nearest = rows
    if "so far" in name or "taken" in name:  # of rows of other lengths
        of = CASES[name].results if "taken" in name else CASES[name].inputs
        length = int(of[0].split("x")[1])
        nearest = min(max(count, 1), max(length, BOUND))
    found = _call(compiled, [*arrays, np.array(count)], rows)
    wanted = _call(compiled, [*arrays, np.array(nearest)], rows)
    if "taken" in name:
        found, wanted = ([a[:, :nearest] for a in arrays] for arrays in (found, wanted))
    if count < 1 and "loop.scatter" in CASES[name].text:  # none of its updates counts
        wanted = [arrays[0][: len(found[0])]]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_two_numbers_leave_gaps() -> None:
    """Rows of one dimension that count lie behind others that do not."""
    text = f"""
func.func @main(%x: tensor<8x6x16xf32>, %n: tensor<i64>, %m: tensor<i64>) -> tensor<8x6x16xf32> {{
  %0 = func.call @kernel(%x, %n, %m)
      : (tensor<8x6x16xf32>, tensor<i64>, tensor<i64>) -> tensor<8x6x16xf32>
  func.return %0 : tensor<8x6x16xf32>
}}
func.func private @kernel(%x0: tensor<8x6x16xf32>, %n: tensor<i64>, %m: tensor<i64>)
    -> tensor<8x6x16xf32> attributes {{lamina.kernel}} {{
  {_sum_so_far("8x6x16", "8, 6, 16", 2, "arg1 of 8, arg2 of 6, 16", "d0, d1, d2")}
  func.return %r0 : tensor<8x6x16xf32>
}}"""
    module = parse(text)
    x = np.random.default_rng(0).standard_normal((8, 6, 16), np.float32)
    lower(module, "fused", "scheduled", Target.host())
    for n, m in ((1, 1), (3, 5), (8, 2), (5, 6)):
        found = run_module(parse(str(module)), [x, np.array(n), np.array(m)])[0]
        wanted = np.cumsum(x, 2, np.float64).astype(np.float32)
        np.testing.assert_array_equal(found[:n, :m], wanted[:n, :m])
        assert np.isnan(found[n:]).all() and np.isnan(found[:, m:]).all()


def test_schedules_say_what_they_run() -> None:
    """Loops end at a number that is read, not at the bound."""
    for name, case in CASES.items():
        module = parse(case.text)
        lower(module, "fused", "scheduled", Target.host())
        assert re.search(r"arith.minsi", str(module)), name
