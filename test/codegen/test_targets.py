"""Objects for other machines, the register tile, options, and what codegen refuses."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from lamina.codegen import emit_assembly, emit_llvm_ir, emit_object, jit
from lamina.codegen.llvm_emitter import EmitOptions, emit_module
from lamina.codegen.llvm_emitter.parallel import OPENMP_SYMBOLS
from lamina.codegen.object_file import ObjectFormatError, machine, undefined_symbols
from lamina.codegen.openmp import openmp_symbols
from lamina.codegen.target import Target
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.loop import Loop
from lamina.runtime import layers

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.mlir"))
LIBC = {"memcpy", "memset", "memmove", "syscall", "_GLOBAL_OFFSET_TABLE_"}
TEAMS = {*OPENMP_SYMBOLS, "sched_yield"}

NEEDED = {
    "matrix_tiles": ("amx-bf16", "no matrix tiles"),
    "dot_pairs": ("avx512bf16", "no dot products of bf16"),
    "compress": ("avx512f", "does not compress vectors of 32 bits"),
}
"""Programs that not every target can run: the feature that they need, and the refusal."""


def parse(text: str) -> ModuleOp:
    context = Context()
    parts = (arith.Arith, builtin.Builtin, cf.Cf, func.Func, math.Math, memref.MemRef, scf.Scf)
    for dialect in (*parts, vector.Vector, Loop):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def fma_peak() -> ModuleType:
    path = FOLDER.parent.parent / "bench" / "fma_peak.py"
    spec = importlib.util.spec_from_file_location("fma_peak", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [n for n in Target.names() if n != "host"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_objects_for_every_target(path: Path, name: str) -> None:
    target = Target.parse(name)
    feature, refusal = NEEDED.get(path.stem, ("", ""))
    if feature and not target.has(feature):
        with pytest.raises(UnsupportedError, match=refusal):
            emit_object(parse(path.read_text()), target)
        return
    code = emit_object(parse(path.read_text()), target, EmitOptions(openmp=True))
    assert machine(code) == target.architecture
    assert set(undefined_symbols(code)) <= LIBC | TEAMS


def test_vector_registers_of_the_target_are_used() -> None:
    module = parse((FOLDER / "elementwise.mlir").read_text())
    registers = {"x86-64-v4": r"%zmm", "x86-64-v3": r"%ymm", "aarch64": r"v\d+\.4s"}
    for name, pattern in registers.items():
        assert re.search(pattern, emit_assembly(module, name)), name
    assert "%zmm" not in emit_assembly(module, "x86-64-v3")
    assert re.search(r"vfadd\.vv", emit_assembly(module, "riscv64"))


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_register_tile_stays_in_registers(name: str) -> None:
    target = Target.parse(name)
    bench = fma_peak()
    text = emit_assembly(parse(bench.microkernel_text(target, 64)), target, EmitOptions(False))
    rows, _ = bench.tile_shape(target)
    loop = max(re.split(r"\n\.LBB\w+:", text), key=lambda part: part.count("vfmadd"))
    assert loop.count("vfmadd") == 2 * rows
    assert "(%rsp)" not in text and "Spill" not in text
    assert not re.search(r"\tvmov\w+\t%[xyz]mm\d+, %[xyz]mm", loop), "accumulators stay put"


@pytest.mark.parametrize("name", ["host", "x86-64-v3", "x86-64-v4"])
def test_register_tile_is_a_product(name: str) -> None:
    target = Target.parse(name)
    if not target.runs_here():
        pytest.skip(f"this CPU has not all of {name}")
    bench = fma_peak()
    rows, columns = bench.tile_shape(target)
    rng = np.random.default_rng(1)
    a, b, c = (rng.random(s, np.float32) for s in ((64, rows), (64, columns), (rows, columns)))
    expected = c + a.T @ b
    program = bench.compile_text(bench.microkernel_text(target, 64), 3, target, openmp=False)
    program.call("main", [a.ctypes.data, b.ctypes.data, c.ctypes.data])
    np.testing.assert_allclose(c, expected, rtol=1e-5)


WIDE, NARROW = "tensor<4x7xbf16>", "tensor<4x2xbf16>"
EVERY_SECOND = f"""
func.func @main(%x: {WIDE}) -> {NARROW} {{
  %0 = aten._softmax.default(%x, -1, false) : ({WIDE}) -> {WIDE}
  %1 = aten.slice.Tensor(%0, 1, 0, 4, 2) : ({WIDE}) -> {NARROW}
  %2 = aten._log_softmax.default(%1, -1, false) : ({NARROW}) -> {NARROW}
  func.return %2 : {NARROW}
}}
"""


def test_a_zen_4_is_asked_for_what_its_features_say() -> None:
    """LLVM takes SSE4a for shuffles if the CPU's name alone says so; others have not that."""
    target = Target.parse("znver4")
    module = layers.parse(EVERY_SECOND)
    layers.lower(module, "aten", "scheduled", target)
    text = emit_assembly(module, target)
    assert re.search(r"\bvp\w+\b", text)
    assert not re.search(r"\b(extrq|insertq|movnts[sd])\b", text)
    assert target.has("avx512vbmi2") and not target.has("sse4a")


