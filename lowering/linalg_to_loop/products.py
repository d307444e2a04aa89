"""Named ops whose maps are known: contractions, convolutions, poolings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from lamina.dialects.linalg import StructuredOp, YieldOp
from lamina.dialects.linalg.named_ops_table import CONTRACTIONS, CONVOLUTIONS, POOLINGS
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.structured import Structured
from lamina.lowering.linalg_to_loop.table import LinalgBuilder, lowers
from lamina.lowering.prims_to_loop.table import Body
from lamina.lowering.tensor_types import element_of, is_float, shape_of

CONTRACTED: dict[str, str] = {
    "batch_matmul": "bmk bkn bmn",
    "batch_matmul_transpose_a": "bkm bkn bmn",
    "batch_matmul_transpose_b": "bmk bnk bmn",
    "batch_matvec": "bmk bk bm",
    "batch_mmt4d": "bmkxz bnkyz bmnxy",
    "batch_reduce_matmul": "bmk bkn mn",
    "batch_vecmat": "bk bkn bn",
    "dot": "k k -",
    "matmul": "mk kn mn",
    "matmul_transpose_a": "km kn mn",
    "matmul_transpose_b": "mk nk mn",
    "matvec": "mk k m",
    "mmt4d": "mkxz nkyz mnxy",
    "quantized_batch_matmul": "bmk bkn bmn",
    "quantized_matmul": "mk kn mn",
    "vecmat": "k kn n",
}
"""The indices of the two operands and of the result; `-` for none."""

_SPATIAL = {"w": "p", "h": "q", "d": "r"}
"""Dimensions of an image, and those of the window along them."""


@lowers(*(f"linalg.{name}" for name in CONTRACTIONS))
def _contraction(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    name = op.name.partition(".")[2]
    if op.maps is not None:
        maps = op.maps
    elif name in CONTRACTED:
        maps = _maps([list(part.strip("-")) for part in CONTRACTED[name].split()], [], [])
    else:
        raise b.refuse("needs indexing_maps")
    return _sum_of_products(op, b, maps)


def _sum_of_products(
    op: StructuredOp, b: LinalgBuilder, maps: Sequence[AffineMap]
) -> list[SSAValue]:
    """The first two operands multiplied; two more are their zero points."""
    count = len(op.inputs)
    if count not in (2, 4) or len(op.outputs) != 1:
        raise b.refuse(f"{count} ins and {len(op.outputs)} outs")
    nothing = AffineMap(maps[-1].num_dims, 0, ())
    every = [*maps[:2], *([nothing] * (count - 2)), maps[-1]]
    unsigned = op.cast is not None and op.cast.word.data == "cast_unsigned"
    block = _block(op)
    inner = Body(block)
    kind = block.args[-1].type
    operands = [cast(inner, value, kind, unsigned) for value in block.args[:-1]]
    for side in range(2) if count == 4 else ():
        operands[side] = scalar.sub(inner, operands[side], operands[2 + side])
    term = scalar.mul(inner, operands[0], operands[1])
    total = scalar.add(inner, block.args[-1], term)
    block.add_op(YieldOp(total))
    return _lowered(op, b, every, block)


def _lowered(
    op: StructuredOp, b: LinalgBuilder, maps: Sequence[AffineMap], block: Block
) -> list[SSAValue]:
    kept = maps[-1].used_dims()
    kinds = ["parallel" if n in kept else "reduction" for n in range(maps[-1].num_dims)]
    return Structured(b, list(op.inputs), list(op.outputs), maps, kinds, block).lowered()


def _block(op: StructuredOp) -> Block:
    return Block(
        arg_types=[element_of(v) if isinstance(v.type, TensorType) else v.type for v in op.operands]
    )


def cast(b: Body, value: SSAValue, kind: Attribute, unsigned: bool = False) -> SSAValue:
    """An operand as the type of the result: integers are signed unless the op says otherwise."""
    given = value.type
    if given == kind:
        return value
    if isinstance(given, IntegerType):
        if isinstance(kind, IntegerType):
            if kind.width.data < given.width.data:
                return b.add(arith.TruncIOp(value, kind))
            return b.add((arith.ExtUIOp if unsigned else arith.ExtSIOp)(value, kind))
        if is_float(kind):
            return b.add((arith.UIToFPOp if unsigned else arith.SIToFPOp)(value, kind))  # pyright: ignore
    if isinstance(kind, IntegerType) and unsigned:
        return b.add(arith.FPToUIOp(value, kind))  # pyright: ignore
    return scalar.convert(b, value, kind)


@lowers(*(f"linalg.{name}" for name in CONVOLUTIONS))
def _convolution(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    name = op.name.partition(".")[2].removesuffix("_q")
    found = re.fullmatch(r"(depthwise_)?conv_(\d)d(?:_([a-z]+)_([a-z]+))?", name)
    assert found is not None, name
    spatial = "dhw"[3 - int(found[2]) :]
    image, weight = found[3] or spatial, found[4] or spatial
    window = [_SPATIAL[axis] for axis in spatial]
    names = {axis: f"{axis}~{_SPATIAL[axis]}" for axis in spatial}
    read = [names.get(axis, axis) for axis in image]
    taken = [_SPATIAL.get(axis, axis) for axis in weight]
    if found[1]:
        made = [*image] + (["m"] if "m" in weight else [])
        if "m" in weight and image[1] == "c":
            made = [image[0], "c", "m", *image[2:]]
    else:
        made = ["f" if axis == "c" else axis for axis in image]
    maps = _maps([read, taken, made], *_steps(op, b, len(window)), window=window)
    return _sum_of_products(op, b, maps)


def _steps(op: StructuredOp, b: LinalgBuilder, count: int) -> tuple[list[int], list[int]]:
    strides = op.numbers("strides") or [1] * count
    dilations = op.numbers("dilations") or [1] * count
    for given in (strides, dilations):
        if len(given) == 1:
            given *= count
        if len(given) != count or min(given) < 1:
            raise b.refuse(f"strides {strides} and dilations {dilations} for {count} dimensions")
    return strides, dilations


def _maps(
    parts: Sequence[Sequence[str]],
    strides: Sequence[int],
    dilations: Sequence[int],
    window: Sequence[str] = (),
) -> list[AffineMap]:
    """Index maps from names: those of the result come first, then what is summed over.

    `h~q` is `h * stride + q * dilation`.
    """
    order = list(parts[-1])
    for name in (n for part in parts for n in part):
        order += [n for n in name.split("~") if n not in order]
    place = {name: AffineExpr.dimension(n) for n, name in enumerate(order)}

    def expr(name: str) -> AffineExpr:
        if "~" not in name:
            return place[name]
        at, offset = name.split("~")
        axis = list(window).index(offset)
        return place[at] * strides[axis] + place[offset] * dilations[axis]

    return [AffineMap(len(order), 0, tuple(map(expr, part))) for part in parts]


_JOINED: dict[str, Callable[[Body, SSAValue, SSAValue], SSAValue]] = {
    "sum": scalar.add,
    "max": scalar.maximum,
    "min": scalar.minimum,
    "max_unsigned": lambda b, x, y: b.add(arith.MaxUIOp(x, y)),
    "min_unsigned": lambda b, x, y: b.add(arith.MinUIOp(x, y)),
}


@lowers(*(f"linalg.{name}" for name in POOLINGS))
def _pooling(op: StructuredOp, b: LinalgBuilder) -> list[SSAValue]:
    """The second operand says how large the window is, and is not read."""
    _, image, kind = op.name.partition(".")[2].split("_", 2)
    spatial = [axis for axis in image if axis in _SPATIAL]
    window = [_SPATIAL[axis] for axis in spatial]
    read = [f"{axis}~{_SPATIAL[axis]}" if axis in _SPATIAL else axis for axis in image]
    if len(shape_of(op.inputs[1])) != len(window):
        raise b.refuse(f"a window of {op.inputs[1].type} over {len(window)} dimensions")
    maps = _maps([read, window, list(image)], *_steps(op, b, len(window)), window=window)
    block = _block(op)
    inner = Body(block)
    value = cast(inner, block.args[0], block.args[-1].type, kind.endswith("unsigned"))
    if is_float(value.type):
        kind = kind.removesuffix("_unsigned")
    block.add_op(YieldOp(_JOINED[kind](inner, block.args[-1], value)))
    return _lowered(op, b, maps, block)
