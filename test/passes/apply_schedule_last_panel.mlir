// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// 37 columns are a panel of 32 and one of 5, which takes one vector of the two.
func.func private @narrow(%a: memref<8x3xf32>, %b: memref<2x3x32xf32>, %c: memref<8x37xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<>]} {
  loop.generic (m, n, k) in [8, 37, 3] reads(%a[m, k] : memref<8x3xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x3x32xf32>) writes([m, n] add into %c : memref<8x37xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 1>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @narrow
// CHECK-COUNT-2: vector.fma
// CHECK-COUNT-2: vector.store
// CHECK:         vector.fma
// CHECK-NOT:     vector.fma
// CHECK:         vector.maskedstore
// CHECK-NOT:     vector.maskedstore

// -----

// 57 are one of 32 and one of 25, which takes both.
func.func private @wide(%a: memref<8x3xf32>, %b: memref<2x3x32xf32>, %c: memref<8x57xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<>]} {
  loop.generic (m, n, k) in [8, 57, 3] reads(%a[m, k] : memref<8x3xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x3x32xf32>) writes([m, n] add into %c : memref<8x57xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 1>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @wide
// CHECK-COUNT-2: vector.fma
// CHECK-COUNT-2: vector.store
// CHECK-COUNT-2: vector.fma
// CHECK:         vector.maskedstore
