"""Programs whose extern kernels call programs, fail, are interrupted, or run in several threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ExecutionError
from lamina.runtime.extern_kernels import registry
from lamina.runtime.extern_kernels.registry import extern_kernel, kernel_names

KIND = "tensor<300x200xf32>"
PROGRAM = f"""
func.func @main(%a: {KIND}) -> {KIND} {{
  %s = prims.mul(%a, %a) : ({KIND}, {KIND}) -> {KIND}
  %b = prims.extern([%s], "mine.f", "{{}}") : ({KIND}) -> {KIND}
  %t = prims.tanh(%b) : ({KIND}) -> {KIND}
  %c = prims.add(%s, %t) : ({KIND}, {KIND}) -> {KIND}
  func.return %c : {KIND}
}}"""


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kernel_names()
    monkeypatch.setattr(registry, "_kernels", dict(registry._kernels))
    yield


def meaning(a: np.ndarray, depth: int) -> np.ndarray:
    """What `PROGRAM` computes if its kernel calls it that many times, each in the other."""
    square = a * a
    inner = meaning(square / 8, depth - 1) if depth else square * 2
    return square + np.tanh(inner)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("as_torch", [False, True])
def test_a_program_that_calls_itself(depth: int, as_torch: bool) -> None:
    import torch

    level = [0]

    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        if level[0] == depth:
            return a * 2
        level[0] += 1
        given: Any = torch.from_numpy(a / 8) if as_torch else a / 8
        made = np.asarray(compiled(given))
        level[0] -= 1
        return made

    compiled = lamina.compile(PROGRAM)
    a = np.random.default_rng(0).standard_normal((300, 200), np.float32)
    for _ in range(2):
        made = compiled(torch.from_numpy(a) if as_torch else a)
        np.testing.assert_allclose(np.asarray(made), meaning(a, depth), rtol=1e-4, atol=1e-6)


def test_two_programs_that_call_each_other() -> None:
    level = [0]

    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        level[0] += 1
        return a * 2 if level[0] > 3 else (one, other)[level[0] % 2](a / 8)

    one, other = lamina.compile(PROGRAM), lamina.compile(PROGRAM)
    a = np.random.default_rng(0).standard_normal((300, 200), np.float32)
    np.testing.assert_allclose(one(a), meaning(a, 3), rtol=1e-4, atol=1e-6)


def test_a_program_without_end_is_a_recursion_error() -> None:
    extern_kernel("mine.f")(lambda a: compiled(a))
    compiled = lamina.compile(PROGRAM)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(120 + len_of_stack())
    try:
        with pytest.raises(ExecutionError, match="RecursionError"):
            compiled(np.zeros((300, 200), np.float32))
    finally:
        sys.setrecursionlimit(limit)


def len_of_stack() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


WRITES = """
func.func @main(%a: tensor<4xf32> {lamina.name = "a"}) -> (tensor<4xf32> {lamina.kind = "mutation", lamina.target = "a"}) {
  %b = prims.extern([%a], "mine.f", "{}") : (tensor<4xf32>) -> tensor<4xf32>
  %c = prims.add(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}"""  # noqa: E501 - a result on one line


def test_a_program_that_writes_says_why_it_does_not_call_itself() -> None:
    extern_kernel("mine.f")(lambda a: (compiled(a.copy()), a)[1])
    compiled = lamina.compile(WRITES)
    a = np.ones(4, np.float32)
    with pytest.raises(ExecutionError, match="calls the program itself, which writes"):
        compiled(a)
    np.testing.assert_array_equal(a, np.ones(4, np.float32))


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_asks_to_stop_stays_what_it_is(stop: type[BaseException]) -> None:
    raised = [stop("now"), ValueError("later")]

    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        if raised:
            raise raised.pop(0)
        return a * 2

    compiled = lamina.compile(PROGRAM)
    a = np.zeros((300, 200), np.float32)
    with pytest.raises(stop, match="now"):
        compiled(a)
    with pytest.raises(ExecutionError, match=r"extern kernel failed: mine\.f: ValueError: later"):
        compiled(a)
    np.testing.assert_allclose(compiled(a), meaning(a, 0), rtol=1e-4)


SETUP = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<4x4xf32> {
  %b = prims.extern([%w], "mine.f", "{}") : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = prims.add(%x, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}"""  # noqa: E501 - an argument on one line


def test_an_interrupt_while_constants_are_prepared() -> None:
    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled = lamina.compile(SETUP, constants={"w": np.ones((4, 4), np.float32)})
        compiled(np.ones((4, 4), np.float32))


INTERRUPTED = f"""
import os, signal, sys, threading, time
import numpy as np
import lamina

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's background job

@lamina.extern_kernel("mine.f")
def f(a):
    print("in the kernel", flush=True)
    while True:
        time.sleep(0.01)

compiled = lamina.compile('''{PROGRAM}''')
try:
    compiled(np.zeros((300, 200), np.float32))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_ends_a_kernel() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the kernel\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert process.returncode == 0


def test_threads_in_one_program_get_their_own_messages() -> None:
    numbers = threading.local()

    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        if numbers.own % 2:
            raise ValueError(f"thread {numbers.own}")
        return a * 2

    compiled = lamina.compile(PROGRAM)
    a = np.random.default_rng(0).standard_normal((300, 200), np.float32)
    wanted, wrong = meaning(a, 0), []

    def work(number: int) -> None:
        numbers.own = number
        for _ in range(20):
            try:
                np.testing.assert_allclose(compiled(a), wanted, rtol=1e-4, atol=1e-6)
                said = ""
            except ExecutionError as error:
                said = str(error)
            expected = f"extern kernel failed: mine.f: ValueError: thread {number}"
            if not (expected in said if number % 2 else said == ""):
                wrong.append(said)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_kernel_is_called_after_a_failure() -> None:
    seen: list[str] = []

    @extern_kernel("mine.f")
    def f(a: np.ndarray) -> np.ndarray:
        seen.append("f")
        raise ValueError("f")

    @extern_kernel("mine.g")
    def g(a: np.ndarray) -> np.ndarray:
        seen.append("g")
        return a

    second = '  %d = prims.extern([%c], "mine.g", "{}") : (' + f"{KIND}) -> {KIND}\n"
    text = PROGRAM.replace("  func.return %c", f"{second}  func.return %d")
    with pytest.raises(ExecutionError, match=r"mine\.f: ValueError: f"):
        lamina.compile(text)(np.zeros((300, 200), np.float32))
    assert seen == ["f"]
