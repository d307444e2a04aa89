// RUN: lamina-opt %s -p bound-dynamic-shapes | filecheck %s

// Batches of one operand are joined, those of the other are one size of its own: elements are moved together.
// CHECK-LABEL: @main
// CHECK:       aten.index_select.default
// CHECK:       aten.matmul.default({{.*}}) : (tensor<64x32x8xf32>, tensor<64x8x64xf32>) -> tensor<64x32x64xf32>
func.func @main(%x: tensor<?x?x?x8xf32> {lamina.dims = [#lamina.size<b in [0, 16]>, #lamina.size<h in [0, 4]>, #lamina.size<l in [0, 32]>]},
                %y: tensor<?x8x?xf32> {lamina.dims = [#lamina.size<b * h>, #lamina.size<k in [0, 64]>]})
    -> tensor<?x?x?xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?x8xf32>) -> i64
  %h = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?x8xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?x8xf32>) -> i64
  %n = arith.muli %b, %h : i64
  %0 = aten.view.default(%x, size = [%n, %l, 8]) : (tensor<?x?x?x8xf32>, i64, i64) -> tensor<?x?x8xf32>
  %2 = aten.bmm.default(%0, %y) : (tensor<?x?x8xf32>, tensor<?x8x?xf32>) -> tensor<?x?x?xf32>
  func.return %2 : tensor<?x?x?xf32>
}
