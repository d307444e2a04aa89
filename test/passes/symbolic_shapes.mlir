// RUN: lamina-opt %s --split-input-file -p verify-aten | filecheck %s

// Sums and multiples of sizes are followed, through numbers of the program too: 3 * batch rows of 3
// are batch rows of 9.
// CHECK-LABEL: @main
// CHECK:       aten.view.default
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [1, 128]>]},
                %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<2 * batch>]}, %w: tensor<8x3xf32>)
    -> (tensor<?x9xf32> {lamina.dims = [#lamina.size<batch>]}) {
  %c = aten.cat.default([%x, %y]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %m = aten.mm.default(%c, %w) : (tensor<?x8xf32>, tensor<8x3xf32>) -> tensor<?x3xf32>
  %n = aten.sym_size.int(%x, 0) : (tensor<?x8xf32>) -> i64
  %v = aten.view.default(%m, [%n, 9]) : (tensor<?x3xf32>, i64) -> tensor<?x9xf32>
  func.return %v : tensor<?x9xf32>
}
// -----
// Ranges decide: no value of the size is 1.
// CHECK-LABEL: @main
// CHECK:       aten.squeeze.dim
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [2, ?]>]}) -> tensor<?x8xf32> {
  %0 = aten.squeeze.dim(%x, 0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
// -----
// A known 1 is broadcast to any size.
// CHECK-LABEL: @main
// CHECK:       aten.mul.Tensor
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<a in [16, ?] step 16>, #lamina.size<b>]},
                %y: tensor<1x?xf32> {lamina.dims = [#lamina.size<b>]}) -> tensor<?x?xf32> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
