// Locations of loops are printed once, where they are read back: xDSL's own printer has that of
// scf.while in the middle of the op as well.
// RUN: lamina-opt %s --to scheduled --print-debuginfo -o %t.mlir
// RUN: filecheck %s < %t.mlir
// RUN: lamina-opt %t.mlir --print-debuginfo | filecheck %s
// RUN: lamina-opt %t.mlir --print-debuginfo --print-op-generic | lamina-opt --print-debuginfo | filecheck %s

// CHECK: scf.while () : () -> () {
// CHECK: scf.condition
// CHECK: } do {
// CHECK: } loc("{{.*}}locations_of_loops.mlir":14:3)
func.func @main(%zero: tensor<2xf32>) -> tensor<2xf32> {
  // The loop below has a location of its own.
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
