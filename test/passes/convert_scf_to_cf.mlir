// xDSL's pass on scheduled programs: those of one thread run without scf, others are refused.
// RUN: lamina-opt %s --to scheduled | lamina-opt -p convert-scf-to-cf | lamina-run - | filecheck %s --check-prefix ONE
// RUN: lamina-opt %S/../../examples/gelu.mlir --to scheduled -o %t.mlir
// RUN: not lamina-opt %t.mlir -p convert-scf-to-cf 2>&1 | filecheck %s --check-prefix MANY

// ONE: out0: tensor<2xf32>
// ONE: 1. 1.
// MANY: convert-scf-to-cf: the body of an scf.parallel is one block, and cannot hold branches
// MANY: leave the pass out
func.func @main() -> tensor<2xf32> {
  %zero = aten.zeros.default([2], dtype = f32) : () -> tensor<2xf32>
  %some = control.while from(%zero) : (tensor<2xf32>) -> tensor<2xf32> test {
  ^bb0(%x: tensor<2xf32>):
    %largest = aten.amax.default(%x) : (tensor<2xf32>) -> tensor<f32>
    %more = aten.lt.Scalar(%largest, other = 1) : (tensor<f32>) -> tensor<i1>
    control.yield %more : tensor<i1>
  } do {
  ^bb0(%x: tensor<2xf32>):
    %next = aten.add.Scalar(%x, other = 1) : (tensor<2xf32>) -> tensor<2xf32>
    control.yield %next : tensor<2xf32>
  }
  func.return %some : tensor<2xf32>
}
