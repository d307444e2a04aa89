"""Schedules that extensions choose for kernels that have none."""

from typing import Any

import numpy as np
import pytest

import lamina

TEXT = """
func.func @main(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %0 = aten.relu.default(%x) : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  func.return %0 : tensor<64x1024xf32>
}
"""
ONE_THREAD = "[#loop.rows<parallel = false>, #loop.schedule<unroll = 1>]"
X = np.linspace(-1, 1, 64 * 1024, dtype=np.float32).reshape(64, 1024)


def choosing(name: str, choice: Any) -> lamina.Extension:
    made = lamina.extend(f"extension_{name}")
    made.chooses_schedules(name)(choice)
    return made


def schedule() -> str:
    compiled = lamina.compile(TEXT)
    np.testing.assert_array_equal(compiled(X), np.maximum(X, 0))
    return str(compiled.kernels[0].schedule)


def test_a_chosen_schedule_is_completed() -> None:
    seen: list[tuple[str, lamina.Target]] = []

    def choose(kernel: Any, target: lamina.Target) -> str:
        seen.append((kernel.sym_name.data, target))
        return ONE_THREAD

    with choosing("serial", choose):
        found = schedule()
    assert "parallel = false" in found and "unroll = 1" in found and "vectorize" in found
    assert seen[0] == ("kernel_0", lamina.Target.host())
    assert "parallel = false" not in schedule(), "without the extension, and not from the cache"


def test_the_innermost_is_asked_first_and_may_leave_it_to_others() -> None:
    def unused(kernel: Any, target: lamina.Target) -> str:
        raise AssertionError("another has chosen")

    with choosing("outer", unused), choosing("inner", lambda kernel, target: ONE_THREAD):
        assert "parallel = false" in schedule()
    with (
        choosing("outer", lambda kernel, target: ONE_THREAD),
        choosing("inner", lambda kernel, target: None),
    ):
        assert "parallel = false" in schedule()


def test_what_the_caller_gives_wins() -> None:
    given = {"kernel_0": "[#loop.rows<parallel = false>, #loop.schedule<unroll = 4>]"}
    with choosing("serial", lambda kernel, target: ONE_THREAD):
        compiled = lamina.compile(TEXT, schedules=given)
    assert "unroll = 4" in str(compiled.kernels[0].schedule)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (lambda kernel, target: 1 // 0, "ZeroDivisionError"),
        (lambda kernel, target: 3, "it gives a int, not a text or None"),
        (lambda kernel, target: "[#loop.rows<fast>]", "InputError"),
        (lambda kernel, target: "[]", "its schedule is"),
    ],
)
def test_faults_name_chooser_and_kernel(choice: Any, said: str) -> None:
    with choosing("bad", choice), pytest.raises(lamina.InputError) as caught:
        lamina.compile(TEXT)
    text = str(caught.value)
    assert said in text and "schedule chooser 'bad', kernel 'kernel_0':" in text
    assert "extension_bad" in text and "\n" not in text
