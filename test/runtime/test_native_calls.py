"""The native call path: what it takes itself, what it hands on, references, errors, layouts."""

from __future__ import annotations

import copy
import ctypes
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.codegen.jit import compile_object, load_object
from lamina.codegen.target import Target
from lamina.dialects.errors import ArgumentError, ExecutionError
from lamina.runtime.arguments import FlatStructure
from lamina.runtime.checked_call import CheckedCall
from lamina.runtime.compiled import Compiled
from lamina.runtime.dispatch.binding import dlpack_dtype
from lamina.runtime.dispatch.functions import FUNCTIONS
from lamina.runtime.dispatch.layout import Layout
from lamina.runtime.dispatch.native import output_memory
from lamina.runtime.dispatch.records import HEADER_BYTES, RECORDS, native_source, structure
from lamina.runtime.entry import NUMPY_DTYPES


def negate(*shape: int, dtype: str = "f32") -> Compiled:
    kind = "tensor<" + "x".join([*map(str, shape), dtype]) + ">"
    return lamina.compile(f"""func.func @main(%x: {kind}) -> {kind} {{
  %y = prims.neg(%x) : ({kind}) -> {kind}
  func.return %y : {kind}
}}""")


def look_up() -> Compiled:
    """Row `i` of a large table; an index out of range fails at run time."""
    return lamina.compile(
        """func.func @main(%w: tensor<4x30000xf32>, %i: tensor<1xi64>) -> tensor<1x30000xf32> {
  %y = aten.embedding.default(%w, %i) : (tensor<4x30000xf32>, tensor<1xi64>) -> tensor<1x30000xf32>
  func.return %y : tensor<1x30000xf32>
}"""
    )


