// RUN: lamina-opt %s --split-input-file --verify-diagnostics -p choose-padding | filecheck %s

// Nothing is computed across rows of `batch`: only the ends of results are asked for. `width` is summed over.

// CHECK:      func.func @main
// CHECK-SAME: lamina.padding = {batch = "rows", width = "masked"}
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<batch in [0, 40]>]},
                %y: tensor<?x?xf32> {lamina.dims = [#lamina.size<2 * batch>, #lamina.size<width>]})
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  %c = aten.relu.default(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = aten.sum.dim_IntList(%y, dim = [1]) : (tensor<?x?xf32>) -> tensor<?xf32>
  func.return %c, %r : tensor<?x8xf32>, tensor<?xf32>
}

// -----

// Indices are kept in their range by a mask, each by itself.

// CHECK: lamina.padding = {n = "rows"}
func.func @main(%i: tensor<?xi64> {lamina.dims = [#lamina.size<n>]}, %w: tensor<9x8xf32>) -> tensor<?x8xf32> {
  %r = aten.embedding.default(%w, %i) : (tensor<9x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  func.return %r : tensor<?x8xf32>
}

// -----

// Convolutions take batches that are padded, and images, behind whose ends zeros are put.

// CHECK: lamina.padding = {b = "rows", h = "masked"}
func.func @main(%x: tensor<?x3x?x8xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<h in [3, 99]>]},
                %w: tensor<4x3x3x3xf32>) -> tensor<?x4x?x6xf32> {
  %r = aten.conv2d.default(%x, %w) : (tensor<?x3x?x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x?x6xf32>
  func.return %r : tensor<?x4x?x6xf32>
}

// -----

// Images of which every second of the last eight channels meets four numbers: a size is tried as what is likely.

// CHECK: lamina.padding = {n = "rows", c = "exact"}
func.func @main(%x: tensor<?x?x5x8xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<c in [1, 99]>]},
                %w: tensor<4x1x1xf32>) -> tensor<?x?x10x16xf32> attributes {lamina.hints = {c = 8 : i64, n = 5000 : i64}} {
  %r = aten.upsample_nearest2d.vec(%x, scale_factors = [2.0, 2.0]) : (tensor<?x?x5x8xf32>) -> tensor<?x?x10x16xf32>
  %0 = aten.slice.Tensor(%r, dim = 1, start = -8, step = 2) : (tensor<?x?x10x16xf32>) -> tensor<?x?x10x16xf32>
  %1 = aten.mul.Tensor(%0, %w) : (tensor<?x?x10x16xf32>, tensor<4x1x1xf32>) -> tensor<?x?x10x16xf32>
  func.return %1 : tensor<?x?x10x16xf32>
}

// -----

// Nothing else takes channels of an open number.

// CHECK: lamina.padding = {b = "rows", c = "exact"}
func.func @main(%x: tensor<?x?x5x8xf32> {lamina.dims = [#lamina.size<b>, #lamina.size<c>]}) -> tensor<?x?x10x16xf32> {
  %r = aten.upsample_nearest2d.vec(%x, scale_factors = [2.0, 2.0]) : (tensor<?x?x5x8xf32>) -> tensor<?x?x10x16xf32>
  func.return %r : tensor<?x?x10x16xf32>
}

// -----

// What is stated already stays.

// CHECK: lamina.padding = {a = "exact", b = "masked"}
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<a>, #lamina.size<b>]}) -> tensor<?x?xf32>
    attributes {lamina.padding = {a = "exact", b = "masked"}} {
  %r = aten.relu.default(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %r : tensor<?x?xf32>
}

// -----

// expected-error@+1 {{lamina.padding: 'a' is "some", one of rows, masked, exact}}
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a>]}) -> tensor<?xf32>
    attributes {lamina.padding = {a = "some"}} {
  func.return %x : tensor<?xf32>
}

// -----

// expected-error@+1 {{lamina.padding: no argument has the size 'c'; there: a}}
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<a>]}) -> tensor<?xf32>
    attributes {lamina.padding = {c = "rows"}} {
  func.return %x : tensor<?xf32>
}

// -----

// The number of rows of a table is asked for by what keeps places in their range alone.

// CHECK: lamina.padding = {n = "rows", k = "rows"}
func.func @main(%t: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<k>]})
    -> tensor<?x8xf32> {
  %0 = aten.index.Tensor(%t, [%i]) : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// -----

// Here it is also a number that values are made of.

// CHECK: lamina.padding = {n = "masked", k = "rows"}
func.func @main(%t: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<k>]})
    -> tensor<?x8xf32> {
  %0 = aten.embedding.default(%t, %i) : (tensor<?x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  %n = aten.sym_size.int(%t, 0) : (tensor<?x8xf32>) -> i64
  %1 = aten.mul.Scalar(%0, %n) : (tensor<?x8xf32>, i64) -> tensor<?x8xf32>
  func.return %1 : tensor<?x8xf32>
}

// -----

// An op makes something else of no channels, as is found where its other sizes are numbers: it has a version for each number of them.
// CHECK: lamina.padding = {c = "exact"
func.func @main(%x: tensor<1x?x?x?xf32> {lamina.dims = [#lamina.size<c>, #lamina.size<h>, #lamina.size<w>]},
                %k: tensor<?x4x?x?xf32> {lamina.dims = [#lamina.size<c>, #lamina.size<kh>, #lamina.size<kw>]}) -> tensor<1x4x?x?xf32> {
  %0 = aten.conv_transpose2d.input(%x, %k) : (tensor<1x?x?x?xf32>, tensor<?x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  func.return %0 : tensor<1x4x?x?xf32>
}
