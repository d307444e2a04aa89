"""Targets that LLVM ends the process over are refused, by their fields or after a trial."""

from dataclasses import replace

import numpy as np
import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError, LaminaError, UnsupportedError

PROGRAM = """
func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = aten.exp.default(%x) : (tensor<40xf32>) -> tensor<40xf32>
  func.return %0 : tensor<40xf32>
}
"""
USUAL = Target.parse("x86-64-v3")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("cpu=nonsense", "not a recognized processor"),
        ("cpu=i486", "LLVM makes no code for cpu=i486"),
        ("features=+avx2,fma", "LLVM makes no code"),
        ("features=+avx2,-64bit", "LLVM makes no code"),
    ],
)
def test_what_llvm_does_not_take_is_refused(options: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        lamina.compile(PROGRAM, target=f"x86-64-v3;{options}", cache=False)


def test_another_cpu_is_taken() -> None:
    target = Target.parse("x86-64-v3;cpu=haswell")
    if not target.runs_here():
        pytest.skip("for CPUs with AVX2")
    x = np.linspace(-1, 1, 40, dtype=np.float32)
    made = lamina.compile(PROGRAM, target=target, cache=False)(x)
    np.testing.assert_allclose(made, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("options", ["vector_bits=512", "vector_bits=2048", "features=-avx2"])
def test_vectors_need_features(options: str) -> None:
    with pytest.raises(InputError, match="its features have vectors of"):
        Target.parse(f"x86-64-v3;{options}")


@pytest.mark.parametrize(
    "field", [{"cpu": 3}, {"triple": None}, {"l2_bytes": 1e6}, {"cores": True}, {"clock_hz": "1"}]
)
def test_fields_have_types(field: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"is no (str|int|float)"):
        replace(USUAL, **field)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("target", [3, {"cpu": "znver4"}])
def test_targets_are_names(target: object) -> None:
    with pytest.raises(LaminaError, match="a target is a name or a Target"):
        lamina.compile(PROGRAM, target=target)  # pyright: ignore[reportArgumentType]
