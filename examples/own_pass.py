"""Use Lamina's parts from Python: stop at a layer, rewrite with a pattern of your own, go on.

    python examples/own_pass.py

The pattern replaces x * x * x by pow(x, 3) at the core_aten layer, as a compiler that embeds
Lamina might for a machine of its own.
"""

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

import lamina
from lamina.dialects import core_aten

PROGRAM = """
func.func @main(%x: tensor<8xf32> {lamina.name = "x", lamina.kind = "input"})
    -> (tensor<8xf32> {lamina.kind = "output"}) {
  %square = aten.mul.Tensor(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %cube = aten.mul.Tensor(%square, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %one_more = aten.add.Scalar(%cube, 1.0) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %one_more : tensor<8xf32>
}
"""
MULTIPLY = core_aten.op("mul.Tensor")
POWER = core_aten.op("pow.Tensor_Scalar")


class CubeToPower(RewritePattern):
    """x * x * x -> pow(x, 3)"""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Matches the outer product."""
        if not isinstance(op, MULTIPLY):
            return
        square, x = op.arg("self"), op.arg("other")
        if not isinstance(square, SSAValue) or not isinstance(square.owner, MULTIPLY):
            return
        if square.owner.arg("self") is x and square.owner.arg("other") is x:
            rewriter.replace(op, POWER(x, 3, location=op.location))


def main() -> None:
    """Lower, rewrite, compile, compare."""
    module: ModuleOp = lamina.parse(PROGRAM)
    lamina.Pipeline().run(module, stop="core_aten")
    PatternRewriteWalker(CubeToPower()).rewrite_module(module)
    print(module)
    compiled = lamina.compile(module)
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(compiled(x), x**3 + 1, rtol=1e-6)
    print(compiled.kernels)
    print("equal to NumPy")


if __name__ == "__main__":
    main()
