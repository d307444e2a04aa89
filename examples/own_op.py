"""A dialect with one op, from torch down to machine code; `python examples/own_op.py`.

lamina-run --load examples/own_op.py FILE.mlir --check
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from xdsl.dialects.arith import MulfOp
from xdsl.ir import Attribute, Operation, SSAValue

import lamina

cubes = lamina.extend("cubes", version="1")
cubes.ops("cubes::cube(Tensor x) -> Tensor")  # text, verifier, builder and importer follow


@cubes.result_rule("cubes.cube")
def result_types(args: Mapping[str, Any]) -> list[Attribute]:
    """The type of its operand."""
    return [args["x"]]


@cubes.lowers("cubes.cube", to="loop")
def lower(op: Operation, b: lamina.LoopBuilder) -> SSAValue:
    """One nest, which the compiler fuses with what is around it."""
    (x,) = op.operands

    def body(scalars: lamina.Body, elements: list[SSAValue]) -> SSAValue:
        square = scalars.add(MulfOp(elements[0], elements[0]))
        return scalars.add(MulfOp(square, elements[0]))

    return b.pointwise([x], x.type.element_type, body)


@cubes.interprets("cubes.cube")
def interpret(op: Operation, x: np.ndarray) -> np.ndarray:
    """What it means."""
    return x * x * x


@torch.library.custom_op("cubes::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    """The same for torch's eager mode."""
    return x**3


cube.register_fake(torch.empty_like)

if __name__ == "__main__":
    x = torch.linspace(-1, 1, 8)
    with cubes:
        compiled = torch.compile(lambda x: torch.relu(cube(x)) + 1, backend="lamina")
        torch.testing.assert_close(compiled(x), torch.relu(x**3) + 1)
    print("equal to torch")
