// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p bound-dynamic-shapes | filecheck %s

// Rows of a product stay where batch and length have them, by a matrix of open size too: what is
// summed over becomes zero in both, and nothing is moved. The matrix is one for all batches, so that rows
// are masked where they are read.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.index
// CHECK:         [[X:%\S+]] = aten.where.self({{%\S+}}, %x, {{%\S+}})
// CHECK:         [[W:%\S+]] = aten.where.self({{%\S+}}, %w, {{%\S+}})
// CHECK-DAG:     [[TURNED:%\S+]] = aten.permute.default([[X]], dims = [1, 0, 2])
// CHECK-DAG:     [[ONE:%\S+]] = aten.reshape.default([[W]], shape = [1, 32, 48])
// CHECK:         aten.matmul.default([[TURNED]], [[ONE]]) : (tensor<16x64x32xf32>, tensor<1x32x48xf32>) -> tensor<16x64x48xf32>
// CHECK-NOT:     aten.index
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 64]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]},
                %w: tensor<?x?xf32> {lamina.dims = [#lamina.size<c>, #lamina.size<k in [1, 48]>]})
    -> (tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<l>, #lamina.size<k>]}) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %k = aten.sym_size.int(%w, dim = 1) : (tensor<?x?xf32>) -> i64
  %n = arith.muli %b, %l : i64
  %0 = aten.view.default(%x, size = [%n, %c]) : (tensor<?x?x?xf32>, i64, i64) -> tensor<?x?xf32>
  %1 = aten.mm.default(%0, %w) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = aten.view.default(%1, size = [%b, %l, %k]) : (tensor<?x?xf32>, i64, i64, i64) -> tensor<?x?x?xf32>
  func.return %2 : tensor<?x?x?xf32>
}

// -----

// So it is with a linear layer whose weight and bias have open sizes.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.linear
// CHECK:         [[T:%\S+]] = aten.permute.default(%w, dims = [1, 0])
// CHECK:         [[X:%\S+]] = aten.where.self({{%\S+}}, %x, {{%\S+}})
// CHECK:         [[W:%\S+]] = aten.where.self({{%\S+}}, [[T]], {{%\S+}})
// CHECK:         [[ONE:%\S+]] = aten.reshape.default([[W]], shape = [1, 32, 48])
// CHECK:         [[MADE:%\S+]] = aten.matmul.default([[X]], [[ONE]])
// CHECK:         aten.add.Tensor([[MADE]], {{%\S+}}) : (tensor<4x16x48xf32>, tensor<1x1x48xf32>) -> tensor<4x16x48xf32>
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]},
                %w: tensor<?x?xf32> {lamina.dims = [#lamina.size<k in [1, 48]>, #lamina.size<c>]},
                %v: tensor<?xf32> {lamina.dims = [#lamina.size<k>]})
    -> (tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<l>, #lamina.size<k>]}) {
  %0 = aten.linear.default(%x, %w, %v) : (tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?x?xf32>
  func.return %0 : tensor<?x?x?xf32>
}

// -----

// An op that knows nothing of groups has its rows moved together, whole with their padding.

// CHECK-LABEL: @main
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default(%x, shape = [64, 32])
// CHECK:         [[TOGETHER:%\S+]] = aten.index_select.default([[ROWS]], dim = 0, index = {{%\S+}}) : (tensor<64x32xf32>, tensor<64xi64>) -> tensor<64x32xf32>
// CHECK:         aten.cumsum.default([[TOGETHER]], dim = 0)
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]})
    -> (tensor<?x?xf32>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %n = arith.muli %b, %l : i64
  %0 = aten.view.default(%x, size = [%n, %c]) : (tensor<?x?x?xf32>, i64, i64) -> tensor<?x?xf32>
  %1 = aten.cumsum.default(%0, dim = 0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}

// -----

// A last dimension that is split with the others has its elements moved one by one.

// CHECK-LABEL: @main
// CHECK:         aten.index_select.default({{%\S+}}, dim = 0, index = {{%\S+}}) : (tensor<2048xf32>, tensor<2048xi64>) -> tensor<2048xf32>
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]})
    -> (tensor<?xf32>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %m = arith.muli %b, %l : i64
  %n = arith.muli %m, %c : i64
  %0 = aten.view.default(%x, size = [%n]) : (tensor<?x?x?xf32>, i64) -> tensor<?xf32>
  %1 = aten.cumsum.default(%0, dim = 0) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// -----

// What is added to rows in groups may have an open size; -1 is what two sizes leave of a product.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.index
// CHECK:         aten.add.Tensor({{%\S+}}, {{%\S+}}) : (tensor<4x16x48xf32>, tensor<1x1x48xf32>) -> tensor<4x16x48xf32>
// CHECK:         [[SUMS:%\S+]] = aten.cumsum.default({{%\S+}}, dim = 0) : (tensor<64x48xf32>) -> tensor<64x48xf32>
// CHECK-NOT:     aten.div
// CHECK:         aten.index_select.default([[SUMS]], dim = 0, index = {{%\S+}}) : (tensor<64x48xf32>, tensor<64xi64>) -> tensor<64x48xf32>
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]},
                %w: tensor<?x?xf32> {lamina.dims = [#lamina.size<c>, #lamina.size<k in [1, 48]>]},
                %v: tensor<?xf32> {lamina.dims = [#lamina.size<k>]})
    -> (tensor<?x?x?xf32>, tensor<?x?x?xf32>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %0 = aten.view.default(%x, size = [-1, %c]) : (tensor<?x?x?xf32>, i64) -> tensor<?x?xf32>
  %1 = aten.addmm.default(%v, %0, %w) : (tensor<?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = aten.view.default(%1, size = [%b, %l, -1]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x?xf32>
  %3 = aten.cumsum.default(%1, dim = 0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %4 = aten.view.default(%3, size = [%b, %l, -1]) : (tensor<?x?xf32>, i64, i64) -> tensor<?x?x?xf32>
  func.return %2, %4 : tensor<?x?x?xf32>, tensor<?x?x?xf32>
}

// -----

// A size of -1 beside features in groups is the number of pixels, no quotient of products: pixels are lines and
// columns again without a check, and are read at a place in each image.

// CHECK-LABEL: @main
// CHECK-NOT:     aten.div.Scalar_mode
// CHECK:         aten.reshape.default({{%\S+}}, shape = [4, 64, 8, 8])
// CHECK-NOT:     aten.eq.Tensor
// CHECK:         aten.index_select.default({{%\S+}}, dim = 2, index = {{%\S+}}) : (tensor<4x64x64xf32>, tensor<64xi64>) -> tensor<4x64x64xf32>
func.func @main(%x: tensor<?x64x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<h in [1, 8]>, #lamina.size<w in [1, 8]>]})
    -> (tensor<?x64x?x?xf32>) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x64x?x?xf32>) -> i64
  %h = aten.sym_size.int(%x, dim = 2) : (tensor<?x64x?x?xf32>) -> i64
  %w = aten.sym_size.int(%x, dim = 3) : (tensor<?x64x?x?xf32>) -> i64
  %n = arith.muli %h, %w : i64
  %0 = aten.view.default(%x, size = [%b, 64, %n]) : (tensor<?x64x?x?xf32>, i64, i64) -> tensor<?x64x?xf32>
  %1 = aten.cumsum.default(%0, dim = 2) : (tensor<?x64x?xf32>) -> tensor<?x64x?xf32>
  %2 = aten.permute.default(%1, dims = [0, 2, 1]) : (tensor<?x64x?xf32>) -> tensor<?x?x64xf32>
  %3 = aten.view.default(%2, size = [%b, -1, 8, 8]) : (tensor<?x?x64xf32>, i64) -> tensor<?x?x8x8xf32>
  %4 = aten.softmax.int(%3, dim = 3) : (tensor<?x?x8x8xf32>) -> tensor<?x?x8x8xf32>
  %5 = aten.view.default(%4, size = [%b, -1, 64]) : (tensor<?x?x8x8xf32>, i64) -> tensor<?x?x64xf32>
  %6 = aten.permute.default(%5, dims = [0, 2, 1]) : (tensor<?x?x64xf32>) -> tensor<?x64x?xf32>
  %7 = aten.view.default(%6, size = [%b, 64, %h, %w]) : (tensor<?x64x?xf32>, i64, i64, i64) -> tensor<?x64x?x?xf32>
  func.return %7 : tensor<?x64x?x?xf32>
}

// -----

// Slices at places that are joined stand where the places do: nothing is moved, be it by brackets or `index_select` of rows.

// CHECK-LABEL: @main
// CHECK:         [[I:%\S+]] = aten.where.self({{%\S+}}, {{%\S+}}, {{%\S+}}) : (tensor<1x16xi1>, tensor<64x16xi64>, tensor<i64>) -> tensor<64x16xi64>
// CHECK:         aten.index.Tensor(%w, [none, [[I]]]) : (tensor<5x9x3xf32>, tensor<64x16xi64>) -> tensor<5x64x16x3xf32>
// CHECK-NOT:     aten.index
// CHECK:         aten.embedding.default(%v, {{%\S+}}) : (tensor<9x8xf32>, tensor<64x16xi64>) -> tensor<64x16x8xf32>
func.func @main(%i: tensor<?x?xi64> {lamina.dims = [#lamina.size<b in [1, 64]>, #lamina.size<l in [1, 16]>]}, %w: tensor<5x9x3xf32>, %v: tensor<9x8xf32>)
    -> (tensor<5x?x?x3xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<l>]}, tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<l>]}) {
  %b = aten.sym_size.int(%i, dim = 0) : (tensor<?x?xi64>) -> i64
  %l = aten.sym_size.int(%i, dim = 1) : (tensor<?x?xi64>) -> i64
  %n = arith.muli %b, %l : i64
  %0 = aten.view.default(%i, size = [%n]) : (tensor<?x?xi64>, i64) -> tensor<?xi64>
  %1 = aten.index.Tensor(%w, indices = [none, %0]) : (tensor<5x9x3xf32>, tensor<?xi64>) -> tensor<5x?x3xf32>
  %2 = aten.view.default(%1, size = [5, %b, %l, 3]) : (tensor<5x?x3xf32>, i64, i64) -> tensor<5x?x?x3xf32>
  %3 = aten.index_select.default(%v, dim = 0, index = %0) : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  %4 = aten.view.default(%3, size = [%b, %l, 8]) : (tensor<?x8xf32>, i64, i64) -> tensor<?x?x8xf32>
  func.return %2, %4 : tensor<5x?x?x3xf32>, tensor<?x?x8xf32>
}

// -----

// A product of the same sizes in another order is the same count.

// CHECK-LABEL: @main
// CHECK-DAG:     [[BL:%\S+]] = aten.mul.Tensor(%size, %size_1) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-DAG:     [[ALL:%\S+]] = aten.mul.Tensor([[BL]], %size_2) : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK:         func.return {{%\S+}}, {{%\S+}}, [[ALL]] : tensor<32768xf32>, tensor<32768xf32>, tensor<i64>
func.func @main(%x: tensor<?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 64]>, #lamina.size<l in [1, 16]>, #lamina.size<c in [1, 32]>]})
    -> (tensor<?xf32> {lamina.dims = [#lamina.size<b * l * c>]}, tensor<?xf32> {lamina.dims = [#lamina.size<b * l * c>]}) {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?xf32>) -> i64
  %l = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?xf32>) -> i64
  %bl = arith.muli %b, %l : i64
  %blc = arith.muli %bl, %c : i64
  %cl = arith.muli %c, %l : i64
  %clb = arith.muli %cl, %b : i64
  %0 = aten.view.default(%x, size = [%blc]) : (tensor<?x?x?xf32>, i64) -> tensor<?xf32>
  %1 = aten.view.default(%x, size = [%clb]) : (tensor<?x?x?xf32>, i64) -> tensor<?xf32>
  %2 = aten.exp.default(%1) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0, %2 : tensor<?xf32>, tensor<?xf32>
}
