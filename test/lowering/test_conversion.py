"""The conversion driver: one op at a time, kept ops, locations, refusals."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from lamina.dialects.context import Context
from lamina.dialects.core_aten import CoreAten
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.source import SourceParser
from lamina.lowering.aten_to_core_aten import ConvertAtenToCoreAtenPass
from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
from lamina.lowering.core_aten_to_prims import ConvertCoreAtenToPrimsPass
from lamina.lowering.core_aten_to_prims.table import LOWERINGS, limitations

pytestmark = pytest.mark.one_in(2)


def _module(*lines: str) -> ModuleOp:
    body = "\n".join(lines)
    text = f"func.func @main(%x: tensor<2x4xf32>) {{\n{body}\n  func.return\n}}"
    return SourceParser(Context(), text, "program.mlir").parse_module()


SILU = "  %0 = aten.silu.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>"
RELU = "  %1 = aten.relu.default(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>"
NONZERO = "  %0 = core_aten.nonzero.default(%x) : (tensor<2x4xf32>) -> tensor<?x2xi64>"


def _ops(module: ModuleOp) -> list[Operation]:
    (function,) = module.ops
    return list(function.regions[0].block.ops)


def test_new_ops_keep_the_location() -> None:
    module = _module(SILU, RELU)
    ConvertAtenToCoreAtenPass().apply(Context(), module)
    lines = [str(op.location) for op in _ops(module)[:3]]
    assert [line.partition("mlir")[2][:4] for line in lines] == ['":2:', '":2:', '":3:']


def test_one_op() -> None:
    module = _module(SILU, RELU)
    (value,) = DECOMPOSITIONS.apply(_ops(module)[0])
    names = [op.name for op in _ops(module)]
    assert names[:3] == ["core_aten.sigmoid.default", "core_aten.mul.Tensor", "aten.relu.default"]
    assert value is _ops(module)[2].operands[0]


def test_keep() -> None:
    module = _module(SILU, RELU)
    ConvertAtenToCoreAtenPass(keep=("silu.default",)).apply(Context(), module)
    names = [op.name for op in _ops(module)]
    assert names[:2] == ["aten.silu.default", "core_aten.relu.default"]


def test_recorded_limitation_words_the_error() -> None:
    with pytest.raises(UnsupportedError) as caught:
        ConvertCoreAtenToPrimsPass().apply(Context(), _module(NONZERO))
    message = str(caught.value)
    assert "core_aten.nonzero.default: " + limitations()["nonzero.default"] in message
    assert "operand types: tensor<2x4xf32>" in message
    assert "at: program.mlir:2:" in message


def test_nearest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an op that has neither a lowering nor a reason; in the tables there is none today."""
    monkeypatch.setattr(DECOMPOSITIONS, "limitations", dict)
    types = "(tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>"
    line = f"  %0 = aten._standard_gamma_grad.default(%x, %x) : {types}"
    with pytest.raises(UnsupportedError, match="nearest supported: aten"):
        ConvertAtenToCoreAtenPass().apply(Context(), _module(line))


def test_a_reason_recorded_for_a_pattern_words_the_error() -> None:
    line = "  %0 = aten.to_sparse.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>"
    with pytest.raises(UnsupportedError, match=r"to_sparse\.default: sparse tensors have no type"):
        ConvertAtenToCoreAtenPass().apply(Context(), _module(line))


def test_recorded_reasons_are_of_ops_that_exist_and_are_not_decomposed() -> None:
    from lamina.dialects import aten
    from lamina.dialects.core_aten import CoreAten
    from lamina.lowering.aten_to_core_aten.table import DECOMPOSITIONS
    from lamina.lowering.aten_to_core_aten.table import limitations as reasons

    assert sorted(set(reasons()) - set(aten.Aten.names)) == []
    functional = {n for n in reasons() if not aten.op(n).schema.mutates}
    assert sorted(functional & (set(DECOMPOSITIONS.table()) | set(CoreAten.names))) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "  %0 = aten.linalg_matrix_norm.default(%x, ord = 3) "
            ": (tensor<2x4xf32>) -> tensor<f32>",
            "no matrix norm of order 3",
        ),
        (
            "  %0 = aten.fft_fftshift.default(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"
            '  %1 = aten.fft_rfft.default(%x, norm = "half") '
            ": (tensor<2x4xf32>) -> tensor<2x3xcomplex<f32>>",
            "no normalization 'half'",
        ),
    ],
)
def test_refused_decompositions(line: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        ConvertAtenToCoreAtenPass().apply(Context(), _module(line))


@pytest.mark.parametrize("name", list(CoreAten.names))
def test_each_core_op_is_lowered_or_recorded(name: str) -> None:
    assert (name in LOWERINGS.table()) != (name in limitations())


def test_tables_name_existing_ops() -> None:
    from lamina.dialects.aten import Aten

    assert [name for name in DECOMPOSITIONS.table() if name not in Aten.rows] == []
    assert [name for name in LOWERINGS.table() if name not in CoreAten.rows] == []
    assert [name for name in limitations() if name not in CoreAten.rows] == []
