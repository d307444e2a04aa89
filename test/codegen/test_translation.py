"""Programs of several modules of LLVM's: translated apart, archived, linked again."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import which

import numpy as np
import pytest

import lamina
from lamina.codegen import jit
from lamina.codegen.archive import archived, members
from lamina.codegen.llvm_emitter import module as emitting
from lamina.codegen.object_file import ObjectFormatError, undefined_symbols
from lamina.codegen.target import Target
from lamina.codegen.translation import Translation
from lamina.runtime.executable import Executable
from lamina.runtime.layers import parse

CALLER = """
declare hidden void @callee(ptr)
define i32 @lamina_main(ptr %args) {
  call void @callee(ptr %args)
  ret i32 0
}
"""
CALLEE = "define hidden void @callee(ptr %args) { ret void }"
SUMS = """
func.func @main(%x: tensor<64x513xf32>) -> (tensor<64xf32>, tensor<513xf32>, tensor<64x513xf32>) {
  %rows = aten.sum.dim_IntList(%x, dim = [1]) : (tensor<64x513xf32>) -> tensor<64xf32>
  %columns = aten.sum.dim_IntList(%x, dim = [0]) : (tensor<64x513xf32>) -> tensor<513xf32>
  %sums = aten.cumsum.default(%x, dim = 1) : (tensor<64x513xf32>) -> tensor<64x513xf32>
  return %rows, %columns, %sums : tensor<64xf32>, tensor<513xf32>, tensor<64x513xf32>
}
"""


def translated(*texts: str) -> bytes:
    with Translation(Target.host()) as translation:
        for text in texts:
            translation.add(text)
        return translation.code()


def test_one_module_is_an_object_file() -> None:
    code = translated(CALLEE)
    assert members(code) == [code]


def test_modules_call_each_other() -> None:
    code = translated(CALLER, CALLEE)
    assert len(members(code)) == 2
    assert undefined_symbols(code) == []
    assert undefined_symbols(members(code)[0]) == ["callee"]
    loaded = jit.load_object(code, ["lamina_main"], Target.host(), needs_openmp=False)
    assert loaded.addresses["lamina_main"]


@pytest.mark.skipif(which("ar") is None, reason="there is no ar")
def test_ar_reads_what_is_archived(tmp_path: Path) -> None:
    parts = [b"odd", b"even"]
    (tmp_path / "lib.a").write_bytes(archived(parts))
    listed = subprocess.run(["ar", "t", "lib.a"], cwd=tmp_path, capture_output=True, text=True)
    assert listed.stdout.split() == ["0.o", "1.o"]
    subprocess.run(["ar", "x", "lib.a"], cwd=tmp_path, check=True)
    assert [(tmp_path / f"{number}.o").read_bytes() for number in range(2)] == parts


def test_broken_archives_are_refused() -> None:
    whole = archived([b"one", b"three"])
    for end in (len(whole) - 2, len(whole) - 20, 30):
        with pytest.raises(ValueError, match=r"archive ends|invalid literal"):
            members(whole[:end])
        with pytest.raises(ObjectFormatError):
            undefined_symbols(whole[:end])


def test_what_llvm_refuses_is_said_by_the_thread_that_waits() -> None:
    with pytest.raises(jit.CodegenError, match="does not take the code"):
        translated(CALLEE, "define void @broken() { ret i32 1 }")


def test_the_last_translation_restores_the_interval_of_switches() -> None:
    before = sys.getswitchinterval()
    first, second = Translation(Target.host()), Translation(Target.host())
    with ExitStack() as stack:
        stack.enter_context(second)
        with first:
            assert sys.getswitchinterval() < before
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == pytest.approx(before)


def test_an_error_of_the_writer_is_not_waited_for() -> None:
    with pytest.raises(KeyError), Translation(Target.host()) as translation:
        translation.add(CALLEE)
        raise KeyError


@pytest.mark.parametrize("cache", [False, True])
def test_kernels_in_modules_of_their_own(
    cache: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(emitting, "FIRST_UNIT_CHARACTERS", 1)
    monkeypatch.setattr(emitting, "UNIT_CHARACTERS", 1)
    x = np.random.default_rng(0).standard_normal((64, 513), np.float32)
    for _ in range(2):  # the second time from the cache, if there is one
        compiled = lamina.compile(SUMS, cache=cache)
        code = compiled.program.code
        assert isinstance(code, Executable)
        assert len(members(code.code)) > 2
        rows, columns, sums = compiled(x)
        np.testing.assert_allclose(rows, x.sum(1), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(columns, x.sum(0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(sums, x.cumsum(1), rtol=1e-4, atol=1e-4)
    compiled.save(tmp_path / "sums.lamina")
    for one, other in zip(lamina.load(tmp_path / "sums.lamina")(x), compiled(x), strict=True):
        np.testing.assert_array_equal(one, other)


def test_modules_begin_small_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM has work soon; what is left at the end and what calls it are translated at once."""
    kernels = "".join(
        f"""
        func.func private @kernel_{number}(%a: memref<4xf32>) {{
          %zero = arith.constant 0 : index
          %one = memref.load %a[%zero] : memref<4xf32>
          memref.store %one, %a[%zero] : memref<4xf32>
          return
        }}"""
        for number in range(40)
    )
    entry = "func.func @main(%a: memref<4xf32>) attributes {lamina.entry} { return }"
    module = parse(kernels + entry)
    texts: list[str] = []
    emitting.ProgramEmitter(Target.host(), hand_over=texts.append).finish(module)
    assert len(texts) == 1
    length = len(texts.pop()) // 40
    monkeypatch.setattr(emitting, "FIRST_UNIT_CHARACTERS", 2 * length)
    monkeypatch.setattr(emitting, "UNIT_CHARACTERS", 10 * length)
    emitting.ProgramEmitter(Target.host(), hand_over=texts.append).finish(module)
    sizes = [text.count("define hidden") for text in texts]
    assert sum(sizes) == 40
    assert 1 < sizes[0] < sizes[1] < sizes[2] <= 14
    assert max(sizes) <= 14
    assert sizes[-1] <= 3, "kernels that are left stand in a module of their own"
    assert "lamina_main" in texts[-1]
