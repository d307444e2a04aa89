// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s

// Pixels of a line share the weight of a depthwise convolution with channels innermost: a task is a
// line, and a register tile is as long as there are registers for its totals.
func.func private @depthwise(%a: memref<30x30x96xf32>, %w: memref<3x3x96xf32>, %c: memref<28x28x96xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, i, j) in [28, 28, 96, 3, 3] reads(%a[y + i, x + j, c] : memref<30x30x96xf32>, %w[i, j, c] : memref<3x3x96xf32>) writes([y, x, c] add into %c : memref<28x28x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @depthwise
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [1, 2]>]
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 14>

// -----

// Of short lines, tiles are two vectors wide.
func.func private @short_lines(%a: memref<9x9x96xf32>, %w: memref<3x3x96xf32>, %c: memref<7x7x96xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, i, j) in [7, 7, 96, 3, 3] reads(%a[y + i, x + j, c] : memref<9x9x96xf32>, %w[i, j, c] : memref<3x3x96xf32>) writes([y, x, c] add into %c : memref<7x7x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @short_lines
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel = false, inner = [1, 2]>]
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 7>

// -----

// Sums of a window alone share nothing along a line, which vectors walk with its channels as one.
func.func private @window(%a: memref<30x30x96xf32>, %c: memref<28x28x96xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, c, i, j) in [28, 28, 96, 3, 3] reads(%a[y + i, x + j, c] : memref<30x30x96xf32>) writes([y, x, c] add into %c : memref<28x28x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return
}
// CHECK-LABEL: @window
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [1]>]
// CHECK-NOT:     jam

// -----

// Of one image line, pixels are tasks: a task of the whole line would be the only one.
func.func private @one_line(%a: memref<302x512xf32>, %w: memref<3x512xf32>, %c: memref<300x512xf32>) attributes {lamina.kernel} {
  loop.generic (x, c, j) in [300, 512, 3] reads(%a[x + j, c] : memref<302x512xf32>, %w[j, c] : memref<3x512xf32>) writes([x, c] add into %c : memref<300x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @one_line
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [1]>]
// CHECK-NOT:     jam

// -----

// In front of a product, pixels of its block are jammed; what follows of their sums is computed in registers.
func.func private @in_front_of_a_product(%a: memref<30x30x32xf32>, %w: memref<3x3x32xf32>, %b: memref<32xf32>, %m: memref<1x32x16xf32>, %y: memref<28x28x16xf32>) attributes {lamina.kernel} {
  %s = memref.alloc() : memref<28x28x32xf32>
  loop.generic (y, x, c, i, j) in [28, 28, 32, 3, 3] reads(%a[y + i, x + j, c] : memref<30x30x32xf32>, %w[i, j, c] : memref<3x3x32xf32>) writes([y, x, c] add into %s : memref<28x28x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %t = memref.alloc() : memref<28x28x32xf32>
  loop.generic (y, x, c) in [28, 28, 32] reads(%s[y, x, c] : memref<28x28x32xf32>, %b[c] : memref<32xf32>) writes([y, x, c] store into %t : memref<28x28x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [28, 28, 16, 32] reads(%t[y, x, k] : memref<28x28x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<28x28x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @in_front_of_a_product
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel, compute_at = block, block = 28>]
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 14>
// CHECK:         #loop.schedule<compute_with>

// -----

// In front of a product, tiles fetch for the next line where the image is larger than the caches
// that are near.
func.func private @far(%a: memref<226x226x96xf32>, %w: memref<3x3x96xf32>, %m: memref<1x96x32xf32>, %c: memref<224x224x32xf32>) attributes {lamina.kernel} {
  %s = memref.alloc() : memref<224x224x96xf32>
  loop.generic (y, x, c, i, j) in [224, 224, 96, 3, 3] reads(%a[y + i, x + j, c] : memref<226x226x96xf32>, %w[i, j, c] : memref<3x3x96xf32>) writes([y, x, c] add into %s : memref<224x224x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [224, 224, 32, 96] reads(%s[y, x, k] : memref<224x224x96xf32>, %m[n floordiv 32, k, n mod 32] : memref<1x96x32xf32>) writes([y, x, n] add into %c : memref<224x224x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @far
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x {{[0-9]+}}, prefetch_rows = 1>

// -----

func.func private @near(%a: memref<30x30x96xf32>, %w: memref<3x3x96xf32>, %m: memref<1x96x32xf32>, %c: memref<28x28x32xf32>) attributes {lamina.kernel} {
  %s = memref.alloc() : memref<28x28x96xf32>
  loop.generic (y, x, c, i, j) in [28, 28, 96, 3, 3] reads(%a[y + i, x + j, c] : memref<30x30x96xf32>, %w[i, j, c] : memref<3x3x96xf32>) writes([y, x, c] add into %s : memref<28x28x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [28, 28, 32, 96] reads(%s[y, x, k] : memref<28x28x96xf32>, %m[n floordiv 32, k, n mod 32] : memref<1x96x32xf32>) writes([y, x, n] add into %c : memref<28x28x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @near
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 14>

// -----

// With channels outermost windows slide along vectors, which begin anywhere: lines that windows of
// neighbouring positions share are loaded once.
func.func private @lines(%a: memref<96x58x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, y + i, x + j] : memref<96x58x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @lines
// CHECK:         jam = d1 x 4, unroll_dims = [d3]>

// -----

// Windows that do not overlap share nothing.
func.func private @apart(%a: memref<96x168x58xf32>, %w: memref<96x3x3xf32>, %c: memref<96x56x56xf32>) attributes {lamina.kernel} {
  loop.generic (c, y, x, i, j) in [96, 56, 56, 3, 3] reads(%a[c, 3 * y + i, x + j] : memref<96x168x58xf32>, %w[c, i, j] : memref<96x3x3xf32>) writes([c, y, x] add into %c : memref<96x56x56xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @apart
// CHECK:         jam = d1 x 4>
// CHECK-NOT:     unroll_dims
