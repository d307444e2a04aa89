"""Calls of compiled programs: argument checks, kinds of arrays, mutation, constants, threads.

The machine code is stood in for by NumPy over the same pointers, so that only the binding is met.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from lamina.dialects.errors import ArgumentError, ExecutionError, InputError
from lamina.runtime.arguments import FlatStructure
from lamina.runtime.compiled import Compiled
from lamina.runtime.entry import NUMPY_DTYPES, Entry, Slot
from lamina.runtime.kernels import Kernels
from lamina.runtime.program import Program

Body = Callable[..., None]


class NumpyCode:
    """Runs Python functions on arrays over the pointers of a call."""

    def __init__(self, main: Entry, body: Body, setup: Entry | None = None, prepare: Any = None):
        self._main, self._body, self._setup, self._prepare = main, body, setup, prepare
        self._error: BaseException | None = None
        native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
        self._callback = native(self._run)

    def _run(self, pointers: Any) -> int:
        try:
            self._body(*_views(self._main, pointers[: len(self._main.slots)]))
        except Exception as error:
            self._error = error
            return 1
        return 0

    def address(self, entry: str) -> int:
        assert entry == "main"
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def error(self, status: int) -> ExecutionError:
        return ExecutionError(f"status {status}: {self._error}")

    def call(self, entry: str, pointers: Any) -> None:
        if entry == "main":
            self._body(*_views(self._main, pointers))
        else:
            assert self._setup is not None
            self._prepare(*_views(self._setup, pointers))


def _views(entry: Entry, pointers: Any) -> list[np.ndarray]:
    views: list[np.ndarray] = []
    for slot, pointer in zip(entry.slots, pointers, strict=True):
        memory = (ctypes.c_char * slot.size).from_address(pointer or 0) if slot.size else b""
        views.append(np.frombuffer(memory, NUMPY_DTYPES[slot.dtype]).reshape(slot.shape))
    return views


def render(layer: str) -> str:
    raise InputError(f"unknown layer '{layer}'")


def compiled(slots: list[Slot], body: Body, **constants: Any) -> Compiled:
    main = Entry(tuple(slots))
    names = [slot.name for slot in slots if slot.kind == "input"]
    program = Program(NumpyCode(main, body), main, None, Kernels(()))
    return Compiled(program, constants, FlatStructure(names), render)


def tensor(name: str, *shape: int, kind: str = "input", dtype: str = "f32", **more: Any) -> Slot:
    return Slot(name, kind, dtype, shape, **more)


def add(dtype: str = "f32") -> Compiled:
    def body(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        out[...] = x + y

    slots = [tensor("x", 2, 3, dtype=dtype), tensor("y", 2, 3, dtype=dtype)]
    return compiled([*slots, tensor("out0", 2, 3, kind="output", dtype=dtype)], body)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_numpy_in_numpy_out() -> None:
    result = add()(X, X)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, 2 * X)


def test_torch_in_torch_out() -> None:
    result = add()(torch.from_numpy(X), torch.from_numpy(X))
    assert type(result) is torch.Tensor
    np.testing.assert_array_equal(result.numpy(), 2 * X)


@pytest.mark.parametrize("dtype", sorted(set(NUMPY_DTYPES) - {"i1", "bf16"}))
def test_every_dtype_of_both_libraries(dtype: str) -> None:
    x = np.ones((2, 3), NUMPY_DTYPES[dtype])
    program = add(dtype)
    assert program(x, x).dtype == x.dtype
    from_torch = program(torch.from_numpy(x), torch.from_numpy(x))
    assert from_torch.dtype == torch.from_numpy(x).dtype
    assert from_torch.numpy().tolist() == (x + x).tolist()


def test_booleans_are_bytes() -> None:
    def body(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = ~x

    program = compiled(
        [tensor("x", 2, dtype="i1"), tensor("out0", 2, kind="output", dtype="i1")], body
    )
    assert program(np.array([True, False])).tolist() == [False, True]
    assert program(torch.tensor([True, False])).tolist() == [False, True]


def test_bfloat16_of_torch_and_of_ml_dtypes() -> None:
    def body(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = x

    slots = [tensor("x", 2, dtype="bf16"), tensor("out0", 2, kind="output", dtype="bf16")]
    program = compiled(slots, body)
    x = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    assert torch.equal(program(x), x)
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    assert program(array).dtype == array.dtype
    assert program(array).tolist() == [1.5, -2.0]
    with pytest.raises(ArgumentError, match=r"\.astype\(ml_dtypes.bfloat16\)"):
        program(np.zeros(2, np.float32))


def test_inputs_are_read_in_place_and_outputs_are_fresh() -> None:
    seen: list[int] = []

    def body(x: np.ndarray, out: np.ndarray) -> None:
        seen.append(x.ctypes.data)
        out[...] = x

    program = compiled([tensor("x", 4), tensor("out0", 4, kind="output")], body)
    array, other = np.zeros(4, np.float32), torch.ones(4)
    first, second = program(array), program(other)
    assert seen == [array.ctypes.data, other.data_ptr()]
    assert first.tolist() == [0] * 4 and second.tolist() == [1] * 4


WRONG_NUMPY: dict[str, tuple[tuple[Any, ...], str]] = {
    "too few": ((X,), r"expected 2 arguments, got 1\n  inputs: x: tensor<2x3xf32>, y: "),
    "too many": ((X, X, X), r"expected 2 arguments, got 3"),
    "none": ((), r"expected 2 arguments, got 0"),
    "a number": ((1.0, X), r"argument 0 \('x'\): expected tensor<2x3xf32> as a NumPy array or a"),
    "a scalar": ((np.float32(3), X), r"argument 0 \('x'\): .* got float32"),
    "a list": ((X, [1]), r"argument 1 \('y'\): expected tensor<2x3xf32> .* got list"),
    "None": ((X, None), r"argument 1 \('y'\): .* got NoneType"),
    "dtype": ((X, X.astype("f8")), r"argument 1 \('y'\): expected dtype float32, got float64; con"),
    "byte order": ((X.astype(">f8"), X), r"expected dtype float32, got >f8"),
    "rank": ((X[0], X), r"argument 0 \('x'\): expected rank 2 \(2x3\), got rank 1 \(3\)"),
    "shape": ((X, X[:1]), r"expected shape 2x3, got 1x3 \(dimension 0 is 1, not 2\)"),
    "transposed": ((X, X.T), r"expected shape 2x3, got 3x2"),
    "mixed": ((X, torch.zeros(2, 3)), r"argument 1 \('y'\): the arguments mix NumPy arrays and"),
}


@pytest.mark.parametrize("case", WRONG_NUMPY)
def test_wrong_numpy_arguments_are_named(case: str) -> None:
    arguments, message = WRONG_NUMPY[case]
    with pytest.raises(ArgumentError, match=message):
        add()(*arguments)


T = torch.zeros(2, 3)

WRONG_TORCH: dict[str, tuple[tuple[Any, ...], str]] = {
    "dtype": (
        (T, T.double()),
        r"argument 1 \('y'\): expected dtype float32, got float64; .*\.to\(",
    ),
    "rank": ((T, T[0]), r"expected rank 2 \(2x3\), got rank 1 \(3\)"),
    "scalar": ((T, T.sum()), r"expected rank 2 \(2x3\), got rank 0 \(a scalar\)"),
    "shape": ((torch.zeros(2, 4), T), r"expected shape 2x3, got 2x4 \(dimension 1 is 4, not 3\)"),
    "transposed": ((T, T.T), r"expected shape 2x3, got 3x2"),
    "device": ((T, T.to("meta")), r"argument 1 \('y'\): expected a CPU tensor, got meta"),
    "sparse": ((T, T.to_sparse()), r"argument 1 \('y'\): expected a dense tensor"),
    "gradient": ((T, torch.zeros(2, 3, requires_grad=True)), r"requires a gradient.*no_grad"),
    "mixed": ((T, X), r"argument 1 \('y'\): the arguments mix NumPy arrays and torch tensors"),
    "number": ((T, 3), r"argument 1 \('y'\): .* got int"),
}


@pytest.mark.parametrize("case", WRONG_TORCH)
def test_wrong_torch_arguments_are_named(case: str) -> None:
    arguments, message = WRONG_TORCH[case]
    with pytest.raises(ArgumentError, match=message):
        add()(*arguments)


def test_what_needs_a_gradient_is_fine_without_grad_mode() -> None:
    with torch.no_grad():
        assert add()(T, torch.zeros(2, 3, requires_grad=True)).tolist() == T.tolist()


def test_parameters_subclass_tensors() -> None:
    assert torch.equal(add()(torch.nn.Parameter(T, requires_grad=False), T), T)


def test_arguments_by_name() -> None:
    program = add()
    assert program(X, y=X).tolist() == (2 * X).tolist()
    for keywords, message in (
        ({"z": X}, "no argument named 'z'; there are: x, y"),
        ({"x": X}, "'x' is given by position and by name"),
        ({}, "expected 2 arguments, got 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            program(X, **keywords)


def test_a_failed_call_leaves_the_program_usable() -> None:
    program = add()
    with pytest.raises(ArgumentError):
        program(X, X[0])
    assert program(X, X).tolist() == (2 * X).tolist()


def test_scalars_and_empty_arrays() -> None:
    def body(x: np.ndarray, e: np.ndarray, out: np.ndarray, nothing: np.ndarray) -> None:
        out[...] = x + e.sum()

    program = compiled(
        [
            tensor("x"),
            tensor("e", 0, 3),
            tensor("out0", kind="output"),
            tensor("out1", 3, 0, kind="output"),
        ],
        body,
    )
    value, empty = program(np.array(2.5, np.float32), np.zeros((0, 3), np.float32))
    assert value.shape == () and value == 2.5 and empty.shape == (3, 0)
    value, empty = program(torch.tensor(2.5), torch.zeros(0, 3))
    assert value.item() == 2.5 and empty.shape == (3, 0)


def test_programs_without_inputs_give_numpy() -> None:
    def body(out: np.ndarray) -> None:
        out[...] = 7

    assert compiled([tensor("out0", 2, kind="output")], body)().tolist() == [7, 7]


def double(*slots: Slot) -> Compiled:
    """Gives x + 1 and doubles `x` in place."""

    def body(x: np.ndarray, out: np.ndarray, new: np.ndarray) -> None:
        out[...] = x + 1
        new[...] = 2 * x

    return compiled(
        [
            tensor("x", 3),
            tensor("out0", 3, kind="output"),
            tensor("new", 3, kind="mutation", target="x"),
        ],
        body,
    )


def test_mutated_inputs_are_written_in_place() -> None:
    array, other = np.ones(3, np.float32), torch.ones(3)
    assert double()(array).tolist() == [2, 2, 2]
    assert double()(other).tolist() == [2, 2, 2]
    assert array.tolist() == other.tolist() == [2, 2, 2]


def test_read_only_arrays_may_be_read_but_not_mutated() -> None:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"argument 0 \('x'\): the program writes to it"):
        double()(array)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert add()(frozen, frozen).tolist() == (2 * X).tolist()


def test_buffers_keep_their_state_between_calls() -> None:
    def body(count: np.ndarray, x: np.ndarray, out: np.ndarray, new: np.ndarray) -> None:
        out[...] = x * count
        new[...] = count + 1

    buffer = torch.ones(())
    program = compiled(
        [
            tensor("count", kind="buffer"),
            tensor("x", 2),
            tensor("out0", 2, kind="output"),
            tensor("new", kind="mutation", target="count"),
        ],
        body,
        count=buffer,
    )
    x = torch.ones(2)
    assert [program(x)[0].item() for _ in range(3)] == [1, 2, 3]
    assert buffer.item() == 4


def test_setup_prepares_constants_once() -> None:
    calls: list[str] = []

    def prepare(w: np.ndarray, packed: np.ndarray, arena: np.ndarray) -> None:
        calls.append("setup")
        packed[...] = w.T

    def body(x: np.ndarray, packed: np.ndarray, out: np.ndarray, arena: np.ndarray) -> None:
        calls.append("main")
        out[...] = x @ packed

    main = Entry(
        (
            tensor("x", 1, 3),
            tensor("prepared0", 3, 2, kind="prepared"),
            tensor("out0", 1, 2, kind="output"),
            tensor("arena", 64, kind="arena", dtype="i8"),
        )
    )
    setup = Entry(
        (
            tensor("w", 2, 3, kind="parameter"),
            tensor("prepared0", 3, 2, kind="prepared"),
            tensor("arena", 64, kind="arena", dtype="i8"),
        )
    )
    program = Compiled(
        Program(NumpyCode(main, body, setup, prepare), main, setup, Kernels(())),
        {"w": np.asfortranarray(X)},
        FlatStructure(["x"]),
        render,
    )
    x = np.ones((1, 3), np.float32)
    for _ in range(2):
        assert program(x).tolist() == (x @ X.T).tolist()
    assert calls == ["setup", "main", "main"]


def test_calls_from_several_threads() -> None:
    program = add()
    wrong: list[Any] = []

    def work(value: float) -> None:
        x = np.full((2, 3), value, np.float32)
        wrong.extend(r for _ in range(200) if ((r := program(x, x)) != 2 * value).any())

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_repr_and_description() -> None:
    program = add()
    assert repr(program) == (
        "<lamina.Compiled (x: tensor<2x3xf32>, y: tensor<2x3xf32>) -> (tensor<2x3xf32>), 0 kernels>"
    )
    assert [slot.name for slot in program.inputs] == ["x", "y"]
    with pytest.raises(InputError, match="unknown layer 'lop'"):
        program.ir("lop")


def test_entries_are_plain_data() -> None:
    entry = Entry((tensor("x", 2), tensor("m", kind="mutation", target="x")))
    assert Entry.from_json(entry.to_json()) == entry
