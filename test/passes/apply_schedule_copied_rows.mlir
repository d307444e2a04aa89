// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// Rows that lie side by side are copied so: a vector of 16 rows for each of 24 terms, an odd number of lines
// of the caches apart. Tiles multiply by neighbours then.
func.func private @neighbours(%a: memref<24x32xf32>, %b: memref<1x24x32xf32>, %c: memref<32x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 32>]} {
  loop.generic (m, n, k) in [32, 32, 24] reads(%a[k, m] : memref<24x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x24x32xf32>) writes([m, n] add into %c : memref<32x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 2, cache_read = [0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @neighbours
// CHECK:         memref.alloca() {{.*}} : memref<1152xf32>
// CHECK:         [[V:%\S+]] = vector.load %{{.*}} : memref<768xf32>, vector<16xf32>
// CHECK:         vector.store [[V]], {{.*}} : memref<1152xf32>, vector<16xf32>
// CHECK-NOT:     vector.gather
// CHECK:         vector.fma

// -----

// Others are copied row by row.
func.func private @apart(%a: memref<32x24xf32>, %b: memref<1x24x32xf32>, %c: memref<32x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 32>]} {
  loop.generic (m, n, k) in [32, 32, 24] reads(%a[m, k] : memref<32x24xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x24x32xf32>) writes([m, n] add into %c : memref<32x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 2, cache_read = [0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @apart
// CHECK:         memref.alloca() {{.*}} : memref<1280xf32>
