"""The interpreters of the loop layer: nests on tensors and memrefs, scheduled loops, its checks."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import ArgumentError, ExecutionError, InputError
from lamina.lowering.pipeline import STAGES, run_pipeline
from lamina.runtime.interpreters import loop as loop_interpreter
from lamina.runtime.interpreters import run_module

RANDOM = np.random.default_rng(5)


def run(text: str, *args: np.ndarray) -> list[np.ndarray]:
    return run_module(lamina.parse(text), args)


def nest(types: str, header: str, result: str, body: str) -> str:
    """A function of one nest, over the block arguments that `body` starts with."""
    return f"""func.func @main({types}) -> {result} {{
      %r = loop.generic {header} {{
      {body}
      }}
      func.return %r : {result}
    }}"""


def test_padded_read() -> None:
    text = nest(
        "%x: tensor<4xf32>",
        "(d0) in [7] reads(%x[d0 - 2] pad 9.0 : f32 : tensor<4xf32>)"
        " writes([d0] store : tensor<7xf32>)",
        "tensor<7xf32>",
        "^bb0(%p: f32): loop.yield %p : f32",
    )
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(text, x)[0], [9, 9, 0, 1, 2, 3, 9])


@pytest.mark.parametrize(
    ("combiner", "kind", "values", "expected"),
    [
        ("add", "f32", [[1, 2], [3, 4]], [3, 7]),
        ("mul", "f32", [[1, 2], [3, 4]], [2, 12]),
        ("max", "f32", [[1, np.nan], [3, 4]], [np.nan, 4]),
        ("min", "f32", [[1, -np.inf], [np.nan, 4]], [-np.inf, np.nan]),
        ("max", "i32", [[-5, -2], [3, 4]], [-2, 4]),
        ("min", "i8", [[-5, -2], [3, 4]], [-5, 3]),
        ("and", "i1", [[True, False], [True, True]], [False, True]),
        ("or", "i1", [[True, False], [False, False]], [True, False]),
        ("and", "i32", [[6, 3], [12, 4]], [2, 4]),
    ],
)
def test_combiners(
    combiner: str, kind: str, values: list[list[float]], expected: list[float]
) -> None:
    text = nest(
        f"%x: tensor<2x2x{kind}>",
        f"(d0, d1) in [2, 2] reads(%x[d0, d1] : tensor<2x2x{kind}>)"
        f" writes([d0] {combiner} : tensor<2x{kind}>)",
        f"tensor<2x{kind}>",
        f"^bb0(%p: {kind}): loop.yield %p : {kind}",
    )
    np.testing.assert_array_equal(run(text, np.asarray(values))[0], expected)


def test_an_empty_reduction_gives_the_identity() -> None:
    text = nest(
        "%x: tensor<2x0xf32>",
        "(d0, d1) in [2, 0] reads(%x[d0, d1] : tensor<2x0xf32>) writes([d0] max : tensor<2xf32>)",
        "tensor<2xf32>",
        "^bb0(%p: f32): loop.yield %p : f32",
    )
    assert np.all(run(text, np.zeros((2, 0)))[0] == -np.inf)


def test_large_domains_go_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = nest(
        "%x: tensor<50x3xf32>",
        "(d0, d1) in [50, 3] reads(%x[d0, d1] : tensor<50x3xf32>) writes([d1] max : tensor<3xf32>)",
        "tensor<3xf32>",
        "^bb0(%p: f32): loop.yield %p : f32",
    )
    x = RANDOM.standard_normal((50, 3)).astype(np.float32)
    whole = run(text, x)[0]
    monkeypatch.setattr(loop_interpreter, "CHUNK_POINTS", 7)
    np.testing.assert_array_equal(run(text, x)[0], whole)
    np.testing.assert_array_equal(whole, x.max(0))


@pytest.mark.parametrize("index", [-1, 4])
def test_indirect_reads_are_checked(index: int) -> None:
    text = nest(
        "%i: tensor<1xi64>, %t: tensor<4xf32>",
        "(d0) in [1] reads(%i[d0] : tensor<1xi64>) sources(%t : tensor<4xf32>)"
        " writes([d0] store : tensor<1xf32>)",
        "tensor<1xf32>",
        """^bb0(%p: i64, %s: tensor<4xf32>):
        %a = arith.index_cast %p : i64 to index
        %v = loop.read %s[%a] : tensor<4xf32>
        loop.yield %v : f32""",
    )
    with pytest.raises(ExecutionError, match="below 4"):
        run(text, np.array([index]), np.zeros(4))


KERNELS = """func.func @main(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %y = loop.kernel(%a = %x : tensor<4x4xf32>) -> (tensor<4xf32>) {
    %s = loop.generic (d0, d1) in [4, 4] reads(%a[d1, d0] : tensor<4x4xf32>)
        writes([d0] add : tensor<4xf32>) {
    ^bb0(%p: f32):
      loop.yield %p : f32
    }
    loop.return %s : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}"""


def test_kernels_and_matching_custom_text() -> None:
    x = RANDOM.standard_normal((4, 4)).astype(np.float32)
    np.testing.assert_allclose(run(KERNELS, x)[0], x.sum(0), rtol=1e-6)


BUFFERS = """func.func @main(
    %x: memref<4xf32> {lamina.kind = "input", lamina.name = "x"},
    %out: memref<4xf32> {lamina.kind = "output"}) {
  %t = memref.alloc() : memref<4xf32>
  loop.generic (d0) in [EXTENT] reads(%x[d0] : memref<4xf32>)
      writes([d0] store into %t : memref<4xf32>) {
  ^bb0(%p: f32):
    %v = arith.addf %p, %p : f32
    loop.yield %v : f32
  }
  loop.generic (d0) in [4] reads(%t[-d0 + 3] : memref<4xf32>)
      writes([d0] store into %out : memref<4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}"""


def test_nests_write_into_buffers() -> None:
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run(BUFFERS.replace("EXTENT", "4"), x)[0], [6, 4, 2, 0])


def test_memory_nobody_wrote_is_nan() -> None:
    made = run(BUFFERS.replace("EXTENT", "3"), np.arange(4))[0]
    np.testing.assert_array_equal(made, [np.nan, 4, 2, 0])


SCHEDULED = """func.func @main(
    %x: memref<10xf32> {lamina.kind = "input", lamina.name = "x"},
    %out: memref<10xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %n = arith.constant 10 : index
  %end = arith.constant END : index
  %none = arith.constant dense<0.0> : vector<4xf32>
  "scf.parallel"(%zero, %end, %four) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %left = arith.subi %n, %i : index
    %mask = vector.create_mask %left : vector<4xi1>
    %v = vector.maskedload %x[%i], %mask, %none
        : memref<10xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    %w = vector.fma %v, %v, %v : vector<4xf32>
    STORE
    "scf.reduce"() : () -> ()
  }) : (index, index, index) -> ()
  func.return
}"""
MASKED = "vector.maskedstore %out[%i], %mask, %w : memref<10xf32>, vector<4xi1>, vector<4xf32>"


def test_masked_vectors() -> None:
    x = RANDOM.standard_normal(10).astype(np.float32)
    made = run(SCHEDULED.replace("STORE", MASKED).replace("END", "10"), x)[0]
    np.testing.assert_allclose(made, x * x + x, rtol=1e-6)


def test_lanes_outside_a_buffer_are_errors() -> None:
    plain = "vector.store %w, %out[%i] : memref<10xf32>, vector<4xf32>"
    with pytest.raises(ExecutionError, match="elements 8 to 11 of a buffer of 10"):
        run(SCHEDULED.replace("STORE", plain).replace("END", "10"), np.zeros(10))


def test_writing_an_input_is_refused() -> None:
    into = MASKED.replace("%out", "%x")
    with pytest.raises(InputError, match="writes into an argument that is no result"):
        run(SCHEDULED.replace("STORE", into).replace("END", "10"), np.zeros(10))


def test_arguments_of_lowered_programs_are_checked() -> None:
    text = BUFFERS.replace("EXTENT", "4")
    with pytest.raises(ArgumentError, match="takes 1 arguments, 2 given"):
        run(text, np.zeros(4), np.zeros(4))
    with pytest.raises(ArgumentError, match=r"tensor<4xf32> expected"):
        run(text, np.zeros(5))
    with pytest.raises(ArgumentError, match="no argument 'x'"):
        run_module(lamina.parse(text), {"y": np.zeros(4)})


PROGRAM = """func.func @main(
    %x: tensor<5x8xf32> {lamina.kind = "input", lamina.name = "x"},
    %w: tensor<20x8xf32> {lamina.kind = "parameter", lamina.name = "w"}) -> tensor<5x8xf32> {
  %s = aten.mul.Scalar(%w, 3.0) : (tensor<20x8xf32>) -> tensor<20x8xf32>
  %y = aten.linear.default(%x, %s) : (tensor<5x8xf32>, tensor<20x8xf32>) -> tensor<5x20xf32>
  %p = aten.softmax.int(%y, dim = 0) : (tensor<5x20xf32>) -> tensor<5x20xf32>
  %r = aten.mm.default(%p, %w) : (tensor<5x20xf32>, tensor<20x8xf32>) -> tensor<5x8xf32>
  func.return %r : tensor<5x8xf32>
}"""
LOOP_PASSES = [name for stage in STAGES for name in stage.passes]


def lowered(passes: list[str]) -> ModuleOp:
    module = lamina.parse(PROGRAM)
    run_pipeline(module, passes, Context())
    return module


@pytest.mark.parametrize("stop", [p for p in LOOP_PASSES if not p.startswith("verify")])
def test_a_program_means_the_same_after_every_pass(stop: str) -> None:
    """Constants prepared by @setup, scratch memory between kernels, packed and scheduled loops."""
    arguments = {
        "x": RANDOM.standard_normal((5, 8)).astype(np.float32),
        "w": RANDOM.standard_normal((20, 8)).astype(np.float32),
    }
    scores = arguments["x"] @ (3 * arguments["w"]).T
    expected = np.exp(scores - scores.max(0))
    expected = expected / expected.sum(0) @ arguments["w"]
    module = lowered(LOOP_PASSES[: LOOP_PASSES.index(stop) + 1])
    (made,) = run_module(module, list(arguments.values()))
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)


def test_setup_and_main_have_scratch_memory_of_their_own() -> None:
    text = str(lowered(LOOP_PASSES))
    assert "@setup" in text and "memref.view %arena" in text


def test_products_over_dimensions_that_no_operand_reads() -> None:
    product = "^bb0(%p: f32, %q: f32): %m = arith.mulf %p, %q : f32 loop.yield %m : f32"
    b, w = np.array([1, 2, 3], np.float32), np.arange(10, dtype=np.float32).reshape(5, 2)
    summed = nest(
        "%b: tensor<3xf32>",
        "(i, j, k) in [3, 3, 4] reads(%b[i] : tensor<3xf32>, %b[j] : tensor<3xf32>)"
        " writes([i, j] add : tensor<3x3xf32>)",
        "tensor<3x3xf32>",
        product,
    )
    np.testing.assert_array_equal(run(summed, b)[0], 4 * np.outer(b, b))
    kept = nest(
        "%b: tensor<3xf32>, %w: tensor<5x2xf32>",
        "(i, j, k) in [4, 2, 3] reads(%b[k] : tensor<3xf32>, %w[k, j] : tensor<5x2xf32>)"
        " writes([i, j] add : tensor<4x2xf32>)",
        "tensor<4x2xf32>",
        product,
    )
    np.testing.assert_array_equal(run(kept, b, w)[0], np.tile(b @ w[:3], (4, 1)))


def test_products_with_one_element_multiply_zeros() -> None:
    text = nest(
        "%x: tensor<1x1xf32>, %y: tensor<1x3xf32>",
        "(m, n, k) in [1, 3, 1] reads(%x[m, k] : tensor<1x1xf32>, %y[k, n] : tensor<1x3xf32>)"
        " writes([m, n] add : tensor<1x3xf32>)",
        "tensor<1x3xf32>",
        "^bb0(%p: f32, %q: f32): %v = arith.mulf %p, %q : f32 loop.yield %v : f32",
    )
    y = np.array([[np.nan, np.inf, 1]], np.float32)
    np.testing.assert_array_equal(
        run(text, np.zeros((1, 1), np.float32), y)[0], [[np.nan, np.nan, 0]]
    )


@pytest.mark.parametrize(
    "body", ["loop.yield %p : f32", "%m = arith.mulf %p, %p : f32\n loop.yield %m : f32"]
)
def test_reductions_leave_the_rest_of_their_memory(body: str) -> None:
    """Two nests write a half of a result each; neither is a reason to begin the other half anew."""
    nests = "".join(
        f"""loop.generic (i, j) in [2, 3] reads(%x[i + {row}, j] : memref<4x3xf32>)
            writes([i + {row}] add into %y : memref<4xf32>) {{
            ^bb0(%p: f32):
              {body}
            }}\n"""
        for row in (0, 2)
    )
    text = f"""
    func.func @main(%x: memref<4x3xf32> {{lamina.kind = "input"}},
        %y: memref<4xf32> {{lamina.kind = "output"}}) attributes {{lamina.entry}} {{
      func.call @kernel(%x, %y) : (memref<4x3xf32>, memref<4xf32>) -> ()
      func.return
    }}
    func.func private @kernel(%x: memref<4x3xf32>, %y: memref<4xf32>)
        attributes {{lamina.kernel}} {{
      {nests}
      func.return
    }}"""
    x = RANDOM.standard_normal((4, 3)).astype(np.float32)
    wanted = (x * x if "mulf" in body else x).sum(1)
    np.testing.assert_allclose(run(text, x)[0], wanted, rtol=1e-5)


def test_results_may_have_the_names_of_arguments_and_of_each_other() -> None:
    given = '{lamina.kind = "input", lamina.name = "out0"}'
    made = '{lamina.kind = "output", lamina.name = "out0"}'
    text = f"""
    func.func @main(%x: memref<3xf32> {given}, %y: memref<3xf32> {made}, %z: memref<3xf32> {made})
        attributes {{lamina.entry}} {{
      func.call @kernel(%x, %y, %z) : (memref<3xf32>, memref<3xf32>, memref<3xf32>) -> ()
      func.return
    }}
    func.func private @kernel(%x: memref<3xf32>, %y: memref<3xf32>, %z: memref<3xf32>)
        attributes {{lamina.kernel}} {{
      loop.generic (i) in [3] reads(%x[i] : memref<3xf32>)
          writes([i] store into %y : memref<3xf32>, [i] store into %z : memref<3xf32>) {{
      ^bb0(%p: f32):
        %n = arith.negf %p : f32
        loop.yield %n, %p : f32, f32
      }}
      func.return
    }}"""
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(run(text, x), [-x, x])
    np.testing.assert_array_equal(lamina.compile(text)(x), [-x, x])


ON_INTEGERS = (
    "addi subi muli andi ori xori maxsi minsi maxui minui shli shrsi shrui divsi divui remsi remui"
)


@pytest.mark.parametrize("op", ON_INTEGERS.split())
def test_numbers_of_one_bit_are_those_of_code(op: str) -> None:
    text = nest(
        "%x: tensor<4xi1>, %y: tensor<4xi1>",
        "(d0) in [4] reads(%x[d0] : tensor<4xi1>, %y[d0] : tensor<4xi1>)"
        " writes([d0] store : tensor<4xi1>)",
        "tensor<4xi1>",
        f"^bb0(%p: i1, %q: i1):\n %v = arith.{op} %p, %q : i1\n loop.yield %v : i1",
    )
    x, y = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    np.testing.assert_array_equal(run(text, x, y)[0], lamina.compile(text)(x, y))
