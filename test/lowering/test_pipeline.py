"""The pipeline as a list of specs: options as `lamina-opt` takes them, targets, contracts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.frontends.compile import compile as lamina_compile
from lamina.lowering.aten_to_core_aten import ConvertAtenToCoreAtenPass
from lamina.lowering.custom_pipeline import name_of
from lamina.lowering.pipeline import CONTRACTS, ENTERING, LAYERS, pipeline, run_pipeline
from lamina.runtime.layers import parse

GELU = """func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {
  %0 = aten.gelu.default(%a) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}"""


@pytest.mark.parametrize("name", ["aten.gelu.default", '"aten.gelu.default"'])
def test_specs_take_the_documented_options(name: str) -> None:
    module = parse(GELU)
    run_pipeline(module, [f"convert-aten-to-core-aten{{keep={name}}}"], Context())
    assert "aten.gelu.default(%a)" in str(module)


@pytest.mark.parametrize("keep", ["aten.gelu.default", "gelu.default", ("aten.gelu.default",)])
def test_one_name_to_keep_is_a_name(keep: str | tuple[str, ...]) -> None:
    module = parse(GELU)
    ConvertAtenToCoreAtenPass(keep=keep).apply(Context(), module)  # pyright: ignore[reportArgumentType]
    assert "%0 = aten.gelu.default(%a)" in str(module)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("choose-schedul", "no pass is called 'choose-schedul'; nearest: choose-schedule"),
        (
            "choose-schedule{foo=1}",
            "pass 'choose-schedule': .*foo.* not found in expected arguments",
        ),
        ("choose-schedule{target=1}", "pass 'choose-schedule': Incompatible types"),
        ("choose-schedule{target=", "'choose-schedule{target=' is no pass with options"),
        ("convert-aten-to-core-aten{keep=aten.geluu}", "there is no op aten.geluu"),
    ],
)
def test_wrong_specs_are_refused_by_name(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_pipeline(parse(GELU), [spec], Context())


@pytest.mark.parametrize("base", ["host", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize(
    "changes",
    [
        {"vector_bits": 128},
        {"vector_registers": 8, "l2_bytes": 1 << 19},
        {"has_fma": False, "name": "mine"},
        {"features": "+sse,+sse2", "cpu": "nocona", "vector_bits": 128},
    ],
)
def test_a_variant_of_a_target_is_read_as_it_is_spelled(
    base: str, changes: dict[str, object]
) -> None:
    target = replace(Target.parse(base), **changes)
    assert Target.parse(target.spelled) == target
    assert Target.parse(base).spelled == base


def test_a_variant_of_a_target_reaches_the_schedule() -> None:
    for bits in (128, 256):
        target = replace(Target.parse("x86-64-v4"), vector_bits=bits)
        text = lamina_compile(GELU, target=target, cache=False).ir("scheduled")
        assert f"vector<{bits // 32}xf32>" in text
        assert "vector<16xf32>" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host;vector_bits=100", "vector_bits=100 is no power of two"),
        ("host;vector_bits=0", "vector_bits=0 is no power of two"),
        ("host;l2_bytes=1", "l2_bytes=1 is below 4096"),
        ("host;l2_bytes=x", "'x' is no int"),
        ("host;has_fma=yes", "'yes' is no bool"),
        ("host;registers=4", "an option is NAME=VALUE of triple, cpu"),
        ("host;", "an option is NAME=VALUE"),
    ],
)
def test_options_of_targets_are_checked(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Target.parse(text)


def test_every_layer_has_a_contract_that_stands_first() -> None:
    assert tuple(CONTRACTS) == LAYERS
    for layer in LAYERS:
        first = pipeline(start=layer)[len(ENTERING.get(layer, ()))]
        assert name_of(first) == CONTRACTS[layer]
        assert pipeline(start=layer, stop=layer, enters=False) == ()


@pytest.mark.parametrize(
    "layer", ["core_aten", "prims", "loop", "fused", "bufferized", "scheduled"]
)
def test_a_program_of_another_layer_does_not_enter(layer: str) -> None:
    with pytest.raises(Exception, match=r"aten.gelu.default.*layer|arguments are memrefs"):
        run_pipeline(parse(GELU), pipeline(start=layer), Context())


def test_programs_that_enter_at_the_loop_layer_are_verified() -> None:
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loop.generic (d0) in [4] reads(%a[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%x: f32):
    %c = arith.constant true
    %y = scf.if %c -> (f32) {
      scf.yield %x : f32
    } else {
      scf.yield %x : f32
    }
    loop.yield %y : f32
  }
  func.return %0 : tensor<4xf32>
}"""
    with pytest.raises(InputError, match="bodies hold only arith, math"):
        lamina_compile(text, cache=False)
