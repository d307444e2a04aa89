// RUN: lamina-opt %s -p bound-dynamic-shapes | filecheck %s

// Batches of both operands are joined alike, as heads of attention are: the product keeps them apart, and
// nothing is moved.
// CHECK-LABEL: @main
// CHECK-NOT:   aten.index_select.default
// CHECK:       aten.matmul.default({{.*}}) : (tensor<16x4x32x8xf32>, tensor<16x4x8x64xf32>) -> tensor<16x4x32x64xf32>
// CHECK-NOT:   aten.index_select.default
func.func @main(%x: tensor<?x?x?x8xf32> {lamina.dims = [#lamina.size<b in [0, 16]>, #lamina.size<h in [0, 4]>, #lamina.size<l in [0, 32]>]},
                %y: tensor<?x?x8x?xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<h>, #lamina.size<k in [0, 64]>]})
    -> tensor<?x?x?x?xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?x8xf32>) -> i64
  %h = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?x8xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?x8xf32>) -> i64
  %k = aten.sym_size.int(%y, dim = 3) : (tensor<?x?x8x?xf32>) -> i64
  %n = arith.muli %b, %h : i64
  %0 = aten.view.default(%x, size = [%n, %l, 8]) : (tensor<?x?x?x8xf32>, i64, i64) -> tensor<?x?x8xf32>
  %1 = aten.view.default(%y, size = [%n, 8, %k]) : (tensor<?x?x8x?xf32>, i64, i64) -> tensor<?x8x?xf32>
  %2 = aten.bmm.default(%0, %1) : (tensor<?x?x8xf32>, tensor<?x8x?xf32>) -> tensor<?x?x?xf32>
  %3 = aten.view.default(%2, size = [%b, %h, %l, %k]) : (tensor<?x?x?xf32>, i64, i64, i64, i64) -> tensor<?x?x?x?xf32>
  func.return %3 : tensor<?x?x?x?xf32>
}
