"""Executables: calls, errors, metadata; arenas and the output pool."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from lamina.codegen import jit
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.runtime.buffers import ALIGNMENT, BLOCKS_PER_SIZE, Arena, OutputPool, aligned_bytes
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


def test_memory_is_aligned() -> None:
    for size in (1, 63, 64, 4097):
        assert aligned_bytes(size).ctypes.data % ALIGNMENT == 0
        assert aligned_bytes(size).nbytes == size
        assert OutputPool().array((size,), np.uint8).ctypes.data % ALIGNMENT == 0
    arena = Arena(100)
    assert arena.address % ALIGNMENT == 0 and arena.address == arena.address


def test_pool_reuses_memory_that_nobody_views() -> None:
    pool = OutputPool()
    first = pool.array((4, 8), np.float32)
    where = first.ctypes.data
    del first
    assert pool.array((8, 4), np.int32).ctypes.data == where


def test_pool_leaves_memory_that_a_view_still_has() -> None:
    torch = pytest.importorskip("torch")
    makers = {
        "slice": lambda a: a[1:, ::2],
        "other dtype": lambda a: a.view(np.int8),
        "memoryview": memoryview,
        "tensor": torch.from_numpy,
        "view of a tensor": lambda a: torch.from_numpy(a)[0].reshape(-1),
        "dlpack": lambda a: torch.from_dlpack(a),
    }
    for name, make in makers.items():
        pool = OutputPool()
        array = pool.array((4, 8), np.float32)
        where = array.ctypes.data
        view = make(array)
        del array
        assert pool.array((4, 8), np.float32).ctypes.data != where, name
        del view
        assert where in {pool.array((4, 8), np.float32).ctypes.data for _ in range(3)}, name


def test_pool_keeps_few_blocks() -> None:
    pool = OutputPool()
    held = [pool.array((1000,), np.uint8) for _ in range(20)]
    assert len({a.ctypes.data for a in held}) == 20
    assert pool.bytes_held <= BLOCKS_PER_SIZE * (1000 + ALIGNMENT)
    pool.clear()
    assert pool.bytes_held == 0
    held[0][:] = 1  # memory in use outlives the pool's interest in it
