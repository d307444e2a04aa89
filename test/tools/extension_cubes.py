"""An extension for the tests of `--load`: a dialect of one op, and a pass."""

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import lamina


@dataclass(frozen=True)
class CountCubes(ModulePass):
    """Says how many there are."""

    name = "count-cubes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [inner for inner in op.walk() if inner.name == "cubes.cube.default"]
        print(len(found), "cubes", file=sys.stderr)


cubes = lamina.extend("cubes", passes=[CountCubes])
cubes.ops("cubes::cube(Tensor x) -> Tensor")
cubes.result_rule("cubes.cube")(lambda args: [args["x"]])
cubes.interprets("cubes.cube")(lambda op, x: x * x * x)


@cubes.lowers("cubes.cube", to="loop")
def lower(op, b):
    def body(scalars, x):
        return scalars.add(MulfOp(scalars.add(MulfOp(x[0], x[0])), x[0]))

    return b.pointwise(op.operands, op.operands[0].type.element_type, body)
