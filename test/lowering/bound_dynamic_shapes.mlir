// RUN: lamina-opt %s -p bound-dynamic-shapes --split-input-file | filecheck %s

// Positions go where a running sum says; the size is a result of its own.

// CHECK-LABEL: @main
// CHECK-SAME:    -> (tensor<8x1xi64> {lamina.sizes = [0 : i64, -1 : i64]}, tensor<i64> {lamina.kind = "size"})
// CHECK:         [[SUM:%\S+]] = aten.cumsum.default(%x, dim = 0, dtype = i64)
// CHECK:         [[COUNT:%\S+]] = aten.select.int([[SUM]], dim = 0, index = 7)
// CHECK:         [[PLACES:%\S+]] = aten.where.self(%x
// CHECK:         aten.scatter.src({{%\S+}}, dim = 0, index = [[PLACES]]
// CHECK:         [[ROWS:%\S+]] = aten.stack.default
// CHECK:         func.return [[ROWS]], [[COUNT]]
func.func @main(%x: tensor<8xi1>) -> tensor<?x1xi64> {
  %r = aten.nonzero.default(%x) : (tensor<8xi1>) -> tensor<?x1xi64>
  func.return %r : tensor<?x1xi64>
}

// -----

// A pointwise op runs on padding; a sum masks it. The result is static.

// CHECK-LABEL: @main
// CHECK-SAME:    -> tensor<f32>
// CHECK:         [[V:%\S+]] = aten.exp.default({{%\S+}}) : (tensor<6xf32>) -> tensor<6xf32>
// CHECK:         [[MASK:%\S+]] = aten.lt.Tensor
// CHECK:         [[M:%\S+]] = aten.where.self({{%\S+}}, [[V]]
// CHECK:         aten.sum.default([[M]])
// CHECK-NOT:     ?x
func.func @main(%x: tensor<2x3xf32>, %m: tensor<2x3xi1>) -> tensor<f32> {
  %s = aten.masked_select.default(%x, %m) : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<?xf32>
  %e = aten.exp.default(%s) : (tensor<?xf32>) -> tensor<?xf32>
  %r = aten.sum.default(%e) : (tensor<?xf32>) -> tensor<f32>
  func.return %r : tensor<f32>
}

// -----

// Divisors in the padding of integers are 1.

// CHECK-LABEL: @main
// CHECK:         [[ONE:%\S+]] = aten.scalar_tensor.default(s = 1
// CHECK:         [[D:%\S+]] = aten.where.self({{%\S+}}, {{%\S+}}, [[ONE]])
// CHECK:         aten.div.Tensor_mode({{%\S+}}, [[D]]
func.func @main(%x: tensor<4xi64>, %m: tensor<4xi1>) -> tensor<?xi64> {
  %s = aten.masked_select.default(%x, %m) : (tensor<4xi64>, tensor<4xi1>) -> tensor<?xi64>
  %r = aten.div.Tensor_mode(%s, %s, rounding_mode = "floor") : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  func.return %r : tensor<?xi64>
}

// -----

// Two sizes that must agree become a check; a size is a number like any other.

// CHECK-LABEL: @main
// CHECK-SAME:    tensor<i64> {lamina.number}
// CHECK-SAME:    {lamina.kind = "check", lamina.target = "{{.*}}aten.add.Tensor: sizes at dimension 0 differ"}
// CHECK:         [[SAME:%\S+]] = aten.eq.Tensor({{%\S+}}, {{%\S+}}) : (tensor<i64>, tensor<i64>) -> tensor<i1>
func.func @main(%x: tensor<4xf32>, %m: tensor<4xi1>, %n: tensor<4xi1>) -> (tensor<?xf32>, i64) {
  %a = aten.masked_select.default(%x, %m) : (tensor<4xf32>, tensor<4xi1>) -> tensor<?xf32>
  %b = aten.masked_select.default(%x, %n) : (tensor<4xf32>, tensor<4xi1>) -> tensor<?xf32>
  %c = aten.add.Tensor(%a, %b) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %k = aten.sym_size.int(%c, dim = 0) : (tensor<?xf32>) -> i64
  func.return %c, %k : tensor<?xf32>, i64
}

// -----

// A size that a check bounds may be that of a new tensor.

// CHECK-LABEL: @main
// CHECK-SAME:    tensor<9xi64> {lamina.sizes = [0 : i64]}
// CHECK:         [[N:%\S+]] = aten.reshape.default(%x, shape = [])
// CHECK:         [[R:%\S+]] = aten.arange.default(end = 9, dtype = i64)
// CHECK:         func.return [[R]], [[N]]
func.func @main(%x: tensor<1xi64>) -> tensor<?xi64> {
  %n = aten.item.default(%x) : (tensor<1xi64>) -> i64
  %limit = arith.constant 9 : i64
  %c = arith.cmpi sle, %n, %limit : i64
  aten._assert_scalar.default(self = %c, assert_msg = "too many") : (i1) -> ()
  %r = aten.arange.default(end = %n) : (i64) -> tensor<?xi64>
  func.return %r : tensor<?xi64>
}

// -----

// Static programs stay as they are.

// CHECK-LABEL: @main
// CHECK-NEXT:    [[R:%\S+]] = aten.relu.default(%x)
// CHECK-NEXT:    func.return [[R]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = aten.relu.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Rows of two open dimensions: what ops mask is walked as the inner one, however many samples there is room for.

// CHECK-LABEL: @main
// CHECK-NOT:     permute
// CHECK:         aten.linear.default
// CHECK-NOT:     permute
// CHECK:         func.return
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<b in [0, 64]>, #lamina.size<n in [0, 16]>]}, %w: tensor<8x8xf32>) -> tensor<?x?x8xf32> attributes {lamina.padding = {b = "rows", n = "masked"}} {
  %r = aten.linear.default(%x, %w) : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  func.return %r : tensor<?x?x8xf32>
}

// -----

// CHECK-LABEL: @main
// CHECK:         aten.permute.default(%x, dims = [1, 0, 2])
func.func @main(%x: tensor<?x?x8xf32> {lamina.dims = [#lamina.size<n in [0, 16]>, #lamina.size<b in [0, 64]>]}, %w: tensor<8x8xf32>) -> tensor<?x?x8xf32> attributes {lamina.padding = {b = "rows", n = "masked"}} {
  %r = aten.linear.default(%x, %w) : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  func.return %r : tensor<?x?x8xf32>
}
