"""Results of fused entries have memory of their own, and casts and combiners fit their types."""

import pytest

import lamina
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import run_pipeline

FUSED = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0, %1 = func.call @kernel(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = loop.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  %3 = loop.reshape %2 : tensor<2x2xf32> -> tensor<4xf32>
  func.return RESULTS : tensor<4xf32>, tensor<4xf32>
}
func.func private @kernel(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    attributes {lamina.kernel} {
  %0, %1 = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>)
      writes([i] store : tensor<4xf32>, [i] store : tensor<4xf32>) {
  ^bb0(%v: f32):
    loop.yield %v, %v : f32, f32
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ("%0, %0", ":6:3: error: func.return: result 1 of an entry is another result"),
        ("%3, %0", ":6:3: error: func.return: result 1 of an entry is another result"),
        ("%0, %x", ":6:3: error: func.return: result 1 of an entry is an argument"),
    ],
)
@pytest.mark.parametrize("passes", ["verify-fused", "bufferize"])
def test_each_result_has_memory_of_its_own(results: str, said: str, passes: str) -> None:
    """Else nothing would be written to the second one."""
    module = lamina.parse(FUSED.replace("RESULTS", results))
    with pytest.raises(InputError, match=said):
        run_pipeline(module, [passes], Context())


def test_kernels_do_not_reshape() -> None:
    text = FUSED.replace("RESULTS", "%2, %1").replace(
        "  func.return %0, %1",
        "  %2 = loop.reshape %0 : tensor<4xf32> -> tensor<4xf32>\n  func.return %2, %1",
    )
    text = text.replace("  %2 = loop.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>\n", "", 1)
    text = text.replace("  %3 = loop.reshape %2 : tensor<2x2xf32> -> tensor<4xf32>\n", "", 1)
    text = text.replace("func.return %2", "func.return %0", 1)
    with pytest.raises(InputError, match=r"loop\.reshape: stands in a kernel"):
        lamina.compile(text)


NEST = """
func.func @main(%x: tensor<4xGIVEN>) -> tensor<4xMADE> {
  %0 = loop.generic (i) in [4] reads(%x[i] : tensor<4xGIVEN>) writes([i] store : tensor<4xMADE>) {
  ^bb0(%v: GIVEN):
    %r = arith.OP %v : GIVEN to MADE
    loop.yield %r : MADE
  }
  func.return %0 : tensor<4xMADE>
}
"""


@pytest.mark.parametrize(
    ("op", "given", "made"),
    [
        ("extf", "f32", "f32"),
        ("extf", "f64", "f32"),
        ("extf", "f16", "bf16"),
        ("truncf", "f32", "f64"),
        ("truncf", "bf16", "f16"),
        ("sitofp", "i32", "vector<4xf32>"),
    ],
)
def test_casts_go_their_way(op: str, given: str, made: str) -> None:
    text = NEST.replace("GIVEN", given).replace("MADE", made).replace("OP", op)
    with pytest.raises(InputError, match=r"<text>:\d+:\d+: error"):
        lamina.parse(text)


@pytest.mark.parametrize("combiner", ["and", "or"])
def test_bits_of_floats_are_not_joined(combiner: str) -> None:
    with pytest.raises(InputError, match=f"combiner '{combiner}' is for integers, not f32"):
        lamina.parse(f"""
        func.func @main(%x: tensor<4x2xf32>) -> tensor<4xf32> {{
          %0 = loop.generic (i, j) in [4, 2] reads(%x[i, j] : tensor<4x2xf32>)
              writes([i] {combiner} : tensor<4xf32>) {{
          ^bb0(%v: f32):
            loop.yield %v : f32
          }}
          func.return %0 : tensor<4xf32>
        }}""")


def test_groups_of_a_norm_divide_its_channels() -> None:
    with pytest.raises(InputError, match="6 channels do not make 0 groups"):
        lamina.parse("""
        func.func @main(%x: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
          %0, %1, %2 = aten.native_group_norm.default(%x, N = 2, C = 6, HxW = 4, group = 0,
            eps = 1.0) : (tensor<2x6x4xf32>)
            -> (tensor<2x6x4xf32>, tensor<2x0xf32>, tensor<2x0xf32>)
          func.return %0 : tensor<2x6x4xf32>
        }""")
