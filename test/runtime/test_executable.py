"""Executables: calls, errors, metadata."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import lamina
from lamina.codegen import jit
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.runtime.executable import Executable, ProgramMetadata

ADD_ONE = """
define i32 @lamina_main(ptr %args) {
  %x = load ptr, ptr %args
  %q = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %q
  %v = load i32, ptr %x
  %w = add i32 %v, 1
  store i32 %w, ptr %y
  %bad = icmp eq i32 %v, 77
  %status = select i1 %bad, i32 2, i32 0
  ret i32 %status
}
"""
METADATA = ProgramMetadata(arguments={"main": ["x", "y"]}, messages=("no", "77 is refused"))


@pytest.fixture(scope="module")
def executable() -> Executable:
    target = Target.host()
    return Executable(jit.compile_object(ADD_ONE, target), METADATA, target)


def test_calls_and_reports(executable: Executable) -> None:
    x, y = np.array([41], np.int32), np.zeros(1, np.int32)
    executable.call("main", [x.ctypes.data, y.ctypes.data])
    assert y[0] == 42
    x[0] = 77
    with pytest.raises(ExecutionError, match=r"^77 is refused$"):
        executable.call("main", [x.ctypes.data, y.ctypes.data])


def test_wrong_number_of_pointers(executable: Executable) -> None:
    with pytest.raises(ExecutionError, match="@main takes 2 pointers, 1 given"):
        executable.call("main", [0])


def test_threads_share_one_executable(executable: Executable) -> None:
    wrong: list[int] = []

    def work(start: int) -> None:
        x, y = np.array([start], np.int32), np.zeros(1, np.int32)
        for i in range(500):
            x[0] = start + i
            executable.call("main", [x.ctypes.data, y.ctypes.data])
            if y[0] != start + i + 1:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_for_another_cpu_is_refused() -> None:
    target = Target.parse("aarch64")
    code = jit.compile_object(ADD_ONE, target)
    with pytest.raises(ExecutionError, match=r"code for aarch64 .* cannot run on this CPU"):
        Executable(code, METADATA, target)


def test_missing_symbol_is_an_error_not_a_crash() -> None:
    text = ADD_ONE.replace("ret i32 %status", "call void @nobody_has_this()\n  ret i32 %status")
    code = jit.compile_object("declare void @nobody_has_this()\n" + text, Target.host())
    with pytest.raises(ExecutionError, match="nobody_has_this"):
        Executable(code, METADATA, Target.host())


def test_broken_object_is_an_error_not_a_crash() -> None:
    with pytest.raises(ExecutionError, match="cannot be loaded"):
        Executable(b"\x7fELF nonsense", METADATA, Target.host())


def test_metadata_round_trips() -> None:
    metadata = ProgramMetadata(
        arguments={"main": [{"shape": [2]}, 1], "setup": []},
        messages=("a", "b"),
        arena_bytes=128,
        needs_openmp=True,
        ledger=[{"kernel": "k"}],
        extra={"x": [1]},
    )
    assert ProgramMetadata.from_json(metadata.to_json()) == metadata
    with pytest.raises((ValueError, KeyError, TypeError)):
        ProgramMetadata.from_json("{}")


def test_openmp_runtime_of_torch_is_shared() -> None:
    """Torch's library, when torch is loaded first; by a child, as the choice is once a process."""
    code = (
        "import torch, ctypes; from lamina.codegen.openmp import openmp_symbols as s;"
        "library = [l.split()[-1] for l in open('/proc/self/maps')"
        " if 'torch' in l and 'libgomp' in l];"
        "own = ctypes.CDLL(library[0]) if library else None;"
        "p = ctypes.cast(own.GOMP_parallel, ctypes.c_void_p).value if own else None;"
        "print(p is None or s()['GOMP_parallel'] == p)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_arguments_keep_their_names_when_parameters_are_inputs() -> None:
    """The second has none; it is the first input, or the second one where `w` is one as well."""
    compiled = lamina.compile("""
func.func @main(%w: tensor<4xf32> {lamina.kind = "parameter", lamina.name = "w"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = prims.mul(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}""")  # noqa: E501 - an argument on one line
    assert [slot.name for slot in compiled.inputs] == ["w", "arg0"]
