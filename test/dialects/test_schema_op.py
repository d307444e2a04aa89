"""Building and reading table ops from Python."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IntAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Block
from xdsl.printer import Printer

from lamina.dialects import aten, prims
from lamina.dialects.context import Context, load_dialect
from lamina.dialects.errors import InputError
from lamina.dialects.schema.names import BindError, NoResultRuleError, ResultTypeError
from lamina.dialects.source import parse_module

MATRIX = TensorType(f32, [2, 3])
X, Y = xdsl_test.TestOp(result_types=[MATRIX, MATRIX]).results
(N,) = xdsl_test.TestOp(result_types=[i64]).results


def text_of(op: Any) -> str:
    stream = StringIO()
    Printer(stream).print_op(op)
    return stream.getvalue()


def test_positions_and_names_mean_the_same() -> None:
    op_class = aten.op("sum.dim_IntList")
    one = op_class(X, [1], True, dtype=f64)
    other = op_class(dtype=f64, keepdim=True, self=X, dim=[1])
    assert one.properties == other.properties
    assert one.result_types == other.result_types == (TensorType(f64, [2, 1]),)


def test_defaults_are_filled_in_but_not_stored() -> None:
    op = aten.op("add.Tensor")(X, Y, alpha=1)
    assert not op.properties
    assert op.arg("alpha") == 1
    assert aten.op("add.Tensor")(X, Y, alpha=1.0).arg("alpha") == 1.0
    assert type(aten.op("add.Tensor")(X, Y, alpha=True).arg("alpha")) is bool


def test_a_default_list_is_not_shared() -> None:
    op: Any = aten.op("conv2d.default")(X, X, result_types=[MATRIX])
    op.arg("stride").append(5)
    assert op.arg("stride") == [1, 1]


def test_one_number_stands_for_a_sized_list() -> None:
    op = aten.op("max_pool2d.default")(X, 2, 1, result_types=[MATRIX])
    assert op.arg("kernel_size") == [2, 2]
    assert op.arg("stride") == [1, 1]
    assert "dilation" not in op.properties


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, 5e-324, 0.1, 1e300])
def test_floats_are_kept_to_the_bit(value: float) -> None:
    kept = aten.op("full.default")([2], value).arg("fill_value")
    assert kept == value and math.copysign(1, kept) == math.copysign(1, value)


def test_nan_is_kept() -> None:
    assert math.isnan(aten.op("full.default")([2], math.nan).arg("fill_value"))


def test_numbers_known_at_run_time() -> None:
    view = aten.op("view.default")(X, [N, 3])
    assert view.arg("size") == [N, 3]
    assert view.result_types == (MATRIX,)  # as X has six elements
    empty = aten.op("full.default")([0, 3], 0.0)
    assert str(aten.op("view.default")(empty, [N, 0]).result_types[0]) == "tensor<?x0xf32>"
    full = aten.op("full.default")([N, 3], 0.0)
    assert full.result_types == (TensorType(f32, [DYNAMIC_INDEX, 3]),)
    scaled = aten.op("mul.Scalar")(X, N)
    assert scaled.arg("other") is N
    assert scaled.result_types == (MATRIX,)
    row = aten.op("expand.default")(X, [N, -1, -1])
    assert row.result_types == (TensorType(f32, [DYNAMIC_INDEX, 2, 3]),)  # -1 is what N is not
    one = aten.op("sum.dim_IntList")(X, [0], True)
    assert aten.op("expand.default")(one, [N, 3]).result_types == (
        TensorType(f32, [DYNAMIC_INDEX, 3]),
    )
    rest = aten.op("slice.Tensor")(X, 1, N)
    assert rest.result_types == (TensorType(f32, [2, DYNAMIC_INDEX]),)
    bins = aten.op("fft_rfft.default")(X, N)
    assert str(bins.result_types[0]) == "tensor<2x?xcomplex<f32>>"


def test_gaps_in_a_list_of_tensors() -> None:
    (index,) = xdsl_test.TestOp(result_types=[TensorType(i64, [5])]).results
    op = aten.op("index.Tensor")(X, [None, index])
    assert op.arg("indices") == [None, index]
    assert op.result_types == (TensorType(f32, [2, 5]),)


def test_an_op_stands_for_its_only_result() -> None:
    relu = aten.op("relu.default")(X)
    assert aten.op("add.Tensor")(relu, Y).arg("self") is relu.results[0]
    both = aten.op("max.dim")(X, 1)
    with pytest.raises(BindError, match=r"'self' must be a tensor, not aten\.max\.dim with 2"):
        aten.op("relu.default")(both)


def test_location_is_kept_and_cloned_names_too() -> None:
    place = FileLineColLoc(StringAttr("model.py"), IntAttr(3), IntAttr(7))
    op = aten.op("relu.default")(X, location=place)
    assert op.location == place
    assert text_of(op.clone()) == text_of(op)


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "message"),
    [
        ("add.Tensor", (X,), {}, "argument 'other' is missing"),
        (
            "add.Tensor",
            (X, Y),
            {"alfa": 2},
            "no argument 'alfa'; its arguments: self, other, alpha",
        ),
        ("add.Tensor", (X, Y), {"self": X}, "argument 'self' is given twice"),
        ("relu.default", (X, Y), {}, "takes 1 arguments, not 2"),
        ("relu.default", (3,), {}, "argument 'self' must be a tensor, not 3"),
        ("relu.default", (None,), {}, "argument 'self' must be a tensor, not None"),
        ("cat.default", (X,), {}, "argument 'tensors' must be a list of tensors"),
        ("cat.default", ([X, None],), {}, "argument 'tensors' has None in its list"),
        ("softmax.int", (X, 1.0), {}, "argument 'dim' must be an integer, not 1.0"),
        ("softmax.int", (X, True), {}, "argument 'dim' must be an integer, not True"),
        ("softmax.int", (X, 2**63), {}, "argument 'dim' must be an integer"),
        ("softmax.int", (X, 0, "f32"), {}, "argument 'dtype' must be an element type or none"),
        ("sum.dim_IntList", (X, [0], 1), {}, "argument 'keepdim' must be a boolean, not 1"),
        ("view.default", (X, 6), {}, "argument 'size' must be a list of integers, not 6"),
        ("view.default", (X, [2, "3"]), {}, "argument 'size' must be a list of integers"),
        ("conv2d.default", (X, X, None, [1, 1, 1]), {}, "must be a list of 2 integers"),
        ("gelu.default", (X,), {"approximate": 1}, "argument 'approximate' must be a string"),
    ],
)
def test_arguments_that_do_not_fit(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(BindError) as caught:
        aten.op(name)(*args, result_types=[MATRIX], **kwargs)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"aten.{name}")
    assert isinstance(caught.value, InputError | TypeError)


def test_a_rule_may_refuse() -> None:
    with pytest.raises(ResultTypeError, match=r"^aten.mm.default: .*inner sizes differ") as caught:
        aten.op("mm.default")(X, Y)
    assert isinstance(caught.value, InputError | ValueError)


@pytest.mark.parametrize("nested", [False, True])
def test_implicit_builders_get_what_is_made(nested: bool) -> None:
    outer, inner = Block(), Block()
    with ImplicitBuilder(outer):
        if nested:
            with ImplicitBuilder(inner):
                aten.op("relu_.default")(X)
        made = aten.op("relu.default")(X)
        made.clone()
        type(made).create(operands=[X], result_types=[X.type])
        with pytest.raises(ResultTypeError):
            aten.op("mm.default")(X, Y)
    aten.op("relu.default")(X)
    assert [op.name for op in outer.ops] == ["aten.relu.default"] * 3
    assert [op.name for op in inner.ops] == ["aten.relu_.default"] * nested


def test_without_a_rule_types_must_be_given() -> None:
    with pytest.raises(NoResultRuleError, match="give result_types"):
        aten.op("to_sparse.default")(X)


def test_unknown_argument_of_a_made_op() -> None:
    with pytest.raises(KeyError, match="its arguments: self"):
        prims.op("neg")(X).arg("other")


@pytest.mark.parametrize("layer", ["aten", "core_aten", "prims"])
def test_every_class_is_found_by_pickle(layer: str) -> None:
    dialect: Any = load_dialect(layer)
    module = import_module(f"lamina.dialects.{layer}")
    for name in dialect.names:
        kind = dialect.op(name)
        assert getattr(module, kind.__qualname__) is kind
        assert kind.__module__ == module.__name__


@pytest.mark.parametrize("copied", [deepcopy, lambda op: pickle.loads(pickle.dumps(op))])
def test_ops_and_modules_are_pickled_and_copied(copied: Callable[[Any], Any]) -> None:
    op = aten.op("add.Tensor")(X, Y, alpha=2)
    again = copied(op)
    assert type(again) is type(op) and again is not op
    assert again.arg("alpha") == 2
    module = parse_module(
        Context(),
        """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = prims.exp(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core_aten.relu.default(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
""",
    )
    other = copied(module)
    other.verify()
    assert str(other) == str(module) and other is not module


def test_modules_of_dialects_have_no_other_names() -> None:
    for name in ("__nothing__", "nothing", "relu__nothing"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(aten, name)


def test_an_op_is_made_again_on_other_operands() -> None:
    wide, long = TensorType(f64, [4, 5]), TensorType(f64, [5])
    (w, v) = xdsl_test.TestOp(result_types=[wide, long]).results
    made = aten.op("sum.dim_IntList")(X, [1], True).on([w])
    assert made.properties == aten.op("sum.dim_IntList")(w, [1], True).properties
    assert list(made.operands) == [w]
    assert made.result_types == (TensorType(f64, [4, 1]),)
    with pytest.raises(ResultTypeError):
        aten.op("add.Tensor")(X, Y).on([X, v])


def test_whether_operands_are_tensors_each_an_argument() -> None:
    assert aten.op("add.Tensor")(X, Y).takes_single_tensors
    assert aten.op("mul.Scalar")(X, 2).takes_single_tensors
    assert not aten.op("mul.Scalar")(X, N).takes_single_tensors
    assert not aten.op("cat.default")([X, Y]).takes_single_tensors
