// RUN: lamina-opt %s -p fold-layout --split-input-file | filecheck %s

// A transpose becomes the map of its reader.
func.func @transpose(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = loop.generic (i, j) in [8, 4] reads(%x[j, i] : tensor<4x8xf32>) writes([i, j] store : tensor<8x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [8, 4] reads(%t[i, j] : tensor<8x4xf32>) writes([i, j] store : tensor<8x4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x4xf32>
}
// CHECK-LABEL: @transpose
// CHECK-NEXT:    loop.generic (d0, d1) in [8, 4] reads(%x[d1, d0] : tensor<4x8xf32>)
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// So does a reshape; the two dims that both sides walk as one are joined.
func.func @reshape(%x: tensor<32xf32>) -> tensor<4x8xf32> {
  %t = loop.reshape %x : tensor<32xf32> -> tensor<4x8xf32>
  %r = loop.generic (i, j) in [4, 8] reads(%t[i, j] : tensor<4x8xf32>) writes([i, j] store : tensor<4x8xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4x8xf32>
}
// CHECK-LABEL: @reshape
// CHECK-NEXT:    [[R:%\S+]] = loop.generic (d0) in [32] reads(%x[d0] : tensor<32xf32>)
// CHECK:         [[S:%\S+]] = loop.reshape [[R]] : tensor<32xf32> -> tensor<4x8xf32>
// CHECK-NEXT:    func.return [[S]]

// -----

// A read of a padded copy is a padded read.
func.func @slice_of_padded(%x: tensor<6xf32>) -> tensor<4xf32> {
  %t = loop.generic (i) in [8] reads(%x[i - 1] pad 0.0 : f32 : tensor<6xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i) in [4] reads(%t[2 * i + 1] : tensor<8xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK-LABEL: @slice_of_padded
// CHECK-NEXT:    loop.generic (d0) in [4] reads(%x[d0 * 2] pad 0.000000e+00 : f32 : tensor<6xf32>)
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// Not folded: beyond the slice lies more of the tensor, not the pad.
func.func @padded_read_of_slice(%x: tensor<9xf32>) -> tensor<10xf32> {
  %t = loop.generic (i) in [8] reads(%x[i + 1] : tensor<9xf32>) writes([i] store : tensor<8xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i) in [10] reads(%t[i - 1] pad 0.0 : f32 : tensor<8xf32>) writes([i] store : tensor<10xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<10xf32>
}
// CHECK-LABEL: @padded_read_of_slice
// CHECK-NEXT:    [[T:%\S+]] = loop.generic (d0) in [8] reads(%x[d0 + 1] : tensor<9xf32>)
// CHECK:         loop.generic (d0) in [10] reads([[T]][d0 + -1] pad 0.000000e+00 : f32 : tensor<8xf32>)

// -----

// Not folded: the edge of the reshaped tensor is inside the original one.
func.func @padded_read_of_reshape(%x: tensor<2x4xf32>) -> tensor<10xf32> {
  %t = loop.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  %r = loop.generic (i) in [10] reads(%t[i - 1] pad 0.0 : f32 : tensor<8xf32>) writes([i] store : tensor<10xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<10xf32>
}
// CHECK-LABEL: @padded_read_of_reshape
// CHECK-NEXT:    [[T:%\S+]] = loop.reshape %x
// CHECK-NEXT:    loop.generic (d0) in [10] reads([[T]][d0 + -1] pad 0.000000e+00 : f32 : tensor<8xf32>)

// -----

// An axis of extent 1 stands in no index map, but has edges: they go to the axis it came from.
func.func @padded_read_of_transposed_unit(%x: tensor<2x1xf32>) -> tensor<3x2xf32> {
  %t = loop.generic (i, j) in [1, 2] reads(%x[j, i] : tensor<2x1xf32>) writes([i, j] store : tensor<1x2xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [3, 2] reads(%t[i - 1, j] pad 0.0 : f32 : tensor<1x2xf32>) writes([i, j] store : tensor<3x2xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<3x2xf32>
}
// CHECK-LABEL: @padded_read_of_transposed_unit
// CHECK-NEXT:    loop.generic (d0, d1) in [3, 2] reads(%x[d1, d0 + -1] pad 0.000000e+00 : f32 : tensor<2x1xf32>)
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// Not folded: what is copied has no axis whose edge that could be.
func.func @padded_read_of_new_unit(%x: tensor<2xf32>) -> tensor<3x2xf32> {
  %t = loop.generic (i, j) in [1, 2] reads(%x[j] : tensor<2xf32>) writes([i, j] store : tensor<1x2xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %r = loop.generic (i, j) in [3, 2] reads(%t[i - 1, j] pad 0.0 : f32 : tensor<1x2xf32>) writes([i, j] store : tensor<3x2xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<3x2xf32>
}
// CHECK-LABEL: @padded_read_of_new_unit
// CHECK-NEXT:    [[T:%\S+]] = loop.generic (d0) in [2] reads(%x[d0] : tensor<2xf32>)
// CHECK:         loop.generic (d0, d1) in [3, 2] reads([[T]][d0 + -1, d1] pad 0.000000e+00 : f32 : tensor<1x2xf32>)

// -----

// Not folded: the index would need a division that is not exact.
func.func @nonlinear_reshape(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
  %t = loop.reshape %x : tensor<4x6xf32> -> tensor<3x8xf32>
  %r = loop.generic (i, j) in [8, 3] reads(%t[j, i] : tensor<3x8xf32>) writes([i, j] store : tensor<8x3xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<8x3xf32>
}
// CHECK-LABEL: @nonlinear_reshape
// CHECK-NEXT:    [[T:%\S+]] = loop.reshape %x
// CHECK-NEXT:    loop.generic (d0, d1) in [8, 3] reads([[T]][d1, d0] : tensor<3x8xf32>)

// -----

// The only reader of a reduction rearranges it: the reduction writes it there at once.
func.func @sink(%x: tensor<4x6x8xf32>) -> tensor<6x4xf32> {
  %s = loop.generic (i, j, k) in [4, 6, 8] reads(%x[i, j, k] : tensor<4x6x8xf32>) writes([i, j] add : tensor<4x6xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [6, 4] reads(%s[j, i] : tensor<4x6xf32>) writes([i, j] store : tensor<6x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t : tensor<6x4xf32>
}
// CHECK-LABEL: @sink
// CHECK-NEXT:    loop.generic (d0, d1, d2) in [4, 6, 8]
// CHECK-SAME:    writes([d1, d0] add : tensor<6x4xf32>)
// CHECK-NOT:     loop.generic
// CHECK:         func.return

// -----

// Not if something else reads the reduction as well.
func.func @not_sunk(%x: tensor<4x6x8xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>) {
  %s = loop.generic (i, j, k) in [4, 6, 8] reads(%x[i, j, k] : tensor<4x6x8xf32>) writes([i, j] add : tensor<4x6xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (i, j) in [6, 4] reads(%s[j, i] : tensor<4x6xf32>) writes([i, j] store : tensor<6x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %t, %s : tensor<6x4xf32>, tensor<4x6xf32>
}
// CHECK-LABEL: @not_sunk
// CHECK-NEXT:    [[S:%\S+]] = loop.generic
// CHECK-SAME:    writes([d0, d1] add : tensor<4x6xf32>)
// CHECK:         [[T:%\S+]] = loop.generic (d0, d1) in [6, 4] reads([[S]][d1, d0] : tensor<4x6xf32>)
// CHECK:         func.return [[T]], [[S]]

// -----

func.func @reshape_of_reduction(%x: tensor<4x6x8xf32>) -> tensor<24xf32> {
  %s = loop.generic (i, j, k) in [4, 6, 8] reads(%x[i, j, k] : tensor<4x6x8xf32>) writes([i, j] add : tensor<4x6xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.reshape %s : tensor<4x6xf32> -> tensor<24xf32>
  func.return %t : tensor<24xf32>
}
// CHECK-LABEL: @reshape_of_reduction
// CHECK-NEXT:    [[S:%\S+]] = loop.generic
// CHECK-SAME:    writes([(d0 * 6) + d1] add : tensor<24xf32>)
// CHECK-NOT:     loop.reshape
// CHECK:         func.return [[S]] : tensor<24xf32>

// -----

// Dims of extent 1 leave the domain, and stay as index 0 in the maps.
func.func @unit_dims(%x: tensor<4x1x8xf32>) -> tensor<1x4xf32> {
  %s = loop.generic (u, i, j, k) in [1, 4, 1, 8] reads(%x[i, j, k] : tensor<4x1x8xf32>) writes([u, i] add : tensor<1x4xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<1x4xf32>
}
// CHECK-LABEL: @unit_dims
// CHECK-NEXT:    loop.generic (d0, d1) in [4, 8] reads(%x[d0, 0, d1] : tensor<4x1x8xf32>) writes([0, d0] add : tensor<1x4xf32>)

// -----

// Unless the body asks for a position.
func.func @unit_dim_asked_for(%x: tensor<1x8xf32>) -> tensor<1x8xi64> {
  %s = loop.generic (u, i) in [1, 8] reads(%x[u, i] : tensor<1x8xf32>) writes([u, i] store : tensor<1x8xi64>) {
  ^bb0(%p: f32):
    %a = loop.index 0 : index
    %v = arith.index_cast %a : index to i64
    loop.yield %v : i64
  }
  func.return %s : tensor<1x8xi64>
}
// CHECK-LABEL: @unit_dim_asked_for
// CHECK-NEXT:    loop.generic (d0, d1) in [1, 8]

// -----

// A reduction over such dims only is none.
func.func @sum_of_one(%x: tensor<4x1xf32>) -> tensor<4xf32> {
  %s = loop.generic (i, j) in [4, 1] reads(%x[i, j] : tensor<4x1xf32>) writes([i] add : tensor<4xf32>) {
  ^bb0(%p: f32):
    %v = math.exp %p : f32
    loop.yield %v : f32
  }
  func.return %s : tensor<4xf32>
}
// CHECK-LABEL: @sum_of_one
// CHECK-NEXT:    loop.generic (d0) in [4] reads(%x[d0, 0] : tensor<4x1xf32>) writes([d0] store : tensor<4xf32>)

// -----

// A weight that is walked as one is no reason to join: the statistics walk the groups alone.
func.func @weight_of_groups(%x: tensor<8x4x2x16xf32>, %m: tensor<8x4xf32>, %w: tensor<8xf32>) -> tensor<8x4x2x16xf32> {
  %v = loop.reshape %w : tensor<8xf32> -> tensor<4x2xf32>
  %r = loop.generic (n, g, c, i) in [8, 4, 2, 16] reads(%x[n, g, c, i] : tensor<8x4x2x16xf32>, %v[g, c] : tensor<4x2xf32>) writes([n, g, c, i] store : tensor<8x4x2x16xf32>) {
  ^bb0(%p: f32, %q: f32):
    %a = arith.mulf %p, %q : f32
    loop.yield %a : f32
  }
  func.return %r : tensor<8x4x2x16xf32>
}
// CHECK-LABEL: @weight_of_groups
// CHECK-NEXT:    loop.generic (d0, d1, d2, d3) in [8, 4, 2, 16] reads(%x[d0, d1, d2, d3] : tensor<8x4x2x16xf32>, %w[(d1 * 2) + d2] : tensor<8xf32>)

// -----

// The batch of a product is split as its reader sees it, so that what tells its parts apart lines up.
func.func @main(%a: tensor<2x3x4x8xf32>, %b: tensor<6x8x5xf32>, %m: tensor<3x4x5xf32>) -> tensor<2x3x4xf32> {
  %l = loop.reshape %a : tensor<2x3x4x8xf32> -> tensor<6x4x8xf32>
  %p = loop.generic (h, m, n, k) in [6, 4, 5, 8] reads(%l[h, m, k] : tensor<6x4x8xf32>, %b[h, k, n] : tensor<6x8x5xf32>) writes([h, m, n] add : tensor<6x4x5xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  %s = loop.reshape %p : tensor<6x4x5xf32> -> tensor<2x3x4x5xf32>
  %r = loop.generic (b, h, m, n) in [2, 3, 4, 5] reads(%s[b, h, m, n] : tensor<2x3x4x5xf32>, %m[h, m, n] : tensor<3x4x5xf32>) writes([b, h, m] max : tensor<2x3x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<2x3x4xf32>
}
// CHECK:      loop.generic (d0, d1, d2, d3, d4) in [2, 3, 4, 5, 8] reads(%a[d0, d1, d2, d4] : tensor<2x3x4x8xf32>, %b[(d0 * 3) + d1, d4, d3] : tensor<6x8x5xf32>) writes([d0, d1, d2, d3] add : tensor<2x3x4x5xf32>)
// CHECK:      loop.generic (d0, d1, d2, d3) in [2, 3, 4, 5]

// -----

// Nests of no points stay as they are.
func.func @main(%a: tensor<16x0x9xf32>) -> tensor<0x18xf32> {
  %c = loop.generic (a, b, c, d, e, f) in [2, 16, 2, 0, 2, 9] reads(%a[b, d, f] : tensor<16x0x9xf32>) writes([a, b, c, d, e, f] store : tensor<2x16x2x0x2x9xf32>) {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %l = loop.reshape %c : tensor<2x16x2x0x2x9xf32> -> tensor<32x0x18xf32>
  %r = loop.generic (n, k, m) in [0, 18, 32] reads(%l[m, n, k] : tensor<32x0x18xf32>) writes([n, k] max : tensor<0x18xf32>) {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %r : tensor<0x18xf32>
}
// CHECK:      loop.generic (d0, d1, d2) in [0, 18, 32] reads(%{{.*}} : tensor<32x0x18xf32>) writes([d0, d1] max : tensor<0x18xf32>)

// -----

// What is added to a product stays over its rows, though the other operand was made over two dimensions of them.
func.func @residual(%x: tensor<2x4x6xf32>, %a: tensor<8x3xf32>, %b: tensor<3x6xf32>) -> tensor<2x4x6xf32> {
  %e = loop.generic (i, j, k) in [2, 4, 6] reads(%x[i, j, k] : tensor<2x4x6xf32>) writes([i, j, k] store : tensor<2x4x6xf32>) {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  %p = loop.generic (m, n, k) in [8, 6, 3] reads(%a[m, k] : tensor<8x3xf32>, %b[k, n] : tensor<3x6xf32>) writes([m, n] add : tensor<8x6xf32>) {
  ^bb0(%v: f32, %w: f32):
    %u = arith.mulf %v, %w : f32
    loop.yield %u : f32
  }
  %n = loop.generic (m, n) in [8, 6] reads(%p[m, n] : tensor<8x6xf32>) writes([m, n] store : tensor<8x6xf32>) {
  ^bb0(%v: f32):
    %u = math.tanh %v : f32
    loop.yield %u : f32
  }
  %q = loop.reshape %n : tensor<8x6xf32> -> tensor<2x4x6xf32>
  %r = loop.generic (i, j, k) in [2, 4, 6] reads(%e[i, j, k] : tensor<2x4x6xf32>, %q[i, j, k] : tensor<2x4x6xf32>) writes([i, j, k] store : tensor<2x4x6xf32>) {
  ^bb0(%v: f32, %w: f32):
    %u = arith.addf %v, %w : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<2x4x6xf32>
}
// CHECK-LABEL: @residual
// CHECK-NEXT:    [[E:%\S+]] = loop.generic (d0, d1, d2) in [2, 4, 6]
// CHECK:         [[P:%\S+]] = loop.generic (d0, d1, d2) in [8, 6, 3]
// CHECK:         [[N:%\S+]] = loop.generic (d0, d1) in [8, 6] reads([[P]][d0, d1]
// CHECK:         [[V:%\S+]] = loop.reshape [[E]] : tensor<2x4x6xf32> -> tensor<8x6xf32>
// CHECK:         loop.generic (d0, d1) in [8, 6] reads([[V]][d0, d1] : tensor<8x6xf32>, [[N]][d0, d1] : tensor<8x6xf32>)

// -----

// Without a product it is split as the other operand is.
func.func @split_as_made(%x: tensor<2x4x6xf32>, %a: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = loop.generic (i, j, k) in [2, 4, 6] reads(%x[i, j, k] : tensor<2x4x6xf32>) writes([i, j, k] store : tensor<2x4x6xf32>) {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  %q = loop.reshape %e : tensor<2x4x6xf32> -> tensor<8x6xf32>
  %r = loop.generic (m, n) in [8, 6] reads(%q[m, n] : tensor<8x6xf32>, %a[m, n] : tensor<8x6xf32>) writes([m, n] store : tensor<8x6xf32>) {
  ^bb0(%v: f32, %w: f32):
    %u = arith.addf %v, %w : f32
    loop.yield %u : f32
  }
  func.return %r : tensor<8x6xf32>
}
// CHECK-LABEL: @split_as_made
// CHECK:         [[E:%\S+]] = loop.generic (d0, d1, d2) in [2, 4, 6]
// CHECK:         loop.generic (d0, d1, d2) in [2, 4, 6] reads([[E]][d0, d1, d2]

// -----

// A product that stored its result turned would pack its other operand: of attention the weights of all lines, which is much more
// than to turn the result.
// CHECK-LABEL: @lines
// CHECK:         writes([d0, d1, d2] add : tensor<8x1024x16xf32>)
// CHECK:         loop.generic (d0, d1, d2) in [8, 16, 1024]
func.func @lines(%p: tensor<8x1024x1024xf32>, %v: tensor<8x1024x16xf32>) -> tensor<8x16x1024xf32> {
  %0 = loop.generic (b, l, d, k) in [8, 1024, 16, 1024] reads(%p[b, l, k] : tensor<8x1024x1024xf32>, %v[b, k, d] : tensor<8x1024x16xf32>) writes([b, l, d] add : tensor<8x1024x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %1 = loop.generic (b, d, l) in [8, 16, 1024] reads(%0[b, l, d] : tensor<8x1024x16xf32>) writes([b, d, l] store : tensor<8x16x1024xf32>) {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %1 : tensor<8x16x1024xf32>
}

// -----

// CHECK-LABEL: @few_terms
// CHECK:         writes([d0, d2, d1] add : tensor<8x16x1024xf32>)
// CHECK-NOT:     loop.generic
func.func @few_terms(%p: tensor<8x1024x24xf32>, %v: tensor<8x24x16xf32>) -> tensor<8x16x1024xf32> {
  %0 = loop.generic (b, l, d, k) in [8, 1024, 16, 24] reads(%p[b, l, k] : tensor<8x1024x24xf32>, %v[b, k, d] : tensor<8x24x16xf32>) writes([b, l, d] add : tensor<8x1024x16xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.mulf %x, %y : f32
    loop.yield %z : f32
  }
  %1 = loop.generic (b, d, l) in [8, 16, 1024] reads(%0[b, l, d] : tensor<8x1024x16xf32>) writes([b, d, l] store : tensor<8x16x1024xf32>) {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  func.return %1 : tensor<8x16x1024xf32>
}

// -----

// What a pass has copied to another order stays so; its copy with a border may be read through.
func.func @kept(%x: tensor<4x6xf32>) -> (tensor<6x4xf32>, tensor<4x6xf32>) {
  %t = loop.generic (i, j) in [6, 4] reads(%x[j, i] : tensor<4x6xf32>) writes([i, j] store : tensor<6x4xf32>) attributes {lamina.op = "layout", lamina.materialized} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %p = loop.generic (i, j) in [5, 6] reads(%x[i - 1, j] pad 0.0 : f32 : tensor<4x6xf32>) writes([i, j] store : tensor<5x6xf32>) attributes {lamina.op = "pad", lamina.materialized} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %e = loop.generic (i, j) in [6, 4] reads(%t[i, j] : tensor<6x4xf32>) writes([i, j] store : tensor<6x4xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  %f = loop.generic (i, j) in [4, 6] reads(%p[i, j] : tensor<5x6xf32>) writes([i, j] store : tensor<4x6xf32>) {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  func.return %e, %f : tensor<6x4xf32>, tensor<4x6xf32>
}
// CHECK-LABEL: @kept
// CHECK:         [[T:%\S+]] = loop.generic {{.*}} reads(%x[d1, d0]
// CHECK:         reads([[T]][d0, d1] : tensor<6x4xf32>)
// CHECK:         reads(%x[d0 + -1, d1] pad
