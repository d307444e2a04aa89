"""Transforms, what is read between elements, and blocks of images, at ordinary and odd sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.dialects.errors import ExecutionError, UnsupportedError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402
from onnx_models import check, floats, model_of  # noqa: E402


def indices(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize("length", [None, 7, 97, 1024])
@pytest.mark.parametrize("attributes", [{}, {"inverse": 1}, {"onesided": 1}])
def test_transforms(attributes: dict[str, Any], length: int | None) -> None:
    for parts in (1, 2):
        if attributes.get("onesided") and parts == 2:
            continue
        inputs = {"x": floats(2, 100, 3, parts)}
        known: dict[str, Any] = {"axis": np.array(1)}
        if length is not None:
            known["n"] = np.array(length)
        names = ["x", "" if length is None else "n", "axis"]
        node = helper.make_node("DFT", names, ["y"], **attributes)
        check(model_of([node], inputs, **known), inputs)


@pytest.mark.parametrize("length", [12, 13])
def test_transforms_back_to_real_numbers(length: int) -> None:
    """The inverse of a half: numbers of an odd length, too."""
    x = np.fft.rfft(floats(3, length))
    inputs = {"x": np.stack([x.real, x.imag], -1).astype(np.float32)}
    node = helper.make_node("DFT", ["x", "n", "axis"], ["y"], inverse=1, onesided=1)
    check(model_of([node], inputs, n=np.array(length), axis=np.array(-2)), inputs)


def test_short_time_transform() -> None:
    inputs = {"x": floats(2, 700, 1)}
    window = np.hanning(64).astype(np.float32)
    node = helper.make_node("STFT", ["x", "step", "w"], ["y"])
    known: dict[str, Any] = {"step": np.array(16, np.int64), "w": window}
    check(model_of([node], inputs, **known), inputs)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transform", ["half_pixel", "output_half_pixel"])
def test_regions_of_images(transform: str, mode: str) -> None:
    """Inside, over the edges, empty, and reversed."""
    regions = [[0, 0, 20, 30], [-5, 3.3, 8, 60], [4, 4, 4, 4], [9, 9, 2, 3], [90, 90, 99, 99]]
    inputs = {
        "x": floats(2, 5, 17, 23),
        "r": np.array(regions, np.float32),
        "b": indices(0, 1, 1, 0, 0),
    }
    node = helper.make_node(
        "RoiAlign", ["x", "r", "b"], ["y"], mode=mode, sampling_ratio=2, spatial_scale=0.5,
        output_height=3, output_width=4, coordinate_transformation_mode=transform,
    )  # fmt: skip
    check(model_of([node], inputs), inputs)


@pytest.mark.parametrize("groups, moved", [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_deformable_convolutions(groups: int, moved: int) -> None:
    out = (5, 4)
    inputs = {"x": floats(2, 4, 9, 8), "o": 3 * floats(2, moved * 18, *out)}
    inputs["m"] = floats(2, moved * 9, *out)
    node = helper.make_node(
        "DeformConv", ["x", "w", "o", "b", "m"], ["y"], group=groups, offset_group=moved,
        strides=[2, 2], pads=[1, 1, 1, 1],
    )  # fmt: skip
    known: dict[str, Any] = {"w": floats(6, 4 // groups, 3, 3), "b": floats(6)}
    check(model_of([node], inputs, **known), inputs, rtol=1e-4)


def test_blocks_that_lie_over_one_another() -> None:
    inputs = {"x": floats(2, 3 * 6, 4 * 9)}
    node = helper.make_node(
        "Col2Im", ["x", "size", "block"], ["y"], strides=[3, 1], dilations=[2, 1], pads=[1, 0, 1, 1]
    )
    known: dict[str, Any] = {"size": indices(11, 10), "block": indices(2, 3)}
    check(model_of([node], inputs, **known), inputs)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_slices_where_a_condition_holds(axis: int | None) -> None:
    inputs = {"x": floats(5, 7), "c": np.array([True, False, True, True, False])}
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node("Compress", ["x", "c"], ["y"], **attributes)
    check(model_of([node], inputs), inputs)


@pytest.mark.parametrize("shape", [(7, 5, 3), (97,), (0, 4), ()])
def test_indices_of_elements_other_than_zero(shape: tuple[int, ...]) -> None:
    x = np.asarray(floats(*shape), np.float32)
    inputs = {"x": np.where(x > 0, x, -0.0).astype(np.float32)}
    check(model_of([helper.make_node("NonZero", ["x"], ["y"])], inputs), inputs)


def test_elements_at_the_indices_that_are_found() -> None:
    inputs = {"x": np.array([[0, np.nan, 2], [np.inf, 0, -1]], np.float32)}
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Transpose", ["i"], ["t"]),
        helper.make_node("GatherND", ["x", "t"], ["y"]),
    ]
    check(model_of(nodes, inputs), inputs)


@pytest.mark.parametrize("reader", ["Shape", "Size", "EyeLike", "Flatten"])
def test_sizes_that_depend_on_data_are_no_numbers(reader: str) -> None:
    inputs = {"x": floats(2, 3)}
    nodes = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node(reader, ["i"], ["y"])]
    message = rf"onnx.{reader} .*needs size 1 of input 0, which depends on data"
    with pytest.raises(UnsupportedError, match=message):
        lamina.compile(model_of(nodes, inputs), cache=False)


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_caches(mode: str) -> None:
    inputs = {"past": floats(2, 3, 8, 4), "new": floats(2, 3, 2, 4), "at": indices(5, 0)}
    if mode == "circular":
        inputs["at"] = indices(7, 12)
    node = helper.make_node("TensorScatter", ["past", "new", "at"], ["y"], mode=mode)
    model = model_of([node], inputs, opset=24)
    check(model, inputs)
    if mode == "linear":
        inputs["at"] = indices(7, 0)
        with pytest.raises(ExecutionError, match="out of range"):
            lamina.compile(model, cache=False)(*inputs.values())


def test_what_a_region_decides_is_refused() -> None:
    inputs = {"x": floats(1, 1, 4, 4), "r": floats(1, 4), "b": indices(0)}
    model = model_of([helper.make_node("RoiAlign", ["x", "r", "b"], ["y"])], inputs)
    with pytest.raises(UnsupportedError, match="as many samples as a region is large"):
        lamina.compile(model)
