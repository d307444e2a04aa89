"""Stores under masks, as LLVM makes them: each kind of value, width, mask.

LLVM 22.1 for AVX-512 stores `trunc` under a constant mask of one lane as one wide element. Each
mask comes as a constant, as arithmetic that LLVM can fold, and as an argument.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from lamina.codegen.llvm_emitter import EmitOptions
from lamina.codegen.target import Target

pytestmark = pytest.mark.one_in(3)

Compile = Callable[[str, Target, EmitOptions], Callable[..., None]]

#: What is stored: type loaded, op (none: as it was loaded), type stored.
VALUES = [
    ("i64", "loop.trunci", "i32"),
    ("i64", "loop.trunci", "i16"),
    ("i64", "loop.trunci", "i8"),
    ("i32", "loop.trunci", "i16"),
    ("i32", "loop.trunci", "i8"),
    ("i16", "loop.trunci", "i8"),
    ("f32", "arith.truncf", "bf16"),
    ("f32", "arith.truncf", "f16"),
    ("f64", "arith.truncf", "f32"),
    ("f32", "loop.fptosi", "i16"),
    ("f64", "loop.fptosi", "i32"),
    *((kind, "", kind) for kind in ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")),
]
#: bfloat16 is compared as its bits, of numbers that it holds.
NUMPY = {"i1": "u1", "bf16": "u2"} | {
    kind: kind.replace("i", "int").replace("f", "float")
    for kind in ("i8", "i16", "i32", "i64", "f16", "f32", "f64")
}
EDGE = 8


def masks(lanes: int, every: bool) -> list[int]:
    """The masks of the first n lanes, of one, of all but one; or every mask."""
    whole = (1 << lanes) - 1
    if every:
        return list(range(whole + 1))
    ones = [1 << lane for lane in range(lanes)]
    return sorted(
        {(1 << n) - 1 for n in range(lanes + 1)} | {*ones, *(whole ^ one for one in ones)}
    )


def program(source: str, cast: str, kind: str, lanes: int, bits: np.ndarray) -> str:
    """Each mask three times: row r of %out gets the lanes that are on in row r % len(bits).

    Each store has its own cast, since LLVM joins only a cast of one use with its store.
    """
    count, width = len(bits), lanes + 2 * EDGE
    on, x, y = (f"vector<{lanes}x{element}>" for element in ("i1", source, kind))
    m, out = f"memref<{count}x{lanes}xi1>", f"memref<{3 * count}x{width}x{kind}>"

    def lines() -> Iterator[str]:
        yield f"func.func @main(%x: memref<{lanes}x{source}>, %m: {m}, %out: {out})"
        yield "attributes {lamina.entry} {\n  %c0 = arith.constant 0 : index"
        yield f"  %edge = arith.constant {EDGE} : index\n  %all = arith.constant {lanes} : index"
        yield f"  %none = arith.constant dense<false> : {on}"
        for i, mask in enumerate(bits):
            text = ", ".join("true" if bit else "false" for bit in mask)
            yield f"  %k{i} = arith.constant dense<[{text}]> : {on}"
            yield f"  %n{i} = arith.constant {mask.sum()} : index"
            yield f"  %s{i} = arith.minsi %n{i}, %all : index"
            if (mask[1:] & ~mask[:-1]).any():
                yield f"  %f{i} = arith.ori %k{i}, %none : {on}"
            else:
                yield f"  %f{i} = vector.create_mask %s{i} : {on}"
            yield f"  %i{i} = arith.constant {i} : index"
            yield f"  %a{i} = vector.load %m[%i{i}, %c0] : {m}, {on}"
            for part, name in enumerate("kfa"):
                at, v = f"%r{name}{i}", f"%v{name}{i}"
                yield f"  {at} = arith.constant {part * count + i} : index"
                yield f"  {v} = vector.load %x[%c0] : memref<{lanes}x{source}>, {x}"
                if cast:
                    yield f'  {v}c = "{cast}"({v}) : ({x}) -> {y}'
                    v += "c"
                yield f"  vector.maskedstore %out[{at}, %edge], %{name}{i}, {v} : {out}, {on}, {y}"
        yield "  func.return\n}"

    return "\n".join(lines())


#: Lanes that fill registers of 16 to 64 bytes before the cast.
LANES = {"i1": (16, 64), "i8": (16, 64), "i16": (8, 32), "i32": (4, 8, 16), "i64": (2, 4, 8)}


@pytest.mark.parametrize(
    ("source", "cast", "kind", "lanes"),
    [(*v, n) for v in VALUES for n in LANES["i" + v[0].strip("bfi")]],
)
def test_stores_what_the_mask_says(
    compile_scheduled: Compile, source: str, cast: str, kind: str, lanes: int
) -> None:
    target = Target.host()
    every = cast == "loop.trunci" and lanes <= 8
    bits = [[mask >> lane & 1 for lane in range(lanes)] for mask in masks(lanes, every)]
    on = np.array(bits, bool)
    numbers = np.arange(lanes) % 50 + 3
    x = (numbers % 2 if source == "i1" else numbers).astype(NUMPY[source])
    y = (
        (x.view("u4") >> 16).astype("u2")
        if (cast, kind) == ("arith.truncf", "bf16")
        else x.astype(NUMPY[kind])
    )
    out = np.frombuffer(b"\x5a" * 3 * len(on) * (lanes + 2 * EDGE) * y.itemsize, y.dtype).copy()
    out = out.reshape(3, len(on), -1)
    expected = out.copy()
    expected[:, :, EDGE:-EDGE] = np.where(on, y, expected[:, :, EDGE:-EDGE])
    run = compile_scheduled(
        program(source, cast, kind, lanes, on), target, EmitOptions(openmp=False)
    )
    run("main", x, on, out)
    np.testing.assert_array_equal(out.view("u1"), expected.view("u1"))


#: Places of a shuffle of two vectors of eight lanes, as in the steps of a transpose.
STEPS = [
    [1, 9, 3, 11, 5, 13, 7, 15],
    [0, 8, 2, 10, 4, 12, 6, 14],
    [0, 1, 8, 9, 4, 5, 12, 13],
    [0, 1, 2, 3, 8, 9, 10, 11],
    [4, 5, 6, 7, 12, 13, 14, 15],
]


@pytest.mark.parametrize("kind", ["f64", "f32"])
def test_one_lane_of_a_comparison_of_shuffled_numbers(
    compile_scheduled: Compile, kind: str
) -> None:
    """LLVM 22.1 takes lane 0 of what was shuffled where it is asked for one lane of `zext`."""
    chains = [[a, b, c] for a in STEPS for b in STEPS for c in STEPS]
    given, out = f"memref<{len(chains)}x8x{kind}>", f"memref<{len(chains)}x10xi1>"
    on, numbers = "vector<8xi1>", f"vector<8x{kind}>"
    lines = [
        f"func.func @main(%x: {given}, %out: {out}) attributes {{lamina.entry}} {{",
        "  %c0 = arith.constant 0 : index\n  %one = arith.constant 1 : index",
        f"  %m = vector.create_mask %one : {on}",
    ]
    lanes = []
    for i, chain in enumerate(chains):
        lines.append(f"  %r{i} = arith.constant {i} : index")
        name, order = f"%x{i}", np.arange(8)
        lines.append(f"  {name} = vector.load %x[%r{i}, %c0] : {given}, {numbers}")
        for j, step in enumerate(chain):
            shuffled = f"%s{i}_{j}"
            lines.append(
                f"  {shuffled} = vector.shuffle {name}, {name} {step} : {numbers}, {numbers}"
            )
            name, order = shuffled, np.concatenate([order, order])[step]
        lines += [
            f"  %f{i} = loop.cmpf {name}, {name} {{predicate = 13 : i64}} : "
            f"{numbers}, {numbers} -> {on}",
            f"  vector.maskedstore %out[%r{i}, %one], %m, %f{i} : {out}, {on}, {on}",
        ]
        lanes.append(order[0])
    text = "\n".join([*lines, "  func.return", "}"])
    run = compile_scheduled(text, Target.host(), EmitOptions(openmp=False))
    for lane in range(8):
        x = np.zeros((len(chains), 8), NUMPY[kind])
        x[:, lane] = np.nan
        made = np.full((len(chains), 10), 2, np.uint8)
        wanted = made.copy()
        wanted[:, 1] = np.array(lanes) == lane
        run("main", x, made)
        np.testing.assert_array_equal(made, wanted)
