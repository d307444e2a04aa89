"""Mutated programs of every layer: a message, or a result equal to the interpreter's."""

from __future__ import annotations

from collections import Counter

import pytest
from fuzz_texts import corpus, failures, run
from texts.trial import judge

JOBS = 2


def _all_clean(seed: int, cases: int) -> None:
    records = run(seed, range(cases), JOBS, corpus())
    assert not failures(records)
    counts = Counter(record["status"] for record in records)
    # Mutations are such that some programs are still valid, and run.
    assert counts["passed"] > cases // 100 and counts["refused"] > cases // 2, counts
    assert counts["not run"] < cases // 20, counts


def test_a_few_mutated_programs() -> None:
    _all_clean(0, 200)


@pytest.mark.long
def test_many_mutated_programs() -> None:
    for seed in range(1, 6):
        _all_clean(seed, 10_000)


WRONG_KERNEL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %q = arith.addf %p, %p : f32
    loop.yield %q : f32
  }
  func.return %0 : tensor<4xf32>
}
"""


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(WRONG_KERNEL)["status"] == "passed"
    monkeypatch.setattr("texts.trial.run_module", lambda _, arrays: [array * 3 for array in arrays])
    assert judge(WRONG_KERNEL)["reason"].startswith("wrong: ")


ROUNDED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core_aten.exp.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core_aten._to_copy.default(%0, dtype = f16) {lamina.implicit} : (tensor<4xf32>) -> tensor<4xf16>
  %2 = core_aten._to_copy.default(%1, dtype = f32) {lamina.implicit} : (tensor<4xf16>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""  # noqa: E501


def test_rounding_that_code_leaves_out_is_no_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(ROUNDED)["status"] == "passed"
    monkeypatch.setattr("texts.trial.IMPLICIT", "is not there")
    assert judge(ROUNDED)["reason"].startswith("wrong: ")


def test_an_internal_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("texts.trial.compile_module", broken)
    assert judge(WRONG_KERNEL)["reason"] == "compile: KeyError: 'x'"
