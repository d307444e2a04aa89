"""Schedules as attributes, given by name and as text: completed, refused where they stand.

That any schedule of any kernel is refused or right is in test/conformance/test_fuzz_schedules.py.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from schedule_programs import PROGRAMS
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.dialects.loop.schedules import PART_SCHEDULES, ScheduleAttr
from lamina.runtime.compile import compile_module
from lamina.runtime.layers import parse

KERNELS = {
    **PROGRAMS,
    "product": """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<70x85xf32>) -> tensor<37x85xf32> {
  %0 = aten.mm.default(%x, %y) : (tensor<37x70xf32>, tensor<70x85xf32>) -> tensor<37x85xf32>
  %1 = aten.relu.default(%0) : (tensor<37x85xf32>) -> tensor<37x85xf32>
  func.return %1 : tensor<37x85xf32>
}""",
    "sort": """
func.func @main(%x: tensor<37x70xf32>) -> (tensor<37x70xf32>, tensor<37x70xi64>) {
  %0, %1 = aten.sort.default(%x) : (tensor<37x70xf32>) -> (tensor<37x70xf32>, tensor<37x70xi64>)
  func.return %0, %1 : tensor<37x70xf32>, tensor<37x70xi64>
}""",
}
TARGET = Target.parse("x86-64-v3")


def inputs(module: ModuleOp) -> list[np.ndarray]:
    main = next(f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")
    generator = np.random.default_rng(5)
    shapes = [t.get_shape() for t in main.function_type.inputs]  # pyright: ignore
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


LOG_SOFTMAX = """
func.func @main(%x: tensor<37x70xf32>, %y: tensor<1xf32>) -> tensor<37x70xf32> {
  %0 = aten.log_softmax.int(%x, dim = 1) : (tensor<37x70xf32>) -> tensor<37x70xf32>
  func.return %0 : tensor<37x70xf32>
}"""
OPEN = ", #loop.schedule<>" * 3 + "]"


@pytest.mark.parametrize("number", [3, 5, 6, 7])
@pytest.mark.parametrize(
    ("program", "schedule"),
    [
        (KERNELS["rows"], "[#loop.rows<>, #loop.schedule<unroll = {0}>]"),
        (KERNELS["rows"], "[#loop.rows<jam = 4>, #loop.schedule<unroll = {0}>]"),
        (LOG_SOFTMAX, "[#loop.rows<>, #loop.schedule<online, tile = d1 x {1}>" + OPEN),
    ],
)
def test_any_number_of_accumulators_is_joined(program: str, schedule: str, number: int) -> None:
    module = parse(program)
    arrays = inputs(module)
    given = {"kernel_0": schedule.format(number, 8 * number)}
    wanted = compile_module(module, target=TARGET, cache=False)(*arrays)
    got = lamina.compile(program, target=TARGET, cache=False, schedules=given)(*arrays)
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-5)


def test_a_schedule_is_given_by_name() -> None:
    arrays = inputs(parse(KERNELS["softmax"]))
    chosen = lamina.compile(KERNELS["softmax"], cache=False, target=TARGET)
    text = chosen.kernels[0].schedule
    assert text.startswith("[#loop.rows<")
    assert "unroll = 4" in text
    given = {"kernel_0": text.replace("unroll = 4", "unroll = 1")}
    changed = lamina.compile(KERNELS["softmax"], cache=False, target=TARGET, schedules=given)
    assert changed.kernels[0].schedule == given["kernel_0"]
    assert changed.ir("bufferized") != chosen.ir("bufferized")
    assert changed.ir("scheduled") != chosen.ir("scheduled")
    np.testing.assert_array_equal(changed(*arrays), chosen(*arrays))


def test_a_part_of_a_schedule_is_completed_to_a_legal_one() -> None:
    """Rows that are copied for a task are not only reduced, and are not jammed."""
    text = """
    func.func @main(%x: tensor<64x30000xf32>) -> tensor<64xf32> {
      %0 = aten.sum.dim_IntList(%x, dim = [1]) : (tensor<64x30000xf32>) -> tensor<64xf32>
      func.return %0 : tensor<64xf32>
    }"""
    given = {"kernel_0": "[#loop.rows<>, #loop.schedule<cache_read = [0]>]"}
    assert "jam = " in lamina.compile(text, cache=False, target=TARGET).kernels[0].schedule
    compiled = lamina.compile(text, cache=False, target=TARGET, schedules=given)
    x = np.random.default_rng(0).integers(-8, 9, (64, 30000)).astype(np.float32)  # exact sums
    np.testing.assert_array_equal(compiled(x), x.sum(1, dtype=np.float64))


def test_schedules_are_part_of_the_cache_key(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    first = lamina.compile(KERNELS["chain"], target=TARGET)
    given = {"kernel_0": first.kernels[0].schedule.replace("x 8", "x 4")}
    second = lamina.compile(KERNELS["chain"], target=TARGET, schedules=given)
    assert second.kernels[0].schedule == given["kernel_0"] != first.kernels[0].schedule
    assert lamina.compile(KERNELS["chain"], target=TARGET).kernels[0] == first.kernels[0]


CHAIN = "[#loop.rows<>, #loop.schedule<>]"


@pytest.mark.parametrize(
    ("schedules", "message"),
    [
        ({"kernel_0": 3}, "schedules: 'kernel_0': a schedule is a text, not 3"),
        ({"kernel_7": CHAIN}, "no kernel is called 'kernel_7'; nearest: kernel_0"),
        ({"kernel_0": "[#loop.rows<>]"}, r"its schedule is \[#loop.rows<...>, #loop.schedule<"),
        (
            {"kernel_0": "[#loop.products<>, #loop.schedule<>]"},
            "its schedule is .*, not .*products",
        ),
        (
            {"kernel_0": "[#loop.rows<tiles = 4>"},
            "#loop.rows has no clause 'tiles'; it has parallel",
        ),
        (
            {"kernel_0": f"[#loop.rows<>{', #loop.schedule<>' * 100}]"},
            r"its schedule is \[#loop.rows<...>, #loop.schedule<...>\], not "
            r"\[#loop.rows<...>, #loop.schedule<...> x 100\]",
        ),
        ({"kernel_0": CHAIN.replace("rows<>", "rows<tile = 0>")}, "tile = 0 is not between 1 and"),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<vectorize = d1 x 16>")},
            "16 lanes; target x86-64-v3 has 8",
        ),
        (
            {"kernel_0": CHAIN.replace("rows<>", "rows<jam = 65>")},
            "jam = 65 is not between 1 and 64",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<unroll = 60, jam = d0 x 60>")},
            "unroll and jam make 3600 copies; 256 are the most",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<vectorize = d0 x 3>")},
            "lanes are a power of 2",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<prefetch_bytes = -4>")},
            "prefetch_bytes = -4 is not between 1 and 1048576",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<prefetch = [-1]>")},
            r"prefetch = \[-1\] of 2 reads",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<unroll = d1>")},
            "kernel_0':1:",
        ),
        (
            {"kernel_0": CHAIN.replace("schedule<>", "schedule<vectorize = d5 x 8>")},
            "vectorize names d5 of a domain of 2",
        ),
    ],
)
def test_what_is_no_schedule_of_the_kernel_is_refused(
    schedules: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        lamina.compile(KERNELS["chain"], cache=False, target=TARGET, schedules=schedules)


@pytest.mark.parametrize(
    ("program", "entries", "message"),
    [
        ("softmax", {2: "terms = 4"}, "'kernel_0':3:1: error: .* terms: only of packed products"),
        ("softmax", {2: "cache_read = [4]"}, "'kernel_0':3:1: error: .* of 2 reads, 0 to 1"),
        ("softmax", {5: "prefetch_tiles = 2"}, "'kernel_0':6:1: error: .*: only with transpose"),
        ("softmax", {0: "tile = 16"}, "'kernel_0':2:1: error: .*have no loop in common"),
        ("columns", {1: "vectorize = d1 x 1, rfactor = d0 x 4"}, "rfactor = d0: reduced, with"),
        ("product", {2: "tile = d1 x 8"}, "tile: not beside packed products"),
        (
            "sort",
            {0: "jam = 4"},
            "'kernel_0':1:2: error: loop.sort: .* here may have parallel, alg",
        ),
    ],
)
def test_the_place_in_a_given_text_is_named(
    program: str, entries: dict[int, str], message: str
) -> None:
    text = KERNELS[program]
    found = lamina.compile(text, cache=False, target=TARGET).kernels[0].schedule
    given = [f"{kind}<>" for kind in re.findall("#loop[.][a-z]+", found)]
    for number, clauses in entries.items():
        given[number] = given[number].replace("<>", f"<{clauses}>")
    schedules = {"kernel_0": "[" + ",\n".join(given) + "]"}
    with pytest.raises(InputError, match=message):
        lamina.compile(text, cache=False, target=TARGET, schedules=schedules)


def test_every_clause_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text()
    for kind in (ScheduleAttr, *PART_SCHEDULES):
        assert f"`#{kind.name}`" in page
        for entry in fields(kind.kind):
            assert f"`{entry.name}" in page, (kind.name, entry.name)
