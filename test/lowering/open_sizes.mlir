// RUN: lamina-opt %s --split-input-file --verify-diagnostics --to loop --drop bound-dynamic-shapes | filecheck %s
// Sizes that nobody knows go down to the extents and index maps of loop nests.

// What a lowering computes of sizes, the function computes first.
func.func @main(%x: tensor<?x8xf32> {lamina.dims = [#lamina.size<n>]}, %y: tensor<?x8xf32> {lamina.dims = [#lamina.size<m>]})
    -> (tensor<?x8xf32>, tensor<?xf32>) {
  %0 = aten.cat.default([%x, %y]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = aten.flip.default(%0, dims = [0]) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = aten.mean.dim(%1, dim = [1]) : (tensor<?x8xf32>) -> tensor<?xf32>
  func.return %1, %2 : tensor<?x8xf32>, tensor<?xf32>
}
// CHECK:      %[[Y:.*]] = tensor.dim %y, %{{.*}} : tensor<?x8xf32>
// CHECK-NEXT: %[[X:.*]] = tensor.dim %x, %{{.*}} : tensor<?x8xf32>
// CHECK-NEXT: %[[ALL:.*]] = arith.addi %[[Y]], %[[X]] : index
// CHECK:      %[[BACK:.*]] = arith.muli %[[X]], %{{.*}} : index
// CHECK:      loop.generic (d0, d1)[s0 = %[[ALL]], s1 = %[[X]], s2 = %[[BACK]]] in [s0, 8] reads(%x[d0, d1] pad 0.000000e+00 : f32 : tensor<?x8xf32>, %y[d0 + s2, d1] pad 0.000000e+00 : f32 : tensor<?x8xf32>)
// CHECK:        %[[END:.*]] = loop.size 1 : index
// CHECK-NEXT:   arith.cmpi slt, %{{.*}}, %[[END]] : index
// CHECK:      loop.generic (d0, d1)[s0 = %[[ALL]], s1 = %{{[0-9]+}}] in [s0, 8] reads(%{{.*}}[(d0 * -1) + s1, d1] : tensor<?x8xf32>) writes([d0, d1] store : tensor<?x8xf32>)
// CHECK:      loop.generic (d0, d1)[s0 = %[[ALL]]] in [s0, 8] {{.*}} writes([d0] add : tensor<?xf32>)

// -----

// Windows in steps of two: what is divided is a size of its own.
func.func @main(%x: tensor<1x4x?x?xf32> {lamina.dims = [#lamina.size<h in [2, ?]>, #lamina.size<w in [2, ?]>]}) -> tensor<1x4x?x?xf32> {
  %0 = aten.avg_pool2d.default(%x, [2, 2]) : (tensor<1x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  func.return %0 : tensor<1x4x?x?xf32>
}
// CHECK: %[[W:.*]] = tensor.dim %x, %{{.*}} : tensor<1x4x?x?xf32>
// CHECK: arith.floordivsi
// CHECK: loop.generic (d0, d1, d2, d3, d4, d5)[s0 = %{{.*}}, s1 = %{{.*}}] in [1, 4, s0, s1, 2, 2] reads(%x[d0, d1, (d2 * 2) + d4, (d3 * 2) + d5] : tensor<1x4x?x?xf32>)

// -----

// A reshape says what its dimensions are.
func.func @main(%x: tensor<?x4x6xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?x6xf32> {
  %0 = aten.view.default(%x, [-1, 6]) : (tensor<?x4x6xf32>) -> tensor<?x6xf32>
  func.return %0 : tensor<?x6xf32>
}
// CHECK: %[[N:.*]] = arith.muli
// CHECK: loop.reshape %x[%[[N]]] : tensor<?x4x6xf32> -> tensor<?x6xf32>

// -----

// A lowering that depends on how large a size is.
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?x4xf32> {
  %0 = aten.roll.default(%x, [1], [0]) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK: aten.roll.default: its lowering depends on sizes: the remainder of 1 by n is not known

// -----

// Its range may tell.
func.func @main(%x: tensor<?x4xf32> {lamina.dims = [#lamina.size<n in [2, ?]>]}) -> tensor<?x4xf32> {
  %0 = aten.roll.default(%x, [1], [0]) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// CHECK: loop.generic (d0, d1)[s0 = %[[REST:.*]]] in [1, 4] reads(%x[d0 + s0, d1] : tensor<?x4xf32>)
// CHECK: loop.generic (d0, d1)[s0 = %[[REST]]] in [s0, 4] reads(%x[d0, d1] : tensor<?x4xf32>)

// -----

// Running sums hand values on along a dimension of any length.
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) -> tensor<?x?xf32> {
  %0 = aten.cumsum.default(%x, 1) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
// CHECK: %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<?x?xf32>
// CHECK: %[[M:.*]] = tensor.dim %x, %{{.*}} : tensor<?x?xf32>
// CHECK: loop.scan (d0, d1)[s0 = %[[N]], s1 = %[[M]]] in [s0, s1] along 1 reads(%x[d0, d1] : tensor<?x?xf32>) carries(0.000000e+00 : f64) gives(tensor<?x?xf32>)

// -----

// What is taken of rows may be a size, too, or follow from one.
func.func @main(%x: tensor<?x?xi64> {lamina.dims = [#lamina.size<n in [1, ?]>, #lamina.size<n + m>]}, %y: tensor<?xi64> {lamina.dims = [#lamina.size<m>]})
    -> (tensor<?x?xi64>, tensor<?xi64>) {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xi64>) -> i64
  %0, %1 = aten.topk.default(%x, %n) : (tensor<?x?xi64>, i64) -> (tensor<?x?xi64>, tensor<?x?xi64>)
  %2, %3 = aten.median.dim(%x, 1) : (tensor<?x?xi64>) -> (tensor<?xi64>, tensor<?xi64>)
  func.return %0, %2 : tensor<?x?xi64>, tensor<?xi64>
}
// CHECK: %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<?x?xi64>
// CHECK: %[[MIDDLE:.*]] = arith.floordivsi
// CHECK: loop.sort %x[%[[N]]] {lamina.op = "prims.topk", descending, taken = array<i64: 0, -1>} : tensor<?x?xi64> -> tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>, tensor<?x?xi64>
// CHECK: loop.sort %x[%[[MIDDLE]]] {lamina.op = "prims.kthvalue", taken = array<i64: -1, 1>} : tensor<?x?xi64> -> tensor<?x1xi64>, tensor<?x1xi64>, tensor<?x?xi64>, tensor<?x?xi64>

// -----

// There must be as many.
func.func @main(%x: tensor<?x?xi64> {lamina.dims = [#lamina.size<n in [1, ?]>, #lamina.size<m>]}) -> tensor<?x?xi64> {
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xi64>) -> i64
  %0, %1 = aten.topk.default(%x, %n) : (tensor<?x?xi64>, i64) -> (tensor<?x?xi64>, tensor<?x?xi64>)
  func.return %0 : tensor<?x?xi64>
}
// CHECK: aten.topk.default: gives tensor<?x?xi64>; run bound-dynamic-shapes first

// -----

// Rows are added to a table of any size; where they go, is checked when they do.
func.func @main(%t: tensor<?x?xf32> {lamina.dims = [#lamina.size<rows>, #lamina.size<m>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n>]},
                %x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) -> tensor<?x?xf32> {
  %0 = aten.index_add.default(%t, 0, %i, %x) : (tensor<?x?xf32>, tensor<?xi64>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
// CHECK: %[[N:.*]] = tensor.dim %i, %{{.*}} : tensor<?xi64>
// CHECK: %[[ROWS:.*]] = tensor.dim %t, %{{.*}} : tensor<?x?xf32>
// CHECK: %[[M:.*]] = tensor.dim %t, %{{.*}} : tensor<?x?xf32>
// CHECK: loop.scatter (d0, d1)[s0 = %[[N]], s1 = %[[M]]] in [s0, s1] reads(%{{.*}}[d0] : tensor<?xi64>, %x[d0, d1] : tensor<?x?xf32>) into(%t : tensor<?x?xf32>)

// -----

// Bags of indices, however many there are of each.
func.func @main(%w: tensor<9x?xf32> {lamina.dims = [#lamina.size<m>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n>]}, %o: tensor<?xi64> {lamina.dims = [#lamina.size<bags in [1, ?]>]}) -> tensor<?x?xf32> {
  %0, %1, %2, %3 = aten.embedding_bag.default(%w, %i, %o) : (tensor<9x?xf32>, tensor<?xi64>, tensor<?xi64>) -> (tensor<?x?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
  func.return %0 : tensor<?x?xf32>
}
// CHECK: loop.segment_reduce (d0, d1, d2)[s0 = %{{[0-9]+}}, s1 = %{{[0-9]+}}, s2 = %{{[0-9]+}}] in [s0, s1, s2] offsets(%{{[0-9]+}} : tensor<?xi64>)
// CHECK-SAME: reads(%i[d1] : tensor<?xi64>) sources(%w : tensor<9x?xf32>) carries(0.000000e+00 : f32) gives(tensor<?x?xf32>)

// -----

// A place in a row is found in as many steps as the largest row has halvings: seven.
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, 100]>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xi64> {
  %0 = aten.searchsorted.Tensor(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi64>
  func.return %0 : tensor<?xi64>
}
// CHECK:         loop.generic (d0)[s0 = %{{.*}}, s1 = %{{.*}}, s2 = %{{.*}}] in [s0]
// CHECK-COUNT-7:   loop.read
// CHECK-NOT:       loop.read

// -----

func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [1, ?]>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xi64> {
  %0 = aten.searchsorted.Tensor(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi64>
  func.return %0 : tensor<?xi64>
}
// CHECK: prims.searchsorted: a row of n elements is halved as often as its range says

// -----

// Of transforms the rows are open, and the columns; of calls of libraries whatever they make.
func.func @main(%x: tensor<?x8x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}, %a: tensor<?x4x4xf32> {lamina.dims = [#lamina.size<n>]}) -> (tensor<?x5x?xcomplex<f32>>, tensor<?x4x4xf32>) {
  %0 = aten._fft_r2c.default(%x, [1], 0, true) : (tensor<?x8x?xf32>) -> tensor<?x5x?xcomplex<f32>>
  %1, %2 = aten.linalg_inv_ex.default(%a) : (tensor<?x4x4xf32>) -> (tensor<?x4x4xf32>, tensor<?xi32>)
  func.return %0, %1 : tensor<?x5x?xcomplex<f32>>, tensor<?x4x4xf32>
}
// CHECK: %[[N:[0-9]+]] = tensor.dim %x, %{{[0-9]+}} : tensor<?x8x?xf32>
// CHECK: %[[M:[0-9]+]] = tensor.dim %x, %{{[0-9]+}} : tensor<?x8x?xf32>
// CHECK: loop.fourier %x by %{{[0-9]+}} {lamina.op = "prims.fourier", kind = "r2c", columns, scale = 1.000000e+00 : f64} : tensor<?x8x?xf32>, tensor<8x2xf32> -> tensor<?x5x?x2xf32>
// CHECK: loop.reshape %{{[0-9]+}}[%[[N]], %[[M]]] : tensor<?x5x?x2xf32> -> tensor<?x5x?xcomplex<f32>>
// CHECK: loop.extern "linalg.inv_ex" {{.*}}(%a : tensor<?x4x4xf32>) sizes[%[[N]], %[[N]]] : tensor<?x4x4xf32>, tensor<?xi32>

// -----

// How many numbers a transform is of says which steps it takes.
func.func @main(%x: tensor<3x?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<3x?xcomplex<f32>> {
  %0 = aten._fft_r2c.default(%x, [1], 0, true) : (tensor<3x?xf32>) -> tensor<3x?xcomplex<f32>>
  func.return %0 : tensor<3x?xcomplex<f32>>
}
// CHECK: core_aten._fft_r2c.default: its lowering depends on sizes: whether n <= 16384 is not known

// -----

// Random numbers count the elements of their tensor.
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) -> tensor<?x?xf32> {
  %0 = aten.rand_like.default(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
// CHECK: %[[ALL:[0-9]+]] = arith.muli
// CHECK: %[[R:[0-9]+]] = loop.generic (d0)[s0 = %[[ALL]]] in [s0] reads(%random_state[0] : tensor<2xi64>, %random_state[1] : tensor<2xi64>) writes([d0] store : tensor<?xf32>)
// CHECK: loop.reshape %[[R]][%{{[0-9]+}}, %{{[0-9]+}}] : tensor<?xf32> -> tensor<?x?xf32>

// -----

// Sizes that depend on data do not go down so.
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?x1xi64> {
  %0 = aten.nonzero.default(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
  func.return %0 : tensor<?x1xi64>
}
// CHECK: aten.nonzero.default: gives tensor<?x1xi64>; run bound-dynamic-shapes first

// -----

// Branches and loops have the values of sizes from outside, each once.
func.func @main(%p: tensor<i1>, %x: tensor<?x?xf32> {lamina.dims = [#lamina.size<n>, #lamina.size<m>]}) -> tensor<?x?xf32> {
  %0 = control.cond if(%p) with(%x) : (tensor<i1>, tensor<?x?xf32>) -> tensor<?x?xf32> then {
  ^bb0(%a: tensor<?x?xf32>):
    %1 = aten.exp.default(%a) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %2 = aten.cumsum.default(%1, 0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    control.yield %2 : tensor<?x?xf32>
  } else {
  ^bb0(%a: tensor<?x?xf32>):
    control.yield %a : tensor<?x?xf32>
  }
  func.return %0 : tensor<?x?xf32>
}
// CHECK: %[[N:[0-9]+]] = tensor.dim %x, %{{[0-9]+}} : tensor<?x?xf32>
// CHECK: %[[M:[0-9]+]] = tensor.dim %x, %{{[0-9]+}} : tensor<?x?xf32>
// CHECK: control.cond if(%p) with(%x, %[[N]], %[[M]]) : (tensor<i1>, tensor<?x?xf32>, index, index) -> tensor<?x?xf32> then {
// CHECK-NEXT: ^bb0(%a: tensor<?x?xf32>, %[[R:[0-9]+]]: index, %[[C:[0-9]+]]: index):
// CHECK-NEXT: loop.generic (d0, d1)[s0 = %[[R]], s1 = %[[C]]] in [s0, s1] reads(%a[d0, d1] : tensor<?x?xf32>)
// CHECK: loop.scan (d0, d1)[s0 = %[[R]], s1 = %[[C]]] in [s0, s1] along 0
// CHECK: } else {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x?xf32>, %{{[0-9]+}}: index, %{{[0-9]+}}: index):
// CHECK-NEXT: control.yield %[[A]]

// -----

// Inner ones have them from outer ones. A number that a region no longer needs is no operand of it.
func.func @main(%p: tensor<i1>, %x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<2 * n + 1>]}) -> tensor<?xf32> {
  %n = aten.sym_size.int(%x, 0) : (tensor<?xf32>) -> i64
  %r = control.while from(%x) with(%n) : (tensor<?xf32>, i64) -> tensor<?xf32> test {
  ^bb0(%a: tensor<?xf32>, %k: i64):
    %s = aten.sum.default(%a) : (tensor<?xf32>) -> tensor<f32>
    %q = aten.lt.Scalar(%s, 3) : (tensor<f32>) -> tensor<i1>
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%a: tensor<?xf32>, %k: i64):
    %s = aten.sum.default(%a) : (tensor<?xf32>) -> tensor<f32>
    %q = aten.lt.Scalar(%s, 1) : (tensor<f32>) -> tensor<i1>
    %b = control.cond if(%q) with(%a) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32> then {
    ^bb0(%c: tensor<?xf32>):
      %d = aten.cat.default([%c, %c]) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %e = aten.view.default(%d, [2, -1]) : (tensor<?xf32>) -> tensor<2x?xf32>
      %f = aten.sum.dim_IntList(%e, [0]) : (tensor<2x?xf32>) -> tensor<?xf32>
      control.yield %f : tensor<?xf32>
    } else {
    ^bb0(%c: tensor<?xf32>):
      control.yield %c : tensor<?xf32>
    }
    %g = aten.mul.Scalar(%b, %k) : (tensor<?xf32>, i64) -> tensor<?xf32>
    control.yield %g : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK: control.while from(%x) with(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) : (tensor<?xf32>, index, index, index) -> tensor<?xf32> test {
// CHECK: } do {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?xf32>, %[[N:[0-9]+]]: index, %[[TWICE:[0-9]+]]: index, %[[BACK:[0-9]+]]: index):
// CHECK: control.cond if(%{{.*}}) with(%{{.*}}, %[[N]], %[[TWICE]], %[[BACK]]) : (tensor<i1>, tensor<?xf32>, index, index, index) -> tensor<?xf32> then {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?xf32>, %[[N1:[0-9]+]]: index, %[[TWICE1:[0-9]+]]: index, %[[BACK1:[0-9]+]]: index):
// CHECK-NEXT: loop.generic (d0)[s0 = %[[TWICE1]], s1 = %[[N1]], s2 = %[[BACK1]]] in [s0]
// CHECK: loop.generic (d0)[s0 = %[[N]]] in [s0] writes([d0] store : tensor<?xf32>)

// -----

// What grows from round to round has no size that is known.
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}) -> tensor<?xf32> {
  %r = control.while from(%x) : (tensor<?xf32>) -> tensor<?xf32> test {
  ^bb0(%a: tensor<?xf32>):
    %s = aten.sum.default(%a) : (tensor<?xf32>) -> tensor<f32>
    %q = aten.lt.Scalar(%s, 3) : (tensor<f32>) -> tensor<i1>
    control.yield %q : tensor<i1>
  } do {
  ^bb0(%a: tensor<?xf32>):
    %b = aten.cat.default([%a, %a]) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    control.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
// CHECK: control.while: sizes of what it takes or gives do not follow from those of arguments

// -----

// What a lowering makes a loop of has sizes from outside, too: here the time is open, and the batch.
func.func @main(%x: tensor<?x?x3xf32> {lamina.dims = [#lamina.size<t>, #lamina.size<n>]}, %h: tensor<1x?x4xf32> {lamina.dims = [#lamina.size<n>]}, %w: tensor<16x3xf32>, %u: tensor<16x4xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>) -> tensor<?x?x4xf32> {
  %0, %1, %2 = aten.lstm.input(%x, [%h, %h], [%w, %u, %b, %c], true, 1, 0.0, false, false, false)
      : (tensor<?x?x3xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x?x4xf32>, tensor<1x?x4xf32>, tensor<1x?x4xf32>)
  func.return %0 : tensor<?x?x4xf32>
}
// CHECK: control.scan from(%{{[0-9]+}}, %{{[0-9]+}}) over(%{{[0-9]+}}) with(%u, %b, %c, %[[N:[0-9]+]]) : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x16xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>, index) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>) do {

// -----

// Branches that a lowering makes: infinite weights meet no zeros.
func.func @main(%x: tensor<1x2x?xf32> {lamina.dims = [#lamina.size<n in [1, ?]>]}, %w: tensor<2x3x3xf32>) -> tensor<1x3x?xf32> {
  %0 = aten.conv_transpose1d.default(%x, %w, none, [1], [0]) : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return %0 : tensor<1x3x?xf32>
}
// CHECK: control.cond if(%{{.*}}) with(%x, %{{.*}} : (tensor<i1>, tensor<1x2x?xf32>, {{.*}}index
