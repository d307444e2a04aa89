// RUN: lamina-opt %s -p bound-dynamic-shapes --split-input-file | filecheck %s

// What the program has joined stays apart for pointwise ops, sums, softmaxes, and the first of each row: nothing
// is moved.
// CHECK-LABEL: @main
// CHECK-NOT:   aten.index_select.default
// CHECK:       aten.mul.Scalar({{.*}}) : (tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
// CHECK:       aten._softmax.default({{.*}}, dim = 2, {{.*}}) : (tensor<4x16x8xf32>)
// CHECK:       aten.topk.default({{.*}}, k = 2, dim = 2) : (tensor<4x16x8xf32>) -> (tensor<4x16x2xf32>, tensor<4x16x2xi64>)
// CHECK:       aten.sum.dim_IntList({{.*}}, dim = [0, 1]) : (tensor<4x16x2xf32>) -> tensor<2xf32>
// CHECK-NOT:   aten.index_select.default
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>]}) -> (tensor<2xf32>, tensor<?x?x2xi64>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x8xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x8xf32>) -> i64
  %n = arith.muli %b, %l : i64
  %rows = aten.view.default(%x, size = [%n, 8]) : (tensor<?x?x8xf32>, i64) -> tensor<?x8xf32>
  %y = aten.mul.Scalar(%rows, other = 2.0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = aten._softmax.default(%y, dim = -1, half_to_float = false) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %v, %i = aten.topk.default(%s, k = 2) : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %t = aten.sum.dim_IntList(%v, dim = [0]) : (tensor<?x2xf32>) -> tensor<2xf32>
  %r = aten.view.default(%i, size = [%b, %l, 2]) : (tensor<?x2xi64>, i64, i64) -> tensor<?x?x2xi64>
  func.return %t, %r : tensor<2xf32>, tensor<?x?x2xi64>
}

// -----

// The largest of a square of open size, flattened.
// CHECK-LABEL: @main
// CHECK-NOT:   aten.index_select.default
// CHECK:       aten.amax.default({{.*}}, dim = [1, 2]) : (tensor<4x16x16xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>, #lamina.size<l>]}) -> tensor<?xf32> {
  %f = aten.flatten.using_ints(%x, start_dim = 1) : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  %m = aten.amax.default(%f, dim = [1]) : (tensor<?x?xf32>) -> tensor<?xf32>
  func.return %m : tensor<?xf32>
}

// -----

// Two tensors whose dimensions are joined in other orders have as many rows, but not the same ones: they are moved.
// CHECK-LABEL: @main
// CHECK-COUNT-2: aten.index_select.default
// CHECK:         aten.add.Tensor({{.*}}) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>]},
                %y: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<l>, #lamina.size<b>]}) -> tensor<?x8xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x8xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x8xf32>) -> i64
  %n = arith.muli %b, %l : i64
  %one = aten.view.default(%x, size = [%n, 8]) : (tensor<?x?x8xf32>, i64) -> tensor<?x8xf32>
  %other = aten.view.default(%y, size = [%n, 8]) : (tensor<?x?x8xf32>, i64) -> tensor<?x8xf32>
  %r = aten.add.Tensor(%one, %other) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %r : tensor<?x8xf32>
}

// -----

// The place of the largest counts elements in order, so that they are moved.
// CHECK-LABEL: @main
// CHECK:       aten.index_select.default
// CHECK:       aten.argmax.default
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>]}) -> tensor<i64> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?xf32>) -> i64
  %n = arith.muli %b, %l : i64
  %one = aten.view.default(%x, size = [%n]) : (tensor<?x?xf32>, i64) -> tensor<?xf32>
  %r = aten.argmax.default(%one, dim = 0) : (tensor<?xf32>) -> tensor<i64>
  func.return %r : tensor<i64>
}
