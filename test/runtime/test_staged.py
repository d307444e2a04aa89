"""Programs in stages: sizes that depend on data and have no bound."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import (
    ArgumentError,
    ExecutionError,
    InputError,
    LaminaError,
    UnsupportedError,
)
from lamina.lowering.stages.choose_stages import main_with_sizes_of_data
from lamina.runtime.interpreters import run_module

PROGRAM = """
func.func @main(%x: tensor<8xf32> {lamina.name = "x"}, %n: tensor<i64> {lamina.name = "n"},
                %w: tensor<8xf32> {lamina.name = "w", lamina.kind = "parameter"})
    -> (tensor<?xf32>, tensor<?x1xi64>, tensor<?xf32>, i64) {
  %i = aten.nonzero.default(%x) : (tensor<8xf32>) -> tensor<?x1xi64>
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %z = aten.zeros.default([%k]) : (i64) -> tensor<?xf32>
  %y = aten.mul.Tensor(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = aten.cat.default([%y, %z]) : (tensor<8xf32>, tensor<?xf32>) -> tensor<?xf32>
  %e = aten.exp.default(%c) : (tensor<?xf32>) -> tensor<?xf32>
  %m = aten.arange.default(%k, dtype = i64) : (i64) -> tensor<?xi64>
  %r = aten.repeat_interleave.Tensor(%m) : (tensor<?xi64>) -> tensor<?xi64>
  %f = aten._to_copy.default(%r, dtype = f32) : (tensor<?xi64>) -> tensor<?xf32>
  %s = aten.sym_size.int(%f, 0) : (tensor<?xf32>) -> i64
  func.return %e, %i, %f, %s : tensor<?xf32>, tensor<?x1xi64>, tensor<?xf32>, i64
}
"""

INDEXED = """
func.func @main(%x: tensor<9x4xf32> {{lamina.name = "x"}}, %i: {places} {{lamina.name = "i"}})
    -> {result} {{
  %y = aten.index.Tensor(%x, [%i]) : (tensor<9x4xf32>, {places}) -> {result}
  func.return %y : {result}
}}
"""

W = np.linspace(-1, 1, 8, dtype=np.float32)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def check(compiled: Any, n: int, x: np.ndarray | None = None) -> None:
    x = random(8) * (np.arange(8) % (n % 7 + 1) > 0) if x is None else x
    wanted = run_module(lamina.parse(PROGRAM), [x, np.array(n), W])
    for found, each in zip(compiled(x, np.array(n)), wanted, strict=True):
        assert np.shape(found) == np.shape(each)
        np.testing.assert_allclose(found, each, rtol=1e-5)


def test_places_that_are_numbers_make_no_sizes_and_masks_do() -> None:
    numbers = INDEXED.format(places="tensor<5xi64>", result="tensor<5x4xf32>")
    assert main_with_sizes_of_data(lamina.parse(numbers)) is None
    mask = INDEXED.format(places="tensor<9xi1>", result="tensor<?x4xf32>")
    assert main_with_sizes_of_data(lamina.parse(mask)) is not None


@pytest.mark.parametrize("policy", ["auto", "exact", "padded"])
def test_results_have_their_exact_size(policy: str) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W}, versions=policy)
    assert len(compiled.stages) == 3
    for n in (5, 0, 1, 2, 9, 90, 5):
        check(compiled, n)
    kinds = {version.is_exact for version in compiled.sizes}
    assert kinds == ({True} if policy == "exact" else {False})
    assert isinstance(compiled(random(8), np.array(3))[3], int)


def test_other_calls() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    check(compiled, 4, random(8, 8)[:, 3])
    assert compiled(random(8), 2)[0].shape == (10,)  # a number for a tensor of rank 0
    by_name = compiled(n=np.array(2), x=random(8))
    assert by_name[0].shape == (10,)
    torch: Any = pytest.importorskip("torch")
    made = compiled(torch.from_numpy(random(8)), torch.tensor(3))
    assert all(isinstance(result, torch.Tensor) for result in made[:3])
    first = made[0].clone()
    compiled(torch.from_numpy(random(8) + 1), torch.tensor(3))
    assert torch.equal(first, made[0])  # memory of a call is its own


def test_threads_share_stages() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: check(compiled, n), [3, 9, 0, 3, 17, 90, 1, 40] * 3))
    barrier, found = threading.Barrier(2), list[int]()

    def call(n: int) -> None:
        barrier.wait()
        found.append(compiled(random(8), np.array(n))[0].shape[0] - n)

    threads = [threading.Thread(target=call, args=(n,)) for n in (2, 70)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [8, 8]


def test_stages_stand_in_the_text() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    assert "func.call" not in compiled.ir("aten")
    staged = compiled.ir("functional")
    assert staged.count("func.call @main_stage_") == 3
    x, n = random(8), np.array(6)
    one = run_module(lamina.parse(staged), [x, n, W])
    for a, b in zip(one, run_module(lamina.parse(PROGRAM), [x, n, W]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    check(lamina.compile(staged, constants={"w": W}), 6)
    with pytest.raises(InputError, match=r"in stages: compiled.stages\[0\].ir\('prims'\)"):
        compiled.ir("prims")
    assert "prims." in compiled.stages[0].ir("prims")


def test_what_stands_for_one_stage(tmp_path: Path) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    assert "3 stages>" in repr(compiled)
    assert [slot.name for slot in compiled.inputs] == ["x", "n"]
    assert [slot.shape for slot in compiled.outputs] == [(-1,), (-1, 1), (-1,), ()]
    for member in ("native", "bound", "kernels", "memory"):
        with pytest.raises(UnsupportedError, match=rf"compiled.stages\[0\].{member}"):
            getattr(compiled, member)
    with pytest.raises(UnsupportedError, match=r"compiled.stages\[0\].save"):
        compiled.save(tmp_path / "x")
    assert len(compiled.stages[0].kernels) > 0
    whole = lamina.compile("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                           "  func.return %x : tensor<8xf32>\n}")  # fmt: skip
    assert whole.stages == (whole,)


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (-3, r"the result of aten.item.default \(<text>:6:3\) is -3: 'u0' is in \[0, \?\]"),
        (2**62, r"aten.item.default \(<text>:6:3\) is 4611686018427387904: no size is above 2\^59"),
    ],
)
def test_sizes_that_are_none(n: int, message: str) -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    with pytest.raises(ExecutionError, match=message):
        compiled(random(8), np.array(n))
    check(compiled, 3)


@pytest.mark.parametrize(
    ("relation", "limit", "message"),
    [
        ("sle", -(2**31), "a size of at least 0, and checked to be at most -2147483648"),
        ("sge", 2**60, r"checked to be at least 1152921504606846976; no size is above"),
    ],
)
def test_checks_that_no_size_passes(relation: str, limit: int, message: str) -> None:
    with pytest.raises(InputError, match=rf"<text>:3:3: error: aten.item.default: .*{message}"):
        lamina.compile(_checked_size(relation, limit))


def test_a_check_that_every_size_passes() -> None:
    compiled = lamina.compile(_checked_size("sle", 2**60))
    assert compiled(np.array(3)).shape == (3,)


def _checked_size(relation: str, limit: int) -> str:
    return f"""
func.func @main(%n: tensor<i64>) -> tensor<?xf32> {{
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %limit = arith.constant {limit} : i64
  %c = arith.cmpi {relation}, %k, %limit : i64
  aten._assert_scalar.default(%c, "out of range") : (i1) -> ()
  %z = aten.zeros.default([%k]) : (i64) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}}
"""


def test_arguments_that_do_not_fit() -> None:
    compiled = lamina.compile(PROGRAM, constants={"w": W})
    with pytest.raises(ArgumentError, match=r"argument 0 \('x'\): expected shape 8, got 9"):
        compiled(random(9), np.array(3))
    with pytest.raises(ArgumentError, match="expected 2 arguments, got 1"):
        compiled(random(8))
    with pytest.raises(ArgumentError, match="expected dtype int64, got int32"):
        compiled(random(8), np.array(3, np.int32))


EQUAL = """
func.func @main(%x: tensor<8xf32>, %p: tensor<8xi1>, %q: tensor<8xi1>) -> tensor<?xf32> {
  %s = aten.masked_select.default(%x, %p) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %t = aten.masked_select.default(%x, %q) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
  %u = aten.add.Tensor(%s, %t) {lamina.begins_stage}
    : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %u : tensor<?xf32>
}
"""


def test_counts_that_must_be_equal_are_checked() -> None:
    compiled = lamina.compile(EQUAL)
    x, p = random(8), np.arange(8) % 2 == 0
    np.testing.assert_allclose(compiled(x, p, ~p), x[p] + x[~p])
    message = (
        r"dimension 0 of the result of aten.masked_select.default \(<text>:4:3\) is 8; it is "
        r"'u\d', and dimension 0 of the result of aten.masked_select.default \(<text>:3:3\)"
    )
    with pytest.raises(ExecutionError, match=message):
        compiled(x, p, np.ones(8, bool))


def test_an_op_that_takes_no_padding_has_code_for_each_size() -> None:
    compiled = lamina.compile("""
    func.func @main(%x: tensor<8xf32>) -> tensor<?x1xf32> {
      %m = aten.gt.Scalar(%x, 0) : (tensor<8xf32>) -> tensor<8xi1>
      %s = aten.masked_select.default(%x, %m) : (tensor<8xf32>, tensor<8xi1>) -> tensor<?xf32>
      %u = aten.unsqueeze.default(%s, 1) : (tensor<?xf32>) -> tensor<?x1xf32>
      %r = aten.renorm.default(%u, 2, 0, 3) : (tensor<?x1xf32>) -> tensor<?x1xf32>
      func.return %r : tensor<?x1xf32>
    }""")
    for count in (2, 5, 8, 5):
        x = np.where(np.arange(8) < count, np.arange(1, 9), -1).astype(np.float32)
        wanted = np.minimum(x[:count], 3)[:, None]
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5)
    assert [version.is_exact for version in compiled.sizes] == [True] * 3
    assert "each set of sizes is compiled: aten.renorm.default" in str(compiled.sizes)


def test_open_sizes_of_arguments_go_on_into_stages() -> None:
    compiled = lamina.compile("""
    func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<b in [0, 100]>]},
                    %n: tensor<i64>) -> (tensor<?xf32> {lamina.dims = [#lamina.size<b>]},
                                         tensor<?x8xf32>) {
      %k = aten.item.default(%n) : (tensor<i64>) -> i64
      %z = aten.ones.default([%k, 8]) : (i64) -> tensor<?x8xf32>
      %c = aten.cat.default([%x, %z]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
      %s = aten.sum.dim_IntList(%x, [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
      func.return %s, %c : tensor<?xf32>, tensor<?x8xf32>
    }""")
    for rows, n in ((3, 2), (0, 0), (1, 1), (40, 70), (100, 0)):
        x = random(rows, 8)
        total, joined = compiled(x, np.array(n))
        np.testing.assert_allclose(total, x.sum(1), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(joined, np.concatenate([x, np.ones((n, 8), np.float32)]))
    with pytest.raises(ArgumentError, match=r"is 101: 'b' is in \[0, 100\]"):
        compiled(random(101, 8), np.array(1))


WRITES = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>,
                %b: tensor<f32> {lamina.kind = "buffer", lamina.name = "b"}) -> tensor<?xf32> {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %z = aten.ones.default([%k]) : (i64) -> tensor<?xf32>
  %s = aten.sum.default(%z) : (tensor<?xf32>) -> tensor<f32>
  %t = aten.add_.Tensor(%b, %s) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = aten.add_.Tensor(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = aten.add.Tensor(%z, %t) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""


def test_what_is_written_is_written() -> None:
    state = np.zeros((), np.float32)
    compiled = lamina.compile(WRITES, constants={"b": state})
    wide = np.zeros((4, 3), np.float32)
    np.testing.assert_array_equal(compiled(wide[:, 1], np.array(3)), [4, 4, 4])
    assert (wide == [[0, 3, 0]] * 4).all() and state == 3
    assert compiled(wide[:, 1], np.array(2)).tolist() == [6, 6] and state == 5
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="the program writes to it, but it is read-only"):
        compiled(frozen, np.array(3))
    with pytest.raises(ExecutionError, match="is -1: 'u0' is in"):
        compiled(wide[:, 1], np.array(-1))
    assert state == 5  # nothing is written where a size is none


RANDOM = """
func.func @main(%n: tensor<i64>) -> (tensor<3xf32>, tensor<?xf32>) {
  %a = aten.rand.default([3]) : () -> tensor<3xf32>
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  %b = aten.rand.default([%k]) : (i64) -> tensor<?xf32>
  func.return %a, %b : tensor<3xf32>, tensor<?xf32>
}
"""


def test_stages_draw_from_one_sequence() -> None:
    compiled = lamina.compile(RANDOM)
    drawn: list[list[Any]] = []
    for _ in range(2):
        compiled.seed(7)
        drawn.append([compiled(np.array(n)) for n in (3, 3, 70)])
    for one, other in zip(*drawn, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    first, second = drawn[0][0], drawn[0][1]
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])


def test_entries_have_stages_of_their_own() -> None:
    twice = PROGRAM.replace("@main", "@other")
    compiled = lamina.compile(PROGRAM + twice, constants={"w": W})
    check(compiled, 3)
    check(compiled.entries["other"], 4)


STAGE = """
func.func private @one(%n: tensor<i64>) -> i64 attributes {lamina.stage} {
  %k = aten.item.default(%n) : (tensor<i64>) -> i64
  func.return %k : i64
}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%k = func.call @one(%n) : (tensor<i64>) -> i64\n"
            "%z = aten.zeros.default([%k]) : (i64) -> tensor<?xf32>",
            "@main calls stages, and holds nothing else then",
        ),
        (
            "%k = func.call @one(%n) : (tensor<i64>) -> i64\n"
            "%l = func.call @one(%n) : (tensor<i64>) -> i64",
            "the stage @one is called twice",
        ),
        ("%k = func.call @one(%n) : (tensor<i64>) -> f64", "result type mismatch"),
    ],
)
def test_programs_in_stages_are_verified(body: str, message: str) -> None:
    with pytest.raises(LaminaError, match=message):
        lamina.compile(
            STAGE + f"func.func @main(%n: tensor<i64>) {{\n{body}\nfunc.return\n}}"
        )  # fmt: skip


def test_a_number_that_is_no_size_is_refused_as_before() -> None:
    with pytest.raises(UnsupportedError, match=r"aten.roll.default: goes through"):
        lamina.compile("""
        func.func @main(%x: tensor<2x4xf32>, %n: tensor<i64>) -> tensor<2x4xf32> {
          %k = aten.item.default(%n) : (tensor<i64>) -> i64
          %r = aten.roll.default(%x, [%k]) : (tensor<2x4xf32>, i64) -> tensor<2x4xf32>
          func.return %r : tensor<2x4xf32>
        }""")


def test_a_dear_bound_is_a_stage_unless_a_pipeline_says_otherwise() -> None:
    text = """
    func.func @main(%n: tensor<i64>, %x: tensor<4x8xf32>) -> tensor<?x8xf32> {
      %k = aten.item.default(%n) : (tensor<i64>) -> i64
      %most = arith.constant 100000 : i64
      %c = arith.cmpi sle, %k, %most : i64
      aten._assert_scalar.default(%c, "too many") : (i1) -> ()
      %z = aten.zeros.default([%k, 8]) : (i64) -> tensor<?x8xf32>
      %r = aten.cat.default([%x, %z]) : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
      func.return %r : tensor<?x8xf32>
    }"""
    padded = lamina.Pipeline().replace("choose-stages", "choose-stages{dear=0}")
    for pipeline, stages in ((None, 2), (padded, 1)):
        compiled = lamina.compile(text, pipeline=pipeline)
        assert len(compiled.stages) == stages
        for count in (3, 70_000, 0):
            found = compiled(np.array(count), random(4, 8))
            assert found.shape == (count + 4, 8)
            np.testing.assert_array_equal(found[:4], random(4, 8))
            assert not found[4:].any()
        with pytest.raises(ExecutionError):
            compiled(np.array(100_001), random(4, 8))
