"""Every pass on functions that are no programs of Lamina: refused with a message, never a fault."""

import pytest
from pass_trials import run

import lamina
from lamina.passes.registry import PASSES

FUNCTIONS: dict[str, str] = {
    "blocks": """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
^bb1(%y: tensor<4xf32>):
  func.return %y : tensor<4xf32>
}""",
    "blocks_of_a_kernel": """
func.func private @kernel(%x: memref<4xf32>) attributes {lamina.kernel} {
  "cf.br"()[^bb1] : () -> ()
^bb1:
  func.return
}
func.func @main(%x: memref<4xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.call @kernel(%x) : (memref<4xf32>) -> ()
  func.return
}""",
    "declared": """
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}""",
    "declared_main": """
func.func private @main(tensor<4xf32>) -> tensor<4xf32>
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}""",
    "declared_kernel": """
func.func private @kernel(memref<4xf32>) attributes {lamina.kernel}
func.func @main(%x: memref<4xf32> {lamina.kind = "output"}) attributes {lamina.entry} {
  func.return
}""",
    "numbers": """
func.func @main(%x: memref<4xf32>, %i: index) -> index {
  func.return %i : index
}""",
    "open": """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  func.return %x : tensor<?xf32>
}""",
    "reads_from_outside": """
func.func @main(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %one : f32
    %2 = arith.mulf %1, %s : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}""",
    "nest_on_memory": """
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.generic (i) in [4] reads(%x[i] : memref<4xf32>) writes([i] store into %y : memref<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}""",
    "nothing": "module {}",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_every_pass(name: str) -> None:
    for one in PASSES:
        module = lamina.parse(FUNCTIONS[name])
        said = run(module, [one, one])
        if said is None:
            module.verify()
        else:
            assert len(said) > 15, f"{one}: {said}"


@pytest.mark.parametrize("name", ["blocks", "blocks_of_a_kernel"])
def test_passes_take_functions_of_one_block(name: str) -> None:
    said = run(lamina.parse(FUNCTIONS[name]), ["fold-layout" if name == "blocks" else "vectorize"])
    assert said is not None
    assert "has 2 blocks; a program branches by ops with regions" in said
    assert "<text>:2:1" in said


def test_a_kernel_has_a_body() -> None:
    said = run(lamina.parse(FUNCTIONS["declared_kernel"]), ["tile-nests"])
    assert said is not None and "<text>:2:1: error: func.func: @kernel is declared without" in said


@pytest.mark.parametrize("name", ["numbers", "open"])
def test_what_cannot_be_copied_into_memory_is_named(name: str) -> None:
    kind = {"numbers": "index", "open": "tensor<?xf32>"}[name]
    said = run(lamina.parse(FUNCTIONS[name]), ["fuse-kernels"])
    assert said is not None and f"gives back {kind}" in said and "at: <text>:3:3" in said


def test_what_cannot_be_put_in_memory_is_named() -> None:
    kernel = """
func.func private @kernel(%n: f32, %x: tensor<4xf32>) -> tensor<4xf32>
    attributes {lamina.kernel} {
  %0 = loop.generic (i) in [4] reads(%x[i] : tensor<4xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<4xf32>
}"""
    said = run(lamina.parse(kernel), ["bufferize"])
    assert said is not None and "f32 cannot be put in memory" in said
    assert "func.func" in said and "<text>:2:1" in said
