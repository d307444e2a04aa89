"""Elements of 8 bits and fewer in ONNX models: every code both ways, as the reference's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ArgumentError, InputError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

pytestmark = pytest.mark.one_in(2)

FLOATS = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1"]
INTEGERS = ["INT4", "UINT4", "INT2", "UINT2"]
POWERS = "FLOAT8E8M0"
BITS = {"FLOAT4E2M1": 4, "INT4": 4, "UINT4": 4, "INT2": 2, "UINT2": 2}


def dtype_of(name: str) -> np.dtype:
    return helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(name))


def codes(name: str) -> np.ndarray:
    return np.arange(2 ** BITS.get(name, 8), dtype=np.uint8).view(dtype_of(name))


def model_of(nodes: list[Any], inputs: dict[str, np.ndarray], **known: np.ndarray) -> Any:
    given = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in inputs.items()
    ]
    result = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    initializers = [numpy_helper.from_array(v, k) for k, v in known.items()]
    graph = helper.make_graph(nodes, "g", given, [result], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def check(nodes: list[Any], inputs: dict[str, np.ndarray], **known: np.ndarray) -> np.ndarray:
    """Runs a model, whose result has to have the reference's bytes, but for the sign of NaN."""
    model = model_of(nodes, inputs, **known)
    with np.errstate(all="ignore"):
        want: Any = ReferenceEvaluator(model).run(None, inputs)
        want = want[0]
    got = lamina.compile(model, cache=False)(*inputs.values())
    assert got.dtype == want.dtype and got.shape == want.shape
    bits = np.dtype(f"u{want.dtype.itemsize}")
    a, b = (v.view(bits) for v in (got, want))
    if bits.itemsize > 1:
        numbers = ~np.isnan(want.astype(np.float64))
        np.testing.assert_array_equal(~np.isnan(got.astype(np.float64)), numbers)
        a, b = a[numbers], b[numbers]
    np.testing.assert_array_equal(a, b)
    return got


def halves(dtype: Any) -> np.ndarray:
    return np.arange(2**16, dtype=np.uint16).view(dtype)


def special_floats() -> np.ndarray:
    """Around each number of each format and half way between two, and around f32's limits."""
    found = [np.array([0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000], np.uint32)]
    for name in (*FLOATS, POWERS):
        numbers = np.abs(codes(name).astype(np.float32))
        numbers = np.unique(numbers[np.isfinite(numbers)])
        middle = (numbers[1:] + numbers[:-1]) / 2
        bits = np.concatenate([numbers, middle]).astype(np.float32).view(np.uint32)
        found += [bits, bits + 1, np.maximum(bits, 1) - 1]
    bits = np.unique(np.concatenate(found))
    return np.concatenate([bits, bits | 2**31]).astype(np.uint32).view(np.float32)


SOURCES = {
    "f16": halves(np.float16),
    "bf16": halves(ml_dtypes.bfloat16),
    "f32": special_floats(),
    "f64": special_floats().astype(np.float64),
}


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", FLOATS)
def test_floats_become_codes(name: str, source: str, saturate: int) -> None:
    to = TensorProto.DataType.Value(name)
    node = helper.make_node("Cast", ["x"], ["y"], to=to, saturate=saturate)
    check([node], {"x": SOURCES[source]})


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32"])
def test_floats_become_powers_of_two(source: str, mode: str, saturate: int) -> None:
    to = TensorProto.FLOAT8E8M0
    node = helper.make_node("Cast", ["x"], ["y"], to=to, saturate=saturate, round_mode=mode)
    check([node], {"x": SOURCES[source]})


@pytest.mark.parametrize("to", ["FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"])
@pytest.mark.parametrize("name", [*FLOATS, POWERS, *INTEGERS])
def test_codes_become_floats(name: str, to: str) -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DataType.Value(to))
    check([node], {"x": codes(name)})


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_wrap(name: str) -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DataType.Value(name))
    for numbers in (np.arange(-128, 128, dtype=np.int8), np.arange(-700, 700, dtype=np.int32)):
        check([node], {"x": numbers})
    check([node], {"x": np.linspace(-40, 40, 333, dtype=np.float32)})


@pytest.mark.parametrize("saturate", [0, 1])
def test_from_one_narrow_type_to_another(saturate: int) -> None:
    for source in FLOATS:
        for name in FLOATS:
            to = TensorProto.DataType.Value(name)
            node = helper.make_node("Cast", ["x"], ["y"], to=to, saturate=saturate)
            given = codes(source)
            wide = given.astype(np.float32)
            if saturate:  # the reference clips codes with the limits of another type: go by f32
                want = numpy_helper.saturate_cast(wide, dtype_of(name))
            else:
                with np.errstate(all="ignore"):
                    want = wide.astype(dtype_of(name))
            got = lamina.compile(model_of([node], {"x": given}), cache=False)(given)
            numbers = ~np.isnan(wide)
            np.testing.assert_array_equal(got.view(np.uint8)[numbers], want.view(np.uint8)[numbers])


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "INT4", "UINT2", "FLOAT4E2M1", POWERS])
def test_what_moves_elements_takes_codes(name: str) -> None:
    x = np.resize(codes(name).view(np.uint8), (3, 4, 5)).view(dtype_of(name))
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 0, 1]),
        helper.make_node("Reshape", ["t", "shape"], ["r"]),
        helper.make_node("Slice", ["r", "one", "nine", "one"], ["s"]),
        helper.make_node("Concat", ["s", "s"], ["c"], axis=0),
        helper.make_node("Gather", ["c", "places"], ["y"], axis=0),
    ]
    known = {
        "shape": np.array([5, 12]),
        "one": np.array([1]),
        "nine": np.array([9]),
        "places": np.array([[3, 0], [9, -1]]),
    }
    check(nodes, {"x": x}, **known)


