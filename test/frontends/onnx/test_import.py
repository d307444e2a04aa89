"""ONNX models: ops against ONNX's reference, whole models against ONNX Runtime, bad input."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import InputError, UnsupportedError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402
from onnx_models import check, floats, model_of  # noqa: E402

F = TensorProto.FLOAT
I64 = TensorProto.INT64


@pytest.mark.parametrize("shape", [(3,), (2, 1, 5), (0, 4), ()])
@pytest.mark.parametrize("op", ["Exp", "Tanh", "Softplus", "Elu", "HardSigmoid", "Gelu", "Mish"])
def test_elementwise(op: str, shape: tuple[int, ...]) -> None:
    inputs = {"x": floats(*shape)}
    check(model_of([helper.make_node(op, ["x"], ["y"])], inputs), inputs)


@pytest.mark.parametrize("axes", [[0], [-1], [0, 2], []])
@pytest.mark.parametrize(
    "op", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"]
)
def test_reductions(op: str, axes: list[int]) -> None:
    inputs = {"x": floats(3, 1, 5)}
    known: dict[str, Any] = {"axes": np.array(axes, np.int64)} if axes else {}
    node = helper.make_node(op, ["x", *known], ["y"], keepdims=0)
    check(model_of([node], inputs, **known), inputs)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 2, 0, 1]},
        {"strides": [2, 1], "auto_pad": "SAME_UPPER"},
        {"dilations": [2, 2], "pads": [2, 2, 2, 2]},
    ],
)
def test_convolutions(attributes: dict[str, Any]) -> None:
    inputs = {"x": floats(2, 3, 7, 9)}
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    check(model_of([node], inputs, w=floats(4, 3, 3, 3), b=floats(4)), inputs, rtol=1e-4)


@pytest.mark.parametrize(
    "starts, ends, steps", [([1], [3], [1]), ([-1], [-9], [-2]), ([5], [2], [1])]
)
def test_slices(starts: list[int], ends: list[int], steps: list[int]) -> None:
    inputs = {"x": floats(4, 6)}
    known: dict[str, Any] = {
        name: np.array(value, np.int64)
        for name, value in {"s": starts, "e": ends, "a": [1], "t": steps}.items()
    }
    check(model_of([helper.make_node("Slice", ["x", *known], ["y"])], inputs, **known), inputs)


def test_sizes_are_computed_at_import() -> None:
    inputs = {"x": floats(2, 3, 4)}
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["first"]),
        helper.make_node("Unsqueeze", ["first", "zeros"], ["row"]),
        helper.make_node("Concat", ["row", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    known: dict[str, Any] = {
        "zero": np.array(0, np.int64),
        "zeros": np.array([0], np.int64),
        "rest": np.array([-1], np.int64),
    }
    model = model_of(nodes, inputs, **known)
    check(model, inputs)
    assert len(lamina.compile(model).inputs) == 1


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scale", [0.6, 1.0, 2.5])
def test_resizing(mode: str, scale: float) -> None:
    inputs = {"x": floats(1, 2, 5, 7)}
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode)
    known: dict[str, Any] = {"s": np.array([1, 1, scale, 1.5], np.float32)}
    check(model_of([node], inputs, **known), inputs, rtol=1e-4)


def test_quantized_product() -> None:
    inputs = {"x": floats(4, 8)}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["y"]),
    ]
    weight = np.random.default_rng(0).integers(-128, 127, (8, 5)).astype(np.int8)
    check(model_of(nodes, inputs, w=weight), inputs)


def test_weights_are_parameters_that_can_be_bound() -> None:
    model = model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": floats(2, 3)}, w=floats(3, 4)
    )
    x, w = floats(2, 3), floats(3, 4)
    np.testing.assert_allclose(lamina.compile(model, constants={"w": w})(x), x @ w, rtol=1e-5)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    inputs = {"x": floats(3)}
    onnx.save(model_of([helper.make_node("Relu", ["x"], ["y"])], inputs), path)
    np.testing.assert_array_equal(lamina.compile(path)(inputs["x"]), np.maximum(inputs["x"], 0))
    path.write_bytes(b"\xff" + path.read_bytes()[:20])
    with pytest.raises(InputError, match=r"m\.onnx"):
        lamina.compile(path)


def refusal(model: Any) -> str:
    with pytest.raises(UnsupportedError) as caught:
        lamina.compile(model)
    return str(caught.value)


def test_refusals_name_op_node_and_file() -> None:
    x = {"x": floats(3)}
    unknown = model_of([helper.make_node("Nothing", ["x"], ["y"], name="n1")], x)
    text = refusal(unknown)
    assert "onnx.Nothing" in text and "opset 21" in text and "node n1" in text
    foreign = model_of([helper.make_node("Gelu", ["x"], ["y"], domain="com.example")], x)
    assert "com.example" in refusal(foreign)
    assert "opset 5" in refusal(model_of([helper.make_node("Relu", ["x"], ["y"])], x, opset=5))
    assert "opset 99" in refusal(model_of([helper.make_node("Relu", ["x"], ["y"])], x, opset=99))
    text = refusal(model_of([helper.make_node("Unique", ["x"], ["y"])], x))
    assert "onnx.Unique" in text and "this op is not imported" in text


def test_symbolic_sizes_are_named() -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": floats(3)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    text = refusal(model)
    assert "input x: size 0 is 'batch'" in text and "sizes={'batch': 1}" in text
    for size in (0, 1, 5):
        x = floats(size)
        np.testing.assert_array_equal(
            lamina.compile(model, sizes={"batch": size})(x), np.maximum(x, 0)
        )
    with pytest.raises(InputError, match="no input has a size 'seq'; there are: batch"):
        lamina.compile(model, sizes={"batch": 2, "seq": 3})
    wrong: Any = {"batch": 2.0}
    with pytest.raises(InputError, match="a size is an integer"):
        lamina.compile(model, sizes=wrong)
    with pytest.raises(InputError, match="sizes are for ONNX models and textual IR"):
        lamina.compile(3, sizes={"batch": 2})


def test_tools_bind_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lamina.tools.lamina_run import main

    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": floats(3)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, tmp_path / "m.onnx")
    saved = tmp_path / "out.npz"
    assert main([str(tmp_path / "m.onnx"), "--sizes", "batch=7", "--save", str(saved)]) == 0
    assert np.load(saved)["out0"].shape == (7,)
    assert main([str(tmp_path / "m.onnx"), "--sizes", "batch"]) == 1
    assert "NAME=NUMBER" in capsys.readouterr().err


def test_inputs_that_sizes_depend_on_are_named() -> None:
    inputs = {"x": floats(4), "s": np.array([2, 2])}
    model = model_of([helper.make_node("Reshape", ["x", "s"], ["y"])], inputs)
    assert "constants={'s': array}" in refusal(model)


def test_the_work_of_an_import_grows_with_its_nodes() -> None:
    """Python functions that are called: of each further op about as many, and a bounded number."""
    from lamina.frontends.onnx.read import import_model

    def calls(count: int) -> int:
        nodes = [helper.make_node("Add", ["x", "x"], ["a0"])]
        nodes += [helper.make_node("Mul", [f"a{i}", "x"], [f"a{i + 1}"]) for i in range(count)]
        nodes.append(helper.make_node("Relu", [f"a{count}"], ["y"]))
        model = model_of(nodes, {"x": floats(4)})
        events: Counter[str] = Counter()
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, argument: events.update([event]))
        try:
            import_model(model)
        finally:
            sys.setprofile(before)
        return events["call"]

    calls(2)
    few, some, many = calls(10), calls(110), calls(1010)
    assert (many - some) / 900 < 1.1 * (some - few) / 100
    assert (many - some) / 900 < 150, "with this, 0.1 ms an op on a Zen 4"


def exported(module: Any, *inputs: Any) -> Any:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    return torch.onnx.export(module.eval(), inputs, dynamo=True, opset_version=18).model_proto


def compare_with_runtime(model: Any, *inputs: Any) -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    arrays = [value.numpy() for value in inputs]
    names = [entry.name for entry in session.get_inputs()]
    expected = session.run(None, dict(zip(names, arrays, strict=True)))
    np.testing.assert_allclose(lamina.compile(model)(*arrays), expected[0], rtol=1e-4, atol=1e-5)


def test_an_exported_transformer_block() -> None:
    torch = pytest.importorskip("torch")
    block = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    x = torch.randn(2, 7, 32)
    compare_with_runtime(exported(block, x), x)


def test_an_exported_convolutional_network() -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 5),
    )
    x = torch.randn(2, 3, 16, 16)
    compare_with_runtime(exported(network, x), x)
