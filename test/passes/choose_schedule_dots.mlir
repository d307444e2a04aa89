// RUN: lamina-opt %s -p 'choose-schedule{target="znver4"}' --split-input-file | filecheck %s

// Without matrix tiles, pairs of bf16 are multiplied in vectors; rows of register tiles divide the block's.
func.func private @columns(%a: memref<512x768xbf16>, %b: memref<768x96xbf16>, %c: memref<512x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [512, 96, 768] reads(%a[m, k] : memref<512x768xbf16>, %b[k, n] : memref<768x96xbf16>) writes([m, n] add into %c : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @columns
// CHECK:         #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 13>

// -----

// Packed rows are the vectors, two side by side, and columns that are read as they stand the rows of the tile.
func.func private @rows(%a: memref<4x384x16x2xbf16>, %b: memref<96x768xbf16>, %c: memref<64x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [64, 96, 768] reads(%a[m floordiv 16, k floordiv 2, m mod 16, k mod 2] : memref<4x384x16x2xbf16>, %b[n, k] : memref<96x768xbf16>) writes([m, n] add into %c : memref<64x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 0>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @rows
// CHECK:         #loop.schedule<vectorize = d0 x 16, unroll = 2, jam = d1 x 8>

// -----

// Few rows by columns that lie along the sum: neighbouring terms of both, as they stand.
func.func private @few_rows(%a: memref<4x768xbf16>, %b: memref<96x768xbf16>, %c: memref<4x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 96, 768] reads(%a[m, k] : memref<4x768xbf16>, %b[n, k] : memref<96x768xbf16>) writes([m, n] add into %c : memref<4x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h {lamina.implicit} : bf16 to f32
    %q = arith.extf %g {lamina.implicit} : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_rows
// CHECK:         #loop.schedule<vectorize = d2 x 32, unroll = {{[0-9]+}}, dot_pairs>

// -----

// What the program itself widens is multiplied in f32, where subnormal numbers count.
func.func private @of_f32(%a: memref<4x768xbf16>, %b: memref<96x768xbf16>, %c: memref<4x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 96, 768] reads(%a[m, k] : memref<4x768xbf16>, %b[n, k] : memref<96x768xbf16>) writes([m, n] add into %c : memref<4x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @of_f32
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = {{[0-9]+}}>

// -----

// Sixteen rows are one tile; columns are still eight, as lines a power of two apart share few places of a cache.
func.func private @one_tile_of_rows(%a: memref<1x384x16x2xbf16>, %b: memref<96x768xbf16>, %c: memref<9x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [9, 96, 768] reads(%a[m floordiv 16, k floordiv 2, m mod 16, k mod 2] : memref<1x384x16x2xbf16>, %b[n, k] : memref<96x768xbf16>) writes([m, n] add into %c : memref<9x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 0>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @one_tile_of_rows
// CHECK:         #loop.schedule<vectorize = d0 x 16, unroll = 1, jam = d1 x 8>

// -----

// Of a weight that no second-level cache holds, four places are multiplied by all rows at once.
func.func private @places(%a: memref<4x2048xbf16>, %b: memref<2048x2048xbf16>, %c: memref<4x2048xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 2048, 2048] reads(%a[m, k] : memref<4x2048xbf16>, %b[n, k] : memref<2048x2048xbf16>) writes([m, n] add into %c : memref<4x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h {lamina.implicit} : bf16 to f32
    %q = arith.extf %g {lamina.implicit} : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @places
// CHECK-SAME:    #loop.rows<parallel, jam = 16>
// CHECK:         #loop.schedule<vectorize = d2 x 32, unroll = 1, dot_pairs>

// -----

// All lines of a small image are multiplied by a range of panels, which leave the second-level cache together.
func.func private @far_panels(%a: memref<8x8x2048xbf16>, %b: memref<32x1024x16x2xbf16>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [7, 7, 512, 2048] reads(%a[y, x, k] : memref<8x8x2048xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<32x1024x16x2xbf16>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @far_panels
// CHECK-SAME:    order = columns
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 7>

// -----

// Fewer of them are near for every line.
func.func private @near_panels(%a: memref<8x8x256xbf16>, %b: memref<32x128x16x2xbf16>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [7, 7, 512, 256] reads(%a[y, x, k] : memref<8x8x256xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<32x128x16x2xbf16>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @near_panels
// CHECK-NOT:     order = columns
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 7>

// -----

// What follows is computed of sums in registers, where these are vectors of columns.
func.func private @follower(%a: memref<512x768xbf16>, %b: memref<768x96xbf16>, %e: memref<96xf32>, %c: memref<512x96xbf16>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<512x96xf32>
  loop.generic (m, n, k) in [512, 96, 768] reads(%a[m, k] : memref<512x768xbf16>, %b[k, n] : memref<768x96xbf16>) writes([m, n] add into %t : memref<512x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (m, n) in [512, 96] reads(%t[m, n] : memref<512x96xf32>, %e[n] : memref<96xf32>) writes([m, n] store into %c : memref<512x96xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.truncf %v : f32 to bf16
    loop.yield %w : bf16
  }
  func.return
}
// CHECK-LABEL: @follower
// CHECK:         #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 13>
// CHECK:         #loop.schedule<compute_with>

// -----

// Packed rows are columns of a tile: their sums are turned first.
func.func private @follower_of_rows(%a: memref<4x384x16x2xbf16>, %b: memref<96x768xbf16>, %e: memref<96xf32>, %c: memref<64x96xbf16>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<64x96xf32>
  loop.generic (m, n, k) in [64, 96, 768] reads(%a[m floordiv 16, k floordiv 2, m mod 16, k mod 2] : memref<4x384x16x2xbf16>, %b[n, k] : memref<96x768xbf16>) writes([m, n] add into %t : memref<64x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 0>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (m, n) in [64, 96] reads(%t[m, n] : memref<64x96xf32>, %e[n] : memref<96xf32>) writes([m, n] store into %c : memref<64x96xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.truncf %v : f32 to bf16
    loop.yield %w : bf16
  }
  func.return
}
// CHECK-LABEL: @follower_of_rows
// CHECK-NOT:     compute_with

// -----

// A single row waits for memory: one tile of columns at a time, which is one stream.
func.func private @one_row(%a: memref<1x768xbf16>, %b: memref<6x384x16x2xbf16>, %c: memref<1x96xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [1, 96, 768] reads(%a[m, k] : memref<1x768xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<6x384x16x2xbf16>) writes([m, n] add into %c : memref<1x96xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @one_row
// CHECK:         #loop.schedule<vectorize = d1 x 16, unroll = 1>