def test_sizes_and_constants_of_narrow_types() -> None:
    x = codes("INT4").reshape(2, 8)
    assert check([helper.make_node("Shape", ["x"], ["y"])], {"x": x}).tolist() == [2, 8]
    value = numpy_helper.from_array(codes("FLOAT8E5M2"), "v")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=value),
        helper.make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["f", "x"], ["y"]),
    ]
    check(nodes, {"x": np.zeros(256, np.float32)})


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4", "INT2", "UINT2"])
def test_weights_are_narrow(name: str) -> None:
    weight = np.resize(np.arange(2 ** BITS.get(name, 7)), (6, 7)).astype(np.uint8)
    scale = np.linspace(0.5, 2, 7, dtype=np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    known = {"w": weight.view(dtype_of(name))}
    x = np.random.default_rng(0).integers(-3, 4, (5, 6)).astype(np.float32)
    model = model_of(nodes, {"x": x}, **known, s=scale)
    want = x @ (known["w"].astype(np.float32) * scale)
    np.testing.assert_allclose(lamina.compile(model)(x), want, rtol=1e-6, atol=1e-5)
    other = weight[::-1].copy().view(dtype_of(name))
    bound = lamina.compile(model, constants={"w": other})
    np.testing.assert_allclose(
        bound(x), x @ (other.astype(np.float32) * scale), rtol=1e-6, atol=1e-5
    )


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "FLOAT8E5M2FNUZ", "INT4", "UINT2", "FLOAT4E2M1"])
@pytest.mark.parametrize("shape", [(1,), (3, 17), (2, 4, 33)])
def test_quantized(name: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 50
    zero = np.zeros((), dtype_of(name))
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    check([node], {"x": x}, s=np.array(2.5, np.float32), z=zero)


def test_programs_with_codes_are_saved_and_loaded(tmp_path: Path) -> None:
    x = codes("FLOAT8E4M3FN")
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)
    compiled = lamina.compile(model_of([node], {"x": x}))
    assert "f8E4M3FN" in repr(compiled) and "f8E5M2" in repr(compiled)
    compiled.save(tmp_path / "p.lamina")
    again = lamina.load(tmp_path / "p.lamina")(x)
    assert again.dtype == dtype_of("FLOAT8E5M2")
    np.testing.assert_array_equal(again.view(np.uint8), compiled(x).view(np.uint8))
    np.testing.assert_array_equal(compiled(x[::-1]).view(np.uint8), again.view(np.uint8)[::-1])


def test_lamina_run_compares_and_saves_codes(tmp_path: Path) -> None:
    from lamina.tools.lamina_run import main

    x = codes("FLOAT8E4M3FN")
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)
    onnx.save(model_of([node], {"x": x}), tmp_path / "m.onnx")
    saved = tmp_path / "out.npz"
    assert main([str(tmp_path / "m.onnx"), "--check", "--save", str(saved)]) == 0
    found = np.load(saved)["out0"]
    assert found.dtype == np.uint8 and set(found.tolist()) <= {0, 0x3C}, "0 and 1 are drawn"


def test_arrays_of_other_types_are_refused() -> None:
    x = codes("FLOAT8E4M3FN")
    compiled = lamina.compile(model_of([helper.make_node("Identity", ["x"], ["y"])], {"x": x}))
    with pytest.raises(ArgumentError, match="float8_e4m3fn"):
        compiled(x.view(np.uint8))


def test_ops_that_compute_refuse_codes() -> None:
    x = codes("FLOAT8E4M3FN")
    model = model_of([helper.make_node("Neg", ["x"], ["y"], name="n")], {"x": x})
    with pytest.raises(lamina.UnsupportedError, match=r"onnx.Neg.*f8E4M3FN"):
        lamina.compile(model)


@pytest.mark.parametrize(
    "attribute, reason", [('"f7"', "one of the types"), ('"i4"', "is for elements of ui8")]
)
def test_codes_are_verified(attribute: str, reason: str) -> None:
    text = f"""
func.func @main(%a: tensor<4xf32> {{lamina.codes = {attribute}}}) -> tensor<4xf32> {{
  func.return %a : tensor<4xf32>
}}"""
    with pytest.raises(InputError, match=reason):
        lamina.compile(text)
