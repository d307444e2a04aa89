// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4;cores=2"}' --split-input-file | filecheck %s

// Each of seven lines of seven pixels would read 590 KB of a panel. A task walks all lines by 128 terms of it, 16 KB that
// stay in the nearest cache, while the next ones are fetched.
func.func private @windows(%a: memref<9x9x512xf32>, %b: memref<16x3x3x512x32xf32>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, r, s, k) in [7, 7, 512, 3, 3, 512] reads(%a[y + r, x + s, k] : memref<9x9x512xf32>, %b[n floordiv 32, r, s, k, n mod 32] : memref<16x3x3x512x32xf32>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @windows
// CHECK-SAME:    #loop.products<parallel, block = 7, columns = 16, inner_rows = 1>
// CHECK:         #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 7, terms = 128, prefetch_panels = 1>

// -----

// The images of a batch stay tasks.
func.func private @images(%a: memref<8x9x9x512xf32>, %b: memref<16x3x3x512x32xf32>, %c: memref<8x7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (i, y, x, n, r, s, k) in [8, 7, 7, 512, 3, 3, 512] reads(%a[i, y + r, x + s, k] : memref<8x9x9x512xf32>, %b[n floordiv 32, r, s, k, n mod 32] : memref<16x3x3x512x32xf32>) writes([i, y, x, n] add into %c : memref<8x7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @images
// CHECK-SAME:    columns = 16, inner_rows = 1

// -----

// A panel of 64 terms is near for every line as it is.
func.func private @few_channels(%a: memref<7x7x64xf32>, %b: memref<16x64x32xf32>, %c: memref<7x7x512xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, k) in [7, 7, 512, 64] reads(%a[y, x, k] : memref<7x7x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<16x64x32xf32>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_channels
// CHECK-NOT:     terms

// -----

// Sums of a large image would leave the second-level cache.
func.func private @large(%a: memref<114x114x64xf32>, %b: memref<2x3x3x64x32xf32>, %c: memref<112x112x64xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, r, s, k) in [112, 112, 64, 3, 3, 64] reads(%a[y + r, x + s, k] : memref<114x114x64xf32>, %b[n floordiv 32, r, s, k, n mod 32] : memref<2x3x3x64x32xf32>) writes([y, x, n] add into %c : memref<112x112x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @large
// CHECK-NOT:     inner_rows

// -----

// Three panels are two rounds of two cores: lines are tasks.
func.func private @few_panels(%a: memref<9x9x512xf32>, %b: memref<3x3x3x512x32xf32>, %c: memref<7x7x96xf32>) attributes {lamina.kernel} {
  loop.generic (y, x, n, r, s, k) in [7, 7, 96, 3, 3, 512] reads(%a[y + r, x + s, k] : memref<9x9x512xf32>, %b[n floordiv 32, r, s, k, n mod 32] : memref<3x3x3x512x32xf32>) writes([y, x, n] add into %c : memref<7x7x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_panels
// CHECK-NOT:     inner_rows

// -----

// What the text says stays.
func.func private @given(%a: memref<9x9x512xf32>, %b: memref<16x3x3x512x32xf32>, %c: memref<7x7x512xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<inner_rows = 0>]} {
  loop.generic (y, x, n, r, s, k) in [7, 7, 512, 3, 3, 512] reads(%a[y + r, x + s, k] : memref<9x9x512xf32>, %b[n floordiv 32, r, s, k, n mod 32] : memref<16x3x3x512x32xf32>) writes([y, x, n] add into %c : memref<7x7x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @given
// CHECK-SAME:    inner_rows = 0
// CHECK-NOT:     terms
