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

// -----

// Windows of an image: that a view has as many elements, which is checked, tells that h is 4 * (h // 4) and w 4 * (w // 4).
// Nothing is moved, nor where the windows are an image again. Of a bound of 30 positions 28 are windows.
// CHECK-LABEL: @main
// CHECK-NOT:   aten.index_select.default
// CHECK:       aten.reshape.default(%x, shape = [2, 4, 4, 8, 4, 5]) : (tensor<2x16x32x5xf32>)
// CHECK:       [[S:%\S+]] = aten.slice.Tensor(%y, dim = 1, start = 0, end = 28)
// CHECK:       aten.reshape.default([[S]], shape = [2, 4, 7, 5]) : (tensor<2x28x5xf32>)
// CHECK:       aten.reshape.default({{%\S+}}, shape = [2, 16, 32, 5]) : (tensor<2x4x4x8x4x5xf32>)
// CHECK-NOT:   aten.index_select.default
func.func @main(%x: tensor<?x?x?x5xf32> {lamina.dims = [#lamina.size<b in [1, 2]>, #lamina.size<h in [4, 16]>, #lamina.size<w in [4, 32]>]}, %y: tensor<?x?x5xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<n in [7, 30]>]}) -> (tensor<?x?x?x5xf32>, tensor<?x?x7x5xf32>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?x5xf32>) -> i64
  %h = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?x5xf32>) -> i64
  %w = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?x5xf32>) -> i64
  %n = aten.sym_size.int(%y, dim = 1) : (tensor<?x?x5xf32>) -> i64
  %four = arith.constant 4 : i64
  %seven = arith.constant 7 : i64
  %rows = arith.floordivsi %h, %four : i64
  %columns = arith.floordivsi %w, %four : i64
  %parts = arith.floordivsi %n, %seven : i64
  %0 = aten.view.default(%x, size = [%b, %rows, 4, %columns, 4, 5]) : (tensor<?x?x?x5xf32>, i64, i64, i64) -> tensor<?x?x4x?x4x5xf32>
  %1 = aten.relu.default(%0) : (tensor<?x?x4x?x4x5xf32>) -> tensor<?x?x4x?x4x5xf32>
  %2 = aten.view.default(%y, size = [%b, %parts, 7, 5]) : (tensor<?x?x5xf32>, i64, i64) -> tensor<?x?x7x5xf32>
  %3 = aten.view.default(%1, size = [%b, %h, %w, 5]) : (tensor<?x?x4x?x4x5xf32>, i64, i64, i64) -> tensor<?x?x?x5xf32>
  func.return %3, %2 : tensor<?x?x?x5xf32>, tensor<?x?x7x5xf32>
}

// -----

// Quotients that are rounded up may be of more: elements are moved.
// CHECK-LABEL: @main
// CHECK:       aten.index_select.default
func.func @main(%x: tensor<?x?x5xf32> {lamina.dims = [#lamina.size<h in [4, 16]>, #lamina.size<w in [4, 16]>]}) -> tensor<?x4x?x4x5xf32> {
  %h = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x5xf32>) -> i64
  %w = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x5xf32>) -> i64
  %four = arith.constant 4 : i64
  %three = arith.constant 3 : i64
  %more = arith.addi %h, %three : i64
  %rows = arith.floordivsi %more, %four : i64
  %columns = arith.floordivsi %w, %four : i64
  %0 = aten.view.default(%x, size = [%rows, 4, %columns, 4, 5]) : (tensor<?x?x5xf32>, i64, i64) -> tensor<?x4x?x4x5xf32>
  func.return %0 : tensor<?x4x?x4x5xf32>
}

// -----

// Rows are counted by a product that is divided by some of its factors: what is left is b * h, and nothing is moved.
// CHECK-LABEL: @main
// CHECK:       [[N:%\S+]] = aten.mul.Tensor(%size, %size_1)
// CHECK:       aten.relu.default({{.*}}) : (tensor<2x16x9xf32>)
// CHECK-NOT:   aten.index_select.default
// CHECK-NOT:   aten.div
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 2]>, #lamina.size<h in [1, 16]>, #lamina.size<c in [1, 9]>]}) -> tensor<?x?x?xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %h = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %0 = arith.muli %b, %h : i64
  %1 = arith.muli %0, %two : i64
  %2 = arith.muli %1, %c : i64
  %3 = arith.muli %two, %c : i64
  %n = arith.floordivsi %2, %3 : i64
  %4 = aten.view.default(%x, size = [%n, %c]) : (tensor<?x?x?xf32>, i64, i64) -> tensor<?x?xf32>
  %5 = aten.relu.default(%4) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %6 = aten.view.default(%5, size = [%b, %h, %c]) : (tensor<?x?xf32>, i64, i64, i64) -> tensor<?x?x?xf32>
  func.return %6 : tensor<?x?x?xf32>
}

// -----

// A product that sums over the pixels of joined images multiplies line by line, and adds up the lines that count.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.index_select.default
// CHECK:         aten.matmul.default({{.*}}) : (tensor<4x16x8x16xf32>, tensor<4x16x16x8xf32>) -> tensor<4x16x8x8xf32>
// CHECK:         aten.sum.dim_IntList({{.*}}, dim = [0, 1]) : (tensor<4x16x8x8xf32>) -> tensor<8x8xf32>
// CHECK-NOT:     aten.index_select.default
func.func @main(%x: tensor<?x?x?x8xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<h in [1, 16]>, #lamina.size<w in [1, 16]>]}) -> tensor<8x8xf32> {
  %rows = aten.flatten.using_ints(%x, start_dim = 0, end_dim = 2) : (tensor<?x?x?x8xf32>) -> tensor<?x8xf32>
  %turned = aten.t.default(%rows) : (tensor<?x8xf32>) -> tensor<8x?xf32>
  %r = aten.mm.default(%turned, %rows) : (tensor<8x?xf32>, tensor<?x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// One that sums over texts has their rows moved together: there may be many texts of few tokens.
// CHECK-LABEL: @main
// CHECK:         aten.index_select.default
// CHECK:         aten.matmul.default({{.*}}) : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>]}) -> tensor<8x8xf32> {
  %rows = aten.flatten.using_ints(%x, start_dim = 0, end_dim = 1) : (tensor<?x?x8xf32>) -> tensor<?x8xf32>
  %turned = aten.t.default(%rows) : (tensor<?x8xf32>) -> tensor<8x?xf32>
  %r = aten.mm.default(%turned, %rows) : (tensor<8x?xf32>, tensor<?x8xf32>) -> tensor<8x8xf32>
  func.return %r : tensor<8x8xf32>
}

// -----

// As many entries of rows are looked for as these may have, be it all of them.
// CHECK-LABEL: @main
// CHECK:         aten.topk.default({{.*}}, k = 16, dim = 1) : (tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xi64>)
// CHECK:         aten.topk.default({{.*}}, k = 3, dim = 1) : (tensor<4x16xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<n in [3, 16]>]}, %k: i64 {lamina.dims = [#lamina.size<k in [0, 16]>]}, %few: i64 {lamina.dims = [#lamina.size<f in [0, 3]>]}) -> (tensor<4x?xf32>, tensor<4x?xf32>) {
  %v, %i = aten.topk.default(%x, %k) : (tensor<4x?xf32>, i64) -> (tensor<4x?xf32>, tensor<4x?xi64>)
  %w, %j = aten.topk.default(%x, %few) : (tensor<4x?xf32>, i64) -> (tensor<4x?xf32>, tensor<4x?xi64>)
  func.return %v, %w : tensor<4x?xf32>, tensor<4x?xf32>
}