MAKERS: dict[str, Callable[..., Any]] = {
    "numpy": lambda *shape: np.ones(shape, np.float32),
    "torch": lambda *shape: torch.ones(shape),
}


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_plain_calls_stay_in_native_code(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that fit never reach the checks in Python; what does not fit reaches them."""
    program, make = negate(2, 3), MAKERS[library]
    program(make(2, 3))

    def fail(*_: Any) -> Any:
        raise AssertionError("a Python check was met")

    monkeypatch.setattr(CheckedCall, "__call__", fail)
    assert program(make(2, 3)).tolist() == [[-1.0] * 3] * 2
    for unfit in (make(2, 4), make(3, 2), make(6), make(3, 2).T, make(2, 6)[:, ::2], 1, None):
        with pytest.raises(AssertionError, match="a Python check was met"):
            program(unfit)
    with pytest.raises(AssertionError, match="a Python check was met"):
        program()


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_strides_of_single_elements_and_of_none_are_free(library: str) -> None:
    make = MAKERS[library]
    assert negate(1, 3)(make(3, 1).T).tolist() == [[-1.0] * 3]
    assert negate(0, 3)(make(3, 0).T).shape == (0, 3)
    assert negate(2, 1)(make(1, 2).T).tolist() == [[-1.0]] * 2


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_programs_are_not_copied(duplicate: Callable[[object], object]) -> None:
    program = negate(1)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        duplicate(program)
    assert program(np.ones(1, np.float32)).tolist() == [-1]


def test_lazy_bits_and_gradients_are_seen() -> None:
    program = negate(1)
    x = torch.tensor([2.0])
    assert program(x).tolist() == [-2.0]
    negated = torch.complex(x, x).conj().imag
    assert negated.is_neg() and negated.is_contiguous()
    assert program(negated).tolist() == [2.0]
    with pytest.raises(ArgumentError, match="requires a gradient"):
        program(x.clone().requires_grad_())
    with torch.no_grad():
        assert program(torch.nn.Parameter(x)).tolist() == [-2.0]


def test_tensors_without_memory_are_refused() -> None:
    from torch._subclasses import FakeTensorMode

    program = negate(3)
    program(torch.ones(3))
    with FakeTensorMode():
        fake = torch.ones(3)
    for tensor in (fake, torch.ones(3, device="meta"), torch.ones(3).to_sparse()):
        with pytest.raises(ArgumentError, match=r"no memory|expected a CPU|expected a dense"):
            program(tensor)


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_a_failed_run_gives_its_error_and_gives_its_memory_back(library: str) -> None:
    program, make = look_up(), MAKERS[library]
    index = (np.array if library == "numpy" else torch.tensor)([9])
    before = output_memory()
    for _ in range(20):
        with pytest.raises(ExecutionError, match="out of range"):
            program(make(4, 30_000), index)
    after = output_memory()
    used = (after.block_bytes - after.kept_bytes) - (before.block_bytes - before.kept_bytes)
    assert used == 0 and after.blocks_made <= before.blocks_made + 1


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_references_are_balanced(library: str) -> None:
    program, array = negate(2, 3), MAKERS[library](2, 3)
    program(array)

    def counts() -> tuple[int, ...]:
        return tuple(map(sys.getrefcount, (array, np.dtype("f4"), None, True, type(array))))

    before = counts()
    for _ in range(2000):
        program(array)
    assert all(abs(a - b) < 500 for a, b in zip(before, counts(), strict=True))


def test_a_result_may_be_at_several_places_or_none() -> None:
    class Twice(FlatStructure):
        def layout(self, outputs: int) -> Layout:
            return Layout("list", (0, None, 0))

    program = Compiled(negate(2).program, {}, Twice(["x"]), str)
    first, none, second = program(np.ones(2, np.float32))
    assert first is second and none is None
    assert sys.getrefcount(first) <= 3  # first, second and the argument
    assert first.tolist() == [-1.0, -1.0]


def test_every_dtype_is_the_one_that_torch_describes() -> None:
    from lamina.frontends.torch_arrays import _DTYPES, TorchArrays, _Exchange  # pyright: ignore

    describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
    function: Any = TorchArrays().native_api()["describe"]
    assert set(NUMPY_DTYPES) == set(_DTYPES) and ctypes.sizeof(_Exchange) == 56
    for name, dtype in _DTYPES.items():
        view = structure("DLTensor")()
        assert describe(function)(torch.ones(2, dtype=dtype), ctypes.addressof(view)) == 0
        assert view.dtype == dlpack_dtype(name), name


def test_long_programs_let_other_threads_run_and_take_turns() -> None:
    """Programs above the bound give the GIL up; a lock keeps their calls apart."""
    program = negate(1 << 20)
    assert not program.program.is_short and negate(16).program.is_short
    wrong: list[float] = []

    def work(value: float) -> None:
        x = np.full(1 << 20, value, np.float32)
        for _ in range(20):
            y = program(x)
            if float(y[0]) != -value or float(y[-1]) != -value:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i + 1),)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


SIZED = """
func.func @main(%x: tensor<?x64xf32> {lamina.dims = [#lamina.size<n in [1, 4096]>]},
                %w: tensor<WxWxf32>) -> tensor<?x64xf32> {
  %0 = aten.sum.default(%w) : (tensor<WxWxf32>) -> tensor<f32>
  %1 = aten.mul.Tensor(%x, %0) : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
  %2 = aten.softmax.int(%1, 1) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  func.return %2 : tensor<?x64xf32>
}
"""


@pytest.mark.parametrize(("width", "brief"), [(8, 64), (512, 0)])
def test_few_rows_of_long_programs_are_short(width: int, brief: int) -> None:
    """As far as kernels end at the rows that count: a sum beside them takes what it takes.

    A row is some 400 operations, of the 32,768 that are short.
    """
    sized = lamina.compile(SIZED.replace("W", str(width)), versions="padded")
    w = np.zeros((width, width), np.float32)
    assert sized(np.zeros((4000, 64), np.float32), w).shape == (4000, 64)
    program = sized.sizes[-1].compiled.program
    assert not program.is_short and program.brief_up_to(4096) == brief


def test_short_and_long_calls_of_a_program_take_turns() -> None:
    """Short ones keep the GIL if nobody is in the program, and wait without it if somebody is."""
    sized = lamina.compile(SIZED.replace("W", "8"), versions="padded")
    w, wrong = np.ones((8, 8), np.float32), list[int]()
    given = {n: np.random.default_rng(n).random((n, 64), np.float32) for n in (1, 5, 30, 4000)}
    wanted = {n: sized(x, w).copy() for n, x in given.items()}

    def work(sizes: tuple[int, ...]) -> None:
        for _ in range(100):
            wrong.extend(n for n in sizes if not np.array_equal(sized(given[n], w), wanted[n]))

    threads = [
        threading.Thread(target=work, args=(sizes,)) for sizes in ((1, 30), (4000,), (5, 4000))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_records_have_the_sizes_that_llvm_gives_them() -> None:
    sizes = [f"size_{name}" for name in RECORDS]
    text = native_source() + "".join(
        f"define ptr @size_{name}() {{ ret ptr getelementptr (%{name}, ptr null, i32 1) }}\n"
        for name in RECORDS
    )
    code = compile_object(text, Target.host(), level=0)
    loaded = load_object(code, sizes, Target.host(), False, dict.fromkeys(FUNCTIONS, 1))
    for name in RECORDS:
        size = ctypes.CFUNCTYPE(ctypes.c_size_t)(loaded.addresses[f"size_{name}"])
        assert size() == ctypes.sizeof(structure(name)), name
    assert ctypes.sizeof(structure("DLManaged")) <= HEADER_BYTES
