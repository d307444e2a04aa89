// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"},apply-schedule' --split-input-file | filecheck %s

// Of four lines, the windows of which have three each, six are loaded, two vectors of each, and one
// weight for each line of a window.
func.func private @six_lines(%a: memref<96x58x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, y + i, x + j] : memref<96x58x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 4, unroll_dims = [d3]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @six_lines
// CHECK:           scf.for
// CHECK-COUNT-3:   memref.load
// CHECK-NOT:       memref.load
// CHECK:           scf.yield

// -----

func.func private @as_vectors(%a: memref<96x58x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, y + i, x + j] : memref<96x58x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 4, unroll_dims = [d3]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @as_vectors
// CHECK:           scf.for
// CHECK-COUNT-12:  vector.load
// CHECK-NOT:       vector.load
// CHECK:           scf.yield

