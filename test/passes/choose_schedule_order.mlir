// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s

// A result of more rows than terms is larger than the panels, and threads divide its rows.
func.func private @short_sums(%a: memref<128x32xf32>, %b: memref<49x32x32xf32>, %c: memref<128x1568xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [128, 1568, 32] reads(%a[m, k] : memref<128x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<49x32x32xf32>) writes([m, n] add into %c : memref<128x1568xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @short_sums
// CHECK-NOT:     order = columns

// -----

// Of more terms, they divide the columns, which they have packed.
func.func private @long_sums(%a: memref<128x160xf32>, %b: memref<49x160x32xf32>, %c: memref<128x1568xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [128, 1568, 160] reads(%a[m, k] : memref<128x160xf32>, %b[n floordiv 32, k, n mod 32] : memref<49x160x32xf32>) writes([m, n] add into %c : memref<128x1568xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @long_sums
// CHECK-SAME:    order = columns

// -----

// Constant panels of many channels are larger than half the second-level cache: all lines of a
// small image are multiplied by a range of them that stays near. Twelve panels leave four of sixteen
// cores without work, so that lines are tasks; they are padded, so that no access walks them as one.
func.func private @lines(%a: memref<8x8x2048xf32>, %b: memref<12x2048x32xf32>, %c: memref<7x7x384xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [7, 7, 384, 2048] reads(%a[y, x, k] : memref<8x8x2048xf32>, %b[n floordiv 32, k, n mod 32] : memref<12x2048x32xf32>) writes([y, x, n] add into %c : memref<7x7x384xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @lines
// CHECK-SAME:    order = columns

// -----

// Those of few channels are near for every line.
func.func private @few_channels(%a: memref<7x7x64xf32>, %b: memref<16x64x32xf32>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [7, 7, 512, 64] reads(%a[y, x, k] : memref<7x7x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x64x32xf32>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_channels
// CHECK-NOT:     order = columns

// -----

// Groups of a convolution with channels innermost are batches: tasks take pixels of an image in one
// group, so that register tiles go along the lines, which are one row.
func.func private @groups(%a: memref<14x14x512xf32>, %b: memref<8x2x64x32xf32>, %c: memref<14x14x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, g, n, k) in [14, 14, 8, 64, 64] reads(%a[y, x, (g * 64) + k] : memref<14x14x512xf32>, %b[g, n floordiv 32, k, n mod 32] : memref<8x2x64x32xf32>) writes([y, x, (g * 64) + n] add into %c : memref<14x14x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @groups
// CHECK-SAME:    #loop.products<parallel, block = 99>
// CHECK:         #loop.schedule<vectorize = d3 x 16, unroll = 2, jam = d1 x 11, prefetch_panels = 1>

// -----

// Two places of a line of a window are too few sums side by side: tiles go along the channels, and
// the places stay beside each other in the order of tasks.
func.func private @window(%w: memref<128x2x2x256xf32>, %x: memref<14x1x256x16xf32>, %y: memref<128x28x28xf32>) attributes {lamina.kernel} {
  loop.generic (c, p, q, i, j, k) in [128, 2, 2, 14, 14, 256] reads(%w[c, p, q, k] : memref<128x2x2x256xf32>, %x[i, j floordiv 16, k, j mod 16] : memref<14x1x256x16xf32>) writes([c, p + (i * 2), q + (j * 2)] add into %y : memref<128x28x28xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d3, d1, d4, d2]>, lamina.packing = #loop.packing<panel = 16, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @window
// CHECK-SAME:    #loop.products<parallel, block = 64
// CHECK:         #loop.schedule<vectorize = d4 x 16, unroll = 1, jam = d0 x 16>

// -----

// Four places by two vectors are enough.
func.func private @wide(%w: memref<3x4x4x64xf32>, %x: memref<32x1x64x32xf32>, %y: memref<3x128x128xf32>) attributes {lamina.kernel} {
  loop.generic (c, p, q, i, j, k) in [3, 4, 4, 32, 32, 64] reads(%w[c, p, q, k] : memref<3x4x4x64xf32>, %x[i, j floordiv 32, k, j mod 32] : memref<32x1x64x32xf32>) writes([c, p + (i * 4), q + (j * 4)] add into %y : memref<3x128x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d3, d1, d4, d2]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @wide
// CHECK:         jam = d2 x 4>
