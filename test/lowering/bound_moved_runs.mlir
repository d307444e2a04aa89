// RUN: lamina-opt %s -p bound-dynamic-shapes --split-input-file | filecheck %s

// Height and width alone are joined: places are computed for these, batches and channels stay where they are.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.div.Tensor_mode({{.*}}) : (tensor<{{[0-9]+x[0-9]+x}}
// CHECK:         [[IMAGE:%\S+]] = aten.reshape.default(%x, shape = [4, 8, 256]) : (tensor<4x8x16x16xf32>) -> tensor<4x8x256xf32>
// CHECK:         aten.index_select.default([[IMAGE]], dim = 2, index = {{%\S+}}) : (tensor<4x8x256xf32>, tensor<256xi64>) -> tensor<4x8x256xf32>
// CHECK-NOT:     aten.index_select.default
func.func @main(%x: tensor<?x8x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<h in [1, 16]>, #lamina.size<w in [1, 16]>]})
    -> tensor<?x8x?xf32> {
  %0 = aten.flatten.using_ints(%x, start_dim = 2) : (tensor<?x8x?x?xf32>) -> tensor<?x8x?xf32>
  func.return %0 : tensor<?x8x?xf32>
}

// -----

// Two pairs are joined: each is moved for itself, rows of the first one whole.
// CHECK-LABEL: @main
// CHECK:         [[LAST:%\S+]] = aten.index_select.default({{%\S+}}, dim = 2, index = {{%\S+}}) : (tensor<4x8x256xf32>, tensor<256xi64>) -> tensor<4x8x256xf32>
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default([[LAST]], shape = [32, 256])
// CHECK:         aten.index_select.default([[ROWS]], dim = 0, index = {{%\S+}}) : (tensor<32x256xf32>, tensor<32xi64>) -> tensor<32x256xf32>
func.func @main(%x: tensor<?x?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<c in [1, 8]>, #lamina.size<h in [1, 16]>, #lamina.size<w in [1, 16]>]})
    -> tensor<?x?xf32> {
  %0 = aten.flatten.using_ints(%x, start_dim = 2) : (tensor<?x?x?x?xf32>) -> tensor<?x?x?xf32>
  %1 = aten.flatten.using_ints(%0, start_dim = 0, end_dim = 1) : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}

// -----

// Columns of windows stay in lines for a product with them.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.index_select.default
// CHECK:         aten.im2col.default
// CHECK:         aten.mul.Scalar({{.*}}) : (tensor<1x12x8x8xf32>) -> tensor<1x12x8x8xf32>
// CHECK:         aten.sum.dim_IntList({{.*}}, dim = [2, 3])
// CHECK-NOT:     aten.index_select.default
func.func @main(%x: tensor<1x3x?x?xf32> {lamina.dims = [#lamina.size<h in [2, 16]>, #lamina.size<w in [2, 16]>]}) -> tensor<1x12xf32> {
  %0 = aten.im2col.default(%x, kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [2, 2]) : (tensor<1x3x?x?xf32>) -> tensor<1x12x?xf32>
  %1 = aten.mul.Scalar(%0, other = 2.0) : (tensor<1x12x?xf32>) -> tensor<1x12x?xf32>
  %2 = aten.sum.dim_IntList(%1, dim = [2]) : (tensor<1x12x?xf32>) -> tensor<1x12xf32>
  func.return %2 : tensor<1x12xf32>
}

// -----

// Torch counts patches of one image by a quotient of a product by a number, which is what is left of it.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.div.Scalar_mode({{.*}}, other = 128
// CHECK-NOT:     lamina.kind = "check"
// CHECK:         aten.index_select.default({{%\S+}}, dim = 1, index = {{%\S+}}) : (tensor<8x16x16xf32>, tensor<16xi64>) -> tensor<8x16x16xf32>
func.func @main(%x: tensor<8x?x?xf32> {lamina.dims = [#lamina.size<h in [4, 16]>, #lamina.size<w in [4, 16]>]}) -> tensor<8x?x16xf32> {
  %0 = aten.unfold.default(%x, dimension = 1, size = 4, step = 4) : (tensor<8x?x?xf32>) -> tensor<8x?x?x4xf32>
  %1 = aten.unfold.default(%0, dimension = 2, size = 4, step = 4) : (tensor<8x?x?x4xf32>) -> tensor<8x?x?x4x4xf32>
  %h = aten.sym_size.int(%0, dim = 1) : (tensor<8x?x?x4xf32>) -> i64
  %w = aten.sym_size.int(%1, dim = 2) : (tensor<8x?x?x4x4xf32>) -> i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c128 = arith.constant 128 : i64
  %2 = arith.muli %c8, %h : i64
  %3 = arith.muli %2, %w : i64
  %4 = arith.muli %3, %c16 : i64
  %n = arith.floordivsi %4, %c128 : i64
  %5 = aten._unsafe_view.default(%1, size = [8, %n, 16]) : (tensor<8x?x?x4x4xf32>, i64) -> tensor<8x?x16xf32>
  func.return %5 : tensor<8x?x16xf32>
}

// -----

// A product that is no multiple of the divisor is divided in the call, and the elements are counted.
// CHECK-LABEL: @main
// CHECK:         lamina.kind = "check"
// CHECK:         aten.div.Scalar_mode({{.*}}, other = 3
func.func @main(%x: tensor<?x?x2xf32> {lamina.dims = [#lamina.size<h in [1, 16]>, #lamina.size<w in [1, 16]>]}) -> tensor<?x3xf32> {
  %h = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x2xf32>) -> i64
  %w = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x2xf32>) -> i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %0 = arith.muli %h, %w : i64
  %1 = arith.muli %0, %c2 : i64
  %n = arith.floordivsi %1, %c3 : i64
  %2 = aten.view.default(%x, size = [%n, 3]) : (tensor<?x?x2xf32>, i64) -> tensor<?x3xf32>
  func.return %2 : tensor<?x3xf32>
}

// -----

// Rows are moved before they are turned, and are zero from the number of them on: both operands are of one tensor.
// CHECK-LABEL: @main
// CHECK:         aten.index_select.default({{%\S+}}, dim = 0, index = {{%\S+}}) : (tensor<64x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
// CHECK:         [[ROWS:%\S+]] = aten.where.self({{.*}}) : (tensor<64x1xi1>, tensor<64x4xf32>, tensor<f32>) -> tensor<64x4xf32>
// CHECK:         aten.permute.default([[ROWS]], dims = [1, 0])
// CHECK-NOT:     tensor<4x4x16xf32>
func.func @main(%x: tensor<?x?x4xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<n in [1, 16]>]}) -> tensor<4x4xf32> {
  %c4 = arith.constant 4 : i64
  %r = aten.view.default(%x, size = [-1, %c4]) : (tensor<?x?x4xf32>, i64) -> tensor<?x4xf32>
  %t = aten.t.default(%r) : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %y = aten.mm.default(%t, %r) : (tensor<4x?xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// What has been turned so that channels are innermost is moved as it is, whole rows of these.
// CHECK-LABEL: @main
// CHECK:         [[TURNED:%\S+]] = aten.permute.default(%x, dims = [1, 2, 0])
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default([[TURNED]], shape = [64, 4])
// CHECK:         aten.index_select.default([[ROWS]], dim = 0, index = {{%\S+}}) : (tensor<64x4xf32>, tensor<64xi64>) -> tensor<64x4xf32>
func.func @main(%x: tensor<4x?x?xf32> {lamina.dims = [#lamina.size<h in [1, 4]>, #lamina.size<w in [1, 16]>]}) -> tensor<?x4xf32> {
  %c4 = arith.constant 4 : i64
  %r = aten.view.default(%x, size = [%c4, -1]) : (tensor<4x?x?xf32>, i64) -> tensor<4x?xf32>
  %t = aten.t.default(%r) : (tensor<4x?xf32>) -> tensor<?x4xf32>
  func.return %t : tensor<?x4xf32>
}

// -----

// Two sizes change places, as rows with a column more each are skewed: places are computed for these, once for all images.
// CHECK-LABEL: @main
// CHECK-NOT:     aten.div.Tensor_mode({{.*}}) : (tensor<{{[0-9]+x[0-9]+x[0-9]+x}}
// CHECK:         [[ROWS:%\S+]] = aten.reshape.default(%x, shape = [4, 8, 272]) : (tensor<4x8x17x16xf32>) -> tensor<4x8x272xf32>
// CHECK:         aten.index_select.default([[ROWS]], dim = 2, index = {{%\S+}}) : (tensor<4x8x272xf32>, tensor<272xi64>) -> tensor<4x8x272xf32>
// CHECK-NOT:     aten.index_select.default
func.func @main(%x: tensor<?x?x?x?xf32> {lamina.dims = [#lamina.size<b in [1, 4]>, #lamina.size<c in [1, 8]>, #lamina.size<n + 1 in [2, 17]>, #lamina.size<n in [1, 16]>]})
    -> tensor<?x?x?x?xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x?x?x?xf32>) -> i64
  %c = aten.sym_size.int(%x, dim = 1) : (tensor<?x?x?x?xf32>) -> i64
  %m = aten.sym_size.int(%x, dim = 2) : (tensor<?x?x?x?xf32>) -> i64
  %n = aten.sym_size.int(%x, dim = 3) : (tensor<?x?x?x?xf32>) -> i64
  %0 = aten.view.default(%x, size = [%b, %c, %n, %m]) : (tensor<?x?x?x?xf32>, i64, i64, i64, i64) -> tensor<?x?x?x?xf32>
  func.return %0 : tensor<?x?x?x?xf32>
}

// -----

// Numbers of which neither divides the other: six rows by two columns are four by three in the place where they stand.
// CHECK-LABEL: @main
// CHECK:         aten.reshape.default(%x, shape = [4, 4, 3]) : (tensor<4x6x2xf32>) -> tensor<4x4x3xf32>
// CHECK-NOT:     aten.index_select.default
func.func @main(%x: tensor<?x6x2xf32> {lamina.dims = [#lamina.size<b in [1, 4]>]}) -> tensor<?x4x3xf32> {
  %b = aten.sym_size.int(%x, dim = 0) : (tensor<?x6x2xf32>) -> i64
  %0 = aten.view.default(%x, size = [%b, 4, 3]) : (tensor<?x6x2xf32>, i64) -> tensor<?x4x3xf32>
  func.return %0 : tensor<?x4x3xf32>
}
