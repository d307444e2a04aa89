"""Models of a few nodes, compared with ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import lamina


def model_of(nodes: list[Any], inputs: dict[str, Any], count: int = 1, opset: int = 21, **known):
    """A model of nodes that make `y`, `y1` and so on; `known` are initializers."""
    given = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in inputs.items()
    ]
    results = [
        helper.make_tensor_value_info(f"y{i or ''}", TensorProto.UNDEFINED, None)
        for i in range(count)
    ]
    initializers = [numpy_helper.from_array(v, k) for k, v in known.items()]
    graph = helper.make_graph(nodes, "g", given, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(model: Any, inputs: dict[str, np.ndarray], rtol: float = 1e-5) -> None:
    expected: Any = ReferenceEvaluator(model).run(None, inputs)
    found = lamina.compile(model, cache=False)(*inputs.values())
    results = found if isinstance(found, tuple | list) else [found]
    for got, want in zip(results, expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)


RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)
