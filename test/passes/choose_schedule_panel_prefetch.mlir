// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="znver4"}' --split-input-file | filecheck %s --check-prefix=ZEN

// Panels of 8 KB are near while rows are multiplied by them, but the next one comes from wherever weights are since the
// last call.
func.func private @small_panels(%a: memref<20x64xf32>, %b: memref<4x64x32xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x64x32xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @small_panels
// CHECK:         jam = d0 x 10, prefetch_panels = 1>

// -----

// Lines of a panel that leaves the nearest cache are fetched as well.
func.func private @large_panels(%a: memref<20x512xf32>, %b: memref<4x512x32xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [20, 128, 512] reads(%a[m, k] : memref<20x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x512x32xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @large_panels
// CHECK:         prefetch = [1], prefetch_bytes = 2048, prefetch_panels = 1>

// -----

// A single tile of rows reads each panel once, as fast as it can.
func.func private @one_tile(%a: memref<4x64xf32>, %b: memref<4x64x32xf32>, %c: memref<4x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 128, 64] reads(%a[m, k] : memref<4x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x64x32xf32>) writes([m, n] add into %c : memref<4x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @one_tile
// CHECK:         jam = d0 x 4>

// -----

// What tasks pack is near.
func.func private @packed_in_tasks(%a: memref<20x64xf32>, %b: memref<64x128xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[k, n] : memref<64x128xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @packed_in_tasks
// CHECK:         jam = d0 x 10, tile = d1 x 32>

// -----

// Of few rows the next term of a panel, on a Zen 4, which goes on with it by itself.
func.func private @few_rows(%a: memref<4x512xf32>, %b: memref<4x512x32xf32>, %c: memref<4x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 128, 512] reads(%a[m, k] : memref<4x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x512x32xf32>) writes([m, n] add into %c : memref<4x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_rows
// CHECK:         jam = d0 x 4, cache_read = [0], prefetch = [1], prefetch_bytes = 2048>
// ZEN-LABEL: @few_rows
// ZEN:         jam = d0 x 4, cache_read = [0], prefetch = [1], prefetch_bytes = 128>

// -----

// Of more rows memory has time: further on.
func.func private @more_rows(%a: memref<8x512xf32>, %b: memref<4x512x32xf32>, %c: memref<8x128xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [8, 128, 512] reads(%a[m, k] : memref<8x512xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x512x32xf32>) writes([m, n] add into %c : memref<8x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @more_rows
// CHECK:         jam = d0 x 8, cache_read = [0], prefetch = [1], prefetch_bytes = 2048>
// ZEN-LABEL: @more_rows
// ZEN:         jam = d0 x 8, cache_read = [0], prefetch = [1], prefetch_bytes = 2048>
