// RUN: lamina-opt %s --split-input-file -p 'bind-sizes{sizes="batch=4"}' | filecheck %s

// Types, lists of sizes and what is computed from them become those of one value.
// CHECK:      func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x9xf32> {
// CHECK-NEXT:   %c = aten.cat.default([%x, %y]) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
// CHECK-NEXT:   %m = aten.mm.default(%c, %w) : (tensor<12x8xf32>, tensor<8x3xf32>) -> tensor<12x3xf32>
// CHECK-NEXT:   %v = aten.view.default(%m, size = [4, 9]) : (tensor<12x3xf32>) -> tensor<4x9xf32>
// CHECK-NEXT:   func.return %v : tensor<4x9xf32>
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
// Other sizes stay open, and keep their names.
// CHECK:      func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<length in [1, 64]>]}) -> (tensor<?x4xf32> {lamina.dims = [#lamina.size<length>]}, i64) {
// CHECK-NEXT:   %0 = aten.t.default(%x) : (tensor<4x?xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:   %1 = arith.constant 8 : i64
// CHECK-NEXT:   func.return %0, %1 : tensor<?x4xf32>, i64
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length in [1, 64]>]})
    -> (tensor<?x?xf32> {lamina.dims = [#lamina.size<length>, #lamina.size<batch>]}, i64) {
  %0 = aten.t.default(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %n = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %m = arith.muli %n, %two : i64
  func.return %0, %m : tensor<?x?xf32>, i64
}
// -----
// Where sizes do not tell a shape, the op's rule does once they are known.
// CHECK: %0 = aten.diagonal.default(%x) : (tensor<4x?xf32>) -> tensor<?xf32>
// CHECK: %1 = aten.diagonal.default(%y) : (tensor<4x7xf32>) -> tensor<4xf32>
// CHECK: %2, %3 = aten.chunk.default(%y, chunks = 2) : (tensor<4x7xf32>) -> (tensor<2x7xf32>, tensor<2x7xf32>)
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<length>]},
                %y: tensor<?x7xf32> {lamina.dims = [#lamina.size<batch>]})
    -> (tensor<?xf32>, tensor<?xf32>, tensor<?x7xf32>) {
  %0 = aten.diagonal.default(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
  %1 = aten.diagonal.default(%y) : (tensor<?x7xf32>) -> tensor<?xf32>
  %2, %3 = aten.chunk.default(%y, 2) : (tensor<?x7xf32>) -> (tensor<?x7xf32>, tensor<?x7xf32>)
  func.return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?x7xf32>
}
// -----
// A number that is a size is that number.
// CHECK:         func.func @main(%n: i64, %x: tensor<4xf32>)
// CHECK-NEXT:    %z = aten.zeros.default(size = [4]) : () -> tensor<4xf32>
// CHECK-NEXT:    [[N:%\S+]] = arith.constant 4 : i64
// CHECK-NEXT:    func.return %z, [[N]]
func.func @main(%n: i64 {lamina.dims = [#lamina.size<batch>]},
                %x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}) -> (tensor<?xf32>, i64) {
  %z = aten.zeros.default([%n]) : (i64) -> tensor<?xf32>
  func.return %z, %n : tensor<?xf32>, i64
}
// -----
// Sizes that no polynomial says are computed of numbers, once they are known.
// CHECK:      %p = aten.max_pool1d.default(%x, kernel_size = [3]) : (tensor<4x11xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %0 = aten.constant_pad_nd.default(%p, pad = [1, 2]) : (tensor<4x3xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: func.return %0 : tensor<4x6xf32>
func.func @main(%x: tensor<4x?xf32> {lamina.dims = [#lamina.size<"batch" + 7>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}) -> tensor<4x?xf32> {
  %p = aten.max_pool1d.default(%x, [3]) : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %n = aten.sym_size.int(%p, 1) : (tensor<4x?xf32>) -> i64
  %two = arith.constant 2 : i64
  %half = arith.floordivsi %n, %two : i64
  %m = arith.subi %n, %half : i64
  %0 = aten.constant_pad_nd.default(%p, pad = [%half, %m]) : (tensor<4x?xf32>, i64, i64) -> tensor<4x?xf32>
  func.return %0 : tensor<4x?xf32>
}
// -----
// What follows from a size that is known and another one follows from the other one.
// CHECK: func.func @main(%x: tensor<4xf32>, %y: tensor<?xf32> {lamina.dims = [#lamina.size<length>]}, %z: tensor<?x?xf32> {lamina.dims = [#lamina.size<2 * length + 5>, #lamina.size<4 * length>]})
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}, %y: tensor<?xf32> {lamina.dims = [#lamina.size<length>]},
                %z: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch + 2 * length + 1>, #lamina.size<batch * length>]}) {
  func.return
}

// -----

// Extents and index maps of nests get numbers, those that are known; the other sizes stay.
// CHECK:      %[[M:.*]] = tensor.dim %x, %{{.*}} : tensor<4x?xf32>
// CHECK:      loop.generic (d0, d1)[s0 = %{{.*}}] in [4, s0] reads(%x[(d0 * -1) + 3, d1] : tensor<4x?xf32>) writes([d0, d1] store : tensor<4x?xf32>)
// CHECK:        arith.constant 3 : index
// CHECK:      loop.reshape %{{.*}}[%{{.*}}] : tensor<4x?xf32> -> tensor<?xf32>
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<m>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %l = arith.subi %n, %c1 : index
  %r = loop.generic (d0, d1)[s0 = %n, s1 = %l, s2 = %m] in [s0, s2] reads(%x[s1 - d0, d1] : tensor<?x?xf32>) writes([d0, d1] store : tensor<?x?xf32>) {
  ^bb0(%v: f32):
    %s = loop.size 1 : index
    %i = arith.index_cast %s : index to i64
    %f = arith.sitofp %i : i64 to f32
    %w = arith.addf %v, %f : f32
    loop.yield %w : f32
  }
  %p = arith.muli %n, %m : index
  %q = loop.reshape %r[%p] : tensor<?x?xf32> -> tensor<?xf32>
  func.return %q : tensor<?xf32>
}

// -----

// So do those of other ops.
// CHECK:      %[[M:.*]] = tensor.dim %x, %{{.*}} : tensor<4x?xf32>
// CHECK:      loop.scan (d0, d1)[s0 = %[[M]]] in [4, s0] along 0 reads(%x[(d0 * -1) + 3, d1] : tensor<4x?xf32>) carries(0.000000e+00 : f32) gives(tensor<4x?xf32>)
// CHECK:        loop.size 0 : index
// CHECK:        arith.constant 4 : index
// CHECK:      loop.sort %{{.*}}[%[[M]]] {taken = array<i64: 0, -1>} : tensor<4x?xf32> -> tensor<4x?xf32>, tensor<4x?xi64>, tensor<4x?xf32>, tensor<4x?xi64>
// CHECK:      loop.sort %x {taken = array<i64: 3, 1>} : tensor<4x?xf32> -> tensor<4x1xf32>, tensor<4x1xi64>, tensor<4x?xf32>, tensor<4x?xi64>
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch in [1, 8]>, #lamina.size<m in [8, ?]>]}) -> (tensor<?x?xf32>, tensor<?x1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %l = arith.subi %n, %c1 : index
  %r = loop.scan (d0, d1)[s0 = %n, s1 = %l, s2 = %m] in [s0, s2] along 0 reads(%x[s1 - d0, d1] : tensor<?x?xf32>)
      carries(0.0 : f32) gives(tensor<?x?xf32>) {
  ^bb0(%v: f32, %c: f32):
    %s = loop.size 2 : index
    %t = loop.size 0 : index
    %u = arith.addi %s, %t : index
    %i = arith.index_cast %u : index to i64
    %f = arith.sitofp %i : i64 to f32
    %w = arith.addf %v, %f : f32
    loop.yield %w, %c : f32, f32
  }
  %a, %b, %d, %e = loop.sort %r[%m] {taken = array<i64: 0, -1>} : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi64>, tensor<?x?xf32>, tensor<?x?xi64>
  %f, %g, %h, %j = loop.sort %x[%l] {taken = array<i64: -1, 1>} : tensor<?x?xf32> -> tensor<?x1xf32>, tensor<?x1xi64>, tensor<?x?xf32>, tensor<?x?xi64>
  func.return %a, %f : tensor<?x?xf32>, tensor<?x1xf32>
}

// -----

// Scatters, too.
// CHECK:      loop.scatter (d0) in [4] reads(%x[(d0 * -1) + 3] : tensor<4xf32>) into(%t : tensor<?xf32>)
// CHECK-NOT:    loop.size
// CHECK:        arith.constant 3 : index
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<batch>]}, %t: tensor<?xf32> {lamina.dims = [#lamina.size<m>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %l = arith.subi %n, %c1 : index
  %r = loop.scatter (d0)[s0 = %n, s1 = %l] in [s0] reads(%x[s1 - d0] : tensor<?xf32>) into(%t : tensor<?xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = loop.size 1 : index
    loop.yield %i, %v : index, f32
  }
  func.return %r : tensor<?xf32>
}

// -----

// And reductions of segments.
// CHECK:      %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<?xf32>
// CHECK:      loop.segment_reduce (d0, d1)[s0 = %[[N]]] in [4, s0] offsets(%o : tensor<5xi64>) reads(%x[d1] : tensor<?xf32>) carries(0.000000e+00 : f32) gives(tensor<4xf32>)
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n>]}, %o: tensor<?xi64> {lamina.dims = [#lamina.size<"batch" + 1>]}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %o, %c0 : tensor<?xi64>
  %s = arith.subi %m, %c1 : index
  %r = loop.segment_reduce (d0, d1)[s0 = %s, s1 = %n] in [s0, s1] offsets(%o : tensor<?xi64>)
      reads(%x[d1] : tensor<?xf32>) carries(0.0 : f32) gives(tensor<?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    loop.yield %v : f32
  }
  func.return %r : tensor<?xf32>
}

// -----

// Transforms and calls.
// CHECK:      %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<4x8x?xf32>
// CHECK:      loop.fourier %x by %t {kind = "r2c", columns, scale = 1.000000e+00 : f64} : tensor<4x8x?xf32>, tensor<8x2xf32> -> tensor<4x5x?x2xf32>
// CHECK:      loop.extern "mine.f" {}(%x : tensor<4x8x?xf32>) sizes[%[[N]]] : tensor<4xf32>, tensor<?xf32>
func.func @main(%x: tensor<?x8x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<n>]}, %t: tensor<8x2xf32>) -> (tensor<?x5x?x2xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : tensor<?x8x?xf32>
  %n = tensor.dim %x, %c2 : tensor<?x8x?xf32>
  %y = loop.fourier %x by %t {kind = "r2c", columns, scale = 1.0 : f64} : tensor<?x8x?xf32>, tensor<8x2xf32> -> tensor<?x5x?x2xf32>
  %p, %q = loop.extern "mine.f" {} (%x : tensor<?x8x?xf32>) sizes [%b, %n] : tensor<?xf32>, tensor<?xf32>
  func.return %y, %p, %q : tensor<?x5x?x2xf32>, tensor<?xf32>, tensor<?xf32>
}
// -----
// CHECK:      prims.extern([%x], kernel = "mine.f", sizes = [%{{.*}}]) : (tensor<4x?xf32>, i64) -> (tensor<4xf32>, tensor<?xf32>)
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<n>]}) -> (tensor<?xf32>, tensor<?xf32>) {
  %b = aten.sym_size.int(%x, 0) : (tensor<?x?xf32>) -> i64
  %n = aten.sym_size.int(%x, 1) : (tensor<?x?xf32>) -> i64
  %p, %q = prims.extern([%x], "mine.f", "{}", [%b, %n]) : (tensor<?x?xf32>, i64, i64) -> (tensor<?xf32>, tensor<?xf32>)
  func.return %p, %q : tensor<?xf32>, tensor<?xf32>
}