def test_without_openmp_nothing_calls_it() -> None:
    module = parse((FOLDER / "parallel.mlir").read_text())
    serial = emit_module(module, Target.host(), EmitOptions(openmp=False))
    assert "GOMP" not in serial.text and "omp_" not in serial.text
    assert not serial.needs_openmp
    assert emit_module(module, Target.host(), EmitOptions(openmp=True)).needs_openmp
    assert jit.default_options().openmp == (openmp_symbols() is not None)


def test_optimised_ir_has_the_helpers_inlined() -> None:
    module = parse((FOLDER / "vector_functions.mlir").read_text())
    assert "call <16 x float> @lamina.exp.v16f32" in emit_llvm_ir(module, "x86-64-v4")
    optimised = emit_llvm_ir(module, "x86-64-v4", optimized=True)
    assert "@lamina.exp.v16f32" not in optimised


def kernel(body: str, arguments: str = "%x: memref<8xf32>") -> str:
    return f"func.func private @k({arguments}) attributes {{lamina.kernel}} {{{body} func.return}}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '%c = arith.constant 0 : index "memref.dealloc"(%x) : (memref<8xf32>) -> ()',
            "memref.dealloc: no machine code for this op",
        ),
        (
            "%a = arith.constant 1.0 : bf16 %b = arith.addf %a, %a : bf16",
            "arith.addf: nothing computes in bf16",
        ),
        (
            "%a = arith.constant 1.0 : f16 %b = math.exp %a : f16",
            "math.exp: computes in f32 or f64",
        ),
        ("%a = arith.constant dense<1.0> : vector<2x2xf32>", "only 1-D vectors have registers"),
        ("%a = memref.alloca() : memref<1000000xf32>", "stack is limited to 1048576 bytes"),
    ],
)
def test_refusals_name_the_op(body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        emit_module(parse(kernel(body)), Target.host())


def test_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(UnsupportedError, match="x86-64-v3"):
        Target.parse("z80")


def test_object_file_reader_refuses_what_is_no_elf() -> None:
    for data in (b"", b"MZ" * 100, b"\x7fELF\x02\x01" + b"\xff" * 200):
        with pytest.raises(ObjectFormatError):
            undefined_symbols(data)


def test_target_facts() -> None:
    host = Target.host()
    assert host.runs_here() and Target.parse("host") == host
    assert Target.parse("x86-64-v4").lanes(32) == 16
    assert Target.parse("x86-64-v3").lanes(64) == 4
    assert Target.parse("aarch64").lanes(16) == 8
    assert len({Target.parse(name).key() for name in Target.names()}) == len(Target.names())
    assert 8 << 10 <= host.l1d_bytes <= host.l2_bytes <= host.l3_bytes


def test_objects_ask_for_tiles_and_code_of_this_process_need_not() -> None:
    text = (FOLDER / "matrix_tiles.mlir").read_text()
    target = Target.parse("sapphirerapids")
    assert "syscall" in undefined_symbols(emit_object(parse(text), target))
    assert "@syscall" not in emit_llvm_ir(parse(text), target)


@pytest.mark.parametrize(
    ("kilobytes", "cores", "share"),
    [(32768, 2, 32 << 20), (491520, 2, 64 << 20), (491520, 96, 480 << 20)],
)
def test_few_cores_have_a_share_of_the_cache_of_a_whole_server(
    kilobytes: int, cores: int, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for level, size in ((2, 2048), (3, kilobytes)):
        folder = tmp_path / f"index{level}"
        folder.mkdir()
        said = {"type": "Unified", "level": str(level), "size": f"{size}K"}
        for name, text in said.items():
            (folder / name).write_text(text + "\n")
    from lamina.codegen import target as module

    monkeypatch.setattr(module, "_SYSFS_CACHES", tmp_path)
    monkeypatch.setattr(module.os, "cpu_count", lambda: cores)
    host = module._host.__wrapped__()
    assert (host.l2_bytes, host.l3_bytes, host.cores) == (2 << 20, share, cores)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the call is Linux's")
def test_the_host_has_tiles_only_if_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina.codegen import target as module

    monkeypatch.setattr(module, "_may_use_tiles", lambda: False)
    assert not module._host.__wrapped__().multiplies_tiles