// -----

// Of branches and loops the values that are known are no operands any more.
// CHECK:      %[[M:.*]] = tensor.dim %x, %{{.*}} : tensor<4x?xf32>
// CHECK:      control.scan from(%x) over(%y) with(%[[M]]) : (tensor<4x?xf32>, tensor<4x3xf32>, index) -> (tensor<4x?xf32>, tensor<4x4x?xf32>) do {
// CHECK-NEXT: ^bb0(%a: tensor<4x?xf32>, %s: tensor<3xf32>, %[[N:.*]]: index):
// CHECK:        loop.generic (d0, d1)[s0 = %[[N]]] in [4, s0] reads(%a[d0, d1] : tensor<4x?xf32>) writes([d0, d1] store : tensor<4x?xf32>)
// CHECK:        loop.extern "mine.f" {}(%{{.*}} : tensor<4x?xf32>) sizes[%[[N]]] : tensor<4x?xf32>
func.func @main(%x: tensor<?x?xf32> {lamina.dims = [#lamina.size<batch>, #lamina.size<m>]}, %y: tensor<?x3xf32> {lamina.dims = [#lamina.size<batch>]}) -> (tensor<?x?xf32>, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %r, %z = control.scan from(%x) over(%y) with(%n, %m) : (tensor<?x?xf32>, tensor<?x3xf32>, index, index) -> (tensor<?x?xf32>, tensor<?x?x?xf32>) do {
  ^bb0(%a: tensor<?x?xf32>, %s: tensor<3xf32>, %b: index, %k: index):
    %g = loop.generic (d0, d1)[s0 = %b, s1 = %k] in [s0, s1] reads(%a[d0, d1] : tensor<?x?xf32>) writes([d0, d1] store : tensor<?x?xf32>) {
    ^bb0(%v: f32):
      loop.yield %v : f32
    }
    %e = loop.extern "mine.f" {} (%g : tensor<?x?xf32>) sizes [%b, %k] : tensor<?x?xf32>
    control.yield %g, %e : tensor<?x?xf32>, tensor<?x?xf32>
  }
  func.return %r, %z : tensor<?x?xf32>, tensor<?x?x?xf32>
}
